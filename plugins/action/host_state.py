# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of host_state."""

from __future__ import annotations

import shlex
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.module_utils._drain import journal_order as _journal_order
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import select, warnings_about
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import shapes
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.curl import CurlHost
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.host_half import HostHalf
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.service_action import HostFailed, ServiceAction
from ansible_collections.maintenance.azure.plugins.plugin_utils._options import state_options

JOURNAL = HostHalf("drain_journal", _journal_order, shapes.JOURNAL, private=True)
NO_JOURNAL = "--maintenance.azure no journal--"


def probe(path: str) -> str:
    """A program for the shell that says so where it is certain that there is no journal, as nearly always.

    It is certain if nothing has that name and the nearest folder above it that is there can be searched.
    """
    if not path.startswith("/") or "$" in path:
        return ""
    return f"""p={shlex.quote(path)}
d=$p
while d=${{d%/*}}; [ -n "$d" ] && [ ! -e "$d" ]; do :; done
[ -e "$p" ] || [ -L "$p" ] || {{ [ -d "${{d:-/}}" ] && [ -x "${{d:-/}}" ] && echo '{NO_JOURNAL}'; }}
"""


class ActionModule(ServiceAction):
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        options = self.checked_options(state_options())
        curl = CurlHost(self, before=probe(options["journal"]))
        try:
            result = self._reading(options, task_vars, curl)
        except HostFailed as failure:
            result = failure.result
        except AnsibleActionFail as failure:
            result = {"failed": True, "msg": str(failure)}
        journal: dict[str, t.Any] = {"journal": None}
        if NO_JOURNAL not in curl.said:
            journal = JOURNAL.run(self, {"path": options["journal"], "state": "read"}, task_vars)
        result["journal"] = journal.get("journal")
        result["journal_problem"] = journal["msg"] if journal.get("failed") else ""
        return wrap_var(result)

    def _reading(self, options: dict[str, t.Any], task_vars: dict[str, t.Any], curl: CurlHost) -> dict[str, t.Any]:
        everything = self.understand(self.ask_host(options, task_vars, curl), options["vm_name"])
        status = select(everything, affecting="any")
        version = self.api_versions(task_vars).wanted(options)
        warnings = warnings_about(status) + self.version_warnings(options, task_vars)
        return {"changed": False, "api_version": version, **status, **({"warnings": warnings} if warnings else {})}
