# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hosts that claim to be one VM: which of them the inventory says it is. Pure.

A host says itself which VM it is, so that a host that lies may say that it is another one. The inventory is believed.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_names import inventory_scope, same_scope

# Host variables that say which VM a host is: ours, then as azure.azcollection.azure_rm names them.
CLAIM_VARIABLES = ("maintenance_vm_name", "name", "computer_name")
# The inventory's variables of these hosts. Asked for only where hosts claim one VM.
InventoryOf: t.TypeAlias = Callable[[Sequence[str]], Mapping[str, Mapping[str, t.Any]]]


class Claim(t.NamedTuple):
    """Hosts that claim one VM."""

    # The name in the form in which names are compared.
    vm_name: str
    # The host that it is, as the inventory says; None where the inventory does not say it.
    host: str | None
    # Not drained, not approved for, and they cover nothing.
    refused: list[str]


def settle_claims(
    by_name: Mapping[str, Sequence[str]], scopes: Mapping[str, str | None], inventory_of: InventoryOf
) -> list[Claim]:
    """`by_name` has the hosts of each name that more than one host claims, `scopes` what each said about its scope."""
    claims = []
    for name, hosts in by_name.items():
        inventory = inventory_of(hosts)
        for rivals in _rivals(hosts, scopes, inventory):
            true = _the_one(rivals, name, scopes, inventory)
            claims.append(Claim(name, true, [host for host in rivals if host != true]))
    return claims


def _rivals(
    hosts: Sequence[str], scopes: Mapping[str, str | None], inventory: Mapping[str, Mapping[str, t.Any]]
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
    inventory: Mapping[str, Mapping[str, t.Any]],
) -> str | None:
    said = [host for host in rivals if _told(name, scopes[host], inventory.get(host))]
    # What a host is called counts where no variable says anything.
    found = said or [host for host in rivals if _is_called(host, name, inventory.get(host))]
    return found[0] if len(found) == 1 else None


def _told(name: str, scope: str | None, variables: Mapping[str, t.Any] | None) -> bool:
    """Whether a variable says that the host is the VM of this name, and none that it is of another resource group."""
    told = _first_text(variables, CLAIM_VARIABLES)
    if told is None or canonical_name(told) != name or not same_scope(scope, inventory_scope(variables)):
        return False
    # A `name` alone is a word that anybody uses for anything; with the resource group it is Azure's.
    return _first_text(variables, CLAIM_VARIABLES[:1]) is not None or inventory_scope(variables) is not None


def _is_called(host: str, name: str, variables: Mapping[str, t.Any] | None) -> bool:
    told = _first_text(variables, CLAIM_VARIABLES[:1])
    return canonical_name(host) == name and (told is None or canonical_name(told) == name)


def _first_text(variables: Mapping[str, t.Any] | None, names: Iterable[str]) -> str | None:
    for name in names:
        value = variables.get(name) if variables is not None else None
        # A number is what YAML makes of a VM called 42.
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return None
