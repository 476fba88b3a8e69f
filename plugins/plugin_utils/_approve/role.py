# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `_approve`: what the role approve does on a host, with the role's variables or by the order of a run."""

from __future__ import annotations

import time
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ...module_utils._host import journal
from .._azure import vms
from .._common import ansible
from .._common.ansible import OwnVariables
from .._common.options import approval_by_role_options, approval_options, run_options, service_options, wait_options
from .._host import connection, readings
from .action import ApproveAction
from .order import MARKED, ApproveOrder, approval_outcome
from .send import Election

OPTIONS = approval_options()
# In a run: a host tries to send for 20 s, and what comes back is of use for as long as the lease.
SECONDS_TO_SEND = 45.0
# Registered by the task that sends.
SENT = "__approve_sent"
SERVICE = {"endpoint": "maintenance_endpoint", "api_version": "maintenance_api_version"}
BY_ROLE = approval_by_role_options()
MARK_OPTIONS = {
    "path": {"type": "str"},
    "state": {"type": "str"},
    **{option: service_options()[option] for option in SERVICE},
    **{option: BY_ROLE[option] for option in ("marks", "run_id", "fence")},
}


def order_of(own: OwnVariables) -> ApproveOrder | None:
    """None where a run has nothing for this host to approve or to wait for."""
    known = _of_run(own) if own.is_ordered else _of_role(own)
    if known is None:
        return None
    return ApproveOrder(
        host=own.host,
        journal=own.setting("approve_journal", journal.DEFAULT_PATH),
        uncovered=own.setting("approve_uncovered", "refuse"),
        wait_timeout=own.setting("approve_wait_timeout"),
        service=own.settings(SERVICE),
        **known,
    )


def _of_run(own: OwnVariables) -> dict[str, t.Any] | None:
    order = own.order()
    if order is None or not order["acts"]:
        return None
    return {
        "ids": order["approve_drained"],
        "undrained_ids": order["approve_as_is"],
        "wait_ids": order["wait"],
        "drained": order["together"],
        "marks": order["marks"],
        "fence": order["fence"],
        "run_id": order["run_id"],
    }


def _of_role(own: OwnVariables) -> dict[str, t.Any]:
    ids, batch = own.setting("approve_ids", []), own.setting("ansible_play_batch", [])
    now = time.time()
    return {
        "ids": ids,
        "undrained_ids": [],
        "wait_ids": own.setting("approve_wait_ids", ids),
        "drained": own.setting("approve_drained", batch),
        "marks": [{"event": event, "hosts": batch, "at": now} for event in ids],
        "fence": None,
        "run_id": "",
    }


def _not_sent(own: OwnVariables) -> str:
    """In a run: why this host was not even marked in this round, or could not be asked to send."""
    failures = [found for name in (MARKED, SENT) if (found := own.registered(name) or {}).get("failed")]
    return str(failures[0].get("msg") or "The approval failed") if failures else ""


def take_marks_back(action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    """Remove the marks of approvals that nobody of this run has sent."""
    election = Election(constants.DEFAULT_LOCAL_TMP, prediction=bool(action._task.check_mode))
    return readings.ask_journal(action, {**request, "marks": election.not_sent(request["marks"])}, task_vars)


class RoleAction(ansible.DoesOneOf, ApproveAction):
    does = OPTIONS

    def _own_and_order(self, do: str, task_vars: dict[str, t.Any]) -> tuple[OwnVariables, ApproveOrder | None]:
        self.validate_argument_spec(argument_spec=OPTIONS[do])
        own = OwnVariables(self, task_vars)
        return own, order_of(own)

    def do_mark(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _own, order = self._own_and_order("mark", task_vars)
        if order is None:
            return dict(ansible.NOT_ORDERED)
        if order.is_alone:
            return {"changed": False, "skipped": True, "skip_reason": "The command that approves marks it as well"}
        self._task.args = order.mark_options()
        _unused, options = self.validate_argument_spec(argument_spec=MARK_OPTIONS)
        host = str(self._task.delegate_to or task_vars["inventory_hostname"])
        options["fence"] = readings.complete_fence(options, readings.ApiVersions(constants.DEFAULT_LOCAL_TMP, host))
        return readings.ask_journal(self, options, task_vars)

    def do_send(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _own, order = self._own_and_order("send", task_vars)
        if order is None:
            return dict(ansible.NOT_ORDERED)
        if order.fence:
            self.seconds = SECONDS_TO_SEND
        results = []
        defaults = self._task.args
        for arguments in order.parts():
            self._task.args = {**defaults, **arguments}
            results.append(self._sent(task_vars))
        return {"changed": any(one.get("changed") for one in results), "results": results}

    def _sent(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """What went wrong is told after the wait: an event that is not approved comes all the same."""
        try:
            return self.approve(task_vars, by_role=True)
        except AnsibleActionFail as failure:
            return {"failed": True, "msg": str(failure)}
        except AnsibleConnectionFailure as failure:
            return {"unreachable": True, "msg": str(failure)}

    def do_wait(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        own, order = self._own_and_order("wait", task_vars)
        if order is None:
            return dict(ansible.NOT_ORDERED)
        if order.fence:
            # A host that reboots, which is what is waited for, has to be told from one that hangs.
            self.after_silence = connection.seconds_to_connect(self)
            self.seconds = max(
                connection.seconds_of_a_reading(own.setting("maintenance_read_timeout")), self.after_silence
            )
        error = _not_sent(own) if own.is_ordered else ""
        if error:
            return {"changed": False, "over": False, "unsent": [*order.ids, *order.undrained_ids], "error": error}
        sent = ansible.plain((own.registered(SENT) or {}).get("results") or [])
        unsent = order.unsent(sent)
        if unsent:
            # What was written down for nothing: whoever comes next must not wait for it.
            request = {"path": order.journal, "state": "unmark", "marks": order.marks, "run_id": order.run_id}
            take_marks_back(self, request, task_vars)
        outcome = approval_outcome(sent, self._waited(order, unsent, task_vars), unsent)
        result = {**outcome, "changed": False}
        if outcome["error"]:
            result.update(failed=True, msg=outcome["error"])
        return result

    def _waited(self, order: ApproveOrder, unsent: list[str], task_vars: dict[str, t.Any]) -> dict[str, t.Any] | None:
        # Its name is known from the reading that brought us here, so that one request is saved.
        vm_name = vms.this_host_of(task_vars).get("vm_name")
        self._task.args = {**self._task.args, **order.wait_options(unsent, vm_name)}
        options = self.checked_wait({**wait_options(), **run_options()})
        if not options["event_ids"]:
            return None
        try:
            return self.wait(options, task_vars)
        except AnsibleError as error:
            # What the approvals came to is told all the same.
            return {"msg": str(error)}
