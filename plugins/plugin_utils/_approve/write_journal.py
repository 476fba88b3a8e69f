# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The task that reads or writes a journal. What was sent stays in it: so it knows what became of the approvals."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.maintenance.azure.plugins.module_utils._host.options import journal_options
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.elect import Election
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.readings import (
    ApiVersions,
    ask_journal,
    complete_fence,
)


def write_journal(action: ActionBase, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    """The result of drain_journal for the arguments of the task."""
    _unused, options = action.validate_argument_spec(argument_spec=journal_options())
    host = str(action._task.delegate_to or task_vars["inventory_hostname"])
    options["fence"] = complete_fence(options, ApiVersions(constants.DEFAULT_LOCAL_TMP, host))
    if options["state"] == "unmark":
        return take_marks_back(action, options, task_vars)
    return ask_journal(action, options, task_vars)


def take_marks_back(action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    """Of the marks, those of approvals that nobody of this run has sent."""
    election = Election(constants.DEFAULT_LOCAL_TMP, prediction=bool(action._task.check_mode))
    return ask_journal(action, {**request, "marks": election.not_sent(request["marks"])}, task_vars)
