# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a run."""

from __future__ import annotations

import json
import typing as t

from .._lease.lease import Refusal as LeaseRefusal
from .._plan.plan import Plan, PlanEntry

# What became of a host's drain. Only a journal that says so makes a host drained.
DRAIN_STATES = ("drained", "not_needed", "late", "failed", "lost", "put_off")
# Drained for another event, whose turn comes in a later round of the same wave.
STAYS = "stays drained"
# A host in one of these states stops its group.
BAD_STATES = ("left_drained", "failed", "lost")


class Refusal(t.TypedDict, total=False):
    """An event that was not approved, as it would start for others too."""

    id: str
    uncovered: list[str]
    why: str
    # What the role approve says about it.
    reason: str


class MarkData(t.TypedDict):
    """As a journal and a note keep it: the approval of this event begins, for these hosts."""

    event: str
    hosts: list[str]
    at: float
    takes_down: bool
    vanishing: bool


class _NoteAsKept(t.TypedDict):
    host: str
    events: list[str]
    type: str
    run: str
    at: float
    mark: MarkData | None


class NoteData(_NoteAsKept, total=False):
    """What the holder of a lease is about to do to a host; the lock hosts hold it."""

    # The lock hosts that have it, and those that remember back to its time and lack it. They know nothing of that.
    by: list[str]
    lacking: list[str]


class FenceTerms(t.TypedDict):
    """What a host compares with its own clock, journal and document before it does anything."""

    boot_id: str | None
    seconds: float | None
    at_most: float
    owner: str | None
    events: list[str]
    # Events that may have started by the time of an approval.
    may_start: list[str]


class RecordData(t.TypedDict):
    """What a machine says that was done there for a host."""

    machine: str
    host: str
    events: list[str]
    types: list[str]
    run: str
    # The command that removes it.
    removal: str


class LeaseCall(t.TypedDict):
    """One lock host that is asked about the lease of one group."""

    group: str
    lock_host: str
    notes: list[NoteData]
    forget: list[str]


class Order(t.TypedDict):
    """What one host of a batch is told to do after its drain."""

    drain: str
    # It was drained, or looked after, in this round.
    drains: bool
    approve_drained: list[str]
    approve_as_is: list[str]
    # The hosts of these events, and the marks that are set for them.
    together: list[str]
    marks: list[MarkData]
    fence: FenceTerms | None
    restore_fence: FenceTerms | None
    wait: list[str]
    refused: list[Refusal]
    blocked: dict[str, list[str]]
    taken_away: bool
    acts: bool
    restore: bool
    stays: bool
    # Its turn has not come: it is left as it is.
    later: bool


class Outcome(t.TypedDict, total=False):
    """What became of a host in a run."""

    state: str
    wave: int
    number_of_pass: int
    drained_at: str | None
    restored_at: str | None
    rebooted: bool | None
    approved: list[str]
    leaders: dict[str, str]
    refused: list[Refusal]
    times: dict[str, dict[str, str]]
    outcomes: dict[str, str]
    blocked: dict[str, list[str]]
    error: str


class JournalKept(t.TypedDict):
    """What is worth keeping of a host's journal."""

    owner: str
    events: list[str]
    types: list[str]
    drained: bool
    finished: bool
    returning: bool
    marks: list[MarkData]
    worked_on_until: float


class Kept(t.TypedDict):
    """What is worth keeping of a host's variables and of its last reading."""

    vm: str
    # The signs by which its group and its domain are known: see groups.py.
    place: dict[str, str]
    # The ids of all events in its document; None without a good reading.
    shows: list[str] | None
    # Those that it has shown before in this run: hosts that once had an event in common are of one group.
    showed: list[str]
    # Its own account of each event, as it showed it last, and the ids of those that name it.
    accounts: list[EventKept]
    named_in: list[str]
    # Of its last good reading; None also where this run has returned the host since.
    journal: JournalKept | None
    service: str
    seen_at: float
    booted_at: float | None
    # It may act by itself; and it can't be told that a run is there.
    reflexes: bool
    unmarked: bool


class EventKept(t.TypedDict):
    """What one host shows of an event, in the words of its document."""

    id: str
    type: str
    status: str
    source: str | None
    description: str | None
    not_before: str | None
    duration_seconds: int | None
    resources: list[str]


class Turn(t.TypedDict, total=False):
    """What is going on in a batch, from one task to the next: a round of a wave, or the return of leftovers."""

    # The wave, and those of its hosts that this round is for.
    wave: int
    hosts: list[str]
    # It is not the first of its batch.
    goes_on: bool
    # How the lease of the batch is taken; what the lock hosts were asked last.
    lease: list[LeaseCall]
    calls: list[LeaseCall]
    # Hosts that are read before it is decided; those of them that are outside of the batch.
    reads: list[str]
    others: list[str]
    # What was decided: a Decision, see round.py.
    decision: t.Any
    orders: dict[str, Order]
    # The tasks of steps are through, and what has become too old was read again.
    finished: bool
    # When the return of leftovers began.
    since: float


class RunState(t.TypedDict):
    """A run, from its beginning to its end."""

    run_id: str
    started_at: str
    hosts: list[str]
    number_of_pass: int
    # Whether another look at all hosts is worth it, after what the newest plan holds.
    to_read: bool
    # The newest plan of all hosts, and what was first planned for each event.
    plan: Plan
    events: dict[str, PlanEntry]
    # What was last seen of each host.
    kept: dict[str, Kept]
    # Declared groups and events that a host of theirs has shown and does not show any more.
    not_shown: list[list[str]]
    outcomes: dict[str, Outcome]
    # Event -> why it was not begun.
    held: dict[str, str]
    stopped: str
    not_believed: list[str]
    # Lease -> its lock hosts; host -> its lease; what the lock hosts were told.
    lock_hosts: dict[str, list[str]]
    lease_of: dict[str, str]
    # Host of the inventory -> its VM and its resource group, where it declares them: see vms.py.
    vms: dict[str, list[str | None]]
    # Host -> its service, whatever `--limit` says, where enough of them must be in service.
    services: dict[str, str]
    notes: list[NoteData]
    # Hosts that are not the VMs that they claim to be, by the newest plan of all hosts.
    refused: list[str]
    # Lease -> lock host -> since when it has refused what a majority granted: see lease.py.
    refusals: dict[str, dict[str, LeaseRefusal]]
    # What other machines remember of hosts whose steps act there, and of others; host -> why it can't be drained, as
    # one of them can't be asked.
    records: list[RecordData]
    foreign_records: list[RecordData]
    unasked: dict[str, str]
    # At most so many hosts are read and drained in one go, as more took so long that they refused; 0 is no limit.
    slice: int
    # Since when nothing could be done but wait.
    waits_since: float | None
    # What is going on.
    round: Turn


# Nearly all hosts of a group show the same events. Written out for each host, the state of a thousand VMs would hold a
# million ids; so each of these lists is written once.
_LISTS = ("shows", "showed", "accounts")


def as_written(state: RunState) -> dict[str, t.Any]:
    """The state as the store keeps it."""
    lists: dict[str, int] = {}
    kept = {
        host: {**known, **{name: lists.setdefault(json.dumps(known[name]), len(lists)) for name in _LISTS}}
        for host, known in t.cast("dict[str, dict[str, t.Any]]", state["kept"]).items()
    }
    return {**state, "kept": kept, "lists": list(lists)}


def as_read(written: dict[str, t.Any]) -> RunState:
    lists = [json.loads(one) for one in written.pop("lists")]
    for known in written["kept"].values():
        known.update((name, lists[known[name]]) for name in _LISTS)
    return t.cast(RunState, written)
