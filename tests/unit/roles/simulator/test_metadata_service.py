# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a VM hears at its metadata address, rule by rule and in their order."""

from __future__ import annotations

import pytest
from helpers.simulator_process import EVENTS_PATH, METADATA

EVENTS = f"{EVENTS_PATH}?api-version=2020-07-01"
PREVIEW = f"{EVENTS_PATH}?api-version=2017-03-01"
INSTANCE = "/metadata/instance?api-version=2021-02-01"
VERSIONS = "/metadata/versions"


def heard(simulator, path, method="GET", **more):
    answer = simulator.ask("web-0", path, method, **more)
    return answer.status, answer.json.get("error", "").partition(":")[0]


def text(simulator, below):
    answer = simulator.ask("web-0", f"/metadata/instance{below}?api-version=2021-02-01&format=text")
    return answer.body.decode() if answer.status == 200 else answer.status


HEADER = (400, "Bad request. Required metadata header not specified")
FORWARDED = (400, "Bad request. Requests with the header X-Forwarded-For are not allowed")
NOT_FOUND = (404, "API is not found")


@pytest.mark.parametrize("path", [EVENTS, INSTANCE, VERSIONS, EVENTS_PATH, f"{EVENTS_PATH}?api-version=2017-08-01"])
def test_the_header_is_needed(simulator, path):
    assert heard(simulator, path, headers={}) == HEADER


def test_the_preview_needs_none_for_events_only(simulator):
    assert heard(simulator, PREVIEW, headers={}) == (200, "")
    assert heard(simulator, INSTANCE.replace("2021-02-01", "2017-03-01"), headers={}) == HEADER
    assert heard(simulator, f"{VERSIONS}?api-version=2017-03-01", headers={}) == HEADER


@pytest.mark.parametrize("path", [EVENTS, PREVIEW, INSTANCE, VERSIONS])
@pytest.mark.parametrize("value", ["10.0.0.1", ""])
def test_nobody_may_ask_for_another(simulator, path, value):
    assert heard(simulator, path, headers={**METADATA, "x-forwarded-for": value}) == FORWARDED
    assert heard(simulator, path, headers={"X-Forwarded-For": value}) == FORWARDED


@pytest.mark.parametrize("headers", [{}, METADATA, {"X-Forwarded-For": "x"}])
def test_what_is_not_there_is_not_there_for_anybody(simulator, headers):
    assert heard(simulator, "/metadata/nothing", headers=headers) == NOT_FOUND


@pytest.mark.parametrize(("path", "methods"), [(EVENTS, ["GET", "POST"]), (INSTANCE, ["GET"]), (VERSIONS, ["GET"])])
def test_the_methods_of_each(simulator, path, methods):
    for method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "ANY"):
        approval = {"StartRequests": [{"EventId": "x"}]}
        assert simulator.ask("web-0", path, method, approval).status == (200 if method in methods else 405)


def test_the_versions_that_events_have_are_those_that_are_set(start):
    simulator = start(api_versions=["2019-01-01"])
    assert simulator.read("web-0", "2019-01-01").status == 200
    assert simulator.read("web-0", "2020-07-01").status == 400
    assert simulator.approve("web-0", "x", version="2020-07-01").status == 400


def test_all_versions_of_instances_are_told(simulator):
    told = simulator.ask("web-0", VERSIONS).json
    assert list(told) == ["apiVersions"]
    assert (len(told["apiVersions"]), told["apiVersions"][0], told["apiVersions"][-1]) == (
        35,
        "2017-03-01",
        "2025-04-07",
    )


@pytest.mark.parametrize(
    ("form", "status"),
    [("", 400), ("&format=json", 400), ("&format=text", 200), ("&format=TEXT", 200), ("&format=x", 400)],
)
def test_a_leaf_is_a_text(simulator, form, status):
    answer = simulator.ask("web-0", f"/metadata/instance/compute/name?api-version=2021-02-01{form}")
    assert answer.status == status
    if status == 200:
        assert (answer.body, answer.headers["content-type"]) == (b"web-0", "text/plain; charset=utf-8")


@pytest.mark.parametrize("form", ["json", "JSON", "text", "Text", "xml", "", "Zext"])
def test_a_branch_is_json_or_a_list_of_what_is_below(simulator, form):
    answer = simulator.ask("web-0", f"{INSTANCE}&format={form}")
    assert answer.status == (200 if form.lower() in ("json", "text") else 400)
    if form.lower() == "json":
        assert list(answer.json) == ["compute", "network"]


@pytest.mark.parametrize(
    ("below", "shown"),
    [
        ("", "compute/\nnetwork/"),
        ("/compute/osProfile", "adminUsername\ncomputerName\ndisablePasswordAuthentication"),
        ("/Compute/OSPROFILE/computername", "web-0"),
        ("/network/interface", "0/"),
        ("/network/interface/0", "ipv4/\nipv6/\nmacAddress"),
        ("/network/interface/0/ipv4/subnet/0/prefix", "16"),
        ("/compute/publicKeys", ""),
        ("/network/interface/1", 404),
        ("/network/interface/7", 404),
        ("/network/interface/-1", 404),
        ("/network/interface/x", 404),
        ("/compute/name/0", 404),
        ("/compute/nothing", 404),
        ("/nothing", 404),
    ],
)
def test_what_is_below(simulator, below, shown):
    assert text(simulator, below) == shown


def test_a_list_shows_as_many_as_it_has(start):
    keys = [{"path": "a"}, {"path": "b"}]
    simulator = start({"vms": [{"name": "web-0", "compute": {"publicKeys": keys}}]})
    assert text(simulator, "/compute/publicKeys") == "0/\n1/"
    assert text(simulator, "/compute/publicKeys/1/path") == "b"
    assert text(simulator, "/compute/publicKeys/2") == 404
    assert simulator.ask("web-0", "/metadata/instance/compute/publicKeys?api-version=2021-02-01").json == keys


def test_reading_gives_a_document_with_its_number_first(simulator):
    assert simulator.read("web-0").body == b'{"DocumentIncarnation":1,"Events":[]}'


def test_an_approval_has_an_empty_answer(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    answer = simulator.approve("web-0", event)
    assert (answer.status, answer.body) == (200, b"")
    assert simulator.ask("web-0", EVENTS, "POST", "{").status == 400


def test_too_many_requests_are_turned_away_unread_and_counted_under_faults_too(start):
    simulator = start(requests_per_second=2)
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="error_500", count=1)
    assert [simulator.read("web-0").status for _time in range(3)] == [500, 200, 429]
    answer = simulator.approve("web-0", event)
    assert (answer.status, answer.json) == (429, {"error": "Too many requests"})
    assert not simulator.event(event)["approved"]
    assert [entry["status"] for entry in simulator.log()] == [500, 200, 429, 429]


def test_the_log_tells_each_request_and_its_answer(simulator):
    simulator.ask("web-1", "/nothing?x=1", "POST", b"\xffx", headers={"A": "b"})
    simulator.time.go_on(2)
    simulator.fault(kind="slow", delay=3)
    simulator.read("web-0")
    first, second = simulator.log()
    assert first == {
        "seq": 1,
        "time": 1_800_000_000,
        "vm": "web-1",
        "method": "POST",
        "path": "/nothing",
        "query": "x=1",
        "headers": {"A": "b"},
        "body": "\ufffdx",
        "status": 404,
        "impact": None,
        "fault": None,
        "approved": [],
        "answered": 1_800_000_000,
    }
    assert (second["seq"], second["time"], second["answered"]) == (2, 1_800_000_002, 1_800_000_005)
    assert (second["fault"], second["status"]) == ("slow", 200)


def test_the_log_counts_on_when_it_was_emptied(simulator):
    simulator.read("web-0")
    simulator.clear_log()
    assert simulator.log() == []
    simulator.read("web-0")
    assert [entry["seq"] for entry in simulator.log()] == [2]
