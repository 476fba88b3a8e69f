# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers and machines that are killed, a disk that is lost, and two controllers at once."""

from __future__ import annotations

import shutil
import time

from lab import controller, events, haproxy
from lab.evidence import Evidence, end_state, left_drained
from lab.figures import times
from lab.fleet import TRACES
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
    # Of a machine that boots when its event is over already, the next run knows nothing, and leaves it as it is.
    for machine in fleet.web:
        machine.wait_until_up()
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
