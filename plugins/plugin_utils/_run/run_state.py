# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a run."""

from __future__ import annotations

import json
import typing as t

from .._lease.lease import Refusal as LeaseRefusal
from .._plan.plan import Plan, PlanEntry

# Results of a host's drain. Only its journal makes a host drained.
DRAIN_STATES = ("drained", "not_needed", "late", "failed", "lost", "put_off")
# Drained for another event, whose turn comes in a later round of the same wave.
STAYS = "stays drained"
# A host in one of these states stops its group.
BAD_STATES = ("left_drained", "failed", "lost")


class Refusal(t.TypedDict, total=False):
    """An event that was not approved, as it would also start for other VMs."""

    id: str
    uncovered: list[str]
    why: str
    # By the role approve.
    reason: str


class MarkData(t.TypedDict):
    """Approval mark as stored in journals and notes: the approval of the event begins, for these hosts."""

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
    """Note on the lock hosts of what the holder of a lease is about to do to a host."""

    # The lock hosts that have it, and those that have notes from that time but lack it. Not stored on lock hosts.
    by: list[str]
    lacking: list[str]


class FenceTerms(t.TypedDict):
    """Terms that a host compares with its own clock, journal and document before it acts."""

    boot_id: str | None
    seconds: float | None
    at_most: float
    owner: str | None
    events: list[str]
    # Events that may have started by the time of an approval.
    may_start: list[str]


class RecordData(t.TypedDict):
    """Record on a machine of what was done there for a host."""

    machine: str
    host: str
    events: list[str]
    types: list[str]
    run: str
    # The command that removes it.
    removal: str


class LeaseCall(t.TypedDict):
    """Call to one lock host about the lease of one group."""

    group: str
    lock_host: str
    notes: list[NoteData]
    forget: list[str]


class Order(t.TypedDict):
    """Order for one host of a batch, for after its drain."""

    drain: str
    # The host was due to be drained in this round.
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
    # Its turn has not come: it stays untouched.
    later: bool


class Outcome(t.TypedDict, total=False):
    """Outcome of a host in a run."""

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
    """Part of a host's journal that a run keeps."""

    owner: str
    events: list[str]
    types: list[str]
    drained: bool
    finished: bool
    returning: bool
    marks: list[MarkData]
    worked_on_until: float


class Kept(t.TypedDict):
    """Part of a host's variables and of its last reading that a run keeps."""

    vm: str
    # The signs of its group and domain, see groups.py.
    place: dict[str, str]
    # The ids of all events in its document; None without a good reading.
    shows: list[str] | None
    # Those that it showed earlier in this run: hosts that once had an event in common form one group.
    showed: list[str]
    # Its last account of each event, and the ids of the events that name it.
    accounts: list[EventKept]
    named_in: list[str]
    # From its last good reading; None also if this run has returned the host to service since.
    journal: JournalKept | None
    service: str
    seen_at: float
    booted_at: float | None
    # It may act by itself; the run mark, which prevents that, can't be written.
    reflexes: bool
    unmarked: bool


class EventKept(t.TypedDict):
    """Account of an event in the document of one host, unchanged."""

    id: str
    type: str
    status: str
    source: str | None
    description: str | None
    not_before: str | None
    duration_seconds: int | None
    resources: list[str]


class Turn(t.TypedDict, total=False):
    """State of a batch between its tasks: a round of a wave, or the return of leftovers."""

    # The wave, and its hosts in this round.
    wave: int
    hosts: list[str]
    # Not the first round of its batch.
    goes_on: bool
    # The calls that take the lease of the batch; the last calls to the lock hosts.
    lease: list[LeaseCall]
    calls: list[LeaseCall]
    # Hosts to read before the decision; those of them that are outside of the batch.
    reads: list[str]
    others: list[str]
    # A Decision, see round.py.
    decision: t.Any
    orders: dict[str, Order]
    # The tasks of steps have ended, and outdated readings were renewed.
    finished: bool
    # The beginning of the return of leftovers.
    since: float


class RunState(t.TypedDict):
    """State of a run, from its beginning to its end."""

    run_id: str
    started_at: str
    hosts: list[str]
    number_of_pass: int
    # True if all hosts are read again after the waves of the newest plan.
    to_read: bool
    # The newest plan of all hosts, and the first plan for each event.
    plan: Plan
    events: dict[str, PlanEntry]
    # The last reading of each host.
    kept: dict[str, Kept]
    # Pairs of a declared group and an event that a host of it has shown and no longer shows.
    not_shown: list[list[str]]
    outcomes: dict[str, Outcome]
    # Event -> the reason not to begin it.
    held: dict[str, str]
    stopped: str
    not_believed: list[str]
    # Lease -> its lock hosts; host -> its lease.
    lock_hosts: dict[str, list[str]]
    lease_of: dict[str, str]
    # Host of the inventory -> its declared VM and resource group, see vms.py.
    vms: dict[str, list[str | None]]
    # Host -> its service, also outside of `--limit`, if a minimum must be in service.
    services: dict[str, str]
    notes: list[NoteData]
    # Hosts that claim to be other VMs than they are, by the newest plan of all hosts.
    refused: list[str]
    # Lease -> lock host -> its refusal of what a majority granted, see lease.py.
    refusals: dict[str, dict[str, LeaseRefusal]]
    # Records on other machines of hosts whose steps act there, and of other hosts; host -> the reason for which it
    # can't be drained, as one of these machines can't be read.
    records: list[RecordData]
    foreign_records: list[RecordData]
    unasked: dict[str, str]
    # The number of hosts to read and drain at once, as more took so long that they refused; 0 means no limit.
    slice: int
    # The time since which the run can only wait.
    waits_since: float | None
    round: Turn


# Nearly all hosts of a group show the same events. Written for each host, the state of a thousand VMs would hold a
# million ids, so each of these lists is written once.
_LISTS = ("shows", "showed", "accounts")


def as_written(state: RunState) -> dict[str, t.Any]:
    """Convert the state to the form that the store writes."""
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
