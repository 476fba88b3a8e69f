# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure._task_timeout. Its documentation is in _task_timeout.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils._host.connection import task_timeout


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"_task_timeout": lambda seconds: task_timeout(int(seconds))}
