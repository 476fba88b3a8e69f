# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of scheduled_event_wait."""

from __future__ import annotations

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._approve.wait import WaitAction
from ..plugin_utils._common import ansible
from ..plugin_utils._common.options import wait_options


class ActionModule(WaitAction):
    _supports_check_mode = True
    _requires_connection = True

    @ansible.in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        options, task_vars = self.checked_wait(wait_options()), task_vars or {}
        result = self.wait(options, task_vars)
        warnings = self.version_warnings(options, task_vars)
        if warnings:
            result["warnings"] = warnings
        if result["problems"]:
            result.update(failed=True, msg=result["problems"][0])
        return wrap_var(result)
