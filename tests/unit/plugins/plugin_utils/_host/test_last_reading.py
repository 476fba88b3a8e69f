# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which reading of a host is the last, where its drain may have brought one along."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.last_reading import last_reading

BEFORE, DRAINED, AFTER = ({"heard_at": at, "events": []} for at in (10.0, 20.0, 30.0))


@pytest.mark.parametrize(
    ("status", "drain", "last"),
    [
        (None, None, None),
        (BEFORE, None, BEFORE),
        (BEFORE, {"skipped": True}, BEFORE),
        (BEFORE, {"failed": True, "reading": None}, BEFORE),
        (BEFORE, {"reading": DRAINED}, DRAINED),
        (AFTER, {"reading": DRAINED}, AFTER),
        # Heard at the same moment: nobody is drained before he is read.
        (DRAINED, {"reading": {**DRAINED, "journal": {}}}, {**DRAINED, "journal": {}}),
    ],
)
def test_the_one_that_was_heard_last(status, drain, last):
    assert last_reading({"maintenance_status": status, "drain_result": drain}) == last


@pytest.mark.parametrize("status", [{"unreachable": True, "msg": "gone"}, {"failed": True, "msg": "no answer"}])
def test_a_reading_that_failed_after_the_drain_is_the_last(status):
    assert last_reading({"maintenance_status": status, "drain_result": {"reading": DRAINED}}) == status
