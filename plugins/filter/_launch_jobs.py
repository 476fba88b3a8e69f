# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure._launch_jobs. Its documentation is in _launch_jobs.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils._awx.fan_out import launch_jobs
from ..plugin_utils._common.ansible import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"_launch_jobs": as_filter("_launch_jobs", launch_jobs)}
