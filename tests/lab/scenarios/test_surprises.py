# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events that don't keep to the plan or take a machine away: cancelled, too early, for a machine that nobody knows."""

from __future__ import annotations

import pytest
from lab import controller, events, haproxy
from lab.evidence import left_drained
from lab.shell import wait_until

# A drain that is in its middle for long enough to be surprised.
STEPS = [*controller.STEPS[:-1], {"command": {"drain": ["sleep", "8"]}}, controller.STEPS[-1]]


def wait_until_out_of_rotation(fleet, run, host):
    def is_out():
        return run.is_over or haproxy.statuses(fleet.balancer)[host].startswith("DRAIN")

    wait_until(is_out, f"{host} is out of rotation", 180)
    assert not run.is_over, run.output


def test_cancelled_in_mid_drain(fleet, evidence, figures):
    event_id = events.plan(fleet, "Reboot", "web-0")
    run = controller.start("cancelled", drain_steps=STEPS)
    wait_until_out_of_rotation(fleet, run, "web-0")
    fleet.simulator.cancel(event_id)
    run.wait()
    assert run.code == 0, run.output
    assert (evidence.approvals(), evidence.boots("web-0"), left_drained(fleet)) == ([], 0, [])
    assert haproxy.statuses(fleet.balancer)["web-0"] == "UP"
    answers = evidence.answers()
    assert answers.failed == []
    back = evidence.out_of_service()[-1].end - evidence.change(event_id, "cancelled")
    figures.add("cancelled in mid-drain", f"back in service {back:.0f} s after the cancellation, no reboot; {answers}")


def test_starts_before_the_drain_is_done(fleet, evidence, figures):
    event_id = events.plan(fleet, "Reboot", "web-0")
    run = controller.start("too-early", drain_steps=STEPS)
    wait_until_out_of_rotation(fleet, run, "web-0")
    fleet.simulator.start(event_id)
    run.wait()
    assert (evidence.approvals(), evidence.boots("web-0")) == ([], 1)
    assert left_drained(fleet) == [], run.output
    fleet.wait_until_in_service()
    over = evidence.change(event_id, "finished")
    (span,) = evidence.out_of_service()
    assert span.end > over
    figures.add(
        "starts before the drain is done",
        f"0 approvals, back in service {span.end - over:.0f} s after the end of the event, exit code {run.code}; "
        f"{evidence.answers()}",
    )


# A machine that Azure takes away for good: drained before it is gone, and not waited for.

# Half a minute is short: out of rotation, stop, and a run for that host alone.
IN_A_HURRY = {"drain_steps": [controller.STEPS[1], controller.STEPS[3]]}


@pytest.mark.parametrize(
    ("kind", "notice", "arguments", "variables"),
    [("Preempt", 30, ["--limit", "web-1"], IN_A_HURRY), ("Terminate", 300, [], {})],
    ids=["Preempt", "Terminate"],
)
def test_drained_before_it_is_gone(fleet, evidence, figures, kind, notice, arguments, variables):
    event_id = events.plan(fleet, kind, "web-1", notice=notice)
    run = controller.run(kind.lower(), *arguments, **variables)
    assert run.code == 0, run.output
    published, started = (evidence.change(event_id, change) for change in ("created", "started"))
    (span,) = evidence.out_of_service()
    assert span.host == "web-1"
    machine = fleet.machines["web-1"]
    stopped = max(at for at, text in evidence.unit_changes(machine, "nginx.service") if text.startswith("Stopped"))
    (gone,) = (line["time"] for line in evidence.platform() if line["what"] == f"{kind} ends")
    assert published < span.begin < stopped < started < gone
    assert started - published < notice
    assert evidence.approvals() == [event_id]
    answers = evidence.answers()
    assert answers.failed == []
    assert not machine.has_power
    assert machine.group.processes() == []
    assert [name for name in left_drained(fleet) if name != "web-1"] == []
    figures.add(
        f"a {kind} with {notice} s of notice",
        f"after publication: out of rotation {span.begin - published:.1f} s, drained {stopped - published:.1f} s, "
        f"gone {gone - published:.1f} s; {answers}",
    )
