# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults: for whom, how often and how long, in real seconds; and what a client receives under each."""

from __future__ import annotations

import sys
import threading
import types

import pytest
from helpers.driven_time import WaitsForEver
from helpers.simulator_inside import NoAnswer, part
from helpers.simulator_process import ControlError

INSTANCE = "/metadata/instance?api-version=2021-02-01"
EMPTY = b'{"DocumentIncarnation":1,"Events":[]}'
HTML = part("fault_answers").HTML_PAGE


@pytest.fixture
def event(simulator):
    return simulator.add_event(type="Reboot", resources=["web-0"])["id"]


def statuses(simulator, count, vm="web-0"):
    return [simulator.read(vm).status for _time in range(count)]


def shown(simulator):
    words = ("id", "active", "left", "left_seconds")
    return [tuple(fault[word] for word in words) for fault in simulator.call("GET", "/faults")]


def answer(simulator, **fault):
    simulator.fault(count=1, **fault)
    return simulator.read("web-0")


# For whom, how often, how long.


def test_without_a_number_or_a_time_it_strikes_for_ever(simulator):
    simulator.fault(kind="error_500")
    assert statuses(simulator, 3) == [500] * 3
    simulator.time.go_on(1e6)
    assert statuses(simulator, 1) == [500]
    assert shown(simulator) == [(1, True, None, None)]


@pytest.mark.parametrize(("skip", "count"), [(0, 1), (0, 2), (0, 3), (2, 1)])
def test_so_many_times_after_so_many_that_pass(simulator, skip, count):
    simulator.fault(kind="error_500", skip=skip, count=count)
    assert statuses(simulator, 5) == [200] * skip + [500] * count + [200] * (5 - skip - count)
    assert shown(simulator) == [(1, False, 0, None)]


def test_for_a_time_to_the_second_whatever_the_speed(start):
    simulator = start(speed=1000)
    simulator.fault(kind="error_500", seconds=2.5)
    assert shown(simulator) == [(1, True, None, 2.5)]
    simulator.time.go_on(2)
    assert shown(simulator) == [(1, True, None, 0.5)]
    assert statuses(simulator, 2) == [500, 500]
    for seconds in (0.5, 1):
        simulator.time.go_on(seconds)
        assert shown(simulator) == [(1, False, None, 0)]
        assert statuses(simulator, 1) == [200]


def test_one_after_the_other_and_one_that_lets_pass_leaves_the_request_to_the_next(simulator):
    for kind in ("gone_410", "error_500"):
        simulator.fault(kind=kind, count=1)
    simulator.fault(kind="too_many_429", skip=1)
    simulator.fault(kind="error_503")
    assert statuses(simulator, 5) == [410, 500, 503, 429, 429]


def test_for_one_vm_one_method_and_one_path_and_others_are_not_counted(simulator):
    simulator.fault(kind="error_500", vm="web-1", method="POST", path="scheduledevents", skip=1, count=1)
    for _time in range(2):
        assert simulator.approve("web-0", "x").status == 200
        assert simulator.read("web-1").status == 200
        assert simulator.ask("web-1", INSTANCE, "POST").status == 405
    assert [simulator.approve("web-1", "x").status for _time in range(3)] == [200, 500, 200]


def test_numbers_count_on(simulator):
    assert [simulator.fault(kind="drop")["id"] for _time in range(3)] == [1, 2, 3]
    simulator.call("DELETE", "/faults/2")
    assert [number for number, *_rest in shown(simulator)] == [1, 3]
    with pytest.raises(ControlError, match="404: there is no fault 2"):
        simulator.call("DELETE", "/faults/2")
    assert simulator.fault(kind="drop")["id"] == 4
    for _time in range(2):
        simulator.clear_faults()
        assert shown(simulator) == []


def test_it_is_shown_as_it_was_asked_for(simulator):
    assert simulator.fault(kind="slow", delay=3, count=2, vm=None) == {
        "kind": "slow", "delay": 3, "count": 2, "id": 1, "active": True, "left": 2, "left_seconds": None,
    }  # fmt: skip


REFUSE = 'the fault: kind "refuse" works for a time, not for single requests; use "vm" and "seconds"'


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ({"kind": "drop", "vm": "x"}, 'the fault: no VM of the fleet is called "x"'),
        ({"kind": "status"}, 'the fault: kind "status" needs a "status"'),
        ({"kind": "fire"}, 'the fault: "kind" must be one of "gone_410", "too_many_429", "error_500"'),
        ({"kind": "drop", "path": "x"}, 'must be one of "scheduledevents", "instance", "versions"'),
        ({"kind": "drop", "method": "PUT"}, 'must be one of "GET", "POST"'),
        ({}, 'the fault: "kind" is missing'),
        ({"kind": "drop", "count": 0}, 'the fault: "count" must be an integer, 1 or more, not 0'),
        ({"kind": "drop", "seconds": -1}, 'the fault: "seconds" must be a number greater than 0, not -1'),
        (7, "the fault must be an object, not 7"),
        ([["kind", "drop"]], "the fault must be an object, not"),
        *(({"kind": "refuse", word: 1}, REFUSE) for word in ("count", "skip")),
        *(({"kind": "refuse", word: value}, REFUSE) for word, value in (("path", "instance"), ("method", "GET"))),
    ],
)
def test_what_makes_no_sense(simulator, fault, sentence):
    refused = simulator.told("POST", "/faults", fault)
    assert refused.status == 400
    assert sentence in refused.json["error"]
    assert shown(simulator) == []


def test_the_kinds_and_that_all_but_refuse_are_for_requests(simulator):
    assert len(part("faults").FAULT_KINDS) == 18
    for kind in set(part("faults").FAULT_KINDS) - {"refuse"}:
        simulator.fault(kind=kind, status=500, count=1, skip=1, path="instance", method="GET")


# Connections that are refused, and requests that hang.


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


@pytest.mark.parametrize(("seconds", "passed"), [(7, 2), (0.25, 0)])
@pytest.mark.parametrize("uptime", [0.5, 5000])
def test_hanging_ends_with_its_time(simulator, seconds, passed, uptime):
    """Also soon after the machine has been started."""
    simulator.time.go_on(uptime - simulator.time.monotonic())
    simulator.fault(kind="hang", seconds=seconds)
    simulator.time.go_on(passed)
    assert simulator.read("web-0").status == 200
    assert simulator.time.waits == [seconds - passed]


def test_hanging_ends_when_it_is_cleared_and_without_a_time_only_then(simulator):
    simulator.fault(kind="hang", seconds=7)
    simulator.time.meanwhile(4, simulator.clear_faults)
    assert simulator.read("web-0").status == 200
    simulator.fault(kind="hang")
    with pytest.raises(WaitsForEver):
        simulator.read("web-0")
    simulator.time.meanwhile(4000, simulator.clear_faults)
    assert simulator.read("web-0").status == 200
    assert simulator.time.passed == 4 + 4000


def test_a_wait_that_ends_too_early_goes_on(simulator):
    simulator.fault(kind="hang", seconds=7)
    simulator.time.meanwhile(4, lambda: simulator.fault(kind="drop", count=1, vm="web-1"))
    assert simulator.read("web-0").status == 200
    assert simulator.time.waits == [7, 3]


@pytest.mark.parametrize(("more", "seconds"), [({}, 5), ({"delay": 12}, 12), ({"delay": 0}, 0)])
def test_slow(simulator, more, seconds):
    assert answer(simulator, kind="slow", **more).body == EMPTY
    assert simulator.time.passed == seconds


# What a client receives.


@pytest.mark.parametrize(
    ("fault", "status", "body"),
    [
        ({"kind": "gone_410"}, 410, b'{"error":"Gone"}'),
        ({"kind": "too_many_429"}, 429, b'{"error":"Too Many Requests"}'),
        ({"kind": "error_500"}, 500, b'{"error":"Internal Server Error"}'),
        ({"kind": "error_503"}, 503, b'{"error":"Service Unavailable"}'),
        ({"kind": "timeout_408"}, 408, b'{"error":"Request Timeout"}'),
        ({"kind": "error_500", "body": {"a": 1}}, 500, b'{"a":1}'),
        ({"kind": "status", "status": 299}, 299, b'{"error":"Error"}'),
        ({"kind": "status", "status": 418, "body": "short"}, 418, b"short"),
        ({"kind": "empty_200"}, 200, b""),
        ({"kind": "empty_200", "status": 500, "body": "x"}, 200, b""),
        ({"kind": "html"}, 200, HTML),
        ({"kind": "html", "status": 502}, 502, HTML),
        ({"kind": "redirect"}, 302, b""),
        ({"kind": "redirect", "status": 307, "location": "http://x/"}, 307, b""),
        ({"kind": "wrong_shape"}, 200, b'{"DocumentIncarnation":1,"Events":"none"}'),
        ({"kind": "wrong_shape", "body": [1]}, 200, b"[1]"),
        ({"kind": "raw"}, 200, b""),
        ({"kind": "raw", "status": 203, "body": "hello"}, 203, b"hello"),
        ({"kind": "raw", "body": {"a": 1}}, 200, b'{"a":1}'),
        ({"kind": "truncated_json"}, 200, EMPTY[: len(EMPTY) // 2]),
        ({"kind": "huge_body", "bytes": 50}, 200, EMPTY + b" " * (50 - len(EMPTY))),
        ({"kind": "huge_body", "bytes": 5}, 200, EMPTY),
        ({"kind": "huge_body", "bytes": len(EMPTY) + 1}, 200, EMPTY + b" "),
        ({"kind": "huge_body"}, 200, EMPTY + b" " * (2_097_152 - len(EMPTY))),
    ],
    ids=str,
)
def test_the_whole_answer(simulator, fault, status, body):
    given = answer(simulator, **fault)
    assert (given.status, given.body) == (status, body)
    headers = {"content-type": f"{'text/html' if body == HTML else 'application/json'}; charset=utf-8"}
    if fault["kind"] == "redirect":
        headers["location"] = fault.get("location", "http://login.invalid/")
    assert given.headers == headers
    assert [(entry["fault"], entry["status"]) for entry in simulator.log()] == [(fault["kind"], status)]


@pytest.mark.parametrize("kind", ["error_500", "empty_200", "html", "redirect", "wrong_shape", "raw"])
def test_each_answer_that_is_made_up_has_the_headers_that_were_asked_for_and_does_nothing(simulator, event, kind):
    simulator.fault(kind=kind, retry_after=7, headers={"X-Odd": "1"})
    given = simulator.approve("web-0", event)
    assert (given.headers["retry-after"], given.headers["x-odd"]) == ("7", "1")
    assert not simulator.event(event)["approved"]


@pytest.mark.parametrize(("body", "cut"), [(b"", b""), (b"a", b"a"), (b"ab", b"a"), (b"abc", b"a"), (b"abcd", b"ab")])
def test_of_a_short_answer_its_first_letter(body, cut):
    response = part("http_messages").Response(203, body)
    assert part("fault_answers").shortened(response).body == cut


@pytest.mark.parametrize(
    ("fault", "is_there", "is_processed"),
    [
        ({"kind": "drop"}, True, False),
        ({"kind": "refuse"}, True, False),
        ({"kind": "lost_answer"}, True, True),
        ({"kind": "slow"}, False, False),
        ({"kind": "hang", "seconds": 3}, False, False),
    ],
)
def test_no_answer(simulator, event, fault, is_there, is_processed):
    """And nothing is done for a client that has left meanwhile."""
    simulator.fault(**fault)
    with pytest.raises(NoAnswer):
        simulator.approve("web-0", event, client_is_there=lambda: is_there)
    assert simulator.event(event)["approved"] is is_processed
    (entry,) = simulator.log()
    assert (entry["fault"], entry["status"], entry["answered"]) == (fault["kind"], None, None)


# What an event does to its VMs, how long, and who notices: clients, and the user's commands.

impact_of = part("impact").impact_of
VMS = {"vms": [{"name": name, "group": "web"} for name in ("web-0", "web-1")]}


@pytest.fixture
def fleet(start):
    return start(VMS, impact=True)


def impacts(simulator):
    return [vm["impact"] for vm in simulator.state()["vms"]]


def started(simulator, **event):
    return simulator.add_event(status="Started", **{"resources": ["web-0"], **event})["id"]


@pytest.mark.parametrize(
    ("event", "impact"),
    [
        (("Freeze", 9, 600), ("frozen", 9)), (("Freeze", 9, 4), ("frozen", 4)), (("Freeze", 0, 600), ("frozen", 0)),
        (("Freeze", 1, 600), ("frozen", 1)), (("Freeze", -1, 600), ("frozen", 5)), (("Freeze", -1, 3), ("frozen", 3)),
        (("Reboot", -1, 600), ("down", 60)), (("Reboot", 7, 600), ("down", 60)), (("Reboot", -1, 59), ("down", 59)),
        (("Redeploy", -1, 600), ("down", 120)), (("Zap", -1, 600), ("down", 0)), (("Abandon", 30, 600), ("down", 0)),
        (("Preempt", -1, 600), ("gone", None)), (("Terminate", 7, 600), ("gone", None)),
        (("Reboot", -1, 600, 7), ("down", 7)), (("Reboot", -1, 600, 0), ("down", 0)),
        (("Freeze", 9, 600, 30), ("frozen", 30)), (("Preempt", -1, 600, 30), ("gone", None)),
        (("Reboot", -1, 2100, None, 2100), ("down", 1500)), (("Reboot", -1, 90000, None, 2100), ("down", 1500)),
        (("Reboot", -1, 1000, None, 2100), ("down", 400)), (("Reboot", -1, 600, None, 2100), ("down", 60)),
        (("Reboot", -1, 90000), ("down", 60)), (("Freeze", 9, 2100), ("frozen", 9)),
    ],
)  # fmt: skip
def test_kind_and_length(event, impact):
    assert impact_of(*event) == impact


def test_a_vm_is_down_from_the_start_of_the_event_to_the_second(fleet):
    event = fleet.add_event(type="Reboot", resources=["web-0"])["id"]
    assert (impacts(fleet), fleet.world.silent_vms()) == ([None, None], set())
    fleet.start(event)
    fleet.time.go_on(59.999)
    assert impacts(fleet) == ["down", None]
    with pytest.raises(NoAnswer):
        fleet.read("web-0")
    assert fleet.time.waits == []
    fleet.time.go_on(0.001)
    assert impacts(fleet) == [None, None]
    assert fleet.read("web-0").status == 200


def test_who_answers_no_connection(fleet):
    assert fleet.world.silent_vms() == set()
    started(fleet, type="Freeze", resources=["web-1"])
    assert fleet.world.silent_vms() == set()
    started(fleet, type="Reboot")
    assert fleet.world.silent_vms() == {"web-0"}
    started(fleet, type="Preempt", resources=["web-1"])
    assert fleet.world.silent_vms() == {"web-0", "web-1"}
    fleet.time.go_on(60)
    assert fleet.world.silent_vms() == {"web-1"}


def test_the_harder_of_two_counts_and_none_that_was_ended_by_hand(fleet):
    reboot = started(fleet, type="Reboot")
    freeze = started(fleet, type="Freeze", duration=300)
    seen = [impacts(fleet)[0]]
    for event in (reboot, freeze):
        fleet.finish(event)
        seen.append(impacts(fleet)[0])
    assert seen == ["down", "frozen", None]


def test_a_switch_turns_it_off_for_good_too(start):
    simulator = start(VMS, impact=False)
    for kind in ("Preempt", "Reboot", "Freeze"):
        started(simulator, type=kind)
    assert (impacts(simulator), simulator.world.silent_vms()) == ([None, None], set())
    assert simulator.read("web-0").status == 200


# Frozen.


def test_a_frozen_vm_answers_when_it_goes_on_and_the_others_meanwhile(fleet):
    started(fleet, type="Freeze", duration=9)
    assert [(fleet.read(vm).status, fleet.time.passed) for vm in ("web-1", "web-0")] == [(200, 0), (200, 9)]
    assert fleet.time.waits == [9]
    assert [(entry["impact"], entry["status"]) for entry in fleet.log()] == [(None, 200), ("frozen", 200)]


def test_two_freezes_are_over_when_the_later_is(fleet):
    started(fleet, type="Freeze", duration=9)
    fleet.time.go_on(2)
    started(fleet, type="Freeze", duration=4)
    started(fleet, type="Freeze", duration=11)
    assert fleet.read("web-0").status == 200
    assert fleet.time.passed == 13


@pytest.mark.parametrize(
    "action", [lambda fleet, event: fleet.finish(event), lambda fleet, _event: fleet.advance(26)], ids=["end", "jump"]
)
def test_a_wait_ends_when_the_event_is_ended_by_hand_or_by_a_jump(fleet, action):
    event = started(fleet, type="Freeze", duration=30)
    fleet.time.meanwhile(4, lambda: action(fleet, event))
    assert fleet.read("web-0").status == 200
    assert fleet.time.passed == 4


def test_a_frozen_vm_that_goes_down_meanwhile_answers_nobody(fleet):
    started(fleet, type="Freeze", duration=30)
    fleet.time.meanwhile(4, lambda: started(fleet, type="Reboot"))
    with pytest.raises(NoAnswer):
        fleet.read("web-0")
    assert fleet.time.passed == 4


def test_nothing_is_done_for_a_client_that_has_left_meanwhile(fleet):
    event = fleet.add_event(type="Reboot", resources=["web-1"])["id"]
    started(fleet, type="Freeze", duration=30)
    with pytest.raises(NoAnswer):
        fleet.approve("web-0", event, client_is_there=lambda: False)
    assert not fleet.event(event)["approved"]
    assert [(entry["impact"], entry["status"], entry["answered"]) for entry in fleet.log()] == [("frozen", None, None)]


def test_the_speed_counts_for_the_wait(start):
    simulator = start(VMS, impact=True, speed=4)
    started(simulator, type="Freeze", duration=30)
    simulator.read("web-0")
    assert simulator.time.passed == 7.5


# The user's commands.


def an_event(seconds):
    scope, impact = types.SimpleNamespace(name="web"), types.SimpleNamespace(kind="down", seconds=seconds)
    return types.SimpleNamespace(
        id="E", type="Reboot", resources=["web-0", "web-1"], scope=scope, duration=-1, impact=impact
    )


@pytest.mark.parametrize(("seconds", "shown"), [(60, "60"), (0, "0"), (None, "")])
def test_a_command_receives_all_about_the_event_and_does_not_hold_the_simulator(tmp_path, monkeypatch, seconds, shown):
    threads, written = [], tmp_path / "stderr"

    def thread(target, **more):
        threads.append(threading.Thread(target=target, **more))
        return threads[-1]

    words = "$SIM_EVENT_ID $SIM_EVENT_TYPE $SIM_EVENT_CHANGE $SIM_RESOURCES $SIM_GROUP $SIM_DURATION $SIM_IMPACT"
    # It has nothing to read, and its output is where the simulator writes what goes wrong.
    run = part("hooks").hook_runner({"started": f'cat; echo "{words} <$SIM_IMPACT_SECONDS>"', "finished": None})
    monkeypatch.setattr(part("hooks"), "threading", types.SimpleNamespace(Thread=thread))
    with written.open("w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        for change in ("finished", "created", "started"):
            run(an_event(seconds), change)
        (one,) = threads
        # The command begins in the thread, and writes to the stream as long as it is open.
        one.join()
    assert one.daemon
    assert written.read_text() == f"E Reboot started web-0,web-1 web -1 down <{shown}>\n"
