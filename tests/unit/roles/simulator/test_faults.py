# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults: for whom, how often, how long; in real seconds."""

from __future__ import annotations

import pytest
from helpers.driven_time import WaitsForEver
from helpers.simulator_inside import NoAnswer, part
from helpers.simulator_process import ControlError

INSTANCE = "/metadata/instance?api-version=2021-02-01"


def statuses(simulator, count, vm="web-0"):
    return [simulator.read(vm).status for _time in range(count)]


def shown(simulator):
    words = ("id", "active", "left", "left_seconds")
    return [tuple(fault[word] for word in words) for fault in simulator.call("GET", "/faults")]


def test_without_a_number_or_a_time_it_strikes_for_ever(simulator):
    simulator.fault(kind="error_500")
    assert statuses(simulator, 3) == [500] * 3
    simulator.time.go_on(1e6)
    assert statuses(simulator, 1) == [500]
    assert shown(simulator) == [(1, True, None, None)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_so_many_times(simulator, count):
    simulator.fault(kind="error_500", count=count)
    assert statuses(simulator, 4) == [500] * count + [200] * (4 - count)
    assert shown(simulator) == [(1, False, 0, None)]


def test_after_so_many_that_pass(simulator):
    simulator.fault(kind="error_500", skip=2, count=1)
    assert statuses(simulator, 5) == [200, 200, 500, 200, 200]


def test_what_is_not_for_it_is_not_counted(simulator):
    simulator.fault(kind="error_500", vm="web-1", skip=1, count=1)
    assert statuses(simulator, 3) == [200] * 3
    assert statuses(simulator, 3, "web-1") == [200, 500, 200]


def test_for_a_time_to_the_second(simulator):
    simulator.fault(kind="error_500", seconds=2.5)
    assert shown(simulator) == [(1, True, None, 2.5)]
    simulator.time.go_on(2)
    assert shown(simulator) == [(1, True, None, 0.5)]
    assert statuses(simulator, 2) == [500, 500]
    simulator.time.go_on(0.5)
    assert shown(simulator) == [(1, False, None, 0)]
    assert statuses(simulator, 1) == [200]
    simulator.time.go_on(1)
    assert shown(simulator) == [(1, False, None, 0)]


def test_the_speed_does_not_matter(start):
    simulator = start(speed=1000)
    simulator.fault(kind="error_500", seconds=2)
    simulator.time.go_on(1)
    assert statuses(simulator, 1) == [500]


def test_one_after_the_other(simulator):
    for kind in ("gone_410", "error_500", "error_503"):
        simulator.fault(kind=kind, count=1)
    assert statuses(simulator, 4) == [410, 500, 503, 200]


def test_one_that_lets_pass_leaves_the_request_to_the_next(simulator):
    simulator.fault(kind="error_500", skip=1)
    simulator.fault(kind="error_503")
    assert statuses(simulator, 3) == [503, 500, 500]


def test_for_one_vm_one_method_or_one_path(simulator):
    simulator.fault(kind="error_500", vm="web-1", method="POST", path="scheduledevents")
    assert simulator.approve("web-1", "x").status == 500
    assert simulator.approve("web-0", "x").status == 200
    assert simulator.read("web-1").status == 200
    assert simulator.ask("web-1", INSTANCE, "POST").status == 405


@pytest.mark.parametrize(
    ("path", "expected"),
    [("instance", [200, 500, 200]), ("versions", [200, 200, 500]), ("scheduledevents", [500, 200, 200])],
)
def test_for_one_path(simulator, path, expected):
    simulator.fault(kind="error_500", path=path)
    assert [
        simulator.read("web-0").status,
        simulator.ask("web-0", INSTANCE).status,
        simulator.ask("web-0", "/metadata/versions").status,
    ] == expected


def test_numbers_count_on(simulator):
    assert [simulator.fault(kind="drop")["id"] for _time in range(3)] == [1, 2, 3]
    simulator.call("DELETE", "/faults/2")
    assert [number for number, *_rest in shown(simulator)] == [1, 3]
    assert simulator.fault(kind="drop")["id"] == 4
    simulator.clear_faults()
    assert shown(simulator) == []
    simulator.clear_faults()


def test_there_is_no_such_fault(simulator):
    simulator.fault(kind="drop")
    with pytest.raises(ControlError, match="404: there is no fault 2"):
        simulator.call("DELETE", "/faults/2")
    assert len(shown(simulator)) == 1


def test_it_is_told_as_it_was_asked_for(simulator):
    assert simulator.fault(kind="slow", delay=3, count=2, vm=None) == {
        "kind": "slow",
        "delay": 3,
        "count": 2,
        "id": 1,
        "active": True,
        "left": 2,
        "left_seconds": None,
    }


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ({"kind": "drop", "vm": "x"}, 'the fault: no VM of the fleet is called "x"'),
        ({"kind": "status"}, 'the fault: kind "status" needs a "status"'),
        ({"kind": "fire"}, 'the fault: "kind" must be one of "gone_410", "too_many_429", "error_500"'),
        ({"kind": "drop", "path": "x"}, 'must be one of "scheduledevents", "instance", "versions"'),
        ({"kind": "drop", "method": "PUT"}, 'must be one of "GET", "POST"'),
        ({}, 'the fault: "kind" is missing'),
        (7, "the fault must be an object, not 7"),
        ([["kind", "drop"]], "the fault must be an object, not"),
    ],
)
def test_what_makes_no_sense(simulator, fault, sentence):
    told = simulator.told("POST", "/faults", fault)
    assert told.status == 400
    assert sentence in told.json["error"]
    assert shown(simulator) == []


@pytest.mark.parametrize("word", ["count", "skip", "path", "method"])
def test_refusing_is_for_a_time_not_for_requests(simulator, word):
    value = {"path": "instance", "method": "GET"}.get(word, 1)
    with pytest.raises(ControlError, match='works for a time, not for single requests; use "vm" and "seconds"'):
        simulator.fault(kind="refuse", **{word: value})


@pytest.mark.parametrize("kind", ["drop", "slow", "status", "html"])
def test_others_are_for_requests(simulator, kind):
    assert simulator.fault(kind=kind, status=500, count=1, skip=1, path="instance", method="GET")["id"] == 1


def test_any_status_that_is_one(simulator):
    for status in (200, 599):
        simulator.fault(kind="status", status=status, count=1)
    assert statuses(simulator, 2) == [200, 599]


def test_whose_connections_are_refused(simulator):
    assert simulator.faults.refused() == set()
    simulator.fault(kind="refuse", vm="web-1", seconds=5)
    simulator.fault(kind="slow")
    simulator.fault(kind="drop")
    assert simulator.faults.refused() == {"web-1"}
    simulator.fault(kind="refuse", seconds=3)
    assert simulator.faults.refused() == {"web-0", "web-1"}
    simulator.time.go_on(3)
    assert simulator.faults.refused() == {"web-1"}
    simulator.time.go_on(2)
    assert simulator.faults.refused() == set()


def test_a_request_that_came_through_all_the_same_is_not_answered(simulator):
    simulator.fault(kind="refuse")
    with pytest.raises(NoAnswer):
        simulator.read("web-0")


def test_hanging_ends_with_its_time(simulator):
    simulator.fault(kind="hang", seconds=7)
    simulator.time.go_on(2)
    assert simulator.read("web-0").status == 200
    assert simulator.time.passed == 7
    assert simulator.time.waits == [5]


def test_hanging_for_less_than_a_second(simulator):
    simulator.fault(kind="hang", seconds=0.25)
    assert simulator.read("web-0").status == 200
    assert simulator.time.waits == [0.25]


def test_hanging_soon_after_the_machine_has_begun(simulator):
    simulator.time.go_on(0.5 - simulator.time.monotonic())
    simulator.fault(kind="hang", seconds=7)
    assert simulator.read("web-0").status == 200
    assert simulator.time.waits == [7]


def test_hanging_ends_when_it_is_cleared(simulator):
    simulator.fault(kind="hang", seconds=7)
    simulator.time.meanwhile(4, simulator.clear_faults)
    assert simulator.read("web-0").status == 200
    assert simulator.time.passed == 4


def test_hanging_without_a_time_ends_only_when_it_is_cleared(simulator):
    simulator.fault(kind="hang")
    with pytest.raises(WaitsForEver):
        simulator.read("web-0")
    simulator.time.meanwhile(4000, simulator.clear_faults)
    assert simulator.read("web-0").status == 200
    assert simulator.time.passed == 4000


def test_a_wait_that_ends_too_early_goes_on(simulator):
    simulator.fault(kind="hang", seconds=7)
    simulator.time.meanwhile(4, lambda: simulator.fault(kind="drop", count=1, vm="web-1"))
    assert simulator.read("web-0").status == 200
    assert simulator.time.passed == 7
    assert simulator.time.waits == [7, 3]


def test_the_kinds_and_their_status():
    faults = part("faults")
    assert faults.STATUS_FAULTS == {
        "gone_410": 410,
        "too_many_429": 429,
        "error_500": 500,
        "error_503": 503,
        "timeout_408": 408,
        "status": None,
    }
    assert len(faults.FAULT_KINDS) == 18
