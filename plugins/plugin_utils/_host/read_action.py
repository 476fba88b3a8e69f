# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `_read`: a host's events, journal and clock in one task, and the records on another machine."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail

from ...module_utils._host import run_mark
from ...module_utils._steps import records as _records
from .._azure import events as azure
from .._common import ansible
from .._common.options import read_options
from . import answers as _answers
from . import connection, readings, service

SETTINGS = {"endpoint": "maintenance_endpoint", "api_version": "maintenance_api_version", "journal": "drain_journal"}
MARKED_BESIDE = {"status_file": "watch_status_file"}
NO_CLOCK: dict[str, t.Any] = {"boot_id": None, "seconds": None}
RECORDS = connection.HostHalf("records", _records, _answers.RECORDS, private=False)
OPTIONS = read_options()


class ReadAction(ansible.DoesOneOf, service.ServiceAction):
    does = OPTIONS

    def do_records(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["records"])
        return RECORDS.run(self, options, task_vars)

    def do_hosts(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        own = ansible.OwnVariables(self, task_vars)
        other = self._task.args.get("of")
        # What another host has set, its variables tell as they are.
        found = _settings_of(task_vars["hostvars"][other]) if other else own.settings({**SETTINGS, **MARKED_BESIDE})
        status_file = str(found.pop("status_file", None) or run_mark.STATUS_FILE)
        for option, value in found.items():
            self._task.args.setdefault(option, value)
        options = self.checked_options(OPTIONS["hosts"])
        reads = own.setting(options["reads_in"], "") if options["reads_in"] else ""
        mark: dict[str, t.Any] = {}
        if other:
            known = task_vars["hostvars"].raw_get(other).get("maintenance_status") or {}
            options["this_host"] = known.get("this_host")
            if not self._task.check_mode:
                mark = {"path": run_mark.path_beside(status_file), "run_id": own.run()["run_id"]}
        if reads:
            run = own.run()
            if not own.listed(reads) or own.host in run["taken_away"]:
                # A task that is skipped would put its result in the place of the reading.
                return t.cast("dict[str, t.Any]", own.registered("maintenance_status") or {"changed": False})
            if run["has_read"]:
                # Who the VM is, it has said before in this run. What an inventory or a fact cache says does not count.
                options["this_host"] = (own.registered("maintenance_status") or {}).get("this_host")
            if not self._task.check_mode:
                # Where a watcher has reflexes, a run that looks comes first from here on.
                mark = {"path": run_mark.path_beside(status_file), "run_id": run["run_id"]}
        self.seconds = connection.seconds_of_a_reading(own.setting("maintenance_read_timeout"))
        # One time for all of it: others wait for this host.
        with connection.answering_within(self, task_vars, self.seconds):
            return self._read(options, task_vars, mark)

    def _read(self, options: dict[str, t.Any], task_vars: dict[str, t.Any], mark: dict[str, t.Any]) -> dict[str, t.Any]:
        more: dict[str, t.Any] = {"mark": mark} if mark else {}
        if _known(options):
            more["with_instance"] = False
        found, answers = self.look_at_host(options, task_vars, **more)
        try:
            result = self._reading(answers(), options, task_vars)
        except service.HostFailed as failure:
            result = failure.result
        except AnsibleActionFail as failure:
            result = {"failed": True, "msg": str(failure)}
        journal = found.get("kept") or {}
        result["journal"] = journal.get("journal")
        result["journal_problem"] = journal["msg"] if journal.get("failed") else ""
        result["host_clock"] = found.get("clock") or NO_CLOCK
        result["run_mark"] = found.get("run_mark")
        return result

    def _reading(
        self, answers: dict[str, t.Any], options: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        status = readings.status_told_in_a_run(
            answers, _known(options), options["vm_name"], readings.Documents(constants.DEFAULT_LOCAL_TMP)
        )
        version = self.api_versions(task_vars).wanted(options)
        warnings = azure.warnings_about(status) + self.version_warnings(options, task_vars)
        more = {"warnings": warnings} if warnings else {}
        return {"changed": False, "api_version": version, **status, **more}


def _settings_of(variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    found = {option: ansible.plain(variables.get(name)) for option, name in {**SETTINGS, **MARKED_BESIDE}.items()}
    return {option: value for option, value in found.items() if value is not None}


def _known(options: dict[str, t.Any]) -> dict[str, t.Any] | None:
    """Who the VM is, as it has told before, if that says its name."""
    known = ansible.plain(options["this_host"]) or {}
    return known if known.get("vm_name") else None
