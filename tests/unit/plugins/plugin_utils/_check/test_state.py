# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A journal that is left: who has drained the host, and whether that one is still there to return it to service."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._watch.owner_name import is_watcher, owner_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.state import SILENT_AFTER, about_journal

JOURNAL = {
    "state": "drained",
    "started_at": "2026-11-17T10:00:00Z",
    "drained_at": "2026-11-17T10:01:00Z",
    "run_id": "killed-run",
    "worked_on_for": 0,
    "events": [{"id": "A"}],
}


def watcher(age=3, **said):
    """What a watcher left: it tells that the host is drained, whoever has done that."""
    status = {"read_at": "x", "watcher": {"version": "1", "drained": True, **said}}
    return {"installed": True, "problem": "", "age": age, "status": status}


NO_WATCHER = {"installed": False, "problem": "", "age": None, "status": None}
STOPPED = {**NO_WATCHER, "installed": True}


@pytest.mark.parametrize("seen", [{}, NO_WATCHER, STOPPED, watcher(), watcher(age=5000), watcher(left_for_a_run=["x"])])
def test_what_a_killed_run_has_left_is_bad_with_and_without_a_watcher(seen):
    found = about_journal(JOURNAL, "", seen)
    assert found.verdict == "bad"
    assert found.seen.startswith("drained since 2026-11-17T10:01:00Z by run killed-run for A, which is not at work")
    assert "drain_then_approve" in found.do


@pytest.mark.parametrize("seen", [{}, watcher()])
def test_a_run_that_is_at_work_ends_it_itself(seen):
    found = about_journal({**JOURNAL, "worked_on_for": 20}, "", seen)
    assert (found.verdict, found.do) == ("doubtful", "Check again when that run has ended")


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (watcher(), "doubtful"),
        (watcher(age=SILENT_AFTER), "doubtful"),
        (watcher(left_for_a_run=["E-1 waits"]), "doubtful"),
        (watcher(age=SILENT_AFTER + 1), "bad"),
        (watcher(failing_since="2026-11-17T10:02:00Z"), "bad"),
        (STOPPED, "bad"),
        (NO_WATCHER, "bad"),
        ({}, "bad"),
    ],
)
def test_a_watcher_returns_to_service_what_it_has_drained_as_long_as_it_is_well(seen, verdict):
    found = about_journal({**JOURNAL, "run_id": owner_name("web-0")}, "", seen)
    assert (found.verdict, "by the watcher of web-0 for A" in found.seen) == (verdict, True)
    assert ("drain_then_approve" in found.do) == (verdict == "bad")


def test_the_name_of_a_watcher_is_none_of_a_run():
    assert is_watcher(owner_name("web-0"))
    assert not any(map(is_watcher, ("run-7", "", None, "the watcher of web-0", "watcher")))
