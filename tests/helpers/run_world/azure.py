# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Azure: events that appear, grow, are cancelled, start by themselves or after an approval, and end."""

from __future__ import annotations

import dataclasses
import math


@dataclasses.dataclass
class Script:
    """What Azure is going to do with one event."""

    id: str
    hosts: tuple
    appears: float = 0.0
    notice: float = 600.0
    type: str = "Reboot"
    action: str = "drain"
    starts_after_approval: float = 20.0
    lasts: float = 60.0
    down_for: float = 20.0
    cancelled_after: float | None = None
    grows_after: float | None = None
    grows_by: tuple = ()
    outside: tuple = ()


class AzureEvent:
    def __init__(self, script):
        self.script = script
        self.id = script.id
        self.type = script.type
        self.action = script.action
        self.hosts = list(script.hosts)
        self.outside = script.outside
        self.status = None  # not there yet
        self.not_before = None
        self.approved = False
        self.approved_at = float("inf")
        self.names_when_approved = ()
        self.started_by_itself = False
        self.over = False
        self.started_at = float("inf")
        self.over_at = float("inf")
        self.grown = False

    @property
    def shown(self):
        return self.status is not None and not self.over

    @property
    def takes_down(self):
        return not (self.type == "Freeze" and self.action == "approve")


class Azure:
    def __init__(self, world, scripts, shared=True):
        self.world = world
        self.shared = shared
        self.incarnation = dict.fromkeys(world.group.values(), 1)
        self.events = {script.id: AzureEvent(script) for script in scripts}
        for event in self.events.values():
            world.clock.start(self._life(event), after=event.script.appears)

    def document(self, host):
        """What this host's metadata service shows. Single VMs are shown their own events alone."""
        return [
            event
            for event in self.events.values()
            if event.shown and (host in event.hosts or (self.shared and self.group_of(event) == self.world.group[host]))
        ]

    def incarnation_for(self, host):
        return self.incarnation[self.world.group[host]]

    def group_of(self, event):
        return self.world.group[event.script.hosts[0]]

    def type_of(self, event_id):
        """A liar may have named one that does not exist."""
        return self.events[event_id].type if event_id in self.events else "Reboot"

    def mark(self, event_id, hosts, at):
        """As a journal or a note has it."""
        event = self.events.get(event_id)
        more = {"takes_down": not event or event.takes_down, "vanishing": self.type_of(event_id) == "Preempt"}
        return {"event": event_id, "hosts": list(hosts), "at": at, **more}

    def _changes(self, event):
        self.incarnation[self.group_of(event)] += 1

    def approve(self, event_id, sender):
        event = self.events.get(event_id)
        if event and event.shown and event.status == "Scheduled" and not event.approved:
            self.world.truth.about_to_approve(event, sender)
            event.approved = True
            event.approved_at = self.world.clock.now
            event.names_when_approved = tuple(event.hosts)

    def _life(self, event):
        script, clock = event.script, self.world.clock
        # In whole seconds, as Azure tells it.
        event.status, event.not_before = "Scheduled", float(math.ceil(clock.now + script.notice))
        self._changes(event)
        born = clock.now
        approved_at = None
        while True:
            age = clock.now - born
            if event.approved and approved_at is None:
                approved_at = clock.now
            if event.approved and clock.now - approved_at >= script.starts_after_approval:
                break
            if not event.approved and clock.now >= event.not_before:
                event.started_by_itself = True
                break
            if script.cancelled_after is not None and age >= script.cancelled_after and not event.approved:
                self._ends(event)
                return
            if script.grows_after is not None and age >= script.grows_after and not event.grown:
                event.grown = True
                event.hosts += [host for host in script.grows_by if host not in event.hosts]
                self._changes(event)
            steps = [event.not_before - clock.now if not event.approved else 5.0, 5.0]
            yield max(0.5, min(steps))
        event.status, event.started_at = "Started", clock.now
        self._changes(event)
        self.world.truth.starts(event)
        for host in event.hosts:
            self.world.hosts[host].goes_down(script.down_for)
        yield script.down_for
        for host in event.hosts:
            if event.type == "Preempt":
                self.world.hosts[host].is_away = True
            if self.world.hosts[host].is_away:
                continue
            self.world.hosts[host].comes_back(lost_disk=event.type == "Redeploy")
            if event.type == "Redeploy" and event.started_by_itself:
                self.world.hosts[host].disk_lost_to_azure = clock.now
        yield max(1.0, script.lasts - script.down_for)
        self._ends(event)

    def _ends(self, event):
        event.over, event.over_at = True, self.world.clock.now
        self._changes(event)
