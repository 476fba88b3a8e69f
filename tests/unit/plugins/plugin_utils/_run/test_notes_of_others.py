# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes of other runs at the lock hosts: which of them still count, and who removes them."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import drain_decision as _drain_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from helpers.run_stages import HOSTS, INVENTORY, NOW, a_run, answers, decided, note, reading, reboot, wishes


def forgotten(notes, **more):
    calls = decided([reboot(1)], ["web-1"], answers(notes=notes), **more)[2]["calls"]
    return calls[0]["forget"] if calls else []


@pytest.mark.parametrize("age", [-10, 0, 301, 600, 86400])
def test_a_note_about_a_host_of_another_batch_counts_whatever_the_clock_of_its_run_says(age):
    run, _known, found = decided([reboot(1)], ["web-1"], answers(notes=[{**note("web-2"), "at": NOW - age}]))
    assert (found["calls"], found["round"]["drain"]) == ([], [])
    assert [one["host"] for one in run["notes"]] == ["web-2"]


def test_it_is_removed_after_the_host_was_read_once_more():
    run = a_run(events=[reboot(1)])
    told = answers(notes=[{**note("web-2"), "at": NOW - 600}])
    known = {"web-1": reading("web-1", [reboot(1)])}
    for clock in (NOW, NOW - 50):
        # Also where the own clock is set back in between.
        assert _drain_decision.decide(run, known, wishes(), INVENTORY, told, clock)["calls"] == []
    run = _run_plan.plan(run, {host: reading(host, [reboot(1)]) for host in HOSTS}, wishes(), INVENTORY, NOW - 50)
    found = _drain_decision.decide(run, known, wishes(), INVENTORY, told, NOW - 50)
    assert (found["calls"][0]["forget"], found["round"]["drain"]) == (["web-2"], ["web-1"])
    # Of another one this run hears only now.
    newer = answers(notes=[{**note("web-2"), "at": NOW - 500}])
    assert _drain_decision.decide(run, known, wishes(), INVENTORY, newer, NOW)["round"]["drain"] == []


@pytest.mark.parametrize("run", ["a", "z"])
def test_whoever_has_left_the_note(run):
    assert forgotten([{**note("web-1"), "run": run}]) == ["web-1"]


def test_a_note_of_its_own_a_run_leaves_alone_and_looks_at_the_next():
    own = {**note("web-1"), "run": "r"}
    assert forgotten([own]) == []
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
    found = _drain_decision.decide(run, known, wishes(), INVENTORY, answers(notes=[note("web-2")]), NOW)
    assert all("web-2" not in call["forget"] for call in found["calls"])


def test_what_is_forgotten_does_not_count_and_the_rest_is_kept():
    run = a_run(events=[reboot(1)])
    told = answers(notes=[note("web-1"), note("web-2")])
    known = {"web-1": reading("web-1", [reboot(1)])}
    for _again in range(2):
        _drain_decision.decide(run, known, wishes(), INVENTORY, told, NOW)
        assert [(one["host"], one["heard_before_reading"]) for one in run["notes"]] == [("web-2", False)]
