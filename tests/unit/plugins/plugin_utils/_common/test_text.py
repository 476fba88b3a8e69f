# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages: causes are not repeated, and all is said in one sentence."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.maintenance.azure.plugins import action
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import in_one_sentence
from helpers import ROOT

# Which failures lose their traceback, and that no action was forgotten.

ACTIONS = sorted(path.stem for folder in action.__path__ for path in Path(folder).glob("*.py"))


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_fails_so(name):
    module = importlib.import_module(f"ansible_collections.maintenance.azure.plugins.action.{name}")
    assert module.ActionModule.run.__code__ is in_one_sentence(dict).__code__


def run_of_an_action(_self, _tmp, _task_vars):
    try:
        raise ValueError("below")
    except ValueError:
        raise AnsibleActionFail("above", result={"late": True}) from None


def test_a_foreseen_failure():
    with pytest.raises(AnsibleActionFail, match="above") as failure:
        in_one_sentence(run_of_an_action)(None)
    assert failure.value.result["late"] is True
    assert "exception" not in failure.value.result


def test_what_it_is_given_is_passed_on():
    def run(*given):
        return {"given": given}

    assert in_one_sentence(run)("self", None, {"a": 1}) == {"given": ("self", None, {"a": 1})}


# A failure that we raise says all there is to say: nothing hangs on it that ansible-core could show beside it.

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
