# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host compares before it does as it is told. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import FenceTerms
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes


def fence_for(variables: Mapping[str, t.Any], events: Sequence[str], wishes: Wishes) -> FenceTerms:
    status = variables.get("maintenance_status") or {}
    clock, journal = status.get("host_clock") or {}, status.get("journal") or {}
    return {
        "boot_id": clock.get("boot_id"),
        "seconds": clock.get("seconds"),
        "at_most": wishes.oldest_reading,
        "owner": journal.get("run_id"),
        "events": list(events),
        "may_start": [],
    }


def owner_only(fence: FenceTerms) -> FenceTerms:
    """For a return to service after the event: however long that took, the host must still be as it was left."""
    return {**fence, "boot_id": None, "seconds": None, "events": []}
