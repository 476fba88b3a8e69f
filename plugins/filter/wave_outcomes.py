# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.wave_outcomes. Its documentation is in wave_outcomes.yml."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._hostvars import needed_vars
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.roll import wave_outcomes

REGISTERED = ("maintenance_status", "drain_result", "approve_result", "restore_result")


def outcomes_of(
    orders: dict[str, t.Any],
    hostvars: t.Any,
    wave: int,
    number_of_pass: int,
    previous: dict[str, t.Any] | None = None,
) -> dict[str, t.Any]:
    return wave_outcomes(orders, needed_vars(orders, hostvars, REGISTERED), int(wave), int(number_of_pass), previous)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"wave_outcomes": as_filter("wave_outcomes", outcomes_of)}
