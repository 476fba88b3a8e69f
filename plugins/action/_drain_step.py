# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of _drain_step: watches the time, asks the host, and tells what the drain has come to."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils._host.options import step_options
from ..plugin_utils._common.ansible import in_one_sentence
from ..plugin_utils._steps.commands import StepOrders


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=step_options())
        orders = StepOrders(self, options["plan"], task_vars or {})
        item = next(one for one in orders.plan["work"] if one["position"] == options["position"])
        try:
            return wrap_var(orders.one(item, options))
        except AnsibleConnectionFailure as error:
            if not self._task.delegate_to:
                raise
            # It would count as done where a play ignores hosts that are unreachable, and those of a run do.
            raise AnsibleActionFail(f"on {self._task.delegate_to}, which can't be reached: {error}") from None
