# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control interface."""

from __future__ import annotations

import time

import pytest
from helpers.simulator_process import ControlError, ask


def test_events_are_shown_with_their_inner_state(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"], notice=60, dwell=30, id="MINE")
    simulator.approve("web-1", "mine")
    (shown,) = simulator.events()
    assert (shown["id"], shown["status"], shown["group"]) == ("MINE", "Started", "web")
    assert (shown["approved"], shown["approved_by"], shown["started_by"]) == (True, "web-1", "approval")
    assert list(shown["times"]) == ["created", "approved", "started"]
    assert event["not_before"] - event["times"]["created"] == pytest.approx(60, abs=0.1)


def test_an_event_is_shown_when_it_is_over(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"], status="Started", dwell=0)
    assert [event["status"] for event in simulator.events()] == ["Finished"]


def test_changes_are_a_time_line_with_causes(simulator):
    first = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.approve("web-1", first)
    simulator.finish(first)
    second = simulator.add_event(type="Freeze", resources=["web-0"])["id"]
    simulator.cancel(second)
    third = simulator.add_event(type="Freeze", resources=["web-0"], dwell=10)["id"]
    simulator.advance(1000)
    told = [(change["event"], change["change"], change["cause"], change["vm"]) for change in simulator.changes()]
    assert told == [
        (first, "created", None, None),
        (first, "approved", None, "web-1"),
        (first, "started", "approval", None),
        (first, "finished", None, None),
        (second, "created", None, None),
        (second, "cancelled", None, None),
        (third, "created", None, None),
        (third, "started", "deadline", None),
        (third, "finished", None, None),
    ]
    times = [change["time"] for change in simulator.changes()]
    assert times == sorted(times)
    assert abs(times[-1] - time.time()) < 5


def test_the_log_holds_every_request_with_its_time(simulator):
    before = time.time()
    simulator.read("web-0")
    simulator.ask("web-1", "/nothing?x=1", "POST", "some text")
    first, second = simulator.log()
    assert (first["vm"], first["method"], first["path"]) == ("web-0", "GET", "/metadata/scheduledevents")
    assert (first["query"], first["status"], first["fault"]) == ("api-version=2020-07-01", 200, None)
    assert first["headers"]["Metadata"] == "true"
    assert (second["vm"], second["body"], second["status"]) == ("web-1", "some text", 404)
    assert second["seq"] == first["seq"] + 1
    assert before <= first["time"] <= second["time"] <= time.time()


def test_the_log_can_be_emptied(simulator):
    simulator.read("web-0")
    simulator.clear_log()
    assert simulator.log() == []


def test_asking_the_control_interface_is_not_logged(simulator):
    simulator.state()
    assert simulator.log() == []


def test_the_state_names_vms_groups_and_incarnations(simulator):
    simulator.document("web-0")
    simulator.add_event(type="Reboot", resources=["web-0"])
    state = simulator.state()
    assert [(vm["name"], vm["endpoint"], vm["group"]) for vm in state["vms"]] == [
        (vm, simulator.endpoint(vm), "web") for vm in ("web-0", "web-1")
    ]
    (group,) = state["groups"]
    assert (group["name"], group["kind"], group["vms"]) == ("web", "availability_set", ["web-0", "web-1"])
    assert (group["incarnation"], group["service"]) == (2, "on")


def test_advancing_the_clock_runs_through_all_that_is_due(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    before = simulator.advance(0)["simulated_seconds"]
    after = simulator.advance(86400)["simulated_seconds"]
    assert 86400 <= after - before < 86410
    assert [change["change"] for change in simulator.changes()] == ["created", "started", "finished"]
    assert simulator.event(event)["status"] == "Finished"


def test_faults_are_listed_and_can_be_cleared_one_by_one(simulator):
    first = simulator.fault(kind="error_500", count=1)
    simulator.fault(kind="hang", vm="web-1")
    assert [(fault["kind"], fault["active"]) for fault in simulator.call("GET", "/faults")] == [
        ("error_500", True),
        ("hang", True),
    ]
    simulator.call("DELETE", f"/faults/{first['id']}")
    assert [fault["kind"] for fault in simulator.call("GET", "/faults")] == ["hang"]


def test_reset_goes_back_to_the_start(start):
    simulator = start(
        {"vms": [{"name": "a"}], "events": [{"id": "E", "type": "Reboot", "resources": ["a"]}]}, requests_per_second=5
    )
    for _time in range(6):
        simulator.read("a")
    simulator.advance(5000)
    simulator.fault(kind="hang")
    simulator.reset()
    assert [event["status"] for event in simulator.events()] == ["Scheduled"]
    assert simulator.document("a")["DocumentIncarnation"] == 1
    assert len(simulator.log()) == 1


def test_the_index_lists_the_endpoints(simulator):
    assert "POST /events" in simulator.call("GET", "/")["endpoints"]


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({}, '"type"'),
        ({"type": "Reboot"}, "name the VMs"),
        ({"type": "", "resources": ["web-0"]}, '"type" must be a text'),
        ({"type": "Reboot", "resources": "web-0"}, '"resources" must be a list of texts'),
        ({"type": "Reboot", "resources": ["web-9"]}, 'no VM of the fleet is called "web-9"'),
        ({"type": "Reboot", "resources": ["web-0"], "notice": -1}, '"notice" must be a number of seconds'),
        ({"type": "Reboot", "resources": ["web-0"], "notice": "5"}, '"notice" must be a number of seconds'),
        ({"type": "Reboot", "resources": ["web-0"], "dwell": True}, '"dwell" must be a number of seconds'),
        ({"type": "Reboot", "resources": ["web-0"], "duration": 1.5}, '"duration" must be an integer'),
        ({"type": "Reboot", "resources": ["web-0"], "status": "Completed"}, '"status" must be one of'),
        ({"type": "Reboot", "resources": ["web-0"], "colour": "red"}, 'unknown key "colour"'),
        ({"type": "Reboot", "resources": ["web-0"], "group": "nobody"}, 'there is no group "nobody"'),
        ({"scenario": "earthquake", "resources": ["web-0"]}, '"scenario" must be one of'),
    ],
)
def test_an_event_that_makes_no_sense_is_told_in_a_sentence(simulator, event, sentence):
    with pytest.raises(ControlError, match=sentence) as error:
        simulator.add_event(**event)
    assert error.value.status == 400
    assert simulator.events() == []


def test_an_id_is_used_once(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"], id="abc")
    with pytest.raises(ControlError, match="exists already"):
        simulator.add_event(type="Reboot", resources=["web-0"], id="ABC")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("PUT", "/events", None, 405),
        ("POST", "/events", "{", 400),
        ("POST", "/events", "[]", 400),
        ("POST", "/events/no-such-event/start", None, 404),
        ("POST", "/events/no-such-event/reschedule", {}, 400),
        ("DELETE", "/faults/99", None, 404),
        ("POST", "/clock", {}, 400),
        ("POST", "/clock", {"advance": -1}, 400),
        ("POST", "/clock", {"advance": "1"}, 400),
        ("POST", "/faults", "nonsense", 400),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(simulator, method, path, body, status):
    answer = ask(simulator.control + path, method, body)
    assert answer.status == status
    assert len(answer.json["error"].split()) > 2
    assert simulator.errors() == ""
