# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One group as the words of the roll's model see it: what is marked, under way, out and down. Pure.

decide.py has the rules that are made of these words.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import VANISHING_TYPES
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import natural
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    Event,
    Host,
    Journal,
    Mark,
    Note,
    Record,
    Roll,
)

# A single lock host may have missed a note.
LOCK_HOSTS_THAT_OUTWEIGH_A_NOTE = 2


class GroupState:
    """What the readings, journals, records and notes say about the hosts of one group."""

    def __init__(self, roll: Roll, name: str, hosts: Iterable[Host]) -> None:
        self.roll = roll
        self.name = name
        self.hosts = {host.name: host for host in hosts}
        shown = {event_id for host in self.hosts.values() if host.read for event_id in host.shows}
        # A single VM that reboots can't be read: what had started there is under way.
        shown_last = {event_id for host in self.hosts.values() if not host.read for event_id in host.shows}
        # To hold back, any good reading of a host of the group counts; one of another group never does.
        counts = [
            event
            for event in roll.events
            if event.group == name and (event.id in shown or (event.started and event.id in shown_last))
        ]
        self.events = sorted(counts, key=lambda event: event.order)
        self.by_id = {event.id: event for event in self.events}
        self.by_host: dict[str, list[Event]] = {}
        for event in self.events:
            for host_name in event.hosts:
                self.by_host.setdefault(host_name, []).append(event)
        self._records: dict[str, list[Record]] = {}
        for record in roll.records:
            if record.host in self.hosts:
                self._records.setdefault(record.host, []).append(record)
        self._notes: dict[str, list[Note]] = {}
        for note in roll.notes:
            if note.host in self.hosts and self._note_counts(note, self.hosts[note.host]):
                self._notes.setdefault(note.host, []).append(note)

    def _note_counts(self, note: Note, host: Host) -> bool:
        """Whether a note counts as the journal of its host: about any other host, its own reading is the truth.

        A host that has booted since may have lost its journal, with a mark in it.
        """
        if note.type in VANISHING_TYPES:
            return False
        if not host.read:
            return True
        booted_since = host.booted_at is not None and host.booted_at > note.at
        is_shown = note.mark is not None and note.mark.event in host.named_with
        return booted_since and is_shown and len(note.lacking) < LOCK_HOSTS_THAT_OUTWEIGH_A_NOTE

    @functools.cached_property
    def first_elsewhere(self) -> Event | None:
        """The first Scheduled event for a VM that is no host of the inventory: another run may have that VM."""
        found = (event for event in self.events if event.strangers and not event.started and event.takes_down)
        return next(found, None)

    @functools.cached_property
    def actable(self) -> list[Host]:
        """The hosts that this run may act on and has read, in the order of people."""
        names = sorted((name for name in self.hosts if name in self.roll.may_act_on), key=natural)
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
                if mark.event not in self.by_id and (mark.vanishing or self._any_was_read(mark.hosts)):
                    continue
                _keep_newest(found, mark)
        return found

    @functools.cached_property
    def noted_marks(self) -> dict[str, Mark]:
        """The same of notes: they hold the group back, and drain nobody."""
        found: dict[str, Mark] = {}
        for note in (note for notes in self._notes.values() for note in notes):
            mark = note.mark
            if mark and not (mark.event not in self.by_id and (mark.vanishing or self._any_was_read(mark.hosts))):
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
        """Something of it is drained, says its journal, a record on another machine, or a note of the keepers."""
        if host.stuck and self.roll.settings.continue_after_failure:
            # Rule 6: it is told and no longer counts.
            return False
        journal = host.journal
        # A VM that is meant to vanish is lost anyway: it holds nobody up.
        if journal and journal.drained and not self._is_lost_anyway(host, journal.types, journal.events):
            return True
        records = self._records.get(host.name, ())
        if any(not self._is_lost_anyway(host, record.types, record.events) for record in records):
            return True
        return host.name in self._notes

    def _is_lost_anyway(self, host: Host, types: tuple[str, ...], events: tuple[str, ...]) -> bool:
        """What is drained for a Preempt counts again when it is read and shows none any more: it was cancelled."""
        found = [kind in VANISHING_TYPES for kind in types]
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
                for name in (*event.hosts, *event.strangers):
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
        return sorted(found, key=natural)

    def event_under_way_of(self, host: Host) -> Event | None:
        return next((event for event in self.by_host.get(host.name, ()) if self.is_under_way(event)), None)

    def event_marked_on(self, host: Host) -> Event | None:
        """The event that is still shown and whose approval stands in the host's journal."""
        marked = {mark.event for mark in host.journal.marks} if host.journal else set()
        return next((event for event in self.by_host.get(host.name, ()) if event.id in marked), None)

    def worked_on_until(self, host: Host) -> float:
        """Until when another run works there: as long as it does on one host of the same event (10)."""
        journal = host.journal
        if not journal or journal.owner == self.roll.run:
            return float("-inf")
        return max(
            other.journal.worked_on_until
            for other in self.hosts.values()
            if other.journal
            and other.journal.owner == journal.owner
            and (other is host or not events_in_journal(journal).isdisjoint(events_in_journal(other.journal)))
        )

    def is_worked_on(self, host: Host) -> bool:
        return self.worked_on_until(host) > self.roll.now

    def is_taken_over(self, host: Host) -> bool:
        """Its journal is another run's."""
        return bool(host.journal and host.journal.owner != self.roll.run)

    def is_covered(self, event: Event) -> bool:
        """Every name is a host that itself shows the event and that this run may act on."""
        if event.strangers and self.roll.settings.uncovered != "allow":
            return False
        return all(self.speaks_for(name, event) for name in event.hosts)

    def speaks_for(self, name: str, event: Event) -> bool:
        host = self.hosts.get(name)
        if not host or not host.read or host.refused or name not in self.roll.may_act_on:
            return False
        return event.id in host.named_with


def _keep_newest(found: dict[str, Mark], mark: Mark) -> None:
    if mark.event not in found or found[mark.event].at < mark.at:
        found[mark.event] = mark


def events_in_journal(journal: Journal) -> set[str]:
    return {*journal.events, *(mark.event for mark in journal.marks)}
