# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of hosts outside of a batch, and holds it back: events, journals, records, and who drained again."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import approval_decision as _approval_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import batch_check as _batch_check
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import drain_decision as _drain_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import group_failures as _group_failures
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import orders as _orders
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import round_record as _round_record
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import view as _view
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.packing import packed, unpacked
from helpers.run_stages import HOSTS, INVENTORY, NOW, answers, drained, reading, reboot, wishes

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


def planned(known, state=None, inventory=HOSTS, **more):
    group = "set" if any("maintenance_delivery_group" in one for one in known.values()) else ""
    begun = state or _run_plan.begin("r", NOW, list(known), dict.fromkeys(inventory, group), None)
    # As it travels from task to task.
    return unpacked(packed(_run_plan.plan({**begun, **more}, known, wishes(), INVENTORY, NOW)))


def decided(state, known, told=None, now=NOW + 5):
    lease = next(iter(state["keepers"]))
    return _drain_decision.decide(state, known, wishes(), INVENTORY, told or {lease: answers()["set"]}, now)["round"]


@pytest.mark.parametrize("declared", [False, True])
def test_a_single_vm_whose_event_has_started_holds_back(declared):
    """Nobody else shows it."""
    started, due = reboot(0, "Started"), reboot(1)
    known = {"web-0": single("web-0", started, declared=declared), "web-1": single("web-1", due, declared=declared)}
    state = planned(known)
    found = decided(state, {"web-1": known["web-1"]})
    assert (found["drain"], found["held"]) == (
        [],
        {"E1": "Event E0 is under way for web-0, of another domain"},
    )


def test_so_does_one_that_can_not_be_read_any_more_since_its_event_has_started():
    known = {"web-0": single("web-0", reboot(0, "Started")), "web-1": single("web-1", reboot(1))}
    state = planned({**known, "web-0": AWAY}, planned(known))
    assert decided(state, {"web-1": known["web-1"]})["drain"] == []


@pytest.mark.parametrize("declared", [False, True])
def test_a_single_vm_whose_approval_was_sent_holds_back(declared):
    mark = {"event": "E0", "hosts": ["web-0"], "at": NOW - 5}
    journal = {"state": "marked", "run_id": "earlier", "events": [], "steps": [], "marks": [mark]}
    known = {
        "web-0": single("web-0", reboot(0), journal=journal, declared=declared),
        "web-1": single("web-1", reboot(1), declared=declared),
    }
    assert decided(planned(known), {"web-1": known["web-1"]})["drain"] == []


def test_what_a_document_no_longer_shows_holds_nobody_back():
    known = {host: undeclared(host, [reboot(0, "Started"), reboot(1)]) for host in HOSTS}
    state = planned(known)
    assert decided(state, {"web-1": known["web-1"]})["drain"] == []
    later = {"web-1": undeclared("web-1", [reboot(1)])}
    assert decided(state, later)["drain"] == ["web-1"]
    # In the next round, too: who is not read again still says what it has said.
    order = {"web-1": {**_orders.left_as_it_is()}}
    state, _calls, _others = _round_record.record(state, order, decided(state, later), later, 1, NOW + 6)
    assert state["gone"] == ["E0"]
    assert decided(state, later)["drain"] == ["web-1"]


def test_a_host_that_was_seen_drained_and_can_not_be_reached_any_more_is_out():
    events = [reboot(0), reboot(1), reboot(2)]
    known = {host: undeclared(host, events) for host in HOSTS}
    known["web-0"] = undeclared("web-0", events, drained("E0", run="watch"))
    state = planned(known)
    found = decided(state, {"web-0": AWAY})
    orders, _held, _calls = _approval_decision.order(state, found, {"web-0": AWAY}, wishes(), INVENTORY, NOW + 6)
    state, _calls, _others = _round_record.record(state, orders, found, {"web-0": AWAY}, 1, NOW + 7)
    assert state["outcomes"]["web-0"]["state"] == "lost"
    assert list(_group_failures.failures(state, wishes(), _view.grouping_of(state["kept"]))) == ["the group of web-0"]
    assert (
        "Not begun, as an earlier wave went wrong"
        in _batch_check.check(state, ["web-1"], wishes(), {}, NOW + 8)["stop"]
    )
    # Also in a later pass, and where nothing of it was lost by this run.
    state = planned({**known, "web-0": AWAY}, planned(known))
    found = decided(state, {"web-1": known["web-1"]})
    assert (found["drain"], found["held"]["E1"]) == ([], "web-0, of another domain, is not in service")


def test_it_stays_of_its_group_when_all_its_events_are_gone():
    known = {host: undeclared(host, [reboot(0)]) for host in HOSTS}
    later = {host: undeclared(host, [reboot(1)]) for host in HOSTS}
    state = planned({**later, "web-0": AWAY}, planned(known))
    assert set(_view.grouping_of(state["kept"]).group_of.values()) == {"the group of web-0"}


def test_a_host_that_this_run_has_returned_and_somebody_else_drained_again_is_out():
    events = [reboot(0), reboot(1)]
    known = {host: undeclared(host, events) for host in HOSTS}
    known["web-0"] = undeclared("web-0", events, drained("E0"))
    state = planned(known)
    order = {**_orders.returned("drained"), "drains": True}
    back = {"web-0": {**known["web-0"], "restore_result": {"state": "restored"}}}
    state, _calls, _others = _round_record.record(state, {"web-0": order}, None, back, 1, NOW + 1)
    # Its last reading is older than its return.
    assert decided(state, {"web-1": known["web-1"]})["drain"] == ["web-1"]
    again = {**known, "web-0": undeclared("web-0", events, drained("E0", run="watch"))}
    assert decided(planned(again, state), {"web-1": known["web-1"]})["drain"] == []


@pytest.mark.parametrize("away", [False, True])
def test_a_host_that_was_never_read_and_that_a_load_balancer_remembers_is_out(away):
    record = {"machine": "lb", "host": "web-0", "events": ["E0"], "types": ["Reboot"], "run": "dead", "removal": ""}
    known = {host: undeclared(host, [reboot(1)]) for host in HOSTS[1:]}
    if away:
        known["web-0"] = AWAY
    mine = {"web-1": known["web-1"]}
    found = decided(planned(known, records=[record]), mine)
    assert (found["drain"], found["held"]["E1"]) == ([], "web-0, of another domain, is not in service")
    # What is lost anyway holds nobody up, nor what the inventory does not have any more.
    assert decided(planned(known, records=[{**record, "types": ["Preempt"]}]), mine)["drain"] == ["web-1"]
    assert decided(planned(known, records=[{**record, "host": "old"}]), mine)["drain"] == ["web-1"]


def test_of_a_host_that_the_inventory_puts_into_another_group_a_record_holds_nobody_up():
    record = {"machine": "lb", "host": "db-0", "events": ["E0"], "types": ["Reboot"], "run": "dead", "removal": ""}
    known = {host: undeclared(host, [reboot(1)]) for host in HOSTS}
    state = planned(known, records=[record])
    state["lease_of"]["db-0"] = "db"
    assert decided(state, {"web-1": known["web-1"]})["drain"] == ["web-1"]
