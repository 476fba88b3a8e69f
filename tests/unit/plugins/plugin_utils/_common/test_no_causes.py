# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failure that we raise says all there is to say: nothing hangs on it that ansible-core could show beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from helpers import ROOT

PLUGINS = ROOT / "plugins"
CONTROLLER = ("action", "filter", "inventory", "plugin_utils")
PATHS = [path for part in CONTROLLER for path in sorted((PLUGINS / part).rglob("*.py")) if path.stem != "__init__"]


def with_cause(node: ast.AST, handling: bool = False) -> Iterator[int]:
    """Lines that raise something new `from` something, or while something else is handled, without `from None`."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Raise) and inner.exc is not None:
            alone = inner.cause is None and not handling
            from_none = isinstance(inner.cause, ast.Constant) and inner.cause.value is None
            if not alone and not from_none:
                yield inner.lineno
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from with_cause(inner)
        else:
            yield from with_cause(inner, handling or isinstance(inner, ast.ExceptHandler))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(PLUGINS)))
def test_nothing_is_raised_from_something_else(path):
    assert list(with_cause(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_what_is_looked_for():
    code = """
def f():
    try:
        g()
    except ValueError as error:
        raise KeyError from error
    except TypeError:
        raise KeyError("x")
    except OSError:
        raise KeyError("x") from None
    except KeyError:
        raise
    raise KeyError("x")
"""
    assert list(with_cause(ast.parse(code))) == [6, 8]
