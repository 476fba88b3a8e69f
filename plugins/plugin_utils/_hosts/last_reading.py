# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last reading of a host in a roll: that of a task, or the one that its drain has brought along."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

READING, DRAIN = "maintenance_status", "drain_result"
# What has to be known of a host for it.
LAST_READING = (READING, DRAIN)


def brought_along(drained: t.Any) -> Mapping[str, t.Any] | None:
    """The reading in what a drain came to, if there is one."""
    found = drained.get("reading") if isinstance(drained, Mapping) else None
    return found if isinstance(found, Mapping) else None


def last_reading(variables: Mapping[str, t.Any]) -> t.Any:
    """By when the controller heard it. A task that failed before says nothing of that: it came after the drain.

    For no host is drained that was not read before, in this run.
    """
    status, along = variables.get(READING), brought_along(variables.get(DRAIN))
    heard_at = status.get("heard_at") if isinstance(status, Mapping) else None
    if along is None or heard_at is None or along["heard_at"] < heard_at:
        return status
    return along
