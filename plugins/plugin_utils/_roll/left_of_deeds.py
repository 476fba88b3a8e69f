# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left to do after the hosts of a batch were drained, or returned, by one command each. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

# Of the time after which a host would refuse: 40 seconds.
SHARE_OF_A_YOUNG_READING = 1 / 2


def left_to_tasks(results: Mapping[str, Mapping[str, t.Any]]) -> list[str]:
    """Hosts with steps that need tasks of their own."""
    return [host for host, result in results.items() if result.get("work")]


def to_be_read_again(results: Mapping[str, Mapping[str, t.Any]], oldest: float, now: float) -> list[str]:
    """Hosts whose drain has brought no reading along, or one that is no longer young: others took their time."""
    limit = oldest * SHARE_OF_A_YOUNG_READING
    heard = {host: (result.get("reading") or {}).get("heard_at") for host, result in results.items()}
    return [host for host, at in heard.items() if at is None or not 0 <= now - at < limit]
