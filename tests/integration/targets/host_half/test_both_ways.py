# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host half travels as one command or, where that can't work, as a module: the answers are the same."""

from __future__ import annotations

import pytest
from ansible_run import fleet_inventory, play
from simulator_process import Simulator

WAYS = {
    "command": {},
    # Ansible itself resolves who is delegated to, so the module is used there.
    "module": {"delegate_to": "{{ inventory_hostname }}"},
}


@pytest.fixture(scope="module")
def simulator():
    with Simulator({"vms": [{"name": "web"}]}) as fleet:
        yield fleet


@pytest.fixture(autouse=True)
def fresh(simulator):
    simulator.reset()
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600)


def steps(keywords):
    return (
        {"name": "Read", "maintenance.azure.scheduled_event_info": {}, **keywords},
        {"name": "Approve", "maintenance.azure.scheduled_event_approve": {}, **keywords},
        {"name": "Again", "maintenance.azure.scheduled_event_approve": {}, **keywords},
        {
            "name": "Fail",
            "maintenance.azure.scheduled_event_info": {"endpoint": "http://127.0.0.1:1", "timeout": 1},
            **keywords,
        },
    )


def without_times(result):
    return {
        key: [
            {name: value for name, value in event.items() if name not in ("seconds_left", "not_before")}
            for event in value
        ]
        if key == "events"
        else value
        for key, value in result.items()
        if key not in ("read_at", "_ansible_delegated_vars", "invocation")
    }


def test_the_same_answers_both_ways(tmp_path, simulator):
    outcomes = {}
    for way, keywords in WAYS.items():
        simulator.reset()
        simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600)
        run = play(tmp_path, fleet_inventory(tmp_path, simulator), *steps(keywords))
        outcomes[way] = {name: without_times(run.of(name)) for name in ("Read", "Approve", "Again")}
        failure = run.of("Fail")
        outcomes[way]["Fail"] = [failure[key] for key in ("outcome", "kind", "status")]
        # Three tasks within a second may meet the service's limit, and then send again what was turned away.
        assert [line["approved"] for line in simulator.log() if line["method"] == "POST" and line["status"] == 200] == [
            ["A1"]
        ]
    assert outcomes["command"] == outcomes["module"]


def test_a_command_line_that_would_be_too_long_becomes_a_module(tmp_path, simulator):
    # Text that does not shrink: the document is sent along with the approval.
    simulator.reset()
    noise = "".join(chr(0x4E00 + (number * 7919) % 20000) for number in range(60000))
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600, description=noise)
    run = play(tmp_path, fleet_inventory(tmp_path, simulator), steps({})[1])
    assert run.of("Approve")["approved"] == ["A1"]


def test_a_python_that_is_not_there(tmp_path, simulator):
    hosts = fleet_inventory(tmp_path, simulator, ansible_python_interpreter="/nonexistent/python3")
    run = play(tmp_path, hosts, steps({})[0])
    assert run.code == 2
    assert "/nonexistent/python3" in run.output
    assert "Traceback" not in run.output


def test_a_shell_that_talks_does_not_disturb(tmp_path, simulator):
    talkative = tmp_path / "python3"
    talkative.write_text('#!/bin/sh\necho "Welcome to {{ this }} machine"\nexec python3 "$@"\n')
    talkative.chmod(0o755)
    hosts = fleet_inventory(tmp_path, simulator, ansible_python_interpreter=str(talkative))
    assert play(tmp_path, hosts, steps({})[0]).of("Read")["events"][0]["id"] == "A1"
