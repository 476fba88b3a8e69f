# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A disk that is lost, two controllers at once, and one that dies right after its approval."""

from __future__ import annotations

import shutil

from lab import controller, events, haproxy
from lab.end_state import left_drained
from lab.fleet import TRACES
from lab.names import DOMAIN_OF
from lab.shell import wait_until

STEPS = {"drain_steps": [controller.STEPS[1], controller.STEPS[3]]}


def test_a_redeployed_machine_with_a_fresh_disk(fleet, evidence, figures):
    """As with an ephemeral disk: the journal is gone, and only the load balancer remembers."""
    event_id = events.plan(fleet, "Redeploy", "web-0", impact_seconds=8)
    machine = fleet.machines["web-0"]
    roll = controller.start("fresh-disk", **STEPS)
    wait_until(lambda: roll.is_over or evidence.approvals(), "an approval is sent", 180)
    wait_until(lambda: roll.is_over or not machine.group.processes(), "web-0 is off", 60, 0.1)
    assert not roll.is_over, roll.output
    shutil.rmtree(machine.root / TRACES)
    roll.wait()
    # What could be undone was undone; that nobody knows the rest is said.
    assert "Its journal is gone" in " ".join(roll.output.split())
    fleet.wait_until_in_service()
    assert haproxy.statuses(fleet.balancer)["web-0"] == "UP"
    assert (evidence.approvals(), left_drained(fleet)) == ([event_id], [])
    again = controller.run("fresh-disk-again", **STEPS)
    assert again.code == 0, again.output
    answers = evidence.answers()
    assert answers.failed == []
    figures.add("redeployed with a fresh disk", f"back in rotation, and told, exit code {roll.code}; {answers}")


def test_two_controllers_with_different_patterns(fleet, evidence, figures):
    for host in DOMAIN_OF:
        events.plan(fleet, "Reboot", host)
    even = controller.start("even", "-e", "maintenance_hosts=web-0,web-2,web-4", **STEPS)
    odd = controller.start("odd", "-e", "maintenance_hosts=web-1,web-3,web-5", **STEPS)
    for roll in (even, odd):
        roll.wait(900)
        assert roll.code == 0, roll.output
    assert evidence.two_domains_at_once() == []
    assert len(evidence.approvals()) == len(DOMAIN_OF)
    assert {name: evidence.boots(name) for name in DOMAIN_OF} == dict.fromkeys(DOMAIN_OF, 1)
    assert left_drained(fleet) == []
    answers = evidence.answers()
    assert answers.failed == []
    figures.add("two controllers, two patterns, at once", f"one domain at a time, both exit with 0; {answers}")


def test_killed_right_after_its_approval(fleet, evidence, figures):
    """The event shows Scheduled for a while. Who comes next has something more urgent, and leaves web-0 out."""
    first = events.plan(fleet, "Reboot", "web-0", notice=3000, approval_delay=30)
    roll = controller.start("killed-after-post", **STEPS)
    wait_until(lambda: roll.is_over or evidence.approvals(), "an approval is sent", 180, 0.05)
    assert not roll.is_over, roll.output
    roll.kill_all()
    second = events.plan(fleet, "Reboot", "web-1", notice=900)
    again = controller.run("after-post", **STEPS)
    assert again.code == 0, again.output
    assert evidence.two_domains_at_once() == []
    assert set(evidence.approvals()) == {first, second}
    assert (evidence.boots("web-0"), evidence.boots("web-1")) == (1, 1)
    (span,) = [span for span in evidence.out_of_service() if span.host == "web-0"]
    assert span.begin < evidence.change(first, "started")
    assert span.end > evidence.change(first, "finished")
    answers = evidence.answers()
    assert answers.failed == []
    figures.add("killed right after its approval", f"web-0 stayed out until its event was over; {answers}")
