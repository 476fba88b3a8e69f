# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""VMs: their names, the hosts that they are, and the events that they share."""

from __future__ import annotations

import functools
import ipaddress
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from .._common.text import seconds_of
from . import events as azure
from .events import merged

# The host variables that VM names depend on: a caller with a costly mapping fetches only these.
NAME_VARIABLES = ("maintenance_status", "maintenance_vm_name")
# Variables with the resource group of a host, named as in azure.azcollection.azure_rm.
RESOURCE_IDS = ("id", "resource_id")
SCOPE_VARIABLES = ("resource_group", "subscription_id", *RESOURCE_IDS)


def this_host_of(host_vars: Mapping[str, t.Any] | None) -> dict[str, t.Any]:
    """Return the identity that the VM's metadata gives; empty if it was not read."""
    status = host_vars.get("maintenance_status") if host_vars is not None else None
    this_host = status.get("this_host") if isinstance(status, dict) else None
    return this_host if isinstance(this_host, dict) else {}


def this_hosts_of(hosts: Iterable[str], host_vars: Mapping[str, Mapping[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    """Return `this_host_of` for several hosts."""
    return {host: this_host_of(host_vars.get(host)) for host in hosts}


def vm_name_of(inventory_hostname: str, host_vars: Mapping[str, t.Any] | None) -> str:
    """Return the name of this host in Azure's events, in its original case.

    The VM's own metadata comes first, then `maintenance_vm_name`, then the inventory hostname.
    """
    return name_told(inventory_hostname, host_vars, this_host_of(host_vars))


def name_told(inventory_hostname: str, host_vars: Mapping[str, t.Any] | None, this_host: Mapping[str, t.Any]) -> str:
    """Return the same as `vm_name_of`, for a caller that already has `this_host`."""
    told = this_host.get("vm_name")
    if not told and host_vars is not None:
        told = host_vars.get("maintenance_vm_name")
    # YAML parses a VM name such as 42 as a number.
    if told and isinstance(told, (str, int)) and not isinstance(told, bool):
        return str(told).strip() or str(inventory_hostname)
    return str(inventory_hostname)


def scope_of(this_host: Mapping[str, t.Any]) -> str | None:
    """Return subscription and resource group in a form to compare; None if the metadata lacks one of them.

    An event names VMs of one resource group without its name, so two VMs of one name differ only by this.
    """
    subscription, group = this_host.get("subscription_id"), this_host.get("resource_group")
    return _scope(str(subscription), str(group)) if subscription and group else None


def inventory_scope(variables: Mapping[str, t.Any] | None) -> str | None:
    """Return the scope by the inventory; None if it lacks the subscription or the resource group."""
    if variables is None:
        return None
    subscription, group = azure.parse_resource_id(_resource_id(variables))
    return scope_of(
        {
            "subscription_id": text_of_variable(variables.get("subscription_id")) or subscription,
            "resource_group": text_of_variable(variables.get("resource_group")) or group,
        }
    )


def _resource_id(variables: Mapping[str, t.Any]) -> str:
    found = (variables.get(name) for name in RESOURCE_IDS)
    return next((value for value in found if isinstance(value, str) and value.startswith("/")), "")


def same_scope(one: str | None, other: str | None) -> bool:
    """Return True unless both scopes are known and differ."""
    return one is None or other is None or one == other


def text_of_variable(value: t.Any) -> str | None:
    """Return the value as text: YAML parses a VM name such as 42 as a number."""
    return str(value).strip() or None if isinstance(value, (str, int)) and not isinstance(value, bool) else None


@functools.lru_cache(maxsize=4096)
def _scope(subscription: str, group: str) -> str:
    return f"{subscription}/{group}".casefold()


def hosts_by_vm_name(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, t.Any]]) -> dict[str, list[str]]:
    """Map each canonical VM name to its inventory hosts, in the order given.

    A name has several hosts if the inventory lists a VM twice, or if two resource groups have a VM of that name.
    """
    found: dict[str, list[str]] = {}
    for host in hosts:
        variables = hostvars.get(host, None)
        found.setdefault(azure.canonical_name(vm_name_of(host, variables)), []).append(host)
    return found


# A compromised host can claim to be any VM by its metadata, and an event would be approved for that VM while it is in
# service. The inventory is maintained by the user, so it decides. docs/security.md has the rules.

# Host variables that identify a host's VM: ours, then those of azure.azcollection.azure_rm.
CLAIM_VARIABLES = ("maintenance_vm_name", "name", "computer_name")
# All variables that these functions read, in addition to `maintenance_status`.
IDENTITY_VARIABLES = tuple(dict.fromkeys((*CLAIM_VARIABLES, *SCOPE_VARIABLES)))

Variables: t.TypeAlias = Mapping[str, t.Any]
# Host -> the VM name that the inventory declares, and the resource group in the form of `scope_of`, for hosts with at
# least one of the two. Plain values, as a run stores them.
KnownVms: t.TypeAlias = Mapping[str, Sequence[str | None]]


class Claim(t.NamedTuple):
    """Hosts that are not trusted to be the VM that they claim to be."""

    # The canonical name.
    vm_name: str
    # The host that is this VM by the inventory, if any.
    host: str | None
    # Hosts that are not drained, not approved for, and do not count as drained.
    refused: list[str]
    # one_vm: several hosts of the run claim it. contradicted: the inventory declares another VM for this host.
    # contested: by the inventory another host may be it. unconfirmed: the inventory does not confirm the name.
    kind: str = "one_vm"
    # contradicted: the VM that the inventory declares, in words. contested: the other host.
    instead: str = ""
    # The name as the host wrote it.
    written: str = ""


class Declared(t.NamedTuple):
    """The VM that the inventory declares a host to be."""

    name: str
    subscription: str | None
    resource_group: str | None

    @property
    def scope(self) -> str | None:
        return scope_of({"subscription_id": self.subscription, "resource_group": self.resource_group})

    def in_words(self, this_host: Variables) -> str:
        """Return the name, with the resource group if that differs from the host's metadata."""
        if self._is_elsewhere(this_host):
            return f"{self.name} in {'/'.join(filter(None, [self.subscription, self.resource_group]))}"
        return self.name

    def contradicts(self, told: str, this_host: Variables) -> bool:
        return azure.canonical_name(self.name) != told or self._is_elsewhere(this_host)

    def _is_elsewhere(self, this_host: Variables) -> bool:
        return _differ(self.subscription, this_host.get("subscription_id")) or _differ(
            self.resource_group, this_host.get("resource_group")
        )


def declared_vm(variables: Variables | None) -> Declared | None:
    """Return the VM of a host by `maintenance_vm_name`, a VM's resource id, or a name together with its resource group.

    A variable `name` alone can mean anything; with a resource group it is Azure's.
    """
    if not variables:
        return None
    ours, name = text_of_variable(variables.get("maintenance_vm_name")), text_of_variable(variables.get("name"))
    resource_id = _resource_id(variables)
    subscription, group = azure.parse_resource_id(resource_id)
    subscription = text_of_variable(variables.get("subscription_id")) or subscription
    group = text_of_variable(variables.get("resource_group")) or group
    by_id = _vm_of_id(resource_id)
    if ours:
        # A single one of the two can be a user's variable for something else.
        return Declared(ours, subscription, group) if subscription and group else Declared(ours, None, None)
    if by_id:
        return Declared(by_id, subscription, group)
    return Declared(name, subscription, group) if name and group else None


def _vm_of_id(resource_id: str) -> str | None:
    """Return the name used by events; for an instance of a Uniform scale set that is the set's name and a number."""
    words = resource_id.strip("/").split("/")
    named = {key.casefold(): value for key, value in zip(words[::2], words[1::2], strict=False)}
    name = named.get("virtualmachines")
    if not name or named.get("providers", "").casefold() != "microsoft.compute":
        return None
    scale_set = named.get("virtualmachinescalesets")
    return f"{scale_set}_{name}" if scale_set and name.isdecimal() else name


def known_vms(hosts: Iterable[str], host_vars: Mapping[str, Variables]) -> dict[str, list[str | None]]:
    """Return the names and scopes that the inventory declares; scopes also come from the metadata of hosts."""
    found: dict[str, list[str | None]] = {}
    for host in hosts:
        variables = host_vars.get(host)
        declared = declared_vm(variables)
        scope = (declared.scope if declared else inventory_scope(variables)) or scope_of(this_host_of(variables))
        if declared or scope:
            found[host] = [declared.name if declared else None, scope]
    return found


def of_one_short_name(inventory: Iterable[str]) -> list[str]:
    """Return the hosts that share their name, or the first part of it, with another host."""
    named: dict[str, list[str]] = {}
    for host in inventory:
        for name in _own_names(host):
            named.setdefault(name, []).append(host)
    return list(dict.fromkeys(host for hosts in named.values() if len(hosts) > 1 for host in hosts))


def with_told_scopes(known: KnownVms, this_hosts: Mapping[str, Variables]) -> dict[str, list[str | None]]:
    """Add scopes from the metadata of these hosts where the inventory has none."""
    found = {host: list(entry) for host, entry in known.items()}
    for host, this_host in this_hosts.items():
        scope = scope_of(this_host)
        if scope:
            entry = found.setdefault(host, [None, None])
            entry[1] = entry[1] or scope
    return found


class InventoryNames:
    """All hosts of the inventory by the VM names that it gives them, including hosts outside the run."""

    def __init__(self, hosts: Iterable[str], known: KnownVms) -> None:
        self._known = known
        self._by_name: dict[str, list[str]] = {}
        for host in hosts:
            declared = known[host][0] if host in known else None
            for name in (azure.canonical_name(declared),) if declared else _own_names(host):
                self._by_name.setdefault(name, []).append(host)

    def is_declared(self, host: str) -> bool:
        return host in self._known and self._known[host][0] is not None

    def others(self, host: str, name: str, scope: str | None) -> list[str]:
        """Return the other hosts that may be this VM, declared ones first."""
        found = [
            other
            for other in self._by_name.get(name, ())
            if other != host and same_scope(scope, self._known[other][1] if other in self._known else None)
        ]
        return sorted(found, key=lambda other: not self.is_declared(other))


def false_claims(
    this_hosts: Mapping[str, Variables],
    host_vars: Mapping[str, Variables],
    rivals: Mapping[str, Sequence[str]],
    names: Callable[[], InventoryNames] | None = None,
) -> list[Claim]:
    """Return the claims that are refused; each host has at most one.

    `this_hosts` has the metadata of each host, `host_vars` the variables of these hosts, `rivals` the hosts of each
    name that several hosts of the run claim. `names` returns the whole inventory. As that is costly, it is called at
    most once, and only if a host is not declared to be any VM.
    """
    claims, refused = [], set()
    undeclared = []
    for host, this_host in this_hosts.items():
        written = text_of_variable(this_host.get("vm_name"))
        if written is None:
            # Without a claim the inventory alone counts.
            continue
        told, variables = azure.canonical_name(written), host_vars.get(host)
        declared = declared_vm(variables)
        if declared is None:
            undeclared.append((host, told, written))
        elif declared.contradicts(told, this_host):
            claims.append(Claim(told, None, [host], "contradicted", declared.in_words(this_host), written))
            refused.add(host)
    left = {name: [host for host in hosts if host not in refused] for name, hosts in rivals.items()}
    settled = settle_claims(
        left, {host: scope_of(this_hosts[host]) for hosts in left.values() for host in hosts}, host_vars
    )
    refused.update(host for claim in settled for host in claim.refused)
    claims += settled
    inventory = names() if names and len(undeclared) > 0 else None
    for host, told, written in undeclared:
        if host not in refused:
            claim = _undeclared(host, told, written, scope_of(this_hosts[host]), host_vars.get(host), inventory)
            claims += [claim] if claim else []
    return claims


def _undeclared(
    host: str,
    told: str,
    written: str,
    scope: str | None,
    variables: Variables | None,
    inventory: InventoryNames | None,
) -> Claim | None:
    is_called = told in _own_names(host)
    is_named = any(azure.canonical_name(word) == told for word in _texts(variables, CLAIM_VARIABLES[1:]))
    others = inventory.others(host, told, scope) if inventory else []
    if inventory and azure.canonical_name(host) == told:
        # A full host name outweighs the first part of another one's.
        others = [other for other in others if inventory.is_declared(other)]
    if inventory and others:
        first = others[0]
        is_it = inventory.is_declared(first) or azure.canonical_name(first) == told or not (is_called or is_named)
        return Claim(told, first if is_it else None, [host], "contested", first, written)
    if is_called or is_named:
        return None
    return Claim(told, None, [host], "unconfirmed", "", written)


def settle_claims(
    by_name: Mapping[str, Sequence[str]],
    scopes: Mapping[str, str | None],
    inventory: Mapping[str, Variables],
) -> list[Claim]:
    """Refuse rivals for one VM. `by_name` has the hosts of each name with several claims, `scopes` their own scopes."""
    claims = []
    for name, hosts in by_name.items():
        for rivals in _rivals(hosts, scopes, inventory):
            true = _the_one(rivals, name, scopes, inventory)
            claims.append(Claim(name, true, [host for host in rivals if host != true]))
    return claims


def _rivals(
    hosts: Sequence[str], scopes: Mapping[str, str | None], inventory: Mapping[str, Variables]
) -> list[list[str]]:
    """Group hosts of one name that can only be one VM: in the same resource group, or in an unknown one."""
    groups: dict[str | None, list[str]] = {}
    for host in hosts:
        groups.setdefault(scopes[host] or inventory_scope(inventory.get(host)), []).append(host)
    unknown = groups.pop(None, [])
    together = [[*group, *unknown] for group in groups.values()] or [unknown]
    return [group for group in together if len(group) > 1]


def _the_one(
    rivals: Sequence[str],
    name: str,
    scopes: Mapping[str, str | None],
    inventory: Mapping[str, Variables],
) -> str | None:
    said = [host for host in rivals if _is_said(name, scopes[host], inventory.get(host))]
    # The host name counts only without such a variable, and the full name outweighs its first part.
    called = [host for host in rivals if _is_called(host, name, inventory.get(host))]
    found = said or [host for host in called if azure.canonical_name(host) == name] or called
    return found[0] if len(found) == 1 else None


def _is_said(name: str, scope: str | None, variables: Variables | None) -> bool:
    """Return True if a variable names the host as this VM, and none puts it into another resource group."""
    declared, of_inventory = declared_vm(variables), inventory_scope(variables)
    if declared:
        return azure.canonical_name(declared.name) == name and same_scope(scope, of_inventory)
    names = _texts(variables, CLAIM_VARIABLES[2:])
    return of_inventory is not None and same_scope(scope, of_inventory) and name in map(azure.canonical_name, names)


def _is_called(host: str, name: str, variables: Variables | None) -> bool:
    declared = declared_vm(variables)
    return name in _own_names(host) and (declared is None or azure.canonical_name(declared.name) == name)


def _own_names(host: str) -> tuple[str, ...]:
    """Return the canonical host name, and its first part if it is a DNS name."""
    name = azure.canonical_name(host)
    first, dot, _rest = name.partition(".")
    return (name, first) if dot and first and not _is_address(name) else (name,)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _texts(variables: Variables | None, names: Iterable[str]) -> list[str]:
    found = [text_of_variable(variables.get(name)) for name in names] if variables else []
    return [text for text in found if text is not None]


def _differ(declared: str | None, told: t.Any) -> bool:
    """Return True if both are known and differ."""
    return bool(declared and told) and str(declared).casefold() != str(told).strip().casefold()


# Every VM of a delivery group shows the same event, so one event is found in many readings. The code below must stay
# linear in the size of the readings.

HostVars: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]
# An event as `maintenance_status` has it.
EventData: t.TypeAlias = dict[str, t.Any]
Scope: t.TypeAlias = str | None
# Hosts, in natural order -> the identity in their metadata.
ThisHosts: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]

# For sorting: a started event, and no event.
NOW = float("-inf")
NEVER = float("inf")


# The fields of an event by which accounts differ, in addition to the VMs that it names.
_COMPARED = ("type", "status", "not_before", "duration_seconds", "source", "description")


class _Version:
    """The VMs that an event names, as shown by hosts of one scope."""

    __slots__ = ("by_named", "groups", "hosts", "outside", "resources", "scope")

    def __init__(self, resources: t.Any, scope: Scope, vms: Vms) -> None:
        self.resources, self.scope = resources, scope
        # Shown by a host that it names.
        self.by_named = False
        # Host of this run -> its VM's name as Azure wrote it.
        self.hosts: dict[str, str] = {}
        # Canonical name -> the name as Azure wrote it, of VMs outside the run.
        self.outside: dict[str, str] = {}
        for written in resources:
            name = azure.canonical_name(str(written))
            found = vms.hosts(name, scope)
            self.hosts.update(dict.fromkeys(found, str(written)))
            if not found:
                self.outside.setdefault(name, str(written))
        # The delivery groups that the user declared for these hosts.
        self.groups = {vms.groups[host] for host in self.hosts if host in vms.groups} if vms.groups else set()


class SeenEvent:
    """One event of Azure, merged from all readings that show it.

    Only the readings of the hosts that the event names decide what is done about it.
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
        # The declared group of the hosts that show it: an id shown by two groups is two events.
        self.group = group
        # Merged from all accounts by `settle`.
        self.event: Mapping[str, t.Any] = event
        self.due = NOW
        # The hosts of this run that it names and that may have to be drained -> their VM names as Azure wrote them.
        self.hosts: dict[str, str] = {}
        # Of these, the hosts whose own reading shows it, in the order of the readings.
        self.shown_by: dict[str, None] = {}
        # Of these, the hosts whose own reading is good and does not show it.
        self.silent: list[str] = []
        # The hosts that show it and declare no delivery group -> the group of the other hosts that it names.
        self.undeclared: dict[str, str] = {}
        self.versions: list[_Version] = []
        # The last one that was compared: the next host nearly always has the same.
        self.last: _Version | None = None
        # Equal accounts of several hosts are stored once.
        self._accounts: dict[tuple[t.Any, ...], azure.Account] = {}
        # A version by which it names hosts of several declared groups.
        self._torn: _Version | None = None
        self._torn_by_named = False

    @property
    def outside(self) -> list[str]:
        """The VMs that it names outside the run, as Azure wrote them."""
        known = {azure.canonical_name(written) for version in self.versions for written in version.hosts.values()}
        found: dict[str, str] = {}
        for version in self.versions:
            for name, written in version.outside.items():
                if name not in known:
                    found.setdefault(name, written)
        return list(found.values())

    @property
    def started(self) -> bool:
        return self.event.get("status") == "Started"

    @property
    def is_torn(self) -> bool:
        """True if every version shown by a named host has hosts of several declared delivery groups."""
        return self._torn_by_named and not self.shown_by

    @property
    def named(self) -> list[str]:
        """All hosts of this run that it names, by any reading."""
        versions = [*self.versions, self._torn] if self._torn else self.versions
        return list(dict.fromkeys(host for version in versions for host in version.hosts))

    def merged(self, safest: Callable[[Mapping[str, t.Any]], t.Any]) -> EventData:
        """Return the event, with differing accounts ranked by a policy."""
        return merged(self._accounts.values(), safest)

    def version(self, resources: t.Any, scope: Scope, vms: Vms) -> _Version:
        for known in self.versions:
            if known.scope == scope and known.resources == resources:
                return known
        if self._torn and self._torn.scope == scope and self._torn.resources == resources:
            return self._torn
        return _Version(resources, scope, vms)

    def add(self, host: str, event: Mapping[str, t.Any], version: _Version, group: str | None) -> None:
        """Add the event as shown by this host of this declared group."""
        is_named = host in version.hosts
        if len(version.groups) > 1:
            # A declaration is wrong, or the host is not the VM that it claims to be.
            self._torn = version
            self._torn_by_named = self._torn_by_named or is_named
            return
        if version.groups and group not in version.groups:
            # A host can't join a declared group by its own reading.
            if is_named and group is None:
                (self.undeclared[host],) = version.groups
            return
        if version not in self.versions:
            self.versions.append(version)
        said = (is_named, id(version), *(str(event.get(key)) for key in _COMPARED))
        self._accounts.setdefault(said, azure.Account(is_named, event))
        if is_named:
            version.by_named = True
            self.shown_by[host] = None

    def settle(self, host_vars: HostVars) -> None:
        """Merge the accounts after all readings were added, and find the hosts that may have to be drained."""
        if self.shown_by:
            self.versions = [version for version in self.versions if version.by_named]
        self.hosts = {host: written for version in self.versions for host, written in version.hosts.items()}
        if self.shown_by:
            self.silent = [host for host in self.hosts if host not in self.shown_by and was_read(host_vars.get(host))]
        elif self.is_torn:
            self.hosts = {}
        else:
            # No host that it names shows it, so by their readings the event does not exist for those that were read.
            self.hosts = {host: name for host, name in self.hosts.items() if not was_read(host_vars.get(host))}
        if self._accounts:
            self.event = merged(self._accounts.values())
        self.due = NOW if self.started else moment(self.event.get("not_before"))

    def trust_only_who_shows_it(self) -> list[str]:
        """Remove hosts that do not show the event even after a second reading, and return their VMs."""
        return [self.hosts.pop(host) for host in self.silent]


class Vms:
    """The hosts of this run by the names of their VMs."""

    def __init__(self, this_hosts: ThisHosts, host_vars: HostVars) -> None:
        self.scopes: dict[str, Scope] = {}
        self._this_hosts, self._host_vars = this_hosts, host_vars
        # The delivery groups that the user declared.
        self.groups: dict[str, str] = {}
        self.refused: set[str] = set()
        # Nearly every name has one host, and 100,000 lists of one item would burden the garbage collector.
        self._first: dict[str, str] = {}
        self._more: dict[str, list[str]] = {}
        for host, this_host in this_hosts.items():
            self.scopes[host] = scope_of(this_host)
            variables = host_vars.get(host)
            told = this_host.get("vm_name")
            # A fast path for nearly all names.
            if isinstance(told, str) and told and told[0].isalnum() and told[-1].isalnum():
                name = told.casefold()
            else:
                name = azure.canonical_name(name_told(host, variables, this_host))
            if self._first.setdefault(name, host) is not host:
                self._more.setdefault(name, []).append(host)
            group = variables.get("maintenance_delivery_group") if variables is not None else None
            if group is not None and group != "":
                self.groups[host] = str(group)

    def hosts(self, name: str, scope: Scope) -> list[str]:
        """Return the hosts of a VM name, without those in another resource group; an unknown one matches."""
        first = self._first.get(name)
        if first is None:
            return []
        found = [first, *self._more[name]] if name in self._more else [first]
        if self.refused:
            found = [host for host in found if host not in self.refused]
        return found if scope is None else [host for host in found if self.scopes[host] in (None, scope)]

    def refuse_false_claims(self, names: Callable[[], InventoryNames] | None = None) -> list[Claim]:
        """Refuse hosts whose claim the inventory does not support, and return these claims.

        `names` returns the whole inventory and is called at most once; without it only hosts of this run are compared.
        """
        rivals = {name: [self._first[name], *more] for name, more in self._more.items()}
        claims = false_claims(self._this_hosts, self._host_vars, rivals, names)
        self.refused.update(host for claim in claims for host in claim.refused)
        return claims


def collect_events(this_hosts: ThisHosts, host_vars: HostVars) -> list[SeenEvent]:
    """Return the events of these hosts, the most urgent first, for display and for grouping hosts.

    False claims are not refused here, so the result must not be used to drain or approve.
    """
    return to_look_after(all_events(Vms(this_hosts, host_vars), this_hosts, host_vars))


def to_look_after(events: Iterable[SeenEvent]) -> list[SeenEvent]:
    """Return the events that name a host of this run that shows it or could not be read, the most urgent first."""
    ours = [seen for seen in events if seen.hosts]
    ours.sort(key=lambda seen: (seen.due, azure.canonical_id(seen.id)))
    return ours


def all_events(vms: Vms, this_hosts: ThisHosts, host_vars: HostVars) -> list[SeenEvent]:
    """Return all events of all readings, trusted or not. A host never adds to an event of another declared group."""
    found: dict[tuple[str | None, str], SeenEvent] = {}
    # A cache by unnormalized ids: every host of a group has all its events, nearly always with equal ids.
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
                seen = found.setdefault((group, azure.canonical_id(str(written))), SeenEvent(event, group))
                if isinstance(written, str):
                    as_written[group, written] = seen
            resources = event.get("resources") or ()
            version = seen.last
            # Comparing the same list for every host of a group would be quadratic.
            if version is None or version.scope != scope or version.resources != resources:
                version = seen.last = seen.version(resources, scope, vms)
            if host not in version.hosts and event.get("affects_this_host") is True and host not in vms.refused:
                # The reading was made with a VM name given for it alone.
                version.hosts[host] = host
            # Most hosts show only events of others, with nothing new.
            elif (
                host not in version.hosts and seen.shown_by and group is None and version is seen.versions[0]
            ) and event.get("status") != "Started":
                continue
            seen.add(host, event, version, group)
    for seen in found.values():
        seen.settle(host_vars)
    return list(found.values())


def was_read(variables: Mapping[str, t.Any] | None) -> bool:
    """Return True if there is a good reading. Without one, nothing is known: it never means "no events"."""
    status = variables.get("maintenance_status") if variables is not None else None
    return isinstance(status, dict) and isinstance(status.get("events"), list)


def events_of(status: t.Any) -> list[dict[str, t.Any]]:
    """Return the events of a reading, or none of anything else."""
    events = status.get("events") if isinstance(status, dict) else None
    if not events or not isinstance(events, list):
        return []
    return [event for event in events if isinstance(event, dict)]


def moment(not_before: t.Any) -> float:
    """Return the earliest start of an event. An undated event may start now."""
    seconds = seconds_of(not_before)
    return NOW if seconds is None else seconds
