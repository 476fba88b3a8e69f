# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases that other tools get wrong, each through a real run; what counts is the service's own log."""

from __future__ import annotations

import pytest
from helpers.ansible_run import fleet_inventory, play
from helpers.simulator_process import Simulator

FLEET = {
    "vms": [{"name": f"web_{number}", "group": "web"} for number in range(3)],
    "groups": {"web": {"kind": "availability_set"}},
}
WHOLE_BATCH = {"drained": "{{ ansible_play_batch }}"}


@pytest.fixture(scope="module")
def running():
    with Simulator(FLEET) as simulator:
        yield simulator


@pytest.fixture
def simulator(running):
    """The same process for all tests, as good as new for each."""
    running.reset()
    return running


def approve(folder, simulator, options=None, before=(), **keywords):
    task = {"name": "Approve", "maintenance.azure.scheduled_event_approve": options or {}}
    return play(folder, fleet_inventory(folder, simulator), *before, task, **keywords)


def approvals(simulator):
    """The ids of all approvals that arrived, in order, a repeated one again."""
    return [i for line in simulator.log() for i in line["approved"]]


def posts(simulator):
    return [line for line in simulator.log() if line["method"] == "POST"]


@pytest.mark.rest
def test_drain_failed(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0", "web_1"])
    failing = {"name": "Drain", "ansible.builtin.command": "/bin/false", "when": "inventory_hostname == 'web_1'"}
    outcome = approve(tmp_path, simulator, WHOLE_BATCH, before=[failing])
    assert outcome.code == 2
    assert approvals(simulator) == []
    refusal = outcome.of("Approve", "web_0")
    assert refusal["outcome"] == "failed"
    assert refusal["refused"][0]["uncovered"] == ["web_1"]
    assert "web_1, not among the drained hosts" in refusal["msg"]


def test_names_me_and_a_vm_that_is_not_drained(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0", "web_1"])
    outcome = approve(tmp_path, simulator, arguments=("--limit", "web_0"))
    assert (outcome.code, approvals(simulator)) == (2, [])


@pytest.mark.rest
def test_names_me_and_a_vm_that_nobody_knows(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0", "stranger"], group="web")
    simulator.add_event(id="B2", type="Reboot", resources=["web_0"])
    outcome = approve(tmp_path, simulator, WHOLE_BATCH)
    assert (outcome.code, approvals(simulator)) == (2, ["B2"])
    result = outcome.of("Approve", "web_0")
    assert (result["approved"], result["changed"]) == (["B2"], True)
    assert result["refused"][0]["uncovered"] == ["stranger"]
    assert "Approved B2" in result["msg"]
    assert "A1 also touches stranger" in result["msg"]


@pytest.mark.rest
def test_names_only_others(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_1"])
    outcome = approve(tmp_path, simulator, WHOLE_BATCH, arguments=("--limit", "web_0"))
    assert (outcome.code, approvals(simulator)) == (0, [])
    assert outcome.of("Approve")["msg"] == "Nothing to approve"


@pytest.mark.rest
def test_two_events_for_me_go_in_one_request(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"])
    simulator.add_event(id="B2", type="Freeze", resources=["web_0"])
    approve(tmp_path, simulator)
    assert approvals(simulator) == ["A1", "B2"]
    assert len(posts(simulator)) == 1


@pytest.mark.rest
def test_preempt_and_terminate_are_approved(tmp_path, simulator):
    simulator.add_event(id="A1", type="Preempt", resources=["web_0"], notice=600)
    simulator.add_event(id="B2", type="Terminate", resources=["web_1"], notice=600)
    outcome = approve(tmp_path, simulator)
    assert (outcome.code, sorted(approvals(simulator))) == (0, ["A1", "B2"])


@pytest.mark.rest
def test_a_deletion_is_approved_by_its_own_vm_only(tmp_path, simulator):
    simulator.add_event(id="B2", type="Terminate", resources=["web_1"], notice=600)
    options = {"drained": ["web_0", "web_1"], "event_ids": ["B2"]}
    outcome = approve(tmp_path, simulator, options, arguments=("--limit", "web_0"))
    assert "each VM approves its own deletion only" in outcome.of("Approve", "web_0")["msg"]
    assert posts(simulator) == []
    approve(tmp_path, simulator, options)
    assert approvals(simulator) == ["B2"]
    assert posts(simulator)[0]["vm"] == "web_1"


@pytest.mark.rest
def test_already_started_is_not_sent_again(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"], status="Started", dwell=600)
    outcome = approve(tmp_path, simulator)
    assert (outcome.code, posts(simulator)) == (0, [])
    result = outcome.of("Approve", "web_0")
    assert (result["changed"], result["already_started"]) == (False, ["A1"])


@pytest.mark.rest
def test_a_name_in_another_case_is_matched(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["WEB_0"], group="web")
    outcome = approve(tmp_path, simulator)
    assert (outcome.code, approvals(simulator)) == (0, ["A1"])


@pytest.mark.rest
@pytest.mark.parametrize("kind", ["error_503", "too_many_429", "hang"])
def test_fifteen_seconds_of_trouble(tmp_path, simulator, kind):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"])
    simulator.fault(kind=kind, seconds=15, vm="web_0")
    outcome = approve(tmp_path, simulator, arguments=("--limit", "web_0"))
    assert (outcome.code, approvals(simulator)) == (0, ["A1"])


def test_a_refused_post_is_tried_again(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"])
    simulator.fault(kind="error_503", count=2, method="POST")
    outcome = approve(tmp_path, simulator, arguments=("--limit", "web_0"))
    assert (outcome.code, approvals(simulator), len(posts(simulator))) == (0, ["A1"], 3)


@pytest.mark.rest
def test_a_post_that_is_refused_for_good_is_said(tmp_path, simulator):
    simulator.add_event(id="A1", type="Reboot", resources=["web_0"])
    simulator.fault(kind="status", status=400, method="POST")
    outcome = approve(tmp_path, simulator, arguments=("--limit", "web_0"))
    assert (outcome.code, approvals(simulator)) == (2, [])
    assert "Reboot A1 could not be approved. Asked POST" in outcome.of("Approve")["msg"]
    assert "HTTP 400" in outcome.of("Approve")["msg"]
