# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reading as hosts will see it: its events, for whom it is the last word, whom it means by a name. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    canonical_name,
    refresh,
    warnings_about,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import EventData
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import BadQuery
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.hosts_by_name import (
    Home,
    HostsByName,
    NameMatch,
    are_one_vm,
    differ,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.overlay_data import OverlaySettings
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.readings import Reading


class ReadingView:
    """A reading, and its events as a host will see them."""

    def __init__(self, reading: Reading, settings: OverlaySettings) -> None:
        self.reading = reading
        self.read_at = reading.read_at
        self.read_at_text = settings.guard(iso_time(reading.read_at))
        self.warnings = warnings_about({"events": reading.events})
        self.events = reading.events
        if settings.query:
            self.events = _filtered(_as_seen(reading.events, settings.now), settings.query)
        self.scope = Home(None, None)
        self.groups: set[str] = set()
        self.selves: set[str] = set()
        self.mentions: dict[str, list[EventData]] = {}
        self._settings = settings
        self._given: dict[int, t.Any] = {}

    def given(self, value: t.Any) -> t.Any:
        """What a host gets for a part of this reading: made once, however many hosts get it, and only if one does."""
        if id(value) not in self._given:
            is_event = isinstance(value, dict) and value is not self.reading.this_host
            seen = _as_seen([value], self._settings.now)[0] if is_event else value
            self._given[id(value)] = self._settings.guard(seen)
        return self._given[id(value)]

    def settle(self, fleet: HostsByName) -> NameMatch:
        """Find out for whom this reading is the last word. Gives the hosts of which it can't tell who answered."""
        taken_for = [fleet.hosts[name] for name in self.reading.hosts if name in fleet.hosts]
        self.selves = {host.name for host in taken_for}
        self.groups = {host.delivery_group for host in taken_for if host.delivery_group is not None}
        identity = self.reading.this_host
        if identity is None:
            homes = {(host.subscription, host.resource_group) for host in taken_for}
            self.scope = Home(*homes.pop()) if len(homes) == 1 else Home(None, None)
            return NameMatch()
        self.scope = Home(identity["subscription_id"], identity["resource_group"])
        if self.reading.told_by_host:
            return NameMatch(taken_for)
        answerer = self.match(fleet, identity["vm_name"] or "", identity["vm_id"])
        self.selves.update(host.name for host in answerer.hosts)
        self.groups.update(host.delivery_group for host in answerer.hosts if host.delivery_group is not None)
        return answerer

    def match(self, fleet: HostsByName, vm_name: str, vm_id: str | None = None) -> NameMatch:
        """The hosts that this reading means by a VM's name."""
        candidates = fleet.by_vm_name.get(canonical_name(vm_name), [])
        if not candidates:
            return NameMatch()
        if len(candidates) > 1:
            near = [host for host in candidates if host.name in self.selves or host.delivery_group in self.groups]
            candidates = near or candidates
        pool = [host for host in candidates if not self.scope.denies(host) and not differ(vm_id, host.vm_id)]
        if len(pool) <= 1:
            return NameMatch(pool)
        sure = [host for host in pool if vm_id and host.vm_id] or [host for host in pool if self.scope.confirms(host)]
        if len(sure) == 1 or (sure and are_one_vm(sure)):
            return NameMatch(sure)
        return NameMatch(pool) if are_one_vm(pool) else NameMatch(candidates=pool)


def _as_seen(events: list[EventData], now: float) -> list[EventData]:
    """The events as a host has them that they affect, at this time."""
    seen: list[EventData] = [{**event, "affects_this_host": True} for event in events]
    refresh({"events": seen}, now)
    return seen


def _filtered(events: list[EventData], query: t.Callable[[list[EventData]], t.Any]) -> list[EventData]:
    passed = query(events)
    known = {id(event) for event in events}
    if not isinstance(passed, list) or not all(id(event) in known for event in passed):
        raise BadQuery(
            "query must pick events out of the list of events, as [?type == 'Reboot'] does; it gave"
            f" {'nothing' if passed is None else str(passed)[:80]}"
        )
    return passed
