# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""VMs: their names, who is which, and the events that they share."""

from __future__ import annotations

import functools
import ipaddress
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from .._common.text import seconds_of
from . import events as azure
from .events import merged

# The only host variables that this file reads: a caller with a costly mapping need not fetch any other.
NAME_VARIABLES = ("maintenance_status", "maintenance_vm_name")
# Where an inventory says to which resource group a host belongs, as azure.azcollection.azure_rm names it.
RESOURCE_IDS = ("id", "resource_id")
SCOPE_VARIABLES = ("resource_group", "subscription_id", *RESOURCE_IDS)


def this_host_of(host_vars: Mapping[str, t.Any] | None) -> dict[str, t.Any]:
    """What the VM told about itself; empty where it was not asked."""
    status = host_vars.get("maintenance_status") if host_vars is not None else None
    this_host = status.get("this_host") if isinstance(status, dict) else None
    return this_host if isinstance(this_host, dict) else {}


def this_hosts_of(hosts: Iterable[str], host_vars: Mapping[str, Mapping[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    """The same for many, for callers that look at each several times."""
    return {host: this_host_of(host_vars.get(host)) for host in hosts}


def vm_name_of(inventory_hostname: str, host_vars: Mapping[str, t.Any] | None) -> str:
    """The name by which Azure's events know this host, in the case in which it is written down.

    What the VM itself said comes first, then `maintenance_vm_name`, then the inventory hostname.
    """
    return name_told(inventory_hostname, host_vars, this_host_of(host_vars))


def name_told(inventory_hostname: str, host_vars: Mapping[str, t.Any] | None, this_host: Mapping[str, t.Any]) -> str:
    """The same for a caller that has `this_host` at hand."""
    told = this_host.get("vm_name")
    if not told and host_vars is not None:
        told = host_vars.get("maintenance_vm_name")
    # A number is what YAML makes of a VM called 42.
    if told and isinstance(told, (str, int)) and not isinstance(told, bool):
        return str(told).strip() or str(inventory_hostname)
    return str(inventory_hostname)


def scope_of(this_host: Mapping[str, t.Any]) -> str | None:
    """Subscription and resource group, for comparing; None where the VM did not tell.

    An event names VMs of one resource group only and without saying which: this tells two VMs of one name apart.
    """
    subscription, group = this_host.get("subscription_id"), this_host.get("resource_group")
    return _scope(str(subscription), str(group)) if subscription and group else None


def inventory_scope(variables: Mapping[str, t.Any] | None) -> str | None:
    """The same as the inventory has it; None where it does not say both."""
    if variables is None:
        return None
    subscription, group = None, None
    for name in RESOURCE_IDS:
        resource_id = variables.get(name)
        if isinstance(resource_id, str) and resource_id.startswith("/"):
            subscription, group = azure.parse_resource_id(resource_id)
            break
    return scope_of(
        {
            "subscription_id": text_of_variable(variables.get("subscription_id")) or subscription,
            "resource_group": text_of_variable(variables.get("resource_group")) or group,
        }
    )


def same_scope(one: str | None, other: str | None) -> bool:
    """Where one is not known, nothing speaks against it."""
    return one is None or other is None or one == other


def text_of_variable(value: t.Any) -> str | None:
    """A number is what YAML makes of a VM called 42."""
    return str(value).strip() or None if isinstance(value, (str, int)) and not isinstance(value, bool) else None


@functools.lru_cache(maxsize=4096)
def _scope(subscription: str, group: str) -> str:
    return f"{subscription}/{group}".casefold()


def hosts_by_vm_name(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, t.Any]]) -> dict[str, list[str]]:
    """Canonical VM name -> the inventory hosts that are this VM, in the order given.

    More than one host where the inventory lists a VM twice, or where two resource groups each hold a VM of that name.
    """
    found: dict[str, list[str]] = {}
    for host in hosts:
        variables = hostvars.get(host, None)
        found.setdefault(azure.canonical_name(vm_name_of(host, variables)), []).append(host)
    return found


# The name in a host's metadata is the host's own word, and a host that lies can claim to be any VM: an event would be
# approved for that VM while it is in service. The inventory is the user's word, and decides. docs/security.md has the
# rules.

# Host variables that say which VM a host is: ours, then as azure.azcollection.azure_rm names them.
CLAIM_VARIABLES = ("maintenance_vm_name", "name", "computer_name")
# All variables that these functions read, beside `maintenance_status`.
IDENTITY_VARIABLES = tuple(dict.fromkeys((*CLAIM_VARIABLES, *SCOPE_VARIABLES)))

Variables: t.TypeAlias = Mapping[str, t.Any]
# Host -> the name of its VM by a declaration of the inventory, and its resource group in the form of `scope_of`; only
# hosts of which one of the two is known. Plain values, as a run carries them.
KnownVms: t.TypeAlias = Mapping[str, Sequence[str | None]]


class Claim(t.NamedTuple):
    """Hosts that are not trusted to be the VM that they claim to be."""

    # The name in the form in which names are compared.
    vm_name: str
    # The host that it is, as the inventory says; None where the inventory does not say it.
    host: str | None
    # Not drained, not approved for, and they cover nothing.
    refused: list[str]
    # one_vm: several hosts of the run claim it. contradicted: the inventory declares another VM for this host.
    # contested: by the inventory another host may be it. unconfirmed: the inventory does not say it of this host.
    kind: str = "one_vm"
    # contradicted: what the inventory declares instead, in words. contested: the other host.
    instead: str = ""
    # The name as the host wrote it.
    written: str = ""


class Declared(t.NamedTuple):
    """The VM that the inventory declares a host to be. What it does not say is None."""

    name: str
    subscription: str | None
    resource_group: str | None

    @property
    def scope(self) -> str | None:
        return scope_of({"subscription_id": self.subscription, "resource_group": self.resource_group})

    def in_words(self, this_host: Variables) -> str:
        """The resource group only where it differs from what the host says."""
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
    """The VM of a host by `maintenance_vm_name`, a resource id of a VM, or a name together with its resource group.

    A `name` alone is a word that anybody uses for anything; with the resource group it is Azure's.
    """
    if not variables:
        return None
    ours, name = text_of_variable(variables.get("maintenance_vm_name")), text_of_variable(variables.get("name"))
    subscription, group = (
        text_of_variable(variables.get("subscription_id")),
        text_of_variable(variables.get("resource_group")),
    )
    by_id: str | None = None
    for variable in RESOURCE_IDS:
        resource_id = variables.get(variable)
        if isinstance(resource_id, str) and resource_id.startswith("/"):
            of_id = azure.parse_resource_id(resource_id)
            subscription, group = subscription or of_id[0], group or of_id[1]
            by_id = _vm_of_id(resource_id)
            break
    if ours:
        # Only one of the two may be a variable of the user's for something else.
        return Declared(ours, subscription, group) if subscription and group else Declared(ours, None, None)
    if by_id:
        return Declared(by_id, subscription, group)
    return Declared(name, subscription, group) if name and group else None


def _vm_of_id(resource_id: str) -> str | None:
    """The name that events use; that of an instance of a Uniform scale set is made of the set's name and a number."""
    words = resource_id.strip("/").split("/")
    named = {key.casefold(): value for key, value in zip(words[::2], words[1::2], strict=False)}
    name = named.get("virtualmachines")
    if not name or named.get("providers", "").casefold() != "microsoft.compute":
        return None
    scale_set = named.get("virtualmachinescalesets")
    return f"{scale_set}_{name}" if scale_set and name.isdecimal() else name


def known_vms(hosts: Iterable[str], host_vars: Mapping[str, Variables]) -> dict[str, list[str | None]]:
    """What the inventory declares of these hosts; the resource group also as the host itself says it."""
    found: dict[str, list[str | None]] = {}
    for host in hosts:
        variables = host_vars.get(host)
        declared = declared_vm(variables)
        scope = (declared.scope if declared else inventory_scope(variables)) or scope_of(this_host_of(variables))
        if declared or scope:
            found[host] = [declared.name if declared else None, scope]
    return found


def of_one_short_name(inventory: Iterable[str]) -> list[str]:
    """The hosts of which another one has the same name, or the same first part of it."""
    named: dict[str, list[str]] = {}
    for host in inventory:
        for name in _own_names(host):
            named.setdefault(name, []).append(host)
    return list(dict.fromkeys(host for hosts in named.values() if len(hosts) > 1 for host in hosts))


def with_told_scopes(known: KnownVms, this_hosts: Mapping[str, Variables]) -> dict[str, list[str | None]]:
    """Add the resource groups that these hosts told themselves, where the inventory does not say them."""
    found = {host: list(entry) for host, entry in known.items()}
    for host, this_host in this_hosts.items():
        scope = scope_of(this_host)
        if scope:
            entry = found.setdefault(host, [None, None])
            entry[1] = entry[1] or scope
    return found


class InventoryNames:
    """All hosts of the inventory by the VMs that they are, as the inventory says, whatever a run leaves out."""

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
        """The other hosts that may be this VM, those that are declared to be it first."""
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
    """The claims of hosts that are refused; each host at most once.

    `this_hosts` has what the metadata of each host says, `host_vars` the variables of these hosts, `rivals` the hosts
    of each name that more than one host of the run claims. `names` is the whole inventory, and costly: it is asked for
    at most once, and only where a host is not declared to be the VM that it says it is.
    """
    claims, refused = [], set()
    undeclared = []
    for host, this_host in this_hosts.items():
        written = text_of_variable(this_host.get("vm_name"))
        if written is None:
            # Nothing is claimed: the host is what the inventory says.
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
        # What a host is called in full says more than the beginning of another one's name.
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
    """`by_name` has the hosts of each name that more than one host claims, `scopes` what each said about its scope."""
    claims = []
    for name, hosts in by_name.items():
        for rivals in _rivals(hosts, scopes, inventory):
            true = _the_one(rivals, name, scopes, inventory)
            claims.append(Claim(name, true, [host for host in rivals if host != true]))
    return claims


def _rivals(
    hosts: Sequence[str], scopes: Mapping[str, str | None], inventory: Mapping[str, Variables]
) -> list[list[str]]:
    """Of hosts with one name, those that can't be two VMs: of one resource group, or of one that nobody knows."""
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
    # What a host is called counts where no variable says anything, and the whole of it more than its beginning.
    called = [host for host in rivals if _is_called(host, name, inventory.get(host))]
    found = said or [host for host in called if azure.canonical_name(host) == name] or called
    return found[0] if len(found) == 1 else None


def _is_said(name: str, scope: str | None, variables: Variables | None) -> bool:
    """Whether a variable says that the host is the VM of this name, and none that it is of another resource group."""
    declared, of_inventory = declared_vm(variables), inventory_scope(variables)
    if declared:
        return azure.canonical_name(declared.name) == name and same_scope(scope, of_inventory)
    names = _texts(variables, CLAIM_VARIABLES[2:])
    return of_inventory is not None and same_scope(scope, of_inventory) and name in map(azure.canonical_name, names)


def _is_called(host: str, name: str, variables: Variables | None) -> bool:
    declared = declared_vm(variables)
    return name in _own_names(host) and (declared is None or azure.canonical_name(declared.name) == name)


def _own_names(host: str) -> tuple[str, ...]:
    """What the inventory calls a host: its name, and the first part of it where it is a DNS name."""
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
    """Where one is not known, nothing speaks against it."""
    return bool(declared and told) and str(declared).casefold() != str(told).strip().casefold()


# Every VM of a delivery group shows the same event, so one event is found in many readings. What follows is linear in
# the size of the readings.

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

    __slots__ = ("by_named", "groups", "hosts", "outside", "resources", "scope")

    def __init__(self, resources: t.Any, scope: Scope, vms: Vms) -> None:
        self.resources, self.scope = resources, scope
        # A host that it names shows it.
        self.by_named = False
        # Host of this run -> its VM's name as Azure wrote it.
        self.hosts: dict[str, str] = {}
        # Canonical name -> the name as Azure wrote it, of VMs that are no host of this run.
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
        self._accounts: dict[tuple[t.Any, ...], azure.Account] = {}
        # A version by which it names hosts of several declared groups.
        self._torn: _Version | None = None
        self._torn_by_named = False

    @property
    def outside(self) -> list[str]:
        """The VMs that are no host of this run, as Azure wrote them."""
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
        self._accounts.setdefault(said, azure.Account(is_named, event))
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

    def trust_only_who_shows_it(self) -> list[str]:
        """For hosts that were read again: those that still do not show it are none of its hosts. Gives their VMs."""
        return [self.hosts.pop(host) for host in self.silent]


class Vms:
    """The hosts of this run by the names of their VMs."""

    def __init__(self, this_hosts: ThisHosts, host_vars: HostVars) -> None:
        self.scopes: dict[str, Scope] = {}
        self._this_hosts, self._host_vars = this_hosts, host_vars
        # The delivery groups that the user declared.
        self.groups: dict[str, str] = {}
        # Hosts that are not trusted to be the VMs that they claim to be.
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
                name = azure.canonical_name(name_told(host, variables, this_host))
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
    ours.sort(key=lambda seen: (seen.due, azure.canonical_id(seen.id)))
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
                seen = found.setdefault((group, azure.canonical_id(str(written))), SeenEvent(event, group))
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
