# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of the model that are properties of its data."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import Event


@pytest.mark.parametrize(
    ("kind", "action", "takes_down"),
    [("Freeze", "approve", False), ("Freeze", "drain", True), ("Freeze", "ignore", True), ("Reboot", "approve", True)],
)
def test_only_a_freeze_that_is_approved_without_a_drain_takes_nothing_down(kind, action, takes_down):
    assert Event("E", kind, "Scheduled", None, (), action=action).takes_down is takes_down
