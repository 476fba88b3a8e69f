# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a VM is: /metadata/instance and /metadata/versions."""

from __future__ import annotations

import re

import pytest
from helpers.simulator_process import Simulator

NEWEST = "2025-04-07"
FLEET = {
    "groups": {
        "pool": {"kind": "scale_set", "location": "northeurope"},
        "flex": {"kind": "scale_set", "resource_group": "rg-flex"},
        "web": {"kind": "availability_set"},
    },
    "vms": [
        {"name": "alone", "tags": {"team": "ops", "app": "x"}},
        {"name": "zonal", "zone": 2, "priority": "Spot"},
        {"name": "pool_18", "group": "pool"},
        {"name": "flex_1a2b3c4d", "group": "flex"},
        {"name": "web-0", "group": "web"},
        {"name": "web-1", "group": "web", "fault_domain": "1", "update_domain": 4, "computer_name": "other"},
        {"name": "changed", "compute": {"zone": "3", "osProfile": {"computerName": "host"}, "future": "field"}},
    ],
}
GUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
SINCE = {
    "name": "2017-04-02", "vmId": "2017-04-02", "location": "2017-04-02", "platformUpdateDomain": "2017-04-02",
    "platformFaultDomain": "2017-04-02", "resourceGroupName": "2017-08-01", "subscriptionId": "2017-08-01",
    "placementGroupId": "2017-08-01", "tags": "2017-08-01", "vmScaleSetName": "2017-12-01", "zone": "2017-12-01",
    "azEnvironment": "2018-10-01", "resourceId": "2019-03-11", "tagsList": "2019-06-04",
    "isHostCompatibilityLayerVm": "2020-06-01", "osProfile": "2020-07-15", "priority": "2020-12-01",
    "evictionPolicy": "2020-12-01", "virtualMachineScaleSet": "2021-03-01", "extendedLocation": "2021-03-01",
    "platformSubFaultDomain": "2021-10-01", "host": "2021-11-15", "hostGroup": "2021-11-15",
    "physicalZone": "2023-11-15", "plan": "2018-04-02", "publicKeys": "2018-04-02", "provider": "2018-10-01",
    "customData": "2019-02-01", "storageProfile": "2019-06-01", "securityProfile": "2020-06-01",
    "licenseType": "2020-09-01", "userData": "2021-01-01", "additionalCapabilities": "2021-11-01",
}  # fmt: skip


@pytest.fixture(scope="module")
def fleet():
    with Simulator(FLEET, requests_per_second=0) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def versions(fleet):
    return fleet.ask("alone", "/metadata/versions").json["apiVersions"]


def instance(simulator, vm, below="", version=NEWEST, text=False):
    return simulator.ask(vm, f"/metadata/instance{below}?api-version={version}" + ("&format=text" if text else ""))


def compute(simulator, vm, version=NEWEST):
    return instance(simulator, vm, "/compute", version).json


def test_versions_are_listed_without_an_api_version(versions):
    assert versions[0] == "2017-03-01"
    assert versions[-1] == NEWEST
    assert len(versions) == 35


def test_the_list_of_versions_does_not_hold_those_of_events_inferred(versions):
    """[I] from comparing the two documented lists."""
    assert not {"2020-07-01", "2019-01-01", "2019-04-01", "2017-11-01"} & set(versions)


def test_every_listed_version_is_answered(fleet, versions):
    assert [instance(fleet, "alone", version=version).status for version in versions] == [200] * len(versions)


@pytest.mark.parametrize(("field", "since"), SINCE.items())
def test_a_compute_field_shows_from_its_version_on(fleet, versions, field, since):
    before = versions[versions.index(since) - 1]
    assert field in compute(fleet, "alone", since)
    assert field not in compute(fleet, "alone", before)


def test_every_vm_has_its_own_address_and_name(fleet):
    names = {vm: compute(fleet, vm)["name"] for vm in fleet.endpoints}
    assert names == {vm: vm for vm in fleet.endpoints}
    assert len(set(fleet.endpoints.values())) == len(names)


def test_ids_have_the_shapes_of_azure(fleet):
    about = compute(fleet, "alone")
    assert re.fullmatch(GUID, about["vmId"])
    assert re.fullmatch(GUID, about["subscriptionId"])
    assert about["resourceId"] == (
        f"/subscriptions/{about['subscriptionId']}/resourceGroups/{about['resourceGroupName']}"
        "/providers/Microsoft.Compute/virtualMachines/alone"
    )
    assert len({compute(fleet, vm)["vmId"] for vm in fleet.endpoints}) == len(fleet.endpoints)


def test_ids_are_the_same_in_every_run(fleet):
    with Simulator(FLEET) as again:
        assert compute(again, "alone") == compute(fleet, "alone")


def test_single_values_are_texts_and_what_is_absent_is_an_empty_text(fleet):
    about = compute(fleet, "alone")
    single = [value for value in about.values() if not isinstance(value, (dict, list))]
    assert all(isinstance(value, str) for value in single)
    assert [about[name] for name in ("zone", "vmScaleSetName", "placementGroupId", "priority")] == [""] * 4


@pytest.mark.parametrize("field", ["customData", "licenseType", "userData", "plan/name", "plan/product", "host/id"])
def test_a_documented_field_that_the_vm_has_no_value_for_is_an_empty_text_not_missing(fleet, field):
    answer = instance(fleet, "alone", f"/compute/{field}", text=True)
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize(
    ("branch", "leaf", "since"),
    [
        ("osProfile", "computerName", "2020-07-15"),
        ("osProfile", "disablePasswordAuthentication", "2020-10-01"),
        ("securityProfile", "secureBootEnabled", "2020-06-01"),
        ("securityProfile", "encryptionAtHost", "2021-11-01"),
        ("securityProfile", "securityType", "2021-12-13"),
    ],
)
def test_a_field_below_another_shows_from_its_own_version_on(fleet, versions, branch, leaf, since):
    before = versions[versions.index(since) - 1]
    assert leaf in compute(fleet, "alone", since)[branch]
    assert leaf not in compute(fleet, "alone", before).get(branch, {})


def test_a_leaf_is_given_with_format_text(fleet):
    answer = instance(fleet, "alone", "/compute/name", text=True)
    assert (answer.status, answer.body) == (200, b"alone")
    assert answer.headers["content-type"].startswith("text/plain")
    assert instance(fleet, "pool_18", "/compute/osProfile/computerName", text=True).body == b"pool00000i"
    assert instance(fleet, "alone", "/network/interface/0/ipv4/ipAddress/0/privateIpAddress", text=True).status == 200


def test_a_leaf_without_format_text_is_a_bad_request(fleet):
    assert instance(fleet, "alone", "/compute/name").status == 400


def test_a_branch_with_format_text_lists_what_is_below_observed(fleet):
    """[O]"""
    assert instance(fleet, "alone", text=True).body == b"compute/\nnetwork/"


@pytest.mark.parametrize("below", ["/nothing", "/compute/nothing", "/compute/name/more", "/network/interface/7"])
def test_an_element_that_does_not_exist_is_not_found(fleet, below):
    assert instance(fleet, "alone", below, text=True).status == 404


def test_a_vm_of_a_uniform_scale_set_is_named_by_number_and_its_host_in_base_36(fleet):
    """The name is [D], the base 36 of the computer name [O]."""
    about = compute(fleet, "pool_18")
    assert about["name"] == "pool_18"
    assert about["osProfile"]["computerName"] == "pool00000i"
    assert about["vmScaleSetName"] == "pool"
    assert about["resourceId"].endswith("/virtualMachineScaleSets/pool/virtualMachines/18")
    assert re.fullmatch(GUID, about["placementGroupId"])
    assert about["virtualMachineScaleSet"]["id"] == ""
    assert about["location"] == "northeurope"


def test_a_vm_of_a_flexible_scale_set_names_the_scale_set_by_id(fleet):
    about = compute(fleet, "flex_1a2b3c4d")
    assert about["resourceId"].endswith("/rg-flex/providers/Microsoft.Compute/virtualMachines/flex_1a2b3c4d")
    assert about["virtualMachineScaleSet"]["id"].endswith("/virtualMachineScaleSets/flex")


def test_domains_are_texts_given_or_counted_through(fleet):
    first, second = compute(fleet, "web-0"), compute(fleet, "web-1")
    assert (first["platformUpdateDomain"], first["platformFaultDomain"]) == ("0", "0")
    assert (second["platformUpdateDomain"], second["platformFaultDomain"]) == ("4", "1")
    assert second["osProfile"]["computerName"] == "other"


def test_a_zonal_vm_has_a_zone_and_no_update_domain_inferred(fleet):
    """[I] that the update domain is empty then; a fleet file may say otherwise."""
    about = compute(fleet, "zonal")
    assert (about["zone"], about["platformUpdateDomain"]) == ("2", "")
    assert (about["priority"], about["evictionPolicy"]) == ("Spot", "Deallocate")


def test_tags_are_one_text_and_a_list(fleet):
    about = compute(fleet, "alone")
    assert about["tags"] == "app:x;team:ops"
    assert about["tagsList"] == [{"name": "app", "value": "x"}, {"name": "team", "value": "ops"}]


def test_a_fleet_file_may_override_any_compute_field(fleet):
    about = compute(fleet, "changed")
    assert (about["zone"], about["future"]) == ("3", "field")
    assert about["osProfile"]["computerName"] == "host"
    assert about["osProfile"]["adminUsername"] == "azureuser"


def test_asking_for_the_identity_does_not_switch_events_on_inferred(start):
    """[I] The documentation names the first call for events."""
    simulator = start()
    assert compute(simulator, "web-0")["name"] == "web-0"
    assert [group["service"] for group in simulator.state()["groups"]] == ["off"]
