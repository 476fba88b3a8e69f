# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of Kubernetes: what was drained there is recorded in an annotation. Against a double of a few answers."""

from __future__ import annotations

import json

import pytest
from helpers.ansible_run import inventory
from helpers.check_run import check
from helpers.kubernetes_double import Cluster, kubeconfig, served
from helpers.other_collections import collections_path

pytestmark = pytest.mark.rest

MINE = {"host": "forgotten", "run_id": "run-9", "events": ["E-1"], "before": {"cordoned": False}}
ANNOTATIONS = {
    "plain": {},
    "forgotten": {"maintenance.azure/drained": json.dumps(MINE)},
    "taken": {"maintenance.azure/drained": json.dumps({**MINE, "host": "somebody"})},
    "damaged": {"maintenance.azure/drained": "nonsense"},
    "drained": {"maintenance.azure/drained": json.dumps({**MINE, "host": "drained"})},
}
JOURNAL = {"version": 1, "state": "drained", "run_id": "run-9", "boot_id": None, "events": [], "steps": []}


@pytest.fixture(scope="module")
def methods():
    return []


@pytest.fixture(scope="module")
def cluster(methods):
    double = Cluster(dict.fromkeys(ANNOTATIONS, False))
    double.annotations.update(ANNOTATIONS)

    def noted(method, path, body):
        methods.append(method)
        return double.answer(method, path, body)

    with served(noted) as address:
        yield address


@pytest.fixture(scope="module")
def found(tmp_path_factory, cluster):
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "kubeconfig").write_text(kubeconfig(cluster))
    (folder / "drained.json").write_text(json.dumps(JOURNAL))
    (folder / "drained.json").chmod(0o600)
    step = {"node": "{{ inventory_hostname }}", "kubeconfig": f"{folder}/kubeconfig"}
    hosts = {
        name: {"drain_journal": str(folder / f"{name}.json"), "drain_steps": [{"kubernetes": step}]}
        for name in (*ANNOTATIONS, "unknown")
    }
    listed = inventory(folder, hosts)
    return check(folder, listed, settings={"ANSIBLE_COLLECTIONS_PATH": collections_path()})


@pytest.mark.parametrize(
    ("host", "verdict", "seen"),
    [
        ("plain", "good", "not drained by us"),
        ("forgotten", "bad", "drained for forgotten by run run-9, and the host has no journal"),
        ("taken", "bad", "drained for somebody by run run-9"),
        ("damaged", "bad", "can't be understood"),
        ("drained", "doubtful", "drained for drained by run run-9"),
        ("unknown", "bad", "there are 0 nodes of that name"),
    ],
)
def test_the_annotation_of_the_node_is_looked_at(found, host, verdict, seen):
    told = found.of(host, f"annotation of node {host}")
    assert (told["verdict"], seen in told["seen"]) == (verdict, True), told
    assert bool(told["do"]) == (verdict != "good")


def test_the_rest_of_the_step_is_looked_at_too(found, methods):
    assert found.verdict("plain", "collections of the steps") == "good"
    assert found.verdict("the fleet", "step 1 (kubernetes): path ") == "good"
    assert found.verdict("the fleet", "other machine localhost") == "good"
    # Annotations are its records, not files of the machine that asks.
    assert "records on localhost" not in json.dumps(found.report)
    assert set(methods) == {"GET"}
