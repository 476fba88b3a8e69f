# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.restore_orders. Its documentation is in restore_orders.yml."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.roll import restore_orders


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"restore_orders": as_filter("restore_orders", restore_orders)}
