# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first wave of a small fleet: its lease is taken right after the plan, and what was just read holds. Pure.

A reading that is a moment older than the lease misses what another run did in between. The lock hosts tell: where they
have a note of another run, all is read again. Whatever else has changed, the host finds out before its first step.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import PlanWave
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.groups import Grouping
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.leases import (
    LeaseAnswers,
    calls_for,
    notes_about,
    verdicts_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.rounds import drained_for
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import FirstWave, NoteData, RunState
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.turns import in_slices
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes

# Each is a task of its own for the hosts that ask.
MOST_CALLS = 6
# Of the time after which a host would refuse: 40 seconds.
SHARE_OF_A_FRESH_READING = 1 / 8
SHARE_OF_A_FRESH_LEASE = 1 / 2


def asked_for_early(
    state: RunState, wave: PlanWave, grouping: Grouping, wishes: Wishes, now: float
) -> FirstWave | None:
    """What the lock hosts are told before the wave begins: who may be drained in it, and for what."""
    if not _is_fresh(state, wave["hosts"], wishes, now):
        return None
    hosts = in_slices(state, wave["hosts"])
    entries = [entry for entry in wave["events"] if not entry["vanishing"]]
    drained = {host for entry in entries if "drain" in entry["steps"] for host in entry["shown_by"]}
    events = drained_for(entries, drained & set(hosts))
    notes = notes_about(events, entries, state["run_id"], now)
    calls = calls_for(state, wave["hosts"], grouping, notes)
    if not notes or len(calls) > MOST_CALLS:
        return None
    return {"at": now, "hosts": wave["hosts"], "notes": notes, "calls": calls}


def is_begun(state: RunState, batch: Sequence[str], wishes: Wishes, now: float) -> bool:
    """Whether the lease of this batch was taken with the plan, a moment ago."""
    first = state["first_wave"]
    if first is None or set(first["hosts"]) != set(batch):
        return False
    return 0 <= now - first["at"] < wishes.oldest_reading * SHARE_OF_A_FRESH_LEASE


def has_to_be_read(state: RunState, answers: LeaseAnswers, now: float) -> bool:
    """Whether somebody may have done something between the reading and the lease."""
    first = state["first_wave"]
    verdicts = verdicts_of(state, answers, "take", now, [call["group"] for call in first["calls"]] if first else ())
    others = [note for note in verdicts.notes([]) if note["run"] != state["run_id"]]
    return bool(verdicts.lost or others) or not verdicts.by_lease


def were_told(notes: Sequence[NoteData], first: FirstWave) -> bool:
    """Whether the lock hosts know of these drains already."""
    known = {note["host"]: set(note["events"]) for note in first["notes"]}
    return all(known.get(note["host"], set()).issuperset(note["events"]) for note in notes)


def _is_fresh(state: RunState, hosts: Sequence[str], wishes: Wishes, now: float) -> bool:
    limit = wishes.oldest_reading * SHARE_OF_A_FRESH_READING
    kept = [state["kept"][host] for host in hosts]
    return all(known["shows"] is not None and 0 <= now - known["seen_at"] < limit for known in kept)
