# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a round: what is written down of its hosts, whose notes go, and whether it was one of waiting."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import round_record as _round_record
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.orders import empty_order, left_as_it_is, returned
from helpers.run_stages import HOSTS, NOW, a_run, drained, note, reading

RESTORED = {"restore_result": {"state": "restored"}}
OVER = {"approve_result": {"over": True, "approved": ["E0"]}}


def known(host="web-0", journal=None, **results):
    return {host: {**reading(host, [], journal), **results}}


def drained_order(**changes):
    return {**empty_order("drained"), **changes}


def round_with(**held):
    return {"held": held, "again": False}


def recorded(orders, variables, found=None, **more):
    run = {**a_run(), **more}
    return _round_record.record(run, orders, found, variables, 1, NOW)


def forgotten(orders, variables, **more):
    _after, calls, _of_others = recorded(orders, variables, **more)
    assert {call["keeper"] for call in calls} in (set(HOSTS), set())
    return calls[0]["forget"] if calls else []


# Waiting.


@pytest.mark.parametrize(
    ("order", "results", "waits"),
    [
        (left_as_it_is(), {}, True),
        (drained_order(stays=True), {}, True),
        (returned("drained"), RESTORED, False),
        (drained_order(acts=True, wait=["E0"], restore=True), {**OVER, **RESTORED}, False),
        (drained_order(acts=True, wait=["E0"], stays=True), OVER, False),
        # What was to be sent was not.
        (drained_order(acts=True, wait=["E0"]), {"approve_result": {"over": False, "unsent": ["E0"]}}, True),
        (drained_order(acts=True, wait=["E0", "E1"]), {"approve_result": {"over": False, "unsent": ["E1"]}}, True),
        (drained_order(acts=True, wait=["E1"]), {"approve_result": {"over": False, "unsent": ["E0"]}}, False),
        # It was to come back, and another run is at work there.
        (returned("drained"), {"restore_result": {"refused": "busy"}}, True),
    ],
)
def test_a_round_in_which_nobody_got_on_is_one_of_waiting(order, results, waits):
    after, _calls, _of_others = recorded({"web-0": order}, known(**results), round_with())
    assert after["waits_since"] == (NOW if waits else None)


def test_one_that_gets_on_ends_the_waiting_of_all():
    orders = {"web-0": left_as_it_is(), "web-1": returned("drained"), "web-2": left_as_it_is()}
    variables = {**known(), **known("web-1", **RESTORED), **known("web-2")}
    after, _calls, _of_others = recorded(orders, variables, round_with(), waits_since=NOW - 60)
    assert after["waits_since"] is None
    after, _calls, _of_others = recorded({"web-0": left_as_it_is()}, known(), round_with(), waits_since=NOW - 60)
    assert after["waits_since"] == NOW - 60


def test_what_is_no_round_is_no_waiting():
    after, _calls, _of_others = recorded({"web-0": left_as_it_is()}, known(), None)
    assert after["waits_since"] is None


# What was not done.


@pytest.mark.parametrize(
    ("order", "results", "again", "held"),
    [
        (returned("drained"), RESTORED, False, {"E9": "full"}),
        (returned("drained"), {"restore_result": {"failed": True}}, False, {"E9": "full"}),
        (returned("drained"), {"restore_result": {"refused": "busy"}}, True, {"E9": "full"}),
        (
            drained_order(acts=True, wait=["E0"]),
            {"approve_result": {"over": False, "unsent": ["E0"], "error": "too old"}},
            True,
            {"E9": "full", "E0": "too old"},
        ),
        (
            drained_order(acts=True, wait=["E0"]),
            {"approve_result": {"over": False, "unsent": ["E0"]}},
            True,
            {"E9": "full", "E0": "the approval could not be sent"},
        ),
        # What an earlier wave registered does not count.
        (drained_order(stays=True), {"approve_result": {"unsent": ["E0"]}}, False, {"E9": "full"}),
    ],
)
def test_what_could_not_be_done_now_has_another_round(order, results, again, held):
    found = round_with(E9="full")
    after, _calls, _of_others = recorded({"web-0": order}, known(**results), found, held={"E8": "before"})
    assert (found["again"], found["held"]) == (again, held)
    assert after["held"] == {"E8": "before", **held}


@pytest.mark.parametrize(("drain", "stays", "state"), [("drained", True, "stays drained"), ("not_needed", False, None)])
def test_who_could_not_send_stays_as_it_is(drain, stays, state):
    order = {**empty_order(drain), "acts": True, "wait": ["E0"], "restore": True}
    results = {"approve_result": {"over": False, "unsent": ["E0"], "error": "too old"}, **RESTORED}
    after, _calls, _of_others = recorded({"web-0": order}, known(**results), round_with())
    assert (order["stays"], order["later"], order["restore"]) == (stays, not stays, False)
    assert after["outcomes"].get("web-0", {}).get("state") == state


def test_who_is_left_to_another_run_stays_drained_and_the_others_come_back():
    orders = {"web-0": returned("drained"), "web-1": returned("drained")}
    variables = {**known(restore_result={"refused": "busy"}), **known("web-1", **RESTORED)}
    after, _calls, _of_others = recorded(orders, variables, round_with())
    assert {host: outcome["state"] for host, outcome in after["outcomes"].items()} == {
        "web-0": "stays drained",
        "web-1": "restored",
    }
    assert (orders["web-0"]["restore"], orders["web-1"]["stays"]) == (False, False)


def test_only_where_leftovers_are_returned_a_host_in_service_is_taken_for_returned_by_another():
    order = drained_order(stays=True)
    for found, state in ((round_with(), "stays drained"), (None, "restored")):
        after, _calls, _of_others = recorded({"web-0": order}, known(), found)
        assert after["outcomes"]["web-0"]["state"] == state


# Notes.


def mark(*hosts):
    return {"event": "E0", "hosts": list(hosts), "at": NOW, "takes_down": True, "vanishing": False}


def first_wave(*hosts):
    return {"at": NOW, "hosts": list(hosts), "notes": [{**note(host), "run": "r"} for host in hosts], "calls": []}


def test_nobody_is_told_to_forget_what_nobody_was_told():
    assert forgotten({"web-0": returned("drained")}, known(**RESTORED)) == []


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({"drains": True}, {}),
        ({"marks": [mark("web-0")]}, {}),
        ({}, {"notes": [{**note("web-0"), "run": "r"}]}),
        ({}, {"first_wave": first_wave("web-0", "web-1")}),
        ({"drains": True}, {"notes": [{**note("web-0"), "run": "r"}]}),
        ({"drains": True, "marks": [mark("web-0")]}, {"first_wave": first_wave("web-0")}),
    ],
)
def test_what_the_lock_hosts_know_of_a_host_they_forget_when_it_is_back(changes, more):
    order = {**returned("drained"), **changes}
    assert forgotten({"web-0": order}, known(**RESTORED), **more) == ["web-0"]
    failed = {"restore_result": {"failed": True, "msg": "no"}}
    out = {**returned("drained"), **changes, "drains": True}
    assert forgotten({"web-0": out}, known(**failed), **more) == []


@pytest.mark.parametrize(
    "order",
    [returned("drained"), empty_order("not_needed"), drained_order(vanishes=True)],
    ids=lambda one: one["drain"],
)
def test_restored_passed_and_vanished_are_all_through(order):
    after, calls, of_others = recorded({"web-0": {**order, "drains": True}}, known(drain_result={}, **RESTORED))
    assert after["outcomes"]["web-0"]["state"] in ("restored", "passed", "vanished")
    assert (calls[0]["forget"], of_others) == (["web-0"], False)


def test_a_neighbour_that_was_approved_along_is_forgotten_too():
    orders = {
        "web-0": {**returned("drained"), "marks": [mark("web-0", "web-1")]},
        "web-1": returned("drained"),
        "web-2": returned("drained"),
    }
    variables = {name: one for host in HOSTS for name, one in known(host, **RESTORED).items()}
    assert forgotten(orders, variables) == ["web-0", "web-1"]


def test_what_was_told_with_the_plan_and_then_not_drained_is_forgotten():
    orders = {"web-0": left_as_it_is(), "web-1": drained_order(drains=True, stays=True), "web-2": left_as_it_is()}
    variables = {name: one for host in HOSTS for name, one in known(host, drain_result={}).items()}
    assert forgotten(orders, variables, first_wave=first_wave("web-0", "web-1")) == ["web-0"]
    after, _calls, _of_others = recorded(orders, variables, first_wave=first_wave("web-0"))
    assert after["first_wave"] is None


@pytest.mark.parametrize(
    ("journal", "notes", "of_others"),
    [
        (None, [], False),
        (drained("E0"), [], False),
        (drained("E0", run=""), [], False),
        (drained("E0", run="a"), [], True),
        (drained("E0", run="z"), [], True),
        (None, [note("web-0")], True),
        (None, [{**note("web-0"), "run": "z"}], True),
        (None, [{**note("web-0"), "run": "r"}], False),
        (None, [note("web-1")], False),
    ],
)
def test_the_lock_hosts_must_forget_what_another_run_has_told_them(journal, notes, of_others):
    after, calls, found = recorded({"web-0": returned("drained")}, known(journal=journal, **RESTORED), notes=notes)
    assert found is of_others
    assert bool(calls) is (of_others or bool(notes and notes[0]["host"] == "web-0"))
    assert [one["host"] for one in after["notes"]] == [one["host"] for one in notes if one["host"] == "web-1"]


def test_a_host_that_is_still_out_keeps_its_note():
    failed = {"restore_result": {"failed": True, "msg": "no"}}
    after, calls, of_others = recorded({"web-0": returned("drained")}, known(**failed), notes=[note("web-0")])
    assert ([one["host"] for one in after["notes"]], calls, of_others) == (["web-0"], [], False)
