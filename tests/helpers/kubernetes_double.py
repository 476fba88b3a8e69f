# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A double of the few answers of a cluster that kubernetes.core asks for."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from helpers.network import http_server


class Cluster:
    """Nodes, whether they are cordoned, and pods: name -> node, owner, and whether it may go."""

    def __init__(self, nodes, pods=None) -> None:
        self.nodes = {name: {"unschedulable": cordoned} for name, cordoned in nodes.items()}
        self.annotations: dict[str, dict[str, str]] = {name: {} for name in self.nodes}
        self.labels: dict[str, dict[str, str]] = {name: {} for name in self.nodes}
        self.pods = dict(pods or {})

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
        if path.startswith("/api/v1/nodes?"):
            label, value = re.search("labelSelector=([^&]*)", urllib.parse.unquote(path)).group(1).split("=")
            items = [self.node(name) for name, labels in self.labels.items() if labels.get(label) == value]
            return {"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
        if node := re.fullmatch("/api/v1/nodes/([a-z0-9-]+)", path):
            name = node.group(1)
            if method == "PATCH":
                change = json.loads(body)
                self.nodes[name].update(change.get("spec", {}))
                for kind, kept in (("annotations", self.annotations), ("labels", self.labels)):
                    for key, value in change.get("metadata", {}).get(kind, {}).items():
                        kept[name].pop(key, None) if value is None else kept[name].update({key: value})
            return self.node(name) if name in self.nodes else None
        if eviction := re.fullmatch("/api/v1/namespaces/default/pods/([a-z-]+)/eviction", path):
            if self.pods[eviction.group(1)][2]:
                del self.pods[eviction.group(1)]
            return {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        if pod := re.fullmatch("/api/v1/namespaces/default/pods/([a-z-]+)", path):
            return self.pod(pod.group(1)) if pod.group(1) in self.pods else None
        if path.startswith("/api/v1/pods?"):
            node = re.search("spec.nodeName(?:=|%3D)([a-z0-9-]+)", path).group(1)
            items = [self.pod(name) for name, pod in self.pods.items() if pod[0] == node]
            return {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
        return None

    def node(self, name):
        metadata = {"name": name, "annotations": dict(self.annotations[name]), "labels": dict(self.labels[name])}
        return {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": self.nodes[name]}

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


# Method, path and body of a request -> the document, or None where there is no such thing.
Answer = Callable[[str, str, bytes], Any]


@contextlib.contextmanager
def served(answer: Answer) -> Iterator[str]:
    """The address of the cluster."""

    def reply(method: str, path: str, _headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        document = answer(method, path, body)
        return (404, {"kind": "Status", "apiVersion": "v1", "code": 404}) if document is None else (200, document)

    with http_server(reply) as address:
        yield address


def kubeconfig(address: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": address}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )
