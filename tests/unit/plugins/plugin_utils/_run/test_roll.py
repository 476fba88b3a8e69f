# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decisions between and inside waves, over all that may become of drains and events."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import batch_check as _batch_check
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import batch_model as _batch_model
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import leftover_hosts as _leftover_hosts
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import orders as _orders
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import outcomes as _outcomes
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import DRAIN_STATES
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.summary import run_summary
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import kept_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes
from helpers.properties import assert_generated
from hypothesis import given
from hypothesis import strategies as st

HOSTS = ["a", "b", "c", "d"]


@st.composite
def events(draw):
    made = []
    for number in range(draw(st.integers(1, 4))):
        action = draw(st.sampled_from(["drain", "drain", "approve", "ignore"]))
        status = draw(st.sampled_from(["Scheduled", "Scheduled", "Started"]))
        uncovered = draw(st.sampled_from([[], [], ["stranger"]]))
        made.append(
            {
                "id": f"E{number}",
                "hosts": draw(st.lists(st.sampled_from(HOSTS), min_size=1, unique=True)),
                "action": action,
                "status": status,
                "uncovered": uncovered,
                "approvable": action != "ignore" and status == "Scheduled" and not uncovered,
                "vanishing": draw(st.sampled_from([False, False, True])),
            }
        )
    return made


# Most drains go well: with each state as likely, no event would ever be approved.
drains = st.dictionaries(
    st.sampled_from(HOSTS), st.sampled_from([*DRAIN_STATES, *["drained"] * 7]), min_size=2, max_size=4
)
failure_policies = st.sampled_from(["restore", "leave"])


@given(events(), drains, failure_policies)
def test_only_what_is_wholly_drained_is_approved(made, states, policy):
    orders = _orders.wave_orders(made, HOSTS, states, policy)
    for event in made:
        sent_by = [host for host in HOSTS if event["id"] in orders[host]["approve_drained"]]
        if sent_by:
            assert event["action"] == "drain"
            assert event["approvable"]
            assert all(states.get(host) == "drained" for host in event["hosts"])
        if any(event["id"] in orders[host]["approve_as_is"] for host in HOSTS):
            assert event["action"] == "approve"
            assert event["approvable"]
            assert all(states.get(host, "lost") != "lost" for host in event["hosts"])


def test_approvals_are_among_the_examples():
    def is_approved(example):
        orders = _orders.wave_orders(*example)
        return any(order["approve_drained"] for order in orders.values())

    assert_generated(st.tuples(events(), st.just(HOSTS), drains, failure_policies), is_approved)


@given(events(), drains, failure_policies)
def test_nobody_acts_on_events_that_do_not_name_him_or_are_left_alone(made, states, policy):
    orders = _orders.wave_orders(made, HOSTS, states, policy)
    for host, order in orders.items():
        mine = {event["id"] for event in made if host in event["hosts"] and event["action"] != "ignore"}
        told = {*order["approve_drained"], *order["approve_as_is"], *order["wait"], *order["blocked"]}
        told |= {refusal["id"] for refusal in order["refused"]}
        assert told <= mine


@given(events(), drains, failure_policies)
def test_a_drained_host_is_restored_or_on_purpose_not(made, states, policy):
    orders = _orders.wave_orders(made, HOSTS, states, policy)
    for host, order in orders.items():
        if states.get(host) == "drained" and not order["vanishes"] and not order["blocked"]:
            # It stays drained while a host of its event is read again.
            assert order["restore"] != order["stays"]
        if order["vanishes"] or states.get(host, "lost") == "lost":
            assert not order["restore"]


@given(events(), drains, failure_policies)
def test_every_unfinished_event_of_a_host_is_waited_for_before_it_is_restored(made, states, policy):
    orders = _orders.wave_orders(made, HOSTS, states, policy)
    for event in made:
        for host in event["hosts"]:
            order = orders[host]
            if order["restore"] and event["action"] != "ignore" and not event["vanishing"]:
                assert event["id"] in order["wait"] or event["id"] in order["blocked"]
                if event["status"] == "Started":
                    assert event["id"] in order["wait"]


def event_of_two(**changes):
    event = {
        "id": "E",
        "hosts": ["a", "b"],
        "action": "drain",
        "status": "Scheduled",
        "uncovered": [],
        "approvable": True,
    }
    return {**event, "vanishing": False, **changes}


def test_who_is_late_waits_for_the_event_and_so_do_its_neighbours():
    orders = _orders.wave_orders([event_of_two()], ["a", "b"], {"a": "drained", "b": "late"})
    assert [order["wait"] for order in orders.values()] == [["E"], ["E"]]
    assert all(order["restore"] and not order["approve_drained"] for order in orders.values())


def test_who_is_late_for_an_event_that_takes_him_away_is_not_put_back_into_service():
    orders = _orders.wave_orders([event_of_two(vanishing=True)], ["a", "b"], {"a": "drained", "b": "late"})
    assert not any(order["restore"] or order["approve_drained"] or order["wait"] for order in orders.values())
    late = {**_outcomes.host_outcome(1, orders["b"], {"error": "too late"}, {}, {}), "number_of_pass": 1}
    assert late["state"] == "vanished"
    summary = run_summary(RUN, {"b": late}, empty_plan())
    assert (summary["ok"], summary["left"]["failed"]) == (False, ["b"])


def test_who_shows_an_event_and_who_does_not_is_told_where_it_is_refused():
    event = event_of_two(
        hosts=["a"],
        approvable=False,
        uncovered=["vm-b"],
        not_believed_of=["vm-b"],
        shown_by=["a"],
        not_shown_by=["b"],
    )
    orders = _orders.wave_orders([event], ["a", "b"], {"a": "drained", "b": "not_needed"})
    assert orders["a"]["refused"] == [{"id": "E", "uncovered": ["vm-b"], "why": "a shows it, b does not"}]
    assert (orders["a"]["approve_drained"], orders["b"]["acts"]) == ([], False)
    outcome = {**_outcomes.host_outcome(1, orders["a"], {}, {}, {"state": "restored"}), "number_of_pass": 1}
    summary = run_summary(RUN, {"a": outcome}, empty_plan())
    assert not summary["ok"]
    assert "Not approved: event E, which also touches vm-b: a shows it, b does not." in summary["lines"]


def test_hosts_of_the_batch_whose_turn_has_not_come_are_left_as_they_are():
    drains = {"a": "drained", "b": "drained", "c": "not_needed"}
    orders = _orders.wave_orders([event_of_two(hosts=["a"])], ["a", "b", "c", "d"], drains, later=["b", "c", "d"])
    assert orders["a"]["restore"]
    assert [orders[host]["drain"] for host in "bcd"] == ["not_needed", "not_needed", "lost"]
    assert not any(orders[host]["restore"] or orders[host]["acts"] for host in "bcd")


INVENTORY = _batch_model.Inventory(elsewhere=dict, inventory_of=lambda hosts: {host: {} for host in hosts})


def a_run(hosts=("a",), **changes):
    return {**_run_plan.begin("r", 0.0, list(hosts), dict.fromkeys(hosts, ""), None), **changes}


def test_what_was_not_believed_is_kept_and_is_no_success(monkeypatch):
    doubts = [{"why": "Wrong.", "hosts": ["a"], "wrong": True}, {"why": "Odd.", "hosts": ["a"], "wrong": False}]
    run = a_run()
    for found in (doubts, doubts[:1], []):
        made = {**empty_plan(), "ignored": [], "restore_first": [], "not_believed": found}
        monkeypatch.setattr(_batch_model, "make_plan", lambda *_given, made=made, **_options: dict(made))
        monkeypatch.setattr(_run_plan, "render_plan", lambda _plan: [])
        run = _run_plan.plan(run, {"a": {}}, Wishes(), INVENTORY, 0.0)
    assert (run["not_believed"], run["number_of_pass"]) == (["Wrong."], 3)
    summary = run_summary({**RUN, "not_believed": run["not_believed"]}, {}, empty_plan())
    assert not summary["ok"]
    assert "Not believed: Wrong." in summary["lines"]


REST = {"of": 4, "deadline": None, "underway": True, "events": []}
PLAN = {
    "waves": [
        {"number": 1, "hosts": ["a", "b"], "domains": ["update domain 0"], "warnings": [], **REST},
        {"number": 2, "hosts": ["c"], "domains": ["update domain 1"], "warnings": [], **REST},
        {
            "number": 3,
            "hosts": ["d", "e"],
            "domains": ["zone 1", "zone 2"],
            "warnings": ["one event spans both"],
            **REST,
        },
        {"number": 4, "hosts": ["f", "g"], "domains": ["zone 1", "zone 2"], "warnings": [], **REST},
    ]
}


@pytest.mark.parametrize(
    ("batch", "outcomes", "go_on", "part"),
    [
        (["b", "a"], {}, False, ""),
        (["a"], {}, False, "is no wave of the plan"),
        (["a", "c"], {}, False, "is no wave of the plan"),
        (["c"], {"a": {"state": "restored"}, "b": {"state": "passed"}, "x": {"state": "vanished"}}, False, ""),
        (["c"], {"a": {"state": "left_drained"}}, False, "a: left_drained"),
        (["c"], {"a": {"state": "failed", "error": "no socket"}}, False, "a: no socket"),
        (["c"], {"a": {"state": "lost"}}, False, "earlier wave went wrong"),
        (["c"], {"a": {"state": "lost"}}, True, ""),
        # A failure stops its own group, not the others.
        (["c"], {"z": {"state": "lost"}}, False, ""),
        (["d", "e"], {}, False, ""),
        (["f", "g"], {}, False, "holds several domains"),
    ],
)
def test_whether_a_batch_may_begin(batch, outcomes, go_on, part):
    groups = {**dict.fromkeys("abcdefgx", "set"), "z": "another"}
    variables = {host: {"maintenance_delivery_group": group} for host, group in groups.items()}
    run = a_run(groups, plan=PLAN, outcomes=outcomes, kept=kept_of(groups, variables, 0.0))
    stop = _batch_check.check(run, batch, Wishes(continue_after_failure=go_on), {}, 0.0)["stop"]
    assert (stop == "") if part == "" else (part in stop)


def order(**changes):
    return {**_orders.empty_order("drained"), **changes}


@pytest.mark.parametrize(
    ("given_order", "approve", "restore", "state"),
    [
        (order(), {}, {"state": "restored"}, "restored"),
        (order(), {"error": "refused"}, {"state": "restored"}, "failed"),
        (order(drain="failed"), {}, {"state": "restored"}, "failed"),
        (order(blocked={"E": ["b"]}), {}, {"state": "restored"}, "failed"),
        (order(), {}, {"state": "failed", "error": "unhealthy"}, "left_drained"),
        (order(), {}, {}, "left_drained"),
        (order(drain="lost"), {}, {}, "lost"),
        (order(drain="not_needed"), {}, {}, "passed"),
        (order(drain="not_needed"), {"error": "x"}, {}, "failed"),
        (order(vanishes=True), {}, {}, "vanished"),
    ],
)
def test_the_state_of_a_host_after_its_wave(given_order, approve, restore, state):
    outcome = _outcomes.host_outcome(1, given_order, {}, approve, restore)
    assert outcome["state"] == state
    assert outcome.get("error", "") == " ".join(filter(None, (approve.get("error"), restore.get("error"))))


READ = {"events": []}


@pytest.mark.parametrize(
    ("due", "known", "state"),
    [
        (True, {"maintenance_status": READ, "drain_result": {"state": "drained"}}, "drained"),
        (True, {"maintenance_status": READ, "drain_result": {"state": "draining"}}, "failed"),
        (True, {"maintenance_status": READ, "drain_result": {"state": "drained", "failed": True}}, "failed"),
        (True, {"maintenance_status": READ, "drain_result": {"state": "drained", "unreachable": True}}, "late"),
        (True, {"maintenance_status": READ, "drain_result": {"failed": True, "late": True}}, "late"),
        (True, {"maintenance_status": READ, "drain_result": {"failed": True, "refused": "age"}}, "put_off"),
        (True, {"maintenance_status": READ}, "failed"),
        (True, {"maintenance_status": {"msg": "x"}, "drain_result": {"state": "drained"}}, "lost"),
        (True, {"drain_result": {"state": "drained"}}, "lost"),
        (False, {"maintenance_status": None}, "lost"),
        # What an earlier wave registered does not count.
        (False, {"maintenance_status": READ, "drain_result": {"state": "drained"}}, "not_needed"),
        (False, {"maintenance_status": {**READ, "journal": {"state": "drained"}}}, "drained"),
        (False, {"maintenance_status": {**READ, "journal": None}}, "not_needed"),
    ],
)
def test_what_became_of_a_drain(due, known, state):
    assert _orders.drain_states(["a"] if due else [], {"a": known}) == {"a": state}


def registered(**changes):
    return {
        "maintenance_status": {"events": [], "msg": "said"},
        "drain_result": {"state": "drained", "drained_at": "1", "boot_id": "b"},
        "approve_result": {"over": True, "approved": ["E"], "error": ""},
        "restore_result": {"state": "restored", "restored_at": "2", "boot_id": "c"},
        **changes,
    }


def acting(**changes):
    return order(**{"acts": True, "restore": True, **changes})


@pytest.mark.parametrize(
    ("given_order", "known", "expected"),
    [
        (acting(drains=True), registered(), {"state": "restored", "drained_at": "1", "restored_at": "2"}),
        (acting(drains=True), registered(), {"rebooted": True, "approved": ["E"], "number_of_pass": 2, "wave": 3}),
        (acting(drains=True, acts=False), registered(), {"approved": [], "state": "restored"}),
        (acting(drains=True), registered(approve_result={"msg": "gone"}), {"state": "left_drained", "error": "gone"}),
        (acting(drains=True), registered(approve_result={}), {"state": "left_drained", "error": "No approval"}),
        (
            acting(drains=True),
            registered(approve_result={"over": False, "error": "x"}),
            {"state": "left_drained", "error": "x", "restored_at": None},
        ),
        (
            acting(drains=True),
            registered(restore_result={"unreachable": True, "msg": "lost it"}),
            {"state": "left_drained", "error": "lost it"},
        ),
        (
            acting(drains=True, drain="failed"),
            registered(drain_result={"failed": True, "msg": "no"}),
            {"state": "failed", "error": "no", "drained_at": None},
        ),
        (acting(drain="lost"), registered(), {"state": "lost", "error": "said", "drained_at": None}),
        # What an earlier wave registered does not count.
        (acting(drain="not_needed", restore=False), registered(), {"state": "passed", "restored_at": None}),
        (acting(), registered(), {"drained_at": None, "restored_at": "2"}),
    ],
)
def test_what_a_wave_did_to_a_host(given_order, known, expected):
    earlier = {"z": {"state": "restored"}}
    outcomes = _outcomes.wave_outcomes({"a": given_order}, {"a": known}, 3, 2, earlier)
    assert outcomes["z"] == {"state": "restored"}
    assert {key: outcomes["a"].get(key) for key in expected} == expected


def test_what_was_left_behind_is_restored():
    journal = {"run_id": "another", "state": "drained", "steps": [], "events": [], "drained_at": "1"}
    known = {"maintenance_status": {"events": [], "journal": journal}, "restore_result": {"state": "restored"}}
    orders, _pause = _leftover_hosts.return_leftovers(a_run(), {"a": known}, Wishes(), 0.0, 0.0)
    outcome = _outcomes.wave_outcomes(orders, {"a": known}, 0, 1)["a"]
    assert (outcome["state"], outcome["drained_at"], outcome["wave"]) == ("restored", "1", 0)


def empty_plan(**changes):
    return {"waves": [], "unknown": [], "left_drained": [], "already_drained": [], **changes}


RUN = {"run_id": "r", "started_at": "1", "ended_at": "2", "hosts": ["a", "z"], "events": {}, "stopped": ""}


@pytest.mark.parametrize(
    ("state", "plan", "stopped", "ok"),
    [
        ("restored", empty_plan(), "", True),
        ("vanished", empty_plan(), "", True),
        ("left_drained", empty_plan(), "", False),
        ("failed", empty_plan(), "", False),
        ("restored", empty_plan(waves=[{"hosts": ["z"]}]), "", False),
        ("restored", empty_plan(left_drained=["z"]), "", False),
        ("restored", empty_plan(), "why", False),
        ("restored", empty_plan(unknown=["z"]), "", True),
        ("restored", empty_plan(unknown=["a", "z"]), "", False),
    ],
)
def test_when_a_run_is_well(state, plan, stopped, ok):
    outcome = {**_outcomes.host_outcome(1, order(), {}, {}, {"state": "restored"}), "state": state, "number_of_pass": 1}
    summary = run_summary({**RUN, "stopped": stopped}, {"a": outcome}, plan)
    assert summary["ok"] is ok
    assert summary["lines"][-1].startswith("All is well") is ok


def test_a_run_that_could_not_read_everybody_does_not_say_that_all_is_well():
    plan = empty_plan(unknown=["z"], unread=[{"hosts": ["z"], "why": "No route."}])
    summary = run_summary(RUN, {}, plan)
    assert summary["lines"][-2:] == ["Unread, so nothing is known about z. No route.", "All is well with the others."]


def test_the_first_host_that_sees_an_event_start_or_end_tells_when():
    seen = [
        {"E": {"started_at": "2026-11-16T00:00:05Z", "over_at": "2026-11-16T00:01:00Z"}},
        {"E": {"approved_at": "2026-11-16T00:00:01Z", "started_at": "2026-11-16T00:00:02Z"}},
    ]
    outcomes = {
        host: {**_outcomes.host_outcome(1, order(), {}, {"times": times}, {"state": "restored"}), "number_of_pass": 1}
        for host, times in zip("ab", seen, strict=True)
    }
    plan = {"waves": [], "unknown": []}
    event = run_summary({**RUN, "events": {"E": {"type": "Reboot"}}}, outcomes, plan)["events"]["E"]
    assert (event["approved_at"][-3:], event["started_at"][-3:], event["over_at"][-6:]) == ("01Z", "02Z", "01:00Z")


@pytest.mark.parametrize(
    ("plan_only", "failed", "waves", "leftovers"),
    [
        (False, "", [["a"], ["b"]], ["c"]),
        # A failure stops its own group.
        (False, "a", [["b"]], ["c"]),
        (False, "ab", [], ["c"]),
        (True, "", [], []),
    ],
)
def test_a_plan_is_run_unless_its_group_has_failed_or_only_the_plan_is_wanted(plan_only, failed, waves, leftovers):
    plan = {
        "waves": [{"hosts": ["a"], "events": []}, {"hosts": ["b"], "events": []}],
        "restore_first": ["c"],
        "nothing_to_do": ["d"],
    }
    variables = {host: {"maintenance_delivery_group": f"set-{host}"} for host in "abc"}
    outcomes = {host: {"state": "failed", "wave": 1, "number_of_pass": 1} for host in failed}
    run = a_run("abc", plan=plan, kept=kept_of("abc", variables, 0.0), outcomes=outcomes)
    shared = _run_plan.for_the_plays(run, Wishes(plan_only=plan_only))
    assert (shared["waves"], shared["leftovers"]) == (waves, leftovers)


@pytest.mark.parametrize(
    ("left", "since", "restored", "pauses"), [(5, 0, False, True), (0, 0, True, False), (5, -60, False, False)]
)
def test_who_another_run_is_at_work_on_is_waited_for_and_then_left_to_it(left, since, restored, pauses):
    journal = {"run_id": "another", "state": "drained", "steps": [], "events": [], "worked_on_for": left}
    known = {"c": {"maintenance_status": {"events": [], "journal": journal}}}
    orders, pause = _leftover_hosts.return_leftovers(a_run("c"), known, Wishes(), float(since), 0.0)
    assert (orders["c"]["restore"], pause > 0) == (restored, pauses)
    assert orders["c"]["restore_fence"]["owner"] == "another"
    plan = {**empty_plan(), "restore_first": ["c"]}
    assert run_summary(RUN, {}, plan)["left"]["drained"] == ["c"]


def test_only_what_was_read_in_this_run_is_taken_for_known():
    assert not _run_plan.for_the_plays(a_run(), Wishes())["has_read"]


def test_without_waves_there_is_nothing_to_look_at_again(monkeypatch):
    made = {**empty_plan(), "ignored": [], "restore_first": [], "nothing_to_do": ["a"], "not_believed": []}
    monkeypatch.setattr(_batch_model, "make_plan", lambda *_given, **_options: dict(made))
    monkeypatch.setattr(_run_plan, "render_plan", lambda _plan: [])
    run = a_run()
    assert _run_plan.for_the_plays(run, Wishes())["to_read"]
    shared = _run_plan.for_the_plays(_run_plan.plan(run, {"a": {}}, Wishes(), INVENTORY, 0.0), Wishes())
    assert (shared["to_read"], shared["has_read"]) == (False, True)


def test_a_journal_that_can_not_be_read_is_no_success():
    plan = {**empty_plan(), "journal_problems": [{"hosts": ["a"], "why": "Use become."}]}
    summary = run_summary(RUN, {}, plan)
    assert not summary["ok"]
    assert summary["left"]["failed"] == ["a"]
    assert "Not known whether an earlier run left it drained: a. Use become." in summary["lines"]
