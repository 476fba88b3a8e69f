# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.roll_with_plan. Its documentation is in roll_with_plan.yml."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.roll import roll_with_plan


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"roll_with_plan": as_filter("roll_with_plan", roll_with_plan)}
