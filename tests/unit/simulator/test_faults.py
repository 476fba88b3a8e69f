# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on demand and the control interface, as far as they need real connections."""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import urllib.parse

import pytest
from patience import wait_until
from simulator_process import EVENTS_PATH, METADATA, ControlError, ask

pytestmark = pytest.mark.rest
CLOSED = (http.client.RemoteDisconnected, ConnectionResetError)


@pytest.fixture
def event(simulator):
    return simulator.add_event(type="Reboot", resources=["web-0"])["id"]


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        pytest.param({"kind": "gone_410"}, 410, id="documented"),
        pytest.param({"kind": "too_many_429", "retry_after": 7}, 429, id="documented"),
        pytest.param({"kind": "timeout_408"}, 408, id="observed"),
        pytest.param({"kind": "error_500"}, 500, id="observed"),
        pytest.param({"kind": "html", "status": 502}, 502, id="a proxy in the way, observed"),
        pytest.param({"kind": "redirect"}, 302, id="a login page in the way"),
        pytest.param({"kind": "empty_200"}, 200, id="an empty body, observed"),
    ],
)
def test_an_answer_under_a_fault(simulator, fault, status):
    simulator.fault(count=1, **fault)
    answer = simulator.read("web-0")
    assert answer.status == status
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert answer.headers.get("retry-after") == ("7" if "retry_after" in fault else None)
    assert (answer.body == b"") == (fault["kind"] in ("redirect", "empty_200"))
    assert simulator.document("web-0")["Events"] == []


def test_truncated_json_is_cut_with_a_fitting_length_and_a_huge_body_is_json(simulator):
    simulator.fault(kind="truncated_json", count=1)
    simulator.fault(kind="huge_body", count=1)
    with pytest.raises(json.JSONDecodeError):
        json.loads(simulator.read("web-0").body)
    huge = simulator.read("web-0")
    assert len(huge.body) > 1024 * 1024
    assert huge.json["Events"] == []


def test_a_raw_answer_has_the_headers_that_were_asked_for(simulator):
    simulator.fault(kind="raw", status=203, headers={"Content-Type": "x/y", "X-Odd": "1"}, body="hello", count=1)
    answer = simulator.read("web-0")
    assert (answer.status, answer.body) == (203, b"hello")
    assert (answer.headers["content-type"], answer.headers["x-odd"]) == ("x/y", "1")


def test_hang_does_not_answer_until_it_is_cleared_and_is_in_the_log_at_once(simulator):
    simulator.fault(kind="hang")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(simulator.read, "web-0", timeout=300)
        wait_until(simulator.log)
        (entry,) = simulator.log()
        assert (entry["fault"], entry["status"], answer.done()) == ("hang", None, False)
        simulator.clear_faults()
        assert answer.result().status == 200


def test_an_approval_that_hung_until_its_client_left_is_not_processed(simulator, event):
    simulator.fault(kind="hang", method="POST", seconds=0.5)
    with pytest.raises(TimeoutError):
        simulator.approve("web-0", event, timeout=0.2)
    wait_until(lambda: not simulator.call("GET", "/faults")[0]["active"])
    assert simulator.read("web-0").status == 200
    assert not simulator.event(event)["approved"]


@pytest.mark.parametrize(("kind", "is_processed"), [("drop", False), ("lost_answer", True)])
def test_a_connection_is_closed_without_an_answer(simulator, event, kind, is_processed):
    simulator.fault(kind=kind, count=1)
    with pytest.raises(CLOSED):
        simulator.approve("web-0", event)
    assert simulator.event(event)["approved"] is is_processed
    (entry,) = simulator.log()
    assert (entry["fault"], entry["status"], entry["approved"]) == (kind, None, [event] if is_processed else [])


def test_refuse_stops_listening_for_a_time(simulator):
    simulator.fault(kind="refuse", vm="web-0", seconds=0.5)
    wait_until(lambda: simulator.call("GET", "/faults")[0]["active"] is False)

    def answers():
        try:
            return simulator.read("web-0").status == 200
        except ConnectionRefusedError:
            return False

    wait_until(answers)


def test_refuse_is_for_one_vm_or_all_and_ends_when_it_is_cleared_at_the_same_address(simulator):
    simulator.fault(kind="refuse", vm="web-0")
    assert simulator.read("web-1").status == 200
    simulator.fault(kind="refuse")
    for vm in ("web-0", "web-1"):
        with pytest.raises(ConnectionRefusedError):
            simulator.read(vm)
    assert simulator.state()["vms"][0]["name"] == "web-0"
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


# The control interface.


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("PUT", "/events", None, 405),
        ("POST", "/events", "{", 400),
        ("POST", "/events/no-such-event/start", None, 404),
        ("POST", "/faults", {"kind": "fire"}, 400),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(simulator, method, path, body, status):
    answer = ask(simulator.control + path, method, body)
    assert answer.status == status
    assert len(answer.json["error"].split()) > 2
    assert (simulator.errors(), simulator.log()) == ("", [])


def test_what_is_over_can_not_be_done(simulator, event):
    simulator.cancel(event)
    with pytest.raises(ControlError, match="409: event .* is Cancelled"):
        simulator.start(event)


def test_the_log_holds_every_request_and_can_be_emptied(simulator):
    simulator.ask("web-1", "/nothing?x=1", "POST", "some text")
    (entry,) = simulator.log()
    assert (entry["vm"], entry["path"], entry["query"], entry["status"]) == ("web-1", "/nothing", "x=1", 404)
    assert (entry["headers"]["Metadata"], entry["body"]) == ("true", "some text")
    simulator.clear_log()
    assert simulator.log() == []


def test_the_state_names_the_endpoint_of_each_vm(simulator):
    assert {vm["name"]: vm["endpoint"] for vm in simulator.state()["vms"]} == simulator.endpoints
