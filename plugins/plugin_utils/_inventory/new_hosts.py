# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts for VMs that no source of the inventory defines (`create_hosts`). Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.hosts_by_name import HostsByName, lower_case
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.knowledge import VmWithoutHost
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.overlay_data import OverlaySettings
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.readings import InventoryHost

# What Azure allows in a VM's name. Anything else must not become a host, whose name ends up in templates and paths.
_VM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# Ansible takes these for the controller, or for groups.
_NO_HOSTS = frozenset(("localhost", "127.0.0.1", "all", "ungrouped"))


def new_hosts(
    without_host: t.Sequence[VmWithoutHost],
    answerers: dict[tuple[str | None, str | None, str], VmWithoutHost],
    fleet: HostsByName,
    settings: OverlaySettings,
) -> list[InventoryHost]:
    """Hosts for VMs that no source defines. Of the same name in several resource groups: one each, told apart."""
    by_name: dict[str, dict[str | None, VmWithoutHost]] = {}
    for vm in (*answerers.values(), *without_host):
        homes = by_name.setdefault(canonical_name(vm.vm_name), {})
        homes.setdefault(lower_case(vm.scope.resource_group), vm)
    taken = {*map(str.casefold, fleet.hosts), *map(str.casefold, settings.reserved), *_NO_HOSTS}
    new = []
    for homes in by_name.values():
        if len(homes) > 1:
            # What does not say where it lives is one of those that do.
            homes.pop(None, None)
        for vm in homes.values():
            name = vm.vm_name
            if len(homes) > 1 or (name.casefold() in taken and name.casefold() not in _NO_HOSTS):
                name = f"{name}_{vm.scope.resource_group or ''}"
            if not _VM_NAME.fullmatch(name) or name.endswith("_") or name.casefold() in taken:
                continue
            taken.add(name.casefold())
            new.append(InventoryHost(name, vm.vm_name, True, vm.scope.subscription, vm.scope.resource_group))
    return new
