# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host compares right before it sends an approval, where its group is busy."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._document.events import is_as_judged

ABOUT = {"EventSource": "Platform", "DurationInSeconds": 5, "Description": "d", "NotBefore": "2026-11-16T00:00:00Z"}
JUDGED = [
    {
        "id": "E1",
        "type": "Reboot",
        "resources": ["vm-1"],
        "source": "Platform",
        "duration_seconds": 5,
        "description": "d",
        "not_before": "2026-11-16T00:00:00Z",
    }
]


def document(*events, **about):
    keys = ("EventId", "EventType", "EventStatus", "Resources")
    told = [{**ABOUT, **dict(zip(keys, event, strict=True)), **about} for event in events]
    return json.dumps({"DocumentIncarnation": 7, "Events": told})


MINE = ("E1", "Reboot", "Scheduled", ["vm-1"])


@pytest.mark.parametrize(
    ("events", "same"),
    [
        ([MINE], True),
        ([("e1", "REBOOT", "Scheduled", ["VM-1"])], True),
        ([MINE, ("E2", "Reboot", "Scheduled", ["vm-2"])], True),
        ([MINE, ("E3", "Reboot", "Started", ["vm-3"])], True),
        ([MINE, ("E2", "Reboot", "Started", ["vm-2"])], False),
        ([("E1", "Reboot", "Started", ["vm-1"])], False),
        ([("E1", "Redeploy", "Scheduled", ["vm-1"])], False),
        ([("E1", "Reboot", "Scheduled", ["vm-1", "vm-2"])], False),
        ([MINE, ("E1", "Reboot", "Scheduled", ["vm-1", "vm-2"])], False),
        ([], False),
    ],
)
def test_what_matters_is_compared(events, same):
    assert is_as_judged(document(*events), JUDGED, ["E3"]) is same


@pytest.mark.parametrize(
    ("about", "same"),
    [
        ({"DurationInSeconds": "5", "NotBefore": "Mon, 16 Nov 2026 00:00:00 GMT", "EventSource": "platform"}, True),
        ({"DurationInSeconds": 9}, False),
        ({"DurationInSeconds": -1}, False),
        ({"Description": "e"}, False),
        ({"EventSource": "User"}, False),
        ({"NotBefore": "2026-11-23T00:00:00Z"}, False),
    ],
)
def test_all_that_a_policy_looks_at_is_compared(about, same):
    assert is_as_judged(document(MINE, **about), JUDGED, []) is same


@pytest.mark.parametrize("text", ["", "[]", '{"Events": 3}', '{"Events": [{"EventId": "E1"}]}'])
def test_what_is_no_document_is_never_the_same(text):
    assert is_as_judged(text, JUDGED, []) is False
