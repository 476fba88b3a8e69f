# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.wave_outcome. Its documentation is in wave_outcome.yml."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import host_outcome


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"wave_outcome": as_filter("wave_outcome", host_outcome)}
