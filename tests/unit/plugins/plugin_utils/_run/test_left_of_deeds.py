# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left to do after a batch was drained or returned by one command a host."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import left_of_deeds as _left

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("result", "is_left"),
    [({}, False), ({"work": []}, False), ({"skipped": True}, False), ({"work": [{"kind": "tasks"}]}, True)],
)
def test_only_steps_that_need_tasks_are_left_to_tasks(result, is_left):
    assert _left.left_to_tasks({"web-0": result, "web-1": {}}) == (["web-0"] if is_left else [])


@pytest.mark.parametrize(
    ("result", "again"),
    [
        ({}, True),
        ({"failed": True, "msg": "no"}, True),
        ({"unreachable": True}, True),
        ({"reading": None}, True),
        ({"reading": {"heard_at": NOW}}, False),
        ({"reading": {"heard_at": NOW - 19.9}}, False),
        ({"reading": {"heard_at": NOW - 20}}, True),
        # The clock was set back.
        ({"reading": {"heard_at": NOW + 1}}, True),
    ],
)
def test_who_brought_no_young_reading_along_is_read_again(result, again):
    assert _left.to_be_read_again({"web-0": result}, 40.0, NOW) == (["web-0"] if again else [])
