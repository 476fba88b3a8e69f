# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that says it is pure is one that `make lint-imports` holds to it, and the other way round."""

from __future__ import annotations

import ast
import re

import pytest
from helpers import ROOT

PREFIX = "ansible_collections.maintenance.azure."
# Small packages: what they are is said here and in docs/architecture.md, not in each of their files.
PURE_PACKAGES = ("_azure", "_plan", "_roll", "_awx")


def contract():
    """The modules that the linter holds to it. Read as text, as Python 3.10 has no parser for TOML."""
    rules = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r'id = "pure"\n.*?source_modules = \[\n(.*?)\]', rules, re.DOTALL).group(1)
    return [name.removeprefix(PREFIX) for name in re.findall(r'"(\S+)"', listed)]


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


FILES = sorted(path for path in (ROOT / "plugins" / "plugin_utils").rglob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_who_says_so_is_held_to_it(path):
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    says_so = bool(re.search(r"\bPure\b", said)) or path.parent.name in PURE_PACKAGES
    module = module_of(path)
    assert any(module == name or module.startswith(f"{name}.") for name in contract()) == says_so


def test_every_name_of_the_contract_is_there():
    paths = [ROOT.joinpath(*name.split(".")) for name in contract()]
    assert [path for path in paths if not path.is_dir() and not path.with_suffix(".py").is_file()] == []
