# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for events that nobody approves, through a service that is not always there."""

from __future__ import annotations

import threading

import pytest
from helpers.ansible_run import fleet_inventory, play, play_each
from helpers.simulator_process import Simulator
from helpers.waiting import wait_until


@pytest.fixture
def simulator():
    with Simulator({"vms": [{"name": "web"}]}) as fleet:
        yield fleet


def wait(folder, simulator, *arguments, **options):
    task = {"name": "Wait", "maintenance.azure.scheduled_event_wait": options}
    return play(folder, fleet_inventory(folder, simulator), task, arguments=arguments)


def start_when_it_was_seen(simulator, event_id):
    """Azure starts it by itself, some readings later."""
    wait_until(lambda: sum(line["path"].endswith("/scheduledevents") for line in simulator.log()) >= 3)
    simulator.start(event_id)


@pytest.mark.parametrize(
    ("until", "outcome"), [pytest.param("started", "Started", marks=pytest.mark.rest), ("finished", "gone")]
)
def test_an_event_starts_and_ends_by_itself(tmp_path, simulator, until, outcome):
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=600, dwell=4)
    starter = threading.Thread(target=start_when_it_was_seen, args=(simulator, "A1"))
    starter.start()
    run = wait(tmp_path, simulator, event_ids=["a1"], until=until, wait_timeout=300)
    starter.join()
    result = run.of("Wait")
    assert (run.code, result["changed"], result["outcomes"]) == (0, False, {"a1": outcome})
    assert [line for line in simulator.log() if line["method"] == "POST"] == []
    assert "Waiting until it" in run.output
    assert "Reboot of web is scheduled, due in " in " ".join(run.output.split())


@pytest.mark.rest
def test_what_is_not_listed_is_over(tmp_path, simulator):
    assert wait(tmp_path, simulator, event_ids=["A1"]).of("Wait")["outcomes"] == {"A1": "gone"}


@pytest.mark.rest
def test_check_mode_reads_once(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web"])
    run = wait(tmp_path, simulator, "--check", event_ids=["A1"], wait_timeout=600)
    assert (run.code, run.of("Wait")["outcomes"]) == (0, {"A1": "Scheduled"})


@pytest.mark.rest
def test_bad_input(tmp_path, simulator):
    cases = [
        ({"event_ids": ["A"], "until": "gone"}, "must be one of: started, finished"),
        ({"event_ids": ["A"], "wait_timeout": 0}, "wait_timeout must be at least 1 second"),
        ({"event_ids": [""]}, "event_ids holds an empty id"),
        ({}, "event_ids"),
    ]
    hosts = fleet_inventory(tmp_path, simulator)
    run = play_each(tmp_path, hosts, "maintenance.azure.scheduled_event_wait", [options for options, _part in cases])
    for options, part in cases:
        assert run.of(str(options))["outcome"] == "failed"
        assert part in run.of(str(options))["msg"]
