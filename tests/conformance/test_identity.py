# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a VM is: /metadata/instance and /metadata/versions."""

from __future__ import annotations

import email.utils
import re

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA

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


def test_ids_have_the_shapes_of_azure_documented(fleet):
    about = compute(fleet, "alone")
    assert re.fullmatch(GUID, about["vmId"])
    assert re.fullmatch(GUID, about["subscriptionId"])
    assert about["resourceId"] == (
        f"/subscriptions/{about['subscriptionId']}/resourceGroups/{about['resourceGroupName']}"
        "/providers/Microsoft.Compute/virtualMachines/alone"
    )
    names = [vm["name"] for vm in FLEET["vms"]]
    assert len({compute(fleet, vm)["vmId"] for vm in names}) == len(names)


def test_single_values_are_texts_and_what_is_absent_is_an_empty_text_documented(fleet):
    about = compute(fleet, "alone")
    single = [value for value in about.values() if not isinstance(value, (dict, list))]
    assert all(isinstance(value, str) for value in single)
    assert [about[name] for name in ("zone", "vmScaleSetName", "placementGroupId", "priority")] == [""] * 4
    assert [instance(fleet, "alone", f"/compute/{f}", text=True).body for f in ("customData", "host/id")] == [b"", b""]


def test_a_leaf_needs_format_text_documented(fleet):
    assert instance(fleet, "alone", "/compute/name").status == 400
    answer = instance(fleet, "alone", "/compute/name", text=True)
    assert (answer.status, answer.body) == (200, b"alone")
    assert answer.headers["content-type"].startswith("text/plain")


def test_a_branch_with_format_text_lists_what_is_below_observed(fleet):
    assert instance(fleet, "alone", text=True).body == b"compute/\nnetwork/"


def test_an_element_that_does_not_exist_is_not_found_documented(fleet):
    assert instance(fleet, "alone", "/compute/nothing", text=True).status == 404


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


def test_a_zonal_vm_has_a_zone_and_no_update_domain_inferred(fleet):
    """A fleet file may say otherwise."""
    about = compute(fleet, "zonal")
    assert (about["zone"], about["platformUpdateDomain"]) == ("2", "")


def test_tags_are_one_text_and_a_list_documented(fleet):
    about = compute(fleet, "alone")
    assert about["tags"] == "app:x;team:ops"
    assert about["tagsList"] == [{"name": "app", "value": "x"}, {"name": "team", "value": "ops"}]


# The rules for requests, and what each of the seven api-versions of scheduled events shows.

EVENTS = f"{EVENTS_PATH}?api-version=2020-07-01"
INSTANCE = "/metadata/instance?api-version=2021-02-01"
PATHS = [EVENTS, INSTANCE, "/metadata/versions"]
VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
FIRST_FIELDS = {"EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"}
LATER_FIELDS = {"2019-04-01": "Description", "2019-08-01": "EventSource", "2020-07-01": "DurationInSeconds"}
FLEET_VERSIONS = {
    "groups": {"roles": {"kind": "cloud_service"}},
    "vms": [{"name": "web-0", "group": "web"}, {"name": "FrontEnd_IN_0", "group": "roles"}],
    "events": [
        {"id": "FREEZE", "type": "Freeze", "resources": ["web-0"]},
        {"id": "PREEMPT", "type": "Preempt", "resources": ["web-0"], "notice": 90000},
        {"id": "TERMINATE", "type": "Terminate", "resources": ["web-0"]},
        {"id": "ROLE", "type": "Reboot", "resources": ["FrontEnd_IN_0"]},
    ],
}


def listed(simulator, version, vm="web-0"):
    return {event["EventId"]: event for event in simulator.document(vm, version)["Events"]}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", [{}, {"Metadata": "false"}])
def test_a_request_without_metadata_true_is_a_bad_request_documented(simulator, path, headers):
    answer = simulator.ask("web-0", path, headers=headers)
    assert answer.status == 400
    assert "Required metadata header not specified" in answer.json["error"]


@pytest.mark.parametrize("headers", [{}, {**METADATA, "X-Forwarded-For": "10.0.0.1"}])
def test_an_approval_without_metadata_true_or_for_another_is_a_bad_request_documented(simulator, headers):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    assert simulator.approve("web-0", event, headers=headers).status == 400
    assert not simulator.event(event)["approved"]


def test_the_case_of_true_does_not_matter_inferred(simulator):
    """Microsoft's own samples write both true and True."""
    assert simulator.read("web-0", headers={"metadata": "True"}).status == 200


@pytest.mark.parametrize("path", PATHS)
def test_x_forwarded_for_is_rejected_documented(simulator, path):
    """That the status is 400 is inferred."""
    assert simulator.ask("web-0", path, headers={**METADATA, "X-Forwarded-For": "10.0.0.1"}).status == 400


@pytest.mark.parametrize("more", ["api-version=2020-07-01", "API-Version=2020-07-01", "x=1&x=1"])
def test_duplicate_query_parameters_are_rejected_documented(simulator, more):
    """That the status is 400 and that case does not matter is inferred."""
    assert simulator.ask("web-0", f"{EVENTS}&{more}").status == 400


@pytest.mark.parametrize(
    "path", [pytest.param("/metadata/instance", id="documented"), pytest.param(EVENTS_PATH, id="inferred")]
)
@pytest.mark.parametrize("query", ["", "?api-version=", "?api-version=2016-01-01"])
def test_a_missing_or_invalid_api_version_has_the_documented_body(simulator, path, query):
    answer = simulator.ask("web-0", path + query)
    assert answer.status == 400
    assert answer.json == {
        "error": "Bad request. api-version is invalid or was not specified in the request. "
        "For more information refer to aka.ms/azureimds",
        "newest-versions": ["2025-04-07", "2024-07-17", "2024-03-15"],
    }


@pytest.mark.parametrize("path", ["/", "/metadata/nothing", "/metadata/latest/scheduledevents", "/metadata/instance/x"])
def test_what_does_not_exist_is_not_found_documented(simulator, path):
    """Also the path of the time before the preview."""
    answer = simulator.ask("web-0", f"{path}?api-version=2021-02-01")
    assert (answer.status, list(answer.json)) == (404, ["error"])
    assert answer.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize(
    ("path", "methods"),
    [(EVENTS, ["PUT", "DELETE", "PATCH", "HEAD"]), *((path, ["POST", "PUT"]) for path in PATHS[1:])],
)
def test_another_method_is_not_allowed_documented(simulator, path, methods):
    """So an approval can not be taken back."""
    assert [simulator.ask("web-0", path, method).status for method in methods] == [405] * len(methods)


def test_the_case_of_the_path_does_not_matter_observed(simulator):
    """Microsoft's C# sample asks for /metadata/scheduledEvents."""
    assert simulator.ask("web-0", EVENTS.replace("scheduledevents", "scheduledEvents")).status == 200


# The versions.


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_exactly_its_fields_and_types_documented(fleet, version):
    assert set(fleet.document("web-0", version)) == {"DocumentIncarnation", "Events"}
    events = listed(fleet, version)
    assert set(events["FREEZE"]) == FIRST_FIELDS | {field for since, field in LATER_FIELDS.items() if version >= since}
    assert ("PREEMPT" in events) == (version >= "2017-11-01")
    assert ("TERMINATE" in events) == (version >= "2019-01-01")


def test_numbers_are_json_integers_and_names_a_list_of_texts_observed(fleet):
    document = fleet.document("web-0")
    event = document["Events"][0]
    assert isinstance(document["DocumentIncarnation"], int)
    assert isinstance(event.pop("DurationInSeconds"), int)
    assert event.pop("Resources") == ["web-0"]
    assert all(isinstance(value, str) for value in event.values())


def test_names_carry_an_underscore_in_2017_03_01_only_documented(fleet):
    names = [listed(fleet, version)["FREEZE"]["Resources"] for version in VERSIONS]
    assert names == [["_web-0"]] + [["web-0"]] * 6


def test_names_of_cloud_service_roles_carry_no_underscore_inferred(fleet):
    """The documentation speaks of IaaS VMs only."""
    assert listed(fleet, "2017-03-01", "FrontEnd_IN_0")["ROLE"]["Resources"] == ["FrontEnd_IN_0"]


def test_not_before_is_iso_8601_in_2017_03_01_documented(fleet):
    """As the sample in its documentation has it."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", listed(fleet, "2017-03-01")["FREEZE"]["NotBefore"])


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_not_before_is_rfc_1123_in_later_versions_documented(fleet, version):
    text = listed(fleet, version)["FREEZE"]["NotBefore"]
    assert email.utils.format_datetime(email.utils.parsedate_to_datetime(text), usegmt=True) == text


def test_the_metadata_header_is_enforced_from_2017_08_01_documented(fleet):
    assert [fleet.read("web-0", version, headers={}).status for version in VERSIONS] == [200] + [400] * 6


def test_reading_with_one_version_and_approving_with_another_works_observed(simulator):
    """The resource agent azure-events-az does so."""
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    assert len(simulator.document("web-0", "2020-07-01")["Events"]) == 1
    assert simulator.approve("web-0", event, version="2019-08-01").status == 200
    assert simulator.event(event)["approved"]


@pytest.mark.parametrize("version", ["latest", "%7Blatest}", "2020-12-01", "2025-04-07", "2020-07-01%20"])
def test_no_other_version_is_answered_inferred(fleet, version):
    """Also those of /metadata/instance are not: the two lists are separate."""
    assert fleet.ask("web-0", f"{EVENTS_PATH}?api-version={version}").status == 400


def test_the_versions_that_are_answered_can_be_limited_observed(start):
    """Some clouds have answered 400 to 2017-11-01 while 2017-08-01 worked."""
    simulator = start(api_versions=["2017-08-01"])
    statuses = [simulator.read("web-0", version).status for version in ("2017-08-01", "2017-11-01")]
    assert statuses == [200, 400]
    assert simulator.ask("web-0", INSTANCE).status == 200
