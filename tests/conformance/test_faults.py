# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on demand: what each kind does, to whom, how often and how long."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.parse

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA, ControlError

CLOSED = (http.client.RemoteDisconnected, ConnectionResetError)


def statuses(simulator, count, vm="web-0"):
    return [simulator.read(vm).status for _time in range(count)]


@pytest.mark.parametrize(
    ("kind", "status"),
    [("gone_410", 410), ("too_many_429", 429), ("error_500", 500), ("error_503", 503), ("timeout_408", 408)],
)
def test_status_faults(simulator, kind, status):
    simulator.fault(kind=kind, count=1)
    assert statuses(simulator, 2) == [status, 200]


def test_any_status(simulator):
    simulator.fault(kind="status", status=418, body={"error": "teapot"}, count=1)
    answer = simulator.read("web-0")
    assert (answer.status, answer.json) == (418, {"error": "teapot"})


@pytest.mark.parametrize("value", [7, "Mon, 16 Nov 2026 00:00:00 GMT"])
def test_too_many_with_retry_after(simulator, value):
    simulator.fault(kind="too_many_429", retry_after=value, count=1)
    assert simulator.read("web-0").headers["retry-after"] == str(value)


def test_too_many_has_no_retry_after_unless_asked(simulator):
    simulator.fault(kind="too_many_429")
    assert "retry-after" not in simulator.read("web-0").headers


def test_hang_does_not_answer_until_it_is_cleared(simulator):
    simulator.fault(kind="hang")
    threading.Timer(0.4, simulator.clear_faults).start()
    begin = time.monotonic()
    assert simulator.read("web-0").status == 200
    assert time.monotonic() - begin > 0.3


def test_hang_does_not_answer_until_its_time_is_over(simulator):
    simulator.fault(kind="hang", seconds=0.4)
    begin = time.monotonic()
    assert simulator.read("web-0").status == 200
    assert 0.3 < time.monotonic() - begin < 2


def test_a_hanging_request_is_in_the_log_at_once(simulator):
    simulator.fault(kind="hang")
    with pytest.raises(TimeoutError):
        simulator.read("web-0", timeout=0.2)
    (entry,) = simulator.log()
    assert (entry["fault"], entry["status"]) == ("hang", None)


def test_an_approval_that_hung_until_its_client_left_is_not_processed(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="hang", method="POST")
    with pytest.raises(TimeoutError):
        simulator.approve("web-0", event, timeout=0.2)
    simulator.clear_faults()
    time.sleep(0.1)
    assert not simulator.event(event)["approved"]


def test_slow_answers_after_a_delay(simulator):
    simulator.fault(kind="slow", delay=0.3, count=1)
    begin = time.monotonic()
    assert simulator.read("web-0").status == 200
    assert time.monotonic() - begin > 0.25


def test_drop_closes_the_connection_before_the_request_is_processed(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="drop", count=1)
    with pytest.raises(CLOSED):
        simulator.approve("web-0", event)
    assert not simulator.event(event)["approved"]


def test_lost_answer_processes_the_request_and_closes_without_answering(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="lost_answer", count=1)
    with pytest.raises(CLOSED):
        simulator.approve("web-0", event)
    assert simulator.event(event)["approved"]
    (entry,) = simulator.log()
    assert (entry["fault"], entry["status"], entry["approved"]) == ("lost_answer", None, [event])


def test_refuse_stops_listening_for_a_time(simulator):
    simulator.fault(kind="refuse", vm="web-0", seconds=0.5)
    with pytest.raises(ConnectionRefusedError):
        simulator.read("web-0")
    assert simulator.read("web-1").status == 200
    time.sleep(0.65)
    assert simulator.read("web-0").status == 200


def test_refuse_ends_when_it_is_cleared_at_the_same_address(simulator):
    simulator.fault(kind="refuse")
    for vm in ("web-0", "web-1"):
        with pytest.raises(ConnectionRefusedError):
            simulator.read(vm)
    simulator.clear_faults()
    assert [simulator.read(vm).status for vm in ("web-0", "web-1")] == [200, 200]


def test_refuse_also_closes_connections_that_are_open(simulator):
    parts = urllib.parse.urlsplit(simulator.endpoint("web-0"))
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=5)

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


def test_empty_200_observed(simulator):
    """[O] Seen before and while the service is being switched on."""
    simulator.fault(kind="empty_200", count=1)
    answer = simulator.read("web-0")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "0")


def test_truncated_json_is_cut_with_a_fitting_length(simulator):
    simulator.fault(kind="truncated_json", count=1)
    answer = simulator.read("web-0")
    assert answer.status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(answer.body)


@pytest.mark.parametrize("status", [200, 502, 504])
def test_html_as_a_proxy_in_the_way_sends_it(simulator, status):
    simulator.fault(kind="html", status=status, count=1)
    answer = simulator.read("web-0")
    assert answer.status == status
    assert answer.headers["content-type"].startswith("text/html")
    assert b"<html>" in answer.body


def test_redirect(simulator):
    simulator.fault(kind="redirect", count=1)
    simulator.fault(kind="redirect", location="http://127.0.0.1:1/", status=307, count=1)
    first, second = simulator.read("web-0"), simulator.read("web-0")
    assert (first.status, first.headers["location"]) == (302, "http://login.invalid/")
    assert (second.status, second.headers["location"]) == (307, "http://127.0.0.1:1/")


@pytest.mark.parametrize("body", [None, [], {"Events": {}}, 7])
def test_wrong_shape_is_json_of_another_form(simulator, body):
    simulator.fault(kind="wrong_shape", count=1, body=body)
    answer = simulator.read("web-0")
    assert answer.status == 200
    assert answer.json == ({"DocumentIncarnation": 1, "Events": "none"} if body is None else body)


def test_huge_body_is_valid_and_larger_than_a_mebibyte(simulator):
    simulator.fault(kind="huge_body", count=1)
    simulator.fault(kind="huge_body", bytes=5000, count=1)
    first, second = simulator.read("web-0"), simulator.read("web-0")
    assert len(first.body) > 1024 * 1024
    assert first.json["Events"] == []
    assert len(second.body) == 5000


def test_raw_sends_what_it_is_given(simulator):
    simulator.fault(kind="raw", status=203, headers={"Content-Type": "x/y", "X-Odd": "1"}, body="hello", count=1)
    answer = simulator.read("web-0")
    assert (answer.status, answer.body) == (203, b"hello")
    assert (answer.headers["content-type"], answer.headers["x-odd"]) == ("x/y", "1")


def test_a_fault_is_for_all_vms_or_for_one(simulator):
    simulator.fault(kind="error_500", vm="web-1")
    assert (statuses(simulator, 1, "web-0"), statuses(simulator, 1, "web-1")) == ([200], [500])
    simulator.fault(kind="error_503")
    assert (statuses(simulator, 1, "web-0"), statuses(simulator, 1, "web-1")) == ([503], [500])


def test_a_fault_lasts_for_a_count_of_requests(simulator):
    simulator.fault(kind="error_500", count=2)
    assert statuses(simulator, 4) == [500, 500, 200, 200]


def test_a_fault_lasts_for_a_time_in_real_seconds(fast):
    fast.fault(kind="error_500", seconds=0.5)
    assert statuses(fast, 1) == [500]
    time.sleep(0.55)
    assert statuses(fast, 1) == [200]


def test_a_fault_without_count_or_time_lasts_until_it_is_cleared(simulator):
    simulator.fault(kind="error_500")
    assert statuses(simulator, 3) == [500] * 3
    simulator.clear_faults()
    assert statuses(simulator, 1) == [200]


def test_a_fault_may_let_some_requests_pass_first(simulator):
    simulator.fault(kind="error_500", skip=2, count=1)
    assert statuses(simulator, 4) == [200, 200, 500, 200]


def test_faults_of_a_row_strike_one_after_the_other(simulator):
    for kind in ("gone_410", "error_500", "too_many_429"):
        simulator.fault(kind=kind, count=1)
    assert statuses(simulator, 4) == [410, 500, 429, 200]


def test_a_fault_may_be_for_one_path(simulator):
    simulator.fault(kind="error_500", path="instance")
    assert statuses(simulator, 1) == [200]
    assert simulator.ask("web-0", "/metadata/instance/compute?api-version=2021-02-01").status == 500
    assert simulator.ask("web-0", "/metadata/versions").status == 200


def test_a_fault_may_be_for_one_method(simulator):
    simulator.fault(kind="error_500", method="POST")
    assert statuses(simulator, 1) == [200]
    assert simulator.approve("web-0", "some-id").status == 500


def test_an_approval_under_a_status_fault_is_not_processed(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="error_500", count=1)
    assert simulator.approve("web-0", event).status == 500
    assert not simulator.event(event)["approved"]


def test_the_control_interface_has_no_faults(simulator):
    simulator.fault(kind="refuse")
    simulator.fault(kind="hang")
    assert simulator.state()["vms"][0]["name"] == "web-0"


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ({}, '"kind" is missing'),
        ({"kind": "fire"}, '"kind" must be one of'),
        ({"kind": "drop", "vm": "nobody"}, 'no VM of the fleet is called "nobody"'),
        ({"kind": "drop", "count": 0}, '"count" must be an integer, 1 or more'),
        ({"kind": "drop", "seconds": -1}, '"seconds" must be a number greater than 0'),
        ({"kind": "status"}, 'needs a "status"'),
        ({"kind": "refuse", "count": 1}, "works for a time"),
        ({"kind": "drop", "colour": "red"}, 'unknown key "colour"'),
    ],
)
def test_a_fault_that_makes_no_sense_is_told_in_a_sentence(simulator, fault, sentence):
    with pytest.raises(ControlError, match=sentence) as error:
        simulator.fault(**fault)
    assert error.value.status == 400
