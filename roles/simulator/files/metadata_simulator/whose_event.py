# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which delivery scope an event belongs to, and the VMs that it names."""

import json

from .input_checks import InputError, same_name


def scope_and_names(fleet, spec, what):
    """The delivery scope that an event belongs to, and its resources under the names that Azure would print."""
    wanted = spec.get("resources", [])
    given = given_scope(fleet, spec.get("group"), what)
    known = [vm_called(fleet, word, given) for word in wanted]
    if given is None and not wanted:
        raise InputError('%s: name the VMs in "resources", or give a "group"' % what)
    if given is None and None in known:
        raise InputError(
            '%s: no VM of the fleet is called %s; give a "group" to name a VM that nobody plays'
            % (what, json.dumps(wanted[known.index(None)]))
        )
    scopes = {vm.scope.name for vm in known if vm} | ({given.name} if given else set())
    if len(scopes) > 1:
        raise InputError(
            "%s: its VMs belong to different delivery groups (%s), and one event belongs to one"
            % (what, ", ".join(sorted(scopes)))
        )
    # Azure does not always write a name as the VM itself does.
    names = [vm.name if vm and not same_name(vm.name, word) else word for vm, word in zip(known, wanted)]
    return fleet.scopes[scopes.pop()], names


def vm_called(fleet, word, scope):
    in_scope = [vm for vm in scope.vms if word == vm.key or same_name(word, vm.name)] if scope else []
    in_another_case = [vm for vm in fleet.vms.values() if same_name(word, vm.key)]
    return in_scope[0] if in_scope else fleet.vms.get(word, in_another_case[0] if len(in_another_case) == 1 else None)


def given_scope(fleet, name, what):
    if name is None:
        return None
    if name in fleet.scopes:
        return fleet.scopes[name]
    if name in fleet.groups:
        # VMs of this group see only their own events: the resources decide.
        return None
    raise InputError("%s: there is no group %s; groups are %s" % (what, json.dumps(name), ", ".join(fleet.scopes)))
