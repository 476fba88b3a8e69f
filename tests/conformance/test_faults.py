# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on demand, as far as they need real connections; what each answers is shown in the process."""

from __future__ import annotations

import concurrent.futures
import http.client
import re
import urllib.parse

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA
from helpers.waiting import wait_until

pytestmark = pytest.mark.rest
CLOSED = (http.client.RemoteDisconnected, ConnectionResetError)


@pytest.fixture
def start(over_http):
    return over_http


@pytest.fixture
def event(simulator):
    return simulator.add_event(type="Reboot", resources=["web-0"])["id"]


def is_hanging(simulator):
    return [entry["fault"] for entry in simulator.log()] == ["hang"]


def test_hang_does_not_answer_until_it_is_cleared_and_is_in_the_log_at_once(simulator):
    simulator.fault(kind="hang")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(simulator.read, "web-0", timeout=300)
        wait_until(lambda: is_hanging(simulator))
        assert (simulator.log()[0]["status"], answer.done()) == (None, False)
        simulator.clear_faults()
        assert answer.result().status == 200


@pytest.mark.parametrize(
    ("fault", "status", "body"),
    [
        pytest.param({"kind": "empty_200"}, 200, rb"", id="before and while the service is switched on, observed"),
        pytest.param({"kind": "gone_410"}, 410, rb".*Gone.*", id="while the service is updated, documented"),
        pytest.param({"kind": "html", "status": 502}, 502, rb"(?s).*<html>.*", id="a proxy in the way, observed"),
    ],
)
def test_another_answer(simulator, fault, status, body):
    simulator.fault(count=1, **fault)
    answer = simulator.read("web-0")
    assert (answer.status, int(answer.headers["content-length"])) == (status, len(answer.body))
    assert re.fullmatch(body, answer.body)
    assert simulator.document("web-0")["Events"] == []


def test_an_approval_that_hung_until_its_client_left_is_not_processed(simulator, event):
    simulator.fault(kind="hang", method="POST")
    with pytest.raises(TimeoutError):
        simulator.approve("web-0", event, timeout=0.2)
    wait_until(lambda: is_hanging(simulator))
    simulator.clear_faults()
    assert simulator.read("web-0").status == 200
    assert not simulator.event(event)["approved"]


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


def test_the_state_names_the_endpoint_of_each_vm(simulator):
    assert {vm["name"]: vm["endpoint"] for vm in simulator.state()["vms"]} == simulator.endpoints
