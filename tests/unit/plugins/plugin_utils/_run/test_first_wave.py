# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lock hosts are told with the plan, and when it still holds as the wave begins."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import first_wave as _first_wave
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import grouping_of
from helpers.run_stages import HOSTS, INVENTORY, NOW, a_run, answers, note, reading, reboot, wishes


@pytest.mark.parametrize(("keepers", "is_asked"), [(1, True), (6, True), (7, False)])
def test_six_lock_hosts_are_asked_with_the_plan_and_more_are_not(keepers, is_asked):
    hosts = [f"web-{number}" for number in range(7)]
    state = _run_plan.begin("r", NOW, hosts, dict.fromkeys(hosts, "set"), None)
    state = {**state, "keepers": {"set": hosts[:keepers]}}
    known = {host: reading(host, [reboot(0)]) for host in hosts}
    first = _run_plan.plan(state, known, wishes(), INVENTORY, NOW)["first_wave"]
    assert (first is not None) is is_asked
    assert first is None or len(first["calls"]) == keepers


def test_who_is_taken_away_or_not_drained_is_not_told():
    domain = {"update_domain": "0"}
    events = [
        {**reboot(0), "type": "Preempt"},
        reboot(1),
        {**reboot(2), "type": "Freeze", "duration_seconds": 5},
    ]
    state = _run_plan.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    known = {host: reading(host, events) for host in HOSTS}
    for host in HOSTS:
        known[host]["maintenance_status"]["this_host"].update(domain)
    state = _run_plan.plan(state, known, wishes(), INVENTORY, NOW)
    assert state["plan"]["waves"][0]["hosts"] == list(HOSTS)
    first = state["first_wave"]
    assert [(one["host"], one["events"], one["type"], one["at"]) for one in first["notes"]] == [
        ("web-1", ["E1"], "Reboot", NOW)
    ]
    assert (first["at"], first["hosts"]) == (NOW, list(HOSTS))


def test_where_nobody_is_drained_nobody_is_told():
    assert a_run(events=[{**reboot(0), "type": "Freeze", "duration_seconds": 5}])["first_wave"] is None


def test_of_a_wave_in_slices_the_first_slice_is_told():
    event = {**reboot(1), "not_before": "2026-11-16T00:30:00Z"}
    known = {host: reading(host, [reboot(0), event]) for host in HOSTS}
    for host in HOSTS:
        known[host]["maintenance_status"]["this_host"]["update_domain"] = "0"
    state = {**_run_plan.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None), "slice": 1}
    first = _run_plan.plan(state, known, wishes(), INVENTORY, NOW)["first_wave"]
    assert [one["host"] for one in first["notes"]] == ["web-0"]
    assert first["hosts"] == ["web-0", "web-1"]


@pytest.mark.parametrize(
    ("batch", "age", "is_begun"),
    [
        (["web-0"], 0, True),
        (["web-0"], 19.9, True),
        (["web-0"], 20, False),
        (["web-0"], 30, False),
        (["web-0"], -0.1, False),
        (["web-1"], 0, False),
        (["web-0", "web-1"], 0, False),
        ([], 0, False),
    ],
)
def test_the_lease_of_a_wave_was_taken_with_the_plan_if_that_was_a_moment_ago(batch, age, is_begun):
    run = a_run(events=[reboot(0)])
    assert _first_wave.is_begun(run, batch, wishes(), NOW + age) is is_begun
    assert not _first_wave.is_begun({**run, "first_wave": None}, batch, wishes(), NOW + age)
    early = {**run, "first_wave": {**run["first_wave"], "at": 10.0}}
    assert _first_wave.is_begun(early, batch, wishes(), 10.0 + age) is is_begun


@pytest.mark.parametrize(
    ("age", "is_fresh"), [(0, True), (4.9, True), (5, False), (10, False), (30, False), (-0.5, False)]
)
def test_what_was_read_a_moment_ago_is_fresh_whatever_the_clock_says(age, is_fresh):
    run = a_run(events=[reboot(0)])
    wave = run["plan"]["waves"][0]
    for seen_at in (NOW, 10.0):
        state = {**run, "kept": {host: {**known, "seen_at": seen_at} for host, known in run["kept"].items()}}
        grouping = grouping_of(state["kept"])
        first = _first_wave.asked_for_early(state, wave, grouping, wishes(), seen_at + age)
        assert (first is not None) is is_fresh


def test_of_an_unread_host_nothing_is_fresh():
    run = a_run(events=[reboot(0)])
    wave = run["plan"]["waves"][0]
    state = {**run, "kept": {host: {**known, "shows": None} for host, known in run["kept"].items()}}
    assert _first_wave.asked_for_early(state, wave, grouping_of(run["kept"]), wishes(), NOW) is None


@pytest.mark.parametrize(
    ("told", "is_read"),
    [
        (answers(), False),
        (answers(notes=[{**note("web-0"), "run": "r"}]), False),
        (answers(notes=[{**note("web-0"), "run": "a"}]), True),
        (answers(notes=[{**note("web-0"), "run": "z"}]), True),
        (answers(held=False), True),
        ({}, True),
    ],
)
def test_what_somebody_may_have_changed_since_has_to_be_read(told, is_read):
    assert _first_wave.has_to_be_read(a_run(events=[reboot(0)]), told) is is_read


@pytest.mark.parametrize(
    ("told", "wanted", "is_known"),
    [
        ({"a": ["E0", "E1"]}, {"a": ["E0"]}, True),
        ({"a": ["E0"]}, {"a": ["E0"]}, True),
        ({"a": ["E0"]}, {"a": ["E0", "E1"]}, False),
        ({"a": ["E0"]}, {"b": ["E0"]}, False),
        ({"a": ["E0"]}, {"a": ["E0"], "b": ["E0"]}, False),
        ({"a": ["E0"]}, {}, True),
    ],
)
def test_whether_the_lock_hosts_know_of_a_drain(told, wanted, is_known):
    first, now = ([{"host": host, "events": events} for host, events in one.items()] for one in (told, wanted))
    assert _first_wave.were_told(now, {"notes": first}) is is_known
