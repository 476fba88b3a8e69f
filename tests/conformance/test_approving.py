# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""POST: the approval; and the VMs that see an event and may approve it."""

from __future__ import annotations

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA

EVENTS = f"{EVENTS_PATH}?api-version=2020-07-01"
FLEET = {
    "groups": {
        "web": {"kind": "availability_set"},
        "pool-1": {"kind": "scale_set", "name": "pool"},
        "pool-2": {"kind": "scale_set", "name": "pool"},
        "roles": {"kind": "cloud_service"},
        "family": {"kind": "standalone"},
        "gpu": {"kind": "scale_set", "own_events_only": True},
        "flex": {"kind": "flexible_scale_set"},
        "lone": {"kind": "flexible_scale_set", "own_events_only": True},
    },
    "vms": [
        {"name": "web-0", "group": "web", "zone": "1"}, {"name": "web-1", "group": "web", "zone": "2"},
        {"name": "pool_0", "group": "pool-1"}, {"name": "pool_1", "group": "pool-1"},
        {"name": "pool_2", "group": "pool-2"}, {"name": "FrontEnd_IN_0", "group": "roles"},
        {"name": "BackEnd_IN_0", "group": "roles"}, {"name": "family-0", "group": "family"},
        {"name": "family-1", "group": "family"}, {"name": "gpu_0", "group": "gpu"}, {"name": "gpu_1", "group": "gpu"},
        {"name": "flex_1a2b3c4d", "group": "flex"}, {"name": "flex_5e6f7a8b", "group": "flex"},
        {"name": "lone_1a2b3c4d", "group": "lone"}, {"name": "lone_5e6f7a8b", "group": "lone"},
        {"name": "alone"}, {"name": "zonal", "zone": "1"},
    ],
}  # fmt: skip


@pytest.fixture
def event_id(simulator):
    return simulator.add_event(type="Reboot", resources=["web-0", "web-1"])["id"]


@pytest.fixture
def fleet(start):
    return start(FLEET)


def status_of(simulator, event_id):
    return simulator.event(event_id)["status"]


def who_sees(simulator, event_id):
    vms = [vm["key"] for vm in simulator.state()["vms"]]
    return {vm for vm in vms if event_id in [e["EventId"] for e in simulator.document(vm)["Events"]]}


def test_an_approval_starts_the_event_for_all_vms_that_it_names_documented(simulator, event_id):
    assert simulator.approve("web-0", event_id).status == 200
    for vm in ("web-0", "web-1"):
        assert [event["EventStatus"] for event in simulator.document(vm)["Events"]] == ["Started"]


def test_the_answer_is_200_also_when_another_vm_has_approved_already_documented(simulator, event_id):
    assert [simulator.approve(vm, event_id).status for vm in ("web-0", "web-1", "web-1")] == [200] * 3
    assert simulator.event(event_id)["approved_by"] == "web-0"


def test_approving_a_started_event_is_harmless_inferred(simulator, event_id):
    simulator.start(event_id)
    assert simulator.approve("web-0", event_id).status == 200
    assert (status_of(simulator, event_id), simulator.event(event_id)["approved"]) == ("Started", False)


def test_ids_are_compared_without_regard_to_case_inferred(simulator, event_id):
    assert simulator.approve("web-0", event_id.lower()).status == 200
    assert status_of(simulator, event_id) == "Started"


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "application/json", "text/plain", None])
def test_the_content_type_is_not_enforced_documented(simulator, event_id, content_type):
    headers = {**METADATA, **({"Content-Type": content_type} if content_type else {})}
    assert simulator.approve("web-0", event_id, headers=headers).status == 200
    assert status_of(simulator, event_id) == "Started"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(None, id="none, documented"),
        pytest.param("{", id="no JSON, documented"),
        pytest.param({"StartRequests": [{}]}, id="no EventId, documented"),
        pytest.param({"StartRequests": []}, id="an empty list, inferred"),
    ],
)
def test_a_malformed_payload_is_a_bad_request(simulator, event_id, body):
    assert simulator.ask("web-0", EVENTS, "POST", body).status == 400
    assert status_of(simulator, event_id) == "Scheduled"


def test_the_answer_has_no_body_inferred(simulator, event_id):
    """The body is not documented, and no client reads it."""
    answer = simulator.approve("web-0", event_id)
    assert (answer.body, answer.headers.get("content-length", "0")) == (b"", "0")


def test_an_unknown_or_expired_id_is_answered_200_and_ignored_inferred(simulator, event_id):
    """Neither documented nor captured; Microsoft's mock server answers so."""
    simulator.cancel(event_id)
    other = simulator.add_event(type="Freeze", resources=["web-1"])["id"]
    assert simulator.approve("web-0", event_id, "no-such-event", other).status == 200
    assert status_of(simulator, other) == "Started"


@pytest.mark.parametrize("incarnation", [1, "1", "abc"])
def test_the_incarnation_in_an_approval_is_not_looked_at_inferred(simulator, event_id, incarnation):
    """Samples for 2017-03-01 send it, one of them as a text, and without the Metadata header."""
    body = {"DocumentIncarnation": incarnation, "StartRequests": [{"EventId": event_id}]}
    answer = simulator.ask("web-0", f"{EVENTS_PATH}?api-version=2017-03-01", "POST", body, headers={})
    assert (answer.status, status_of(simulator, event_id)) == (200, "Started")


def test_an_advisory_is_not_approved_and_who_tries_is_noted_inferred(simulator):
    """What the service answers is not known, as nobody may send it."""
    advisory = simulator.add_event(scenario="spot_advisory", resources=["web-0"])["id"]
    assert simulator.approve("web-0", advisory.lower()).status == 200
    assert (status_of(simulator, advisory), simulator.event(advisory)["approved"]) == ("Advisory", False)
    assert simulator.violations() == [f"approves the advisory {advisory.lower()}"]


# Delivery groups.


@pytest.mark.parametrize(
    ("vm", "seen_by"),
    [
        pytest.param("web-0", {"web-0", "web-1"}, id="all VMs of an availability set, whatever their zone, documented"),
        pytest.param("pool_0", {"pool_0", "pool_1"}, id="all VMs of the placement group of a scale set, documented"),
        pytest.param("pool_2", {"pool_2"}, id="no other placement group of the same scale set, documented"),
        pytest.param("FrontEnd_IN_0", {"FrontEnd_IN_0", "BackEnd_IN_0"}, id="all VMs of a cloud service, documented"),
        pytest.param("alone", {"alone"}, id="a standalone VM alone, documented"),
        pytest.param("zonal", {"zonal"}, id="a zonal VM alone, documented"),
        pytest.param("family-0", {"family-0"}, id="each VM of a group of lone VMs alone, documented"),
        pytest.param(
            "flex_1a2b3c4d", {"flex_1a2b3c4d", "flex_5e6f7a8b"}, id="all VMs of a Flexible scale set, inferred"
        ),
        pytest.param("lone_1a2b3c4d", {"lone_1a2b3c4d"}, id="or each of them alone where that is set, inferred"),
        pytest.param("gpu_0", {"gpu_0"}, id="a GPU VM in a scale set with one fault domain alone, documented"),
    ],
)
def test_an_event_is_delivered_to(fleet, vm, seen_by):
    event = fleet.add_event(type="Reboot", resources=[vm])
    assert who_sees(fleet, event["id"]) == seen_by


def test_a_vm_of_another_group_may_not_approve_documented(fleet):
    event = fleet.add_event(type="Reboot", resources=["web-0"])["id"]
    fleet.approve("alone", event)
    assert not fleet.event(event)["approved"]


def test_an_event_may_name_only_other_vms_observed(fleet):
    event = fleet.add_event(type="Reboot", resources=["stranger"], group="web")
    assert who_sees(fleet, event["id"]) == {"web-0", "web-1"}
