# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of the inventory, by the names under which a reading may mean them, and where each lives. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.readings import InventoryHost, Reading


class Home(t.NamedTuple):
    subscription: str | None
    resource_group: str | None

    def denies(self, host: InventoryHost) -> bool:
        """Whether the host is known to live elsewhere. A delivery group is never larger than a resource group."""
        return differ(self.resource_group, host.resource_group) or differ(self.subscription, host.subscription)

    def confirms(self, host: InventoryHost) -> bool:
        return self.resource_group is not None and host.resource_group is not None and not self.denies(host)


def differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one.casefold() != other.casefold()


def lower_case(text: str | None) -> str | None:
    return None if text is None else text.casefold()


class HostsByName:
    """The hosts, by the names under which they may be met."""

    def __init__(self, hosts: t.Iterable[InventoryHost]) -> None:
        self.hosts = {host.name: host for host in hosts}
        self.by_vm_name: dict[str, list[InventoryHost]] = {}

    def _index(self) -> None:
        self.by_vm_name.clear()
        for host in self.hosts.values():
            self.by_vm_name.setdefault(canonical_name(host.vm_name), []).append(host)

    def believe(self, readings: t.Iterable[Reading]) -> None:
        """Learn who a host is from a reading that is its own."""
        for reading in readings:
            host = self.hosts.get(reading.hosts[0]) if len(reading.hosts) == 1 else None
            if host is None or reading.this_host is None:
                continue
            name = reading.this_host["vm_name"] or host.vm_name
            # An endpoint may be a neighbour's, which was written down for this host on purpose.
            if not reading.told_by_host and host.vm_name_given and canonical_name(name) != canonical_name(host.vm_name):
                continue
            self.hosts[host.name] = dataclasses.replace(
                host,
                vm_name=name,
                subscription=reading.this_host["subscription_id"] or host.subscription,
                resource_group=reading.this_host["resource_group"] or host.resource_group,
                vm_id=reading.this_host["vm_id"] or host.vm_id,
            )
        self._index()


class NameMatch(t.NamedTuple):
    """The hosts that a name means; or those of which it may mean any."""

    hosts: t.Sequence[InventoryHost] = ()
    candidates: t.Sequence[InventoryHost] = ()


def are_one_vm(hosts: t.Sequence[InventoryHost]) -> bool:
    if hosts[0].vm_id is not None:
        return all(lower_case(host.vm_id) == lower_case(hosts[0].vm_id) for host in hosts)
    homes = {(lower_case(host.subscription), lower_case(host.resource_group)) for host in hosts}
    return len(homes) == 1 and None not in homes.pop()
