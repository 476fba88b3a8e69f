# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts count as drained: names and states on both sides of the right one in the alphabet."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.drained import (
    drained_vms,
    never_told,
    not_shown,
    ready_hosts,
    unmarked_hosts,
)

SCOPE = {"subscription_id": "s", "resource_group": "rg"}


def read(name, *event_ids):
    events = [{"id": event_id} for event_id in event_ids]
    return {"maintenance_status": {"this_host": {"vm_name": name, **SCOPE}, "events": events}}


@pytest.mark.parametrize("state", ["closed", "draining", "marked", "restoring", "", "Drained"])
def test_no_other_state_is_drained(state):
    host_vars = {"a": {"seen": {"journal": {"state": state}}}, "b": {"seen": {"journal": {"state": "drained"}}}}
    assert ready_hosts(["a", "b"], host_vars, "seen") == ["b"]


def test_the_sender_stands_for_the_vm_that_it_was_just_told_wherever_it_is_in_the_list():
    host_vars = {name: read(name) for name in ("a", "m", "z")}
    assert drained_vms(["a", "m", "z"], host_vars, "m", {"vm_name": "M1", **SCOPE}, "M1") == ["M1", "a", "z"]
    assert drained_vms(["a", "z"], host_vars, "m", {"vm_name": "M1", **SCOPE}, "M1") == ["a", "z"]


def test_a_vm_of_the_same_name_in_another_resource_group_is_no_rival():
    host_vars = {name: read("va") for name in ("a", "z")}
    elsewhere = {**host_vars["z"]["maintenance_status"]["this_host"], "resource_group": "other"}
    host_vars["z"] = {"maintenance_status": {"this_host": elsewhere, "events": []}}
    assert drained_vms(["a", "z"], host_vars, "m", {"vm_name": "M1", **SCOPE}, "M1") == ["va"]


def test_never_told_is_who_was_not_read_and_of_whom_the_inventory_says_not_enough():
    host_vars = {"a": {}, "b": read("b"), "c": SCOPE, "m": {}, "z": {"resource_group": "rg"}}
    assert never_told(["a", "b", "c", "m", "z"], host_vars, "m") == ["a", "z"]


def test_who_is_not_known_or_not_read_has_not_been_silent_about_an_event():
    host_vars = {"a": read("va", "E1"), "b": {"maintenance_status": None}, "c": read("vc", "e2")}
    assert not_shown(["a", "b", "c", "stranger"], host_vars, ["E1", "E2"]) == {"e1": ["vc"], "e2": ["va"]}


@pytest.mark.parametrize(("run_id", "is_marked"), [("r5", True), ("r4", False), ("r6", False), (None, False)])
def test_a_mark_counts_in_the_name_of_this_run_alone(run_id, is_marked):
    mark = {"event": "E5", "hosts": ["a", "m", "z"]}
    results = {host: {"journal": {"run_id": run_id, "marks": [{"event": "E5"}]}} for host in ("a", "z")}
    assert unmarked_hosts([mark], "m", results, "r5") == {"e5": [] if is_marked else ["a", "z"]}


@pytest.mark.parametrize("event", ["E4", "E6"])
def test_a_mark_of_another_event_is_none(event):
    result = {"journal": {"run_id": "r", "marks": [{"event": event}]}}
    assert unmarked_hosts([{"event": "E5", "hosts": ["a"]}], "m", {"a": result}, "r") == {"e5": ["a"]}
    result["journal"]["marks"].append({"event": "e5"})
    assert unmarked_hosts([{"event": "E5", "hosts": ["a"]}], "m", {"a": result}, "r") == {"e5": []}
