# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of drain_journal."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.module_utils._drain.options import journal_options
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.elect import Election
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.journals import ask_journal, complete_fence
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.api_versions import ApiVersions


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        _unused, options = self.validate_argument_spec(argument_spec=journal_options())
        host = str(self._task.delegate_to or task_vars["inventory_hostname"])
        options["fence"] = complete_fence(options, ApiVersions(constants.DEFAULT_LOCAL_TMP, host))
        if options["state"] == "unmark":
            election = Election(constants.DEFAULT_LOCAL_TMP, prediction=bool(self._task.check_mode))
            options["marks"] = election.not_sent(options["marks"])
        return wrap_var(ask_journal(self, options, task_vars))
