# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed at ten moments of a roll and run again: the end is that of an undisturbed roll."""

from __future__ import annotations

import time

from lab import controller, events
from lab.end_state import end_state
from lab.evidence import Evidence
from lab.share import times

MOMENTS = times(10)
# Short ones: what is spread over the roll is the moments, and they should fall on work, not on waiting.
STEPS = {"drain_steps": [controller.STEPS[1], controller.STEPS[3]]}


def plan_one_of_each_domain(fleet):
    for host in ("web-0", "web-1", "web-2"):
        events.plan(fleet, "Reboot", host)


def undisturbed(fleet):
    """The end state of a roll that nobody kills, and how long it takes."""
    evidence = Evidence(fleet)
    plan_one_of_each_domain(fleet)
    began = time.monotonic()
    roll = controller.run("undisturbed", **STEPS)
    assert roll.code == 0, roll.output
    return end_state(fleet, evidence), time.monotonic() - began


def killed_after(fleet, seconds, everything):
    """The end state of a roll that is killed after so many seconds and then run again; none where it was too quick."""
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
