# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that Azure takes away for good: drained before it is gone, and not waited for."""

from __future__ import annotations

import pytest
from lab import controller, events
from lab.evidence import left_drained

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
