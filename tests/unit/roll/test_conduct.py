# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From readings and the keepers' answers to what hosts are told."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.places import RecordsPlace, places_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import conduct as _conduct
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import turns as _turns
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.records import (
    foreign_records,
    remembered_only,
    with_records,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import read_wishes
from default_policy import DEFAULT_POLICY

NOW = 1_794_787_200.0  # 2026-11-16T00:00:00Z
HOSTS = ("web-0", "web-1", "web-2")
INVENTORY = _conduct.Inventory(elsewhere=dict, inventory_of=lambda hosts: {host: {} for host in hosts})


def wishes(**more):
    return read_wishes({"policy": DEFAULT_POLICY, **more})


def reboot(number, status="Scheduled"):
    event = {"id": f"E{number}", "type": "Reboot", "status": status, "resources": [f"web-{number}"]}
    return {**event, "not_before": None if status == "Started" else f"2026-11-16T00:3{number}:00Z"}


def reading(host, events, journal=None):
    shown = [{**one, "affects_this_host": host in one["resources"]} for one in events]
    this_host = {"vm_name": host, "update_domain": host[-1], "resource_group": "rg", "subscription_id": "s"}
    clock = {"boot_id": "b", "seconds": 100.0}
    status = {"this_host": this_host, "events": shown, "read_at": "2026-11-16T00:00:00Z", "journal": journal}
    return {"maintenance_status": {**status, "host_clock": clock}, "maintenance_delivery_group": "set"}


def drained(*events, run="r", state="drained", **more):
    step = {"number": 1, "kind": "command", "arguments": {}, "before": {}, "status": "done"}
    kept = [{"id": event, "type": "Reboot"} for event in events]
    return {"state": state, "run_id": run, "events": kept, "steps": [step], **more}


def a_run(hosts=HOSTS, events=(), **more):
    state = _conduct.begin("r", NOW, hosts, dict.fromkeys(HOSTS, "set"), None)
    state = {**state, **more}
    return _conduct.plan(state, {host: reading(host, events) for host in hosts}, wishes(), INVENTORY, NOW)


def answers(held=True, notes=(), renewed=False, keepers=3):
    told = {"held": held, "renewed": renewed, "notes": list(notes), "changed": True, "took_over_from": None}
    holder = {"run_id": "other", "user": "u", "host": "h", "note": "", "taken_at": "t", "seconds_left": 9}
    told["holder"] = None if held else {**holder, "controller": "c", "pid": 1, "process_start": "1"}
    return {"set": dict.fromkeys(HOSTS[:keepers], told)}


def decided(events, batch, told, state=None, **journals):
    known = {host: reading(host, events, journals.get(host.replace("-", "_"))) for host in batch}
    run = state or a_run(events=events)
    return run, known, _conduct.decide(run, known, wishes(), INVENTORY, told, NOW)


def note(host, mark=None):
    return {"host": host, "events": ["E0"], "type": "Reboot", "run": "other", "at": NOW, "mark": mark}


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
    # Who has read it knows better.
    _run, _known, found = decided([reboot(1)], ["web-1"], answers(notes=[note("web-2")]))
    assert found["round"]["drain"] == ["web-1"]


def test_who_finds_a_host_in_service_removes_the_note_of_another_run():
    run, _known, found = decided([reboot(1)], ["web-1"], answers(notes=[note("web-1")]))
    assert found["calls"][0]["forget"] == ["web-1"]
    # web-2 was read before this run had the lease: a young note may be newer than that.
    assert decided([reboot(1)], ["web-1"], answers(notes=[note("web-2")]))[2]["calls"][0]["forget"] == []
    old = {**note("web-2"), "at": NOW - 301}
    assert decided([reboot(1)], ["web-1"], answers(notes=[old]))[2]["calls"][0]["forget"] == ["web-2"]
    # Who is drained keeps it.
    journal = drained("E1", run="other")
    found = decided([reboot(1)], ["web-1"], answers(notes=[note("web-1")]), web_1=journal)[2]
    assert all(call["forget"] == [] for call in found["calls"])
    assert run["run_id"] == "r"


def test_a_host_that_was_taken_over_and_returned_is_forgotten_with_the_lease():
    known = {"web-0": {**reading("web-0", [], drained("E0", run="other")), "restore_result": {"state": "restored"}}}
    orders, _pause = _conduct.return_leftovers(a_run(), known, wishes(), NOW, NOW)
    _after, calls, of_others = _conduct.record(a_run(), orders, None, known, 0, NOW)
    assert (of_others, {tuple(call["forget"]) for call in calls}) == (True, {("web-0",)})


def test_a_lease_that_was_lost_means_another_round():
    run, _known, found = decided([reboot(0)], ["web-0"], answers())
    assert _conduct.confirm_drain(run, found, answers(renewed=True))["round"]["drain"] == ["web-0"]
    lost = _conduct.confirm_drain(run, found, answers(held=False))["round"]
    assert (lost["drain"], lost["again"], lost["later"]) == ([], True, ["web-0"])


def ordered(events, journal, **more):
    run, known, found = decided([reboot(0)], ["web-0"], answers())
    known = {"web-0": {**reading("web-0", events, journal), "drain_result": {"state": "drained"}, **more}}
    return run, _conduct.order(run, found["round"], known, wishes(), INVENTORY, NOW)


def test_what_is_drained_by_this_run_is_marked_and_approved():
    run, (orders, held, calls) = ordered([reboot(0)], drained("E0"))
    order = orders["web-0"]
    assert (order["approve_drained"], order["together"], held) == (["E0"], ["web-0"], {})
    assert [mark["event"] for mark in order["marks"]] == ["E0"]
    assert (order["fence"]["owner"], order["fence"]["events"], order["fence"]["may_start"]) == ("r", ["E0"], ["E0"])
    assert calls[0]["notes"][0]["mark"]["event"] == "E0"
    lost, why = _conduct.confirm_approval(run, orders, answers(held=False))
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
    after, _calls, _of_others = _conduct.record(run, orders, found["round"], known, 1, NOW)
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
    assert _conduct.leftovers(run) == ["web-0"]
    (told,) = foreign_records(run)
    assert "lb remembers" in told
    assert "rm /records/1.json" in told


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
    confirmed = _conduct.confirm_drain(run, found, answers(held=False))["round"]
    assert (confirmed["drain"], list(confirmed["held"])) == (["web-0"], ["E1"])
    # Also beside one that needs the lease, where it is lost in between.
    run, _known, found = decided([taken, {**reboot(1), "resources": ["web-1"]}], ["web-0", "web-1"], answers())
    confirmed = _conduct.confirm_drain(run, found, answers(held=False))["round"]
    assert confirmed["drain"] == ["web-0"]


def test_a_group_that_needs_two_leases_needs_both():
    """One of its hosts has a delivery group in the inventory, and readings show that the other belongs to it."""
    events = [reboot(0)]
    known = {host: reading(host, events) for host in ("web-0", "web-1")}
    del known["web-1"]["maintenance_delivery_group"]
    state = _conduct.begin("r", NOW, list(known), {"web-0": "set", "web-1": ""}, None)
    run = _conduct.plan(state, known, wishes(), INVENTORY, NOW)
    both = {"set": {"web-0": answers()["set"]["web-0"]}, "": {"web-1": answers()["set"]["web-1"]}}
    batch = {"web-0": known["web-0"]}
    found = _conduct.decide(run, batch, wishes(), INVENTORY, both, NOW)
    assert {call["group"] for call in found["calls"]} == {"set", ""}
    renewed = {"set": {"web-0": {**both["set"]["web-0"], "renewed": True}}}
    kept = {**renewed, "": {"web-1": {**both[""]["web-1"], "renewed": True}}}
    assert _conduct.confirm_drain(run, found, kept)["round"]["drain"] == ["web-0"]
    lost = {**renewed, "": {"web-1": answers(held=False)["set"]["web-1"]}}
    assert _conduct.confirm_drain(run, found, lost)["round"]["drain"] == []
