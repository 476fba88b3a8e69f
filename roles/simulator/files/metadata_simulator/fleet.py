# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet: what the fleet file describes."""

import collections
import ipaddress
import json

from .delivery_scope import Scope
from .group import GROUP_RULES, Group
from .input_checks import InputError, a_list, an_object, checked, same_name
from .settings import PROFILES, SETTING_RULES
from .vm import VM_RULES, Vm

FLEET_RULES = {"vms": a_list, "groups": an_object, "events": a_list, "maintenance": a_list, "settings": an_object}


class Fleet:
    """The VMs, groups and delivery scopes of a fleet file."""

    def __init__(self, document, profile):
        top = checked("the fleet", document, FLEET_RULES, required=["vms"])
        if not top["vms"]:
            raise InputError('the fleet: "vms" is empty; name at least one VM')
        self.profile = profile
        self.settings = dict(PROFILES[profile], **checked("settings", top.get("settings", {}), SETTING_RULES))
        self.groups = {
            key: Group(key, checked("group %s" % json.dumps(key), spec, GROUP_RULES))
            for key, spec in top.get("groups", {}).items()
        }
        self.event_specs = top.get("events", [])
        self.maintenance_specs = top.get("maintenance", [])
        self.vms = collections.OrderedDict()
        self.scopes = collections.OrderedDict()
        for number, spec in enumerate(top["vms"]):
            self._add_vm(number, checked("vms[%d]" % number, spec, VM_RULES, required=["name"]))
        for group in self.groups.values():
            if group.shares_events:
                self._scope(group.key, group)
        self._choose_addresses()

    def _add_vm(self, number, spec):
        group = None
        if "group" in spec:
            # A group that is only named, never described, is an availability set.
            group = self.groups.setdefault(spec["group"], Group(spec["group"], {}))
        vm = Vm(spec, group, group.size if group else number)
        if vm.key in self.vms:
            raise InputError(
                'two VMs are called %s; VMs of one name in different groups need a "key" each' % json.dumps(vm.key)
            )
        if group:
            group.size += 1
        self.vms[vm.key] = vm
        vm.scope = self._scope(group.key if group and group.shares_events else "vm:" + vm.key, group)
        if any(same_name(other.name, vm.name) for other in vm.scope.vms):
            raise InputError("two VMs of group %s are called %s" % (json.dumps(vm.scope.name), json.dumps(vm.name)))
        vm.scope.vms.append(vm)

    def _scope(self, name, group):
        if name not in self.scopes:
            self.scopes[name] = Scope(name, group, self.settings)
        return self.scopes[name]

    def _choose_addresses(self):
        taken = {}
        for vm in self.vms.values():
            if vm.address is None:
                continue
            try:
                vm.address = str(ipaddress.ip_address(vm.address))
            except ValueError:
                raise InputError(
                    "VM %s: %s is not an IP address" % (json.dumps(vm.key), json.dumps(vm.address))
                ) from None
            place = (vm.network_namespace, vm.address, vm.port)
            if vm.port != 0 and place in taken:
                raise InputError(
                    "VMs %s and %s have the same address %s"
                    % (json.dumps(taken[place]), json.dumps(vm.key), vm.address)
                )
            taken[place] = vm.key
        used = {address for _dummy, address, _dummy in taken}
        free = (str(address) for address in ipaddress.ip_network("127.81.0.0/16").hosts())
        for vm in self.vms.values():
            while vm.address is None:
                address = next(free)
                vm.address = None if address in used else address
