# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Freeze, approved at once and drained first: what the users of the fleet notice."""

from __future__ import annotations

import pytest
from lab import controller, events
from lab.evidence import Evidence

POLICIES = {"approved at once": "approve", "drained first": "drain"}


@pytest.mark.parametrize("seconds", [5, 30])
def test_a_freeze(fleet, figures, seconds):
    seen = {}
    for how, action in POLICIES.items():
        evidence = Evidence(fleet)
        event_id = events.plan(fleet, "Freeze", "web-0", duration=seconds)
        policy = [{"name": f"freezes are {how}", "type": "Freeze", "action": action}]
        roll = controller.run(f"freeze-{seconds}-{action}", maintenance_policy=policy)
        assert roll.code == 0, roll.output
        assert evidence.approvals() == [event_id]
        assert evidence.boots("web-0") == 0
        frozen = {line["what"]: line["time"] for line in evidence.platform()}
        assert frozen["Freeze ends"] - frozen["Freeze begins"] >= seconds
        fleet.wait_until_in_service()
        seen[how] = evidence.answers()
        drained = [span for span in evidence.out_of_service() if span.begin < frozen["Freeze begins"]]
        assert [span.host for span in drained] == (["web-0"] if action == "drain" else [])
        fleet.settle()
    assert seen["drained first"].failed == []
    # A user who was with the frozen machine waited about as long as it was frozen.
    assert seen["drained first"].worst() < 3 < seen["approved at once"].worst()
    figures.add(
        f"a Freeze of {seconds} s",
        "; ".join(
            f"{how}: worst page {answers.worst():.1f} s, {len(answers.failed)} failed" for how, answers in seen.items()
        ),
    )
