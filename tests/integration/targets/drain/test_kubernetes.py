# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step `kubernetes` against a double of the few answers of a cluster that kubernetes.core asks for."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from ansible_run import environment, inventory, play
from kubernetes_api import kubeconfig, served
from other_collections import collections_path

DRAIN = {"ansible.builtin.include_role": {"name": "maintenance.azure.drain"}}
RESTORE = {"ansible.builtin.include_role": {"name": "maintenance.azure.restore"}}


class Cluster:
    def __init__(self) -> None:
        self.nodes = {name: {"unschedulable": name == "cordoned"} for name in ("plain", "cordoned", "stuck")}
        self.annotations: dict[str, dict[str, str]] = {name: {} for name in self.nodes}
        self.pods = {
            "app": ("plain", "ReplicaSet", True),
            "agent": ("plain", "DaemonSet", True),
            "kubelet-own": ("plain", "Node", True),
            "guarded": ("stuck", "ReplicaSet", False),
        }

    def answer(self, method, path, body):
        if path == "/version":
            return {"major": "1", "minor": "30", "gitVersion": "v1.30.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return {"kind": "APIGroupList", "groups": []}
        if path == "/api/v1":
            verbs = ["get", "list", "patch", "create"]
            kinds = {"nodes": ("Node", False), "pods": ("Pod", True)}
            resources = [
                {"name": name, "singularName": "", "namespaced": spaced, "kind": kind, "verbs": verbs}
                for name, (kind, spaced) in kinds.items()
            ]
            return {"kind": "APIResourceList", "groupVersion": "v1", "resources": resources}
        if node := re.fullmatch("/api/v1/nodes/([a-z]+)", path):
            spec = self.nodes[node.group(1)]
            annotations = self.annotations[node.group(1)]
            if method == "PATCH":
                change = json.loads(body)
                spec.update(change.get("spec", {}))
                for name, value in change.get("metadata", {}).get("annotations", {}).items():
                    annotations.pop(name, None) if value is None else annotations.update({name: value})
            metadata = {"name": node.group(1), "annotations": dict(annotations)}
            return {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": spec}
        if eviction := re.fullmatch("/api/v1/namespaces/default/pods/([a-z-]+)/eviction", path):
            if self.pods[eviction.group(1)][2]:
                del self.pods[eviction.group(1)]
            return {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        if pod := re.fullmatch("/api/v1/namespaces/default/pods/([a-z-]+)", path):
            return self.pod(pod.group(1)) if pod.group(1) in self.pods else None
        if path.startswith("/api/v1/pods?"):
            node = re.search("spec.nodeName(?:=|%3D)([a-z]+)", path).group(1)
            items = [self.pod(name) for name, pod in self.pods.items() if pod[0] == node]
            return {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
        return None

    def pod(self, name):
        node, owner, _may_go = self.pods[name]
        reference = {"apiVersion": "v1", "kind": owner, "name": "owner", "uid": "u", "controller": True}
        mirror = {"kubernetes.io/config.mirror": "x"} if owner == "Node" else {}
        metadata = {"name": name, "namespace": "default", "uid": name, "ownerReferences": [reference]}
        return {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {**metadata, "annotations": mirror},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running"},
        }


def has_collection(folder):
    command = ["ansible-doc", "-t", "module", "-l", "kubernetes.core"]
    answer = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=False)
    return "k8s_drain" in answer.stdout


@pytest.fixture
def cluster(tmp_path):
    double = Cluster()
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
    # Root of a drained host says otherwise; the node is believed about itself.
    for name, lie in (("plain", True), ("cordoned", False)):
        path = tmp_path / name / "journal.json"
        journal = json.loads(path.read_text())
        assert journal["steps"][0]["before"] == {"cordoned": not lie}
        journal["steps"][0]["before"] = {"cordoned": lie}
        path.write_text(json.dumps(journal))

    restored = play(tmp_path, book, RESTORE, ANSIBLE_COLLECTIONS_PATH=collections_path())
    assert restored.code == 0, restored.output
    # One that was cordoned before we came stays so.
    cordoned = {name: node["unschedulable"] for name, node in cluster.nodes.items()}
    assert cordoned == {"plain": False, "cordoned": True, "stuck": False}
    assert not any(cluster.annotations.values())


def test_a_node_of_another_host_is_left_alone(tmp_path, cluster):
    cluster.annotations["plain"]["maintenance.azure/drained"] = json.dumps(
        {"host": "other", "run_id": "r", "before": {}}
    )
    run = play(tmp_path, hosts(tmp_path, "plain"), DRAIN, ANSIBLE_COLLECTIONS_PATH=collections_path())
    assert run.code == 2
    assert "The node plain was drained for the host other" in run.output
    assert not cluster.nodes["plain"]["unschedulable"]


def test_without_the_collection(tmp_path):
    if has_collection(tmp_path):
        pytest.skip("kubernetes.core is installed here")
    run = play(tmp_path, hosts(tmp_path, "plain"), DRAIN)
    assert run.code == 2
    assert "needs the collection kubernetes.core on the controller" in run.output
    assert not (tmp_path / "plain").exists()
