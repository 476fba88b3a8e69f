# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of _approve_mark."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._approve.action import order_of, write_journal
from ..plugin_utils._common.ansible import NOT_ORDERED, OwnVariables, in_one_sentence


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        self.validate_argument_spec(argument_spec={})
        task_vars = task_vars or {}
        order = order_of(OwnVariables(self, task_vars))
        if order is None:
            return dict(NOT_ORDERED)
        if order.is_alone:
            return {"changed": False, "skipped": True, "skip_reason": "The command that approves marks it as well"}
        self._task.args = order.mark_options()
        return wrap_var(write_journal(self, task_vars))
