# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that wait for most of their time begin first, one in each process: what is left at the end are short ones."""

from __future__ import annotations

import pytest

WAITING = (
    "eda/test_source.py",
    "imds/test_wire.py",
    "watch/test_reflexes.py",
    "drain_then_approve/test_accidents.py",
    "drain_then_approve/test_overlap.py",
    "drain_then_approve/test_trust.py",
    "drain_then_approve/test_two_runs.py",
    "fence/test_killed.py",
    "watch_role/test_beside_a_run.py",
    "windows/test_roll.py",
)


# When those that are not wanted are left out.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    waiting = [item for item in items if item.path.as_posix().endswith(WAITING)]
    others = [item for item in items if not item.path.as_posix().endswith(WAITING)]
    ordered: list[pytest.Item] = []
    for process in range(processes):
        # As many as pytest-xdist gives this process at first; those of one file stay together, for what they share.
        share = (len(items) - len(ordered)) // (processes - process)
        first = waiting[process::processes]
        taken = max(0, share - len(first))
        ordered += [*first, *others[:taken]]
        others = others[taken:]
    items[:] = [*ordered, *others]
