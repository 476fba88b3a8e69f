# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run keeps from task to task, as plain data. One text on localhost holds all of it: see the action _roll."""

from __future__ import annotations

import typing as t

# What became of a host's drain. Only a journal that says so makes a host drained.
DRAIN_STATES = ("drained", "not_needed", "late", "failed", "lost", "put_off")
# Drained for another event, whose turn comes in a later round of the same wave.
STAYS = "stays drained"
# A host in one of these states stops its group.
BAD_STATES = ("left_drained", "failed", "lost")

# A plan as the filter `plan` makes it; it is handed on as it is.
PlanData: t.TypeAlias = dict[str, t.Any]


class Refusal(t.TypedDict, total=False):
    """An event that was not approved, as it would start for others too."""

    id: str
    uncovered: list[str]
    why: str


class MarkData(t.TypedDict):
    """As a journal and a note keep it: the approval of this event begins, for these hosts."""

    event: str
    hosts: list[str]
    at: float
    takes_down: bool
    vanishing: bool


class NoteData(t.TypedDict):
    """What the holder of a lease is about to do to a host; the keepers hold it."""

    host: str
    events: list[str]
    type: str
    run: str
    at: float
    mark: MarkData | None


class Fence(t.TypedDict):
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
    path: str


class LeaseCall(t.TypedDict):
    """One keeper that is asked about the lease of one group."""

    group: str
    keeper: str
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
    fence: Fence | None
    restore_fence: Fence | None
    wait: list[str]
    refused: list[Refusal]
    blocked: dict[str, list[str]]
    vanishes: bool
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


class RunState(t.TypedDict):
    """A run, from its beginning to its end."""

    run_id: str
    started_at: str
    hosts: list[str]
    number_of_pass: int
    # Whether another look at all hosts is worth it, after what the newest plan holds.
    to_read: bool
    # The newest plan of all hosts, and what was first planned for each event.
    plan: PlanData
    events: dict[str, PlanData]
    # What was last seen of each host: see view.py.
    kept: dict[str, dict[str, t.Any]]
    outcomes: dict[str, Outcome]
    # Event -> why it was not begun.
    held: dict[str, str]
    stopped: str
    not_believed: list[str]
    # Lease -> its keepers; host -> its lease; what the keepers were told.
    keepers: dict[str, list[str]]
    lease_of: dict[str, str]
    notes: list[NoteData]
    # What other machines remember; host -> why it can't be drained, as one of them can't be asked.
    records: list[RecordData]
    unasked: dict[str, str]
    # At most so many hosts are read and drained in one go, as more took so long that they refused; 0 is no limit.
    slice: int
    # Since when nothing could be done but wait.
    waits_since: float | None
