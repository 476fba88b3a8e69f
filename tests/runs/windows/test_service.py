# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading, approving and waiting on a Windows host: as on a Linux host, with as few calls as it takes."""

from __future__ import annotations

import pytest
from helpers import transports as ways
from helpers.ansible_run import comparable_result, inventory, play
from helpers.simulator_process import Simulator
from helpers.windows_host import SETTINGS

pytestmark = pytest.mark.rest

READ = {"name": "Read", "maintenance.azure.scheduled_event_info": {}}
APPROVE = {"name": "Approve", "maintenance.azure.scheduled_event_approve": {}}
AGAIN = {"name": "Again", "maintenance.azure.scheduled_event_approve": {}}
STEPS = (
    READ,
    {"name": "Predict", "maintenance.azure.scheduled_event_approve": {}, "check_mode": True},
    APPROVE,
    AGAIN,
    {
        "name": "Wait",
        "maintenance.azure.scheduled_event_wait": {"event_ids": ["A1"], "until": "started", "wait_timeout": 60},
    },
    {
        "name": "Fail",
        "maintenance.azure.scheduled_event_info": {"endpoint": "http://127.0.0.1:1", "timeout": 1},
        "ignore_errors": True,
    },
)


@pytest.fixture(scope="module")
def simulator():
    # A 429 would be one call more.
    with Simulator({"vms": [{"name": "web"}]}, requests_per_second=0) as fleet:
        yield fleet


@pytest.fixture(autouse=True)
def fresh(simulator):
    simulator.reset()
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600)


def run_on(folder, simulator, host_vars, *tasks, **more):
    hosts = inventory(folder, {"web": {"maintenance_endpoint": simulator.endpoints["web"], **host_vars}})
    return play(folder, hosts, *tasks, **{**SETTINGS, **more})


def approvals(simulator):
    """Those that were let in: a play may be quicker than the five requests a second that a VM has."""
    return [line["approved"] for line in simulator.log() if line["method"] == "POST" and line["status"] != 429]


def test_results_and_messages_are_those_of_a_linux_host(tmp_path, simulator, windows):
    linux = tmp_path / "linux"
    linux.mkdir()
    # By Python, as curl has words of its own for what went wrong.
    keywords = ways.play_keywords(linux, "command")
    expected = run_on(linux, simulator, ways.host_vars(linux, "command"), *STEPS, **keywords)
    simulator.reset()
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600)
    found = run_on(tmp_path, simulator, windows.host_vars, *STEPS)
    for task in STEPS:
        name = task["name"]
        assert comparable_result(found.of(name)) == comparable_result(expected.of(name)), name
    assert found.of("Approve")["approved"] == ["A1"]
    assert found.of("Fail")["outcome"] == "failed"
    assert approvals(simulator) == [["A1"]]


def test_a_reading_is_one_call(tmp_path, simulator, windows):
    run_on(tmp_path, simulator, windows.host_vars, READ)
    assert windows.calls() == [["boot", "send", "send"]]


def test_look_compare_and_send_are_one_call(tmp_path, simulator, windows):
    """The first call reads what is decided on."""
    assert run_on(tmp_path, simulator, windows.host_vars, APPROVE).of("Approve")["approved"] == ["A1"]
    assert windows.calls() == [["boot", "send", "send"], ["boot", "send", "send"]]
    methods = [line["method"] for line in simulator.log() if "scheduledevents" in line["path"]]
    # One look more where a busy machine was too late.
    assert (methods[-3:], methods.count("POST")) == (["GET", "GET", "POST"], 1)


@pytest.mark.parametrize("kind", ["error_503", "too_many_429"])
def test_patience_is_the_same(tmp_path, simulator, windows, kind):
    simulator.fault(kind=kind, count=2)
    assert run_on(tmp_path, simulator, windows.host_vars, READ).of("Read")["pending"] is True


def test_auto_does_not_guess(tmp_path, simulator, windows):
    auto = {"endpoint": "auto", "timeout": 1}
    result = run_on(
        tmp_path,
        simulator,
        windows.host_vars,
        {"name": "Auto", "maintenance.azure.scheduled_event_info": auto, "ignore_errors": True},
    ).of("Auto")
    assert "169.254.169.254" in result["msg"]
    assert "Give it in endpoint: only VMs of the classic model, which Azure has retired" in result["msg"]


def test_an_answer_that_is_lost_after_the_approval_left_is_looked_after(tmp_path, simulator, windows):
    windows.machine.has_trouble(lose=1, **{"with": "only_if"})
    run = run_on(tmp_path, simulator, windows.host_vars, {**APPROVE, "ignore_unreachable": True}, AGAIN)
    assert run.of("Approve")["outcome"] == "unreachable"
    assert run.of("Again")["already_started"] == ["A1"]
    assert approvals(simulator) == [["A1"]]


@pytest.mark.parametrize(
    "lie",
    [
        {"results": []},
        {"results": "many"},
        {"results": [{"count": 7, "uptime": True}]},
        {"results": [{"count": 7, "uptime": 1.0}, {"answer": "%%%"}, {"answer": ""}]},
        {"ansible_facts": {"lied": "yes"}, "results": [{"problem": "dance", "said": "no"}]},
    ],
)
def test_lies_are_failures(tmp_path, simulator, windows, lie):
    windows.machine.has_trouble(lie=lie)
    task = {**READ, "ignore_errors": True}
    check = {"name": "Facts", "ansible.builtin.debug": {"msg": "{{ ansible_facts }}"}}
    run = run_on(tmp_path, simulator, windows.host_vars, task, check)
    assert run.of("Read")["outcome"] == "failed"
    assert "something else than it was asked for" in run.of("Read")["msg"]
    assert "lied" not in str(run.of("Facts")["msg"])
