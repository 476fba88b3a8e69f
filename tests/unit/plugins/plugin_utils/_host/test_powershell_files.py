# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PowerShell goes to Windows hosts alone, and Windows PowerShell 5.1 must be able to run it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from helpers import ROOT
from tools.powershell_5 import complaints
from tools.powershell_grammar import mistakes

MODULES = ROOT / "plugins" / "modules"
FILES = sorted(ROOT.glob("plugins/**/*.ps1")) + sorted(ROOT.glob("roles/**/*.ps1"))
OF_TESTS = sorted((ROOT / "tests").glob("**/*.ps*1"))


def test_only_the_module_of_windows_hosts_has_a_ps1() -> None:
    """Ansible sends a .ps1 to Linux hosts as well where a module has both."""
    assert [path.name for path in MODULES.glob("*.ps1")] == ["_windows_host.ps1"]


def test_its_python_file_is_documentation() -> None:
    tree = ast.parse((MODULES / "_windows_host.py").read_text(encoding="utf-8"))
    assert {target.id for node in tree.body for target in getattr(node, "targets", [])} == {
        "DOCUMENTATION",
        "EXAMPLES",
        "RETURN",
    }
    assert all(isinstance(node, ast.Assign) for node in tree.body)


def test_nothing_but_the_way_to_windows_hosts_names_that_module() -> None:
    named = [
        path.relative_to(ROOT / "plugins").as_posix()
        for path in sorted((ROOT / "plugins").rglob("*.py"))
        if "azure._windows_host" in path.read_text(encoding="utf-8") and path.parent != MODULES
    ]
    assert named == ["plugin_utils/_hosts/deeds.py"]


@pytest.mark.parametrize("path", FILES + OF_TESTS, ids=lambda path: path.name)
def test_it_is_powershell(path: Path) -> None:
    assert mistakes(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_windows_powershell_can_run_it(path: Path) -> None:
    assert complaints(path.read_text(encoding="utf-8")) == []
