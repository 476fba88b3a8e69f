# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers and machines that are killed, a disk that is lost, and two controllers at once."""

from __future__ import annotations

import shutil
import time

import pytest
from lab import controller, events, haproxy
from lab.evidence import Evidence, end_state, left_drained
from lab.figures import times
from lab.fleet import TRACES
from lab.names import DOMAIN_OF, NAME_OF_VM
from lab.shell import wait_until

STEPS = {"drain_steps": [controller.STEPS[1], controller.STEPS[3]]}


def test_a_redeployed_machine_with_a_fresh_disk(fleet, evidence, figures):
    """As with an ephemeral disk: the journal is gone, and only the load balancer remembers."""
    event_id = events.plan(fleet, "Redeploy", "web-0", impact_seconds=8)
    machine = fleet.machines["web-0"]
    run = controller.start("fresh-disk", **STEPS)
    wait_until(lambda: run.is_over or evidence.approvals(), "an approval is sent", 180)
    wait_until(lambda: run.is_over or not machine.group.processes(), "web-0 is off", 60, 0.1)
    assert not run.is_over, run.output
    shutil.rmtree(machine.root / TRACES)
    run.wait()
    # What could be undone was undone; that nobody knows the rest is said.
    assert "Its journal is gone" in " ".join(run.output.split())
    fleet.wait_until_in_service()
    assert haproxy.statuses(fleet.balancer)["web-0"] == "UP"
    assert (evidence.approvals(), left_drained(fleet)) == ([event_id], [])
    again = controller.run("fresh-disk-again", **STEPS)
    assert again.code == 0, again.output
    answers = evidence.answers()
    assert answers.failed == []
    figures.add("redeployed with a fresh disk", f"back in rotation, and told, exit code {run.code}; {answers}")


def test_two_controllers_with_different_patterns(fleet, evidence, figures):
    for host in DOMAIN_OF:
        events.plan(fleet, "Reboot", host)
    even = controller.start("even", "-e", "maintenance_hosts=web-0,web-2,web-4", **STEPS)
    odd = controller.start("odd", "-e", "maintenance_hosts=web-1,web-3,web-5", **STEPS)
    for run in (even, odd):
        run.wait(900)
        assert run.code == 0, run.output
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
    run = controller.start("killed-after-post", **STEPS)
    wait_until(lambda: run.is_over or evidence.approvals(), "an approval is sent", 180, 0.05)
    assert not run.is_over, run.output
    run.kill_all()
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


# The machine that sends the approval dies in that moment, before the service has heard it and after.


def first_approval(fleet):
    return next((line for line in fleet.simulator.log() if line["method"] == "POST"), None)


@pytest.mark.parametrize(
    ("when", "fault"), [("before it was heard", "hang"), ("when it was heard, without an answer", "lost_answer")]
)
def test_the_leader_dies_in_the_moment_of_its_approval(fleet, evidence, figures, when, fault):
    event_id = events.plan(fleet, "Reboot", "web-0", "web-3")
    fleet.simulator.fault(kind=fault, method="POST", count=1)
    run = controller.start("leader-killed")
    sent = wait_until(lambda: run.is_over or first_approval(fleet), "an approval is sent", 180, 0.005)
    assert sent is not True, run.output
    leader = fleet.machines[NAME_OF_VM[sent["vm"]]]
    # Its power fails, and comes back with what the event does to it.
    leader.turn_off()
    fleet.simulator.clear_faults()
    run.wait()
    assert evidence.approvals() == [event_id]
    assert fleet.simulator.event(event_id)["status"] == "Finished"
    # All is well, or what is not well is said.
    left = left_drained(fleet)
    assert run.code == 0 or all(name in run.output for name in left), run.output
    ended = "ended well" if run.code == 0 else f"stopped with exit code {run.code}, left drained: {left or 'nobody'}"
    again = controller.run("leader-killed-again")
    assert again.code == 0, again.output
    assert left_drained(fleet) == []
    fleet.wait_until_in_service()
    answers = evidence.answers()
    figures.add(
        f"leader's machine killed {when}",
        f"1 approval heard, the run {ended}; after another run nobody is left drained; {answers}",
    )


# The controller is killed at ten moments of a run and run again: the end is that of an undisturbed run.

MOMENTS = times(10)


def plan_one_of_each_domain(fleet):
    for host in ("web-0", "web-1", "web-2"):
        events.plan(fleet, "Reboot", host)


def undisturbed(fleet):
    """The end state of a run that nobody kills, and how long it takes."""
    evidence = Evidence(fleet)
    plan_one_of_each_domain(fleet)
    began = time.monotonic()
    run = controller.run("undisturbed", **STEPS)
    assert run.code == 0, run.output
    return end_state(fleet, evidence), time.monotonic() - began


def killed_after(fleet, seconds, everything):
    """The end state of a run that is killed after so many seconds and then run again; none where it was too quick."""
    fleet.settle()
    evidence = Evidence(fleet)
    plan_one_of_each_domain(fleet)
    first = controller.start(f"killed-{seconds:.0f}s", **STEPS)
    time.sleep(seconds)
    if first.is_over:
        return None
    first.kill_all() if everything else first.kill()
    again = controller.run(f"after-{seconds:.0f}s", **STEPS)
    assert again.code == 0, again.output
    assert evidence.two_domains_at_once() == []
    return end_state(fleet, evidence), evidence.answers()


def killed_at(fleet, moment, seconds):
    """At one of the ten moments; earlier, where the machine is quicker now than it was when that was measured."""
    # Sometimes what an operator kills, sometimes the whole machine of the controller with its connections.
    tries = (killed_after(fleet, seconds * (moment + 0.5) / MOMENTS * 0.8**n, bool(moment % 2)) for n in range(4))
    return next(filter(None, tries))


def test_killed_at_ten_moments_and_run_again(fleet, figures):
    wanted, seconds = undisturbed(fleet)
    assert wanted["approvals"] == 3
    failed = 0
    for moment in range(MOMENTS):
        state, answers = killed_at(fleet, moment, seconds)
        assert state == wanted, f"killed at moment {moment}"
        failed += len(answers.failed)
    assert failed == 0
    figures.add(
        f"controller killed at {MOMENTS} moments",
        f"{MOMENTS} of {MOMENTS} ended as the undisturbed run of {seconds:.0f} s did, {failed} failed requests in all",
    )
