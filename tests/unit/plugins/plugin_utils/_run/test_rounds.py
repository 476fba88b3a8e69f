# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From readings to the rounds of a batch, case by case and for all readings; who has its turn when."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import make_plan, read_policy
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import rounds as _rounds
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.model import Settings
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.rounds import next_round
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.rules import drain_deadline, group_states
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.view import kept_of, model_of
from helpers.default_policy import DEFAULT_POLICY
from helpers.properties import assert_generated
from helpers.run_stages import HOSTS as THREE
from helpers.run_stages import a_run, reboot, run_settings
from hypothesis import given, settings
from hypothesis import strategies as st

# From readings to the model, and from its decisions to the rounds of a wave.

NOW = 1_794_787_200.0  # 2026-11-16T00:00:00Z
DOMAINS = {"web-0": "0", "web-1": "1", "web-2": "2", "web-3": "0"}


def event(event_id, *resources, kind="Reboot", status="Scheduled", at="00:30", duration=None):
    due = None if status == "Started" else f"2026-11-16T{at}:00Z"
    return {
        "id": event_id,
        "type": kind,
        "status": status,
        "resources": list(resources),
        "not_before": due,
        "duration_seconds": duration,
    }


def variables(host, events, journal=None, group="rg", vm=None):
    name = vm or host
    shown = [{**one, "affects_this_host": name in one["resources"]} for one in events]
    this_host = {"vm_name": name, "update_domain": DOMAINS[host], "resource_group": group, "subscription_id": "s"}
    status = {"this_host": this_host, "events": shown, "read_at": "2026-11-16T00:00:00Z", "journal": journal}
    return {"maintenance_status": status, **({"maintenance_vm_name": vm} if vm else {})}


def fleet(events, hosts=("web-0", "web-1", "web-2"), **journals):
    return {host: variables(host, events, journals.get(host.replace("-", "_"))) for host in hosts}


def decided(host_vars, batch, outcomes=None, unleased=None, unfit=None, **settings):
    """The next round of a batch, with the others as they were read before."""
    mine = {host: host_vars[host] for host in batch}
    made = make_plan(batch, mine, DEFAULT_POLICY, read_again=True, now=NOW)
    planned = [entry for wave in made["waves"] for entry in wave["events"]]
    rules = read_policy(DEFAULT_POLICY)
    kept = kept_of(host_vars, host_vars, NOW)
    run = model_of(kept, mine, planned, rules, outcomes or {}, Settings(**settings), "r", NOW)
    return next_round(made, list(batch), run, unleased, unfit)


def ids(made):
    return [entry["id"] for entry in made["events"]]


def drained_for(*events):
    steps = [{"number": 1, "kind": "command", "arguments": {}, "before": {}, "status": "done"}]
    return {"state": "drained", "run_id": "earlier", "events": [event(one, "x") for one in events], "steps": steps}


def test_a_freeze_that_needs_no_drain_goes_along_with_the_first_reboot_only():
    events = [event("F", *list(DOMAINS)[:3], kind="Freeze", duration=5, at="00:20")]
    events += [event(f"E{number}", f"web-{number}", at=f"00:3{number}") for number in range(3)]
    made = decided(fleet(events), list(DOMAINS)[:3])
    assert ids(made) == ["F", "E0"]
    assert made["drain"] == ["web-0"]
    assert made["again"]
    assert set(made["held"]) == {"E1", "E2"}


def test_what_azure_has_under_way_holds_back_until_it_is_over():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1")]
    assert ids(decided(fleet(events), ["web-1"])) == []
    over = {"web-0": {"state": "passed", "outcomes": {"E0": "gone"}}}
    assert ids(decided(fleet(events), ["web-1"], over)) == ["E1"]


def test_vms_of_one_name_in_two_resource_groups_are_two():
    hosts = {
        "web-0": variables("web-0", [event("A", "same")], group="one", vm="same"),
        "web-1": variables("web-1", [event("B", "same")], group="two", vm="same"),
    }
    assert ids(decided(hosts, ["web-1"])) == ["B"]
    assert ids(decided(hosts, ["web-0"])) == ["A"]


def test_an_event_of_a_vm_outside_the_run_comes_first_if_it_is_due_first():
    events = [event("E0", "elsewhere"), event("E1", "web-1", at="00:40")]
    made = decided(fleet(events), ["web-1"])
    assert "Event E0 comes first, and another run may have elsewhere" in made["held"]["E1"]
    events = [event("E0", "elsewhere", at="00:50"), event("E1", "web-1", at="00:40")]
    assert ids(decided(fleet(events), ["web-1"])) == ["E1"]


@pytest.mark.parametrize("status", ["Scheduled", "Started"])
def test_a_vm_that_is_taken_away_is_no_reason_for_another_round(status):
    """It is not waited for: while something else is held back, the rounds would never end."""
    events = [
        event("P", "web-1", kind="Preempt", status=status),
        event("E0", "web-0", status="Started"),
        event("E2", "web-2"),
    ]
    made = decided(fleet(events), ["web-1", "web-2"])
    assert (ids(made), set(made["held"]), made["again"]) == (["P"], {"E2"}, False)


GROUP = "the group of web-0"


def test_without_its_lease_a_group_waits():
    events = [event("E0", "web-0"), event("P", "web-1", kind="Preempt")]
    made = decided(fleet(events), ["web-0", "web-1"], unleased={GROUP: "It is held by x."})
    assert (ids(made), made["drain"], made["later"]) == (["P"], ["web-1"], ["web-0"])
    assert made["held"] == {"E0": "It is held by x."}
    assert (made["again"], made["waits"]) == (False, True)
    made = decided(fleet(events), ["web-0", "web-1"], unleased={"another": "It is held by x."})
    assert (ids(made), made["held"]) == (["E0", "P"], {})


def test_what_can_not_be_drained_is_held_and_not_waited_for():
    events = [event("E0", "web-0")]
    made = decided(fleet(events), ["web-0"], unfit={"web-0": "lb can't be asked"})
    assert (ids(made), made["drain"], made["held"]) == ([], [], {"E0": "lb can't be asked"})
    # Nothing is held back by a rule, so that it is no service either that the run has patience with.
    assert (made["again"], made["waits"], made["waits_for_service"]) == (False, False, False)
    # Another event, which could still come.
    events = [event("E0", "web-0"), event("E1", "web-1", at="00:40")]
    made = decided(fleet(events), ["web-0", "web-1"], unfit={"web-0": "lb can't be asked"})
    assert (ids(made), made["waits"], made["held"]["E0"]) == ([], True, "lb can't be asked")
    assert not made["waits_for_service"]


def test_an_approval_without_a_drain_needs_no_host_to_be_fit():
    events = [event("F", "web-0", kind="Freeze", duration=5)]
    made = decided(fleet(events), ["web-0"], unfit={"web-0": "lb can't be asked"})
    assert (ids(made), made["drain"], made["held"]) == (["F"], [], {})


def test_whom_a_round_waits_for():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1")]
    made = decided(fleet(events), ["web-1"])
    assert (made["waits"], made["waits_for_service"], made["waits_for"]) == (True, False, ["web-0"])


def test_enough_hosts_in_service_are_waited_for_unless_there_can_never_be():
    events = [event("E0", "web-0")]
    made = decided(fleet(events), ["web-0"], {"web-2": {"state": "failed", "outcomes": {}}}, min_in_service=2)
    assert (ids(made), made["waits"], made["waits_for_service"]) == ([], True, True)
    made = decided(fleet(events), ["web-0"], min_in_service=3)
    assert (ids(made), made["waits"], made["waits_for_service"]) == ([], False, True)


def unread(host):
    return {"maintenance_status": {"msg": "Timed out."}, "maintenance_domain": DOMAINS[host]}


@pytest.mark.parametrize("other", [None, "web-0"])
def test_what_names_a_host_that_can_not_be_read_is_drained_as_far_as_that_goes(other):
    """When it is due, and unless that would take a second domain down."""
    events = [event("E", "web-1", "web-3", at="00:05"), *([event("S", other, status="Started")] if other else [])]
    hosts = {**fleet(events), "web-3": unread("web-3")}
    hosts["web-1"]["maintenance_domain"] = "0"
    hosts["web-0"]["maintenance_domain"] = "9"
    made = decided(hosts, ["web-1", "web-3"])
    assert made["drain"] == ([] if other else ["web-1"])
    assert ids(made) == ([] if other else ["E"])


def test_what_can_not_be_approved_is_drained_late_and_waited_for_with_the_lease():
    events = [event("E", "web-0", "outsider", at="00:05")]
    made = decided(fleet(events), ["web-0"])
    assert (ids(made), made["drain"], made["again"]) == (["E"], ["web-0"], False)
    made = decided(fleet(events), ["web-0"], unleased={GROUP: "It is held by x."})
    assert (ids(made), made["drain"]) == ([], [])


def test_what_can_not_be_approved_is_not_drained_hours_before_it_is_due():
    """And a run that will have ended by then does not wait for it."""
    events = [event("E", "web-0", "outsider", at="05:00")]
    made = decided(fleet(events), ["web-0"])
    assert (ids(made), made["drain"], made["waits"]) == ([], [], True)
    assert made["held"] == {"E": "Nobody speaks in this run for outsider, which event E names"}
    made = decided(fleet(events), ["web-0"], patience=1800.0)
    assert (ids(made), made["waits"]) == ([], False)
    made = decided(fleet([event("E", "web-0", "outsider", at="00:30")]), ["web-0"], patience=1800.0)
    assert (ids(made), made["waits"]) == ([], True)


def test_what_can_not_be_approved_is_not_drained_beside_another_domain():
    events = [
        event("F", "web-0", "web-1", "web-2", kind="Freeze", duration=5, at="00:02"),
        event("E0", "web-0", at="00:03"),
        event("E1", "web-1", "outsider", at="00:04"),
        event("E2", "web-2", "another", at="00:05"),
    ]
    made = decided(fleet(events), ["web-0", "web-1", "web-2"])
    assert (ids(made), made["drain"]) == (["F", "E0"], ["web-0"])
    chain = [event("A", "web-0", "web-1", at="00:03"), event("B", "web-1", "web-2", "outsider", at="00:04")]
    made = decided(fleet(chain), ["web-0", "web-1", "web-2"])
    assert (ids(made), made["drain"]) == (["A"], ["web-0", "web-1"])


def test_who_is_brought_back_first_has_another_round():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1"), event("E2", "web-2")]
    hosts = fleet(events, web_1=drained_for("E1"), web_2=drained_for("E2"))
    made = decided(hosts, ["web-1"])
    assert (made["back"], made["later"], made["again"], made["waits"]) == (["web-1"], [], True, False)


def test_a_host_is_drained_for_all_its_events_that_need_it():
    events = [
        event("A", "web-0"),
        event("F", "web-0", kind="Freeze", duration=5, at="00:50"),
        event("B", "web-0", "web-3", at="00:40"),
    ]
    made = decided(fleet(events, ("web-0", "web-3")), ["web-0", "web-3"])
    assert (ids(made), made["drain"]) == (["A"], ["web-0"])
    assert made["drain_for"] == {"web-0": ["A", "B"]}
    assert (made["stay"], made["later"]) == (["web-0"], ["web-3"])


def test_what_is_drained_at_its_deadline_is_of_this_round():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1", at="00:01")]
    made = decided(fleet(events), ["web-1"], overlap="proceed")
    assert (ids(made), made["drain"], made["held"]) == (["E1"], ["web-1"], {})
    made = decided(fleet(events), ["web-1"], overlap="proceed", unleased={GROUP: "It is held by x."})
    assert (ids(made), made["drain"], made["held"]) == ([], [], {"E1": "It is held by x."})


def test_nobody_stays_drained_for_what_needs_no_drain():
    events = [event("A", "web-0"), event("F", "web-0", kind="Freeze", duration=5, at="00:50")]
    made = decided(fleet(events), ["web-0"])
    assert (ids(made), made["stay"], made["drain_for"]) == (["A"], [], {"web-0": ["A"]})


def test_of_the_events_of_a_host_only_the_one_that_would_go_lacks_the_lease():
    events = [event("A", "web-0"), event("B", "web-0", at="00:40")]
    made = decided(fleet(events), ["web-0"], unleased={GROUP: "It is held by x."})
    assert made["held"] == {"A": "It is held by x.", "B": "Event A, which names web-0 too, comes before event B"}


def test_what_has_started_is_waited_for_in_however_many_domains():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1", status="Started")]
    made = decided(fleet(events), ["web-0", "web-1"])
    assert (ids(made), made["drain"], made["later"]) == (["E0", "E1"], [], [])


@pytest.mark.parametrize("status", ["Canceled", "Suspended", "X"])
def test_an_event_in_a_state_that_nobody_knows_is_drained_by_the_rules_like_any_other(status):
    events = [event("E0", "web-0", status=status), event("E1", "web-1", status="Started")]
    made = decided(fleet(events), ["web-0", "web-1"])
    assert (ids(made), made["drain"], list(made["held"])) == (["E1"], [], ["E0"])
    made = decided(fleet(events[:1]), ["web-0", "web-1"])
    assert (ids(made), made["drain"]) == (["E0"], ["web-0"])


def two_groups(first, second, journal=None):
    """web-0 and web-1, each alone in its group."""
    hosts = {"web-0": variables("web-0", first), "web-1": variables("web-1", second, journal)}
    for host in hosts:
        hosts[host]["maintenance_delivery_group"] = f"set-{host}"
    return hosts


@pytest.mark.parametrize(
    ("second", "journal"),
    [
        ([], drained_for("gone")),
        ([event("P", "web-1", kind="Preempt")], None),
        ([event("S", "web-1", status="Started")], drained_for("S")),
        ([event("E1", "web-1")], None),
    ],
    ids=["return", "drain", "finish", "round"],
)
def test_only_what_is_held_back_says_what_is_waited_for(second, journal):
    hosts = two_groups([event("E0", "web-0")], second, journal)
    hosts["web-0"]["maintenance_service"] = "shop"
    hosts["web-2"] = {**variables("web-2", []), "maintenance_service": "shop"}
    # One of the two of the shop would be in service; the other group has no service with so many hosts.
    made = decided(hosts, ["web-0", "web-1"], min_in_service="50%")
    # With nothing held back there is nothing to wait for, and it is no service that the run has patience with.
    assert (made["waits_for_service"], made["waits_for"]) == (bool(made["held"]), [])


def test_a_lease_of_another_group_is_no_help():
    hosts = two_groups([event("E", "web-0", "outsider")], [])
    made = decided(hosts, ["web-0", "web-1"], unleased={"set-web-0": "It is held by x."})
    assert (ids(made), made["drain"]) == ([], [])


def test_what_was_sent_and_is_waited_for_does_not_begin_anew():
    mark = {"event": "E0", "hosts": ["web-0"], "at": NOW}
    journal = {**drained_for("E0"), "run_id": "r", "marks": [mark]}
    made = decided(fleet([event("E0", "web-0")], web_0=journal), ["web-0"])
    assert (ids(made), made["drain"], made["held"]) == ([], [], {"E0": "its turn has not come"})


# What must hold of every round of a batch, from the readings to the hosts that are drained.

HOSTS = ("web-0", "web-1", "web-2", "web-3")
NAMES = (*HOSTS, "outside-0", "outside-1")


@st.composite
def shown_events(draw, number):
    started = draw(st.integers(0, 5)) == 0
    named = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    return {
        "id": f"E{number}",
        "type": draw(st.sampled_from(["Reboot", "Reboot", "Redeploy", "Freeze", "Preempt"])),
        "status": "Started" if started else "Scheduled",
        "resources": named,
        "not_before": None if started else f"2026-11-16T{draw(st.sampled_from(['00:03', '00:40', '05:00']))}:00Z",
        "duration_seconds": draw(st.sampled_from([5, 90])),
    }


def variables_of(host, events, journal):
    shown = [{**one, "affects_this_host": host in one["resources"]} for one in events]
    this_host = {"vm_name": host, "update_domain": DOMAINS[host], "resource_group": "rg", "subscription_id": "s"}
    status = {"this_host": this_host, "events": shown, "read_at": "2026-11-16T00:00:00Z", "journal": journal}
    return {"maintenance_status": status}


def drained(event_id):
    step = {"number": 1, "kind": "command", "arguments": {}, "before": {}, "status": "done"}
    return {"state": "drained", "run_id": "r", "events": [{"id": event_id, "type": "Reboot"}], "steps": [step]}


@st.composite
def cases(draw):
    """A round and the model that it was decided from."""
    events = [draw(shown_events(number)) for number in range(draw(st.integers(1, 5)))]
    hosts = {}
    for host in HOSTS:
        journal = drained(draw(st.sampled_from(["E0", "E9"]))) if draw(st.integers(0, 5)) == 0 else None
        hosts[host] = variables_of(host, events, journal)
        if draw(st.integers(0, 7)) == 0:
            hosts[host] = {"maintenance_status": {"msg": "Timed out."}}
        hosts[host]["maintenance_delivery_group"] = "set"
    batch = draw(st.sampled_from([HOSTS, HOSTS, HOSTS[:2], HOSTS[1:3]]))
    mine = {host: hosts[host] for host in batch}
    made = make_plan(batch, mine, DEFAULT_POLICY, read_again=True, now=NOW)
    planned = [entry for wave in made["waves"] for entry in wave["events"]]
    least = draw(st.sampled_from([None, None, 2]))
    chosen = Settings(overlap=draw(st.sampled_from(["wait", "wait", "proceed"])), min_in_service=least)
    rules = read_policy(DEFAULT_POLICY)
    run = model_of(kept_of(hosts, hosts, NOW), mine, planned, rules, {}, chosen, "r", NOW)
    return next_round(made, list(batch), run), run


def newly_down(made, run):
    """The hosts that go down by our hand in this round, beside what is taken away anyway."""
    out = {name for state in group_states(run) for name in state.out}
    out |= {host for entry in made["events"] if entry["vanishing"] for host in entry["hosts"]}
    return set(made["drain"]) - out


@settings(max_examples=150, deadline=None)
@given(cases())
def test_never_two_domains_by_our_hand_beyond_what_one_event_names(case):
    made, run = case
    (state,) = group_states(run)
    going = newly_down(made, run)
    if run.settings.overlap == "proceed" or not going:
        return
    down = going | (state.down - set(made["back"]))
    one_event = any(down <= {*entry["hosts"], *entry["uncovered"]} for entry in made["events"])
    assert one_event or len({state.domain(name) for name in down}) == 1, down


@settings(max_examples=150, deadline=None)
@given(cases())
def test_what_can_not_be_approved_is_drained_at_its_deadline_and_not_before(case):
    made, run = case
    (state,) = group_states(run)
    for host in newly_down(made, run):
        events = [state.by_id[entry["id"]] for entry in made["events"] if host in entry["hosts"]]
        assert any(state.is_covered(event) or drain_deadline(run, event) <= run.now for event in events), host


@settings(max_examples=150, deadline=None)
@given(cases())
def test_enough_hosts_stay_in_service(case):
    made, run = case
    (state,) = group_states(run)
    least = run.settings.min_in_service
    # Whom an event that has started takes down is not in service, drained or not.
    going = newly_down(made, run) - state.down
    if least is None or run.settings.overlap == "proceed" or not going:
        return
    good = [host.name for host in run.hosts if host.read and host.name not in state.down | going]
    assert len(good) >= least


def test_what_can_not_be_approved_and_is_drained_is_among_the_examples():
    def has_one(case):
        made, run = case
        (state,) = group_states(run)
        going = newly_down(made, run)
        late = [state.by_id[entry["id"]] for entry in made["events"] if not going.isdisjoint(entry["hosts"])]
        return any(not state.is_covered(event) for event in late)

    assert_generated(cases(), has_one)


# Whose turn is next in a batch, whether there is another round, and how long it is waited for.

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
    assert _rounds.in_slices(a_run(events=events, slice=size), THREE) == chosen


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
    assert _rounds.next_slice(7, dict.fromkeys(hosts), variables) == size


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
    assert _rounds.left_of_the_batch(run, {"held": held}, ["web-0", "web-1"]) == left


def round_of(**changes):
    made = {"held": {}, "again": False, "waits": False, "waits_for_service": False, "waits_for": []}
    return {**made, **changes}


def goes_on(found=None, seen=("web-0",), batch=("web-0",), now=NOW, settings=None, **more):
    run = {**a_run(events=[reboot(0)]), **more}
    return _rounds.goes_on(run, found or round_of(), seen, batch, run_settings(**(settings or {})), now)


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

    monkeypatch.setattr(_rounds.secrets, "randbelow", randbelow)
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
