# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes of other runs at the lock hosts: which of them still count, and who removes them."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import conduct as _conduct
from conduct_cases import INVENTORY, NOW, a_run, answers, decided, note, reading, reboot, wishes


def forgotten(notes, **more):
    calls = decided([reboot(1)], ["web-1"], answers(notes=notes), **more)[2]["calls"]
    return calls[0]["forget"] if calls else []


@pytest.mark.parametrize(("age", "is_removed"), [(299.5, False), (300, False), (300.5, True), (301, True)])
def test_a_note_that_is_five_minutes_older_than_the_reading_is_removed(age, is_removed):
    found = forgotten([{**note("web-2"), "at": NOW - age}])
    assert found == (["web-2"] if is_removed else [])


@pytest.mark.parametrize("run", ["a", "z"])
def test_whoever_has_left_the_note(run):
    assert forgotten([{**note("web-1"), "run": run}]) == ["web-1"]


def test_a_note_of_its_own_a_run_leaves_alone_and_looks_at_the_next():
    own = {**note("web-1"), "run": "r"}
    assert forgotten([own]) == []
    assert forgotten([own, {**note("web-2"), "at": NOW - 999}]) == ["web-2"]
    assert forgotten([{**note("web-0"), "run": "r", "at": NOW - 2}, {**note("web-1"), "at": NOW - 1}]) == ["web-1"]


def test_two_notes_about_a_host_are_removed_as_one():
    assert forgotten([note("web-1"), {**note("web-1"), "at": NOW - 1}]) == ["web-1"]


def test_what_a_load_balancer_remembers_keeps_the_note():
    record = {"host": "web-1", "events": ["E9"], "types": ["Reboot"], "run": "x", "machine": "lb", "removal": ""}
    run = a_run(events=[reboot(1)], records=[record])
    assert forgotten([note("web-1")], state=run) == []
    run = a_run(events=[reboot(1)], records=[{**record, "host": "web-0"}])
    assert forgotten([note("web-1")], state=run) == ["web-1"]


def test_a_host_that_can_not_be_read_keeps_the_note():
    run = a_run(events=[reboot(1)])
    known = {"web-1": reading("web-1", [reboot(1)]), "web-2": {"maintenance_delivery_group": "set"}}
    found = _conduct.decide(run, known, wishes(), INVENTORY, answers(notes=[note("web-2")]), NOW)
    assert all("web-2" not in call["forget"] for call in found["calls"])


def test_what_is_forgotten_does_not_count_and_the_rest_is_kept_with_the_time_it_was_heard():
    run = a_run(events=[reboot(1)])
    told = answers(notes=[note("web-1"), note("web-2")])
    known = {"web-1": reading("web-1", [reboot(1)])}
    _conduct.decide(run, known, wishes(), INVENTORY, told, NOW + 5)
    assert [(one["host"], one["heard_at"]) for one in run["notes"]] == [("web-2", NOW + 5)]
    _conduct.decide(run, known, wishes(), INVENTORY, told, NOW + 9)
    assert [(one["host"], one["heard_at"]) for one in run["notes"]] == [("web-2", NOW + 5)]


def test_a_note_heard_of_at_the_very_moment_of_the_reading_may_be_newer():
    run = a_run(events=[reboot(1)])
    for before, removed in ((0, []), (1, ["web-2"])):
        run["notes"] = [{**note("web-2"), "heard_at": NOW - before}]
        known = {"web-1": reading("web-1", [reboot(1)])}
        calls = _conduct.decide(run, known, wishes(), INVENTORY, answers(notes=[note("web-2")]), NOW)["calls"]
        assert (calls[0]["forget"] if calls else []) == removed
