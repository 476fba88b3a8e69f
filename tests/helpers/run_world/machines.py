# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with its journal, and the load balancer with its records."""

from __future__ import annotations

import dataclasses

FENCE = 40.0
POST_WITHIN = 20.0
WORKED_ON = 30.0


class Refused(Exception):
    """The machine does nothing. Says why."""


@dataclasses.dataclass
class HostJournal:
    owner: str
    events: tuple = ()
    # Steps that count as done, and what the journal began.
    done: set = dataclasses.field(default_factory=set)
    drained: bool = False
    returning: bool = False
    marks: dict = dataclasses.field(default_factory=dict)  # event -> (hosts, at)
    opened: dict = dataclasses.field(default_factory=dict)  # event -> when it was last opened for it
    until: float = float("-inf")

    @property
    def finished(self):
        return self.drained and self.done == {"balancer", "service"}


class WorldHost:
    """Commands are atomic. Each is given the run, and what the run knew when it decided."""

    def __init__(self, world, name):
        self.world = world
        self.name = name
        self.journal = None
        self.serves = True
        self.up = True
        self.is_away = False
        # It takes commands and never answers.
        self.hangs = False
        self.boot = 0
        # Long before the history begins.
        self.booted_at = -86400.0
        self.disk_lost_to_azure = float("-inf")
        self.disk_lost_at = float("-inf")

    @property
    def clock(self):
        return self.world.clock

    def token(self):
        return (self.boot, self.clock.now - self.booted_at)

    def goes_down(self, seconds):
        self.up = False

    def comes_back(self, lost_disk):
        self.up = True
        self.boot += 1
        self.booted_at = self.clock.now
        if lost_disk:
            # A fresh disk boots into service.
            self.journal = None
            self.serves = True
            self.world.lose_lock_files(self.name)

    def check(self, token, incarnation=None):
        """The host is the fence, by its own clock."""
        if self.world.parts.host_is_the_fence:
            boot, at = token
            if boot != self.boot or self.clock.now - self.booted_at - at > FENCE:
                raise Refused("too old")
            # The document must still be the one that was judged.
            if incarnation is not None and incarnation != self.world.azure.incarnation_for(self.name):
                raise Refused("the document has changed")

    def _own(self, run):
        if self.journal is None or self.journal.owner != run:
            raise Refused("the journal is another run's")
        return self.journal

    def _shows(self, event_id):
        return any(event.id == event_id for event in self.world.azure.document(self.name))

    def take_over(self, run, expected):
        """By compare-and-swap on the owner."""
        owner = self.journal.owner if self.journal else None
        if owner != expected:
            raise Refused("the journal has changed hands")
        if self.journal and owner != run:
            if not self.world.parts.marks_are_taken_over and not self.journal.drained:
                raise Refused("the journal is another run's")
            if self.journal.until > self.clock.now and self.world.parts.worked_on_together:
                raise Refused("worked on")
            self.journal.owner = run
        if self.journal:
            self.journal.until = self.clock.now + WORKED_ON

    def open(self, run, token, incarnation, expected, events, event_id):
        self.check(token, incarnation)
        if not self._shows(event_id):
            raise Refused("the event is gone")
        self.take_over(run, expected)
        if self.journal is None:
            self.journal = HostJournal(run)
        journal = self.journal
        if journal.returning:
            # (5) A host on which a return has begun is drained only after every step was done anew.
            journal.done.clear()
            journal.returning = False
        journal.drained = True
        journal.events = tuple(dict.fromkeys((*journal.events, *events)))
        journal.until = self.clock.now + WORKED_ON
        journal.opened.update(dict.fromkeys(events, self.clock.now))
        return set(journal.done)

    def renew(self, run):
        self._own(run).until = self.clock.now + WORKED_ON

    def step_done(self, run, step):
        journal = self._own(run)
        if journal.returning:
            raise Refused("a return has begun")
        journal.done.add(step)

    def stop_service(self, run):
        self._own(run)
        self.serves = False

    def begin_return(self, run, expected, events):
        if not self.world.may_return(self.name, events):
            raise Refused("an event that was not judged has started")
        self.take_over(run, expected)
        if self.journal is None:
            self.journal = HostJournal(run, drained=True)
        if self.world.parts.return_is_written_first:
            self.journal.returning = True
            self.journal.done.clear()
        self.journal.until = self.clock.now + WORKED_ON

    def start_service(self, run):
        self._own(run)
        self.world.truth.about_to_return(self.name)
        self.serves = True

    def close(self, run):
        self._own(run)
        self.journal = None

    def forget(self, run, expected):
        owner = self.journal.owner if self.journal else None
        if owner != expected or self.journal is None or self.journal.drained:
            raise Refused("the journal has changed")
        self.journal = None

    def mark(self, run, token, incarnation, event_id, hosts, drained):
        self.check(token, incarnation)
        if not self._shows(event_id):
            raise Refused("the event is gone")
        if drained:
            journal = self._own(run) if self.world.parts.host_is_the_fence else (self.journal or HostJournal(run))
            if self.world.parts.host_is_the_fence and (not journal.finished or journal.returning):
                raise Refused("not drained")
            self.journal = journal
        elif self.journal is None:
            self.journal = HostJournal(run)
        else:
            self._own(run)
        new = event_id not in self.journal.marks
        self.journal.marks[event_id] = (tuple(hosts), self.clock.now)
        self.journal.until = max(self.journal.until, self.clock.now + WORKED_ON)
        return new or not self.world.parts.only_new_marks_are_taken_back

    def unmark(self, run, event_id):
        if self.journal and self.journal.owner == run:
            self.journal.marks.pop(event_id, None)
            if not self.journal.drained and not self.journal.marks:
                self.journal = None

    def send(self, run, event_id, arrived, new):
        """The POST itself. What knows that it sent nothing takes its mark back, and no mark of an earlier sending."""
        if self.journal is None or self.journal.owner != run:
            raise Refused("the journal is another run's")
        if self.world.parts.host_is_the_fence and self.clock.now - arrived > POST_WITHIN:
            if new:
                self.unmark(run, event_id)
            raise Refused("too late")
        self.world.azure.approve(event_id, self.name)


@dataclasses.dataclass
class BalancerRecord:
    run: str
    events: tuple


class Balancer:
    def __init__(self, world, hosts):
        self.world = world
        self.rotation = dict.fromkeys(hosts, True)
        self.records = {}
        # Whether runs can ask it for its records.
        self.is_asked = True

    def write(self, host, run, events):
        """The first of two commands. A step that finds its own record keeps the record's "before"."""
        if host in self.records and events is None:
            self.records[host].run = run
        else:
            before = self.records[host].events if host in self.records else ()
            self.records[host] = BalancerRecord(run, tuple(dict.fromkeys((*before, *(events or ())))))

    def _mine(self, host, run):
        record = self.records.get(host)
        if self.world.parts.actions_in_two_commands and (record is None or record.run != run):
            raise Refused("the record is not this run's any more")

    def off(self, host, run, events, counted):
        self._mine(host, run)
        self.world.truth.about_to_disturb(host, events, counted)
        self.records.setdefault(host, BalancerRecord(run, tuple(events)))
        self.rotation[host] = False

    def on(self, host, run):
        self._mine(host, run)
        self.world.truth.about_to_return(host)
        self.rotation[host] = True
        self.records.pop(host, None)
