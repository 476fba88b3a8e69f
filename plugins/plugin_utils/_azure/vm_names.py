# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which inventory host is which VM: events name VMs, Ansible names hosts.

Pure: host variables in, names out.
"""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name, parse_resource_id

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
            subscription, group = parse_resource_id(resource_id)
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
        found.setdefault(canonical_name(vm_name_of(host, variables)), []).append(host)
    return found
