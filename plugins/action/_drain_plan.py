# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of _drain_plan: checks the steps, opens the journal on the host, and does what it can at once."""

from __future__ import annotations

import time
import typing as t
import uuid
from collections.abc import Mapping

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils._host.journal import DEFAULT_PATH
from ..module_utils._host.options import fence_options, service_to_ask
from ..plugin_utils._approve.order import effects_seen
from ..plugin_utils._common.ansible import NOT_ORDERED, OwnVariables, in_one_sentence, plain
from ..plugin_utils._host.readings import ApiVersions, Documents, complete_fence, last_reading, reading_along
from ..plugin_utils._host.windows import is_windows, windows_path
from ..plugin_utils._steps.drain import HostPlan
from ..plugin_utils._steps.validate import BadSteps, Folders

OPTIONS = dict(
    direction=dict(type="str", choices=["drain", "restore"], required=True),
    steps_path=dict(type="list", elements="path", default=[]),
    events=dict(type="list", elements="dict", default=[]),
    health=dict(type="list", elements="raw", default=[]),
    journal=dict(type="path", default=DEFAULT_PATH),
    timeout=dict(type="int", default=600),
    reserve=dict(type="int", default=5),
    run_id=dict(type="str", default=""),
    seen=dict(type="dict"),
    fence=fence_options(),
    **service_to_ask(),
)

# The variables of each role, taken here: as an argument, each would be a template that is compiled for every host.
VARIABLES = {
    "drain": {
        "steps_path": "drain_steps_path",
        "events": "drain_events",
        "journal": "drain_journal",
        "timeout": "drain_timeout",
        "reserve": "drain_reserve",
        "run_id": "drain_run_id",
        "fence": "drain_fence",
        "endpoint": "maintenance_endpoint",
        "api_version": "maintenance_api_version",
    },
    "restore": {
        "steps_path": "drain_steps_path",
        "health": "restore_health",
        "journal": "drain_journal",
        "timeout": "restore_timeout",
        "run_id": "restore_run_id",
        "fence": "restore_fence",
        "seen": "restore_seen",
        "endpoint": "maintenance_endpoint",
        "api_version": "maintenance_api_version",
    },
}


def _is_due(order: Mapping[str, t.Any], approved: t.Any) -> bool:
    """Whether a host is returned to service now: not while its event is there."""
    over = isinstance(approved, Mapping) and bool(approved.get("over"))
    return bool(order["restore"]) and (not order["acts"] or over)


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        own = OwnVariables(self, task_vars or {})
        # Whether a run has told it to do so.
        self.ordered = False
        if not self._take_variables(own):
            return dict(NOT_ORDERED)
        options = self._checked_options()
        on_windows = is_windows(self)
        if on_windows:
            options["journal"] = windows_path(options["journal"])
        try:
            folders = Folders.found(options["steps_path"], self._loader.get_basedir(), own.host, on_windows)
            return wrap_var(self._planned(options, folders, own))
        except BadSteps as error:
            raise AnsibleActionFail(f"{own.host}: {error}") from None

    def _checked_options(self) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS)
        options.update(events=plain(options["events"]), seen=plain(options["seen"]))
        if options["timeout"] <= 0:
            raise AnsibleActionFail(f"timeout must be at least 1 second, not {options['timeout']}")
        options["run_id"] = options["run_id"] or str(uuid.uuid4())
        return t.cast("dict[str, t.Any]", options)

    def _planned(self, options: dict[str, t.Any], folders: Folders, own: OwnVariables) -> dict[str, t.Any]:
        fence = complete_fence(options, ApiVersions(constants.DEFAULT_LOCAL_TMP, own.host))
        # In a run, the host is read right after it. On Windows that would be one more call each time.
        look = fence["ask"] if fence and self.ordered and not folders.on_windows else None
        plan = HostPlan(self, own.task_vars, options, folders, fence, look)
        result = plan.drain() if options["direction"] == "drain" else plan.restore(self._effects(own))
        known = plain((own.registered("maintenance_status") or {}).get("this_host"))
        reading = reading_along(plan.looked, look, known, constants.DEFAULT_LOCAL_TMP) if look else None
        return {**result, "reading": reading} if reading else result

    @staticmethod
    def _effects(own: OwnVariables) -> dict[str, t.Any]:
        status = plain(last_reading(own.task_vars))
        if isinstance(status, dict) and (status.get("journal") or {}).get("marks"):
            status = Documents(constants.DEFAULT_LOCAL_TMP).whole(status, time.time())
        return effects_seen(plain(own.registered("approve_result")), status)

    def _take_variables(self, own: OwnVariables) -> bool:
        """What is not given as an argument is a variable of the role, or in the order that a run has for this host.

        Returns whether there is something to do: a run may have none for it.
        """
        role = str(self._task.args.get("direction"))
        order_in, ordered = own.setting(f"{role}_order_in", ""), {}
        if order_in:
            order = own.order(order_in)
            if order is None or not (role == "drain" or _is_due(order, own.registered("approve_result"))):
                return False
            self.ordered = True
            ordered = self._drain_ordered(order, own) if role == "drain" else self._return_ordered(order, own)
            ordered["run_id"] = order["run_id"]
        wanted = {option: name for option, name in VARIABLES.get(role, {}).items() if option not in ordered}
        for option, value in {**own.settings(wanted), **ordered}.items():
            # What is empty is not given: a fence without a word would be one of default values.
            if value not in ({}, None):
                self._task.args.setdefault(option, value)
        return True

    @staticmethod
    def _drain_ordered(order: dict[str, t.Any], own: OwnVariables) -> dict[str, t.Any]:
        events = own.registered("maintenance_status")["events"]
        return {"fence": order["fence"], "events": [event for event in events if event["id"] in order["events"]]}

    @staticmethod
    def _return_ordered(order: dict[str, t.Any], own: OwnVariables) -> dict[str, t.Any]:
        # The last that was seen of the journal.
        marked, status = own.registered("approve_mark") or {}, last_reading(own.task_vars) or {}
        return {"fence": order["restore_fence"], "seen": marked.get("journal") or status.get("journal") or {}}
