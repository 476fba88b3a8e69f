# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events that overlap, runs that died, and what Azure does meanwhile: still one domain at a time."""

from __future__ import annotations

import pytest
from helpers.fleet import RunFleet

pytestmark = pytest.mark.waits(long=True)


@pytest.fixture
def pair(tmp_path):
    with RunFleet(tmp_path, hosts=2, domains=2) as built:
        yield built


def reboot(fleet, number, **more):
    fleet.simulator.add_event(id=f"E{number}", type="Reboot", resources=[f"web-{number}"], dwell=1, **more)


def test_two_events_of_one_host_are_approved_one_after_the_other(pair):
    pair.simulator.add_event(id="A", type="Redeploy", resources=["web-0"], dwell=2, notice=900)
    pair.simulator.add_event(id="B", type="Reboot", resources=["web-0"], dwell=1, notice=1000)
    pair.run().ended()
    assert pair.approvals() == ["A", "B"]
    over = {line["event"]: line["time"] for line in pair.simulator.changes() if line["change"] == "finished"}
    assert pair.approved_at()["B"] > over["A"]
    # It stays out of service in between.
    restored = [when for word, _host, when in pair.notes() if word == "restore"]
    assert len(restored) == 1
    assert restored[0] > over["B"]


def test_killed_right_after_its_approval(pair):
    """The event still shows Scheduled. Whoever comes next must not bring the host back, to be rebooted in service."""
    pair.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], notice=5000, dwell=1, approval_delay=20)
    pair.run_and_kill_when(pair.approvals)
    assert pair.drained_hosts() == ["web-0"]
    reboot(pair, 1, notice=900)
    pair.run().ended()
    pair.assert_one_domain_at_a_time()
    pair.assert_restored_only_after_the_end()
    assert set(pair.approvals()) == {"E0", "E1"}
    assert pair.count("drain", "web-0") == pair.count("restore", "web-0") == 1


def test_nothing_is_approved_while_azure_has_another_domain_down(pair):
    """web-0 is rebooting by Azure's own doing, and is not of this run."""
    pair.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=600, notice=1)
    pair.simulator.wait_for("E0", "Started")
    reboot(pair, 1)
    run = pair.run("-e", "maintenance_hosts=web-1", "-e", "approve_wait_timeout=5")
    assert pair.approvals() == []
    assert pair.notes() == []
    assert run.code != 0
    assert "Not begun: event E1, as Event E0 is under way for web-0" in " ".join(run.output.split())


def test_a_journal_that_is_gone_is_told(pair):
    """As after a Redeploy of a VM with an ephemeral disk."""
    journal = pair.journal("web-0")
    approved = f"grep -q '\"marks\"' {journal}"
    lose = f"(until {approved}; do sleep 0.2; done; sleep 3; rm -f {journal}) > /dev/null 2>&1 &"
    pair.host_vars["web-0"]["drain_steps"] = [pair.noted_step("web-0"), {"command": {"drain": ["sh", "-c", lose]}}]
    pair.simulator.add_event(id="E0", type="Redeploy", resources=["web-0"], dwell=8)
    run = pair.run()
    assert pair.approvals() == ["E0"]
    assert "web-0: Its journal is gone" in " ".join(run.output.split())
