# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.run_summary. Its documentation is in run_summary.yml."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.roll import run_summary


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"run_summary": as_filter("run_summary", run_summary)}
