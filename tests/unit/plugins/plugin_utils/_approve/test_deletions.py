# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Azure deletes none of several VMs before all deletions are approved or timed out."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.judge import convoy, judge_events


def event(event_id, *resources, kind="Terminate", status="Scheduled"):
    return {"id": event_id, "type": kind, "status": status, "resources": list(resources)}


def test_the_others_of_a_convoy_are_those_that_are_not_approved_yet():
    events = [
        event("A", "vm-a"),
        event("B", "vm-b"),
        event("C", "vm-c"),
        event("R", "vm-d", kind="Reboot"),
        event("S", "vm-e", status="Started"),
        event("P", "vm-f", status="Planned"),
    ]
    assert [other["id"] for other in convoy(events[1], events)] == ["A", "C"]
    assert convoy(events[3], events) == []


@pytest.mark.parametrize(("kind", "refused"), [("Terminate", ["A"]), ("Reboot", []), ("Preempt", [])])
def test_only_a_deletion_must_be_approved_by_the_vm_itself(kind, refused):
    judgement = judge_events([event("A", "vm-a", kind=kind)], ["A"], "vm-b", ["vm-a", "vm-b"])
    assert [refusal["id"] for refusal in judgement.refused] == refused
