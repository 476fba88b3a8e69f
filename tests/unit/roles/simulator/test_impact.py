# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an event does to its VMs, how long, and who notices: clients, and the user's commands."""

from __future__ import annotations

import sys
import threading
import types

import pytest
from helpers.simulator_inside import NoAnswer, part

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

    def thread(**more):
        threads.append(threading.Thread(**more))
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
