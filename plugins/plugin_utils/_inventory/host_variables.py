# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the variables of inventory hosts say about the VMs behind them. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import parse_resource_id
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import IDENTITY_VARIABLES
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.readings import (
    InventoryHost,
    normal_endpoint,
)

# As azure.azcollection.azure_rm names them, then as `maintenance_status.this_host` does.
_RESOURCE_GROUP = "resource_group"
_SUBSCRIPTION = "subscription_id"
_RESOURCE_IDS = ("id", "resource_id")
_VM_IDS = ("vmid", "vm_id")


class HostVariables:
    """Looks only for the few variables that matter: to merge all variables of 10,000 hosts takes seconds."""

    def __init__(
        self,
        inventory: t.Any,
        vm_name_from: t.Sequence[str],
        endpoint_var: str,
        delivery_group_var: str,
        more: t.Callable[[t.Any], dict[str, t.Any]] | None,
        resolve: t.Callable[[str, str, str], t.Any],
    ) -> None:
        self.inventory = inventory
        self.vm_name_from = vm_name_from
        self.endpoint_var = endpoint_var
        self.delivery_group_var = delivery_group_var
        self.more = more
        self.resolve = resolve
        self.wanted = frozenset((*vm_name_from, endpoint_var, delivery_group_var, *IDENTITY_VARIABLES, *_VM_IDS))
        found = ((group, self._of(group)) for group in inventory.groups.values())
        # Only groups that have something to say: mostly there are few, or none.
        self.of_groups = {group.name: variables for group, variables in found if variables}

    def _of(self, entity: t.Any) -> dict[str, t.Any]:
        variables = {name: entity.vars[name] for name in self.wanted.intersection(entity.vars)}
        if self.more:
            more = self.more(entity)
            variables.update((name, more[name]) for name in self.wanted.intersection(more))
        return variables

    def host(self, name: str) -> InventoryHost:
        host = self.inventory.hosts[name]
        variables = self._of(host)
        if self.of_groups:
            telling = [group for group in host.get_groups() if group.name in self.of_groups]
            # The order of ansible.inventory.helpers.sort_groups: what comes later wins, the host's own wins over all.
            for group in sorted(telling, key=lambda group: (group.depth, group.priority, group.name), reverse=True):
                variables = {**self.of_groups[group.name], **variables}

        known = {variable: self._text(name, variable, value) for variable, value in variables.items()}
        vm_name = self._vm_name(known)
        subscription, resource_group = self._home(known)
        endpoint = known.get(self.endpoint_var)
        return InventoryHost(
            name=name,
            vm_name=vm_name or name,
            vm_name_given=vm_name is not None,
            subscription=known.get(_SUBSCRIPTION) or subscription,
            resource_group=known.get(_RESOURCE_GROUP) or resource_group,
            vm_id=known.get(_VM_IDS[0]) or known.get(_VM_IDS[1]),
            delivery_group=known.get(self.delivery_group_var),
            endpoint=normal_endpoint(endpoint) if endpoint else None,
            identity=self._identity(known),
        )

    def _text(self, host: str, variable: str, value: t.Any) -> str | None:
        if isinstance(value, str) and ("{{" in value or "{%" in value):
            value = self.resolve(host, variable, value)
        return str(value).strip() or None if isinstance(value, (str, int)) else None

    def _vm_name(self, known: dict[str, str | None]) -> str | None:
        for variable in self.vm_name_from:
            if variable == "inventory_hostname":
                break
            if known.get(variable):
                return known[variable]
        return None

    def _identity(self, known: dict[str, str | None]) -> dict[str, str]:
        found = {name: text for name in IDENTITY_VARIABLES if (text := known.get(name))}
        # A variable that the user names for it is as good as ours.
        own = [name for name in self.vm_name_from if name not in (*IDENTITY_VARIABLES, "inventory_hostname")]
        given = next((text for name in own if (text := known.get(name))), None)
        return {"maintenance_vm_name": given, **found} if given else found

    @staticmethod
    def _home(known: dict[str, str | None]) -> tuple[str | None, str | None]:
        for variable in _RESOURCE_IDS:
            resource_id = known.get(variable)
            if resource_id and resource_id.startswith("/"):
                return parse_resource_id(resource_id)
        return None, None
