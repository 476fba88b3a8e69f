# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lies: what a host says in its readings and its journal, and what a lock host answers, whatever is true."""

from __future__ import annotations

import dataclasses

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time

FOR_EVER = 1e9


@dataclasses.dataclass(frozen=True)
class Claim:
    """An event as a liar shows it, which need not exist."""

    id: str
    names: tuple
    type: str = "Reboot"
    action: str = "drain"
    status: str = "Scheduled"
    # Seconds from now; None for no date.
    due_in: float | None = 600.0


@dataclasses.dataclass(frozen=True)
class MarkLie:
    event: str
    hosts: tuple
    # Seconds from now.
    at: float = 0.0
    takes_down: bool = True
    vanishing: bool = False


@dataclasses.dataclass(frozen=True)
class JournalLie:
    owner: str = "nobody"
    events: tuple = ()
    state: str = "draining"
    marks: tuple = ()
    worked_on_for: float = 0.0


@dataclasses.dataclass(frozen=True)
class NoteLie:
    host: str
    events: tuple
    run: str = "nobody"
    marks: bool = False
    # Seconds from now.
    at: float = 0.0


@dataclasses.dataclass(frozen=True)
class LeaseLie:
    """What a lock host answers. `grants`: to everybody, to nobody, or as it is (None)."""

    grants: bool | None = None
    notes: tuple = ()
    forgets: bool = False


@dataclasses.dataclass(frozen=True)
class Lie:
    """From `since` to `until` a host says this. Events that it neither claims nor hides are shown as they are."""

    since: float = 0.0
    until: float = FOR_EVER
    claims: tuple = ()
    hides: tuple = ()
    # "": its journal as it is; None: no journal.
    journal: JournalLie | str | None = ""
    # For a lock host.
    lease: LeaseLie | None = None


def told(lies, now):
    """The first lie that is told at this time."""
    return next((lie for lie in lies if lie.since <= now < lie.until), None)


def events_told(lie, events, now):
    claimed = {claim.id: _event(claim, now) for claim in lie.claims}
    honest = [event for event in events if event["id"] not in claimed and event["id"] not in lie.hides]
    return [*honest, *claimed.values()]


def _event(claim, now):
    return {
        "id": claim.id,
        "type": claim.type,
        "status": claim.status,
        "description": claim.action,
        "source": "Platform",
        "duration_seconds": None,
        "not_before": None if claim.due_in is None else iso_time(max(0.0, now + claim.due_in)),
        "resources": list(claim.names),
    }


def journal_told(lie, journal, now):
    if not isinstance(lie.journal, JournalLie):
        return journal if lie.journal == "" else None
    known = lie.journal
    return {
        "run_id": known.owner,
        "events": [{"id": event, "type": "Reboot"} for event in known.events],
        "state": known.state,
        "steps": [{"status": "done"}] if known.events else [],
        "marks": [{**dataclasses.asdict(mark), "hosts": list(mark.hosts), "at": now + mark.at} for mark in known.marks],
        "worked_on_for": known.worked_on_for,
    }


def note_told(lie, now):
    mark = {"event": lie.events[0], "hosts": [lie.host], "at": now + lie.at, "takes_down": True, "vanishing": False}
    return {
        "host": lie.host,
        "events": list(lie.events),
        "type": "Reboot",
        "run": lie.run,
        "at": now + lie.at,
        "mark": mark if lie.marks else None,
    }
