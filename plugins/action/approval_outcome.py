# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of approval_outcome: waits as scheduled_event_wait does, and tells what all came to."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.errors import AnsibleError
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.elect import Election
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.outcome import approval_outcome
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.wait_action import WaitAction
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.journals import ask_journal
from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._options import approval_outcome_options


class ActionModule(WaitAction):
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        options = self.checked_wait(approval_outcome_options())
        self._take_marks_back(options, task_vars or {})
        outcome = approval_outcome(options["sent"], self._waited(options, task_vars or {}), options["unsent"])
        result = {**outcome, "changed": False}
        if outcome["error"]:
            result.update(failed=True, msg=outcome["error"])
        return wrap_var(result)

    def _take_marks_back(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> None:
        """What was written down for nothing: whoever comes next must not wait for it."""
        if not options["unsent"] or not options["marks"] or not options["journal"]:
            return
        election = Election(constants.DEFAULT_LOCAL_TMP, prediction=bool(self._task.check_mode))
        marks = election.not_sent(plain(options["marks"]))
        request = {"path": options["journal"], "state": "unmark", "marks": marks, "run_id": options["run_id"]}
        ask_journal(self, request, task_vars)

    def _waited(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any] | None:
        if not options["event_ids"]:
            return None
        try:
            return self.wait(options, task_vars)
        except AnsibleError as error:
            # What the approvals came to is told all the same.
            return {"msg": str(error)}
