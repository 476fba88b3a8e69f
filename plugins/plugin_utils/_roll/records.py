# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other machines remember of hosts that are drained, as they were asked when the run began. Pure."""

from __future__ import annotations

import json
import shlex
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import RecordData, RunState
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.kinds import Cluster, RecordsPlace

# A node's label says that it has the annotation, which nobody can search for.
ANNOTATION = "maintenance.azure/drained"
RecordKeeper: t.TypeAlias = RecordsPlace | Cluster
# Folder of a machine, or cluster -> what it answered.
RecordAnswers: t.TypeAlias = Mapping[RecordKeeper, Mapping[str, t.Any]]


def answer_of_cluster(result: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What kubernetes.core.k8s_info said, in the words of a machine with records."""
    nodes = result.get("resources")
    if result.get("failed") or result.get("unreachable") or not isinstance(nodes, list):
        return {"msg": result.get("msg") or "no answer"}
    records, unreadable = [], []
    for node in nodes:
        about = node.get("metadata") or {}
        name = str(about.get("name"))
        try:
            records.append(_annotated(name, (about.get("annotations") or {})[ANNOTATION]))
        except (KeyError, TypeError, ValueError):
            unreadable.append(f"annotation {ANNOTATION} of the node {name}")
    return {"records": records, "unreadable": unreadable}


def _annotated(node: str, text: str) -> dict[str, t.Any]:
    kept = json.loads(text)
    named = f"node {shlex.quote(node)} {ANNOTATION}-"
    return {
        "machine": f"The node {node}",
        "host": str(kept["host"]),
        "events": [str(event) for event in kept.get("events") or ()],
        "types": [str(kind) for kind in kept.get("types") or ()],
        "run_id": str(kept["run_id"]),
        "removal": f"kubectl annotate {named} && kubectl label {named}",
    }


def recorded_hosts(answer: Mapping[str, t.Any]) -> set[str]:
    return {str(kept["host"]) for kept in answer.get("records", ())}


def with_records(state: RunState, needs: Mapping[str, Sequence[RecordKeeper]], answers: RecordAnswers) -> RunState:
    """What the other machines remember. Hosts whose steps need one that can't be asked are not drained.

    `needs`: host -> where its steps leave records. A machine says nothing about other hosts of the inventory.
    """
    records: list[RecordData] = []
    foreign: list[RecordData] = []
    for place, answer in answers.items():
        for kept in answer.get("records", ()):
            record: RecordData = {
                "machine": kept.get("machine", place.machine),
                "host": kept["host"],
                "events": list(kept["events"]),
                "types": list(kept["types"]),
                "run": kept["run_id"],
                "removal": kept.get("removal") or f"rm {kept['path']}",
            }
            (records if place in needs.get(kept["host"], ()) else foreign).append(record)
    unasked: dict[str, str] = {}
    for host, places in needs.items():
        for place in places:
            answer = answers.get(place) or {}
            if "records" not in answer:
                why = str(answer.get("msg") or "no answer").rstrip(".")
                unasked[host] = f"{place.in_words}, which a step of {host} needs, can't be asked for its records: {why}"
            elif answer["unreadable"]:
                names = ", ".join(answer["unreadable"])
                unasked[host] = (
                    f"{place.in_words}, which a step of {host} needs, has records that can't be read: {names}"
                )
    return {**state, "records": records, "foreign_records": foreign, "unasked": unasked}


def foreign_records(state: RunState) -> list[str]:
    """Records of hosts that the inventory no longer has, or whose steps do not act there: what to do about them."""
    lines = []
    for kept in state["foreign_records"]:
        known = kept["host"] in state["lease_of"]
        why = "whose drain_steps do not act there" if known else "which the inventory no longer has"
        lines.append(
            f"{kept['machine']} remembers that something is drained there for {kept['host']}, {why}."
            f" Put it right by hand, then remove the record there: {kept['removal']}"
        )
    return lines


def remembered_only(state: RunState) -> list[str]:
    """Hosts that have no event and no journal, such as after the loss of their disk, and that others remember."""
    quiet = set(state["plan"]["nothing_to_do"]) - set(state["plan"]["restore_first"])
    return [kept["host"] for kept in state["records"] if kept["host"] in quiet and _shows_none(state, kept)]


def _shows_none(state: RunState, kept: RecordData) -> bool:
    known = state["kept"].get(kept["host"])
    shown = {event.casefold() for event in (known["shows"] if known else None) or ()}
    return shown.isdisjoint(event.casefold() for event in kept["events"])
