# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A delivery scope: the VMs that see the same events, with the switch and the counter that they share."""


class Scope:
    def __init__(self, name, group, settings):
        self.name = name
        self.group = group
        self.settings = settings
        self.vms = []
        self.reset()

    def reset(self):
        self.events = []
        # The names of VMs that were taken away.
        self.gone = set()
        self.incarnation = 1
        self.switched_on = False
        self.revealed = False
        self.ready_at = 0.0
        self.visible_at = 0.0
        self.last_request = 0.0

    def service_state(self, now):
        if not self.switched_on:
            return "off"
        return "on" if now >= self.visible_at else "switching on"

    def inside_view(self, now):
        """The scope as the control interface shows it."""
        return {
            "name": self.name,
            "kind": self.group.kind if self.group else "standalone",
            "vms": [vm.key for vm in self.vms],
            "incarnation": self.incarnation,
            "service": self.service_state(now),
        }

    def count_a_change(self, now):
        self.update_switch(now)
        if self.revealed or not self.settings["reset_incarnation"]:
            self.incarnation += 1

    def update_switch(self, now):
        """Switches the service off after long silence, and lets the events show some time after it was switched on."""
        if not self.switched_on:
            return
        if now - self.last_request >= self.settings["off_after_seconds"] > 0:
            self.switched_on = self.revealed = False
            if self.settings["reset_incarnation"]:
                self.incarnation = 1
        elif not self.revealed and now >= self.visible_at:
            self.revealed = True
            # Whoever has seen the empty list under this number must see another number now.
            if self.visible_at > self.ready_at and any(event.is_listed() for event in self.events):
                self.incarnation += 1

    def note_request(self, now, switches_on):
        """Gives whether this is the request that switches the service on."""
        self.update_switch(now)
        self.last_request = now
        is_first = switches_on and not self.switched_on
        if is_first:
            self.switched_on = True
            self.ready_at = now + self.settings["first_call_seconds"]
            self.visible_at = self.ready_at + self.settings["events_after_seconds"]
        return is_first
