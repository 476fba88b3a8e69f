# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of each host of a wave, over all that may become of drains and events."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import InventoryNames
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan import plan as _plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import orders as _orders
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import run as _run
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import view as _view
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.model import RunSettings
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.run_state import DRAIN_STATES
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.summary import run_summary
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.view import kept_of
from helpers.properties import assert_generated
from hypothesis import given
from hypothesis import strategies as st

# The whole order of each host of a wave, for one event after the other.

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


SENT = {"approve_drained": ["E"], "taken_away": True, "acts": True}


@pytest.mark.parametrize(
    ("drains", "first", "second"),
    [
        (("drained", "drained"), SENT, SENT),
        (("drained", "failed"), {**BLOCKED, **RESTORED}, {**BLOCKED, **RESTORED}),
        (("drained", "late"), {**BLOCKED, "taken_away": True}, {**BLOCKED, "taken_away": True}),
    ],
)
def test_what_takes_the_vm_away_is_not_waited_for(drains, first, second):
    assert told({"vanishing": True}, drains) == {"a": first, "b": second}
    started = {"vanishing": True, "status": "Started"}
    assert told(started, drains) == {"a": {"taken_away": True}, "b": {"taken_away": True}}


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
    [({}, {**BLOCKED, **WAITS}, BLOCKED), ({"vanishing": True}, {**BLOCKED, "taken_away": True}, BLOCKED)],
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
        ({"vanishing": True}, ("drained", "drained"), {"taken_away": True}, {"taken_away": True}),
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


# The decisions between and inside waves, over all that may become of drains and events.

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
        if states.get(host) == "drained" and not order["taken_away"] and not order["blocked"]:
            # It stays drained while a host of its event is read again.
            assert order["restore"] != order["stays"]
        if order["taken_away"] or states.get(host, "lost") == "lost":
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


def test_who_is_late_for_an_event_that_takes_him_away_is_not_put_back_into_service():
    orders = _orders.wave_orders([event_of_two(vanishing=True)], ["a", "b"], {"a": "drained", "b": "late"})
    assert not any(order["restore"] or order["approve_drained"] or order["wait"] for order in orders.values())
    late = {**_orders.host_outcome(1, orders["b"], {"error": "too late"}, {}, {}), "number_of_pass": 1}
    assert late["state"] == "vanished"
    summary = run_summary(RUN, {"b": late}, empty_plan())
    assert (summary["ok"], summary["left"]["failed"]) == (False, ["b"])


def test_who_shows_an_event_and_who_does_not_is_told_where_it_is_refused():
    event = event_of_two(
        hosts=["a"], approvable=False, uncovered=["vm-b"], not_believed_of=["vm-b"], shown_by=["a"], not_shown_by=["b"]
    )
    orders = _orders.wave_orders([event], ["a", "b"], {"a": "drained", "b": "not_needed"})
    assert orders["a"]["refused"] == [{"id": "E", "uncovered": ["vm-b"], "why": "a shows it, b does not"}]
    assert (orders["a"]["approve_drained"], orders["b"]["acts"]) == ([], False)
    outcome = {**_orders.host_outcome(1, orders["a"], {}, {}, {"state": "restored"}), "number_of_pass": 1}
    summary = run_summary(RUN, {"a": outcome}, empty_plan())
    assert not summary["ok"]
    assert "Not approved: event E, which also touches vm-b: a shows it, b does not." in summary["lines"]


INVENTORY = _view.Inventory(elsewhere=dict, names=lambda: InventoryNames((), {}))


def a_run(hosts=("a",), **changes):
    return {**_run.begin("r", 0.0, list(hosts), dict.fromkeys(hosts, ""), None), **changes}


def test_what_was_not_believed_is_kept_and_is_no_success(monkeypatch):
    doubts = [{"why": "Wrong.", "hosts": ["a"], "wrong": True}, {"why": "Odd.", "hosts": ["a"], "wrong": False}]
    run = a_run()
    for found in (doubts, doubts[:1], []):
        made = {**empty_plan(), "ignored": [], "restore_first": [], "not_believed": found, "refused_hosts": []}
        monkeypatch.setattr(_plan, "make_plan", lambda *_given, made=made, **_options: dict(made))
        monkeypatch.setattr(_run, "render_plan", lambda _plan: [])
        run = _run.plan(run, {"a": {}}, RunSettings(), INVENTORY, 0.0)
    assert (run["not_believed"], run["number_of_pass"]) == (["Wrong."], 3)
    summary = run_summary({**RUN, "not_believed": run["not_believed"]}, {}, empty_plan())
    assert not summary["ok"]
    assert "Not trusted: Wrong." in summary["lines"]


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
    stop = _run.check(run, batch, RunSettings(continue_after_failure=go_on), 0.0)["stop"]
    assert (stop == "") if part == "" else (part in stop)


def order(**changes):
    return {**_orders.empty_order("drained"), **changes}


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


def empty_plan(**changes):
    return {"waves": [], "unknown": [], "left_drained": [], "already_drained": [], **changes}


RUN = {"run_id": "r", "started_at": "1", "ended_at": "2", "hosts": ["a", "z"], "events": {}, "stopped": ""}


def test_a_run_that_could_not_read_everybody_does_not_say_that_all_is_well():
    plan = empty_plan(unknown=["z"], unread=[{"hosts": ["z"], "why": "No route."}])
    summary = run_summary(RUN, {}, plan)
    assert summary["lines"][-2:] == ["Unread, so nothing is known about z. No route.", "All is well with the others."]


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
    shared = _run.for_the_plays(run, RunSettings(plan_only=plan_only), 0.0)
    assert (shared["waves"], shared["leftovers"]) == (waves, leftovers)


def test_only_what_was_read_in_this_run_is_taken_for_known():
    assert not _run.for_the_actions(a_run())["has_read"]


def test_without_waves_there_is_nothing_to_look_at_again(monkeypatch):
    made = {
        **empty_plan(),
        "ignored": [],
        "restore_first": [],
        "nothing_to_do": ["a"],
        "not_believed": [],
        "refused_hosts": [],
    }
    monkeypatch.setattr(_plan, "make_plan", lambda *_given, **_options: dict(made))
    monkeypatch.setattr(_run, "render_plan", lambda _plan: [])
    run = a_run()
    assert _run.for_the_plays(run, RunSettings(), 0.0)["reads"]
    after = _run.plan(run, {"a": {}}, RunSettings(), INVENTORY, 0.0)
    assert _run.for_the_plays(after, RunSettings(), 0.0)["reads"] == []
    assert _run.for_the_actions(after)["has_read"]


def test_a_journal_that_can_not_be_read_is_no_success():
    plan = {**empty_plan(), "journal_problems": [{"hosts": ["a"], "why": "Use become."}]}
    summary = run_summary(RUN, {}, plan)
    assert not summary["ok"]
    assert summary["left"]["failed"] == ["a"]
    assert "Not known whether an earlier run left it drained: a. Use become." in summary["lines"]


# What is left to do after a batch was drained or returned by one command a host.

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("result", "is_left"),
    [({}, False), ({"work": []}, False), ({"skipped": True}, False), ({"work": [{"kind": "tasks"}]}, True)],
)
def test_only_steps_that_need_tasks_are_left_to_tasks(result, is_left):
    assert _orders.left_to_tasks({"web-0": result, "web-1": {}}) == (["web-0"] if is_left else [])


@pytest.mark.parametrize(
    ("result", "again"),
    [
        ({}, True),
        ({"failed": True, "msg": "no"}, True),
        ({"unreachable": True}, True),
        ({"reading": None}, True),
        ({"reading": {"heard_at": NOW}}, False),
        ({"reading": {"heard_at": NOW - 19.9}}, False),
        ({"reading": {"heard_at": NOW - 20}}, True),
        # The clock was set back.
        ({"reading": {"heard_at": NOW + 1}}, True),
    ],
)
def test_who_brought_no_young_reading_along_is_read_again(result, again):
    assert _orders.to_be_read_again({"web-0": result}, 40.0, NOW) == (["web-0"] if again else [])
