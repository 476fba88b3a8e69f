# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.wave_check. Its documentation is in wave_check.yml."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.text import render_start
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.roll import check_batch


def wave_check(
    batch: list[str], plan: dict[str, t.Any], outcomes: dict[str, t.Any], go_on: bool = False
) -> dict[str, t.Any]:
    check = check_batch(batch, plan, outcomes, go_on)
    return {**check, "lines": render_start(check, time.time())}


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"wave_check": as_filter("wave_check", wave_check)}
