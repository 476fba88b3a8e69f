# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole order of each host of a wave, for one event after the other."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import orders as _orders

APPROVES = {"approve_drained": ["E"], "wait": ["E"], "acts": True, "restore": True}
AS_IS = {"approve_as_is": ["E"], "wait": ["E"], "acts": True, "restore": True}
WAITS = {"wait": ["E"], "acts": True, "restore": True}
BLOCKED = {"blocked": {"E": ["b"]}}
LATER = {"later": True}
RESTORED = {"restore": True}
NOTHING = {}


def event(**changes):
    made = {"id": "E", "hosts": ["a", "b"], "action": "drain", "status": "Scheduled", "uncovered": []}
    return {**made, "approvable": True, "vanishing": False, **changes}


def in_short(orders):
    """What is set of each order, without the drain that it was made from."""
    return {
        host: {key: value for key, value in order.items() if value and key != "drain"} for host, order in orders.items()
    }


def told(changes, drains, **options):
    made = event(**changes)
    return in_short(_orders.wave_orders([made], ["a", "b"], dict(zip("ab", drains, strict=True)), **options))


@pytest.mark.parametrize(
    ("changes", "drains", "first", "second"),
    [
        ({}, ("drained", "drained"), APPROVES, APPROVES),
        ({}, ("drained", "failed"), {**BLOCKED, **RESTORED}, {**BLOCKED, **RESTORED}),
        ({}, ("drained", "lost"), {**BLOCKED, **RESTORED}, BLOCKED),
        ({}, ("drained", "late"), {**BLOCKED, **WAITS}, {**BLOCKED, **WAITS}),
        ({}, ("drained", "not_needed"), {**BLOCKED, **RESTORED}, BLOCKED),
        # Who is read again first keeps the others waiting, drained.
        ({}, ("drained", "put_off"), {"stays": True}, LATER),
        ({"action": "approve"}, ("not_needed", "not_needed"), AS_IS, AS_IS),
        ({"action": "approve"}, ("drained", "not_needed"), AS_IS, AS_IS),
        ({"action": "approve"}, ("not_needed", "failed"), AS_IS, AS_IS),
        ({"action": "approve"}, ("not_needed", "lost"), BLOCKED, BLOCKED),
        ({"action": "ignore"}, ("drained", "not_needed"), RESTORED, NOTHING),
        ({"action": "ignore"}, ("drained", "lost"), RESTORED, NOTHING),
        ({"status": "Started"}, ("drained", "drained"), WAITS, WAITS),
        ({"status": "Started"}, ("drained", "failed"), WAITS, WAITS),
        ({"status": "Started"}, ("drained", "lost"), WAITS, {"wait": ["E"], "acts": True}),
        ({"status": "Started"}, ("drained", "not_needed"), WAITS, {"wait": ["E"], "acts": True}),
        (
            {"approvable": False, "uncovered": ["x"]},
            ("drained", "drained"),
            {**WAITS, "refused": [{"id": "E", "uncovered": ["x"]}]},
            {**WAITS, "refused": [{"id": "E", "uncovered": ["x"]}]},
        ),
    ],
)
def test_what_each_host_of_an_event_is_told(changes, drains, first, second):
    assert told(changes, drains) == {"a": first, "b": second}


SENT = {"approve_drained": ["E"], "vanishes": True, "acts": True}


@pytest.mark.parametrize(
    ("drains", "first", "second"),
    [
        (("drained", "drained"), SENT, SENT),
        (("drained", "failed"), {**BLOCKED, **RESTORED}, {**BLOCKED, **RESTORED}),
        (("drained", "late"), {**BLOCKED, "vanishes": True}, {**BLOCKED, "vanishes": True}),
    ],
)
def test_what_takes_the_vm_away_is_not_waited_for(drains, first, second):
    assert told({"vanishing": True}, drains) == {"a": first, "b": second}
    started = {"vanishing": True, "status": "Started"}
    assert told(started, drains) == {"a": {"vanishes": True}, "b": {"vanishes": True}}


@pytest.mark.parametrize(
    ("policy", "first", "second"),
    [("restore", {**BLOCKED, **RESTORED}, {**BLOCKED, **RESTORED}), ("leave", BLOCKED, BLOCKED)],
)
def test_after_a_drain_that_failed_the_user_says_what_happens(policy, first, second):
    assert told({}, ("drained", "failed"), on_failed_drain=policy) == {"a": first, "b": second}
    # An event that comes anyway is waited for, and then they come back.
    assert told({}, ("drained", "late"), on_failed_drain=policy) == {
        "a": {**BLOCKED, **WAITS},
        "b": {**BLOCKED, **WAITS},
    }
    assert told({}, ("drained", "drained"), on_failed_drain=policy) == {"a": APPROVES, "b": APPROVES}


@pytest.mark.parametrize(
    ("changes", "first", "second"),
    [
        ({}, {**BLOCKED, **WAITS}, BLOCKED),
        ({"vanishing": True}, {**BLOCKED, "vanishes": True}, BLOCKED),
    ],
)
def test_beside_a_lost_host_nobody_is_brought_back_shortly_before_the_event(changes, first, second):
    assert told(changes, ("drained", "lost"), no_time=["E"]) == {"a": first, "b": second}
    assert told(changes, ("drained", "lost"), no_time=["other"])["a"] == {**BLOCKED, **RESTORED}


def test_what_needs_no_drain_is_not_waited_for_beside_a_lost_host():
    assert told({"action": "approve"}, ("not_needed", "lost"), no_time=["E"]) == {"a": BLOCKED, "b": BLOCKED}


STAYS = {"stays": True}


@pytest.mark.parametrize(
    ("changes", "drains", "first", "second"),
    [
        ({}, ("drained", "drained"), STAYS, STAYS),
        ({}, ("drained", "failed"), {**BLOCKED, **RESTORED}, {**BLOCKED, **RESTORED}),
        ({}, ("drained", "lost"), {**BLOCKED, **RESTORED}, BLOCKED),
        ({"action": "approve"}, ("not_needed", "drained"), LATER, STAYS),
        ({"status": "Started"}, ("drained", "drained"), WAITS, WAITS),
        # Azure takes the VM away when it is due, approved or not.
        ({"vanishing": True}, ("drained", "drained"), {"vanishes": True}, {"vanishes": True}),
    ],
)
def test_what_may_not_be_approved_now_keeps_its_hosts_drained(changes, drains, first, second):
    assert told(changes, drains, not_now=["E"]) == {"a": first, "b": second}
    assert told(changes, drains, not_now=["other"]) == told(changes, drains)


def test_what_may_not_be_approved_now_stays_so_where_a_host_is_read_again():
    assert told({}, ("drained", "put_off"), not_now=["E"]) == {"a": STAYS, "b": LATER}


def test_of_two_events_of_a_host_one_may_have_to_wait():
    events = [event(hosts=["a"]), event(id="F", hosts=["a"], status="Started")]
    assert in_short(_orders.wave_orders(events, ["a"], {"a": "drained"}, not_now=["E"])) == {
        "a": {"stays": True, "wait": ["F"], "acts": True}
    }
    events = [event(hosts=["a"], action="approve"), event(id="F", hosts=["a"], action="approve")]
    orders = _orders.wave_orders(events, ["a"], {"a": "not_needed"}, not_now=["E"])
    assert in_short(orders) == {"a": {"approve_as_is": ["F"], "wait": ["F"], "acts": True}}


def test_one_that_was_not_needed_beside_one_that_is_read_again_has_its_turn_later():
    events = [event(action="approve")]
    orders = _orders.wave_orders(events, ["a", "b"], {"a": "not_needed", "b": "put_off"})
    assert in_short(orders) == {"a": LATER, "b": LATER}


def test_hosts_outside_of_the_batch_are_told_nothing_and_block_nothing():
    orders = _orders.wave_orders([event(hosts=["x", "a"])], ["a"], {"a": "drained"})
    assert in_short(orders) == {"a": APPROVES}
    assert in_short(_orders.wave_orders([], ["a", "b"], {"a": "drained"})) == {"a": RESTORED, "b": NOTHING}
    assert _orders.wave_orders([], ["b"], {})["b"]["drain"] == "lost"


def test_who_stays_is_not_restored_and_who_comes_back_first_does_nothing_else():
    drains = {"a": "drained", "b": "drained"}
    orders = _orders.wave_orders([event()], ["a", "b"], drains, stay=["a"], back=["b"])
    assert in_short(orders) == {
        "a": {"approve_drained": ["E"], "wait": ["E"], "acts": True, "stays": True},
        "b": RESTORED,
    }
    assert orders["b"]["drain"] == "drained"
    drains = {"a": "late", "b": "drained"}
    orders = _orders.wave_orders([event(hosts=["a"])], ["a", "b"], drains, stay=["a"])
    assert in_short(orders)["a"] == {"blocked": {"E": ["a"]}, **WAITS}


@pytest.mark.parametrize(
    ("drain", "is_later"), [("drained", True), ("not_needed", True), ("failed", True), ("lost", False)]
)
def test_who_has_its_turn_later_is_left_as_it_is_unless_it_is_lost(drain, is_later):
    orders = _orders.wave_orders([], ["a"], {"a": drain}, later=["a"])
    assert in_short(orders) == {"a": LATER if is_later else NOTHING}
    assert orders["a"]["drain"] == ("not_needed" if is_later else "lost")


@pytest.mark.parametrize(
    ("state", "found"), [("marked", "not_needed"), ("draining", "drained"), ("restoring", "drained")]
)
def test_a_journal_of_any_state_but_marked_says_that_something_is_drained(state, found):
    known = {"maintenance_status": {"events": [], "journal": {"state": state}}}
    assert _orders.drain_states([], {"a": known}) == {"a": found}


@pytest.mark.parametrize("state", ["", "draining", "a", "z"])
def test_only_drained_is_drained(state):
    known = {"maintenance_status": {"events": []}, "drain_result": {"state": state}}
    assert _orders.drain_states(["a"], {"a": known, "b": {}}) == {"a": "failed", "b": "lost"}
