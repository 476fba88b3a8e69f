# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hosts that claim to be one VM: the inventory is believed, and nobody where it does not say."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_claims import settle_claims

SCOPED = {"resource_group": "RG", "subscription_id": "S"}
OTHER = {"resource_group": "other", "subscription_id": "S"}


def settled(inventory, name="web-0", scopes=None):
    """For each set of rivals: the one that it is, and those that are refused."""
    told = {host: (scopes or {}).get(host) for host in inventory}
    claims = settle_claims({name: list(inventory)}, told, lambda hosts: {host: inventory[host] for host in hosts})
    assert all(claim.vm_name == name for claim in claims)
    return [(claim.host, claim.refused) for claim in claims]


@pytest.mark.parametrize(
    ("inventory", "the_one"),
    [
        pytest.param({"a": {"maintenance_vm_name": "web-0"}, "b": {}}, "a", id="our variable says it"),
        pytest.param({"a": {"maintenance_vm_name": " WEB-0 "}, "b": {}}, "a", id="in any case"),
        pytest.param({"a": {}, "b": {"maintenance_vm_name": "web-0"}}, "b", id="of the second"),
        pytest.param({"a": {"name": "web-0", **SCOPED}, "b": {}}, "a", id="a name with its resource group"),
        pytest.param({"a": {"computer_name": "web-0", **SCOPED}, "b": {}}, "a", id="a computer name with it"),
        pytest.param({"a": {"name": "web-0"}, "b": {}}, None, id="a name alone is no claim"),
        pytest.param({"a": {"name": "web-0"}, "web-0": {}}, "web-0", id="what a host is called"),
        pytest.param({"a": {}, "WEB-0": {}}, "WEB-0", id="in any case, too"),
        pytest.param({"web-0": {"maintenance_vm_name": "x"}, "b": {}}, None, id="called so and told otherwise"),
        pytest.param({"web-0": {"maintenance_vm_name": "a"}, "b": {}}, None, id="told a name that is before it"),
        pytest.param({"web-0": {"maintenance_vm_name": "zz"}, "b": {}}, None, id="told a name that is after it"),
        pytest.param({"web-0": {"name": "x"}, "b": {}}, "web-0", id="a name alone does not speak against it"),
        pytest.param({"web-0": {"maintenance_vm_name": "web-0"}, "b": {}}, "web-0", id="called and told so"),
        pytest.param({"a": {}, "b": {}}, None, id="nobody is called so"),
        pytest.param({"zz": {}, "b": {}}, None, id="nobody, before and after in the alphabet"),
        pytest.param(
            {"a": {"maintenance_vm_name": "web-0"}, "b": {"maintenance_vm_name": "web-0"}}, None, id="both are told so"
        ),
        pytest.param({"web-0": {}, "b": {"maintenance_vm_name": "web-0"}}, "b", id="a variable counts more"),
        pytest.param({"a": {"maintenance_vm_name": "web-0", "name": "x"}, "b": {}}, "a", id="ours counts more"),
        pytest.param({"a": {"name": "x", "computer_name": "web-0", **SCOPED}, "b": {}}, None, id="the first counts"),
        pytest.param({"a": {"name": " ", "computer_name": "web-0", **SCOPED}, "b": {}}, "a", id="blanks do not"),
        pytest.param({"a": {"maintenance_vm_name": True, "name": "web-0", **SCOPED}, "b": {}}, "a", id="nor does true"),
    ],
)
def test_which_of_two_it_is(inventory, the_one):
    assert settled(inventory) == [(the_one, [host for host in inventory if host != the_one])]


def test_a_vm_that_is_called_by_a_number():
    assert settled({"a": {"maintenance_vm_name": 42}, "b": {}}, name="42") == [("a", ["b"])]


def test_a_host_that_says_another_resource_group_than_the_inventory_is_not_the_one():
    inventory = {"a": {"maintenance_vm_name": "web-0", **OTHER}, "b": {}}
    assert settled(inventory, scopes={"a": "s/rg"}) == [(None, ["a", "b"])]
    assert settled(inventory, scopes={"a": "s/other"}) == [("a", ["b"])]


def test_vms_of_different_resource_groups_are_no_rivals():
    assert settled({"a": {}, "b": {}}, scopes={"a": "s/one", "b": "s/two"}) == []
    assert settled({"a": SCOPED, "b": OTHER}) == []
    assert settled({"a": SCOPED, "b": SCOPED}) == [(None, ["a", "b"])]


def test_whose_group_nobody_knows_is_the_rival_of_all():
    scopes = {"a": "s/one", "b": "s/two"}
    assert settled({"a": {}, "b": {}, "web-0": {}}, scopes=scopes) == [("web-0", ["a"]), ("web-0", ["b"])]


def test_three_of_whom_the_last_is_the_one():
    inventory = {"a": {}, "b": {}, "web-0": {}}
    assert settled(inventory) == [("web-0", ["a", "b"])]
