# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a batch may be drained now, and what of that the lock hosts were told in time. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import HostVars
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.batch_check import stale
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.batch_model import (
    Inventory,
    model_of_batch,
    newest_plan,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.fence_terms import fence_for
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.first_wave import were_told
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.groups import Grouping
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.leases import (
    LeaseAnswers,
    calls_for,
    drain_notes,
    leases_for,
    lost_leases,
    taken_away,
    verdicts_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.rounds import Round, next_round
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import (
    FenceTerms,
    Kept,
    LeaseCall,
    NoteData,
    RunState,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.state import LOCK_HOSTS_THAT_OUTWEIGH_A_NOTE
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import grouping_of, kept_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes


class Decision(t.TypedDict):
    round: Round
    fences: dict[str, FenceTerms]
    calls: list[LeaseCall]
    # Hosts outside of the batch that have to be read first, and then it is decided again.
    others: list[str]


def decide(
    state: RunState,
    variables: HostVars,
    wishes: Wishes,
    inventory: Inventory,
    answers: LeaseAnswers,
    now: float,
    begun: bool = False,
    read_again: HostVars | None = None,
) -> Decision:
    """What of a batch may go down now, from readings that are younger than the lease, or that nobody came between.

    `read_again` are hosts outside of it that had to be read first, with what they have said now.
    """
    batch = list(variables)
    made = newest_plan(batch, variables, wishes, inventory, now, read_again=True)
    others = kept_of(read_again or (), read_again or {}, now, state["kept"])
    state["kept"] = {**state["kept"], **others}
    fresh = kept_of(batch, variables, now, state["kept"])
    kept = {**state["kept"], **fresh}
    grouping = grouping_of(kept)
    verdicts = verdicts_of(state, answers, "take", now, leases_for(batch, grouping))
    state["refusals"] = verdicts.refusals(state["refusals"])
    unleased = verdicts.unleased(grouping)
    notes = verdicts.notes(state["notes"])
    unread = [] if read_again is not None else _to_be_read(state, notes, batch, grouping, wishes, now)
    settled = _settled_notes(state, notes, {**fresh, **others})
    state["notes"] = [note for note in notes if note["host"] not in settled]
    roll = model_of_batch(state, kept, variables, made, wishes, inventory, now, read_now=list(others))
    found = next_round(made, batch, roll, unleased, state["unasked"])
    fences = {
        host: fence_for(variables[host], found["drain_for"].get(host, []), wishes)
        for host in (*found["drain"], *found["back"])
    }
    told = drain_notes(found, state["run_id"], now)
    known = begun and state["first_wave"] is not None and were_told(told, state["first_wave"])
    calls = calls_for(state, batch, grouping, told, forget=settled) if settled or (told and not known) else []
    return {"round": found, "fences": fences, "calls": calls, "others": unread}


def _to_be_read(
    state: RunState, notes: Sequence[NoteData], batch: Sequence[str], grouping: Grouping, wishes: Wishes, now: float
) -> list[str]:
    """Hosts of the groups of this batch that are not in it and may have changed since they were read.

    Another run has noted that it is about to act on them, or they act by themselves. About whoever can be read its own
    reading is the truth, made while this run has the lease.
    """
    groups = {grouping.group_of[host] for host in batch if host in grouping.group_of}
    noted = [note["host"] for note in notes if note["run"] != state["run_id"] and note["host"] in state["lease_of"]]
    found = [host for host in noted if grouping.group_of.get(host) in (*groups, None)]
    return [host for host in dict.fromkeys([*stale(state, batch, wishes, now), *found]) if host not in set(batch)]


def _settled_notes(state: RunState, notes: Sequence[NoteData], read_now: Mapping[str, Kept]) -> list[str]:
    """Hosts in service about which another run has left a note: whoever reads them removes it.

    Not of a host that has booted since the note was written: it may have lost its journal, with the mark of an event
    that it still shows.
    """
    remembered = {record["host"] for record in state["records"]}
    settled: dict[str, None] = {}
    kept: set[str] = set()
    for note in notes:
        known = read_now.get(note["host"])
        if known is None or note["run"] == state["run_id"]:
            continue
        in_service = known["shows"] is not None and not known["journal"] and note["host"] not in remembered
        if in_service and not _may_have_lost(known, note):
            settled[note["host"]] = None
        else:
            kept.add(note["host"])
    return [host for host in settled if host not in kept]


def _may_have_lost(known: Kept, note: NoteData) -> bool:
    """Whether the host may have lost the mark that the note holds, by the rule of the model: state.py."""
    booted_since = known["booted_at"] is not None and known["booted_at"] > note["at"]
    is_shown = note["mark"] is not None and note["mark"]["event"] in known["named_in"]
    return booted_since and is_shown and len(note.get("lacking", ())) < LOCK_HOSTS_THAT_OUTWEIGH_A_NOTE


def confirm_drain(state: RunState, decision: Decision, answers: LeaseAnswers, now: float) -> Decision:
    """Only what a majority of the keepers was told is done."""
    lost = lost_leases(state, answers, decision["calls"], now)
    found = decision["round"]
    out = {host for host in (*found["drain"], *found["back"]) if lost(host)} - taken_away(found)
    if not out:
        return decision
    why = lost(min(out))
    gone = [entry["id"] for entry in found["events"] if not out.isdisjoint(entry["hosts"])]
    return {
        **decision,
        "round": {
            **found,
            "events": [entry for entry in found["events"] if entry["id"] not in gone],
            "drain": [host for host in found["drain"] if host not in out],
            "back": [host for host in found["back"] if host not in out],
            "stay": [host for host in found["stay"] if host not in out],
            "later": [*found["later"], *sorted(out)],
            "held": {**found["held"], **dict.fromkeys(gone, why)},
            "again": True,
        },
    }
