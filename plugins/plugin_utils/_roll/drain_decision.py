# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a batch may be drained now, and what of that the lock hosts were told in time. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.links import HostVars
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.batch_model import (
    Inventory,
    model_of_batch,
    newest_plan,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.fence_terms import fence_for
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.first_wave import were_told
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
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import events_seen, grouping_of, kept_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes


class Decision(t.TypedDict):
    round: Round
    fences: dict[str, FenceTerms]
    calls: list[LeaseCall]


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

    `read_again` are hosts outside of it whose readings were stale, with what they have said now.
    """
    batch = list(variables)
    made = newest_plan(batch, variables, wishes, inventory, now, read_again=True)
    others = kept_of(read_again or (), read_again or {}, now, state["kept"])
    state["seen"] = events_seen(read_again or {}, state["seen"])
    state["kept"] = {**state["kept"], **others}
    kept = {**state["kept"], **kept_of(batch, variables, now, state["kept"])}
    grouping = grouping_of(kept)
    verdicts = verdicts_of(state, answers, "take", now, leases_for(batch, grouping))
    state["refusals"] = verdicts.refusals(state["refusals"])
    unleased = verdicts.unleased(grouping)
    notes_now = verdicts.notes(state["notes"])
    stale = _stale_notes(state, notes_now, kept, set(batch))
    state["notes"] = [note for note in notes_now if note["host"] not in stale]
    roll = model_of_batch(state, kept, variables, made, wishes, inventory, now)
    found = next_round(made, batch, roll, unleased, state["unasked"])
    fences = {
        host: fence_for(variables[host], found["drain_for"].get(host, []), wishes)
        for host in (*found["drain"], *found["back"])
    }
    notes = drain_notes(found, state["run_id"], now)
    told = begun and state["first_wave"] is not None and were_told(notes, state["first_wave"])
    calls = calls_for(state, batch, grouping, notes, forget=stale) if stale or (notes and not told) else []
    return {"round": found, "fences": fences, "calls": calls}


def _stale_notes(state: RunState, notes: Sequence[NoteData], kept: Mapping[str, Kept], read_now: set[str]) -> list[str]:
    """Hosts in service about which another run has left a note: whoever reads them removes it.

    A host of another batch was read before this run had the lease. A note may be newer than that, unless this run had
    heard of it before. No clock tells: that of the other controller may be wrong, and one's own may be set back.
    """
    remembered = {record["host"] for record in state["records"]}
    found = []
    for note in notes:
        known = kept.get(note["host"])
        if known is None or note["run"] == state["run_id"] or known["journal"] or note["host"] in remembered:
            continue
        fresh = note["host"] in read_now or note.get("heard_before_reading", False)
        if known["shows"] is not None and fresh:
            found.append(note["host"])
    return list(dict.fromkeys(found))


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
