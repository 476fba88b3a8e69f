# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small model of how AWX's task manager walks through a workflow, and of what it calls failed.

A node runs when all nodes that lead to it are settled, and one of them ended as its edge wants; with "all must
converge", when each of them did. A workflow has failed only if a node failed from which neither a failure edge nor an
always edge leads on: with such an edge a failure counts as handled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

EDGES = ("success_nodes", "failure_nodes", "always_nodes")


@dataclasses.dataclass
class Walked:
    # The nodes that ran, in their order, with what became of them: successful, failed, error or canceled.
    ran: dict[str, str]
    failed: bool
    # Whom AWX tells what: ("error", name of the template or workflow).
    told: list[tuple[str, str]]


def walk(store: Any, workflow: str, outcome: Callable[[str], str]) -> Walked:
    """What a workflow of the double does if its nodes end as `outcome` says."""
    number = store.named("workflow_job_templates", workflow)["id"]
    nodes = {
        node["id"]: node
        for node in store.list("workflow_job_template_nodes")
        if node["workflow_job_template"] == number
    }
    edges = {
        (node, edge): store.links.get(("workflow_job_template_nodes", node, edge), [])
        for node in nodes
        for edge in EDGES
    }
    ended: dict[int, str | None] = {}
    while todo := [node for node in nodes if node not in ended and _settled(node, edges, ended)]:
        for node in todo:
            # None: it does not run.
            ended[node] = outcome(nodes[node]["identifier"]) if _runs(nodes[node], edges, ended) else None
    ran = {nodes[node]["identifier"]: status for node, status in ended.items() if status is not None}
    failed = any(
        status not in (None, "successful") and not edges[node, "failure_nodes"] and not edges[node, "always_nodes"]
        for node, status in ended.items()
    )
    return Walked(ran, failed, _told(store, workflow, nodes, ended, failed))


def _parents(node: int, edges: dict[tuple[int, str], list[int]]) -> list[tuple[int, str]]:
    return [(parent, edge) for (parent, edge), children in edges.items() if node in children]


def _settled(node: int, edges: Any, ended: dict[int, str | None]) -> bool:
    return all(parent in ended for parent, _edge in _parents(node, edges))


def _runs(node: dict[str, Any], edges: Any, ended: dict[int, str | None]) -> bool:
    parents = _parents(node["id"], edges)
    fits = [_fits(ended[parent], edge) for parent, edge in parents]
    if not node.get("all_parents_must_converge"):
        return not parents or any(fits)
    if any(ended[parent] is None for parent, _edge in parents):
        return False
    # A job that was canceled, or ended in an error of AWX, keeps no node from converging.
    return all(
        fit or ended[parent] in ("error", "canceled") for fit, (parent, _edge) in zip(fits, parents, strict=True)
    )


def _fits(status: str | None, edge: str) -> bool:
    if status is None:
        return False
    return edge == "always_nodes" or (edge == "success_nodes") == (status == "successful")


def _told(store: Any, workflow: str, nodes: Any, ended: dict[int, str | None], failed: bool) -> list[tuple[str, str]]:
    told = []
    for node, status in ended.items():
        template = store.find("unified_job_templates", nodes[node]["unified_job_template"])
        if status in (None, "successful"):
            continue
        if template["type"] == "workflow_approval_template":
            if store.linked("workflow_job_templates", workflow, "notification_templates_approvals"):
                told.append(("approval", template["name"]))
        elif store.linked("job_templates", template["name"], "notification_templates_error"):
            told.append(("error", template["name"]))
    if failed and store.linked("workflow_job_templates", workflow, "notification_templates_error"):
        told.append(("error", workflow))
    return told
