# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that happens in the fleet, under one lock."""

import collections
import json
import threading
import time

from .azure_facts import ADVISORY
from .event import Event
from .event_rules import MAINTENANCE_RULES, check_notice, checked_event
from .impact import DOWN, FROZEN, GONE
from .input_checks import InputError
from .life_cycle import LifeCycle
from .whose_event import scope_and_names


class StateError(Exception):
    """The event is in a state that does not allow what was asked."""


class World:
    """Every public method takes the lock and brings the events up to date first."""

    def __init__(self, fleet, clock, on_change=None):
        self.fleet = fleet
        self.settings = fleet.settings
        self.clock = clock
        self._life = LifeCycle(clock, fleet.settings, on_change)
        self._changed = threading.Condition(threading.RLock())
        self.reset()

    def reset(self):
        """The world as the fleet file describes it, at the beginning of its time."""
        with self._changed:
            self.clock.reset()
            self._life.reset()
            for scope in self.fleet.scopes.values():
                scope.reset()
            for number, spec in enumerate(self.fleet.event_specs):
                self.add_event(spec, "events[%d]" % number)
            for number, spec in enumerate(self.fleet.maintenance_specs):
                self.add_maintenance(spec, "maintenance[%d]" % number)
            self._changed.notify_all()

    def run_clock(self):
        """Runs for ever in a thread of its own, so that events go on when nobody asks."""
        with self._changed:
            while True:
                self._life.settle()
                due = self._life.next_due
                self._changed.wait(None if due is None else min(self.clock.real_seconds_until(due), 3600))

    def advance(self, seconds):
        with self._changed:
            self._life.settle()
            self.clock.advance(seconds)
            before = len(self._life.changes)
            self._life.settle()
            # The same number must mean the same content, and NotBefore of what still waits has moved.
            untouched = {event.scope.name for event in self._life.with_a_date()}
            untouched -= {change["group"] for change in self._life.changes[before:]}
            for name in untouched:
                self.fleet.scopes[name].count_a_change(self.clock.now())
            self._changed.notify_all()

    def _refresh(self):
        self._life.look_ahead()
        self._life.settle()
        self._changed.notify_all()

    # -- what the metadata service asks

    def read(self, vm, version):
        """The document of this VM, or None where the answer is empty.

        The call that switches the service on takes long. Those that come meanwhile do too, or are empty.
        """
        scope = vm.scope
        with self._changed:
            self._life.settle()
            is_first = scope.note_request(self.clock.now(), switches_on=True)
            is_ready = self.clock.now() >= scope.ready_at
            if not is_ready and not is_first and self.settings["empty_while_switching_on"]:
                return None
            while self.clock.now() < scope.ready_at:
                self._changed.wait(self.clock.real_seconds_until(scope.ready_at))
                self._life.settle()
            scope.update_switch(self.clock.now())
            shown = [
                event.document(version, self.clock)
                for event in scope.events
                if scope.revealed and event.is_shown_to(version)
            ]
            return collections.OrderedDict([("DocumentIncarnation", scope.incarnation), ("Events", shown)])

    def approve(self, vm, event_ids):
        """Approves for all VMs that the events name.

        Gives the ids approved for the first time, those not known, and of these the ones of advisories.
        """
        with self._changed:
            self._life.settle()
            vm.scope.note_request(self.clock.now(), switches_on=False)
            listed = {event.id.lower(): event for event in vm.scope.events if event.can_be_approved()}
            unknown = [event_id for event_id in event_ids if event_id.lower() not in listed]
            advisories = {event.id.lower() for event in vm.scope.events if event.status == ADVISORY}
            advised = [event_id for event_id in unknown if event_id.lower() in advisories]
            if unknown and self.settings["unknown_event_status"] >= 300:
                return [], unknown, advised
            fresh = []
            for event_id in event_ids:
                event = listed.get(event_id.lower())
                if event is not None and self._life.approve(event, by=vm.key, vm=vm.key):
                    fresh.append(event.id)
            self._refresh()
            return fresh, unknown, advised

    def impact_on(self, vm):
        with self._changed:
            self._life.settle()
            return self._life.impact_on(vm)

    def wait_while_frozen(self, vm):
        with self._changed:
            self._life.settle()
            while self._life.impact_on(vm) == FROZEN:
                ends = max(event.impact_ends() for event in self._life.striking(vm))
                self._changed.wait(self.clock.real_seconds_until(ends))
                self._life.settle()

    def silent_vms(self):
        """The keys of the VMs that accept no connection now."""
        with self._changed:
            self._life.settle()
            struck = [scope for scope in self.fleet.scopes.values() if scope.gone or scope.events]
            return {vm.key for scope in struck for vm in scope.vms if self._life.impact_on(vm) in (DOWN, GONE)}

    # -- what the control interface asks

    def add_event(self, spec, what="the event"):
        spec = checked_event(what, spec, self.settings)
        with self._changed:
            self._life.settle()
            scope, names = scope_and_names(self.fleet, spec, what)
            event = Event(spec, scope, names)
            if event.id.lower() in self._life.events:
                raise InputError("%s: an event with the id %s exists already" % (what, json.dumps(event.id)))
            self._life.add(event)
            self._refresh()
            return event.inside_view(self.clock)

    def add_maintenance(self, spec, what="the maintenance"):
        """Plans an event for each VM of a group, one domain after the other; gives the domains with their events."""
        spec = checked_event(what, spec, self.settings, MAINTENANCE_RULES, required=["group", "type"])
        vms = [vm for vm in self.fleet.vms.values() if vm.group and vm.group.key == spec["group"]]
        if not vms:
            raise InputError("%s: there is no VM in a group %s" % (what, json.dumps(spec["group"])))
        domains = collections.OrderedDict()
        for vm in vms:
            event = Event(dict(spec, after=0), vm.scope, [vm.name])
            domains.setdefault(vm.maintenance_domain(reboots=event.type != "Freeze"), []).append(event)
        with self._changed:
            self._life.settle()
            planned = [[event.inside_view(self.clock) for event in events] for events in domains.values()]
            self._life.maintain(list(domains.values()), self.clock.now() + spec.get("after", 0))
            self._refresh()
            return {"domains": planned}

    def change_event(self, event_id, action, detail=None):
        """Cancels, starts, finishes, approves or reschedules an event by hand."""
        with self._changed:
            self._life.settle()
            event = self._life.events.get(event_id.lower())
            if event is None:
                raise LookupError("there is no event %s" % json.dumps(event_id))
            fitting = {
                "cancel": ("Planned", "Scheduled", ADVISORY),
                "start": ("Planned", "Scheduled"),
                "finish": ("Started",),
                "approve": ("Scheduled",),
                "reschedule": ("Scheduled",),
            }[action]
            if event.status not in fitting:
                raise StateError(
                    "event %s is %s; %s needs one that is %s" % (event.id, event.status, action, " or ".join(fitting))
                )
            self._apply(event, action, detail)
            self._refresh()
            return event.inside_view(self.clock)

    def _apply(self, event, action, detail):
        now = self.clock.now()
        if action == "start" and event.status == "Planned":
            event.first_status = "Started"
            self._life.create(event, now)
        elif action == "start":
            self._life.start(event, now, "direct")
        elif action == "cancel":
            self._life.cancel(event, now)
        elif action == "finish":
            self._life.finish(event, now)
        elif action == "approve":
            self._life.approve(event, by=detail)
        else:
            check_notice("the body, from the creation of the event on", event.type, now + detail - event.created_at)
            event.not_before = now + detail
            self._life.record(event, "rescheduled")

    def event_views(self):
        with self._changed:
            self._life.settle()
            return [event.inside_view(self.clock) for event in self._life.events.values()]

    def change_views(self):
        with self._changed:
            self._life.settle()
            return list(self._life.changes)

    def state(self):
        with self._changed:
            self._life.settle()
            now = self.clock.now()
            for scope in self.fleet.scopes.values():
                scope.update_switch(now)
            return {
                "time": time.time(),
                "simulated_seconds": now,
                "profile": self.fleet.profile,
                "settings": self.settings,
                "vms": [vm.inside_view(self._life.impact_on(vm)) for vm in self.fleet.vms.values()],
                "groups": [scope.inside_view(now) for scope in self.fleet.scopes.values()],
            }
