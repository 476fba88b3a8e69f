# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of run_lock."""

from __future__ import annotations

import math
import time
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.module_utils._lock import lock_file as _lock_file
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import shapes
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.host_half import HostHalf
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.owner import (
    RunHasEnded,
    in_words,
    is_dead,
    this_run,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._options import lock_options

LOCK_FILE = HostHalf("lock_file", _lock_file, shapes.LOCK, private=False)
# Soon at first: one who gives a lock back does so on one keeper after the other.
SECONDS_BETWEEN_LOOKS = (0.5, 1, 2, 5)


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        options = self._checked_options()
        looks = iter(SECONDS_BETWEEN_LOOKS)
        waited = 0.0
        deadline = time.monotonic() + (0 if self._task.check_mode else options["wait"])
        while True:
            asked = time.time()
            result = self._ask(options, self._owner(options), task_vars or {})
            left = deadline - time.monotonic()
            if result.get("failed") or result["held"] or options["state"] == "absent" or left <= 0:
                break
            pause = next(looks, SECONDS_BETWEEN_LOOKS[-1])
            if not waited:
                where = self._task.delegate_to or (task_vars or {}).get("inventory_hostname")
                Display().display(f"[{where}] waiting for {in_words(result['holder'])}")
            pause = min(left, pause, max(0.5, result["holder"]["seconds_left"]))
            time.sleep(pause)
            waited += pause
        result["waited"] = int(waited)
        if result.get("held"):
            # From before it was asked for, and rounded down: never later than by the keeper's own count.
            result["good_until"] = _text_of(asked + options["expires"])
        elif options["state"] == "present" and not result.get("failed"):
            result.update(
                failed=True,
                msg=f"{options['path']} is held by {in_words(result['holder'])}."
                " Wait until that run has ended, or have this task wait for it with the option wait",
            )
        return wrap_var(result)

    def _checked_options(self) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=lock_options())
        if not options["run_id"].strip():
            raise AnsibleActionFail("run_id is empty: give a name for this run")
        if not options["path"].startswith("/"):
            raise AnsibleActionFail(f"path must be an absolute path, not {options['path']}")
        if options["expires"] < 1:
            raise AnsibleActionFail(f"expires must be at least 1 second, not {options['expires']}")
        if options["wait"] < 0:
            raise AnsibleActionFail(f"wait must be 0 or more seconds, not {options['wait']}")
        return options

    @staticmethod
    def _owner(options: dict[str, t.Any]) -> dict[str, t.Any]:
        try:
            return this_run(options["run_id"], options["owner"])
        except RunHasEnded as error:
            raise AnsibleActionFail(str(error)) from None

    def _ask(self, options: dict[str, t.Any], me: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """One look at the keeper; a second one if the owner is seen to be dead."""
        request = {name: options[name] for name in ("path", "state", "expires")}
        result = LOCK_FILE.run(self, {**request, "me": me}, task_vars)
        if result.get("failed") or result["held"] or options["state"] == "absent":
            return result
        if not is_dead(result["holder"], me["controller"]):
            return result
        dead = {name: value for name, value in result["holder"].items() if name != "seconds_left"}
        return LOCK_FILE.run(self, {**request, "me": me, "replace": dead}, task_vars)


def _text_of(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(math.floor(seconds)))
