# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of approval_report, which has no other half."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.plugin_utils._approval_report import approval_report
from ansible_collections.maintenance.azure.plugins.plugin_utils._options import approval_report_options


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=approval_report_options())
        waited = options["waited"]
        report = approval_report(options["sent"], None if waited.get("skipped") else waited)
        result = {**report, "changed": False}
        if report["error"]:
            result.update(failed=True, msg=report["error"])
        return wrap_var(result)
