# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases for a run from its beginning to its end: readings, journals and the answers of lock hosts, with few words."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import InventoryNames
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import round as _round
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import run as _run
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import view as _view
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.model import read_run_settings

from helpers.default_policy import DEFAULT_POLICY

NOW = 1_794_787_200.0  # 2026-11-16T00:00:00Z
HOSTS = ("web-0", "web-1", "web-2")
INVENTORY = _view.Inventory(elsewhere=dict, names=lambda: InventoryNames((), {}))


def run_settings(**more):
    return read_run_settings({"policy": DEFAULT_POLICY, **more})


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
    state = _run.begin("r", NOW, hosts, dict.fromkeys(HOSTS, "set"), None)
    state = {**state, **more}
    return _run.plan(state, {host: reading(host, events) for host in hosts}, run_settings(), INVENTORY, NOW)


def answers(held=True, notes=(), renewed=False, lock_hosts=3):
    told = {"held": held, "renewed": renewed, "notes": list(notes), "changed": True, "took_over_from": None}
    holder = {"run_id": "other", "user": "u", "host": "h", "note": "", "taken_at": "t", "seconds_left": 9}
    told["holder"] = None if held else {**holder, "controller": "c", "pid": 1, "process_start": "1"}
    return {"set": dict.fromkeys(HOSTS[:lock_hosts], told)}


def decided(events, batch, told, state=None, **journals):
    known = {host: reading(host, events, journals.get(host.replace("-", "_"))) for host in batch}
    run = state or a_run(events=events)
    return run, known, _round.decide(run, known, run_settings(), INVENTORY, told, NOW)


def note(host, mark=None):
    return {"host": host, "events": ["E0"], "type": "Reboot", "run": "other", "at": NOW, "mark": mark}


def ordered(events, journal, **more):
    run, known, found = decided([reboot(0)], ["web-0"], answers())
    known = {"web-0": {**reading("web-0", events, journal), "drain_result": {"state": "drained"}, **more}}
    return run, _round.order(run, found["round"], known, run_settings(), INVENTORY, NOW)


def with_reflexes(known, left=True):
    return {
        **known,
        "maintenance_status": {**known["maintenance_status"], "run_mark": {"reflexes": True, "left": left}},
    }
