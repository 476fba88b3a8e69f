# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts does each event name, from the readings of all hosts together.

Every VM of a delivery group shows the same event, so that one event is found in many readings. Pure, and linear in
the size of the readings.
"""

from __future__ import annotations

import datetime
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_id, canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_names import (
    name_told,
    scope_of,
)

HostVars: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]
Scope: t.TypeAlias = str | None
# Hosts, in natural order, and what their VMs told about themselves.
ThisHosts: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]

# For sorting: an event that has begun, and no event at all.
NOW = float("-inf")
NEVER = float("inf")


class SeenEvent:
    """One event of Azure, put together from all readings that show it."""

    __slots__ = ("_names", "due", "hosts", "id", "newest", "read_at", "resources", "scope", "started")

    def __init__(self, event: Mapping[str, t.Any], read_at: str) -> None:
        self.id = str(event.get("id"))
        self.newest = event
        self.read_at = read_at
        self.started = False
        self.due = NOW
        # A dict for its order: the hosts of this run that the event names.
        self.hosts: dict[str, None] = {}
        # Canonical VM name -> the name as Azure wrote it, or None once a host of this run is known to be that VM.
        self._names: dict[str, str | None] = {}
        # What was added last, and how: as read by a host of which scope.
        self.resources: t.Any = None
        self.scope: Scope = None

    @property
    def strangers(self) -> list[str]:
        """The VMs that are no host of this run, as Azure wrote them."""
        return [written for written in self._names.values() if written is not None]

    def add(self, resources: Iterable[t.Any], scope: Scope, vms: _Vms) -> None:
        """`resources` as read by a host of this scope."""
        self.resources, self.scope = resources, scope
        for written in resources:
            name = canonical_name(str(written))
            hosts = vms.hosts(name, scope)
            if hosts:
                self.hosts.update(dict.fromkeys(hosts))
                self._names[name] = None
            else:
                self._names.setdefault(name, str(written))


class _Vms:
    """The hosts of this run by the names of their VMs."""

    def __init__(self, this_hosts: ThisHosts, host_vars: HostVars) -> None:
        self.scopes: dict[str, Scope] = {}
        # Nearly every name stands for one host, and a list for each of 100,000 is a burden for the garbage collector.
        self._first: dict[str, str] = {}
        self._more: dict[str, list[str]] = {}
        for host, this_host in this_hosts.items():
            self.scopes[host] = scope_of(this_host)
            told = this_host.get("vm_name")
            # Nearly all names are good as they are, and the rest of this is for the others.
            if isinstance(told, str) and told and told[0].isalnum() and told[-1].isalnum():
                name = told.casefold()
            else:
                name = canonical_name(name_told(host, host_vars.get(host), this_host))
            if self._first.setdefault(name, host) is not host:
                self._more.setdefault(name, []).append(host)

    def hosts(self, name: str, scope: Scope) -> list[str]:
        """In another resource group a VM of that name is another VM. Where a group is not known, the name decides."""
        first = self._first.get(name)
        if first is None:
            return []
        found = [first, *self._more[name]] if name in self._more else [first]
        return found if scope is None else [host for host in found if self.scopes[host] in (None, scope)]


def collect_events(this_hosts: ThisHosts, host_vars: HostVars) -> list[SeenEvent]:
    """The events that name one of the hosts, the most urgent first."""
    vms = _Vms(this_hosts, host_vars)
    found: dict[str, SeenEvent] = {}
    # The same by the ids as they are written, nearly always in one way: every host of a group brings all its events.
    as_written: dict[t.Any, SeenEvent] = {}
    for host in this_hosts:
        variables = host_vars.get(host)
        status: t.Any = variables.get("maintenance_status") if variables is not None else None
        events = events_of(status)
        if not events:
            continue
        read_at = status["read_at"] if isinstance(status.get("read_at"), str) else ""
        scope = vms.scopes[host]
        for event in events:
            written = event.get("id")
            seen = as_written.get(written) if isinstance(written, str) else None
            if seen is None:
                seen = found.setdefault(canonical_id(str(written)), SeenEvent(event, read_at))
                if isinstance(written, str):
                    as_written[written] = seen
            if read_at > seen.read_at:
                seen.newest, seen.read_at = event, read_at
            if event.get("status") == "Started":
                # There is no way back from Started, so that one reading that says so is enough.
                seen.started = True
            if event.get("affects_this_host") is True:
                seen.hosts[host] = None
            resources = event.get("resources") or ()
            # The same list again, from another host of the group, brings nothing new and would make this quadratic.
            if scope != seen.scope or resources != seen.resources:
                seen.add(resources, scope, vms)
    ours = [seen for seen in found.values() if seen.hosts]
    for seen in ours:
        seen.due = NOW if seen.started else moment(seen.newest.get("not_before"))
    ours.sort(key=lambda seen: (seen.due, canonical_id(seen.id)))
    return ours


def events_of(status: t.Any) -> list[dict[str, t.Any]]:
    """The events of a reading; none where it is not one."""
    events = status.get("events") if isinstance(status, dict) else None
    if not events or not isinstance(events, list):
        return []
    return [event for event in events if isinstance(event, dict)]


def moment(not_before: t.Any) -> float:
    """When the event may begin. Undated is now, as it can't be said to be later."""
    if not isinstance(not_before, str):
        return NOW
    try:
        moment = datetime.datetime.fromisoformat(not_before.strip().upper().replace("Z", "+00:00"))
    except ValueError:
        return NOW
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)).timestamp()
