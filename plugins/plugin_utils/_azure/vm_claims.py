# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts are not the VMs that they claim to be, by what the inventory says. Pure.

The name in a host's metadata is the host's own word, and a host that lies can claim to be any VM: an event would be
approved for that VM while it is in service. The inventory is the user's word, and decides. docs/security.md has the
rules.
"""

from __future__ import annotations

import ipaddress
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name, parse_resource_id
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_names import (
    RESOURCE_IDS,
    SCOPE_VARIABLES,
    inventory_scope,
    same_scope,
    scope_of,
    text_of_variable,
    this_host_of,
)

# Host variables that say which VM a host is: ours, then as azure.azcollection.azure_rm names them.
CLAIM_VARIABLES = ("maintenance_vm_name", "name", "computer_name")
# All variables that these functions read, beside `maintenance_status`.
IDENTITY_VARIABLES = tuple(dict.fromkeys((*CLAIM_VARIABLES, *SCOPE_VARIABLES)))

Variables: t.TypeAlias = Mapping[str, t.Any]
# Host -> the name of its VM by a declaration of the inventory, and its resource group in the form of `scope_of`; only
# hosts of which one of the two is known. Plain values, as a run carries them.
KnownVms: t.TypeAlias = Mapping[str, Sequence[str | None]]


class Claim(t.NamedTuple):
    """Hosts that are not believed to be the VM that they claim to be."""

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
        return canonical_name(self.name) != told or self._is_elsewhere(this_host)

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
            of_id = parse_resource_id(resource_id)
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
            for name in (canonical_name(declared),) if declared else _own_names(host):
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
        told, variables = canonical_name(written), host_vars.get(host)
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
    is_named = any(canonical_name(word) == told for word in _texts(variables, CLAIM_VARIABLES[1:]))
    others = inventory.others(host, told, scope) if inventory else []
    if inventory and canonical_name(host) == told:
        # What a host is called in full says more than the beginning of another one's name.
        others = [other for other in others if inventory.is_declared(other)]
    if inventory and others:
        first = others[0]
        is_it = inventory.is_declared(first) or canonical_name(first) == told or not (is_called or is_named)
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
    found = said or [host for host in called if canonical_name(host) == name] or called
    return found[0] if len(found) == 1 else None


def _is_said(name: str, scope: str | None, variables: Variables | None) -> bool:
    """Whether a variable says that the host is the VM of this name, and none that it is of another resource group."""
    declared, of_inventory = declared_vm(variables), inventory_scope(variables)
    if declared:
        return canonical_name(declared.name) == name and same_scope(scope, of_inventory)
    names = _texts(variables, CLAIM_VARIABLES[2:])
    return of_inventory is not None and same_scope(scope, of_inventory) and name in map(canonical_name, names)


def _is_called(host: str, name: str, variables: Variables | None) -> bool:
    declared = declared_vm(variables)
    return name in _own_names(host) and (declared is None or canonical_name(declared.name) == name)


def _own_names(host: str) -> tuple[str, ...]:
    """What the inventory calls a host: its name, and the first part of it where it is a DNS name."""
    name = canonical_name(host)
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
