# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller halves of all modules share: check the options, ask the host, understand the answer."""

from __future__ import annotations

import time
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import check_endpoint
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import AUTO
from ansible_collections.maintenance.azure.plugins.module_utils._host import approval_command as _approval_command
from ansible_collections.maintenance.azure.plugins.module_utils._host import exchange as _exchange
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import warning_about_version
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import shapes
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.api_versions import ApiVersions
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.curl import CurlHost, run_by_curl
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.host_half import HostHalf
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.shell_programs import leave_mark, renewal
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.silence import (
    SECONDS_AFTER_SILENCE,
    SECONDS_OF_A_COMMAND,
    patience_within,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.status_told import endpoint_of

EXCHANGE = HostHalf("_service_exchange", _exchange, shapes.EXCHANGE, private=False)
ONLY_FOR_MARKS = (_approval_command.__name__,)
NAME_NOT_TOLD = (
    "The instance metadata does not tell this VM's name, so it is not known which events name it: give vm_name"
)


class HostFailed(Exception):
    """The host half did not answer, or not as it should. `result` says why."""

    def __init__(self, result: dict[str, t.Any]) -> None:
        super().__init__(result.get("msg", ""))
        self.result = result


class ServiceAction(ActionBase):
    """Base of the actions that talk to the metadata service of a host.

    `seconds` is how long one command may take in all, in a run. Else it waits for the service as long as was asked for.
    `after_silence` is that time for a host that has been silent before.
    """

    seconds: float | None = None
    after_silence: float = SECONDS_AFTER_SILENCE

    def checked_options(self, argument_spec: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=argument_spec)
        self.check_seconds(options, "timeout")
        if options["endpoint"] != "auto":
            try:
                options["endpoint"] = check_endpoint(options["endpoint"])
            except ValueError as error:
                raise AnsibleActionFail(str(error)) from None
        if options["vm_name"] is not None and not options["vm_name"].strip():
            raise AnsibleActionFail("vm_name is empty: leave it out, or give the name that events use for this VM")
        return options

    @staticmethod
    def check_seconds(options: dict[str, t.Any], name: str) -> None:
        if options[name] <= 0:
            raise AnsibleActionFail(f"{name} must be at least 1 second, not {options[name]}")

    @staticmethod
    def check_ids(options: dict[str, t.Any]) -> None:
        if any(not event_id.strip() for event_id in options["event_ids"] or ()):
            raise AnsibleActionFail("event_ids holds an empty id")

    def ask_host(
        self, options: dict[str, t.Any], task_vars: dict[str, t.Any], curl: CurlHost | None = None, **more: t.Any
    ) -> dict[str, t.Any]:
        """Run the host half and return the service's answers as they came."""
        versions = self.api_versions(task_vars)
        request = {
            "endpoints": [options["endpoint"]],
            "api_version": versions.wanted(options),
            "with_instance": options["vm_name"] is None,
            "timeout": min(options["timeout"], patience_within(self.seconds)) if self.seconds else options["timeout"],
            **more,
        }
        marks = bool((request.get("approval") or {}).get("marking"))
        by_curl = True
        if request.get("renewal"):
            program = renewal(**request["renewal"])
            by_curl = bool(program)
            curl = CurlHost(self, before=program + (leave_mark(**request["mark"]) if request.get("mark") else ""))
        result = EXCHANGE.run(
            self,
            request,
            task_vars,
            unused=() if marks else ONLY_FOR_MARKS,
            first=(lambda: run_by_curl(self, request, curl)) if by_curl else None,
            seconds=self.seconds or options["timeout"] + SECONDS_OF_A_COMMAND,
            after_silence=self.after_silence,
        )
        if result.get("failed"):
            raise HostFailed(result)
        answers = result["answers"]
        # When something was heard, the controller says: a host whose clock is ahead would have the last word.
        answers["heard_at"] = time.time()
        answers["endpoint"] = endpoint_of(answers["endpoint"], options["endpoint"])
        versions.learn(options, answers)
        return t.cast("dict[str, t.Any]", answers)

    def api_versions(self, task_vars: dict[str, t.Any]) -> ApiVersions:
        host = str(self._task.delegate_to or task_vars["inventory_hostname"])
        return ApiVersions(constants.DEFAULT_LOCAL_TMP, host)

    def version_warnings(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> list[str]:
        """Event types that nobody sees here, where the user has left the version to us."""
        if options["api_version"] != AUTO:
            return []
        warning = warning_about_version(self.api_versions(task_vars).wanted(options))
        return [warning] if warning else []
