# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode, diff, waiting, and what the user is told."""

from __future__ import annotations

import threading

import pytest
from helpers.ansible_run import fleet_inventory, play, play_each
from helpers.simulator_process import Simulator
from helpers.waiting import wait_until

pytestmark = pytest.mark.rest

FLEET = {
    "vms": [{"name": "web_0", "group": "web"}, {"name": "web_1", "group": "web"}],
    "groups": {"web": {"kind": "scale_set"}},
}


@pytest.fixture
def simulator():
    with Simulator(FLEET) as fleet:
        yield fleet


def approve(folder, simulator, *arguments, **options):
    task = {"name": "Approve", "maintenance.azure.scheduled_event_approve": options}
    return play(folder, fleet_inventory(folder, simulator), task, arguments=arguments)


def posts(simulator):
    """What was let in: two plays within a second may be more than the five requests that a VM has."""
    return [line for line in simulator.log() if line["method"] == "POST" and line["status"] != 429]


def test_check_mode_predicts_and_sends_nothing(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0", "web_1"])
    simulator.add_event(id="B2", type="Reboot", resources=["web_0", "stranger"], group="web")
    predicted = approve(tmp_path, simulator, "--check", "--diff", drained="{{ groups.all }}")
    assert posts(simulator) == []
    real = approve(tmp_path, simulator, "--diff", drained="{{ groups.all }}")
    assert len(posts(simulator)) == 1
    for outcome in (predicted, real):
        results = outcome.everywhere("Approve")
        assert sum(result["changed"] for result in results.values()) == 1
        assert [sorted(result["approved"]) for result in results.values()].count(["A1"]) == 1
        assert results["web_0"]["refused"][0]["id"] == "B2"
        assert outcome.code == 2
    sender = next(host for host, result in predicted.everywhere("Approve").items() if result["changed"])
    assert "Would approve A1" in predicted.of("Approve", sender)["msg"]
    assert "A1: Scheduled\n" in predicted.of("Approve", sender)["diff"]["before"]
    assert "A1: Scheduled, approved\n" in predicted.of("Approve", sender)["diff"]["after"]


def test_a_second_run_changes_nothing_and_says_so(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"], dwell=600)
    assert approve(tmp_path, simulator).of("Approve", "web_0")["changed"]
    again = approve(tmp_path, simulator, event_ids=["a1", "no-longer"]).of("Approve", "web_0")
    assert (again["outcome"], again["changed"], again["already_started"], again["gone"]) == (
        "ok",
        False,
        ["A1"],
        ["no-longer"],
    )
    assert again["msg"] == "Already started: A1. No longer listed: no-longer"
    assert len(posts(simulator)) == 1


# What is waited for stays as it is afterwards, however slow the machine is.
@pytest.mark.parametrize(("goal", "dwell"), [("started", 600), ("finished", 2)])
def test_waiting(tmp_path, simulator, goal, dwell):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"], approval_delay=2, dwell=dwell)
    outcome = approve(tmp_path, simulator, "--limit", "web_0", wait_for=goal, wait_timeout=60)
    assert outcome.code == 0, outcome.output
    assert simulator.event("A1")["status"] == {"started": "Started", "finished": "Finished"}[goal]
    until = {"started": "it starts", "finished": "it is over"}[goal]
    words = " ".join(outcome.output.split())
    assert f"Waiting until {until}: Reboot of web_0 is scheduled, due in 1" in words
    assert "(event A1). Giving up in 0:5" in words or "(event A1). Giving up in 1:00 min." in words


def test_somebody_has_approved_in_the_portal_and_the_event_still_waits(tmp_path, simulator):
    """Our approval is taken, and counts for nothing."""
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"], notice=9000, approval_delay=600)
    simulator.approve_elsewhere("A1")

    def start():
        wait_until(lambda: posts(simulator))
        simulator.advance(600)

    threading.Thread(target=start, daemon=True).start()
    outcome = approve(tmp_path, simulator, "--limit", "web_0", wait_for="started", wait_timeout=60)
    assert outcome.code == 0, outcome.output
    assert [line["approved"] for line in posts(simulator)] == [[]]
    assert (simulator.event("A1")["status"], simulator.event("A1")["approved_by"]) == ("Started", "portal")


BAD_INPUT = [
    ({"uncovered": "maybe"}, "must be one of: refuse, allow"),
    ({"leader": "me"}, "must be one of: elect, self"),
    ({"wait_for": "gone"}, "must be one of: nothing, accepted, started, finished"),
    ({"wait_timeout": 0}, "wait_timeout must be at least 1 second"),
    ({"event_ids": [" "]}, "event_ids holds an empty id"),
    ({"drained": ["no-such-host"]}, "drained: There is no host no-such-host in the inventory"),
    ({"approval": {"expected": "{}", "body": "{}"}}, "approval"),
    ({"timeout": 0}, "timeout must be at least 1 second"),
]


def test_bad_input(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"])
    cases = [options for options, _part in BAD_INPUT]
    outcome = play_each(
        tmp_path,
        fleet_inventory(tmp_path, simulator),
        "maintenance.azure.scheduled_event_approve",
        cases,
        arguments=("--limit", "web_0"),
    )
    for options, part in BAD_INPUT:
        assert outcome.of(str(options))["outcome"] == "failed"
        assert part in outcome.of(str(options))["msg"]
    assert posts(simulator) == []
    assert "Traceback" not in outcome.output
