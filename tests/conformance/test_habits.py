# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What needs real connections: faults; the service's habits, on, off and five requests a second; VMs that go away."""

from __future__ import annotations

import http.client
import re
import socket
import urllib.parse

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA, Simulator
from helpers.waiting import wait_until

pytestmark = pytest.mark.rest
DAY = 86400
VMS = [{"name": f"web-{n}", "group": "web"} for n in range(40)]
NO_ANSWER = (ConnectionRefusedError, ConnectionResetError, http.client.RemoteDisconnected)
INSTANCE = "/metadata/instance?api-version=2021-02-01"


@pytest.fixture
def start(over_http):
    return over_http


@pytest.fixture
def fleet(start):
    """VMs that go away with their events."""
    return start({"vms": VMS}, impact=True)


def service(simulator):
    return [group["service"] for group in simulator.state()["groups"]]


def impacts(simulator):
    return {vm["name"]: vm["impact"] for vm in simulator.state()["vms"] if vm["impact"]}


def started(simulator, **event):
    return simulator.add_event(resources=["web-0"], status="Started", **event)["id"]


def give_up_the_first_call(simulator):
    with pytest.raises(TimeoutError):
        simulator.read("web-0", timeout=0.2)
    wait_until(lambda: service(simulator) == ["switching on"])


def seven_at_once(simulator):
    """The statuses of seven requests of one connection."""
    request = b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nMetadata: true\r\n"
    with socket.create_connection(tuple(simulator.endpoint("a")[7:].split(":"))) as connection:
        connection.sendall((request + b"\r\n") * 6 + request + b"Connection: close\r\n\r\n")
        return [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", connection.makefile("rb").read())]


def test_a_client_that_gives_up_has_switched_the_service_on_all_the_same_inferred(start):
    simulator = start(first_call_seconds=600)
    give_up_the_first_call(simulator)
    simulator.advance(600)
    assert simulator.read("web-0").status == 200


def test_events_show_some_time_after_the_service_was_switched_on_documented(start):
    simulator = start(events_after_seconds=300)
    simulator.add_event(type="Reboot", resources=["web-0"], notice=DAY)
    empty = simulator.document("web-0")
    assert empty["Events"] == []
    simulator.advance(301)
    shown = simulator.document("web-0")
    assert len(shown["Events"]) == 1
    assert shown["DocumentIncarnation"] != empty["DocumentIncarnation"]


def test_the_first_call_switches_the_service_on_for_its_whole_group_only_documented(start):
    simulator = start({"vms": [*VMS[:2], {"name": "alone"}]})
    simulator.document("web-0")
    assert service(simulator) == ["on", "off"]


def test_neither_an_approval_nor_a_question_for_the_identity_switches_the_service_on_inferred(simulator):
    """The documentation names the first call for events."""
    simulator.approve("web-0", "some-id")
    assert simulator.ask("web-0", INSTANCE).status == 200
    assert service(simulator) == ["off"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_any_request_for_events_within_24_hours_keeps_it_on_documented(simulator, method):
    simulator.document("web-0")
    body = {"StartRequests": [{"EventId": "some-id"}]} if method == "POST" else None
    for _time in range(2):
        simulator.advance(DAY - 60)
        simulator.ask("web-1", "/metadata/scheduledevents?api-version=2020-07-01", method, body)
    assert service(simulator) == ["on"]


def test_too_many_requests_in_a_second_are_turned_away_documented():
    """More than five, with no setting; where the machine is slow they do not come within a second at once."""
    with Simulator(profile="azure", arguments=["--first-call-seconds", "0"]) as simulator:
        wait_until(lambda: seven_at_once(simulator) == [200] * 5 + [429] * 2)


# The metadata service of a VM goes as the VM goes.


@pytest.mark.parametrize("kind", ["Reboot", "Redeploy"])
def test_a_vm_that_reboots_or_moves_answers_nobody_and_its_neighbours_do_inferred(fleet, kind):
    started(fleet, type=kind)
    for path in ("/metadata/scheduledevents?api-version=2020-07-01", INSTANCE):
        with pytest.raises(NO_ANSWER):
            fleet.ask("web-0", path)
    assert {fleet.read(vm["name"]).status for vm in VMS[1:]} == {200}
    assert impacts(fleet) == {"web-0": "down"}
    fleet.advance(121)
    assert fleet.document("web-0")["Events"][0]["EventStatus"] == "Started"


def test_whoever_approves_gets_the_answer_before_the_vm_goes_inferred(fleet):
    event = fleet.add_event(type="Reboot", resources=["web-0"])["id"]
    assert fleet.approve("web-0", event).status == 200
    with pytest.raises(NO_ANSWER):
        fleet.read("web-0")


@pytest.mark.parametrize("kind", ["Preempt", "Terminate"])
def test_a_vm_that_is_taken_away_is_gone_for_good_documented(fleet, kind):
    event = started(fleet, type=kind)
    fleet.advance(DAY)
    assert (fleet.event(event)["status"], impacts(fleet)) == ("Finished", {"web-0": "gone"})
    with pytest.raises(NO_ANSWER):
        fleet.read("web-0")
    fleet.reset()
    assert fleet.read("web-0").status == 200


CLOSED = (http.client.RemoteDisconnected, ConnectionResetError)


def test_refuse_is_for_one_vm_or_all_and_ends_when_it_is_cleared_at_the_same_address(simulator):
    simulator.fault(kind="refuse", vm="web-0")
    assert simulator.read("web-1").status == 200
    simulator.fault(kind="refuse")
    for vm in ("web-0", "web-1"):
        with pytest.raises(ConnectionRefusedError):
            simulator.read(vm)
    assert {vm["name"]: vm["endpoint"] for vm in simulator.state()["vms"]} == simulator.endpoints
    simulator.clear_faults()
    assert [simulator.read(vm).status for vm in ("web-0", "web-1")] == [200, 200]


def test_refuse_also_closes_connections_that_are_open(simulator):
    parts = urllib.parse.urlsplit(simulator.endpoint("web-0"))
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)

    def status():
        connection.request("GET", f"{EVENTS_PATH}?api-version=2020-07-01", headers=METADATA)
        response = connection.getresponse()
        response.read()
        return response.status

    assert status() == 200
    simulator.fault(kind="refuse", vm="web-0")
    with pytest.raises(CLOSED):
        status()
    connection.close()
