# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of lease."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils._host import lease as _lease
from ..plugin_utils._common.ansible import RunHasEnded, in_one_sentence, is_dead, this_run
from ..plugin_utils._common.options import lease_options
from ..plugin_utils._host import answers as _answers
from ..plugin_utils._host.answers import Unexpected, list_of
from ..plugin_utils._host.connection import HostHalf
from ..plugin_utils._host.windows import is_of_windows, is_windows, windows_path
from ..plugin_utils._lease.lease import NOTHING, READ, RENEW, TAKE, group_path

# A lease lasts 90 seconds, in which all its lock hosts are asked more than once, often one after the other.
SECONDS = 15.0
SECONDS_AFTER_SILENCE = 4.0
LEASE_FILE = HostHalf("_lease_file", _lease, _answers.LEASE, private=False)


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        options = self._checked_options()
        if options["do"] == NOTHING:
            return {"changed": False}
        request = {
            "path": group_path(options["path"], options["group"]),
            **{name: options[name] for name in ("do", "seconds", "notes", "forget")},
        }
        if options["do"] != READ:
            request["me"] = self._owner(options)
        return wrap_var(self._ask(request, task_vars or {}))

    def _checked_options(self) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=lease_options())
        if options["do"] not in (READ, NOTHING) and not (options["run_id"] or "").strip():
            raise AnsibleActionFail("run_id is empty: give a name for this run")
        if is_windows(self):
            options["path"] = windows_path(options["path"])
        if not options["path"].startswith("/") and not (is_windows(self) and is_of_windows(options["path"])):
            raise AnsibleActionFail(f"path must be an absolute path, not {options['path']}")
        if options["seconds"] < 1:
            raise AnsibleActionFail(f"seconds must be 1 or more, not {options['seconds']}")
        if options["do"] not in (TAKE, RENEW) and options["notes"]:
            raise AnsibleActionFail("notes are written with take and renew only, as that needs the lease")
        try:
            options["notes"] = list_of(_answers.NOTE)(options["notes"])
        except Unexpected as error:
            raise AnsibleActionFail(f"notes{error}") from None
        return options

    @staticmethod
    def _owner(options: dict[str, t.Any]) -> dict[str, t.Any]:
        try:
            return this_run(options["run_id"], options["note"])
        except RunHasEnded as error:
            raise AnsibleActionFail(str(error)) from None

    def _ask(self, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """One look at the lock host; a second one if the owner is seen to be dead."""
        result = _asked(self, request, task_vars)
        if request["do"] != TAKE or result.get("failed") or result["held"] or not result["holder"]:
            return result
        if not is_dead(result["holder"], request["me"]["controller"]):
            return result
        return _asked(self, {**request, "replace": result["holder"]}, task_vars)


def _asked(action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    return LEASE_FILE.run(action, request, task_vars, seconds=SECONDS, after_silence=SECONDS_AFTER_SILENCE)
