# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles and runs write into journals and leases, also on Windows hosts, as a task for tests."""

from __future__ import annotations

from typing import Any

from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import DEFAULT_PATH
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.options import lease_options
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.readings import ask_journal
from ansible_collections.maintenance.azure.plugins.plugin_utils._lease.action import LeaseAction


class ActionModule(LeaseAction):
    _supports_check_mode = True

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        request = dict(self._task.args)
        if request.pop("of") == "journal":
            return ask_journal(self, {"path": DEFAULT_PATH, **request}, task_vars or {})
        notes = request.pop("notes", [])
        defaults = {name: option.get("default") for name, option in lease_options().items()}
        return self._held_there({**defaults, **request}, task_vars or {}, notes)
