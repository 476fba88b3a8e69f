# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A round: which leases it needs, what hosts are told after their drain, and what is written down of them."""

from __future__ import annotations

import ast

import jinja2
import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import leases as _leases
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import round as _round
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import run as _run_run
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.orders import empty_order, left_as_it_is, returned
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.view import grouping_of
from helpers import ROOT
from helpers.run_stages import (
    HOSTS,
    INVENTORY,
    NOW,
    a_run,
    answers,
    decided,
    drained,
    note,
    ordered,
    reading,
    reboot,
    run_settings,
)

# What hosts are told after their drain, and what is left of it where the lease was lost.

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
    run = _run_run.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    run = _run_run.plan(run, {host: of_one_domain(host, events) for host in HOSTS}, run_settings(), INVENTORY, NOW)
    known = {host: of_one_domain(host, events) for host in HOSTS}
    found = _round.decide(run, known, run_settings(), INVENTORY, answers(), NOW)["round"]
    assert found["drain"] == ["web-0", "web-1"]
    journal = drained("E0")
    known = {host: {**of_one_domain(host, events, journal), **DRAINED} for host in ("web-0", "web-1")}
    known["web-2"] = of_one_domain("web-2", events)
    orders, held, calls = _round.order(run, found, known, run_settings(), INVENTORY, NOW)
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
    assert [(call["lock_host"], len(call["notes"])) for call in calls] == [(host, 2) for host in HOSTS]


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
    found = _round.decide(run, known, run_settings(), INVENTORY, answers(), NOW)
    assert (found["round"]["back"], found["round"]["drain"]) == (["web-0"], [])
    assert found["fences"] == {"web-0": {**FENCE, "events": [], "may_start": []}}
    orders, _held, calls = _round.order(run, found["round"], known, run_settings(), INVENTORY, NOW)
    assert orders["web-0"]["restore"]
    assert orders["web-0"]["restore_fence"] == {**FENCE, "events": [], "may_start": ["E1"]}
    assert calls == []


# Where the lease is lost.


def two_leases():
    run = _run_run.begin("r", NOW, HOSTS, {"web-0": "a", "web-1": "b", "web-2": "b"}, None)
    known = {
        host: {**reading(host, [reboot(number)]), "maintenance_delivery_group": group}
        for number, (host, group) in enumerate(run["lease_of"].items())
    }
    run = _run_run.plan(run, known, run_settings(), INVENTORY, NOW)
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
    left = _round.confirm_drain(run, decision, answered, NOW)
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
    left = _round.confirm_drain(run, {"round": found, "fences": {}, "calls": []}, answered, NOW)["round"]
    assert (left["drain"], left["later"], list(left["held"])) == (["web-1"], ["web-0"], ["E0"])


def test_who_would_have_been_brought_back_waits_for_the_lease_too():
    run, answered = two_leases()
    found = {"events": [], "drain": ["web-1"], "back": ["web-0"], "stay": [], "later": [], "held": {}, "again": False}
    left = _round.confirm_drain(run, {"round": found, "fences": {}, "calls": []}, answered, NOW)["round"]
    assert (left["back"], left["drain"], left["later"]) == ([], ["web-1"], ["web-0"])


def test_a_round_that_has_its_leases_stays_as_it_is():
    run, answered = two_leases()
    found = {"events": [entry(1, "web-1")], "drain": ["web-1"], "back": ["web-2"], "stay": [], "later": [], "held": {}}
    decision = {"round": {**found, "again": False}, "fences": {}, "calls": []}
    assert _round.confirm_drain(run, decision, answered, NOW) is decision
    assert _round.confirm_drain(run, decision, {}, NOW) is decision


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
    orders, held = _round.confirm_approval(run, orders, answered, [], NOW)
    order = orders["web-0"]
    assert (order["approve_drained"], order["approve_as_is"], order["marks"], order["restore"]) == ([], [], [], False)
    assert (order["stays"], order["later"], order["acts"], order["wait"]) == (stays, later, acts, wait)
    assert orders["web-1"] == kept
    assert list(held) == ["E0"]
    assert "This run has lost the lease of a" in held["E0"]


def test_who_sends_nothing_needs_no_lease_to_go_on():
    run, answered = two_leases()
    orders, held = _round.confirm_approval(run, {"web-0": telling(wait=["E0"])}, answered, [], NOW)
    assert (orders["web-0"]["wait"], orders["web-0"]["restore"], held) == (["E0"], True, {})


# Whether a batch begins.


def test_what_is_told_at_the_beginning_of_a_wave():
    run, _known, _found = decided([reboot(0), reboot(1)], ["web-0"], answers())
    check = _run_run.check(run, ["web-0"], run_settings(), NOW + 20)
    assert (check["stop"], check["wave"]["number"], check["hosts"], check["reads"]) == ("", 1, ["web-0"], ["web-0"])
    assert [(call["lock_host"], call["notes"], call["forget"]) for call in check["calls"]] == [
        (host, [], []) for host in HOSTS
    ]
    stopped = _run_run.check(run, ["web-2"], run_settings(), NOW)
    assert (stopped["wave"], stopped["calls"], stopped["reads"]) == (None, [], [])
    assert "The batch web-2 is no wave of the plan" in stopped["stop"]


# After a round: what is written down of its hosts, whose notes go, and whether it was one of waiting.

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
    return _round.record(run, orders, found, variables, 1, NOW)


def forgotten(orders, variables, **more):
    _after, calls, _of_others = recorded(orders, variables, **more)
    assert {call["lock_host"] for call in calls} in (set(HOSTS), set())
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


def test_nobody_is_told_to_forget_what_nobody_was_told():
    assert forgotten({"web-0": returned("drained")}, known(**RESTORED)) == []


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({"drains": True}, {}),
        ({"marks": [mark("web-0")]}, {}),
        ({}, {"notes": [{**note("web-0"), "run": "r"}]}),
        ({"drains": True}, {"notes": [{**note("web-0"), "run": "r"}]}),
        ({"drains": True, "marks": [mark("web-0")]}, {}),
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
    [returned("drained"), empty_order("not_needed"), drained_order(taken_away=True)],
    ids=lambda one: one["drain"],
)
def test_restored_passed_and_taken_away_are_all_through(order):
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


# Which leases a batch needs, whom to ask for them, and what the lock hosts are told.

RUN = ROOT / "playbooks" / "run"
TOLD = answers()["set"]["web-0"]
REFUSED = answers(held=False)["set"]["web-0"]


def in_groups(**groups):
    """A run over hosts of these groups; "" is none."""
    named = {host.replace("_", "-"): group for host, group in groups.items()}
    run = _run_run.begin("r", NOW, list(named), named, None)
    known = {host: {**reading(host, []), "maintenance_delivery_group": group} for host, group in named.items()}
    run = _run_run.plan(run, known, run_settings(), INVENTORY, NOW)
    return run, grouping_of(run["kept"])


def test_a_batch_asks_the_lock_hosts_of_its_own_groups():
    run, grouping = in_groups(web_0="b", web_1="a", web_2="", web_3="a")
    assert [(call["group"], call["lock_host"]) for call in _leases.calls_for(run, ["web-0", "web-3"], grouping)] == [
        ("a", "web-1"),
        ("a", "web-3"),
        ("b", "web-0"),
    ]
    assert [call["group"] for call in _leases.calls_for(run, ["web-2"], grouping)] == [""]
    assert _leases.calls_for(run, ["unknown"], grouping) == []
    assert _leases.calls_for({**run, "lock_hosts": {}}, ["web-0"], grouping) == []


def test_a_lock_host_is_told_about_hosts_of_its_own_lease_alone():
    run, grouping = in_groups(web_0="b", web_1="a")
    calls = _leases.calls_for(
        run, ["web-0", "web-1"], grouping, [note("web-0"), note("web-1"), note("x")], ["web-1", "web-0", "x"]
    )
    assert [(call["group"], [one["host"] for one in call["notes"]], call["forget"]) for call in calls] == [
        ("a", ["web-1"], ["web-1"]),
        ("b", ["web-0"], ["web-0"]),
    ]


def test_what_a_run_adds_to_a_note_is_sent_to_no_lock_host():
    run, grouping = in_groups(web_0="b")
    known = {**note("web-0"), "heard_before_reading": True, "by": ["web-0"], "lacking": []}
    (call,) = _leases.calls_for(run, ["web-0"], grouping, [known])
    assert call["notes"] == [note("web-0")]


def test_who_keeps_a_note_and_who_lacks_it_is_known_to_the_run():
    told = answers(notes=[note("web-2")])["set"]
    told["web-1"] = {**told["web-1"], "notes": [], "remembers": 1000}
    held = _leases.verdicts_of(a_run(), {"set": told}, "take", NOW)
    (found,) = held.notes([])
    assert (found["by"], found["lacking"]) == (["web-0", "web-2"], ["web-1"])


def refused_by(lock_host, renewed=False):
    told = answers(renewed=renewed)["set"]
    return {"set": {**told, lock_host: answers(held=False)["set"][lock_host]}}


def test_a_lock_host_that_refuses_alone_holds_a_run_up_for_90_seconds_and_is_then_named():
    """L5: each of two runs has two of three lock hosts, as one grants to everybody."""
    run = a_run(events=[reboot(0)])
    known = {"web-0": reading("web-0", [reboot(0)])}
    for later in (0, 40, 90):
        found = _round.decide(run, known, run_settings(), INVENTORY, refused_by("web-2"), NOW + later)
        assert found["round"]["drain"] == []
        assert "web-2 refuses it. web-2 says that it is held by run other" in found["round"]["held"]["E0"]
        assert found["round"]["waits"]
        assert _leases.outvoted(run, NOW + later) == []
    found = _round.decide(run, known, run_settings(), INVENTORY, refused_by("web-2"), NOW + 91)
    assert found["round"]["drain"] == ["web-0"]
    (said,) = _leases.outvoted(run, NOW + 91)
    assert "web-2 refuses the lease of set without reason since 2026-11-16T00:00:00Z" in said
    # It is told where it was seen, and not by what knows nothing new.
    assert _leases.outvoted(run, NOW + 92) == []
    found = _round.confirm_drain(run, found, refused_by("web-2", renewed=True), NOW + 93)
    assert found["round"]["drain"] == ["web-0"]
    _round.decide(run, known, run_settings(), INVENTORY, answers(), NOW + 100)
    assert run["refusals"] == {}


def test_a_lock_host_that_refuses_to_renew_stops_the_drain_and_the_approval():
    run, _known, found = decided([reboot(0)], ["web-0"], answers())
    later = _round.confirm_drain(run, found, refused_by("web-2", renewed=True), NOW + 1)
    assert later["round"]["drain"] == []
    assert "This run has lost the lease of set" in later["round"]["held"]["E0"]
    assert run["refusals"] == {"set": {"web-2": {"since": NOW + 1, "last": NOW + 1}}}
    run, (orders, _held, calls) = ordered([reboot(0)], drained("E0"))
    orders, held = _round.confirm_approval(run, orders, refused_by("web-2", renewed=True), calls, NOW + 1)
    assert list(held) == ["E0"]
    assert orders["web-0"]["approve_drained"] == []


def test_without_a_lease_of_its_group_nothing_is_begun_and_it_is_said_why():
    run, grouping = in_groups(web_0="b", web_1="a")
    verdicts = _leases.verdicts_of(
        run, {"a": {"web-1": TOLD}, "b": {"web-0": REFUSED}, "odd": {"x": TOLD}}, "take", NOW
    )
    assert sorted(verdicts.by_lease) == ["a", "b"]
    assert list(verdicts.lost) == ["b"]
    assert verdicts.unleased(grouping) == {"b": verdicts.lost["b"]}
    assert verdicts.why_lost("web-0", run, grouping) == verdicts.lost["b"]
    assert verdicts.why_lost("web-1", run, grouping) == ""
    assert verdicts.why_lost("unknown", run, grouping) == ""


def test_a_lease_that_nobody_has_answered_for_is_not_held():
    run, grouping = in_groups(web_0="b", web_1="a")
    verdicts = _leases.verdicts_of(run, {"a": {"web-1": TOLD}}, "take", NOW, ["a", "b", "odd"])
    assert list(verdicts.unleased(grouping)) == ["b"]
    assert "The lease of b can't be had" in verdicts.lost["b"]


@pytest.mark.parametrize("hosts", [1, 2, 3, 4, 6, 7, 12, 13, 200])
@pytest.mark.parametrize("number", [0, 1, 3, 6, 7, 150])
def test_every_lock_host_is_asked_once_and_nobody_has_an_empty_list(hosts, number):
    """Where `run_once` is a template, the result of a host with nothing to loop over replaces those of all hosts."""
    (task,) = yaml.safe_load((RUN / "tasks" / "lease.yml").read_text(encoding="utf-8"))
    names = [f"web-{index}" for index in range(hosts)]
    known = {"__calls": [f"call {index}" for index in range(number)], "ansible_play_batch": names}
    known["__few"] = resolved(task["vars"]["__few"], known)
    asked = [resolved(task["loop"], {**known, "inventory_hostname": name}) for name in names]
    if known["__few"]:
        assert asked[0] == known["__calls"]
        assert number <= 6
    else:
        assert all(asked)
        nobody = [[{"lock_host": name}] for name in names]
        assert sorted(call for calls in asked if calls not in nobody for call in calls) == sorted(known["__calls"])
        assert all(
            calls not in nobody or calls == [{"lock_host": name}] for name, calls in zip(names, asked, strict=True)
        )


@pytest.mark.parametrize("hosts", [1, 3, 12])
@pytest.mark.parametrize("number", [1, 2, 3, 7, 40])
def test_every_host_outside_of_a_batch_is_read_once(hosts, number):
    (_read, task, _decision) = yaml.safe_load((RUN / "tasks" / "read_again.yml").read_text(encoding="utf-8"))
    names = [f"web-{index}" for index in range(hosts)]
    known = {"__next": {"others": [f"other-{index}" for index in range(number)]}, "ansible_play_batch": names}
    read = [resolved(task["loop"], {**known, "inventory_hostname": name}) for name in names]
    assert sorted(other for others in read for other in others) == sorted(known["__next"]["others"])


def resolved(text, variables):
    return ast.literal_eval(jinja2.Environment(autoescape=False).from_string(text).render(variables).strip())


def test_what_is_known_of_notes_is_what_was_said_last_by_who_holds_the_lease():
    run = a_run()
    known = [note("web-0"), note("web-1")]
    lost = _leases.verdicts_of(run, answers(held=False, notes=[note("web-2")]), "take", NOW)
    assert lost.notes(known) == known
    held = _leases.verdicts_of(run, answers(notes=[note("web-0"), note("stranger")]), "take", NOW)
    assert [one["host"] for one in held.notes(known)] == ["web-0"]


def entry_of(number, *hosts, **changes):
    made = {"id": f"E{number}", "type": "Reboot", "action": "drain", "hosts": list(hosts), "vanishing": False}
    return {**made, **changes}


def test_a_host_that_is_only_taken_away_is_noted_nowhere():
    gone = {"vanishing": True, "type": "Preempt"}
    found = {
        "events": [entry_of(0, "a", "b", **gone), entry_of(1, "b", "c")],
        "drain": ["a", "b", "c", "d"],
        "drain_for": {"a": ["E0"], "b": ["E0", "E1"], "c": ["E9", "E1"], "d": []},
    }
    assert _leases.taken_away(found) == {"a"}
    assert _leases.drain_notes(found, "r", NOW) == [
        {"host": "b", "events": ["E0", "E1"], "type": "Preempt", "run": "r", "at": NOW, "mark": None},
        {"host": "c", "events": ["E9", "E1"], "type": "Reboot", "run": "r", "at": NOW, "mark": None},
    ]


def test_an_approval_is_noted_once_for_each_host_of_its_event():
    entries = [entry_of(0, "a", "b"), entry_of(1, "b"), entry_of(0, "a", "b")]
    notes = _leases.approval_notes(entries, "r", NOW)
    assert [(one["host"], one["events"], one["mark"]["hosts"]) for one in notes] == [
        ("a", ["E0"], ["a", "b"]),
        ("b", ["E0"], ["a", "b"]),
        ("b", ["E1"], ["b"]),
    ]


@pytest.mark.parametrize(
    ("kind", "action", "takes_down"),
    [
        ("Freeze", "approve", False),
        ("Freeze", "drain", True),
        ("Freeze", "ignore", True),
        ("Reboot", "approve", True),
        ("A", "approve", True),
        ("Freeze", "a", True),
    ],
)
def test_a_mark_says_whether_the_vm_goes_down(kind, action, takes_down):
    vanishing = kind == "Reboot"
    assert _leases.mark_of(entry_of(0, "a", type=kind, action=action, vanishing=vanishing), NOW) == {
        "event": "E0",
        "hosts": ["a"],
        "at": NOW,
        "takes_down": takes_down,
        "vanishing": vanishing,
    }


# Whether the readings of the plan will do.


@pytest.mark.parametrize(
    ("age", "is_fresh"), [(0, True), (4.9, True), (5, False), (10, False), (30, False), (-0.5, False)]
)
def test_what_was_read_a_moment_ago_is_fresh_whatever_the_clock_says(age, is_fresh):
    run = a_run(events=[reboot(0)])
    for seen_at in (NOW, 10.0):
        kept = {host: {**known, "seen_at": seen_at} for host, known in run["kept"].items()}
        assert _leases.are_fresh({**run, "kept": kept}, HOSTS, run_settings(), seen_at + age) is is_fresh
        kept["web-2"] = {**kept["web-2"], "shows": None}
        assert not _leases.are_fresh({**run, "kept": kept}, HOSTS, run_settings(), seen_at + age)
        wave = _run_run.check({**run, "kept": kept}, ["web-0"], run_settings(), seen_at + age)
        assert wave["reads"] == ([] if is_fresh else ["web-0"])


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
    run = a_run(events=[reboot(0)])
    assert _round.read_first(run, ["web-0"], run_settings(), told, NOW) == ([] if is_read else None)
    assert _round.read_first(run, ["web-0"], run_settings(), told, NOW + 20) == []
