# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of a run: hosts, events and settings, and their words. rules.py has the rules.

Times are seconds by the controller's clock.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import typing as t
from collections.abc import Iterable, Mapping

from .._azure import events as azure
from .._common import text


@dataclasses.dataclass(frozen=True)
class Event:
    """One event of a group, merged from the accounts of its hosts alone."""

    id: str
    type: str
    status: str
    # None: it has started, or has no date. Both are now.
    not_before: float | None
    # The hosts of the inventory that it names, and the names that are no host of it.
    hosts: tuple[str, ...]
    outside: tuple[str, ...] = ()
    # What the policy does with it: drain, approve or ignore.
    action: str = "drain"
    # The group whose hosts show it.
    group: str = ""

    @property
    def started(self) -> bool:
        return self.status == "Started"

    @property
    def takes_away(self) -> bool:
        return bool(azure.event_type(self.type).takes_away)

    @property
    def takes_down(self) -> bool:
        """Only a pause that the policy approves without a drain takes nothing down."""
        return bool(azure.event_type(self.type).takes_down) or self.action != "approve"

    @property
    def position(self) -> tuple[float, str]:
        """The place in the document, the same for everybody: `not_before`, then id."""
        if self.started or self.not_before is None:
            return (float("-inf"), self.id.casefold())
        return (self.not_before, self.id.casefold())


@dataclasses.dataclass(frozen=True)
class Mark:
    """The approval of this event begins, for these hosts. It stands in their journals before it is sent."""

    event: str
    hosts: tuple[str, ...]
    # Never later than now, whatever a host says.
    at: float
    takes_down: bool = True
    # The VM is not waited for: the event counts only as long as somebody shows it.
    takes_away: bool = False


@dataclasses.dataclass(frozen=True)
class Journal:
    """What a host's journal says."""

    owner: str
    # The events that it is drained for.
    events: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    # Something is drained; all of it is.
    drained: bool = False
    finished: bool = False
    # A return has begun: the host is drained again only after every step was done anew.
    returning: bool = False
    marks: tuple[Mark, ...] = ()
    # Somebody works there until then.
    worked_on_until: float = float("-inf")


@dataclasses.dataclass(frozen=True)
class Record:
    """What was done for a host on another machine; it is kept there."""

    machine: str
    host: str
    # All events that it is drained for, and their types.
    events: tuple[str, ...]
    types: tuple[str, ...]
    run: str
    before: str = ""


@dataclasses.dataclass(frozen=True)
class Note:
    """What the holder of a lease was about to do to a host; the lock hosts keep it."""

    host: str
    events: tuple[str, ...]
    type: str
    run: str
    # Where an approval is about to be sent: it.
    mark: Mark | None = None
    at: float = float("-inf")
    # The lock hosts that answered, remember back to its time, and lack it.
    lacking: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Host:
    """What is known about a host of the inventory."""

    name: str
    group: str
    domain: str
    # A good reading. Without one, `journal` is what this run has seen there before.
    read: bool = True
    # The ids of the events in its own good reading; without one, of those that it has shown before in this run.
    shows: tuple[str, ...] = ()
    # Those of them that name it by its own account -> the hosts that this account names.
    named_with: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    # By the controller's clock; None where it is not known.
    booted_at: float | None = None
    journal: Journal | None = None
    # Why it is not trusted (two hosts claim one VM): it covers nothing, what is drained there is still returned.
    refused: str = ""
    # Why this run can't return it to service.
    stuck: str = ""
    healthy: bool = True
    service: str = ""


@dataclasses.dataclass(frozen=True)
class Settings:
    overlap: str = "wait"
    # A number of hosts, or a share such as "50%" of the hosts of the service.
    min_in_service: int | str | None = None
    max_at_once: int | None = None
    drain_timeout: float = 300.0
    reserve: float = 60.0
    continue_after_failure: bool = False
    uncovered: str = "refuse"
    # A marked event that is Scheduled for so long is sent again.
    resend_after: float = 60.0
    # How long a run waits at most.
    patience: float = math.inf


@dataclasses.dataclass(frozen=True)
class Run:
    """All that a decision is made from."""

    run: str
    now: float
    # All of the inventory that may matter, whatever the pattern says.
    hosts: tuple[Host, ...]
    events: tuple[Event, ...] = ()
    records: tuple[Record, ...] = ()
    notes: tuple[Note, ...] = ()
    settings: Settings = dataclasses.field(default_factory=Settings)
    # The hosts that this run may act on: those of its batch.
    may_act_on: frozenset[str] = frozenset()
    # Each host that belongs to a service, also those that this run leaves out -> its service. None: all of `hosts`.
    services: Mapping[str, str] | None = None
    # Group -> what went wrong there in this run. A failure stops its own group, not the others.
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)


# What a run may be told to do with hosts of a group.
FINISH = "finish"  # wait for an event that is under way; return to service when it is over
RETURN = "return"  # return to service now
ROUND = "round"  # drain, or check what is drained; then approve the one event `approve`
DRAIN = "drain"  # drain, and approve nothing
HOLD = "hold"  # not now: `why`, and `until` when it is looked at again at the latest
FORGET = "forget"  # remove a journal with nothing drained and no event that is still shown
MOVES = (FINISH, RETURN, ROUND, DRAIN, HOLD, FORGET)


@dataclasses.dataclass(frozen=True)
class Move:
    """One thing to do now, or the reason why it is not done."""

    kind: str
    group: str
    hosts: tuple[str, ...]
    # What the hosts are, or are to be, drained for. Journals and records get these before anything else.
    events: tuple[str, ...] = ()
    # The one event that may be approved once every host is drained; see `may_approve_now`.
    approve: str = ""
    why: str = ""
    until: float | None = None
    needs_lease: bool = False
    # The hosts whose journal is another run's, which has lapsed.
    take_over: tuple[str, ...] = ()
    # For a hold: it can never be met, so there is nothing to wait for; what is short is hosts in service.
    never: bool = False
    short_of_service: bool = False
    in_the_way: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether an approval may be sent."""

    allowed: bool
    why: str = ""


OVERLAPS = ("wait", "proceed")
ON_FAILED_DRAIN = ("restore", "leave")
SECONDS = (
    "drain_timeout",
    "drain_reserve",
    "approve_wait_timeout",
    "restore_timeout",
    "maintenance_healthy_timeout",
    "maintenance_read_timeout",
)
# A lease lasts 90 seconds: less 20 for a POST, less 30 for a freeze of the host.
LEASE_SECONDS = 90
SHARE_FOR_THE_HOST = 40 / 90


@dataclasses.dataclass(frozen=True)
class RunSettings:
    policy: t.Any = None
    uncovered: str = "refuse"
    max_at_once: t.Any = None
    on_failed_drain: str = "restore"
    continue_after_failure: bool = False
    plan_only: bool = False
    # How long a run waits for what is under way elsewhere, and for hosts that come back to service.
    patience: float = 1800.0
    healthy_timeout: float = 600.0
    # A host does nothing that was decided from an older reading.
    oldest_reading: float = 40.0
    # One that acts by itself holds still for so long after a reading; its mark counts for 90 seconds.
    reading_holds: float = 80.0
    settings: Settings = dataclasses.field(default_factory=Settings)


def read_run_settings(variables: Mapping[str, t.Any]) -> RunSettings:
    """Raises ValueError with a sentence for the user."""
    # What was left out: in a survey of AWX a text, and before ansible-core 2.19 none is one, too.
    given = {name: value for name, value in variables.items() if value not in (None, "", "None")}
    numbers = {name: _seconds(name, given[name]) for name in SECONDS if given.get(name) is not None}
    overlap = str(given.get("maintenance_overlap") or "wait")
    if overlap not in OVERLAPS:
        raise ValueError(f"maintenance_overlap must be wait or proceed, not {overlap!r}")
    on_failed_drain = str(given.get("maintenance_on_failed_drain") or "restore")
    if on_failed_drain not in ON_FAILED_DRAIN:
        raise ValueError(f"maintenance_on_failed_drain must be restore or leave, not {on_failed_drain!r}")
    uncovered = str(given.get("approve_uncovered") or "refuse")
    least = given.get("maintenance_min_in_service")
    if least is not None and not re.fullmatch(r"\d+\s*%?", str(least).strip()):
        raise ValueError(f"maintenance_min_in_service must be a number of hosts or a share such as 50%, not {least!r}")
    go_on = _flag("maintenance_continue_after_failure", given.get("maintenance_continue_after_failure"))
    lease = float(given.get("lease_seconds") or LEASE_SECONDS)
    return RunSettings(
        policy=given.get("policy"),
        uncovered=uncovered,
        max_at_once=given.get("maintenance_max_at_once"),
        on_failed_drain=on_failed_drain,
        continue_after_failure=go_on,
        plan_only=_flag("plan_only", given.get("plan_only")),
        patience=numbers.get("approve_wait_timeout", 1800.0),
        healthy_timeout=numbers.get("maintenance_healthy_timeout", 600.0),
        oldest_reading=lease * SHARE_FOR_THE_HOST,
        reading_holds=float(given.get("reading_holds", RunSettings.reading_holds)),
        settings=Settings(
            overlap=overlap,
            min_in_service=None if least is None else str(least).strip(),
            drain_timeout=numbers.get("drain_timeout", 600.0),
            reserve=numbers.get("drain_reserve", 5.0),
            continue_after_failure=go_on,
            uncovered=uncovered,
        ),
    )


def _seconds(name: str, value: t.Any) -> float:
    if isinstance(value, bool) or not re.fullmatch(r"[1-9][0-9]*|0", str(value).strip()):
        raise ValueError(f"{name} must be a whole number of seconds, not {value!r}")
    if str(value).strip() == "0" and name != "drain_reserve":
        raise ValueError(f"{name} must be a whole number of seconds, 1 or more")
    return float(value)


def _flag(name: str, value: t.Any) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    if str(value).strip().lower() in ("true", "yes", "on", "1"):
        return True
    if str(value).strip().lower() in ("false", "no", "off", "0", ""):
        return False
    raise ValueError(f"{name} must be true or false, not {value!r}")


# A single lock host may have missed a note.
LOCK_HOSTS_THAT_OUTWEIGH_A_NOTE = 2


class GroupState:
    """What the readings, journals, records and notes say about the hosts of one group."""

    def __init__(self, run: Run, name: str, hosts: Iterable[Host]) -> None:
        self.run = run
        self.name = name
        self.hosts = {host.name: host for host in hosts}
        shown = {event_id for host in self.hosts.values() if host.read for event_id in host.shows}
        # A single VM that reboots can't be read: what had started there is under way.
        shown_last = {event_id for host in self.hosts.values() if not host.read for event_id in host.shows}
        # To hold back, any good reading of a host of the group counts; one of another group never does.
        counts = [
            event
            for event in run.events
            if event.group == name and (event.id in shown or (event.started and event.id in shown_last))
        ]
        self.events = sorted(counts, key=lambda event: event.position)
        self.by_id = {event.id: event for event in self.events}
        self.by_host: dict[str, list[Event]] = {}
        for event in self.events:
            for host_name in event.hosts:
                self.by_host.setdefault(host_name, []).append(event)
        self._records: dict[str, list[Record]] = {}
        for record in run.records:
            if record.host in self.hosts:
                self._records.setdefault(record.host, []).append(record)
        self._notes: dict[str, list[Note]] = {}
        for note in run.notes:
            if note.host in self.hosts and self._note_counts(note, self.hosts[note.host]):
                self._notes.setdefault(note.host, []).append(note)

    def _note_counts(self, note: Note, host: Host) -> bool:
        """Whether a note counts as the journal of its host: about any other host, its own reading is the truth.

        A host that has booted since may have lost its journal, with a mark in it. A note that two lock hosts would
        remember, and lack, was never written by a majority: nobody has acted on it.
        """
        if azure.event_type(note.type).takes_away or len(note.lacking) >= LOCK_HOSTS_THAT_OUTWEIGH_A_NOTE:
            return False
        if not host.read:
            return True
        booted_since = host.booted_at is not None and host.booted_at > note.at
        return booted_since and note.mark is not None and note.mark.event in host.named_with

    @functools.cached_property
    def first_elsewhere(self) -> Event | None:
        """The first Scheduled event for a VM that is no host of the inventory: another run may have that VM."""
        found = (event for event in self.events if event.outside and not event.started and event.takes_down)
        return next(found, None)

    @functools.cached_property
    def actable(self) -> list[Host]:
        """The hosts that this run may act on and has read, in the order of people."""
        names = sorted((name for name in self.hosts if name in self.run.may_act_on), key=text.natural)
        return [self.hosts[name] for name in names if self.hosts[name].read]

    @functools.cached_property
    def marks(self) -> dict[str, Mark]:
        """Event -> its newest mark, of the hosts that it names by their own account.

        A host that can't be read any more keeps its mark until somebody whom it names is read without the event. A VM
        that is taken away is never read again.
        """
        found: dict[str, Mark] = {}
        for host in self.hosts.values():
            for mark in host.journal.marks if host.journal else ():
                if mark.event not in host.named_with:
                    continue
                if mark.event not in self.by_id and (mark.takes_away or self._any_was_read(mark.hosts)):
                    continue
                _keep_newest(found, mark)
        return found

    @functools.cached_property
    def noted_marks(self) -> dict[str, Mark]:
        """The same of notes: they hold the group back, and drain nobody."""
        found: dict[str, Mark] = {}
        for note in (note for notes in self._notes.values() for note in notes):
            mark = note.mark
            if mark and not (mark.event not in self.by_id and (mark.takes_away or self._any_was_read(mark.hosts))):
                _keep_newest(found, mark)
        return found

    def _any_was_read(self, names: Iterable[str]) -> bool:
        return any(name in self.hosts and self.hosts[name].read for name in names)

    @functools.cached_property
    def marked_hosts(self) -> set[str]:
        """The hosts whose own journals mark an event that names them and that is not known to be over."""
        return {
            host.name
            for host in self.hosts.values()
            if host.journal
            and any(mark.event in self.marks and mark.event in host.named_with for mark in host.journal.marks)
        }

    def last_sent(self, event: Event) -> float | None:
        """When an approval of it was last begun, as far as anything says that one was."""
        times = [found[event.id].at for found in (self.marks, self.noted_marks) if event.id in found]
        return max(times, default=None)

    def is_sent_for(self, host: Host, event: Event) -> bool:
        """Whether a host marks the event that it shares with this one, by this one's own account."""
        return any(
            event.id in other.named_with and any(mark.event == event.id for mark in other.journal.marks)
            for name in host.named_with.get(event.id, ())
            if (other := self.hosts.get(name)) and other.journal
        )

    def is_under_way(self, event: Event) -> bool:
        """It takes hosts down and is Started or marked. A marked one may show Scheduled for minutes."""
        return event.takes_down and (event.started or event.id in self.marks or event.id in self.noted_marks)

    def is_out(self, host: Host) -> bool:
        """Something of it is drained, says its journal, a record on another machine, or a note of the lock hosts."""
        if host.stuck and self.run.settings.continue_after_failure:
            # Rule 6: it is told and no longer counts.
            return False
        journal = host.journal
        # A VM that Azure takes away delays nobody.
        if journal and journal.drained and not self._is_taken_away(host, journal.types, journal.events):
            return True
        records = self._records.get(host.name, ())
        if any(not self._is_taken_away(host, record.types, record.events) for record in records):
            return True
        return host.name in self._notes

    def _is_taken_away(self, host: Host, types: tuple[str, ...], events: tuple[str, ...]) -> bool:
        """What is drained for a Preempt counts again when it is read and shows none any more: it was cancelled."""
        found = [azure.event_type(kind).takes_away for kind in types]
        if not any(found) or not host.read:
            return any(found)
        # What is drained for a Reboot, too, still counts while it can be read.
        return all(found) and not self.by_id.keys().isdisjoint(events)

    def has_something_drained(self, host: Host) -> bool:
        return bool((host.journal and host.journal.drained) or self._records.get(host.name))

    def drained_for(self, host: Host) -> set[str]:
        """The events for which something of the host is drained, say its journal and its records."""
        found = {event for record in self._records.get(host.name, ()) for event in record.events}
        return found | set(host.journal.events if host.journal and host.journal.drained else ())

    @functools.cached_property
    def out(self) -> set[str]:
        return {host.name for host in self.hosts.values() if self.is_out(host)}

    @functools.cached_property
    def taken_by_events(self) -> dict[str, str]:
        """VM -> the event under way that names it. A VM that is no host of this group stands under its own name."""
        taken: dict[str, str] = {}
        for event in self.events:
            if self.is_under_way(event):
                for name in (*event.hosts, *event.outside):
                    taken.setdefault(name, event.id)
        for name in self.marked_hosts:
            journal = self.hosts[name].journal
            for mark in journal.marks if journal else ():
                if mark.takes_down and mark.event in self.marks and mark.event not in self.by_id:
                    # Nobody who can be read shows it, such as a single VM that reboots.
                    taken.setdefault(name, mark.event)
        return taken

    @functools.cached_property
    def down(self) -> set[str]:
        return self.out | set(self.taken_by_events)

    def domain(self, name: str) -> str:
        """A VM that is no host of the group counts as another domain."""
        return self.hosts[name].domain if name in self.hosts else f"VM {name}"

    def in_the_way(self, names: Iterable[str], down: Iterable[str]) -> list[str]:
        """Those of `down` that keep these hosts from going.

        Rule 1: no host of another domain is down; beyond that, only what one single event names goes together.
        """
        going = set(names)
        domains = {self.domain(name) for name in going}
        others = set(down) - going
        found = [name for name in others if len(domains) > 1 or self.domain(name) not in domains]
        return sorted(found, key=text.natural)

    def event_under_way_of(self, host: Host) -> Event | None:
        return next((event for event in self.by_host.get(host.name, ()) if self.is_under_way(event)), None)

    def event_marked_on(self, host: Host) -> Event | None:
        """The event that is still shown and whose approval stands in the host's journal."""
        marked = {mark.event for mark in host.journal.marks} if host.journal else set()
        return next((event for event in self.by_host.get(host.name, ()) if event.id in marked), None)

    def worked_on_until(self, host: Host) -> float:
        """Until when another run works there: as long as it does on one host of the same event (10)."""
        journal = host.journal
        if not journal or journal.owner == self.run.run:
            return float("-inf")
        return max(
            other.journal.worked_on_until
            for other in self.hosts.values()
            if other.journal
            and other.journal.owner == journal.owner
            and (other is host or not events_in_journal(journal).isdisjoint(events_in_journal(other.journal)))
        )

    def is_worked_on(self, host: Host) -> bool:
        return self.worked_on_until(host) > self.run.now

    def is_taken_over(self, host: Host) -> bool:
        """Its journal is another run's."""
        return bool(host.journal and host.journal.owner != self.run.run)

    def is_covered(self, event: Event) -> bool:
        """Every name is a host that itself shows the event and that this run may act on."""
        if event.outside and self.run.settings.uncovered != "allow":
            return False
        return all(self.speaks_for(name, event) for name in event.hosts)

    def speaks_for(self, name: str, event: Event) -> bool:
        host = self.hosts.get(name)
        if not host or not host.read or host.refused or name not in self.run.may_act_on:
            return False
        return event.id in host.named_with


def _keep_newest(found: dict[str, Mark], mark: Mark) -> None:
    if mark.event not in found or found[mark.event].at < mark.at:
        found[mark.event] = mark


def events_in_journal(journal: Journal) -> set[str]:
    return {*journal.events, *(mark.event for mark in journal.marks)}
