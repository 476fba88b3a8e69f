# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts are told after their drain, and what is left of it where the lease was lost."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import approval_decision as _approval_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import batch_check as _batch_check
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import drain_decision as _drain_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.orders import empty_order
from helpers.run_stages import HOSTS, INVENTORY, NOW, a_run, answers, decided, drained, ordered, reading, reboot, wishes

DRAINED = {"drain_result": {"state": "drained"}}
FENCE = {"boot_id": "b", "seconds": 100.0, "at_most": 40.0, "owner": "r"}


def of_one_domain(host, events, journal=None):
    known = reading(host, events, journal)
    known["maintenance_status"]["this_host"]["update_domain"] = "0"
    return known


def test_all_that_a_host_is_told():
    both = {**reboot(0), "resources": ["web-0", "web-1"]}
    under_way = {**reboot(2, "Started"), "resources": ["web-2"]}
    events = [both, under_way]
    run = _run_plan.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    run = _run_plan.plan(run, {host: of_one_domain(host, events) for host in HOSTS}, wishes(), INVENTORY, NOW)
    known = {host: of_one_domain(host, events) for host in HOSTS}
    found = _drain_decision.decide(run, known, wishes(), INVENTORY, answers(), NOW)["round"]
    assert found["drain"] == ["web-0", "web-1"]
    journal = drained("E0")
    known = {host: {**of_one_domain(host, events, journal), **DRAINED} for host in ("web-0", "web-1")}
    known["web-2"] = of_one_domain("web-2", events)
    orders, held, calls = _approval_decision.order(run, found, known, wishes(), INVENTORY, NOW)
    assert held == {}
    for host in ("web-0", "web-1"):
        order = orders[host]
        assert (order["approve_drained"], order["wait"], order["restore"]) == (["E0"], ["E0"], True)
        assert (order["drains"], order["together"]) == (True, ["web-0", "web-1"])
        assert [(mark["event"], mark["hosts"]) for mark in order["marks"]] == [("E0", ["web-0", "web-1"])]
        assert order["fence"] == {**FENCE, "events": ["E0"], "may_start": ["E0", "E2"]}
        # After the event: however long that took, the host must still be as it was left.
        restore_fence = {**order["fence"], "boot_id": None, "seconds": None, "events": []}
        assert order["restore_fence"] == restore_fence
    other = orders["web-2"]
    assert (other["drains"], other["together"], other["marks"], other["wait"]) == (False, ["web-2"], [], ["E2"])
    assert other["fence"] == {**FENCE, "owner": None, "events": [], "may_start": ["E0", "E2"]}
    assert [(call["keeper"], len(call["notes"])) for call in calls] == [(host, 2) for host in HOSTS]


def test_an_event_is_taken_as_it_is_now():
    _run, (orders, held, calls) = ordered([reboot(0, "Started")], drained("E0"))
    assert (orders["web-0"]["approve_drained"], orders["web-0"]["wait"]) == ([], ["E0"])
    assert (held, calls) == ({}, [])


def test_one_that_is_gone_is_taken_as_it_was():
    _run, (orders, held, _calls) = ordered([], drained("E0"))
    assert orders["web-0"]["approve_drained"] == []
    assert list(held) == ["E0"]


@pytest.mark.parametrize(
    ("result", "is_held"),
    [({"state": "drained"}, True), ({"failed": True, "msg": "no"}, False), ({"late": True}, False)],
)
def test_why_an_event_is_held_back_is_told_only_where_its_hosts_are_drained(result, is_held):
    """Where they are not, that is the reason, and their outcomes tell it."""
    events = [reboot(0), reboot(1, "Started")]
    _run, (orders, held, _calls) = ordered(events, drained("E0"), drain_result=result)
    assert list(held) == (["E0"] if is_held else [])
    assert orders["web-0"]["approve_drained"] == []


@pytest.mark.parametrize("status", ["Canceled", "Suspended"])
def test_an_event_in_a_state_that_nobody_knows_is_not_held_back_as_it_is_not_sent(status):
    _run, (orders, held, calls) = ordered([reboot(0, status), reboot(1, "Started")], drained("E0"))
    assert (orders["web-0"]["approve_drained"], orders["web-0"]["wait"]) == ([], ["E0"])
    assert (held, calls) == ({}, [])


def test_who_is_brought_back_before_its_event_must_have_been_read_just_now():
    events = [reboot(0), reboot(1, "Started")]
    run = a_run(events=events)
    known = {"web-0": reading("web-0", events, drained("E0"))}
    found = _drain_decision.decide(run, known, wishes(), INVENTORY, answers(), NOW)
    assert (found["round"]["back"], found["round"]["drain"]) == (["web-0"], [])
    assert found["fences"] == {"web-0": {**FENCE, "events": [], "may_start": []}}
    orders, _held, calls = _approval_decision.order(run, found["round"], known, wishes(), INVENTORY, NOW)
    assert orders["web-0"]["restore"]
    assert orders["web-0"]["restore_fence"] == {**FENCE, "events": [], "may_start": ["E1"]}
    assert calls == []


# Where the lease is lost.


def two_leases():
    run = _run_plan.begin("r", NOW, HOSTS, {"web-0": "a", "web-1": "b", "web-2": "b"}, None)
    known = {
        host: {**reading(host, [reboot(number)]), "maintenance_delivery_group": group}
        for number, (host, group) in enumerate(run["lease_of"].items())
    }
    run = _run_plan.plan(run, known, wishes(), INVENTORY, NOW)
    told = answers()["set"]["web-0"]
    lost = answers(held=False)["set"]["web-0"]
    answered = {"a": {"web-0": lost}, "b": {host: {**told, "renewed": True} for host in ("web-1", "web-2")}}
    return run, answered


def entry(number, *hosts, vanishing=False):
    return {"id": f"E{number}", "hosts": list(hosts), "vanishing": vanishing}


def test_of_a_round_only_what_has_its_lease_is_left():
    run, answered = two_leases()
    found = {
        "events": [entry(0, "web-0"), entry(1, "web-1"), entry(3, "web-0", "web-2")],
        "drain": ["web-0", "web-1"],
        "back": ["web-2"],
        "stay": ["web-0", "web-1"],
        "later": ["x"],
        "held": {"E9": "full"},
        "again": False,
    }
    decision = {"round": found, "fences": {}, "calls": []}
    left = _drain_decision.confirm_drain(run, decision, answered)
    why = left["round"]["held"].pop("E0")
    assert "This run has lost the lease of a" in why
    assert left == {
        "round": {
            "events": [entry(1, "web-1")],
            "drain": ["web-1"],
            "back": ["web-2"],
            "stay": ["web-1"],
            "later": ["x", "web-0"],
            "held": {"E9": "full", "E3": why},
            "again": True,
        },
        "fences": {},
        "calls": [],
    }


def test_who_is_taken_away_needs_no_lease_and_is_not_stopped_by_another():
    run, answered = two_leases()
    found = {
        "events": [entry(0, "web-0"), entry(1, "web-1", vanishing=True)],
        "drain": ["web-0", "web-1"],
        "back": [],
        "stay": [],
        "later": [],
        "held": {},
        "again": False,
    }
    left = _drain_decision.confirm_drain(run, {"round": found, "fences": {}, "calls": []}, answered)["round"]
    assert (left["drain"], left["later"], list(left["held"])) == (["web-1"], ["web-0"], ["E0"])


def test_who_would_have_been_brought_back_waits_for_the_lease_too():
    run, answered = two_leases()
    found = {"events": [], "drain": ["web-1"], "back": ["web-0"], "stay": [], "later": [], "held": {}, "again": False}
    left = _drain_decision.confirm_drain(run, {"round": found, "fences": {}, "calls": []}, answered)["round"]
    assert (left["back"], left["drain"], left["later"]) == ([], ["web-1"], ["web-0"])


def test_a_round_that_has_its_leases_stays_as_it_is():
    run, answered = two_leases()
    found = {"events": [entry(1, "web-1")], "drain": ["web-1"], "back": ["web-2"], "stay": [], "later": [], "held": {}}
    decision = {"round": {**found, "again": False}, "fences": {}, "calls": []}
    assert _drain_decision.confirm_drain(run, decision, answered) is decision
    assert _drain_decision.confirm_drain(run, decision, {}) is decision


def telling(**changes):
    return {**empty_order("drained"), "acts": True, "restore": True, **changes}


@pytest.mark.parametrize(
    ("changes", "stays", "later", "acts", "wait"),
    [
        ({"approve_drained": ["E0"], "wait": ["E0"]}, True, False, False, []),
        ({"approve_drained": ["E0"], "wait": ["E0", "E7"]}, True, False, True, ["E7"]),
        ({"drain": "not_needed", "approve_as_is": ["E0"], "wait": ["E0"]}, False, True, False, []),
        ({"drain": "not_needed", "approve_as_is": ["E0"], "wait": ["E7", "E0"]}, False, False, True, ["E7"]),
    ],
)
def test_without_its_lease_nothing_is_sent_and_the_host_stays_as_it_is(changes, stays, later, acts, wait):
    run, answered = two_leases()
    mark = {"event": "E0"}
    orders = {"web-0": telling(marks=[mark], **changes), "web-1": telling(marks=[mark], **changes)}
    kept = dict(orders["web-1"])
    orders, held = _approval_decision.confirm_approval(run, orders, answered)
    order = orders["web-0"]
    assert (order["approve_drained"], order["approve_as_is"], order["marks"], order["restore"]) == ([], [], [], False)
    assert (order["stays"], order["later"], order["acts"], order["wait"]) == (stays, later, acts, wait)
    assert orders["web-1"] == kept
    assert list(held) == ["E0"]
    assert "This run has lost the lease of a" in held["E0"]


def test_who_sends_nothing_needs_no_lease_to_go_on():
    run, answered = two_leases()
    orders, held = _approval_decision.confirm_approval(run, {"web-0": telling(wait=["E0"])}, answered)
    assert (orders["web-0"]["wait"], orders["web-0"]["restore"], held) == (["E0"], True, {})


# Whether a batch begins.


def test_what_is_told_at_the_beginning_of_a_wave():
    run, _known, _found = decided([reboot(0), reboot(1)], ["web-0"], answers())
    check = _batch_check.check(run, ["web-0"], wishes(), {}, NOW + 20)
    assert (check["stop"], check["wave"]["number"], check["hosts"], check["reads"]) == ("", 1, ["web-0"], ["web-0"])
    assert [(call["keeper"], call["notes"], call["forget"]) for call in check["calls"]] == [
        (host, [], []) for host in HOSTS
    ]
    stopped = _batch_check.check({**run, "first_wave": None}, ["web-2"], wishes(), {}, NOW)
    assert (stopped["wave"], stopped["calls"], stopped["begun"], stopped["stale"]) == (None, [], False, [])
    assert "The batch web-2 is no wave of the plan" in stopped["stop"]


@pytest.mark.parametrize(
    ("failed", "stop"),
    [
        ([], ""),
        (["web-1"], ""),
        (["web-0"], "Not begun, as an earlier wave went wrong (web-0: no)."),
        (["web-0", "web-1"], "Not begun, as an earlier wave went wrong (web-0: no)."),
    ],
)
def test_a_failure_stops_its_own_group_however_many_have_failed(failed, stop):
    run, _answered = two_leases()
    outcomes = {host: {"state": "failed", "error": "no", "wave": 1, "number_of_pass": 1} for host in failed}
    check = _batch_check.check({**run, "outcomes": outcomes}, ["web-0"], wishes(), {}, NOW)
    assert check["stop"] == stop
