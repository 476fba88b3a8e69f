# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which VM a host is, and of which resource group: what counts more, and what does not count."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_names import (
    hosts_by_vm_name,
    inventory_scope,
    same_scope,
    scope_of,
    this_host_of,
    vm_name_of,
)

ID = "/subscriptions/S/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/x"
OTHER = "/subscriptions/T/resourceGroups/other"


def told(name):
    return {"maintenance_status": {"this_host": {"vm_name": name}}}


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        (None, "h"),
        ({}, "h"),
        (told("Web-0"), "Web-0"),
        ({"maintenance_vm_name": " web-1 "}, "web-1"),
        ({**told("web-0"), "maintenance_vm_name": "web-1"}, "web-0"),
        ({**told(""), "maintenance_vm_name": "web-1"}, "web-1"),
        ({"maintenance_vm_name": 42}, "42"),
        ({"maintenance_vm_name": 0}, "h"),
        ({"maintenance_vm_name": True}, "h"),
        ({"maintenance_vm_name": ["x"]}, "h"),
        ({"maintenance_vm_name": " "}, "h"),
        ({"maintenance_vm_name": ""}, "h"),
    ],
)
def test_the_vm_itself_counts_first_then_our_variable_then_the_host(variables, name):
    assert vm_name_of("h", variables) == name


@pytest.mark.parametrize("status", [None, 7, {}, {"this_host": None}, {"this_host": "web-0"}])
def test_what_a_vm_has_not_told(status):
    assert this_host_of({"maintenance_status": status}) == {}


@pytest.mark.parametrize(
    ("variables", "scope"),
    [
        (None, None),
        ({}, None),
        ({"subscription_id": "S"}, None),
        ({"resource_group": "RG"}, None),
        ({"subscription_id": "S", "resource_group": " RG "}, "s/rg"),
        ({"subscription_id": 1, "resource_group": 2}, "1/2"),
        ({"subscription_id": True, "resource_group": "RG"}, None),
        ({"id": ID}, "s/rg"),
        ({"resource_id": ID}, "s/rg"),
        ({"id": ID, "resource_id": OTHER}, "s/rg"),
        ({"id": "web-0", "resource_id": OTHER}, "t/other"),
        ({"id": 7, "resource_id": OTHER}, "t/other"),
        ({"id": ID, "resource_group": "mine"}, "s/mine"),
        ({"id": "subscriptions/S/resourceGroups/RG"}, None),
    ],
)
def test_the_resource_group_that_the_inventory_tells(variables, scope):
    assert inventory_scope(variables) == scope


def test_the_resource_group_that_a_vm_tells():
    assert scope_of({"subscription_id": "S", "resource_group": "RG"}) == "s/rg"
    assert scope_of({"subscription_id": "S", "resource_group": ""}) is None
    assert scope_of({"resource_group": "RG"}) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a", "a", True), ("a", "b", False), ("b", "a", False), (None, "a", True), ("a", None, True)],
)
def test_where_one_is_not_known_nothing_speaks_against_it(one, other, same):
    assert same_scope(one, other) is same


def test_hosts_of_one_name_stand_together_in_their_order():
    variables = {"b": told("WEB-0"), "a": {"maintenance_vm_name": "web-0"}}
    assert hosts_by_vm_name(["b", "web-1", "a"], variables) == {"web-0": ["b", "a"], "web-1": ["web-1"]}
