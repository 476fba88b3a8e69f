# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step `kubernetes` against a double of the few answers of a cluster that kubernetes.core asks for."""

from __future__ import annotations

import json
import subprocess

import pytest
from helpers.ansible_run import environment, inventory, play
from helpers.kubernetes_double import Cluster, kubeconfig, served
from helpers.other_collections import collections_path

pytestmark = pytest.mark.rest

# Name -> its node, its owner, and whether it may go.
PODS = {
    "app": ("plain", "ReplicaSet", True),
    "agent": ("plain", "DaemonSet", True),
    "kubelet-own": ("plain", "Node", True),
    "guarded": ("stuck", "ReplicaSet", False),
}
DRAIN = {"ansible.builtin.include_role": {"name": "maintenance.azure.drain"}}
RESTORE = {"ansible.builtin.include_role": {"name": "maintenance.azure.restore"}}


def has_collection(folder):
    command = ["ansible-doc", "-t", "module", "-l", "kubernetes.core"]
    answer = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=False)
    return "k8s_drain" in answer.stdout


@pytest.fixture
def cluster(tmp_path):
    double = Cluster({"plain": False, "cordoned": True, "stuck": False}, PODS)
    with served(double.answer) as address:
        (tmp_path / "kubeconfig").write_text(kubeconfig(address))
        yield double


def hosts(folder, *names):
    step = {"node": "{{ inventory_hostname }}", "kubeconfig": f"{folder}/kubeconfig", "timeout": 2}
    own = {
        "drain_journal": str(folder) + "/{{ inventory_hostname }}/journal.json",
        "drain_steps": [{"kubernetes": step}],
        "maintenance_endpoint": "",
    }
    return inventory(folder, dict.fromkeys(names, own))


def test_drain_look_again_and_restore(tmp_path, cluster):
    book = hosts(tmp_path, "plain", "cordoned", "stuck")
    run = play(tmp_path, book, DRAIN, ANSIBLE_COLLECTIONS_PATH=collections_path())
    failed = {line["host"]: line["result"] for line in run.results if line["outcome"] == "failed"}
    assert set(failed) == {"stuck"}, run.output
    assert "Pods are still on the node stuck: guarded" in failed["stuck"]["msg"]
    assert set(cluster.pods) == {"agent", "kubelet-own", "guarded"}
    assert all(node["unschedulable"] for node in cluster.nodes.values())
    remembered = {name: json.loads(kept["maintenance.azure/drained"]) for name, kept in cluster.annotations.items()}
    assert {name: (kept["host"], kept["before"]["cordoned"]) for name, kept in remembered.items()} == {
        "plain": ("plain", False),
        "cordoned": ("cordoned", True),
        "stuck": ("stuck", False),
    }
    # Root of a drained host says otherwise; the node is trusted about itself.
    for name, lie in (("plain", True), ("cordoned", False)):
        path = tmp_path / name / "journal.json"
        journal = json.loads(path.read_text())
        assert journal["steps"][0]["before"] == {"cordoned": not lie}
        journal["steps"][0]["before"] = {"cordoned": lie}
        path.write_text(json.dumps(journal))

    play(tmp_path, book, RESTORE, ANSIBLE_COLLECTIONS_PATH=collections_path()).ended()
    # One that was cordoned before we came stays so.
    cordoned = {name: node["unschedulable"] for name, node in cluster.nodes.items()}
    assert cordoned == {"plain": False, "cordoned": True, "stuck": False}
    assert not any(cluster.annotations.values())


def test_a_node_of_another_host_is_left_alone(tmp_path, cluster):
    cluster.annotations["plain"]["maintenance.azure/drained"] = json.dumps(
        {"host": "other", "run_id": "r", "before": {}}
    )
    run = play(tmp_path, hosts(tmp_path, "plain"), DRAIN, ANSIBLE_COLLECTIONS_PATH=collections_path()).ended(2)
    assert "The node plain was drained for the host other" in run.output
    assert not cluster.nodes["plain"]["unschedulable"]


def test_without_the_collection(tmp_path):
    if has_collection(tmp_path):
        pytest.skip("kubernetes.core is installed here")
    run = play(tmp_path, hosts(tmp_path, "plain"), DRAIN).ended(2)
    assert "needs the collection kubernetes.core on the controller" in run.output
    assert not (tmp_path / "plain").exists()
