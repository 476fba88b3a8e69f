# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""POST: the approval."""

from __future__ import annotations

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA, ControlError

EVENTS = f"{EVENTS_PATH}?api-version=2020-07-01"


@pytest.fixture
def event_id(simulator):
    return simulator.add_event(type="Reboot", resources=["web-0", "web-1"])["id"]


def status_of(simulator, event_id):
    return simulator.event(event_id)["status"]


def test_an_approval_starts_the_event_for_all_vms_that_it_names(simulator, event_id):
    assert simulator.approve("web-0", event_id).status == 200
    for vm in ("web-0", "web-1"):
        assert [event["EventStatus"] for event in simulator.document(vm)["Events"]] == ["Started"]


def test_the_answer_is_200_also_when_another_vm_has_approved_already(simulator, event_id):
    assert [simulator.approve(vm, event_id).status for vm in ("web-0", "web-1", "web-1")] == [200] * 3
    assert simulator.event(event_id)["approved_by"] == "web-0"


def test_approving_a_started_event_is_harmless_inferred(simulator, event_id):
    """[I]"""
    simulator.start(event_id)
    assert simulator.approve("web-0", event_id).status == 200
    assert status_of(simulator, event_id) == "Started"
    assert not simulator.event(event_id)["approved"]


def test_several_events_may_be_approved_in_one_call(simulator, event_id):
    other = simulator.add_event(type="Freeze", resources=["web-1"])["id"]
    assert simulator.approve("web-0", event_id, other).status == 200
    assert [status_of(simulator, each) for each in (event_id, other)] == ["Started", "Started"]


def test_ids_are_compared_without_regard_to_case_inferred(simulator, event_id):
    """[I]"""
    assert simulator.approve("web-0", event_id.lower()).status == 200
    assert status_of(simulator, event_id) == "Started"


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "application/json", "text/plain", None])
def test_the_content_type_is_not_enforced(simulator, event_id, content_type):
    headers = {**METADATA, **({"Content-Type": content_type} if content_type else {})}
    assert simulator.approve("web-0", event_id, headers=headers).status == 200
    assert status_of(simulator, event_id) == "Started"


@pytest.mark.parametrize(
    "body",
    [
        None, "", "{", "[]", "null", "StartRequests", {}, {"StartRequests": None}, {"StartRequests": {}},
        {"StartRequests": "all"}, {"StartRequests": [{}]}, {"StartRequests": ["id"]}, {"StartRequests": [None]},
        {"StartRequests": [{"EventId": 7}]}, {"StartRequests": [{"EventId": ""}]}, b"\xff\xfe",
    ],
    ids=repr,
)  # fmt: skip
def test_a_malformed_payload_is_a_bad_request(simulator, event_id, body):
    assert simulator.ask("web-0", EVENTS, "POST", body).status == 400
    assert status_of(simulator, event_id) == "Scheduled"


def test_an_empty_list_is_malformed_inferred(simulator):
    """[I]"""
    assert simulator.ask("web-0", EVENTS, "POST", {"StartRequests": []}).status == 400


def test_the_answer_has_no_body_inferred(simulator, event_id):
    """[I] The body is not documented and no client reads it."""
    answer = simulator.approve("web-0", event_id)
    assert (answer.body, answer.headers["content-length"]) == (b"", "0")


def test_an_unknown_or_expired_id_is_answered_200_and_ignored_inferred(simulator, event_id):
    """[I] No documentation and no capture; Microsoft's mock server answers so."""
    simulator.cancel(event_id)
    other = simulator.add_event(type="Freeze", resources=["web-1"])["id"]
    assert simulator.approve("web-0", event_id, "no-such-event", other).status == 200
    assert status_of(simulator, other) == "Started"


@pytest.mark.parametrize("code", [400, 404])
def test_the_answer_to_an_unknown_id_can_be_set_and_then_nothing_of_the_call_counts_inferred(start, code):
    """[I]"""
    simulator = start(unknown_event_status=code)
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    assert simulator.approve("web-0", event, "no-such-event").status == code
    assert status_of(simulator, event) == "Scheduled"
    assert simulator.approve("web-0", event).status == 200


def test_an_approval_may_take_its_time(fast):
    """Other tenants of the node may have to approve as well."""
    event = fast.add_event(type="Reboot", resources=["web-0"], approval_delay=45)["id"]
    fast.approve("web-0", event)
    assert fast.document("web-0")["Events"][0]["EventStatus"] == "Scheduled"
    times = fast.wait_for(event, "Started", 3)["times"]
    assert 0.7 < times["started"] - times["approved"] < 1.3


def test_a_second_approval_during_the_delay_of_the_first_changes_nothing(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"], approval_delay=600, notice=9000)["id"]
    simulator.approve("web-0", event)
    simulator.advance(400)
    assert simulator.approve("web-1", event).status == 200
    assert (status_of(simulator, event), simulator.event(event)["approved_by"]) == ("Scheduled", "web-0")
    assert [entry["approved"] for entry in simulator.log()] == [[event], []]
    simulator.advance(201)
    assert status_of(simulator, event) == "Started"
    assert [change["change"] for change in simulator.changes()] == ["created", "approved", "started"]


@pytest.mark.parametrize("incarnation", [1, "1", "abc"])
def test_the_incarnation_in_an_approval_is_not_looked_at_inferred(simulator, event_id, incarnation):
    """[I] Samples for 2017-03-01 send it, one of them as a text."""
    body = {"DocumentIncarnation": incarnation, "StartRequests": [{"EventId": event_id}]}
    assert simulator.ask("web-0", EVENTS, "POST", body).status == 200
    assert status_of(simulator, event_id) == "Started"


@pytest.mark.parametrize(("body", "by"), [({}, "portal"), ({"by": "arm"}, "arm")])
def test_an_event_can_be_approved_elsewhere_than_in_its_vms(simulator, event_id, body, by):
    """Approvals in the portal, through ARM and by the metadata service are equivalent and can be mixed."""
    told = simulator.approve_elsewhere(event_id, **body)
    assert (told["status"], told["approved_by"], told["started_by"]) == ("Started", by, "approval")
    assert simulator.document("web-1")["Events"][0]["EventStatus"] == "Started"
    approved = next(change for change in simulator.changes() if change["change"] == "approved")
    assert (approved["cause"], approved["vm"]) == (by, None)
    assert simulator.approve("web-0", event_id).status == 200


def test_whoever_approves_first_has_approved_whether_elsewhere_or_in_a_vm(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"], approval_delay=600)["id"]
    simulator.approve_elsewhere(event)
    assert simulator.approve("web-0", event).status == 200
    assert simulator.log()[-1]["approved"] == []
    assert simulator.event(event)["approved_by"] == "portal"
    other = simulator.add_event(type="Reboot", resources=["web-1"], approval_delay=600)["id"]
    simulator.approve("web-1", other)
    assert simulator.approve_elsewhere(other)["approved_by"] == "web-1"


def test_an_approval_elsewhere_takes_its_time_and_does_not_switch_the_service_on(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"], approval_delay=600)["id"]
    assert simulator.approve_elsewhere(event)["status"] == "Scheduled"
    assert simulator.state()["groups"][0]["service"] == "off"
    simulator.advance(601)
    assert status_of(simulator, event) == "Started"


def test_only_what_waits_can_be_approved_elsewhere(simulator, event_id):
    simulator.start(event_id)
    with pytest.raises(ControlError, match="is Started; approve needs one that is Scheduled"):
        simulator.approve_elsewhere(event_id)
    with pytest.raises(ControlError, match='"by" must be one of "portal", "arm"'):
        simulator.approve_elsewhere(event_id, by="phone")


def test_an_approval_cannot_be_taken_back(simulator, event_id):
    simulator.approve("web-0", event_id)
    assert simulator.ask("web-0", EVENTS, "DELETE").status == 405
    assert status_of(simulator, event_id) == "Started"


def test_the_log_names_the_ids_that_a_request_was_the_first_to_approve(simulator, event_id):
    simulator.approve("web-0", event_id)
    simulator.approve("web-1", event_id)
    assert [entry["approved"] for entry in simulator.log()] == [[event_id], []]
