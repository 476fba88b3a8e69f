# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules for requests, and what each of the eight api-versions of scheduled events shows."""

from __future__ import annotations

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA

EVENTS = f"{EVENTS_PATH}?api-version=2020-07-01"
INSTANCE = "/metadata/instance?api-version=2021-02-01"
PATHS = [EVENTS, INSTANCE, "/metadata/versions"]
VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
ADVISORIES = "2024-07-09"
VERSIONS += [ADVISORIES]
FIRST_FIELDS = {"EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"}
LATER_FIELDS = {"2019-04-01": "Description", "2019-08-01": "EventSource", "2020-07-01": "DurationInSeconds"}
FLEET = {
    "groups": {"roles": {"kind": "cloud_service"}},
    "vms": [{"name": "web-0", "group": "web"}, {"name": "FrontEnd_IN_0", "group": "roles"}],
    "events": [
        {"id": "FREEZE", "type": "Freeze", "resources": ["web-0"]},
        {"id": "PREEMPT", "type": "Preempt", "resources": ["web-0"], "notice": 90000},
        {"id": "TERMINATE", "type": "Terminate", "resources": ["web-0"]},
        {"id": "ADVISORY", "type": "SpotRebalanceRecommendation", "resources": ["web-0"]},
        {"id": "OTHER", "type": "Redeploy", "status": "Advisory", "resources": ["web-0"]},
        {"id": "ROLE", "type": "Reboot", "resources": ["FrontEnd_IN_0"]},
    ],
}


@pytest.fixture
def fleet(start):
    return start(FLEET)


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


# The versions.


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_exactly_its_fields_and_types_documented(fleet, version):
    assert set(fleet.document("web-0", version)) == {"DocumentIncarnation", "Events"}
    events = listed(fleet, version)
    assert set(events["FREEZE"]) == FIRST_FIELDS | {field for since, field in LATER_FIELDS.items() if version >= since}
    assert ("PREEMPT" in events) == (version >= "2017-11-01")
    assert ("TERMINATE" in events) == (version >= "2019-01-01")


def test_2024_07_09_adds_advisories_and_nothing_else_observed(fleet):
    """In use by the nodes of AKS and OpenShift, and in none of Microsoft's pages."""
    older, newer = (listed(fleet, version) for version in ("2020-07-01", ADVISORIES))
    assert set(newer) - set(older) == {"ADVISORY", "OTHER"}
    assert (newer["ADVISORY"]["EventType"], newer["ADVISORY"]["EventStatus"]) == (
        "SpotRebalanceRecommendation",
        "Advisory",
    )
    assert set(newer["ADVISORY"]) == set(older["FREEZE"])


def test_numbers_are_json_integers_and_names_a_list_of_texts_observed(fleet):
    document = fleet.document("web-0")
    event = document["Events"][0]
    assert isinstance(document["DocumentIncarnation"], int)
    assert isinstance(event.pop("DurationInSeconds"), int)
    assert event.pop("Resources") == ["web-0"]
    assert all(isinstance(value, str) for value in event.values())


def test_names_carry_an_underscore_in_2017_03_01_only_documented(fleet):
    names = [listed(fleet, version)["FREEZE"]["Resources"] for version in VERSIONS]
    assert names == [["_web-0"]] + [["web-0"]] * 7


def test_names_of_cloud_service_roles_carry_no_underscore_inferred(fleet):
    """The documentation speaks of IaaS VMs only."""
    assert listed(fleet, "2017-03-01", "FrontEnd_IN_0")["ROLE"]["Resources"] == ["FrontEnd_IN_0"]


def test_the_metadata_header_is_enforced_from_2017_08_01_documented(fleet):
    assert [fleet.read("web-0", version, headers={}).status for version in VERSIONS] == [200] + [400] * 7


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


@pytest.mark.parametrize("status", [400, 404])
def test_a_service_without_2024_07_09_answers_400_or_404_observed(start, status):
    """404 from the services that OpenShift met, 400 from those of 2020; a missing version is 400 everywhere."""
    simulator = start(api_versions=VERSIONS[:-1], unknown_version_status=status)
    assert [simulator.read("web-0", version).status for version in (ADVISORIES, "2020-07-01")] == [status, 200]
    assert simulator.ask("web-0", EVENTS_PATH).status == 400
