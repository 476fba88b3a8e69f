# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `lease`, which asks one lock host, and `_lease`, for several lock hosts together."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ...module_utils._host import lease as _lease
from .._common import ansible, text
from .._common.options import lease_options, lock_options
from .._common.store import RunStore
from .._host import answers as _answers
from .._host import connection
from .._host.windows import is_of_windows, is_windows, windows_path
from .lease import (
    READ,
    SIGNS_OF_WINDOWS,
    TAKE,
    Refusal,
    group_path,
    lease_groups,
    verdict,
    windows_hosts,
)

OPTIONS = lock_options()
# A lease lasts 90 seconds, in which all its lock hosts are asked more than once, often one after the other.
SECONDS = 15.0
SECONDS_AFTER_SILENCE = 4.0
LEASE_FILE = connection.HostHalf("lease", _lease, _answers.LEASE, private=False)


class LeaseAction(ActionBase):
    def lease(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=lease_options())
        return self._held_there(options, task_vars)

    def _held_there(
        self,
        options: dict[str, t.Any],
        task_vars: dict[str, t.Any],
        notes: list[t.Any] | None = None,
        forget: list[str] | None = None,
    ) -> dict[str, t.Any]:
        """Ask one lock host. What a run tells it about its hosts are `notes`, and the hosts to `forget`."""
        self._check(options)
        request = {
            "path": group_path(options["path"], options["group"]),
            "do": options["do"],
            "seconds": options["seconds"],
            "notes": notes or [],
            "forget": forget or [],
        }
        if options["do"] != READ:
            request["me"] = self._owner(options)
        return self._ask(request, task_vars)

    def _check(self, options: dict[str, t.Any]) -> None:
        if options["do"] != READ and not (options["run_id"] or "").strip():
            raise AnsibleActionFail("run_id is empty: give a name for this run")
        if is_windows(self):
            options["path"] = windows_path(options["path"])
        if not options["path"].startswith("/") and not (is_windows(self) and is_of_windows(options["path"])):
            raise AnsibleActionFail(f"path must be an absolute path, not {options['path']}")
        if options["seconds"] < 1:
            raise AnsibleActionFail(f"seconds must be 1 or more, not {options['seconds']}")

    @staticmethod
    def _owner(options: dict[str, t.Any]) -> dict[str, t.Any]:
        try:
            return ansible.this_run(options["run_id"], options["note"])
        except ansible.RunHasEnded as error:
            raise AnsibleActionFail(str(error)) from None

    def _ask(self, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """One look at the lock host; a second one if the owner is seen to be dead."""
        result = _asked(self, request, task_vars)
        if request["do"] != TAKE or result.get("failed") or result["held"] or not result["holder"]:
            return result
        if not ansible.is_dead(result["holder"], request["me"]["controller"]):
            return result
        return _asked(self, {**request, "replace": result["holder"]}, task_vars)


def _asked(action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    return LEASE_FILE.run(action, request, task_vars, seconds=SECONDS, after_silence=SECONDS_AFTER_SILENCE)


class LocksAction(ansible.DoesOneOf, LeaseAction):
    does = OPTIONS

    def do_ask(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["ask"])
        if not options["asked"]:
            return {"changed": False}
        known = RunStore(constants.DEFAULT_LOCAL_TMP).head
        terms = known["lease_terms"][options["group"]] if options["with_notes"] else {}
        asked = {name: options[name] for name in ("group", "path", "seconds", "note")}
        return self._held_there({"do": options["asked"], "run_id": known["run_id"], **asked}, task_vars, **terms)

    def do_lock_hosts(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["lock_hosts"])
        hostvars = task_vars["hostvars"]
        known = [host for host in options["hosts"] if host in hostvars]
        windows = windows_hosts(text.needed_vars(known, hostvars, (), texts=SIGNS_OF_WINDOWS))
        lock_hosts = lease_groups(dict.fromkeys(options["hosts"], ""), options["lock_hosts"], windows).get("", [])
        if not lock_hosts:
            raise AnsibleActionFail("There is no host that could keep the lease: see maintenance_lock_hosts")
        return {"changed": False, "lock_hosts": lock_hosts}

    def do_verdict(self, _task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["verdict"])
        try:
            results = {str(result[result["ansible_loop_var"]]): result for result in options["results"]}
            found = verdict(
                options["group"],
                options["lock_hosts"],
                results,
                options["asked"],
                now=time.time(),
                refused_before=_refusals_in(options["refused_before"]),
            )
        except KeyError:
            raise AnsibleActionFail(
                "results must be those of maintenance.azure.lease in a loop over lock hosts"
            ) from None
        except ValueError as error:
            raise AnsibleActionFail(f"This is no lease: {error}") from None
        told = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
        lists = {
            "notes": list(map(dict, found.notes)),
            "unread_lock_hosts": list(found.unread_lock_hosts),
            "refused_by": list(found.refused_by),
        }
        return {"changed": False, **told, **lists}


def _refusals_in(option: t.Mapping[str, t.Any]) -> dict[str, Refusal]:
    try:
        return {
            str(lock_host): {"since": float(one["since"]), "last": float(one["last"])}
            for lock_host, one in option.items()
        }
    except (KeyError, TypeError):
        raise ValueError("refused_before must be the refusals of the verdict before this one") from None
