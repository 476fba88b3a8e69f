# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control interface: its paths, its answers, its sentences."""

from __future__ import annotations

import pytest

ENDPOINTS = [
    "GET /",
    "GET /state",
    "GET /events",
    "POST /events",
    "POST /events/([^/]+)/(cancel|start|finish)",
    "POST /events/([^/]+)/approve",
    "POST /events/([^/]+)/reschedule",
    "GET /changes",
    "GET /faults",
    "POST /faults",
    "DELETE /faults",
    r"DELETE /faults/(\d+)",
    "GET /log",
    "DELETE /log",
    "GET /clock",
    "POST /clock",
    "POST /reset",
]


def test_the_index(simulator):
    assert simulator.call("GET", "/") == {"endpoints": ENDPOINTS}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "sentence"),
    [
        ("GET", "/nothing", None, 404, "there is no /nothing; see GET / for what there is"),
        ("GET", "/events/", None, 404, "there is no /events/; see GET / for what there is"),
        ("POST", "/events/a/b/start", None, 404, "there is no /events/a/b/start; see GET / for what there is"),
        ("PUT", "/events", None, 405, "PUT is not possible on /events"),
        ("GET", "/faults/1", None, 405, "GET is not possible on /faults/1"),
        ("POST", "/state", None, 405, "POST is not possible on /state"),
        ("A", "/state", None, 405, "A is not possible on /state"),
        ("ZAP", "/state", None, 405, "ZAP is not possible on /state"),
        ("POST", "/events", "{", 400, "the body is not JSON: Expecting property name"),
        ("POST", "/events", b"\xff", 400, "the body is not JSON: 'utf-8' codec can't decode"),
        ("POST", "/events", "[]", 400, "the event must be an object, not []"),
        ("POST", "/clock", "", 400, 'the body: "advance" is missing'),
        ("POST", "/clock", " ", 400, 'the body: "advance" is missing'),
        ("POST", "/clock", {"advance": -1}, 400, 'the body: "advance" must be a number of seconds, 0 or more, not -1'),
        ("POST", "/clock", {"x": 1}, 400, 'the body: unknown key "x"; known keys are advance'),
        ("POST", "/events/x/reschedule", {}, 400, 'the body: "notice" is missing'),
        ("POST", "/events/x/approve", {"by": "x"}, 400, 'the body: "by" must be one of "portal", "arm", not "x"'),
        ("POST", "/events/x/start", None, 404, 'there is no event "x"'),
        ("POST", "/events/x%20y/start", None, 404, 'there is no event "x y"'),
        ("DELETE", "/faults/9", None, 404, "there is no fault 9"),
    ],
)
def test_a_mistake_is_told(simulator, method, path, body, status, sentence):
    told = simulator.told(method, path, body)
    assert told.status == status
    assert told.json["error"].startswith(sentence)


@pytest.mark.parametrize(
    ("method", "path", "body", "answer"),
    [
        ("GET", "/events", None, []),
        ("GET", "/changes", None, []),
        ("GET", "/faults", None, []),
        ("GET", "/log", None, []),
        ("DELETE", "/faults", None, {}),
        ("DELETE", "/log", None, {}),
        ("POST", "/reset", None, {}),
        ("GET", "/clock", None, {"simulated_seconds": 0, "speed": 1, "time": 1_800_000_000}),
        ("POST", "/clock", {"advance": 5}, {"simulated_seconds": 5, "speed": 1, "time": 1_800_000_000}),
    ],
)
def test_what_it_answers(simulator, method, path, body, answer):
    told = simulator.told(method, path, body)
    assert (told.status, told.json) == (200, answer)
    assert told.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    ("method", "path", "times"),
    [("GET", "/state", 0), ("GET", "/log", 0), ("DELETE", "/log", 1), ("POST", "/reset", 1), ("POST", "/nothing", 0)],
)
def test_whoever_listens_is_told_of_what_was_asked_not_of_questions(simulator, method, path, times):
    simulator.told(method, path)
    assert simulator.synced == times


def test_only_a_post_has_a_body(simulator):
    assert simulator.told("GET", "/events", "{").status == 200
    assert simulator.told("DELETE", "/log", "{").status == 200


def test_it_is_the_portal_that_approves_elsewhere(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    assert simulator.approve_elsewhere(event)["approved_by"] == "portal"


def test_a_reset_forgets_faults_requests_and_limits(start):
    simulator = start(requests_per_second=1)
    simulator.fault(kind="error_500")
    assert [simulator.read("web-0").status for _time in range(2)] == [500, 500]
    simulator.reset()
    assert [simulator.read("web-0").status for _time in range(2)] == [200, 429]
    assert len(simulator.log()) == 2


def test_the_clock_tells_its_speed(start):
    simulator = start(speed=4)
    simulator.time.go_on(3)
    assert simulator.call("GET", "/clock") == {"simulated_seconds": 12, "speed": 4, "time": 1_800_000_003}
