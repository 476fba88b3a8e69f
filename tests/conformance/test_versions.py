# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each of the seven api-versions of scheduled events shows."""

from __future__ import annotations

import email.utils
import re

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA, Simulator

VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
FIRST_FIELDS = {"EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"}
LATER_FIELDS = {"2019-04-01": "Description", "2019-08-01": "EventSource", "2020-07-01": "DurationInSeconds"}
FLEET = {
    "groups": {"roles": {"kind": "cloud_service"}},
    "vms": [{"name": "web-0", "group": "web"}, {"name": "FrontEnd_IN_0", "group": "roles"}],
    "events": [
        {"id": "FREEZE", "type": "Freeze", "resources": ["web-0"]},
        {"id": "PREEMPT", "type": "Preempt", "resources": ["web-0"], "notice": 900},
        {"id": "TERMINATE", "type": "Terminate", "resources": ["web-0"]},
        {"id": "ROLE", "type": "Reboot", "resources": ["FrontEnd_IN_0"]},
    ],
}


@pytest.fixture(scope="module")
def fleet():
    with Simulator(FLEET, requests_per_second=0) as simulator:
        yield simulator


def listed(simulator, version, vm="web-0"):
    return {event["EventId"]: event for event in simulator.document(vm, version)["Events"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_exactly_its_fields(fleet, version):
    later = {field for since, field in LATER_FIELDS.items() if version >= since}
    assert set(listed(fleet, version)["FREEZE"]) == FIRST_FIELDS | later


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_the_two_fields_of_the_document(fleet, version):
    assert set(fleet.document("web-0", version)) == {"DocumentIncarnation", "Events"}


def test_numbers_are_json_integers_and_names_a_list_of_texts(fleet):
    document = fleet.document("web-0")
    event = document["Events"][0]
    assert isinstance(document["DocumentIncarnation"], int)
    assert isinstance(event.pop("DurationInSeconds"), int)
    assert event.pop("Resources") == ["web-0"]
    assert all(isinstance(value, str) for value in event.values())


@pytest.mark.parametrize("version", VERSIONS)
def test_preempt_shows_from_2017_11_01(fleet, version):
    assert ("PREEMPT" in listed(fleet, version)) == (version >= "2017-11-01")


@pytest.mark.parametrize("version", VERSIONS)
def test_terminate_shows_from_2019_01_01(fleet, version):
    assert ("TERMINATE" in listed(fleet, version)) == (version >= "2019-01-01")


@pytest.mark.parametrize("version", VERSIONS)
def test_names_carry_an_underscore_in_2017_03_01_only(fleet, version):
    name = "_web-0" if version == "2017-03-01" else "web-0"
    assert listed(fleet, version)["FREEZE"]["Resources"] == [name]


def test_names_of_cloud_service_roles_carry_no_underscore_inferred(fleet):
    """[I] The documentation speaks of IaaS VMs only."""
    assert listed(fleet, "2017-03-01", "FrontEnd_IN_0")["ROLE"]["Resources"] == ["FrontEnd_IN_0"]


def test_not_before_is_iso_8601_in_2017_03_01(fleet):
    """As the sample in its documentation has it."""
    event = listed(fleet, "2017-03-01")["FREEZE"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["NotBefore"])
    later = email.utils.parsedate_to_datetime(listed(fleet, "2017-08-01")["FREEZE"]["NotBefore"])
    assert event["NotBefore"] == later.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_not_before_is_in_the_form_asked_for_also_in_2017_03_01(start):
    simulator = start()
    simulator.add_event(id="A", type="Reboot", resources=["web-0"], not_before_format="rfc1123")
    assert listed(simulator, "2017-03-01")["A"]["NotBefore"].endswith(" GMT")


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_not_before_is_rfc_1123_in_later_versions(fleet, version):
    text = listed(fleet, version)["FREEZE"]["NotBefore"]
    assert email.utils.format_datetime(email.utils.parsedate_to_datetime(text), usegmt=True) == text


@pytest.mark.parametrize("version", VERSIONS)
def test_the_metadata_header_is_enforced_from_2017_08_01(fleet, version):
    assert fleet.read("web-0", version, headers={}).status == (200 if version == "2017-03-01" else 400)


def test_2017_03_01_takes_an_approval_with_document_incarnation_and_without_header(start):
    simulator = start()
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    body = {"DocumentIncarnation": 1, "StartRequests": [{"EventId": event["id"]}]}
    assert simulator.ask("web-0", f"{EVENTS_PATH}?api-version=2017-03-01", "POST", body, headers={}).status == 200
    assert simulator.event(event["id"])["approved"]


def test_reading_with_one_version_and_approving_with_another_works_observed(start):
    """[O] The resource agent azure-events-az does so."""
    simulator = start()
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    assert len(simulator.document("web-0", "2020-07-01")["Events"]) == 1
    assert simulator.approve("web-0", event["id"], version="2019-08-01").status == 200
    assert simulator.event(event["id"])["approved"]


@pytest.mark.parametrize("version", ["latest", "{latest}", "2020-12-01", "2025-04-07", "", "2020-07-01 "])
def test_no_other_version_is_answered(fleet, version):
    """Also those of /metadata/instance are not: the two lists are separate [I]."""
    answer = fleet.ask("web-0", f"{EVENTS_PATH}?api-version={version}".replace(" ", "%20").replace("{", "%7B"))
    assert answer.status == 400


def test_the_versions_that_are_answered_can_be_limited_observed(start):
    """[O] Some clouds have answered 400 to 2017-11-01 while 2017-08-01 worked."""
    simulator = start(api_versions=["2017-03-01", "2017-08-01", "2019-01-01"])
    statuses = {version: simulator.read("web-0", version).status for version in VERSIONS}
    assert [version for version, status in statuses.items() if status == 200] == [
        "2017-03-01",
        "2017-08-01",
        "2019-01-01",
    ]
    refused = simulator.read("web-0", "2020-07-01")
    assert (refused.status, refused.json["error"].split(" is ")[0]) == (400, "Bad request. api-version")
    assert simulator.approve("web-0", "some-id", version="2020-07-01").status == 400
    assert simulator.ask("web-0", "/metadata/instance?api-version=2021-02-01").status == 200


def test_the_versions_can_be_limited_on_the_command_line():
    with Simulator(arguments=["--api-versions", "2017-08-01,2017-03-01"]) as simulator:
        assert [simulator.read("a", version).status for version in VERSIONS[:3]] == [200, 200, 400]


def test_the_path_of_the_time_before_the_preview_is_gone(fleet):
    assert fleet.ask("web-0", "/metadata/latest/scheduledevents", headers=METADATA).status == 404
