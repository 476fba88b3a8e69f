# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is pure can be broken on purpose, and somebody is asked whether that is noticed."""

from __future__ import annotations

from helpers import ROOT
from tools.mutation.which_files import DECISIONS, pure_files

TREE = ROOT


def test_all_that_is_pure_is_there():
    found = {**DECISIONS, **pure_files(TREE)}
    for name in (
        "_eda/ledger.py",
        "_check/state.py",
        "_approve/order.py",
        "_drain/work.py",
        "_plan/waves.py",
        "_words.py",
    ):
        assert f"plugins/plugin_utils/{name}" in found
    said = [
        str(file.relative_to(TREE))
        for file in (TREE / "plugins").rglob("*.py")
        if file.name != "__init__.py" and "Pure." in file.read_text(encoding="utf-8").partition("\n\n")[0]
    ]
    assert sorted(set(said) - found.keys()) == []


def test_each_has_tests_that_there_are():
    files = {**DECISIONS, **pure_files(TREE)}
    assert [file for file in files if not (TREE / file).is_file()] == []
    asked = {test for tests in files.values() for test in tests.replace(",", " ").split()}
    assert [test for test in asked if not (TREE / test).exists()] == []
