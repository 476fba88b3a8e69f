# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other machines remember of hosts, and what it means that they remember, or can't be asked."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.places import Cluster, RecordsPlace
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.records import (
    ANNOTATION,
    answer_of_cluster,
    foreign_records,
    remembered_only,
    with_records,
)
from helpers.run_stages import HOSTS, INVENTORY, NOW, a_run, drained, reading, reboot, wishes

PLACE = RecordsPlace("lb", "/records")
CLUSTER = Cluster("localhost", "/k", "")
RECORD = {"host": "web-0", "events": ["E0"], "types": ["Redeploy"], "run_id": "x", "path": "/records/1.json"}
KEPT = {"machine": "lb", "host": "web-0", "events": ["E0"], "types": ["Redeploy"], "run": "x"}


def node(name, **kept):
    return {"metadata": {"name": name, "annotations": {ANNOTATION: json.dumps(kept)}}}


def test_what_nodes_remember_of_hosts():
    nodes = [
        node("n0", host="web-0", run_id="x", events=["E0", 7], types=["Reboot"]),
        {"metadata": {"name": "n1"}},
        node("n2", host="web-2", run_id=5),
    ]
    answer = answer_of_cluster({"resources": nodes})
    assert answer["unreadable"] == [f"annotation {ANNOTATION} of the node n1"]
    first, second = answer["records"]
    removal = f"kubectl annotate node n0 {ANNOTATION}- && kubectl label node n0 {ANNOTATION}-"
    assert first == {
        "machine": "The node n0",
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
    of_a_node = {**RECORD, "machine": "The node n0", "host": "web-1", "removal": "kubectl x"}
    run = with_records(a_run(), {}, {PLACE: {"records": [RECORD]}, CLUSTER: {"records": [of_a_node]}})
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


def test_what_is_remembered_of_hosts_that_the_inventory_no_longer_has():
    run = with_records(a_run(), {}, {PLACE: {"records": [RECORD, {**RECORD, "host": "old"}]}})
    (told,) = foreign_records(run)
    assert told.startswith("lb remembers that something is drained there for old, which the inventory no longer has. ")
    assert told.endswith(": rm /records/1.json")


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
    run = _run_plan.plan(a_run(), known, wishes(), INVENTORY, NOW)
    run = with_records(run, {}, {PLACE: {"records": [RECORD]}})
    assert remembered_only(run) == remembered


def test_who_was_never_seen_shows_nothing():
    run = with_records(a_run(), {}, {PLACE: {"records": [RECORD]}})
    run = {**run, "kept": {}}
    assert remembered_only(run) == ["web-0"]
    run["kept"] = {"web-0": {"shows": None}}
    assert remembered_only(run) == ["web-0"]
