# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events that overlap, runs that died, and what Azure does meanwhile: still one domain at a time."""

from __future__ import annotations

import json

import pytest
from helpers import ansible_run
from helpers.fleet import RollFleet

pytestmark = pytest.mark.waits


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=3) as built:
        yield built


@pytest.fixture
def pair(tmp_path):
    with RollFleet(tmp_path, hosts=2, domains=2) as built:
        yield built


def reboot(fleet, number, **more):
    fleet.simulator.add_event(id=f"E{number}", type="Reboot", resources=[f"web-{number}"], dwell=1, **more)


@pytest.mark.rest
def test_a_freeze_that_names_all_does_not_glue_their_reboots_together(fleet):
    fleet.simulator.add_event(id="F", type="Freeze", resources=list(fleet.domain_of), duration=5, dwell=1)
    for number in range(3):
        reboot(fleet, number)
    run = fleet.roll()
    assert run.code == 0, run.output
    assert sorted(fleet.approvals()) == ["E0", "E1", "E2", "F"]
    fleet.assert_one_domain_at_a_time()
    for number in range(3):
        assert fleet.count("drain", f"web-{number}") == fleet.count("restore", f"web-{number}") == 1


@pytest.mark.rest
def test_events_in_a_chain_go_one_after_the_other(fleet):
    fleet.simulator.add_event(id="A", type="Reboot", resources=["web-0", "web-1"], dwell=1, notice=900)
    fleet.simulator.add_event(id="B", type="Reboot", resources=["web-1", "web-2"], dwell=1, notice=1000)
    run = fleet.roll()
    assert run.code == 0, run.output
    assert fleet.approvals() == ["A", "B"]
    # An event itself may span domains; what it does not name is in service meanwhile.
    at = fleet.approved_at()
    drained = {host: when for word, host, when in fleet.notes() if word == "drain"}
    restored = {host: when for word, host, when in fleet.notes() if word == "restore"}
    assert drained["web-2"] > at["A"]
    assert restored["web-0"] < at["B"]
    assert fleet.drained_hosts() == []


def test_two_events_of_one_host_are_approved_one_after_the_other(pair):
    pair.simulator.add_event(id="A", type="Redeploy", resources=["web-0"], dwell=2, notice=900)
    pair.simulator.add_event(id="B", type="Reboot", resources=["web-0"], dwell=1, notice=1000)
    run = pair.roll()
    assert run.code == 0, run.output
    assert pair.approvals() == ["A", "B"]
    over = {line["event"]: line["time"] for line in pair.simulator.changes() if line["change"] == "finished"}
    assert pair.approved_at()["B"] > over["A"]
    # It stays out of service in between.
    restored = [when for word, _host, when in pair.notes() if word == "restore"]
    assert len(restored) == 1
    assert restored[0] > over["B"]


def test_what_a_killed_run_left_drained_comes_first(pair):
    reboot(pair, 0, notice=5000)
    pair.simulator.fault(kind="hang", seconds=600, method="POST")
    pair.roll_and_kill_when(pair.was_sent)
    assert pair.drained_hosts() == ["web-0"]
    pair.simulator.clear_faults()
    # Something more urgent comes up for another domain.
    reboot(pair, 1, notice=900)
    run = pair.roll()
    pair.assert_one_domain_at_a_time()
    assert run.code == 0, run.output
    assert sorted(pair.approvals()) == ["E0", "E1"]
    assert pair.drained_hosts() == []


def test_killed_right_after_its_approval(pair):
    """The event still shows Scheduled. Whoever comes next must not bring the host back, to be rebooted in service."""
    pair.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], notice=5000, dwell=1, approval_delay=20)
    pair.roll_and_kill_when(pair.approvals)
    assert pair.drained_hosts() == ["web-0"]
    reboot(pair, 1, notice=900)
    run = pair.roll()
    assert run.code == 0, run.output
    pair.assert_one_domain_at_a_time()
    pair.assert_restored_only_after_the_end()
    assert set(pair.approvals()) == {"E0", "E1"}
    assert pair.count("drain", "web-0") == pair.count("restore", "web-0") == 1


def test_nothing_is_approved_while_azure_has_another_domain_down(fleet):
    """web-0 is rebooting by Azure's own doing, and is not of this run."""
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=600, notice=1)
    fleet.simulator.wait_for("E0", "Started")
    reboot(fleet, 1)
    run = fleet.roll("-e", "maintenance_hosts=web-1", "-e", "approve_wait_timeout=5")
    assert fleet.approvals() == []
    assert fleet.notes() == []
    assert run.code != 0
    assert "Not begun: event E1, as Event E0 is under way for web-0" in " ".join(run.output.split())


@pytest.mark.rest
def test_runs_that_have_a_part_of_a_group_each_take_the_order_of_the_document(fleet):
    """A slice that was relaunched, another controller: Azure's document is all that they share."""
    reboot(fleet, 0, notice=900)
    reboot(fleet, 1, notice=1000)

    def run(host, patience=300):
        everybody = json.loads(fleet.inventory().read_text())
        mine = fleet.folder / f"{host}-alone.json"
        mine.write_text(json.dumps({"all": {"hosts": {host: everybody["all"]["hosts"][host]}}}))
        command = ["ansible-playbook", "-i", str(mine), "maintenance.azure.drain_then_approve"]
        patient = ["-e", f"approve_wait_timeout={patience}"]
        return ansible_run.run(fleet.folder, [*command, *patient], 200, ANSIBLE_PIPELINING="1")

    too_early = run("web-1", patience=5)
    assert too_early.code != 0
    said = " ".join(too_early.output.split())
    assert "Not begun: event E1, as Event E0 comes first, and another run may have web-0" in said
    assert fleet.notes() == []
    for host, event in (("web-0", "E0"), ("web-1", "E1")):
        assert run(host).code == 0
        assert fleet.approvals()[-1] == event
    fleet.assert_one_domain_at_a_time()
    assert fleet.drained_hosts() == []


@pytest.mark.rest
def test_who_shares_the_lease_need_not_wait_for_the_order_of_the_document(fleet):
    """The other host is of the same inventory, so that its run meets this one at the keepers."""
    reboot(fleet, 0, notice=900)
    reboot(fleet, 1, notice=1000)
    run = fleet.roll("-e", "maintenance_hosts=web-1")
    assert run.code == 0, run.output
    assert fleet.approvals() == ["E1"]


def test_a_journal_that_is_gone_is_told(fleet):
    """As after a Redeploy of a VM with an ephemeral disk."""
    journal = fleet.journal("web-0")
    approved = f"grep -q '\"marks\"' {journal}"
    lose = f"(until {approved}; do sleep 0.2; done; sleep 3; rm -f {journal}) > /dev/null 2>&1 &"
    fleet.host_vars["web-0"]["drain_steps"] = [fleet.noted_step("web-0"), {"command": {"drain": ["sh", "-c", lose]}}]
    fleet.simulator.add_event(id="E0", type="Redeploy", resources=["web-0"], dwell=8)
    run = fleet.roll()
    assert fleet.approvals() == ["E0"]
    assert "web-0: Its journal is gone" in " ".join(run.output.split())


@pytest.mark.rest
def test_a_single_vm_whose_event_has_started_holds_back_the_others_of_its_group(tmp_path):
    """Nobody but itself shows the event, and this run does nothing about it."""
    with RollFleet(tmp_path, hosts=3, single_vms=True) as fleet:
        for host, variables in fleet.host_vars.items():
            variables.update(maintenance_delivery_group="set", maintenance_domain=host)
        fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=600, notice=1, source="User")
        fleet.simulator.wait_for("E0", "Started")
        reboot(fleet, 1, notice=3000)
        policy = [{"source": "User", "action": "ignore"}, {"action": "drain"}]
        run = fleet.roll("-e", json.dumps({"maintenance_policy": policy}), "-e", "approve_wait_timeout=5")
        assert (run.code, fleet.approvals(), fleet.notes()) == (2, [], [])
        assert "Not begun: event E1, as Event E0 is under way for web-0" in " ".join(run.output.split())
