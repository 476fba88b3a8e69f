# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose turn is next in a batch, whether there is another round, and how long it is waited for."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import turns as _turns
from helpers.run_stages import HOSTS, NOW, a_run, reboot, wishes

LINKED = {**reboot(0), "resources": ["web-0", "web-2"]}
CHAIN = [{**reboot(0), "resources": ["web-0", "web-1"]}, {**reboot(1), "resources": ["web-1", "web-2"]}]


@pytest.mark.parametrize(
    ("size", "events", "chosen"),
    [
        (0, [], ["web-0", "web-1", "web-2"]),
        (1, [], ["web-0"]),
        (2, [], ["web-0", "web-1"]),
        (3, [], ["web-0", "web-1", "web-2"]),
        (9, [], ["web-0", "web-1", "web-2"]),
        (1, [LINKED], ["web-0", "web-2"]),
        (2, [LINKED], ["web-0", "web-2"]),
        (3, [LINKED], ["web-0", "web-1", "web-2"]),
        (1, CHAIN, ["web-0", "web-1", "web-2"]),
    ],
)
def test_as_many_hosts_as_go_in_one_and_who_belongs_to_them(size, events, chosen):
    assert _turns.in_slices(a_run(events=events, slice=size), HOSTS) == chosen


@pytest.mark.parametrize(
    ("count", "results", "size"),
    [
        (4, {}, 7),
        (4, {"drain_result": None, "approve_result": None}, 7),
        (4, {"drain_result": {"refused": "owner"}}, 7),
        (4, {"approve_result": {"refused_by_host": "events"}}, 7),
        (1, {"drain_result": {"refused": "age"}}, 1),
        (2, {"drain_result": {"refused": "age"}}, 1),
        (3, {"drain_result": {"refused": "age"}}, 1),
        (4, {"drain_result": {"refused": "age"}}, 2),
        (5, {"approve_result": {"refused_by_host": "age"}}, 2),
        (9, {"drain_result": {"refused": "age"}, "approve_result": {"refused_by_host": "age"}}, 4),
    ],
)
def test_half_as_many_go_in_one_where_a_reading_was_too_old(count, results, size):
    hosts = [f"web-{number}" for number in range(count)]
    variables = {host: {} for host in hosts[:-1]}
    variables[hosts[-1]] = results
    assert _turns.next_slice(7, dict.fromkeys(hosts), variables) == size


def outcome(state, number_of_pass=1):
    return {"state": state, "wave": 1, "number_of_pass": number_of_pass}


@pytest.mark.parametrize(
    ("outcomes", "held", "left"),
    [
        ({}, {}, ["web-0", "web-1"]),
        ({"web-0": outcome("restored")}, {}, ["web-1"]),
        ({"web-0": outcome("passed")}, {}, ["web-1"]),
        ({"web-0": outcome("vanished")}, {}, ["web-1"]),
        ({"web-0": outcome("stays drained")}, {}, ["web-0", "web-1"]),
        ({"web-0": outcome("failed")}, {}, ["web-0", "web-1"]),
        # In an earlier pass.
        ({"web-0": outcome("restored", 0)}, {}, ["web-0", "web-1"]),
        # It has one more event, which was held back.
        ({"web-0": outcome("restored"), "web-1": outcome("restored")}, {"E1": "full"}, ["web-1"]),
    ],
)
def test_who_is_through_has_no_other_turn(outcomes, held, left):
    run = {**a_run(events=[reboot(0), reboot(1)]), "outcomes": outcomes}
    assert _turns.left_of_the_batch(run, {"held": held}, ["web-0", "web-1"]) == left


def round_of(**changes):
    made = {"held": {}, "again": False, "waits": False, "waits_for_service": False, "waits_for": []}
    return {**made, **changes}


def goes_on(found=None, seen=("web-0",), batch=("web-0",), now=NOW, settings=None, **more):
    run = {**a_run(events=[reboot(0)]), **more}
    return _turns.goes_on(run, found or round_of(), seen, batch, wishes(**(settings or {})), now)


def test_with_nothing_left_the_batch_is_over():
    assert goes_on() == (False, 0)
    assert goes_on(round_of(again=True)) == (True, 0)
    # It waits for nothing that could come.
    assert goes_on(round_of(waits=True)) == (False, 0)


def test_hosts_that_were_not_in_this_round_have_the_next():
    assert goes_on(batch=("web-0", "web-1")) == (True, 0)
    through = {"web-1": outcome("restored")}
    assert goes_on(batch=("web-0", "web-1"), outcomes=through) == (False, 0)
    assert goes_on(seen=("web-0", "web-1"), batch=("web-0", "web-1")) == (False, 0)


@pytest.mark.parametrize("state", ["failed", "left_drained", "lost"])
def test_a_batch_ends_with_a_failure_unless_the_user_says_otherwise(state):
    again = round_of(again=True)
    assert goes_on(again, outcomes={"web-0": outcome(state)}) == (False, 0)
    # Of another batch.
    assert goes_on(again, outcomes={"web-1": outcome(state)}) == (True, 0)
    on = {"maintenance_continue_after_failure": True}
    assert goes_on(again, outcomes={"web-0": outcome(state)}, settings=on) == (True, 0)


@pytest.mark.parametrize(("drawn", "pause"), [(0, 4), (5, 9)])
def test_the_pause_is_between_four_and_nine_seconds(monkeypatch, drawn, pause):
    def randbelow(count):
        assert count == 6
        return drawn

    monkeypatch.setattr(_turns.secrets, "randbelow", randbelow)
    assert goes_on(round_of(waits=True), waits_since=NOW) == (True, pause)
    assert goes_on(round_of(again=True), waits_since=NOW) == (True, pause)
    assert goes_on(round_of(), waits_since=NOW) == (False, 0)


@pytest.mark.parametrize(
    ("for_service", "waited", "is_waited"),
    [(False, 1799, True), (False, 1800, False), (True, 599, True), (True, 600, False)],
)
def test_patience_has_an_end(for_service, waited, is_waited):
    found = round_of(waits=True, waits_for_service=for_service)
    for since in (NOW, 10.0):
        again, _pause = goes_on(found, waits_since=since, now=since + waited)
        assert again is is_waited


@pytest.mark.parametrize(
    ("waits_for", "number_of_pass", "is_waited"),
    [
        ([], 1, True),
        (["web-1"], 1, False),
        (["web-1"], 2, False),
        # The last pass: there is no later one in which this batch could come up again.
        (["web-1"], 3, True),
        (["web-1", "web-2"], 1, False),
        (["web-0"], 1, True),
        (["web-1", "of another run"], 1, True),
    ],
)
def test_what_this_run_has_to_do_itself_in_another_batch_is_not_waited_for(waits_for, number_of_pass, is_waited):
    found = round_of(waits=True, waits_for=waits_for)
    again, _pause = goes_on(found, waits_since=NOW, number_of_pass=number_of_pass)
    assert again is is_waited
