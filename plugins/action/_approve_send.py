# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of _approve_send."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._approve.action import ApproveAction, order_of
from ..plugin_utils._common.ansible import NOT_ORDERED, OwnVariables, in_one_sentence
from ..plugin_utils._common.options import approve_options

# In a run: a host tries to send for 20 s, and what comes back is of use for as long as the lease.
SECONDS = 45.0


class ActionModule(ApproveAction):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        self.validate_argument_spec(argument_spec=approve_options())
        order = order_of(OwnVariables(self, task_vars or {}))
        if order is None:
            return dict(NOT_ORDERED)
        if order.fence:
            self.seconds = SECONDS
        results = []
        defaults = self._task.args
        for arguments in order.parts():
            self._task.args = {**defaults, **arguments}
            results.append(self._sent(task_vars or {}))
        return wrap_var({"changed": any(one.get("changed") for one in results), "results": results})

    def _sent(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """What went wrong is told after the wait: an event that is not approved comes all the same."""
        try:
            return self.approve(task_vars)
        except AnsibleActionFail as failure:
            return {"failed": True, "msg": str(failure)}
        except AnsibleConnectionFailure as failure:
            return {"unreachable": True, "msg": str(failure)}
