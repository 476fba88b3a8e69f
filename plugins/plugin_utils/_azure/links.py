# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts does each event name, from the readings of all hosts together.

Every VM of a delivery group shows the same event, so that one event is found in many readings. Pure, and linear in
the size of the readings.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    Account,
    canonical_id,
    canonical_name,
    merged,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_claims import (
    Claim,
    InventoryNames,
    false_claims,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_names import name_told, scope_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import seconds_of

HostVars: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]
# An event as `maintenance_status` has it.
EventData: t.TypeAlias = dict[str, t.Any]
Scope: t.TypeAlias = str | None
# Hosts, in natural order, and what their VMs told about themselves.
ThisHosts: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]

# For sorting: an event that has begun, and no event at all.
NOW = float("-inf")
NEVER = float("inf")


# Beside the VMs that it names.
_COMPARED = ("type", "status", "not_before", "duration_seconds", "source", "description")


class _Version:
    """The VMs that an event names, as one or more hosts of one scope show it."""

    __slots__ = ("by_named", "groups", "hosts", "resources", "scope", "strangers")

    def __init__(self, resources: t.Any, scope: Scope, vms: Vms) -> None:
        self.resources, self.scope = resources, scope
        # A host that it names shows it.
        self.by_named = False
        # Host of this run -> its VM's name as Azure wrote it.
        self.hosts: dict[str, str] = {}
        # Canonical name -> the name as Azure wrote it, of VMs that are no host of this run.
        self.strangers: dict[str, str] = {}
        for written in resources:
            name = canonical_name(str(written))
            found = vms.hosts(name, scope)
            self.hosts.update(dict.fromkeys(found, str(written)))
            if not found:
                self.strangers.setdefault(name, str(written))
        # The delivery groups that the user declared for these hosts.
        self.groups = {vms.groups[host] for host in self.hosts if host in vms.groups} if vms.groups else set()


class SeenEvent:
    """One event of Azure, put together from all readings that show it.

    A host speaks for itself alone: what is done about the event is decided by the readings of the hosts that it names.
    """

    __slots__ = (
        "_accounts",
        "_torn",
        "_torn_by_named",
        "due",
        "event",
        "group",
        "hosts",
        "id",
        "last",
        "shown_by",
        "silent",
        "undeclared",
        "versions",
    )

    def __init__(self, event: Mapping[str, t.Any], group: str | None) -> None:
        self.id = str(event.get("id"))
        # The declared group of the hosts that show it: an id that two groups show is two events.
        self.group = group
        # What its accounts make of it, once all are in.
        self.event: Mapping[str, t.Any] = event
        self.due = NOW
        # The hosts of this run that it names and that are to be looked after -> their VMs' names as Azure wrote them.
        self.hosts: dict[str, str] = {}
        # Those of them whose own reading shows it, in the order of the readings.
        self.shown_by: dict[str, None] = {}
        # Those of them whose own reading is good and does not show it.
        self.silent: list[str] = []
        # Those that show it and declare no delivery group -> the one that others which it names declare.
        self.undeclared: dict[str, str] = {}
        self.versions: list[_Version] = []
        # The one that was looked at last: nearly always the next host brings the same.
        self.last: _Version | None = None
        # Each account once, whoever gives it.
        self._accounts: dict[tuple[t.Any, ...], Account] = {}
        # A version by which it names hosts of several declared groups.
        self._torn: _Version | None = None
        self._torn_by_named = False

    @property
    def strangers(self) -> list[str]:
        """The VMs that are no host of this run, as Azure wrote them."""
        known = {canonical_name(written) for version in self.versions for written in version.hosts.values()}
        found: dict[str, str] = {}
        for version in self.versions:
            for name, written in version.strangers.items():
                if name not in known:
                    found.setdefault(name, written)
        return list(found.values())

    @property
    def started(self) -> bool:
        return self.event.get("status") == "Started"

    @property
    def is_torn(self) -> bool:
        """Whether it names hosts of several declared delivery groups by all that the named hosts show."""
        return self._torn_by_named and not self.shown_by

    @property
    def named(self) -> list[str]:
        """All hosts of this run that it names, whoever shows it."""
        versions = [*self.versions, self._torn] if self._torn else self.versions
        return list(dict.fromkeys(host for version in versions for host in version.hosts))

    def merged(self, safest: Callable[[Mapping[str, t.Any]], t.Any]) -> EventData:
        """The event, where a policy ranks accounts that differ."""
        return merged(self._accounts.values(), safest)

    def version(self, resources: t.Any, scope: Scope, vms: Vms) -> _Version:
        for known in self.versions:
            if known.scope == scope and known.resources == resources:
                return known
        if self._torn and self._torn.scope == scope and self._torn.resources == resources:
            return self._torn
        return _Version(resources, scope, vms)

    def add(self, host: str, event: Mapping[str, t.Any], version: _Version, group: str | None) -> None:
        """Take in the event as this host, of this declared group, shows it."""
        is_named = host in version.hosts
        if len(version.groups) > 1:
            # One of the declarations is wrong, or the host is not what it claims to be.
            self._torn = version
            self._torn_by_named = self._torn_by_named or is_named
            return
        if version.groups and group not in version.groups:
            # Of another delivery group, or of none: no declared group is joined by a host's own word.
            if is_named and group is None:
                (self.undeclared[host],) = version.groups
            return
        if version not in self.versions:
            self.versions.append(version)
        said = (is_named, id(version), *(str(event.get(key)) for key in _COMPARED))
        self._accounts.setdefault(said, Account(is_named, event))
        if is_named:
            version.by_named = True
            self.shown_by[host] = None

    def settle(self, host_vars: HostVars) -> None:
        """Once all readings are in: merge the accounts, and find the hosts that are to be looked after."""
        if self.shown_by:
            self.versions = [version for version in self.versions if version.by_named]
        self.hosts = {host: written for version in self.versions for host, written in version.hosts.items()}
        if self.shown_by:
            self.silent = [host for host in self.hosts if host not in self.shown_by and was_read(host_vars.get(host))]
        elif self.is_torn:
            self.hosts = {}
        else:
            # Nobody whom it names shows it: those who were read say that there is no such event.
            self.hosts = {host: name for host, name in self.hosts.items() if not was_read(host_vars.get(host))}
        if self._accounts:
            self.event = merged(self._accounts.values())
        self.due = NOW if self.started else moment(self.event.get("not_before"))

    def believe_only_who_shows_it(self) -> list[str]:
        """For hosts that were read again: those that still do not show it are none of its hosts. Gives their VMs."""
        return [self.hosts.pop(host) for host in self.silent]


class Vms:
    """The hosts of this run by the names of their VMs."""

    def __init__(self, this_hosts: ThisHosts, host_vars: HostVars) -> None:
        self.scopes: dict[str, Scope] = {}
        self._this_hosts, self._host_vars = this_hosts, host_vars
        # The delivery groups that the user declared.
        self.groups: dict[str, str] = {}
        # Hosts that are not believed to be the VMs that they claim to be.
        self.refused: set[str] = set()
        # Nearly every name stands for one host, and a list for each of 100,000 is a burden for the garbage collector.
        self._first: dict[str, str] = {}
        self._more: dict[str, list[str]] = {}
        for host, this_host in this_hosts.items():
            self.scopes[host] = scope_of(this_host)
            variables = host_vars.get(host)
            told = this_host.get("vm_name")
            # Nearly all names are good as they are, and the rest of this is for the others.
            if isinstance(told, str) and told and told[0].isalnum() and told[-1].isalnum():
                name = told.casefold()
            else:
                name = canonical_name(name_told(host, variables, this_host))
            if self._first.setdefault(name, host) is not host:
                self._more.setdefault(name, []).append(host)
            group = variables.get("maintenance_delivery_group") if variables is not None else None
            if group is not None and group != "":
                self.groups[host] = str(group)

    def hosts(self, name: str, scope: Scope) -> list[str]:
        """In another resource group a VM of that name is another VM. Where a group is not known, the name decides."""
        first = self._first.get(name)
        if first is None:
            return []
        found = [first, *self._more[name]] if name in self._more else [first]
        if self.refused:
            found = [host for host in found if host not in self.refused]
        return found if scope is None else [host for host in found if self.scopes[host] in (None, scope)]

    def refuse_false_claims(self, names: Callable[[], InventoryNames] | None = None) -> list[Claim]:
        """From here on, a host whose claim the inventory does not bear out is no VM of that name.

        `names`: the whole inventory, asked for at most once; without it only the hosts of this run are compared.
        """
        rivals = {name: [self._first[name], *more] for name, more in self._more.items()}
        claims = false_claims(self._this_hosts, self._host_vars, rivals, names)
        self.refused.update(host for claim in claims for host in claim.refused)
        return claims


def collect_events(this_hosts: ThisHosts, host_vars: HostVars) -> list[SeenEvent]:
    """The events of these hosts, the most urgent first, for looking at and for keeping hosts together.

    The hosts' own words are taken for which VMs they are: nothing may be drained or approved by it.
    """
    return to_look_after(all_events(Vms(this_hosts, host_vars), this_hosts, host_vars))


def to_look_after(events: Iterable[SeenEvent]) -> list[SeenEvent]:
    """Those that name a host of this run which shows it, or which could not be read."""
    ours = [seen for seen in events if seen.hosts]
    ours.sort(key=lambda seen: (seen.due, canonical_id(seen.id)))
    return ours


def all_events(vms: Vms, this_hosts: ThisHosts, host_vars: HostVars) -> list[SeenEvent]:
    """All events of all readings, trusted or not. No host shows an event of a declared group that is not its own."""
    found: dict[tuple[str | None, str], SeenEvent] = {}
    # The same by the ids as they are written, nearly always in one way: every host of a group brings all its events.
    as_written: dict[t.Any, SeenEvent] = {}
    groups = vms.groups
    for host in this_hosts:
        variables = host_vars.get(host)
        status: t.Any = variables.get("maintenance_status") if variables is not None else None
        events = events_of(status)
        if not events:
            continue
        scope, group = vms.scopes[host], groups.get(host) if groups else None
        for event in events:
            written = event.get("id")
            seen = as_written.get((group, written)) if isinstance(written, str) else None
            if seen is None:
                seen = found.setdefault((group, canonical_id(str(written))), SeenEvent(event, group))
                if isinstance(written, str):
                    as_written[group, written] = seen
            resources = event.get("resources") or ()
            version = seen.last
            # The same list again, from another host of the group, brings nothing new and would make this quadratic.
            if version is None or version.scope != scope or version.resources != resources:
                version = seen.last = seen.version(resources, scope, vms)
            if host not in version.hosts and event.get("affects_this_host") is True and host not in vms.refused:
                # Read under a name that was given for the reading alone.
                version.hosts[host] = host
            # Most hosts show events of others only, and say nothing that their neighbours have not said.
            elif (
                host not in version.hosts and seen.shown_by and group is None and version is seen.versions[0]
            ) and event.get("status") != "Started":
                continue
            seen.add(host, event, version, group)
    for seen in found.values():
        seen.settle(host_vars)
    return list(found.values())


def was_read(variables: Mapping[str, t.Any] | None) -> bool:
    """Whether there is a good reading: without one, nothing is known, least of all that there are no events."""
    status = variables.get("maintenance_status") if variables is not None else None
    return isinstance(status, dict) and isinstance(status.get("events"), list)


def events_of(status: t.Any) -> list[dict[str, t.Any]]:
    """The events of a reading; none where it is not one."""
    events = status.get("events") if isinstance(status, dict) else None
    if not events or not isinstance(events, list):
        return []
    return [event for event in events if isinstance(event, dict)]


def moment(not_before: t.Any) -> float:
    """When the event may begin. Undated is now, as it can't be said to be later."""
    seconds = seconds_of(not_before)
    return NOW if seconds is None else seconds
