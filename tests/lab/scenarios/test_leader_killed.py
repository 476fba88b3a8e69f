# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that sends the approval dies in that moment, before the service has heard it and after."""

from __future__ import annotations

import pytest
from lab import controller, events
from lab.end_state import left_drained
from lab.names import NAME_OF_VM
from lab.shell import wait_until


def first_approval(fleet):
    return next((line for line in fleet.simulator.log() if line["method"] == "POST"), None)


@pytest.mark.parametrize(
    ("when", "fault"), [("before it was heard", "hang"), ("when it was heard, without an answer", "lost_answer")]
)
def test_the_leader_dies_in_the_moment_of_its_approval(fleet, evidence, figures, when, fault):
    event_id = events.plan(fleet, "Reboot", "web-0", "web-3")
    fleet.simulator.fault(kind=fault, method="POST", count=1)
    roll = controller.start("leader-killed")
    sent = wait_until(lambda: roll.is_over or first_approval(fleet), "an approval is sent", 180, 0.005)
    assert sent is not True, roll.output
    leader = fleet.machines[NAME_OF_VM[sent["vm"]]]
    # Its power fails, and comes back with what the event does to it.
    leader.turn_off()
    fleet.simulator.clear_faults()
    roll.wait()
    assert evidence.approvals() == [event_id]
    assert fleet.simulator.event(event_id)["status"] == "Finished"
    # All is well, or what is not well is said.
    left = left_drained(fleet)
    assert roll.code == 0 or all(name in roll.output for name in left), roll.output
    ended = "ended well" if roll.code == 0 else f"stopped with exit code {roll.code}, left drained: {left or 'nobody'}"
    again = controller.run("leader-killed-again")
    assert again.code == 0, again.output
    assert left_drained(fleet) == []
    fleet.wait_until_in_service()
    answers = evidence.answers()
    figures.add(
        f"leader's machine killed {when}",
        f"1 approval heard, the roll {ended}; after another run nobody is left drained; {answers}",
    )
