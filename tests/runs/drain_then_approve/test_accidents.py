# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong at night: nothing is approved that is not drained, and nobody is left behind unsaid."""

from __future__ import annotations

import json
import time

import pytest
from helpers.fleet import RunFleet
from helpers.network import unreachable_host

pytestmark = pytest.mark.waits(long=True)


@pytest.fixture
def fleet(tmp_path):
    with RunFleet(tmp_path, hosts=3, domains=2) as built:
        yield built


def assert_as_if_nothing_had_happened(fleet):
    assert sorted(set(fleet.approvals())) == ["E0", "E1"]
    assert len(fleet.approvals()) == 2
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_restored_only_after_the_end()
    assert fleet.drained_hosts() == []
    for host in fleet.domain_of:
        assert fleet.count("drain", host) == fleet.count("restore", host) == 1


def test_killed_between_drain_and_approval(fleet):
    fleet.event_per_domain()
    fleet.simulator.fault(kind="hang", seconds=600, method="POST")
    fleet.run_and_kill_when(fleet.was_sent)
    assert sorted(fleet.drained_hosts()) == ["web-0", "web-2"]
    assert fleet.approvals() == []
    fleet.simulator.clear_faults()
    fleet.run().ended()
    assert_as_if_nothing_had_happened(fleet)


def test_killed_between_approval_and_restore(fleet):
    fleet.event_of_domain("0", dwell=600)
    fleet.run_and_kill_when(fleet.approvals)
    assert sorted(fleet.drained_hosts()) == ["web-0", "web-2"]
    fleet.simulator.finish("E0")
    fleet.event_of_domain("1")
    fleet.run().ended()
    assert_as_if_nothing_had_happened(fleet)


def test_killed_in_the_middle_of_a_drain(fleet):
    fleet.event_per_domain()
    fleet.run_and_kill_when(fleet.notes)
    fleet.run().ended()
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_back_to_normal()


@pytest.mark.rest
def test_a_task_of_a_step_that_reaches_nobody_is_not_done(fleet, tmp_path):
    fleet.event_per_domain()
    tasks = tmp_path / "leave.yml"
    tasks.write_text(json.dumps([{"ansible.builtin.command": "/bin/true", "delegate_to": "f5"}]))
    fleet.host_vars["web-0"]["drain_steps"] = [fleet.noted_step("web-0"), {"tasks": {"drain": str(tasks)}}]
    fleet.host_vars["f5"] = unreachable_host(tmp_path)
    run = fleet.run("-e", "maintenance_hosts=web*")
    assert run.code != 0, run.output
    assert "E0" not in fleet.approvals(), run.output


def test_a_drain_that_fails(fleet):
    fleet.event_per_domain()
    fleet.host_vars["web-2"]["drain_steps"] = [fleet.noted_step("web-2"), {"command": {"drain": "/bin/false"}}]
    run = fleet.run().ended(2)
    assert fleet.approvals() == []
    # The others of that event are restored, and no later wave has begun.
    assert fleet.count("restore", "web-0") == 1
    assert {host for _word, host, _at in fleet.notes()} == {"web-0", "web-2"}
    summary = fleet.summary(run)
    assert summary["ok"] is False
    assert "web-2" in summary["left"]["failed"]
    assert sorted(summary["left"]["not_run"]) == [["web-0", "web-2"], ["web-1"]]
    assert "web-2" in summary["stopped"]
    assert summary["left"]["drained"] == fleet.drained_hosts()


def test_an_unreachable_host(fleet):
    fleet.event_per_domain()
    fleet.host_vars["web-2"].update(unreachable_host(fleet.folder))
    run = fleet.run()
    assert run.code != 0
    assert fleet.approvals() == []
    summary = fleet.summary(run)
    assert summary["ok"] is False
    assert "web-2" in summary["left"]["unknown"] + summary["left"]["failed"]
    # Its neighbour does not stay behind, and no other domain was touched.
    assert fleet.drained_hosts() == []
    assert {host for _word, host, _at in fleet.notes()} <= {"web-0"}


def test_a_vm_in_nobody_s_inventory(fleet):
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0", "outsider"], group="web", notice=300, dwell=1)
    run = fleet.run_and_when(lambda: fleet.is_drained_and_waits("web-0"), lambda: fleet.simulator.start("E0"))
    assert (run.code, fleet.approvals()) == (2, [])
    assert fleet.simulator.event("E0")["status"] == "Finished"
    assert (fleet.count("drain", "web-0"), fleet.count("restore", "web-0"), fleet.drained_hosts()) == (1, 1, [])
    assert fleet.summary(run)["left"]["refused"] == [{"id": "E0", "uncovered": ["outsider"]}]


def test_a_reading_that_fails_is_not_the_end_of_an_event(fleet):
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=600)

    def bad_readings():
        return [line for line in fleet.simulator.log() if line["fault"] == "empty_200"]

    with fleet.start("waiting") as waiting:
        waiting.wait_for(fleet.approvals)
        fleet.simulator.fault(vm="web-0", kind="empty_200", method="GET")
        waiting.wait_for(lambda: len(bad_readings()) >= 3)
        assert fleet.count("restore", "web-0") == 0
        fleet.simulator.clear_faults()
        fleet.simulator.finish("E0")
        waiting.result().ended()
    finished = [change["time"] for change in fleet.simulator.changes() if change["change"] == "finished"]
    restored = [at for word, _host, at in fleet.notes() if word == "restore"]
    assert restored[0] > finished[0]


def test_two_runs_at_once(fleet):
    """While the first one waits, others may have the lease; but a domain is down, and they wait for it, too."""
    fleet.event_per_domain(dwell=600)
    seen = {}

    def second_run():
        if not fleet.approvals():
            return False
        seen["second"] = fleet.run("-e", "approve_wait_timeout=5")
        return True

    fleet.run_and_kill_when(second_run)
    assert seen["second"].code == 2
    assert fleet.approvals() == ["E0"]
    assert "Not run: the wave of web-1" in " ".join(seen["second"].output.split())
    assert {host for _word, host, _at in fleet.notes()} <= {"web-0", "web-2"}
    fleet.assert_one_domain_at_a_time()


@pytest.mark.rest
def test_a_preempt_is_drained_although_another_run_has_the_lease(fleet):
    fleet.simulator.add_event(id="P", type="Preempt", resources=["web-1"], notice=120, dwell=1)
    give_the_lease_to_another_run(fleet)
    fleet.run("-e", "approve_wait_timeout=5")
    assert fleet.count("drain", "web-1") == 1
    assert fleet.count("restore", "web-1") == 0
    # To start it before its time still needs the lease.
    assert fleet.approvals() == []


def give_the_lease_to_another_run(fleet):
    """As a run of an earlier version of the collection would have left it, on another controller."""
    lock = {"run_id": "other", "user": "u", "host": "h", "note": "", "controller": "c", "pid": 1, "process_start": "1"}
    lock["taken_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    lock["expires_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 900))
    for host in fleet.domain_of:
        (fleet.folder / f"{host}.lock").write_text(json.dumps(lock))
