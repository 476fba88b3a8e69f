# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a VM receives at its metadata address, rule by rule and in their order; the limit; the log."""

from __future__ import annotations

import json
import types

import pytest
from helpers.simulator_inside import a_request, part
from helpers.simulator_process import EVENTS_PATH

EVENTS = f"{EVENTS_PATH}?api-version=2020-07-01"
PREVIEW = f"{EVENTS_PATH}?api-version=2017-03-01"
INSTANCE = "/metadata/instance?api-version=2021-02-01"
VERSIONS = "/metadata/versions"
HEADER = (400, "Bad request. Required metadata header not specified")
TWICE = (400, {"error": "Bad request. Duplicate query parameters are not allowed"})
rules = part("request_rules")


def heard(simulator, path, method="GET", **more):
    answer = simulator.ask("web-0", path, method, **more)
    return answer.status, answer.json.get("error", "").partition(":")[0]


def text(simulator, below):
    answer = simulator.ask("web-0", f"/metadata/instance{below}?api-version=2021-02-01&format=text")
    return answer.body.decode() if answer.status == 200 else answer.status


def refusal(call, *arguments):
    with pytest.raises(rules.RefusedError) as error:
        call(*arguments)
    response = error.value.response
    assert json.loads(response.body)["error"] == str(error.value)
    return response.status, json.loads(response.body)


# Requests.


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("/metadata/scheduledevents", "scheduledevents"), ("/Metadata/ScheduledEvents/", "scheduledevents"),
        ("//metadata//scheduledevents", "scheduledevents"), ("/metadata/%73cheduledevents", "scheduledevents"),
        ("/metadata/versions", "versions"), ("/metadata/instance", "instance"),
        ("/metadata/instance/compute/name", "instance"), ("/metadata/scheduledevents/x", None),
        ("/metadata/versions/x", None), ("/metadata/instances", None), ("/other/instance", None), ("/metadata", None),
        ("/scheduledevents", None), ("", None),
    ],
)  # fmt: skip
def test_which_part_of_the_service_a_path_belongs_to(path, area):
    assert rules.area_of(path) == area


def test_names_of_a_query_are_in_lower_case_and_stand_once_and_values_are_as_they_are():
    assert rules.query_of(a_request("GET", "/x?API-Version=A&b=&C=D%20e&d=A")) == {
        "api-version": "A", "b": "", "c": "D e", "d": "A",
    }  # fmt: skip
    for query in ("a=1&a=2", "a=1&A=1", "b=1&a=1&b=1"):
        assert refusal(rules.query_of, a_request("GET", f"/x?{query}")) == TWICE


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff", b"{", b"7", b"[]", b"{}", b'{"StartRequests": []}', b'{"StartRequests": 7}',
        b'{"StartRequests": [7]}', b'{"StartRequests": [{}]}', b'{"StartRequests": [{"EventId": ""}]}',
        b'{"StartRequests": [{"EventId": 7}]}', b'{"StartRequests": [{"EventId": "A"}, {"EventId": ""}]}',
        b'{"StartRequests": null}', b'{"StartRequests": {}}', b'{"StartRequests": ["A"]}',
    ],
)  # fmt: skip
def test_what_is_no_approval(body):
    assert refusal(rules.start_requests, body) == (400, {"error": "Bad request. The payload is malformed"})


# Answers.


@pytest.mark.parametrize("value", ["true", "TRUE", " true "])
def test_its_case_does_not_matter_and_the_preview_needs_none_for_events_only(simulator, value):
    assert heard(simulator, EVENTS, headers={"metadata": value}) == (200, "")
    assert heard(simulator, PREVIEW, headers={}) == (200, "")
    assert heard(simulator, INSTANCE.replace("2021-02-01", "2017-03-01"), headers={}) == HEADER
    assert heard(simulator, f"{VERSIONS}?api-version=2017-03-01", headers={}) == HEADER


@pytest.mark.parametrize(
    ("form", "leaf", "branch"),
    [
        ("", 400, 200), ("&format=json", 400, 200), ("&format=JSON", 400, 200), ("&format=text", 200, 200),
        ("&format=TEXT", 200, 200), ("&format=", 400, 400), ("&format=x", 400, 400), ("&format=Zext", 400, 400),
    ],
)  # fmt: skip
def test_a_leaf_is_a_text_and_a_branch_is_json_or_a_list_of_what_is_below(simulator, form, leaf, branch):
    name = simulator.ask("web-0", f"/metadata/instance/compute/name?api-version=2021-02-01{form}")
    everything = simulator.ask("web-0", INSTANCE + form)
    assert (name.status, everything.status) == (leaf, branch)
    if leaf == 200:
        assert (name.body, name.headers["content-type"]) == (b"web-0", "text/plain; charset=utf-8")
    elif branch == 200:
        assert list(everything.json) == ["compute", "network"]


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
        *((f"/network/interface/{place}", 404) for place in ("1", "7", "-1", "x")),
        *((below, 404) for below in ("/compute/name/0", "/compute/nothing", "/nothing")),
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


# So many requests in any one second.


@pytest.fixture
def allowed(driven):
    """A function that returns whether each of so many requests of a VM is allowed, two a second."""
    limit = part("rate_limit").RateLimit(2)
    vms = {name: types.SimpleNamespace(key=name) for name in "ab"}

    def ask(names, reset=False):
        if reset:
            limit.reset()
        return "".join("-+"[not limit.is_exceeded_by(vms[name])] for name in names)

    return ask


def test_so_many_are_allowed_for_each_vm_until_a_reset(allowed):
    assert allowed("aabaabb") == "+++--+-"
    assert allowed("abb", reset=True) == "+++"


@pytest.mark.parametrize("uptime", [0.5, 5000])
def test_a_request_counts_for_one_second_and_one_that_was_turned_away_does_not(allowed, driven, uptime):
    """Also soon after the machine has been started."""
    driven.go_on(uptime - driven.monotonic())
    asked = [(0, "a"), (0.5, "a"), (0.499, "aa"), (0.001, "aa"), (0.5, "aa"), (1.5, "aaa"), (1, "aaa")]
    seen = []
    for seconds, names in asked:
        driven.go_on(seconds)
        seen.append(allowed(names))
    assert seen == ["+", "+", "--", "+-", "+-", "++-", "++-"]


@pytest.mark.parametrize(("most", "expected"), [(0, 400), (1, 1), (300, 300)])
def test_other_limits(driven, most, expected):
    limit = part("rate_limit").RateLimit(most)
    assert [limit.is_exceeded_by(types.SimpleNamespace(key="a")) for _time in range(400)].count(False) == expected


def test_too_many_requests_are_turned_away_unread_and_counted_under_faults_too(start):
    simulator = start(requests_per_second=2)
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="error_500", count=1)
    assert [simulator.read("web-0").status for _time in range(3)] == [500, 200, 429]
    answer = simulator.approve("web-0", event)
    assert (answer.status, answer.json) == (429, {"error": "Too many requests"})
    assert not simulator.event(event)["approved"]
    assert [entry["status"] for entry in simulator.log()] == [500, 200, 429, 429]


# The log.


def test_the_log_holds_each_request_and_its_answer(simulator):
    simulator.ask("web-1", "/nothing?x=1", "POST", b"\xffx", headers={"A": "b"})
    simulator.time.go_on(2)
    simulator.fault(kind="slow", delay=3)
    simulator.read("web-0")
    first, second = simulator.log()
    assert first == {
        "seq": 1, "time": 1_800_000_000, "vm": "web-1", "method": "POST", "path": "/nothing", "query": "x=1",
        "headers": {"A": "b"}, "body": "\ufffdx", "status": 404, "impact": None, "fault": None, "approved": [],
        "answered": 1_800_000_000,
    }  # fmt: skip
    assert (second["seq"], second["time"], second["answered"]) == (2, 1_800_000_002, 1_800_000_005)
    assert (second["fault"], second["status"]) == ("slow", 200)
    simulator.clear_log()
    assert simulator.log() == []
    simulator.read("web-0")
    assert [entry["seq"] for entry in simulator.log()] == [3]


def test_the_log_keeps_so_many_and_who_reads_it_has_a_copy(driven):
    log = part("request_log").RequestLog(longest=3)
    for _time in range(5):
        entry = log.begin(types.SimpleNamespace(key="web-0"), a_request("GET", "/"))
    seen = log.entries()
    assert [entry["seq"] for entry in seen] == [3, 4, 5]
    entry["status"] = 200
    assert (seen[-1]["status"], log.entries()[-1]["status"]) == (None, 200)
    assert part("request_log").RequestLog()._entries.maxlen == 200_000
