# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the service wants to be asked."""

from __future__ import annotations

import http.client
import json
import socket
import urllib.parse

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA

EVENTS = f"{EVENTS_PATH}?api-version=2020-07-01"
INSTANCE = "/metadata/instance?api-version=2021-02-01"
PATHS = [EVENTS, INSTANCE, "/metadata/versions"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", [{}, {"Metadata": "false"}, {"Metadata": ""}])
def test_a_request_without_metadata_true_is_a_bad_request(simulator, path, headers):
    answer = simulator.ask("web-0", path, headers=headers)
    assert answer.status == 400
    assert "Required metadata header not specified" in answer.json["error"]


def test_an_approval_without_metadata_true_is_a_bad_request(start):
    simulator = start()
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    assert simulator.approve("web-0", event["id"], headers={}).status == 400
    assert not simulator.event(event["id"])["approved"]


@pytest.mark.parametrize("value", ["true", "True", "TRUE"])
def test_the_case_of_true_does_not_matter_inferred(simulator, value):
    """[I] Microsoft's own samples write both true and True."""
    assert simulator.read("web-0", headers={"metadata": value}).status == 200


@pytest.mark.parametrize("path", PATHS)
def test_x_forwarded_for_is_rejected(simulator, path):
    """That it is rejected is [D]; that the code is 400 is [I]."""
    assert simulator.ask("web-0", path, headers={**METADATA, "X-Forwarded-For": "10.0.0.1"}).status == 400


@pytest.mark.parametrize("value", ["10.0.0.1", ""])
def test_x_forwarded_for_is_rejected_on_an_approval_too_and_also_when_it_is_empty(simulator, value):
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    headers = {**METADATA, "X-Forwarded-For": value}
    assert simulator.approve("web-0", event["id"], headers=headers).status == 400
    assert not simulator.event(event["id"])["approved"]
    assert simulator.read("web-0", headers=headers).status == 400


@pytest.mark.parametrize("more", ["api-version=2020-07-01", "API-Version=2020-07-01", "x=1&x=1"])
def test_duplicate_query_parameters_are_rejected(simulator, more):
    """That they are rejected is [D]; that the code is 400 and that case does not matter is [I]."""
    assert simulator.ask("web-0", f"{EVENTS}&{more}").status == 400


@pytest.mark.parametrize("path", [EVENTS_PATH, "/metadata/instance"])
@pytest.mark.parametrize("query", ["", "?api-version=", "?api-version=2016-01-01"])
def test_a_missing_or_invalid_api_version_gives_the_documented_body(simulator, path, query):
    """[D] for /metadata/instance, [I] for the path of events."""
    answer = simulator.ask("web-0", path + query)
    assert answer.status == 400
    assert answer.json == {
        "error": "Bad request. api-version is invalid or was not specified in the request. "
        "For more information refer to aka.ms/azureimds",
        "newest-versions": ["2025-04-07", "2024-07-17", "2024-03-15"],
    }


@pytest.mark.parametrize(
    "path", ["/", "/metadata", "/metadata/nothing", "/metadata/scheduledevents/x", "/metadata/instance/nothing", "/x"]
)
def test_what_does_not_exist_is_not_found(simulator, path):
    assert simulator.ask("web-0", f"{path}?api-version=2021-02-01").status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD"])
def test_events_know_get_and_post_only(simulator, method):
    assert simulator.ask("web-0", EVENTS, method).status == 405


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("path", [INSTANCE, "/metadata/versions"])
def test_the_rest_knows_get_only(simulator, method, path):
    assert simulator.ask("web-0", path, method).status == 405


@pytest.mark.parametrize("path", [EVENTS, "/nothing", EVENTS_PATH])
def test_answers_and_errors_are_json_with_a_length(simulator, path):
    answer = simulator.ask("web-0", path)
    assert answer.headers["content-type"].startswith("application/json")
    assert int(answer.headers["content-length"]) == len(answer.body)
    json.loads(answer.body)


def test_the_case_of_the_path_does_not_matter_observed(simulator):
    """[O] Microsoft's C# sample asks for /metadata/scheduledEvents."""
    assert simulator.ask("web-0", EVENTS.replace("scheduledevents", "scheduledEvents")).status == 200


def test_one_connection_carries_several_requests(simulator):
    parts = urllib.parse.urlsplit(simulator.endpoint("web-0"))
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=5)
    connection.request("GET", EVENTS, headers=METADATA)
    connection.getresponse().read()
    first = connection.sock
    connection.request("GET", INSTANCE, headers=METADATA)
    assert connection.getresponse().status == 200
    assert connection.sock is first
    connection.close()


def test_a_connection_is_closed_when_the_client_wishes(simulator):
    answer = simulator.read("web-0", headers={**METADATA, "Connection": "close"})
    assert answer.headers["connection"] == "close"


def test_what_is_not_http_does_no_harm(simulator):
    parts = urllib.parse.urlsplit(simulator.endpoint("web-0"))
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        connection.recv(4096)
    assert simulator.read("web-0").status == 200
    assert simulator.errors() == ""
