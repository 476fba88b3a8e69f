# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files are broken on purpose, and which tests have to notice."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PURE = "plugins/plugin_utils"
SIMULATOR = "roles/simulator/files/metadata_simulator"
# File -> the tests that have to notice; after a comma, those that are asked only where the first have not.
DECISIONS = {
    f"{PURE}/_joined.py": "tests/unit/waves tests/unit/plan",
    f"{PURE}/_plan/waves.py": "tests/unit/waves tests/unit/plan",
    f"{PURE}/_plan/policy.py": "tests/unit/policy",
    "plugins/module_utils/_document/rules.py": "tests/unit/policy",
    f"{PURE}/_approve/judge.py": "tests/unit/approval",
    f"{PURE}/_approve/drained.py": "tests/unit/approval",
    f"{PURE}/_approve/order.py": "tests/unit/approval_outcome",
    f"{PURE}/_approve/outcome.py": "tests/unit/approval_outcome",
    f"{PURE}/_roll/decide.py": "tests/unit/roll_model",
    f"{PURE}/_roll/state.py": "tests/unit/roll_model",
    f"{PURE}/_roll/groups.py": "tests/unit/roll_model",
}
# Without what waits on the wire.
INVENTORY = "tests/unit/inventory/test_overlay.py tests/unit/inventory/test_sources.py"
HOST = "plugins/module_utils"
# The rest of what is pure, as pyproject.toml has it: folder or file -> tests; the longest path counts.
PURE_TESTS = {
    f"{HOST}/_document": "tests/unit/events tests/unit/policy tests/unit/fence",
    f"{HOST}/_drain": "tests/unit/fence",
    f"{HOST}/_watch": "tests/unit/watch/test_reflex_decisions.py tests/unit/watch/test_run_mark.py, tests/unit/watch",
    f"{HOST}/_watch/owner_name.py": "tests/unit/check",
    f"{PURE}/_approve": "tests/unit/approval tests/unit/approval_outcome",
    f"{PURE}/_approve/effects.py": "tests/unit/approval_outcome tests/unit/fence",
    f"{PURE}/_awx": "tests/unit/awx tests/unit/fan_out",
    f"{PURE}/_azure": "tests/unit/events tests/unit/waves tests/unit/plan tests/unit/approval",
    f"{PURE}/_azure/events.py": f"tests/unit/events {INVENTORY}",
    f"{PURE}/_check": "tests/unit/check",
    f"{PURE}/_drain": "tests/unit/steps tests/unit/roll",
    f"{PURE}/_eda": "tests/unit/eda/test_ledger.py tests/unit/eda/test_arguments_and_limits.py, tests/unit/eda",
    f"{PURE}/_hosts": "tests/unit/answers tests/unit/host_service tests/unit/fence tests/unit/windows",
    f"{PURE}/_inventory": INVENTORY,
    f"{PURE}/_joined.py": "tests/unit/waves tests/unit/plan",
    f"{PURE}/_lock": "tests/unit/lock tests/unit/leases",
    f"{PURE}/_plan": "tests/unit/waves tests/unit/plan",
    f"{PURE}/_report": "tests/unit/report",
    f"{PURE}/_roll": "tests/unit/roll tests/unit/roll_model",
    f"{PURE}/_times.py": "tests/unit/eda/test_ledger.py tests/unit/plan tests/unit/report",
    f"{PURE}/_watch": "tests/unit/watch",
    f"{PURE}/_words.py": "tests/unit/waves tests/unit/plan tests/unit/check",
}
# In its own process and at a time that the tests drive; those over HTTP are no guard of the rules.
SIMULATOR_TESTS = "tests/unit/roles/simulator"
# What only says how it looks, or starts the program, is left out.
NO_RULES = ("__init__.py", "__main__.py", "command_line.py", "program.py", "listening_sockets.py", "network.py")


def pure_files(tree: Path) -> dict[str, str]:
    """All files that the rules of imports call pure, without the decisions -> their tests."""
    text = (
        (tree / "pyproject.toml")
        .read_text(encoding="utf-8")
        .partition('id = "pure"')[2]
        .partition("forbidden_modules")[0]
    )
    found: dict[str, str] = {}
    for name in re.findall(r'"ansible_collections\.maintenance\.azure\.(plugins[\w.]+)"', text):
        path = tree / name.replace(".", "/")
        for file in files_in(path) if path.is_dir() else [path.with_suffix(".py")]:
            found[str(file.relative_to(tree))] = ""
    return {file: tests_of(file) for file in sorted(found) if file not in DECISIONS}


def tests_of(file: str) -> str:
    fitting = [path for path in PURE_TESTS if file == path or file.startswith(f"{path}/")]
    if not fitting:
        sys.exit(f"{file} is pure, and mutants.py does not know which tests have to notice when it breaks")
    return PURE_TESTS[max(fitting, key=len)]


def simulator_files(tree: Path) -> dict[str, str]:
    return {str(file.relative_to(tree)): SIMULATOR_TESTS for file in files_in(tree / SIMULATOR)}


def files_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.py") if file.name not in NO_RULES)
