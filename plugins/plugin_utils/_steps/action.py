# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `_drain`: drain a host, return it to service, or do one step of either."""

from __future__ import annotations

import time
import typing as t
import uuid
from collections.abc import Mapping

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure

from .._azure import events as azure
from .._common import ansible
from .._common.ansible import OwnVariables
from .._common.options import drain_options
from .._host import readings, windows
from . import validate
from .commands import StepOrders
from .drain import HostPlan

OPTIONS = drain_options()

# The variables of each role, taken here: as an argument, each would be a template that is compiled for every host.
VARIABLES = {
    "drain": {
        "steps_path": "drain_steps_path",
        "events": "drain_events",
        "journal": "drain_journal",
        "timeout": "drain_timeout",
        "reserve": "drain_reserve",
        "endpoint": "maintenance_endpoint",
        "api_version": "maintenance_api_version",
    },
    "restore": {
        "steps_path": "drain_steps_path",
        "health": "restore_health",
        "journal": "drain_journal",
        "timeout": "restore_timeout",
        "endpoint": "maintenance_endpoint",
        "api_version": "maintenance_api_version",
    },
}


def _is_due(order: Mapping[str, t.Any], approved: t.Any) -> bool:
    """Whether a host is returned to service now: not while its event is there."""
    over = isinstance(approved, Mapping) and bool(approved.get("over"))
    return bool(order["restore"]) and (not order["acts"] or over)


def _drain_ordered(order: dict[str, t.Any], own: OwnVariables) -> dict[str, t.Any]:
    events = readings.last_reading(own.task_vars)["events"]
    return {"fence": order["fence"], "events": [event for event in events if event["id"] in order["events"]]}


def _journal_seen(own: OwnVariables) -> dict[str, t.Any]:
    """The journal as the role approve or a reading has last seen it, which the host compares."""
    for seen in (own.registered("approve_mark"), readings.last_reading(own.task_vars)):
        journal = seen.get("journal") if isinstance(seen, Mapping) else None
        if isinstance(journal, Mapping) and journal:
            return dict(journal)
    return {}


class DrainAction(ansible.DoesOneOf):
    does = OPTIONS

    def do_drain(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        return self._done("drain", task_vars)

    def do_restore(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        return self._done("restore", task_vars)

    def do_step(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["step"])
        orders = StepOrders(self, options["plan"], task_vars)
        item = next(one for one in orders.plan["work"] if one["position"] == options["position"])
        try:
            return orders.one(item, options)
        except AnsibleConnectionFailure as error:
            if not self._task.delegate_to:
                raise
            # It would count as done where a play ignores hosts that are unreachable, and those of a run do.
            raise AnsibleActionFail(f"on {self._task.delegate_to}, which can't be reached: {error}") from None

    def _done(self, direction: str, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        own = OwnVariables(self, task_vars)
        # Whether a run has told it to do so.
        self.ordered = False
        if not self._take_variables(direction, own):
            return dict(ansible.NOT_ORDERED)
        options = self._checked_options(direction)
        on_windows = windows.is_windows(self)
        if on_windows:
            options["journal"] = windows.windows_path(options["journal"])
        try:
            folders = validate.Folders.found(options["steps_path"], self._loader.get_basedir(), own.host, on_windows)
            return self._planned(options, folders, own)
        except validate.BadSteps as error:
            raise AnsibleActionFail(f"{own.host}: {error}") from None

    def _checked_options(self, direction: str) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS[direction])
        options["direction"] = direction
        options.update({name: ansible.plain(options[name]) for name in ("events", "seen") if name in options})
        if options["timeout"] <= 0:
            raise AnsibleActionFail(f"timeout must be at least 1 second, not {options['timeout']}")
        options["run_id"] = options["run_id"] or str(uuid.uuid4())
        return t.cast("dict[str, t.Any]", options)

    def _planned(self, options: dict[str, t.Any], folders: validate.Folders, own: OwnVariables) -> dict[str, t.Any]:
        fence = readings.complete_fence(options, readings.ApiVersions(constants.DEFAULT_LOCAL_TMP, own.host))
        # In a run, the host is read right after it. On Windows that would be one more call each time.
        look = fence["ask"] if fence and self.ordered and not folders.on_windows else None
        plan = HostPlan(self, own.task_vars, options, folders, fence, look)
        result = plan.drain() if options["direction"] == "drain" else plan.restore(self._effects(own))
        known = ansible.plain((own.registered("maintenance_status") or {}).get("this_host"))
        reading = readings.reading_along(plan.looked, look, known, constants.DEFAULT_LOCAL_TMP) if look else None
        return {**result, "reading": reading} if reading else result

    @staticmethod
    def _effects(own: OwnVariables) -> dict[str, t.Any]:
        status = ansible.plain(readings.last_reading(own.task_vars))
        if isinstance(status, dict) and (status.get("journal") or {}).get("marks"):
            status = readings.Documents(constants.DEFAULT_LOCAL_TMP).whole(status, time.time())
        return azure.effects_seen(ansible.plain(own.registered("approve_result")), status)

    def _take_variables(self, role: str, own: OwnVariables) -> bool:
        """What is not given as an argument is a variable of the role, or in the order that a run has for this host.

        Returns whether there is something to do: a run may have none for it.
        """
        ordered: dict[str, t.Any] = {} if role == "drain" else {"seen": _journal_seen(own)}
        if own.is_ordered:
            order = own.order()
            if order is None or not (role == "drain" or _is_due(order, own.registered("approve_result"))):
                return False
            self.ordered = True
            ordered.update(_drain_ordered(order, own) if role == "drain" else {"fence": order["restore_fence"]})
            ordered["run_id"] = order["run_id"]
        wanted = {option: name for option, name in VARIABLES[role].items() if option not in ordered}
        for option, value in {**own.settings(wanted), **ordered}.items():
            # What is empty is not given: a fence without a word would be one of default values.
            if value not in ({}, None):
                self._task.args.setdefault(option, value)
        return True
