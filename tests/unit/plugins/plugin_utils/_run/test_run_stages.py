# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From readings and the keepers' answers to what hosts are told."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.places import (
    Cluster,
    RecordsPlace,
    clusters_of,
    places_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import approval_decision as _approval_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import batch_check as _batch_check
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import drain_decision as _drain_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import leftover_hosts as _leftover_hosts
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import round_record as _round_record
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import turns as _turns
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.records import (
    answer_of_cluster,
    foreign_records,
    remembered_only,
    with_records,
)
from helpers.run_stages import (
    HOSTS,
    INVENTORY,
    NOW,
    a_run,
    answers,
    begun,
    decided,
    drained,
    note,
    ordered,
    reading,
    reboot,
    wishes,
    with_reflexes,
)


def test_with_the_lease_the_wave_is_drained_and_the_keepers_are_told():
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
    assert [call["keeper"] for call in found["calls"]] == list(HOSTS)
    assert [one["host"] for one in found["calls"][0]["notes"]] == ["web-0"]


def test_without_the_lease_nothing_begins_and_it_is_said_who_has_it():
    _run, _known, found = decided([reboot(0)], ["web-0"], answers(held=False))
    assert (found["round"]["drain"], found["round"]["waits"]) == ([], True)
    assert "other" in found["round"]["held"]["E0"]


def test_a_majority_of_the_keepers_is_needed():
    assert decided([reboot(0)], ["web-0"], answers(keepers=1))[2]["round"]["drain"] == []
    assert decided([reboot(0)], ["web-0"], answers(keepers=2))[2]["round"]["drain"] == ["web-0"]


def test_a_note_about_a_host_that_this_run_never_reads_counts_as_its_journal():
    """History 3: a run on other hosts of the group was killed with one of them drained."""
    run = a_run(hosts=["web-1"], events=[reboot(1)])
    _run, _known, found = decided([reboot(1)], ["web-1"], answers(notes=[note("web-0")]), run)
    assert found["round"]["drain"] == []
    assert "web-0" in found["round"]["held"]["E1"]
    # Who has read it with the lease knows better.
    _run, _known, found = decided([reboot(1)], ["web-1", "web-2"], answers(notes=[note("web-2")]))
    assert found["round"]["drain"] == ["web-1"]


def test_a_note_that_may_be_newer_than_the_reading_counts_too():
    """History 14: what was read for the plan is in service, and another run has drained it since."""
    run, _known, found = decided([reboot(1)], ["web-1"], answers(notes=[note("web-2")]))
    assert found["round"]["drain"] == []
    assert "web-2" in found["round"]["held"]["E1"]
    assert found["round"]["waits_for"] == ["web-2"]
    # The next pass reads it after it has heard of the note: then nobody has drained it.
    known = {host: reading(host, [reboot(1)]) for host in HOSTS}
    for host in HOSTS:
        known[host]["maintenance_status"]["read_at"] = "2026-11-16T00:00:09Z"
    run = _run_plan.plan(run, known, wishes(), INVENTORY, NOW + 9)
    told = answers(notes=[{**note("web-2"), "heard_at": NOW + 99}])
    found = _drain_decision.decide(run, {"web-1": known["web-1"]}, wishes(), INVENTORY, told, NOW + 10)
    assert found["round"]["drain"] == ["web-1"]
    assert found["calls"][0]["forget"] == ["web-2"]
    # A second note of the same run is another one.
    told = answers(notes=[{**note("web-2"), "at": NOW + 9}])
    found = _drain_decision.decide(run, {"web-1": known["web-1"]}, wishes(), INVENTORY, told, NOW + 10)
    assert found["round"]["drain"] == []


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


def test_a_host_that_was_taken_over_and_returned_is_forgotten_with_the_lease():
    known = {"web-0": {**reading("web-0", [], drained("E0", run="other")), "restore_result": {"state": "restored"}}}
    orders, _pause = _leftover_hosts.return_leftovers(a_run(), known, wishes(), NOW, NOW)
    _after, calls, of_others = _round_record.record(a_run(), orders, None, known, 0, NOW)
    assert (of_others, {tuple(call["forget"]) for call in calls}) == (True, {("web-0",)})


def test_a_host_that_the_other_run_has_returned_meanwhile_is_not_left_drained():
    """This run paused for the other one, and then found it in service."""
    outcome = {"state": "stays drained", "wave": 1, "number_of_pass": 1}
    run = a_run(outcomes={"web-0": outcome})
    known = {"web-0": reading("web-0", [])}
    orders, pause = _leftover_hosts.return_leftovers(run, known, wishes(), NOW, NOW)
    after, _calls, _of_others = _round_record.record(
        {**run, "outcomes": {"web-0": outcome}}, orders, None, known, 0, NOW
    )
    assert (pause, after["outcomes"]["web-0"]["state"]) == (0, "restored")


def test_a_lease_that_was_lost_means_another_round():
    run, _known, found = decided([reboot(0)], ["web-0"], answers())
    assert _drain_decision.confirm_drain(run, found, answers(renewed=True))["round"]["drain"] == ["web-0"]
    lost = _drain_decision.confirm_drain(run, found, answers(held=False))["round"]
    assert (lost["drain"], lost["again"], lost["later"]) == ([], True, ["web-0"])


def test_what_is_drained_by_this_run_is_marked_and_approved():
    run, (orders, held, calls) = ordered([reboot(0)], drained("E0"))
    order = orders["web-0"]
    assert (order["approve_drained"], order["together"], held) == (["E0"], ["web-0"], {})
    assert [mark["event"] for mark in order["marks"]] == ["E0"]
    assert (order["fence"]["owner"], order["fence"]["events"], order["fence"]["may_start"]) == ("r", ["E0"], ["E0"])
    assert calls[0]["notes"][0]["mark"]["event"] == "E0"
    lost, why = _approval_decision.confirm_approval(run, orders, answers(held=False))
    assert (lost["web-0"]["approve_drained"], lost["web-0"]["stays"], list(why)) == ([], True, ["E0"])


@pytest.mark.parametrize(
    "events", [[reboot(0), reboot(1, "Started")], [reboot(0), {**reboot(1, "Started"), "resources": ["stranger"]}]]
)
def test_another_domain_that_goes_down_meanwhile_holds_the_approval_back(events):
    """The document that was read right before says so."""
    _run, (orders, held, _calls) = ordered(events, drained("E0"))
    assert (orders["web-0"]["approve_drained"], orders["web-0"]["stays"]) == ([], True)
    assert "E1 is under way" in held["E0"]


def test_a_journal_that_is_gone_is_drained_again_and_not_approved():
    _run, (orders, held, _calls) = ordered([reboot(0)], None)
    assert orders["web-0"]["approve_drained"] == []
    assert "is not drained by this run" in held["E0"]


def test_an_approval_that_was_not_sent_has_another_turn_after_a_pause():
    run, (orders, _held, _calls) = ordered([reboot(0)], drained("E0"))
    _run, known, found = decided([reboot(0)], ["web-0"], answers())
    failed = {"over": False, "unsent": ["E0"], "error": "too old", "refused_by_host": "age"}
    known = {"web-0": {**reading("web-0", [reboot(0)], drained("E0")), "approve_result": failed}}
    after, _calls, _of_others = _round_record.record(run, orders, found["round"], known, 1, NOW)
    assert (after["outcomes"]["web-0"]["state"], after["slice"]) == ("stays drained", 1)
    assert _turns.goes_on(after, found["round"], ["web-0"], ["web-0"], wishes(), NOW + 5)[0]
    again, pause = _turns.goes_on(after, found["round"], ["web-0"], ["web-0"], wishes(), NOW + 1801)
    assert (again, pause) == (False, 0)


def test_hosts_that_one_event_names_stay_in_one_slice():
    event = {**reboot(0), "resources": ["web-0", "web-2"]}
    run = {**a_run(events=[event, reboot(1)]), "slice": 1}
    assert _turns.in_slices(run, HOSTS) == ["web-0", "web-2"]
    assert _turns.in_slices({**run, "slice": 0}, HOSTS) == list(HOSTS)


PLACE = RecordsPlace("lb", "/records")
RECORD = {"host": "web-0", "events": ["E0"], "types": ["Redeploy"], "run_id": "x", "path": "/records/1.json"}


def test_what_a_load_balancer_remembers_counts_as_drained():
    """Its disk, and with it the journal, is gone."""
    run = a_run(events=[reboot(0), reboot(1)])
    run = with_records(run, {"web-0": [PLACE]}, {PLACE: {"records": [RECORD], "unreadable": []}})
    _run, _known, found = decided([reboot(0), reboot(1)], ["web-1"], answers(), run)
    assert "web-0, of another domain, is not in service" in found["round"]["held"]["E1"]


def test_a_remembered_host_without_an_event_is_returned_and_a_strange_one_told():
    run = with_records(a_run(), {}, {PLACE: {"records": [RECORD, {**RECORD, "host": "gone"}], "unreadable": []}})
    assert remembered_only(run) == ["web-0"]
    assert _run_plan.leftovers(run) == ["web-0"]
    (told,) = foreign_records(run)
    assert "lb remembers" in told
    assert "rm /records/1.json" in told


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


def test_what_a_node_remembers_counts_as_a_record():
    text = '{"host": "web-0", "run_id": "x", "events": ["E0"], "types": ["Redeploy"], "before": {}}'
    answer = answer_of_cluster({"resources": [annotated("n 0", text)]})
    assert answer["unreadable"] == []
    run = with_records(a_run(), {}, {Cluster("localhost", "/k", ""): answer})
    (record,) = run["records"]
    assert (record["host"], record["types"], record["run"]) == ("web-0", ["Redeploy"], "x")
    assert record["removal"].startswith("kubectl annotate node 'n 0' maintenance.azure/drained- && ")
    assert remembered_only(run) == ["web-0"]


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
    confirmed = _drain_decision.confirm_drain(run, found, answers(held=False))["round"]
    assert (confirmed["drain"], list(confirmed["held"])) == (["web-0"], ["E1"])
    # Also beside one that needs the lease, where it is lost in between.
    run, _known, found = decided([taken, {**reboot(1), "resources": ["web-1"]}], ["web-0", "web-1"], answers())
    confirmed = _drain_decision.confirm_drain(run, found, answers(held=False))["round"]
    assert confirmed["drain"] == ["web-0"]


def test_a_group_that_needs_two_leases_needs_both():
    """One of its hosts has a delivery group in the inventory, and readings show that the other belongs to it."""
    events = [reboot(0)]
    known = {host: reading(host, events) for host in ("web-0", "web-1")}
    del known["web-1"]["maintenance_delivery_group"]
    state = _run_plan.begin("r", NOW, list(known), {"web-0": "set", "web-1": ""}, None)
    run = _run_plan.plan(state, known, wishes(), INVENTORY, NOW)
    both = {"set": {"web-0": answers()["set"]["web-0"]}, "": {"web-1": answers()["set"]["web-1"]}}
    batch = {"web-0": known["web-0"]}
    found = _drain_decision.decide(run, batch, wishes(), INVENTORY, both, NOW)
    assert {call["group"] for call in found["calls"]} == {"set", ""}
    renewed = {"set": {"web-0": {**both["set"]["web-0"], "renewed": True}}}
    kept = {**renewed, "": {"web-1": {**both[""]["web-1"], "renewed": True}}}
    assert _drain_decision.confirm_drain(run, found, kept)["round"]["drain"] == ["web-0"]
    lost = {**renewed, "": {"web-1": answers(held=False)["set"]["web-1"]}}
    assert _drain_decision.confirm_drain(run, found, lost)["round"]["drain"] == []


def test_the_lock_hosts_are_told_with_the_plan_who_is_drained_first():
    run, check = begun([reboot(0), reboot(1)], answers())
    first = run["first_wave"]
    assert [(one["host"], one["events"], one["run"]) for one in first["notes"]] == [("web-0", ["E0"], "r")]
    assert [(call["keeper"], call["notes"]) for call in first["calls"]] == [(host, first["notes"]) for host in HOSTS]
    assert (check["begun"], check["reads"], check["hosts"]) == (True, [], ["web-0"])


@pytest.mark.parametrize(
    "told",
    [
        answers(notes=[note("web-1")]),
        answers(notes=[note("web-0")]),
        answers(held=False),
        answers(keepers=1),
        {},
    ],
    ids=["another run drains another host", "or this one", "it has the lease", "no majority", "nobody answered"],
)
def test_where_somebody_may_have_come_between_all_is_read_again(told):
    _run, check = begun([reboot(0)], told)
    assert (check["begun"], check["reads"]) == (True, ["web-0"])


def test_a_lease_that_was_taken_long_before_the_wave_is_taken_anew():
    _run, check = begun([reboot(0)], answers(), now=NOW + 20.0)
    assert (check["begun"], check["reads"]) == (False, ["web-0"])
    assert begun([reboot(0)], answers(), now=NOW + 19.9)[1]["begun"]


@pytest.mark.parametrize("age", [5.0, -1.0])
def test_what_was_not_read_just_now_is_read_again(age):
    state = _run_plan.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    known = {host: reading(host, [reboot(0)]) for host in HOSTS}
    state = _run_plan.plan(state, known, wishes(), INVENTORY, NOW + age)
    assert state["first_wave"] is None or age < 0
    assert _run_plan.plan(state, known, wishes(), INVENTORY, NOW + 4.9)["first_wave"]


def test_nobody_is_asked_early_for_a_plan_or_while_a_host_is_to_be_returned_first():
    state = _run_plan.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    known = {host: reading(host, [reboot(0)]) for host in HOSTS}
    assert _run_plan.plan(state, known, wishes(plan_only=True), INVENTORY, NOW)["first_wave"] is None
    known["web-2"] = reading("web-2", [reboot(0)], drained("E9"))
    assert _run_plan.plan(state, known, wishes(), INVENTORY, NOW)["first_wave"] is None


def test_lock_hosts_that_were_asked_and_of_whom_nothing_was_heard_have_granted_nothing():
    run, _known, found = decided([reboot(0)], ["web-0"], {})
    assert (found["round"]["drain"], list(found["round"]["held"])) == ([], ["E0"])
    run, _known, found = decided([reboot(0)], ["web-0"], answers())
    assert found["calls"]
    assert _drain_decision.confirm_drain(run, found, {})["round"]["drain"] == []
    run, (orders, _held, calls) = ordered([reboot(0)], drained("E0"))
    assert orders["web-0"]["approve_drained"] == ["E0"]
    orders, held = _approval_decision.confirm_approval(run, orders, {}, calls)
    assert (orders["web-0"]["approve_drained"], list(held)) == ([], ["E0"])


def test_what_the_lock_hosts_know_already_they_are_not_told_again():
    run, check = begun([reboot(0), reboot(1)], answers())
    known = {host: reading(host, [reboot(0), reboot(1)]) for host in check["hosts"]}
    own = answers(notes=run["first_wave"]["notes"])
    found = _drain_decision.decide(run, known, wishes(), INVENTORY, own, NOW, True)
    assert (found["round"]["drain"], found["calls"]) == (["web-0"], [])
    assert _drain_decision.confirm_drain(run, found, {})["round"]["drain"] == ["web-0"]
    again = _drain_decision.decide(run, known, wishes(), INVENTORY, own, NOW)
    assert [call["keeper"] for call in again["calls"]] == list(HOSTS)


def test_without_the_early_lease_nothing_begins():
    run, check = begun([reboot(0)], answers(held=False))
    known = {host: reading(host, [reboot(0)]) for host in check["hosts"]}
    found = _drain_decision.decide(run, known, wishes(), INVENTORY, answers(held=False), NOW, True)
    assert (found["round"]["drain"], list(found["round"]["held"])) == ([], ["E0"])


def test_what_was_told_early_and_then_not_drained_is_taken_back():
    run, check = begun([reboot(0)], answers())
    known = {host: reading(host, [reboot(0)]) for host in check["hosts"]}
    decision = _drain_decision.decide(run, known, wishes(), INVENTORY, answers(held=False), NOW, True)
    orders, _held, _calls = _approval_decision.order(run, decision["round"], known, wishes(), INVENTORY, NOW)
    after, calls, of_others = _round_record.record(run, orders, decision["round"], known, 1, NOW)
    assert [call["forget"] for call in calls] == [["web-0"]] * 3
    assert (of_others, after["first_wave"]) == (False, None)


def test_a_wave_that_does_not_begin_gives_its_early_lease_back():
    run, _check = begun([reboot(0)], answers())
    check = _batch_check.check(run, ["web-1"], wishes(), answers(), NOW)
    assert check["stop"]
    assert [(call["keeper"], call["notes"], call["forget"]) for call in check["calls"]] == [
        (host, [], ["web-0"]) for host in HOSTS
    ]


def test_hosts_that_act_by_themselves_are_read_again_before_a_wave_if_that_was_too_long_ago():
    state = _run_plan.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    known = {host: reading(host, [reboot(0)]) for host in HOSTS}
    known["web-1"] = with_reflexes(known["web-1"])
    state = _run_plan.plan(state, known, wishes(), INVENTORY, NOW)
    assert _batch_check.check(state, ["web-0"], wishes(), {}, NOW + 5)["stale"] == []
    assert _batch_check.check(state, ["web-0"], wishes(), {}, NOW + 80)["stale"] == []
    assert _batch_check.check(state, ["web-0"], wishes(), {}, NOW + 81)["stale"] == ["web-1"]
    assert _batch_check.check(state, ["web-0", "web-1"], wishes(), {}, NOW + 81)["stale"] == []
    # Whatever the clock says.
    early = {**state, "kept": {**state["kept"], "web-1": {**state["kept"]["web-1"], "seen_at": 10.0}}}
    assert _batch_check.stale(early, ["web-0"], wishes(), 95.0) == ["web-1"]
    state["kept"]["web-1"]["place"]["delivery_group"] = "another"
    assert _batch_check.check(state, ["web-0"], wishes(), {}, NOW + 81)["stale"] == []


@pytest.mark.parametrize(("journal", "drain"), [(None, ["web-0"]), (drained("E1", run="watcher of web-1"), [])])
def test_one_that_has_drained_itself_since_counts_as_out(journal, drain):
    events = [reboot(0), reboot(1)]
    state = a_run(events=events)
    known = {"web-0": reading("web-0", events)}
    said_now = {"web-1": with_reflexes(reading("web-1", events, journal))}
    found = _drain_decision.decide(state, known, wishes(), INVENTORY, answers(), NOW, read_again=said_now)
    assert found["round"]["drain"] == drain
    assert state["kept"]["web-1"]["seen_at"] == NOW


def test_the_plan_says_which_hosts_can_not_be_told_that_a_run_is_there():
    state = _run_plan.begin("r", NOW, HOSTS, dict.fromkeys(HOSTS, "set"), None)
    known = {host: reading(host, []) for host in HOSTS}
    known["web-1"] = with_reflexes(known["web-1"], left=False)
    known["web-2"] = with_reflexes(known["web-2"])
    lines = " ".join(_run_plan.plan(state, known, wishes(), INVENTORY, NOW)["plan"]["lines"])
    assert "Warning: web-1 acts by itself, and can't be told that a run is there" in lines
    assert "web-2 acts" not in lines


@pytest.mark.parametrize(("count", "rest"), [(8, "web-7 acts by itself"), (9, "web-7 and 1 more acts by itself")])
def test_of_them_eight_are_named(count, rest):
    hosts = [f"web-{number}" for number in range(count)]
    state = _run_plan.begin("r", NOW, hosts, dict.fromkeys(hosts, "set"), None)
    known = {host: with_reflexes(reading(host, []), left=False) for host in hosts}
    lines = " ".join(_run_plan.plan(state, known, wishes(), INVENTORY, NOW)["plan"]["lines"])
    assert rest in " ".join(lines.split())
