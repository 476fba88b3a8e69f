# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a VM is, field by field."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import part
from hypothesis import given
from hypothesis import strategies as st

vm_part = part("vm")
NEWEST = "2025-04-07"
SUBSCRIPTION = "73762c7a-bf39-535c-bf1c-1349ea148a86"


def vms(*specs, **groups):
    fleet = part("fleet").Fleet({"vms": [{"name": "web-0", **spec} for spec in specs], "groups": groups}, "quick")
    return list(fleet.vms.values())


def compute(spec=None, version=NEWEST, **groups):
    (vm,) = vms(spec or {}, **groups)
    return vm.instance_document(version)["compute"]


def test_a_vm_alone():
    about = compute({"tags": {"team": "ops", "app": "x"}, "subscription_id": "S", "resource_group": "R", "vm_id": "V"})
    provider = "/subscriptions/S/resourceGroups/R/providers/Microsoft.Compute"
    expected = {
        "azEnvironment": "AzurePublicCloud",
        "evictionPolicy": "",
        "location": "westeurope",
        "name": "web-0",
        "offer": "debian-12",
        "osProfile": {
            "adminUsername": "azureuser",
            "computerName": "web-0",
            "disablePasswordAuthentication": "true",
        },
        "osType": "Linux",
        "placementGroupId": "",
        "platformFaultDomain": "0",
        "platformUpdateDomain": "0",
        "priority": "",
        "provider": "Microsoft.Compute",
        "publisher": "Debian",
        "resourceGroupName": "R",
        "resourceId": provider + "/virtualMachines/web-0",
        "sku": "12-gen2",
        "subscriptionId": "S",
        "tags": "app:x;team:ops",
        "tagsList": [{"name": "app", "value": "x"}, {"name": "team", "value": "ops"}],
        "version": "latest",
        "virtualMachineScaleSet": {"id": ""},
        "vmId": "V",
        "vmScaleSetName": "",
        "vmSize": "Standard_D2s_v5",
        "zone": "",
    }
    assert {name: about[name] for name in expected} == expected
    assert set(about) - set(expected) == set(part("azure_facts").EMPTY_COMPUTE_FIELDS)


def test_ids_are_made_from_names_and_the_same_in_every_run():
    about = compute()
    assert about["resourceGroupName"] == "rg-simulated"
    assert (about["subscriptionId"], about["vmId"]) == (
        vm_part.stable_guid("subscription"),
        vm_part.stable_guid("vm", about["subscriptionId"], "rg-simulated", "web-0"),
    )
    assert about["subscriptionId"] == SUBSCRIPTION


def test_a_vm_of_a_group_takes_what_the_group_says_unless_it_says_otherwise():
    group = {"resource_group": "R", "subscription_id": "S", "location": "L"}
    about = compute({"group": "g", "location": "M"}, g=group)
    assert (about["resourceGroupName"], about["subscriptionId"], about["location"]) == ("R", "S", "M")
    assert compute({"group": "g"}, g={})["resourceGroupName"] == "rg-g"


@pytest.mark.parametrize(("priority", "policy"), [("Spot", "Deallocate"), ("Regular", ""), ("Low", "")])
def test_only_spot_vms_have_an_eviction_policy(priority, policy):
    about = compute({"priority": priority})
    assert (about["priority"], about["evictionPolicy"]) == (priority, policy)


@pytest.mark.parametrize(
    ("kind", "fault", "update"),
    [
        ("availability_set", "010101", "012340"),
        ("scale_set", "012340", "012340"),
        ("cloud_service", "012340", "012340"),
        ("standalone", "000000", "000000"),
    ],
)
def test_domains_are_counted_through(kind, fault, update):
    made = vms(*[{"name": f"vm{number}", "group": "g"} for number in range(6)], g={"kind": kind})
    assert "".join(vm.compute["platformFaultDomain"] for vm in made) == fault
    assert "".join(vm.compute["platformUpdateDomain"] for vm in made) == update


def test_domains_of_zonal_vms_are_empty_unless_given():
    about = compute({"zone": 2, "fault_domain": 0})
    assert (about["zone"], about["platformFaultDomain"], about["platformUpdateDomain"]) == ("2", "0", "")


def test_domains_may_be_given():
    about = compute({"fault_domain": "7", "update_domain": 8})
    assert (about["platformFaultDomain"], about["platformUpdateDomain"]) == ("7", "8")


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("pool_0", "pool000000"),
        ("pool_9", "pool000009"),
        ("pool_10", "pool00000a"),
        ("pool_35", "pool00000z"),
        ("pool_36", "pool000010"),
        ("pool_1296", "pool000100"),
    ],
)
def test_a_vm_of_a_uniform_scale_set(name, host):
    about = compute({"name": name, "group": "g"}, g={"kind": "scale_set", "name": "pool"})
    assert about["osProfile"]["computerName"] == host
    number = name.partition("_")[2]
    assert about["resourceId"].endswith(f"Compute/virtualMachineScaleSets/pool/virtualMachines/{number}")
    assert (about["vmScaleSetName"], about["virtualMachineScaleSet"]["id"]) == ("pool", "")
    assert about["placementGroupId"] == vm_part.stable_guid("placement group", "g")


@pytest.mark.parametrize("name", ["pool_1a", "pool-1", "xpool_1", "pool_", "other"])
def test_a_vm_of_a_flexible_scale_set(name):
    about = compute({"name": name, "group": "g"}, g={"kind": "scale_set", "name": "pool", "placement_group_id": ""})
    assert about["osProfile"]["computerName"] == name
    assert about["resourceId"].endswith(f"Compute/virtualMachines/{name}")
    assert about["virtualMachineScaleSet"]["id"] == (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-g/providers/Microsoft.Compute/virtualMachineScaleSets/pool"
    )
    assert about["placementGroupId"] == ""


@pytest.mark.parametrize("kind", ["availability_set", "cloud_service", "standalone"])
def test_a_vm_of_another_group_is_in_no_scale_set(kind):
    about = compute({"name": "g_1", "group": "g"}, g={"kind": kind})
    assert (about["vmScaleSetName"], about["placementGroupId"], about["virtualMachineScaleSet"]) == ("", "", {"id": ""})
    assert about["osProfile"]["computerName"] == "g_1"
    assert about["resourceId"].endswith("/virtualMachines/g_1")


def test_a_name_with_odd_letters_is_no_pattern():
    about = compute({"name": "poolx_1", "group": "g"}, g={"kind": "scale_set", "name": "pool."})
    assert about["osProfile"]["computerName"] == "poolx_1"


def test_the_host_may_have_another_name():
    assert compute({"computer_name": "other"})["osProfile"]["computerName"] == "other"


def test_fields_may_be_overridden_leaf_by_leaf():
    about = compute({"compute": {"osProfile": {"computerName": "x"}, "host": "h", "plan": None, "zone": {"a": "b"}}})
    assert about["osProfile"] == {
        "adminUsername": "azureuser",
        "computerName": "x",
        "disablePasswordAuthentication": "true",
    }
    assert (about["host"], about["plan"], about["zone"]) == ("h", None, {"a": "b"})


def test_a_field_shows_from_its_version_on_and_in_the_order_of_its_name():
    about = compute(version="2017-04-02")
    assert list(about) == [
        "location", "name", "offer", "osType", "platformFaultDomain", "platformUpdateDomain", "publisher", "sku",
        "version", "vmId", "vmSize",
    ]  # fmt: skip
    assert compute(version="2017-03-01") == {}
    assert compute({"compute": {"x": "y"}}, version="2017-03-01") == {"x": "y"}
    assert "disablePasswordAuthentication" not in compute(version="2020-07-15")["osProfile"]


def test_the_network():
    first, second = vms({}, {"name": "b", "address": "::1"})
    assert first.instance_document(NEWEST)["network"] == {
        "interface": [
            {
                "ipv4": {
                    "ipAddress": [{"privateIpAddress": "127.81.0.1", "publicIpAddress": ""}],
                    "subnet": [{"address": "10.0.0.0", "prefix": "16"}],
                },
                "ipv6": {"ipAddress": []},
                "macAddress": "000D3A000001",
            }
        ]
    }
    assert second.instance_document(NEWEST)["network"]["interface"][0]["macAddress"] == "000D3A000002"


@given(st.integers(1, 10**9))
def test_base_36_is_what_python_reads(number):
    assert int(vm_part.base36(number), 36) == number
    assert vm_part.base36(number)[0] != "0"


def test_base_36_of_nothing():
    assert vm_part.base36(0) == ""


def test_what_is_empty_is_empty_as_in_azure():
    assert part("azure_facts").EMPTY_COMPUTE_FIELDS["storageProfile"]["resourceDisk"] == {"size": "0"}
