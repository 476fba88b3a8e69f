# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of _approve_wait: waits as scheduled_event_wait does, and tells what all came to."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._approve.action import order_of, take_marks_back
from ..plugin_utils._approve.order import ApproveOrder, approval_outcome
from ..plugin_utils._approve.wait import WaitAction
from ..plugin_utils._azure.vms import this_host_of
from ..plugin_utils._common.ansible import NOT_ORDERED, OwnVariables, in_one_sentence, plain
from ..plugin_utils._common.options import wait_options
from ..plugin_utils._host.connection import seconds_of_a_reading, seconds_to_connect

# Registered by _approve_send.
SENT = "__approve_sent"
MARKED = "approve_mark"


def _not_sent(own: OwnVariables) -> str:
    """In a run: why the host could not even be marked, in this round, or told what to send."""
    failures = [found for name in (MARKED, SENT) if (found := own.registered(name) or {}).get("failed")]
    return str(failures[0].get("msg") or "The approval failed") if failures else ""


class ActionModule(WaitAction):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        # Which events is said below.
        self.validate_argument_spec(argument_spec={**wait_options(), "event_ids": dict(type="list")})
        self.task_vars = task_vars or {}
        own = OwnVariables(self, self.task_vars)
        order = order_of(own)
        if order is None:
            return dict(NOT_ORDERED)
        if order.fence:
            # A host that reboots, which is what is waited for, has to be told from one that hangs.
            self.after_silence = seconds_to_connect(self)
            self.seconds = max(seconds_of_a_reading(own.setting("maintenance_read_timeout")), self.after_silence)
        error = _not_sent(own) if order.fence else ""
        if error:
            return {"changed": False, "over": False, "unsent": [*order.ids, *order.undrained_ids], "error": error}
        sent = plain((own.registered(SENT) or {}).get("results") or [])
        unsent = order.unsent(sent)
        if unsent:
            # What was written down for nothing: whoever comes next must not wait for it.
            request = {"path": order.journal, "state": "unmark", "marks": order.marks, "run_id": order.run_id}
            take_marks_back(self, request, self.task_vars)
        outcome = approval_outcome(sent, self._waited(order, unsent), unsent)
        result = {**outcome, "changed": False}
        if outcome["error"]:
            result.update(failed=True, msg=outcome["error"])
        return wrap_var(result)

    def _waited(self, order: ApproveOrder, unsent: list[str]) -> dict[str, t.Any] | None:
        # Its name is known from the reading that brought us here, so that one request is saved.
        vm_name = this_host_of(self.task_vars).get("vm_name")
        self._task.args = {**self._task.args, **order.wait_options(unsent, vm_name)}
        options = self.checked_wait(wait_options())
        if not options["event_ids"]:
            return None
        try:
            return self.wait(options, self.task_vars)
        except AnsibleError as error:
            # What the approvals came to is told all the same.
            return {"msg": str(error)}
