# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of host_state."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.module_utils._service.imds import document_digest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import select, warnings_about
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.journals import ask_journal
from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.curl import CurlHost
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.service_action import HostFailed, ServiceAction
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.shell_programs import (
    NO_JOURNAL,
    TELL_CLOCK,
    probe,
    told_clock,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._options import state_options

NO_CLOCK: dict[str, t.Any] = {"boot_id": None, "seconds": None}


class ActionModule(ServiceAction):
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        options = self.checked_options(state_options())
        if options["keep"]:
            # A task that is skipped would put its result in the place of the reading.
            return wrap_var(plain(task_vars.get("maintenance_status") or {"changed": False}))
        # The clock first: what is read after it is never taken for newer than it is.
        curl = CurlHost(self, before=TELL_CLOCK + probe(options["journal"]))
        clock: dict[str, t.Any] | None = None
        try:
            answers = self._answers(options, task_vars, curl)
            clock = answers.get("clock")
            result = self._reading(answers, options, task_vars)
        except HostFailed as failure:
            result = failure.result
        except AnsibleActionFail as failure:
            result = {"failed": True, "msg": str(failure)}
        journal: dict[str, t.Any] = {"journal": None}
        if NO_JOURNAL not in curl.said:
            journal = ask_journal(self, {"path": options["journal"], "state": "read"}, task_vars)
        result["journal"] = journal.get("journal")
        result["journal_problem"] = journal["msg"] if journal.get("failed") else ""
        result["host_clock"] = told_clock(curl.said) or clock or journal.get("clock") or NO_CLOCK
        return wrap_var(result)

    def _answers(self, options: dict[str, t.Any], task_vars: dict[str, t.Any], curl: CurlHost) -> dict[str, t.Any]:
        if _known(options):
            return self.ask_host(options, task_vars, curl, with_instance=False)
        return self.ask_host(options, task_vars, curl)

    def _reading(
        self, answers: dict[str, t.Any], options: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        known = _known(options)
        everything = self.understand(answers, str(known["vm_name"]) if known else options["vm_name"])
        status = select(everything, affecting="any")
        if known:
            status["this_host"] = known
        version = self.api_versions(task_vars).wanted(options)
        warnings = warnings_about(status) + self.version_warnings(options, task_vars)
        digest = document_digest(answers["events"]["body"])
        more = {"warnings": warnings} if warnings else {}
        return {"changed": False, "api_version": version, **status, "document_sha256": digest, **more}


def _known(options: dict[str, t.Any]) -> dict[str, t.Any] | None:
    """Who the VM is, as it has told before, if that says its name."""
    known = plain(options["this_host"]) or {}
    return known if known.get("vm_name") else None
