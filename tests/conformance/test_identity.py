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
        "flex": {"kind": "flexible_scale_set", "resource_group": "rg-flex"},
        "spread": {"kind": "flexible_scale_set", "fault_domains": 3},
    },
    "vms": [
        {"name": "alone", "tags": {"team": "ops", "app": "x"}},
        {"name": "zonal", "zone": 2},
        {"name": "pool_18", "group": "pool"},
        {"name": "flex_1a2b3c4d", "group": "flex"},
        {"name": "by-hand", "group": "flex", "zone": 3},
        *({"name": f"spread_{n}", "group": "spread"} for n in range(4)),
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


@pytest.mark.parametrize("name", ["flex_1a2b3c4d", "by-hand"])
def test_a_vm_of_a_flexible_scale_set_is_a_vm_of_its_own_that_names_the_scale_set_documented(fleet, name):
    """Whatever it is called: one that was attached by hand keeps its name."""
    about = compute(fleet, name)
    assert (about["name"], about["vmScaleSetName"]) == (name, "flex")
    assert about["resourceId"].endswith(f"/rg-flex/providers/Microsoft.Compute/virtualMachines/{name}")
    assert about["virtualMachineScaleSet"]["id"].endswith(
        "/rg-flex/providers/Microsoft.Compute/virtualMachineScaleSets/flex"
    )


def test_placement_groups_do_not_apply_to_flexible_scale_sets_documented(fleet):
    assert compute(fleet, "flex_1a2b3c4d")["placementGroupId"] == ""


def test_the_host_of_a_vm_of_a_flexible_scale_set_has_another_six_characters_documented(fleet):
    assert re.fullmatch(r"flex[0-9a-f]{6}", compute(fleet, "flex_1a2b3c4d")["osProfile"]["computerName"])


def test_a_flexible_scale_set_shows_one_fault_domain_unless_it_was_given_several_documented(fleet):
    shown = [compute(fleet, vm)["platformFaultDomain"] for vm in ("flex_1a2b3c4d", *(f"spread_{n}" for n in range(4)))]
    assert shown == ["0", "0", "1", "2", "0"]


def test_every_vm_of_a_flexible_scale_set_is_in_update_domain_0_or_none_inferred(fleet):
    """It has no update domains; what is shown instead is in no public capture."""
    shown = [compute(fleet, vm)["platformUpdateDomain"] for vm in ("flex_1a2b3c4d", "spread_1", "by-hand")]
    assert shown == ["0", "0", ""]


# Names, as they come: nothing is trimmed, folded or repaired on the way.

ODD_NAMES = [
    "Web-0",
    "w\u0435b-0",
    "\uff57eb-0",
    "web-0.",
    "web-0 ",
    " web-0",
    "_web-0",
    "web_0",
    "web-00",
    "\u212aweb",
    "kweb",
]


def test_a_name_is_shown_and_delivered_as_it_is_inferred(start):
    """Other case, look-alikes, dots and blanks at the end: Azure allows few of them, and a host may say any."""
    vms = [{"name": name, "key": str(n), "group": "web"} for n, name in enumerate(ODD_NAMES)]
    simulator = start({"vms": vms, "groups": {"web": {}}})
    assert [compute(simulator, vm["key"])["name"] for vm in vms] == ODD_NAMES
    assert instance(simulator, "1", "/compute/name", text=True).body.decode() == ODD_NAMES[1]
    simulator.add_event(type="Reboot", resources=[vm["key"] for vm in vms])
    for version, shown in (("2017-03-01", ["_" + name for name in ODD_NAMES]), ("2017-08-01", ODD_NAMES)):
        assert [event["Resources"] for event in simulator.document("0", version)["Events"]] == [shown]


def test_an_event_may_name_a_vm_in_another_case_observed(start):
    simulator = start({"vms": [{"name": "web-0"}]}, impact=True)
    event = simulator.add_event(type="Preempt", resources=["WEB-0"])["id"]
    assert [event["Resources"] for event in simulator.document("web-0")["Events"]] == [["WEB-0"]]
    simulator.approve("web-0", event)
    assert [vm["impact"] for vm in simulator.state()["vms"]] == ["gone"]


def test_equal_names_in_two_resource_groups_are_two_vms_documented(start):
    vms = [{"name": "db", "key": f"db in {g}", "group": g, "resource_group": g} for g in ("one", "two")]
    simulator = start({"vms": vms})
    one, two = (compute(simulator, vm["key"]) for vm in vms)
    assert one["name"] == two["name"]
    assert all(one[field] != two[field] for field in ("resourceId", "vmId", "resourceGroupName"))
    simulator.add_event(type="Reboot", resources=["db in two"])
    assert [len(simulator.document(vm["key"])["Events"]) for vm in vms] == [0, 1]


def test_the_index_of_a_uniform_scale_set_is_decimal_in_the_name_and_a_whole_word_inferred(start):
    simulator = start({"groups": FLEET["groups"], "vms": [{"name": f"pool_{n}", "group": "pool"} for n in (1, 12, 36)]})
    shown = [compute(simulator, f"pool_{n}") for n in (1, 12, 36)]
    assert [one["resourceId"].rpartition("/")[2] for one in shown] == ["1", "12", "36"]
    assert [one["osProfile"]["computerName"] for one in shown] == ["pool000001", "pool00000c", "pool000010"]
