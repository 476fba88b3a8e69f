# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life cycle of events: what changes when, and in which order."""

import collections
import time

from .azure_facts import ADVISORY
from .impact import DOWN, FROZEN, GONE
from .input_checks import same_name


class LifeCycle:
    """All events of the fleet with what happened to them. Whoever uses it sees to it that only one does at a time."""

    def __init__(self, clock, settings, on_change=None):
        self.clock = clock
        self.settings = settings
        self._on_change = on_change
        self.reset()

    def reset(self):
        self.events = collections.OrderedDict()
        self.changes = []
        self.next_due = None
        self._live = []
        self._settled_to = 0.0

    def add(self, event, at=None):
        event.after += self.clock.now() if at is None else at
        self.events[event.id.lower()] = event
        self._live.append(event)
        event.scope.events.append(event)

    def maintain(self, domains, at=None):
        """Adds the events of the first domain. Those of the next follow when these are over, after a pause."""
        for event in list(domains[0]):
            event.maintenance = domains
            self.add(event, at)

    def with_a_date(self):
        return [event for event in self._live if event.status in ("Scheduled", ADVISORY)]

    # -- what events do to VMs

    def striking(self, vm):
        now = self.clock.now()
        return [event for event in vm.scope.events if event.strikes(vm, now)]

    def impact_on(self, vm):
        """What this VM suffers from now, or None."""
        if not self.settings["impact"]:
            return None
        if any(same_name(name, vm.name) for name in vm.scope.gone):
            return GONE
        kinds = {event.impact.kind for event in self.striking(vm)}
        return DOWN if DOWN in kinds else FROZEN if FROZEN in kinds else None

    # -- time

    def settle(self):
        """Applies, in the order of their times, all changes that are due."""
        now = self.clock.now()
        while self.next_due is not None and self.next_due <= now:
            due, event, change = self._next_change()
            self._settled_to = max(due, self._settled_to)
            change(event, self._settled_to)
            self.look_ahead()
        self._settled_to = now

    def look_ahead(self):
        following = self._next_change()
        self.next_due = following[0] if following else None

    def _next_change(self):
        candidates = [self._next_change_of(event) for event in self._live]
        return min(candidates, key=lambda candidate: candidate[0]) if candidates else None

    def _next_change_of(self, event):
        if event.status == "Planned":
            return event.after, event, self.create
        if event.status == "Started":
            return event.started_at + event.dwell, event, self.finish
        if event.status == ADVISORY:
            return event.created_at + event.dwell, event, self.finish
        start = self._start_of(event)
        if event.cancel_after is not None and event.created_at + event.cancel_after < start:
            return event.created_at + event.cancel_after, event, self.cancel
        return start, event, self._start_when_due

    def _start_of(self, event):
        deadline = event.start_without_approval()
        if event.approved_at is None:
            return deadline
        start = event.approved_at + event.approval_delay
        if event.type == "Terminate":
            convoy = [
                other.cleared_at()
                for other in event.scope.events
                if other.status == "Scheduled" and other.type == "Terminate"
            ]
            start = max([start] + convoy)
        return min(start, deadline)

    # -- changes of an event

    def create(self, event, at):
        event.created_at = at
        event.not_before = at + event.notice
        event.status = ADVISORY if event.first_status == ADVISORY else "Scheduled"
        if event.first_status == "Started" or (event.status != ADVISORY and self._starts_by_policy(event, at)):
            self._mark_started(event, at, "direct")
        self.record(event, "created")
        if event.status == "Started":
            self.record(event, "started", "direct", counts=False)

    def _starts_by_policy(self, event, at):
        is_by_user, group = event.source == "User", event.scope.group
        if is_by_user and group is not None and event.type in group.auto_approve:
            return True
        if not is_by_user and event.type != "Terminate":
            return False
        event.scope.update_switch(at)
        return not event.scope.switched_on and not self.settings["user_events_wait_when_off"]

    def approve(self, event, by, vm=None):
        """Whether this is the approval that counts: the first, before the event starts."""
        if event.status != "Scheduled" or event.approved_at is not None:
            return False
        event.approved_at = self.clock.now()
        event.approved_by = by
        self.record(event, "approved", cause=None if vm else by, vm=vm, counts=False)
        return True

    def _start_when_due(self, event, at):
        self.start(event, at, "deadline" if at >= event.start_without_approval() else "approval")

    def start(self, event, at, cause):
        self._mark_started(event, at, cause)
        self.record(event, "started", cause)

    @staticmethod
    def _mark_started(event, at, cause):
        event.status = "Started"
        event.started_at = at
        event.started_by = cause
        if event.impact.kind == GONE:
            event.scope.gone.update(event.resources)

    def finish(self, event, at):
        self._end(event, "Finished", at)

    def cancel(self, event, at):
        self._end(event, "Cancelled", at)

    def _end(self, event, status, at):
        event.status = status
        self._live.remove(event)
        event.scope.events.remove(event)
        self.record(event, status.lower())
        if event.maintenance:
            self._go_on(event.maintenance, event, at)

    def _go_on(self, domains, event, at):
        domains[0].remove(event)
        if not domains[0]:
            del domains[0]
            if domains:
                self.maintain(domains, at + self.settings["domain_pause_seconds"])

    def record(self, event, change, cause=None, vm=None, counts=True):
        if counts:
            event.scope.count_a_change(self.clock.now())
        event.times[change] = time.time()
        self.changes.append(
            {
                "seq": len(self.changes) + 1,
                "time": event.times[change],
                "event": event.id,
                "type": event.type,
                "change": change,
                "cause": cause,
                "vm": vm,
                "group": event.scope.name,
                "resources": event.resources,
                "incarnation": event.scope.incarnation,
            }
        )
        if self._on_change:
            self._on_change(event, change)
