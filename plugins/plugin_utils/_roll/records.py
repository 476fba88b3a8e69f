# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other machines remember of hosts that are drained, as they were asked when the run began. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.places import RecordsPlace
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import RecordData, RunState

# Folder of a machine -> what it answered.
RecordAnswers: t.TypeAlias = Mapping[RecordsPlace, Mapping[str, t.Any]]


def with_records(state: RunState, needs: Mapping[str, Sequence[RecordsPlace]], answers: RecordAnswers) -> RunState:
    """What the other machines remember. Hosts whose steps need one that can't be asked are not drained."""
    records: list[RecordData] = []
    for place, answer in answers.items():
        for kept in answer.get("records", ()):
            records.append(
                {
                    "machine": place.machine,
                    "host": kept["host"],
                    "events": list(kept["events"]),
                    "types": list(kept["types"]),
                    "run": kept["run_id"],
                    "path": kept["path"],
                }
            )
    unasked: dict[str, str] = {}
    for host, places in needs.items():
        for place in places:
            answer = answers.get(place) or {}
            if "records" not in answer:
                why = str(answer.get("msg") or "no answer").rstrip(".")
                unasked[host] = f"{place.machine}, which a step of {host} needs, can't be asked for its records: {why}"
            elif answer["unreadable"]:
                names = ", ".join(answer["unreadable"])
                unasked[host] = (
                    f"{place.machine}, which a step of {host} needs, has records that can't be read: {names}"
                )
    return {**state, "records": records, "unasked": unasked}


def foreign_records(state: RunState) -> list[str]:
    """Records of hosts that the inventory no longer has: what to do about them."""
    return [
        f"{kept['machine']} remembers that something is drained there for {kept['host']}, which the inventory no longer"
        f" has. Put it right by hand, then remove the record there: rm {kept['path']}"
        for kept in state["records"]
        if kept["host"] not in state["lease_of"]
    ]


def remembered_only(state: RunState) -> list[str]:
    """Hosts that have no event and no journal, such as after the loss of their disk, and that others remember."""
    quiet = set(state["plan"]["nothing_to_do"]) - set(state["plan"]["restore_first"])
    return [kept["host"] for kept in state["records"] if kept["host"] in quiet and _shows_none(state, kept)]


def _shows_none(state: RunState, kept: RecordData) -> bool:
    shown = {event.casefold() for event in state["kept"].get(kept["host"], {}).get("shows") or ()}
    return shown.isdisjoint(event.casefold() for event in kept["events"])
