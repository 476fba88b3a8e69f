# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service of a VM goes as the VM goes."""

from __future__ import annotations

import http.client
import threading
import time

import pytest
from helpers.simulator_process import ControlError

VMS = [{"name": name, "group": "web"} for name in ("web-0", "web-1", "web-2")]
NO_ANSWER = (ConnectionRefusedError, ConnectionResetError, http.client.RemoteDisconnected)
INSTANCE = "/metadata/instance?api-version=2021-02-01"


@pytest.fixture
def fleet(start):
    """An hour passes in a second and a half; impact is on."""
    return start({"vms": VMS}, impact=True, speed=2400)


@pytest.fixture
def calm(start):
    """At the speed of the real world."""
    return start({"vms": VMS}, impact=True)


def impacts(simulator):
    return {vm["name"]: vm["impact"] for vm in simulator.state()["vms"]}


@pytest.mark.parametrize("kind", ["Reboot", "Redeploy"])
def test_a_vm_that_reboots_or_moves_answers_nobody(calm, kind):
    event = calm.add_event(type=kind, resources=["web-0", "web-1"])
    calm.start(event["id"])
    for vm in ("web-0", "web-1"):
        with pytest.raises(NO_ANSWER):
            calm.read(vm)
        with pytest.raises(NO_ANSWER):
            calm.ask(vm, INSTANCE)
    assert calm.document("web-2")["Events"][0]["EventStatus"] == "Started"
    assert impacts(calm) == {"web-0": "down", "web-1": "down", "web-2": None}


@pytest.mark.parametrize(("kind", "seconds"), [("Reboot", 60), ("Redeploy", 120)])
def test_it_is_back_before_the_event_is_over(calm, kind, seconds):
    event = calm.add_event(type=kind, resources=["web-0"])
    assert (event["impact_seconds"], event["dwell"]) == (seconds, 600)
    calm.start(event["id"])
    calm.advance(seconds - 5)
    assert impacts(calm)["web-0"] == "down"
    calm.advance(6)
    assert calm.document("web-0")["Events"][0]["EventStatus"] == "Started"
    assert impacts(calm)["web-0"] is None


def test_it_comes_back_by_itself(fleet):
    event = fleet.add_event(type="Reboot", resources=["web-0"], impact_seconds=1200, dwell=9600)
    fleet.start(event["id"])
    with pytest.raises(NO_ANSWER):
        fleet.read("web-0")
    time.sleep(0.8)
    assert fleet.document("web-0")["Events"][0]["EventStatus"] == "Started"


def test_whoever_approves_gets_the_answer_before_the_vm_goes(calm):
    event = calm.add_event(type="Reboot", resources=["web-0"])
    assert calm.approve("web-0", event["id"]).status == 200
    with pytest.raises(NO_ANSWER):
        calm.read("web-0")


def test_a_frozen_vm_hangs_and_answers_when_it_is_over(start):
    simulator = start({"vms": VMS}, impact=True, speed=10)
    event = simulator.add_event(type="Freeze", resources=["web-0"], duration=6)
    begin = time.monotonic()
    simulator.start(event["id"])
    with pytest.raises(TimeoutError):
        simulator.read("web-0", timeout=0.1)
    assert simulator.read("web-0", timeout=5).status == 200
    assert time.monotonic() - begin > 0.6
    assert simulator.document("web-1")["Events"][0]["EventStatus"] == "Started"
    assert [entry["impact"] for entry in simulator.log()] == ["frozen", "frozen", None]


def test_a_jump_of_the_clock_ends_a_freeze_for_those_who_wait(calm):
    calm.start(calm.add_event(type="Freeze", resources=["web-0"], duration=30)["id"])
    jump = threading.Timer(0.3, calm.advance, [31])
    jump.start()
    assert calm.read("web-0", timeout=5).status == 200
    jump.join()


def test_an_approval_that_froze_until_its_client_left_is_not_processed(calm):
    event = calm.add_event(type="Reboot", resources=["web-1"])
    freeze = calm.add_event(type="Freeze", resources=["web-0"], duration=30)
    calm.start(freeze["id"])
    with pytest.raises(TimeoutError):
        calm.approve("web-0", event["id"], timeout=0.2)
    calm.advance(31)
    time.sleep(0.1)
    assert not calm.event(event["id"])["approved"]


@pytest.mark.parametrize(
    ("event", "seconds"),
    [
        ({"type": "Freeze", "duration": 9}, 9),
        ({"type": "Freeze"}, 5),
        ({"type": "Freeze", "duration": -1}, 5),
        ({"type": "Freeze", "duration": 0}, 0),
        ({"type": "Reboot"}, 60),
        ({"type": "Redeploy"}, 120),
        ({"type": "Reboot", "impact_seconds": 7}, 7),
        ({"type": "Reboot", "dwell": 20}, 20),
        ({"type": "Preempt"}, None),
        ({"type": "Terminate"}, None),
        ({"type": "Reimage"}, 0),
    ],
)
def test_how_long_the_impact_of_an_event_is(calm, event, seconds):
    assert calm.add_event(resources=["web-0"], **event)["impact_seconds"] == seconds


def test_a_freeze_without_interruption_hangs_nobody(calm):
    calm.start(calm.add_event(type="Freeze", resources=["web-0"], duration=0)["id"])
    assert calm.read("web-0", timeout=1).status == 200


@pytest.mark.parametrize("kind", ["Preempt", "Terminate"])
def test_a_vm_that_is_taken_away_is_gone_for_good(calm, kind):
    event = calm.add_event(type=kind, resources=["web-0"])
    calm.document("web-0")
    calm.start(event["id"])
    assert impacts(calm) == {"web-0": "gone", "web-1": None, "web-2": None}
    calm.advance(86400)
    assert calm.event(event["id"])["status"] == "Finished"
    with pytest.raises(NO_ANSWER):
        calm.read("web-0")
    assert impacts(calm)["web-0"] == "gone"
    calm.reset()
    assert calm.read("web-0").status == 200


def test_the_impact_ends_when_the_event_is_ended_by_hand(calm):
    event = calm.add_event(type="Reboot", resources=["web-0"])
    calm.start(event["id"])
    calm.finish(event["id"])
    assert calm.read("web-0").status == 200


def test_two_events_at_once_the_harder_one_counts(calm):
    calm.start(calm.add_event(type="Freeze", resources=["web-0"], duration=30)["id"])
    reboot = calm.add_event(type="Reboot", resources=["web-0"])
    calm.start(reboot["id"])
    assert impacts(calm)["web-0"] == "down"
    calm.finish(reboot["id"])
    assert impacts(calm)["web-0"] == "frozen"


def test_a_switch_turns_it_off(start):
    simulator = start({"vms": VMS}, impact=False)
    for kind in ("Reboot", "Freeze", "Preempt"):
        simulator.start(simulator.add_event(type=kind, resources=["web-0"])["id"])
    assert simulator.read("web-0", timeout=1).status == 200
    assert impacts(simulator)["web-0"] is None


@pytest.mark.parametrize(("word", "impact"), [("off", None), ("on", "down")])
def test_the_switch_is_an_option_too(start, word, impact):
    simulator = start({"vms": VMS}, profile="azure", first_call_seconds=0, arguments=["--impact", word])
    simulator.start(simulator.add_event(type="Reboot", resources=["web-0"])["id"])
    assert impacts(simulator)["web-0"] == impact


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({"type": "Reboot", "impact_seconds": 700}, '"impact_seconds" must not be longer than "dwell"'),
        ({"type": "Reboot", "impact_seconds": 30, "dwell": 20}, '"impact_seconds" must not be longer than "dwell"'),
        ({"type": "Preempt", "impact_seconds": 30}, "a VM does not come back from Preempt"),
        ({"type": "Reboot", "impact_seconds": -1}, '"impact_seconds" must be a number of seconds'),
    ],
)
def test_an_impact_that_makes_no_sense_is_told(calm, event, sentence):
    with pytest.raises(ControlError, match=sentence):
        calm.add_event(resources=["web-0"], **event)


def test_a_hook_is_told_the_impact_whatever_the_switch_says(start, tmp_path):
    note = f'echo "$SIM_EVENT_TYPE $SIM_IMPACT $SIM_IMPACT_SECONDS" >> "{tmp_path}/notes"'
    simulator = start({"vms": VMS}, impact=False, arguments=["--on-start", note])
    for event in ({"type": "Reboot", "impact_seconds": 20}, {"type": "Freeze", "duration": 7}, {"type": "Preempt"}):
        simulator.start(simulator.add_event(resources=["web-0"], **event)["id"])
    for _time in range(100):
        notes = (tmp_path / "notes").read_text().splitlines() if (tmp_path / "notes").exists() else []
        if len(notes) == 3:
            break
        time.sleep(0.05)
    assert sorted(notes) == ["Freeze frozen 7", "Preempt gone ", "Reboot down 20"]


def test_the_other_vms_of_a_large_group_are_not_disturbed(start):
    simulator = start({"vms": [{"name": f"vm-{n}", "group": "g"} for n in range(200)]}, impact=True)
    simulator.start(simulator.add_event(type="Reboot", resources=["vm-0"])["id"])
    assert {simulator.read(f"vm-{n}").status for n in range(1, 50)} == {200}
