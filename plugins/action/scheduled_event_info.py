# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of scheduled_event_info."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils._azure import imds
from ..plugin_utils._azure import events as azure
from ..plugin_utils._common import ansible
from ..plugin_utils._common.options import info_options
from ..plugin_utils._host import readings, service


class ActionModule(service.ServiceAction):
    by_curl = True
    _supports_check_mode = True
    _requires_connection = True

    @ansible.in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        options = self.checked_options(info_options())
        query = self._checked_filters(options)
        try:
            answers = self.ask_host(options, task_vars)
        except service.HostFailed as failure:
            return wrap_var(failure.result)
        version = self.api_versions(task_vars).wanted(options)
        self._check_version_for_filters(version, options)
        everything = readings.status_told(answers, options["vm_name"])
        if options["affecting"] == "this_host" and everything["this_host"] is None and options["vm_name"] is None:
            raise AnsibleActionFail(f"{service.NAME_NOT_TOLD}, or read all events with affecting: any")
        status = azure.select(
            everything,
            affecting=options["affecting"],
            types=options["event_types"],
            statuses=options["event_statuses"],
            sources=options["event_sources"],
            within=options["within"],
        )
        result = {"changed": False, "api_version": version, **status}
        warnings = azure.warnings_about(status) + self.version_warnings(options, task_vars)
        if warnings:
            result["warnings"] = warnings
        if query:
            result["query_result"] = self._applied(query, status)
        # Text from the service is text: never a template. Before ansible-core 2.19 that has to be said.
        return wrap_var(result)

    @staticmethod
    def _check_version_for_filters(version: str, options: dict[str, t.Any]) -> None:
        complaint = azure.complaint_about_filters(version, options["event_types"], options["event_sources"])
        if complaint:
            raise AnsibleActionFail(complaint)

    @classmethod
    def _checked_filters(cls, options: dict[str, t.Any]) -> t.Callable[[t.Any], t.Any] | None:
        if options["within"] is not None and options["within"] < 0:
            raise AnsibleActionFail(f"within must not be negative: {options['within']}")
        if options["api_version"] != imds.AUTO:
            cls._check_version_for_filters(options["api_version"], options)
        if not options["query"]:
            return None
        try:
            return ansible.compile_query(options["query"])
        except ansible.BadQuery as error:
            raise AnsibleActionFail(str(error)) from None

    @staticmethod
    def _applied(query: t.Callable[[t.Any], t.Any], status: dict[str, t.Any]) -> t.Any:
        try:
            return query(status)
        except ansible.BadQuery as error:
            raise AnsibleActionFail(str(error)) from None
