# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a run over readings and answers: its plan, records, leftovers, and hosts outside of a batch."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import groups as _groups
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import orders as _orders
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import round as _round
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import run as _run_run
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import view as _view
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.run import (
    ANNOTATION,
    answer_of_cluster,
    foreign_records,
    remembered_only,
    with_records,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.run_state import as_read, as_written
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.kinds import (
    Cluster,
    RecordsPlace,
    clusters_of,
    places_of,
)
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
    with_reflexes,
)

# From readings and the lock hosts' answers to what hosts are told.


def test_with_the_lease_the_wave_is_drained_and_the_lock_hosts_are_told():
    _run, _known, found = decided([reboot(0)], ["web-0"], answers())
    assert (found["round"]["drain"], found["round"]["held"]) == (["web-0"], {})
    assert found["fences"]["web-0"] == {
        "boot_id": "b",
        "seconds": 100.0,
        "at_most": 40.0,
        "owner": None,
        "events": ["E0"],
        "may_start": [],
    }
    assert [call["lock_host"] for call in found["calls"]] == list(HOSTS)
    assert [one["host"] for one in found["calls"][0]["notes"]] == ["web-0"]


def test_a_note_about_a_host_that_this_run_never_reads_counts_as_its_journal():
    """History 3: a run on other hosts of the group was killed with one of them drained."""
    run = a_run(hosts=["web-1"], events=[reboot(1)])
    _run, _known, found = decided([reboot(1)], ["web-1"], answers(notes=[note("web-0")]), run)
    assert found["round"]["drain"] == []
    assert "web-0" in found["round"]["held"]["E1"]
    # Who has read it with the lease knows better.
    _run, _known, found = decided([reboot(1)], ["web-1", "web-2"], answers(notes=[note("web-2")]))
    assert found["round"]["drain"] == ["web-1"]


def test_whom_another_run_has_noted_is_read_with_the_lease_whatever_was_read_before():
    """History 14: what was read for the plan is in service, and another run has drained it since."""
    told = answers(notes=[note("web-2")])
    run, known, found = decided([reboot(1)], ["web-1"], told)
    assert (found["others"], found["round"]["drain"]) == (["web-2"], [])
    assert "web-2" in found["round"]["held"]["E1"]

    def decided_again(said):
        return _round.decide(run, known, run_settings(), INVENTORY, told, NOW, read_again={"web-2": said})

    out = reading("web-2", [reboot(1)], journal={"state": "drained", "run_id": "other", "events": [{"id": "E2"}]})
    for said in ({"maintenance_delivery_group": "set"}, out):
        found = decided_again(said)
        assert (found["others"], found["round"]["drain"], found["calls"]) == ([], [], [])
    found = decided_again(reading("web-2", [reboot(1)]))
    assert (found["others"], found["round"]["drain"]) == ([], ["web-1"])
    assert found["calls"][0]["forget"] == ["web-2"]


def test_a_host_of_another_group_is_not_read_for_a_note():
    run = a_run(events=[reboot(1)])
    run["kept"]["web-2"]["place"]["delivery_group"] = "another"
    known = {"web-1": reading("web-1", [reboot(1)])}
    found = _round.decide(run, known, run_settings(), INVENTORY, answers(notes=[note("web-2")]), NOW)
    assert (found["others"], found["round"]["drain"]) == ([], ["web-1"])


def test_who_finds_a_host_in_service_removes_the_note_of_another_run():
    run, _known, found = decided([reboot(1)], ["web-1"], answers(notes=[note("web-1")]))
    assert found["calls"][0]["forget"] == ["web-1"]
    # web-2 was read before this run had the lease: the note may be newer than that.
    assert decided([reboot(1)], ["web-1"], answers(notes=[note("web-2")]))[2]["calls"] == []
    # Who is drained keeps it.
    journal = drained("E1", run="other")
    found = decided([reboot(1)], ["web-1"], answers(notes=[note("web-1")]), web_1=journal)[2]
    assert all(call["forget"] == [] for call in found["calls"])
    assert run["run_id"] == "r"


def test_what_is_drained_by_this_run_is_marked_and_approved():
    run, (orders, held, calls) = ordered([reboot(0)], drained("E0"))
    order = orders["web-0"]
    assert (order["approve_drained"], order["together"], held) == (["E0"], ["web-0"], {})
    assert [mark["event"] for mark in order["marks"]] == ["E0"]
    assert (order["fence"]["owner"], order["fence"]["events"], order["fence"]["may_start"]) == ("r", ["E0"], ["E0"])
    assert calls[0]["notes"][0]["mark"]["event"] == "E0"
    lost, why = _round.confirm_approval(run, orders, answers(held=False), [], NOW)
    assert (lost["web-0"]["approve_drained"], lost["web-0"]["stays"], list(why)) == ([], True, ["E0"])


@pytest.mark.parametrize(
    "events", [[reboot(0), reboot(1, "Started")], [reboot(0), {**reboot(1, "Started"), "resources": ["stranger"]}]]
)
def test_another_domain_that_goes_down_meanwhile_holds_the_approval_back(events):
    """The document that was read right before says so."""
    _run, (orders, held, _calls) = ordered(events, drained("E0"))
    assert (orders["web-0"]["approve_drained"], orders["web-0"]["stays"]) == ([], True)
    assert "E1 is under way" in held["E0"]


PLACE = RecordsPlace("lb", "/records")
RECORD = {"host": "web-0", "events": ["E0"], "types": ["Redeploy"], "run_id": "x", "path": "/records/1.json"}


def test_in_which_clusters_nodes_are_drained():
    step = {"node": "n", "kubeconfig": "{{ path }}"}
    known = {
        "web-0": {"drain_steps": [{"kubernetes": step}, {"kubernetes": {**step, "host": "bastion", "context": "x"}}]},
        "web-1": {"drain_steps": "{{ steps }}"},
        "web-2": {"drain_steps": [{"command": {"drain": "true"}}, "odd"]},
    }
    given = {"{{ path }}": "/k", "{{ steps }}": [{"kubernetes": {"node": "n"}}, {"kubernetes": {"node": "m"}}]}
    found = clusters_of(known, known.get, lambda _host, value: given.get(value, value))
    assert found == {
        "web-0": [Cluster("localhost", "/k", ""), Cluster("bastion", "/k", "x")],
        "web-1": [Cluster("localhost", "", "")],
    }


def annotated(name, text):
    return {"metadata": {"name": name, "annotations": {"maintenance.azure/drained": text}}}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"host": "web-0"}', 7, None])
def test_an_annotation_that_can_not_be_read(text):
    answer = answer_of_cluster({"resources": [annotated("n0", text), {"metadata": None}]})
    assert answer["records"] == []
    assert len(answer["unreadable"]) == 2


@pytest.mark.parametrize("result", [{"failed": True, "resources": [], "msg": "No."}, {"unreachable": True}, {}])
def test_a_cluster_that_does_not_answer(result):
    answer = answer_of_cluster(result)
    assert "records" not in answer
    run = with_records(a_run(), {"web-0": [Cluster("localhost", "", "")]}, {Cluster("localhost", "", ""): answer})
    assert run["unasked"]["web-0"].startswith("the cluster of localhost, which a step of web-0 needs, can't be asked")


@pytest.mark.parametrize("answer", [{"msg": "Timed out."}, {"records": [], "unreadable": ["/records/x"]}])
def test_who_needs_a_machine_that_can_not_be_asked_is_not_drained(answer):
    run = with_records(a_run(events=[reboot(0)]), {"web-0": [PLACE]}, {PLACE: answer})
    _run, _known, found = decided([reboot(0)], ["web-0"], answers(), run)
    assert (found["round"]["drain"], found["round"]["waits"]) == ([], False)
    assert "lb, which a step of web-0 needs" in found["round"]["held"]["E0"]


def test_where_steps_leave_records():
    variables = {
        "a": {"drain_steps": [{"load_balancer": {"haproxy": {"host": "{{ balancer }}", "backend": "b"}}}]},
        "b": {"drain_steps": "{{ steps }}", "drain_journal": "/var/b/journal.json"},
        "c": {"drain_steps": [{"load_balancer": {"haproxy": {"backend": "b"}}}, {"command": {"drain": "x"}}]},
        "lb-1": {"drain_records": "/own"},
        "lb-2": {},
    }
    resolved = {
        "{{ balancer }}": "lb-1",
        "{{ steps }}": [{"load_balancer": {"nginx": {"host": "lb-2"}}}, {"load_balancer": {"haproxy": {"host": "b"}}}],
    }
    found = places_of("abc", lambda host: variables[host], lambda _host, value: resolved.get(value, value))
    assert found == {"a": [RecordsPlace("lb-1", "/own")], "b": [RecordsPlace("lb-2", "/var/b/records")]}


@pytest.mark.parametrize("kind", ["Preempt", "Terminate"])
def test_a_vm_that_is_taken_away_is_drained_whoever_has_the_lease(kind):
    """Its notice is too short to wait for anybody; an approval still needs the lease."""
    taken = {**reboot(0), "type": kind}
    run, _known, found = decided([taken, reboot(1)], ["web-0", "web-1"], answers(held=False))
    confirmed = _round.confirm_drain(run, found, answers(held=False), NOW)["round"]
    assert (confirmed["drain"], list(confirmed["held"])) == (["web-0"], ["E1"])
    # Also beside one that needs the lease, where it is lost in between.
    run, _known, found = decided([taken, {**reboot(1), "resources": ["web-1"]}], ["web-0", "web-1"], answers())
    confirmed = _round.confirm_drain(run, found, answers(held=False), NOW)["round"]
    assert confirmed["drain"] == ["web-0"]


def test_no_host_joins_a_declared_group_by_its_own_word():
    """Each of them needs its own lease alone."""
    events = [reboot(0)]
    known = {host: reading(host, events) for host in ("web-0", "web-1")}
    del known["web-1"]["maintenance_delivery_group"]
    state = _run_run.begin("r", NOW, list(known), {"web-0": "set", "web-1": ""}, None)
    run = _run_run.plan(state, known, run_settings(), INVENTORY, NOW)
    batch = {"web-0": known["web-0"]}
    answered = {"set": {"web-0": answers()["set"]["web-0"]}, "": {"web-1": answers(held=False)["set"]["web-0"]}}
    found = _round.decide(run, batch, run_settings(), INVENTORY, answered, NOW)
    assert {call["group"] for call in found["calls"]} == {"set"}


def test_lock_hosts_that_were_asked_and_of_whom_nothing_was_heard_have_granted_nothing():
    run, _known, found = decided([reboot(0)], ["web-0"], {})
    assert (found["round"]["drain"], list(found["round"]["held"])) == ([], ["E0"])
    run, _known, found = decided([reboot(0)], ["web-0"], answers())
    assert found["calls"]
    assert _round.confirm_drain(run, found, {}, NOW)["round"]["drain"] == []
    run, (orders, _held, calls) = ordered([reboot(0)], drained("E0"))
    assert orders["web-0"]["approve_drained"] == ["E0"]
    orders, held = _round.confirm_approval(run, orders, {}, calls, NOW)
    assert (orders["web-0"]["approve_drained"], list(held)) == ([], ["E0"])


def test_hosts_that_act_by_themselves_are_read_again_before_a_wave_if_that_was_too_long_ago():
    state = _run_run.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    known = {host: reading(host, [reboot(0)]) for host in HOSTS}
    known["web-1"] = with_reflexes(known["web-1"])
    state = _run_run.plan(state, known, run_settings(), INVENTORY, NOW)
    for batch, later, found in (
        (["web-0"], 5, []),
        (["web-0"], 80, []),
        (["web-0"], 81, ["web-1"]),
        (["web-0", "web-1"], 81, []),
    ):
        assert _run_run.stale(state, batch, run_settings(), NOW + later) == found
    # Whatever the clock says.
    early = {**state, "kept": {**state["kept"], "web-1": {**state["kept"]["web-1"], "seen_at": 10.0}}}
    assert _run_run.stale(early, ["web-0"], run_settings(), 95.0) == ["web-1"]
    state["kept"]["web-1"]["place"]["delivery_group"] = "another"
    assert _run_run.stale(state, ["web-0"], run_settings(), NOW + 81) == []


@pytest.mark.parametrize(("journal", "drain"), [(None, ["web-0"]), (drained("E1", run="watcher of web-1"), [])])
def test_one_that_has_drained_itself_since_counts_as_out(journal, drain):
    events = [reboot(0), reboot(1)]
    state = a_run(events=events)
    known = {"web-0": reading("web-0", events)}
    said_now = {"web-1": with_reflexes(reading("web-1", events, journal))}
    found = _round.decide(state, known, run_settings(), INVENTORY, answers(), NOW, read_again=said_now)
    assert found["round"]["drain"] == drain
    assert found["others"] == []


def test_the_plan_says_which_hosts_can_not_be_told_that_a_run_is_there():
    state = _run_run.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    known = {host: reading(host, []) for host in HOSTS}
    known["web-1"] = with_reflexes(known["web-1"], left=False)
    known["web-2"] = with_reflexes(known["web-2"])
    lines = " ".join(_run_run.plan(state, known, run_settings(), INVENTORY, NOW)["plan"]["lines"])
    assert "Warning: web-1 acts by itself, and can't be told that a run is there" in lines
    assert "web-2 acts" not in lines


@pytest.mark.parametrize(("count", "rest"), [(8, "web-7 acts by itself"), (9, "web-7 and 1 more acts by itself")])
def test_of_them_eight_are_named(count, rest):
    hosts = [f"web-{number}" for number in range(count)]
    state = _run_run.begin("r", NOW, hosts, dict.fromkeys(hosts, "set"), None)
    known = {host: with_reflexes(reading(host, []), left=False) for host in hosts}
    lines = " ".join(_run_run.plan(state, known, run_settings(), INVENTORY, NOW)["plan"]["lines"])
    assert rest in " ".join(lines.split())


# The plan of a run: what it warns of, what it keeps of earlier ones, what later jobs are told about it.


def planned(known, state=None, **more):
    before = state or _run_run.begin("r", NOW, list(known), dict.fromkeys(known, ""), None)
    return _run_run.plan(before, known, run_settings(**more), INVENTORY, NOW)


def of_unknown_domain(host, events):
    known = reading(host, events)
    del known["maintenance_status"]["this_host"]["update_domain"]
    del known["maintenance_delivery_group"]
    return known


@pytest.mark.parametrize(("busy", "named"), [(0, ""), (1, ""), (2, "web-0, web-1"), (3, "web-0, web-1, web-2")])
def test_hosts_that_go_alone_as_nobody_knows_their_domain_are_named_where_there_are_several(busy, named):
    known = {host: of_unknown_domain(host, [reboot(number)][: number < busy]) for number, host in enumerate(HOSTS)}
    lines = " ".join(" ".join(planned(known)["plan"]["lines"]).split())
    assert ("Nothing shows which other VMs share the domain of " in lines) is bool(named)
    assert f"share the domain of {named}" in lines or not named


def test_a_host_that_does_not_show_its_event_is_believed_only_after_it_was_read_again():
    event = {**reboot(0), "resources": ["web-0", "web-1"]}
    known = {"web-0": reading("web-0", [event]), "web-1": reading("web-1", [])}
    state = _run_run.begin("r", NOW, list(known), dict.fromkeys(known, "set"), None)
    state = planned(known, state)
    assert state["plan"]["waves"][0]["hosts"] == ["web-0", "web-1"]
    assert state["plan"]["waves"][0]["events"][0]["approvable"]
    early = _round.decide(state, known, run_settings(), INVENTORY, answers(lock_hosts=2), NOW)["round"]
    assert early["held"] == {"E0": "Nobody speaks in this run for web-1, which event E0 names"}
    # It is due in half an hour, and a drain may take ten minutes.
    found = _round.decide(state, known, run_settings(), INVENTORY, answers(lock_hosts=2), NOW + 1300)["round"]
    (entry,) = found["events"]
    assert (entry["hosts"], entry["not_believed_of"], entry["approvable"]) == (["web-0"], ["web-1"], False)
    drained_now = {**known, "web-0": {**reading("web-0", [event], drained("E0")), "drain_result": {"state": "drained"}}}
    orders, _held, _calls = _round.order(state, found, drained_now, run_settings(), INVENTORY, NOW)
    assert orders["web-0"]["refused"][0]["uncovered"] == ["web-1"]
    assert orders["web-0"]["approve_drained"] == []


def test_what_an_earlier_pass_has_seen_is_kept():
    first = a_run(events=[reboot(0), reboot(1)])
    entry = first["events"]["E0"]
    assert entry["status"] == "Scheduled"
    known = {host: reading(host, [reboot(0, "Started"), reboot(2)]) for host in HOSTS}
    second = planned({"web-0": known["web-0"], "web-2": known["web-2"]}, first)
    assert second["number_of_pass"] == 2
    assert (second["events"]["E0"], sorted(second["events"])) == (entry, ["E0", "E1", "E2"])
    assert second["kept"]["web-1"] == first["kept"]["web-1"]
    assert second["kept"]["web-2"]["shows"] == ["E0", "E2"]


@pytest.mark.parametrize(
    ("state", "journal", "events", "after"),
    [
        ("stays drained", None, [], "restored"),
        ("stays drained", drained("E0"), [], "stays drained"),
        ("stays drained", drained("E0", state="marked", steps=[]), [], "restored"),
        ("stays drained", None, "no list", "stays drained"),
        ("failed", None, [], "failed"),
        ("vanished", None, [], "vanished"),
    ],
)
def test_what_another_run_has_taken_over_and_returned_is_not_left_drained(state, journal, events, after):
    known = {host: reading(host, []) for host in HOSTS}
    known["web-0"] = reading("web-0", [], journal)
    known["web-0"]["maintenance_status"]["events"] = events
    outcomes = {host: {"state": "stays drained", "wave": 1, "number_of_pass": 1} for host in ("web-1", "gone")}
    outcomes["web-0"] = {"state": state, "wave": 1, "number_of_pass": 1}
    found = planned(known, {**a_run(), "outcomes": outcomes})["outcomes"]
    assert {host: outcome["state"] for host, outcome in found.items()} == {
        "web-0": after,
        "web-1": "restored",
        "gone": "stays drained",
    }
    assert found["web-0"]["wave"] == 1


def test_a_new_run_has_no_limit_of_hosts_in_one_go():
    event = {**reboot(0), "resources": ["web-0"]}
    both = [event, {**reboot(1), "resources": ["web-1"]}]
    known = {host: reading(host, both) for host in HOSTS}
    for host in HOSTS:
        known[host]["maintenance_status"]["this_host"]["update_domain"] = "0"
    state = planned(known)
    (wave,) = state["plan"]["waves"]
    assert _run_run.check(state, wave["hosts"], run_settings(), NOW)["hosts"] == ["web-0", "web-1"]


def wave(*hosts, deadline=None):
    return {"hosts": list(hosts), "deadline": deadline, "events": [{"id": f"E {hosts[0]}"}, {"id": "E"}]}


@pytest.mark.parametrize(
    ("waves", "left", "numbers"),
    [
        ([], [], (False, 0, 0, 0, 0, None)),
        ([], ["d"], (True, 0, 0, 0, 1, None)),
        ([wave("a", "b")], [], (True, 1, 2, 2, 0, None)),
        ([wave("a"), wave("b", deadline="2"), wave("c", deadline="1")], ["d", "e"], (True, 3, 3, 4, 2, "2")),
    ],
)
def test_a_plan_in_numbers(waves, left, numbers):
    told = _run_run.in_numbers({"waves": waves, "restore_first": left, "unknown": ["x"]})
    names = ("to_do", "waves", "hosts", "events", "restore_first", "deadline")
    assert tuple(told[name] for name in names) == numbers
    assert (told["drained"], told["unknown"]) == (left, 1)


def test_of_the_hosts_that_are_out_later_jobs_hear_of_two_thousand():
    left = [f"web-{number}" for number in range(2001)]
    told = _run_run.in_numbers({"waves": [], "restore_first": left, "unknown": []})
    assert (told["restore_first"], told["drained"]) == (2001, left[:2000])


@pytest.mark.parametrize(
    ("seen_at", "reads"),
    [({}, ["web-2"]), ({"web-0": 20}, ["web-0", "web-2"]), ({"web-0": 19.9, "web-1": 21}, ["web-1", "web-2"])],
)
def test_who_was_read_as_it_returned_is_not_read_again_for_the_next_plan(seen_at, reads):
    run = a_run(events=[reboot(0)])
    for host, age in seen_at.items():
        run["kept"][host]["seen_at"] = NOW - age
    run["kept"]["web-2"]["shows"] = None
    assert _run_run.for_the_plays(run, run_settings(), NOW)["reads"] == reads
    # A play without hosts would make no plan.
    run["outcomes"] = {"web-2": {"state": "vanished", "wave": 1, "number_of_pass": 1}}
    assert _run_run.for_the_plays(run, run_settings(), NOW)["reads"] == (reads[:-1] or ["web-0"])


def test_only_what_azure_has_taken_away_counts_as_taken_away():
    states = ("restored", "passed", "vanished", "failed", "left_drained", "lost", "stays drained")
    outcomes = {state: {"state": state, "wave": 1, "number_of_pass": 1} for state in states}
    assert _run_run.hosts_taken_away(a_run(outcomes=outcomes)) == ["vanished"]


# Hosts that are out of service and that nothing is planned for: who is returned, who is left to another run.


def left_behind(**outcome):
    """A run in its second pass; an earlier one has left web-0 drained."""
    known = {host: reading(host, []) for host in HOSTS}
    known["web-0"] = reading("web-0", [], drained("E9", run="dead"))
    state = _run_run.plan(a_run(), known, run_settings(), INVENTORY, NOW)
    return {**state, "outcomes": {"web-0": {"state": "failed", **outcome}} if outcome else {}}


@pytest.mark.parametrize(
    ("outcome", "leftovers"),
    [
        ({}, ["web-0"]),
        # Before the waves of this pass.
        ({"wave": 0, "number_of_pass": 2}, []),
        ({"wave": 0, "number_of_pass": 1}, ["web-0"]),
        ({"wave": 1, "number_of_pass": 2}, ["web-0"]),
        ({"wave": 2, "number_of_pass": 1}, ["web-0"]),
    ],
)
def test_what_was_taken_care_of_since_the_plan_is_no_leftover(outcome, leftovers):
    assert _run_run.leftovers(left_behind(**outcome)) == leftovers
    assert _run_run.for_the_plays(left_behind(**outcome), run_settings(), NOW)["leftovers"] == leftovers
    shared = _run_run.for_the_actions(left_behind(**outcome))
    assert (shared["run_id"], shared["taken_away"]) == ("r", [])


@pytest.mark.parametrize(
    ("owner", "left", "is_busy"), [("a", 1, True), ("z", 1, True), ("r", 1, False), ("a", 0, False), ("a", -1, False)]
)
def test_only_another_run_can_be_at_work_on_a_host(owner, left, is_busy):
    known = {"web-0": reading("web-0", [], drained("E9", run=owner, worked_on_for=left))}
    orders, pause = _run_run.return_leftovers(a_run(), known, run_settings(), NOW, NOW)
    assert (orders["web-0"]["restore"], orders["web-0"]["later"]) == (not is_busy, is_busy)
    assert pause == (4 if is_busy else 0)


@pytest.mark.parametrize(("waited", "pause"), [(0, 4), (44.5, 4), (45, 0), (45.5, 0)])
def test_who_may_have_died_there_is_waited_for_three_quarters_of_a_minute(waited, pause):
    known = {"web-0": reading("web-0", [], drained("E9", run="dead", worked_on_for=9))}
    assert _run_run.return_leftovers(a_run(), known, run_settings(), NOW, NOW + waited)[1] == pause


def test_who_is_idle_is_returned_beside_one_that_is_worked_on():
    known = {
        "web-0": reading("web-0", [], drained("E9", run="dead", worked_on_for=9)),
        "web-1": reading("web-1", [], drained("E9", run="dead")),
    }
    orders, _pause = _run_run.return_leftovers(a_run(), known, run_settings(), NOW, NOW)
    assert {host: order["restore"] for host, order in orders.items()} == {"web-0": False, "web-1": True}
    assert orders["web-1"]["restore_fence"] == {
        "boot_id": None,
        "seconds": None,
        "at_most": 40.0,
        "owner": "dead",
        "events": [],
        "may_start": [],
    }


LEFTOVER = {"host": "web-0", "events": ["E9"], "types": ["Redeploy"], "run": "x", "machine": "lb", "removal": ""}


@pytest.mark.parametrize(
    ("journal", "records", "is_read", "restored"),
    [
        (None, [], True, False),
        (None, [LEFTOVER], True, True),
        (None, [{**LEFTOVER, "host": "web-1"}], True, False),
        (None, [], False, True),
        (drained("E9", run="dead"), [], True, True),
        # Nothing is drained; the journal that says so is put away.
        (drained("E9", run="dead", state="marked", steps=[]), [], True, True),
    ],
)
def test_who_is_back_in_service_meanwhile_is_left_as_it_is(journal, records, is_read, restored):
    known = {"web-0": reading("web-0", [], journal)}
    if not is_read:
        known["web-0"]["maintenance_status"] = {"msg": "Timed out."}
    orders, _pause = _run_run.return_leftovers(a_run(records=records), known, run_settings(), NOW, NOW)
    assert orders["web-0"]["restore"] is restored


def test_a_record_is_gone_with_the_return_of_its_host():
    run = with_records(a_run(), {}, {})
    run = {**run, "records": [LEFTOVER, {**LEFTOVER, "host": "web-1"}, {**LEFTOVER, "host": "web-2"}]}
    known = {
        "web-0": {**reading("web-0", []), "restore_result": {"state": "restored"}},
        "web-1": {**reading("web-1", []), "restore_result": {"failed": True, "msg": "no"}},
    }
    orders, _pause = _run_run.return_leftovers(run, known, run_settings(), NOW, NOW)
    after, _calls, _of_others = _round.record(run, orders, None, known, 0, NOW)
    assert [one["host"] for one in after["records"]] == ["web-1", "web-2"]


# What is known of hosts outside of a batch, and holds it back: events, journals, records, and who drained again.

AWAY = {"maintenance_status": {"unreachable": True, "msg": "no route to host"}}


def undeclared(host, events, journal=None, zone=None):
    """A host whose group shows by its readings alone."""
    known = reading(host, events, journal)
    del known["maintenance_delivery_group"]
    if zone:
        known["maintenance_status"]["this_host"] = {"vm_name": host, "update_domain": "0", "zone": zone}
    return known


def single(host, *events, journal=None, declared=False):
    known = undeclared(host, events, journal, zone=host[-1])
    # Without a domain they would be one: in a declared group the update domain counts, which is 0 for all single VMs.
    more = {"maintenance_delivery_group": "set", "maintenance_domain": host}
    return {**known, **(more if declared else {})}


def planned_run(known, state=None, inventory=HOSTS, **more):
    group = "set" if any("maintenance_delivery_group" in one for one in known.values()) else ""
    begun = state or _run_run.begin("r", NOW, list(known), dict.fromkeys(inventory, group), None)
    # As it goes from task to task.
    return as_read(as_written(_run_run.plan({**begun, **more}, known, run_settings(), INVENTORY, NOW)))


def decided_round(state, known, told=None, now=NOW + 5):
    lease = next(iter(state["lock_hosts"]))
    return _round.decide(state, known, run_settings(), INVENTORY, told or {lease: answers()["set"]}, now)["round"]


@pytest.mark.parametrize("declared", [False, True])
def test_a_single_vm_whose_event_has_started_holds_back(declared):
    """Nobody else shows it."""
    started, due = reboot(0, "Started"), reboot(1)
    known = {"web-0": single("web-0", started, declared=declared), "web-1": single("web-1", due, declared=declared)}
    state = planned_run(known)
    found = decided_round(state, {"web-1": known["web-1"]})
    assert (found["drain"], found["held"]) == ([], {"E1": "Event E0 is under way for web-0, of another domain"})


def test_so_does_one_that_can_not_be_read_any_more_since_its_event_has_started():
    known = {"web-0": single("web-0", reboot(0, "Started")), "web-1": single("web-1", reboot(1))}
    state = planned_run({**known, "web-0": AWAY}, planned_run(known))
    assert decided_round(state, {"web-1": known["web-1"]})["drain"] == []


@pytest.mark.parametrize("declared", [False, True])
def test_a_single_vm_whose_approval_was_sent_holds_back(declared):
    mark = {"event": "E0", "hosts": ["web-0"], "at": NOW - 5}
    journal = {"state": "marked", "run_id": "earlier", "events": [], "steps": [], "marks": [mark]}
    known = {
        "web-0": single("web-0", reboot(0), journal=journal, declared=declared),
        "web-1": single("web-1", reboot(1), declared=declared),
    }
    assert decided_round(planned_run(known), {"web-1": known["web-1"]})["drain"] == []


def test_what_a_document_no_longer_shows_holds_nobody_back():
    known = {host: undeclared(host, [reboot(0, "Started"), reboot(1)]) for host in HOSTS}
    state = planned_run(known)
    assert decided_round(state, {"web-1": known["web-1"]})["drain"] == []
    later = {"web-1": undeclared("web-1", [reboot(1)])}
    assert decided_round(state, later)["drain"] == ["web-1"]
    # In the next round, too: who is not read again still says what it has said.
    order = {"web-1": {**_orders.left_as_it_is()}}
    state, _calls, _others = _round.record(state, order, decided_round(state, later), later, 1, NOW + 6)
    assert state["not_shown"] == [["", "E0"]]
    assert decided_round(state, later)["drain"] == ["web-1"]


def test_a_host_that_was_seen_drained_and_can_not_be_reached_any_more_is_out():
    events = [reboot(0), reboot(1), reboot(2)]
    known = {host: undeclared(host, events) for host in HOSTS}
    known["web-0"] = undeclared("web-0", events, drained("E0", run="watch"))
    state = planned_run(known)
    found = decided_round(state, {"web-0": AWAY})
    orders, _held, _calls = _round.order(state, found, {"web-0": AWAY}, run_settings(), INVENTORY, NOW + 6)
    state, _calls, _others = _round.record(state, orders, found, {"web-0": AWAY}, 1, NOW + 7)
    assert state["outcomes"]["web-0"]["state"] == "lost"
    assert list(_groups.failures(state, run_settings(), _view.grouping_of(state["kept"]))) == ["the group of web-0"]
    assert (
        "Not begun, as an earlier wave went wrong" in _run_run.check(state, ["web-1"], run_settings(), NOW + 8)["stop"]
    )
    # Also in a later pass, and where nothing of it was lost by this run.
    state = planned_run({**known, "web-0": AWAY}, planned_run(known))
    found = decided_round(state, {"web-1": known["web-1"]})
    assert (found["drain"], found["held"]["E1"]) == ([], "web-0, of another domain, is not in service")


def test_it_stays_of_its_group_when_all_its_events_are_gone():
    known = {host: undeclared(host, [reboot(0)]) for host in HOSTS}
    later = {host: undeclared(host, [reboot(1)]) for host in HOSTS}
    state = planned_run({**later, "web-0": AWAY}, planned_run(known))
    assert set(_view.grouping_of(state["kept"]).group_of.values()) == {"the group of web-0"}


def test_a_host_that_this_run_has_returned_and_somebody_else_drained_again_is_out():
    events = [reboot(0), reboot(1)]
    known = {host: undeclared(host, events) for host in HOSTS}
    known["web-0"] = undeclared("web-0", events, drained("E0"))
    state = planned_run(known)
    order = {**_orders.returned("drained"), "drains": True}
    back = {"web-0": {**known["web-0"], "restore_result": {"state": "restored"}}}
    state, _calls, _others = _round.record(state, {"web-0": order}, None, back, 1, NOW + 1)
    # Its last reading is older than its return.
    assert decided_round(state, {"web-1": known["web-1"]})["drain"] == ["web-1"]
    again = {**known, "web-0": undeclared("web-0", events, drained("E0", run="watch"))}
    assert decided_round(planned_run(again, state), {"web-1": known["web-1"]})["drain"] == []


@pytest.mark.parametrize("away", [False, True])
def test_a_host_that_was_never_read_and_that_a_load_balancer_remembers_is_out(away):
    record = {"machine": "lb", "host": "web-0", "events": ["E0"], "types": ["Reboot"], "run": "dead", "removal": ""}
    known = {host: undeclared(host, [reboot(1)]) for host in HOSTS[1:]}
    if away:
        known["web-0"] = AWAY
    mine = {"web-1": known["web-1"]}
    found = decided_round(planned_run(known, records=[record]), mine)
    assert (found["drain"], found["held"]["E1"]) == ([], "web-0, of another domain, is not in service")
    # A VM that is taken away delays nobody.
    assert decided_round(planned_run(known, records=[{**record, "types": ["Preempt"]}]), mine)["drain"] == ["web-1"]


def test_of_a_host_that_the_inventory_puts_into_another_group_a_record_holds_nobody_up():
    record = {"machine": "lb", "host": "db-0", "events": ["E0"], "types": ["Reboot"], "run": "dead", "removal": ""}
    known = {host: undeclared(host, [reboot(1)]) for host in HOSTS}
    state = planned_run(known, records=[record])
    state["lease_of"]["db-0"] = "db"
    assert decided_round(state, {"web-1": known["web-1"]})["drain"] == ["web-1"]


# Notes of other runs at the lock hosts: which of them still count, and who removes them.


def forgotten(notes, **more):
    calls = decided([reboot(1)], ["web-1"], answers(notes=notes), **more)[2]["calls"]
    return calls[0]["forget"] if calls else []


@pytest.mark.parametrize("age", [-10, 0, 301, 600, 86400])
def test_a_note_about_a_host_of_another_batch_counts_whatever_the_clock_of_its_run_says(age):
    run, _known, found = decided([reboot(1)], ["web-1"], answers(notes=[{**note("web-2"), "at": NOW - age}]))
    assert (found["calls"], found["round"]["drain"]) == ([], [])
    assert [one["host"] for one in run["notes"]] == ["web-2"]


@pytest.mark.parametrize(
    ("seconds", "event", "lacking", "counts"),
    [
        # It has booted since, and may have lost its journal.
        (50.0, "E1", [], True),
        (50.0, "E1", ["web-0"], True),
        (50.0, "E1", ["web-0", "web-2"], False),
        (50.0, "E9", [], False),
        (500.0, "E1", [], False),
    ],
)
def test_a_mark_in_a_note_counts_about_a_host_that_has_booted_since(seconds, event, lacking, counts):
    mark = {"event": event, "hosts": ["web-1"], "at": NOW - 100, "takes_down": True, "vanishing": False}
    told = answers(notes=[{**note("web-1"), "at": NOW - 100, "mark": mark}])
    for lock_host in lacking:
        told["set"][lock_host] = {**told["set"][lock_host], "notes": [], "remembers": 1000}
    booted = reading("web-1", [reboot(1), reboot(2)])
    booted["maintenance_status"]["host_clock"]["seconds"] = seconds
    known = {"web-1": booted, "web-2": reading("web-2", [reboot(1), reboot(2)])}
    found = _round.decide(a_run(events=[reboot(1), reboot(2)]), known, run_settings(), INVENTORY, told, NOW)
    assert [call["forget"] for call in found["calls"][:1]] == ([[]] if counts else [["web-1"]])
    assert found["round"]["drain"] == ["web-1"]


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
    found = _round.decide(run, known, run_settings(), INVENTORY, answers(notes=[note("web-2")]), NOW)
    assert all("web-2" not in call["forget"] for call in found["calls"])


def test_what_is_forgotten_does_not_count_and_the_rest_is_kept():
    run = a_run(events=[reboot(1)])
    told = answers(notes=[note("web-1"), note("web-2")])
    known = {"web-1": reading("web-1", [reboot(1)])}
    for _again in range(2):
        _round.decide(run, known, run_settings(), INVENTORY, told, NOW)
        assert [one["host"] for one in run["notes"]] == ["web-2"]


# What other machines remember of hosts, and what it means that they remember, or can't be asked.

CLUSTER = Cluster("localhost", "/k", "")
OF_LB = {"host": "web-0", "events": ["E0"], "types": ["Redeploy"], "run_id": "x", "path": "/records/1.json"}
KEPT = {"machine": "lb", "host": "web-0", "events": ["E0"], "types": ["Redeploy"], "run": "x"}


def node(name, **kept):
    return {"metadata": {"name": name, "annotations": {ANNOTATION: json.dumps(kept)}}}


def test_what_nodes_remember_of_hosts():
    nodes = [
        node("n 0", host="web-0", run_id="x", events=["E0", 7], types=["Reboot"]),
        {"metadata": {"name": "n1"}},
        node("n2", host="web-2", run_id=5),
    ]
    answer = answer_of_cluster({"resources": nodes})
    assert answer["unreadable"] == [f"annotation {ANNOTATION} of the node n1"]
    first, second = answer["records"]
    removal = f"kubectl annotate node 'n 0' {ANNOTATION}- && kubectl label node 'n 0' {ANNOTATION}-"
    assert first == {
        "machine": "The node n 0",
        "host": "web-0",
        "events": ["E0", "7"],
        "types": ["Reboot"],
        "run_id": "x",
        "removal": removal,
    }
    assert (second["events"], second["types"], second["run_id"]) == ([], [], "5")


@pytest.mark.parametrize(
    ("result", "msg"),
    [
        ({"failed": True, "resources": [], "msg": "No."}, "No."),
        ({"unreachable": True, "resources": []}, "no answer"),
        ({"resources": "odd", "msg": "Odd."}, "Odd."),
    ],
)
def test_a_cluster_that_could_not_be_asked_says_why(result, msg):
    assert answer_of_cluster(result) == {"msg": msg}


def test_records_of_machines_and_of_nodes():
    of_a_node = {**OF_LB, "machine": "The node n0", "host": "web-1", "removal": "kubectl x"}
    answered = {PLACE: {"records": [OF_LB], "unreadable": []}, CLUSTER: {"records": [of_a_node], "unreadable": []}}
    run = with_records(a_run(), {"web-0": [PLACE], "web-1": [CLUSTER]}, answered)
    assert run["records"] == [
        {**KEPT, "removal": "rm /records/1.json"},
        {**KEPT, "machine": "The node n0", "host": "web-1", "removal": "kubectl x"},
    ]
    assert run["unasked"] == {}


NEEDS = "lb, which a step of web-0 needs,"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"records": [], "unreadable": []}, None),
        ({"msg": "Timed out."}, f"{NEEDS} can't be asked for its records: Timed out"),
        ({}, f"{NEEDS} can't be asked for its records: no answer"),
        (None, f"{NEEDS} can't be asked for its records: no answer"),
        ({"records": [], "unreadable": ["/a", "/b"]}, f"{NEEDS} has records that can't be read: /a, /b"),
    ],
)
def test_whose_machine_can_not_be_asked(answer, why):
    run = with_records(a_run(), {"web-0": [PLACE], "web-1": []}, {PLACE: answer} if answer is not None else {})
    assert run["unasked"] == ({"web-0": why} if why else {})


def test_of_two_machines_one_that_can_not_be_asked_is_enough():
    other = RecordsPlace("lb-2", "/records")
    good = {"records": [], "unreadable": []}
    for places in ([PLACE, other], [other, PLACE]):
        run = with_records(a_run(), {"web-0": places}, {PLACE: {"msg": "No"}, other: good})
        assert run["unasked"] == {"web-0": f"{NEEDS} can't be asked for its records: No"}


def test_a_machine_is_trusted_about_hosts_whose_steps_act_there():
    needs = {"web-0": [PLACE], "web-1": [RecordsPlace("lb-2", "/records")]}
    records = [{**OF_LB, "host": name} for name in (*HOSTS, "old")]
    run = with_records(a_run(), needs, {PLACE: {"records": records, "unreadable": []}})
    assert _run_run.leftovers(run) == ["web-0"]
    of_web_1, of_web_2, of_old = foreign_records(run)
    assert of_web_1.startswith("lb remembers that something is drained there for web-1, whose drain_steps do not act")
    assert "web-2" in of_web_2
    assert of_old.startswith(
        "lb remembers that something is drained there for old, which the inventory no longer has. "
    )
    assert of_old.endswith(": rm /records/1.json")


@pytest.mark.parametrize(
    ("events", "journal", "remembered"),
    [
        ([], None, ["web-0"]),
        # It has an event: a wave takes care of it.
        ([reboot(0)], None, []),
        # Its journal knows.
        ([], drained("E9", run="dead"), []),
        # It still shows the event, which names others.
        ([{**reboot(1), "id": "e0"}], None, []),
        ([{**reboot(1), "id": "E7"}], None, ["web-0"]),
    ],
)
def test_who_is_known_to_be_drained_only_elsewhere(events, journal, remembered):
    known = {host: reading(host, []) for host in HOSTS}
    known["web-0"] = reading("web-0", events, journal)
    run = _run_run.plan(a_run(), known, run_settings(), INVENTORY, NOW)
    run = with_records(run, {"web-0": [PLACE]}, {PLACE: {"records": [OF_LB], "unreadable": []}})
    assert remembered_only(run) == remembered


def test_who_was_never_seen_shows_nothing():
    run = with_records(a_run(), {"web-0": [PLACE]}, {PLACE: {"records": [OF_LB], "unreadable": []}})
    run = {**run, "kept": {}}
    assert remembered_only(run) == ["web-0"]
    run["kept"] = {"web-0": {"shows": None}}
    assert remembered_only(run) == ["web-0"]
