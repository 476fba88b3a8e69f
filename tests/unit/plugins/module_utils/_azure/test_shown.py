# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host compares right before it sends an approval, where its group is busy."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._document.shown import is_as_judged

JUDGED = [{"id": "E1", "type": "Reboot", "resources": ["vm-1"]}]


def document(*events):
    keys = ("EventId", "EventType", "EventStatus", "Resources")
    return json.dumps({"DocumentIncarnation": 7, "Events": [dict(zip(keys, event, strict=True)) for event in events]})


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


@pytest.mark.parametrize("text", ["", "[]", '{"Events": 3}', '{"Events": [{"EventId": "E1"}]}'])
def test_what_is_no_document_is_never_the_same(text):
    assert is_as_judged(text, JUDGED, []) is False
