# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases that a batch needs, and the notes for its lock hosts."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from .._azure import events as azure
from .._lease.lease import NOTE_KEYS, LeaseVerdict, Refusal, is_outvoted, outvoted_in_words, verdict
from .._plan.plan import PlanEntry
from . import model, rounds, run_state, view
from .groups import THE_REST, Group, Grouping
from .run_state import FenceTerms, LeaseCall, NoteData, RunState

# Lease -> lock host -> what it answered.
LeaseAnswers: t.TypeAlias = Mapping[str, Mapping[str, Mapping[str, t.Any]]]


@dataclasses.dataclass(frozen=True)
class Verdicts:
    by_lease: Mapping[str, LeaseVerdict]

    @property
    def lost(self) -> dict[str, str]:
        """Lease -> why this run does not have it."""
        return {lease: found.msg for lease, found in self.by_lease.items() if not found.held}

    def why_lost(self, host: str, state: RunState, grouping: Grouping) -> str:
        """Why this host has to wait: its own lease is lost, or another one that its group needs."""
        group = grouping.group_of.get(host, "")
        return self.lost.get(state["lease_of"].get(host, ""), "") or self.unleased(grouping).get(group, "")

    def unleased(self, grouping: Grouping) -> dict[str, str]:
        """Group -> why nothing is begun there."""
        lost = self.lost
        return {group.name: lost[lease] for group in grouping.groups if (lease := _lease_of(group)) in lost}

    def refusals(self, before: Mapping[str, dict[str, Refusal]]) -> dict[str, dict[str, Refusal]]:
        """Lease -> the lock hosts that stand in the way of a majority; for leases not asked for now, as before."""
        now = {lease: dict(found.refusals) for lease, found in self.by_lease.items()}
        return {lease: found for lease, found in {**before, **now}.items() if found}

    def notes(self, known: Sequence[NoteData]) -> list[NoteData]:
        """What the lock hosts of the leases that we have said last; of the others what was known before."""
        held = [found for found in self.by_lease.values() if found.held]
        if not held:
            return list(known)
        return [t.cast(NoteData, note) for found in held for note in found.notes]


def verdicts_of(
    state: RunState, answers: LeaseAnswers, action: str, now: float, needed: Iterable[str] = ()
) -> Verdicts:
    """A lock host is trusted about the hosts of its own lease alone.

    Of `needed` leases this run has those that it was told it has: no answer at all is a no.
    """
    members: dict[str, list[str]] = {}
    for host, lease in state["lease_of"].items():
        members.setdefault(lease, []).append(host)
    return Verdicts(
        {
            lease: verdict(
                lease,
                state["lock_hosts"][lease],
                answers.get(lease, {}),
                action,
                hosts=set(members.get(lease, ())),
                now=now,
                refused_before=state["refusals"].get(lease),
            )
            for lease in dict.fromkeys([*answers, *needed])
            if lease in state["lock_hosts"]
        }
    )


def _lease_of(group: Group) -> str:
    # The model speaks of the rest; the lease of hosts without a delivery group has no name.
    return "" if group.lease == THE_REST else group.lease


def leases_for(hosts: Iterable[str], grouping: Grouping) -> list[str]:
    """What these hosts need before anything of them begins."""
    groups = {grouping.group_of[host] for host in hosts if host in grouping.group_of}
    return sorted({_lease_of(group) for group in grouping.groups if group.name in groups})


def calls_for(
    state: RunState,
    hosts: Sequence[str],
    grouping: Grouping,
    notes: Sequence[NoteData] = (),
    forget: Sequence[str] = (),
) -> list[LeaseCall]:
    """One call for each lock host of each lease that these hosts need."""
    calls: list[LeaseCall] = []
    for lease in leases_for(hosts, grouping):
        own = [_as_kept(note) for note in notes if state["lease_of"].get(note["host"], "") == lease]
        forgotten = [host for host in forget if state["lease_of"].get(host, "") == lease]
        calls += [
            {"group": lease, "lock_host": lock_host, "notes": own, "forget": forgotten}
            for lock_host in state["lock_hosts"].get(lease, ())
        ]
    return calls


def _as_kept(note: NoteData) -> NoteData:
    """The note without what this run has added to it."""
    return t.cast(NoteData, {name: value for name, value in note.items() if name in NOTE_KEYS})


def outvoted(state: RunState, now: float) -> list[str]:
    """The lock hosts that were outvoted just now, in words."""
    return [
        outvoted_in_words(lock_host, refusal, lease)
        for lease, refusals in state["refusals"].items()
        for lock_host, refusal in refusals.items()
        if is_outvoted(refusal) and refusal["last"] == now
    ]


def taken_away(found: rounds.Round) -> set[str]:
    """Hosts that nothing but a Preempt or Terminate takes down: they are drained without a lease, and noted nowhere."""
    others = {host for entry in found["events"] if not entry["vanishing"] for host in entry["hosts"]}
    return {host for entry in found["events"] if entry["vanishing"] for host in entry["hosts"]} - others


def drain_notes(found: rounds.Round, run_id: str, now: float) -> list[NoteData]:
    unnoted = taken_away(found)
    events = {
        host: found["drain_for"][host]
        for host in found["drain"]
        if found["drain_for"].get(host) and host not in unnoted
    }
    return notes_about(events, found["events"], run_id, now)


def notes_about(
    events: Mapping[str, list[str]], entries: Iterable[PlanEntry], run_id: str, now: float
) -> list[NoteData]:
    """Host -> the events that it is drained for, as the lock hosts are told."""
    kinds = {entry["id"]: str(entry["type"]) for entry in entries}
    return [
        {
            "host": host,
            "events": found,
            "type": next((kinds[event] for event in found if event in kinds), ""),
            "run": run_id,
            "at": now,
            "mark": None,
        }
        for host, found in events.items()
    ]


def approval_notes(entries: Iterable[PlanEntry], run_id: str, now: float) -> list[NoteData]:
    notes: dict[tuple[str, str], NoteData] = {}
    for entry in entries:
        for host in entry["hosts"]:
            notes[host, entry["id"]] = {
                "host": host,
                "events": [entry["id"]],
                "type": str(entry["type"]),
                "run": run_id,
                "at": now,
                "mark": mark_of(entry, now),
            }
    return list(notes.values())


def mark_of(entry: PlanEntry, now: float) -> run_state.MarkData:
    return {
        "event": entry["id"],
        "hosts": list(entry["hosts"]),
        "at": now,
        "takes_down": bool(azure.event_type(entry["type"]).takes_down) or entry["action"] != "approve",
        "vanishing": bool(entry["vanishing"]),
    }


def lost_leases(state: RunState, answers: LeaseAnswers, calls: Iterable[LeaseCall], now: float) -> Callable[[str], str]:
    """Host -> why it has to wait, or nothing. `calls` are what the lock hosts were asked."""
    verdicts = verdicts_of(state, answers, "renew", now, [call["group"] for call in calls])
    state["refusals"] = verdicts.refusals(state["refusals"])
    grouping = view.grouping_of(state["kept"])
    if not verdicts.lost:
        return lambda _host: ""
    return lambda host: verdicts.why_lost(host, state, grouping)


def fence_for(variables: Mapping[str, t.Any], events: Sequence[str], run_settings: model.RunSettings) -> FenceTerms:
    status = variables.get("maintenance_status") or {}
    clock, journal = status.get("host_clock") or {}, status.get("journal") or {}
    return {
        "boot_id": clock.get("boot_id"),
        "seconds": clock.get("seconds"),
        "at_most": run_settings.oldest_reading,
        "owner": journal.get("run_id"),
        "events": list(events),
        "may_start": [],
    }


def owner_only(fence: FenceTerms) -> FenceTerms:
    """For a return to service after the event: however long that took, the host must still be as it was left."""
    return {**fence, "boot_id": None, "seconds": None, "events": []}


# A reading from just before the lease misses what another run did in between. If a lock host has a note of another run,
# all hosts are read again. Any other change is noticed by the host before its first step.

# Of the time after which a host would refuse: 40 seconds.
SHARE_OF_A_FRESH_READING = 1 / 8


def are_fresh(state: RunState, hosts: Iterable[str], run_settings: model.RunSettings, now: float) -> bool:
    """Whether the lease has followed their readings so fast that they need not be read again."""
    limit = run_settings.oldest_reading * SHARE_OF_A_FRESH_READING
    kept = [state["kept"][host] for host in hosts]
    return all(known["shows"] is not None and 0 <= now - known["seen_at"] < limit for known in kept)


def may_have_changed(state: RunState, hosts: Sequence[str], answers: LeaseAnswers, now: float) -> bool:
    """Whether somebody may have done something between these readings and the lease."""
    verdicts = verdicts_of(state, answers, "take", now, leases_for(hosts, view.grouping_of(state["kept"])))
    others = [note for note in verdicts.notes([]) if note["run"] != state["run_id"]]
    return bool(verdicts.lost or others) or not verdicts.by_lease
