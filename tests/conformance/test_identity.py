# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a VM is: /metadata/instance and /metadata/versions."""

from __future__ import annotations

import re

import pytest

NEWEST = "2025-04-07"
FLEET = {
    "groups": {
        "pool": {"kind": "scale_set", "location": "northeurope"},
        "flex": {"kind": "scale_set", "resource_group": "rg-flex"},
    },
    "vms": [
        {"name": "alone", "tags": {"team": "ops", "app": "x"}},
        {"name": "zonal", "zone": 2},
        {"name": "pool_18", "group": "pool"},
        {"name": "flex_1a2b3c4d", "group": "flex"},
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
    "osProfile.computerName": "2020-07-15", "osProfile.disablePasswordAuthentication": "2020-10-01",
    "securityProfile.secureBootEnabled": "2020-06-01", "securityProfile.encryptionAtHost": "2021-11-01",
    "securityProfile.securityType": "2021-12-13",
}  # fmt: skip


@pytest.fixture
def fleet(start):
    return start(FLEET)


@pytest.fixture
def versions(fleet):
    return fleet.ask("alone", "/metadata/versions").json["apiVersions"]


def instance(simulator, vm, below="", version=NEWEST, text=False):
    return simulator.ask(vm, f"/metadata/instance{below}?api-version={version}" + ("&format=text" if text else ""))


def compute(simulator, vm, version=NEWEST):
    return instance(simulator, vm, "/compute", version).json


def test_versions_are_listed_without_an_api_version_and_each_is_answered_documented(fleet, versions):
    assert (len(versions), versions[0], versions[-1]) == (35, "2017-03-01", NEWEST)
    assert [instance(fleet, "alone", version=version).status for version in versions] == [200] * len(versions)


def test_the_list_of_versions_does_not_hold_those_of_events_inferred(versions):
    """From comparing the two documented lists."""
    assert not {"2020-07-01", "2019-01-01", "2019-04-01", "2017-11-01"} & set(versions)


def test_a_compute_field_shows_from_its_version_on_documented(fleet, versions):
    shown = {version: compute(fleet, "alone", version) for version in versions}

    def since(path):
        branch, _dot, leaf = path.rpartition(".")
        return next(v for v in versions if leaf in (shown[v].get(branch, {}) if branch else shown[v]))

    assert {path: since(path) for path in SINCE} == SINCE


def test_single_values_are_texts_and_what_is_absent_is_an_empty_text_documented(fleet):
    about = compute(fleet, "alone")
    single = [value for value in about.values() if not isinstance(value, (dict, list))]
    assert all(isinstance(value, str) for value in single)
    assert [about[name] for name in ("zone", "vmScaleSetName", "placementGroupId", "priority")] == [""] * 4
    assert [instance(fleet, "alone", f"/compute/{f}", text=True).body for f in ("customData", "host/id")] == [b"", b""]


def test_a_vm_of_a_uniform_scale_set_is_named_by_its_number_documented(fleet):
    about = compute(fleet, "pool_18")
    assert (about["name"], about["vmScaleSetName"], about["location"]) == ("pool_18", "pool", "northeurope")
    assert about["resourceId"].endswith("/virtualMachineScaleSets/pool/virtualMachines/18")
    assert re.fullmatch(GUID, about["placementGroupId"])
    assert about["virtualMachineScaleSet"]["id"] == ""


def test_the_host_of_a_vm_of_a_uniform_scale_set_is_named_in_base_36_observed(fleet):
    assert compute(fleet, "pool_18")["osProfile"]["computerName"] == "pool00000i"


def test_a_vm_of_a_flexible_scale_set_names_the_scale_set_by_id_documented(fleet):
    about = compute(fleet, "flex_1a2b3c4d")
    assert about["resourceId"].endswith("/rg-flex/providers/Microsoft.Compute/virtualMachines/flex_1a2b3c4d")
    assert about["virtualMachineScaleSet"]["id"].endswith("/virtualMachineScaleSets/flex")
