# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode, diff, waiting for one's own approval and for events that nobody approves, and what the user is told."""

from __future__ import annotations

import threading

import pytest
from helpers.ansible_run import fleet_inventory, play, play_each
from helpers.simulator_process import Simulator
from helpers.waiting import wait_until

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


@pytest.mark.rest
def test_check_mode_predicts_and_sends_nothing(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0", "web_1"])
    simulator.add_event(id="B2", type="Reboot", resources=["web_0", "outsider"], group="web")
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


@pytest.mark.rest
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
@pytest.mark.rest
@pytest.mark.parametrize(("goal", "dwell"), [("started", 600), ("finished", 2)])
def test_waiting(tmp_path, simulator, goal, dwell):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"], approval_delay=2, dwell=dwell)
    outcome = approve(tmp_path, simulator, "--limit", "web_0", wait_for=goal, wait_timeout=60).ended()
    assert simulator.event("A1")["status"] == {"started": "Started", "finished": "Finished"}[goal]
    until = {"started": "it starts", "finished": "it is over"}[goal]
    words = " ".join(outcome.output.split())
    assert f"Waiting until {until}: Reboot of web_0 is scheduled, due in 1" in words
    assert "(event A1). Giving up in 0:5" in words or "(event A1). Giving up in 1:00 min." in words


@pytest.mark.rest
def test_somebody_has_approved_in_the_portal_and_the_event_still_waits(tmp_path, simulator):
    """Our approval is taken, and counts for nothing."""
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"], notice=9000, approval_delay=600)
    simulator.approve_elsewhere("A1")

    def start():
        wait_until(lambda: posts(simulator))
        simulator.advance(600)

    threading.Thread(target=start, daemon=True).start()
    approve(tmp_path, simulator, "--limit", "web_0", wait_for="started", wait_timeout=60).ended()
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


@pytest.mark.rest
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


@pytest.fixture
def one_vm():
    with Simulator({"vms": [{"name": "web"}]}) as fleet:
        yield fleet


def wait(folder, one_vm, *arguments, **options):
    task = {"name": "Wait", "maintenance.azure.scheduled_event_wait": options}
    return play(folder, fleet_inventory(folder, one_vm), task, arguments=arguments)


def start_when_it_was_seen(one_vm, event_id):
    """Azure starts it by itself, some readings later."""
    wait_until(lambda: sum(line["path"].endswith("/scheduledevents") for line in one_vm.log()) >= 3)
    one_vm.start(event_id)


@pytest.mark.parametrize(
    ("until", "outcome"), [pytest.param("started", "Started", marks=pytest.mark.rest), ("finished", "gone")]
)
def test_an_event_starts_and_ends_by_itself(tmp_path, one_vm, until, outcome):
    one_vm.add_event(id="A1", type="Reboot", resources=["web"], notice=600, dwell=4)
    starter = threading.Thread(target=start_when_it_was_seen, args=(one_vm, "A1"))
    starter.start()
    run = wait(tmp_path, one_vm, event_ids=["a1"], until=until, wait_timeout=300)
    starter.join()
    result = run.of("Wait")
    assert (run.code, result["changed"], result["outcomes"]) == (0, False, {"a1": outcome})
    assert [line for line in one_vm.log() if line["method"] == "POST"] == []
    assert "Waiting until it" in run.output
    assert "Reboot of web is scheduled, due in " in " ".join(run.output.split())


@pytest.mark.rest
def test_check_mode_reads_once(tmp_path, one_vm):
    one_vm.add_event(id="A1", type="Reboot", resources=["web"])
    run = wait(tmp_path, one_vm, "--check", event_ids=["A1"], wait_timeout=600)
    assert (run.code, run.of("Wait")["outcomes"]) == (0, {"A1": "Scheduled"})


@pytest.mark.rest
def test_bad_input_for_a_wait(tmp_path, one_vm):
    cases = [
        ({"event_ids": ["A"], "until": "gone"}, "must be one of: started, finished"),
        ({"event_ids": ["A"], "wait_timeout": 0}, "wait_timeout must be at least 1 second"),
        ({"event_ids": [""]}, "event_ids holds an empty id"),
        ({}, "event_ids"),
    ]
    hosts = fleet_inventory(tmp_path, one_vm)
    run = play_each(tmp_path, hosts, "maintenance.azure.scheduled_event_wait", [options for options, _part in cases])
    for options, part in cases:
        assert run.of(str(options))["outcome"] == "failed"
        assert part in run.of(str(options))["msg"]
