# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a machine on which drain steps are done for other hosts, such as a load balancer, for the playbook check."""

from __future__ import annotations

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._check.look import MachineAction, NoWay
from ..plugin_utils._check.report import Finding, about_way, bad
from ..plugin_utils._check.steps import about_needs, request_for
from ..plugin_utils._common.ansible import in_one_sentence, plain
from ..plugin_utils._common.options import check_machine_options


class ActionModule(MachineAction):
    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=check_machine_options())
        entries = plain(options["entries"])
        needs = {str(need): need for entry in entries for need in entry["needs"]}
        lock_hosts = [one for one in entries if any(need["is_recorded"] for need in one["needs"])]
        folders = list(dict.fromkeys(options["records"] or one["records"] for one in lock_hosts))
        where = str(self._task.delegate_to or (task_vars or {})["inventory_hostname"])
        findings: list[Finding] = []
        records = None
        try:
            way, found = self.look({"records": folders, **request_for(needs.values())}, task_vars or {})
            findings += [finding for finding in about_way(way) if finding.verdict != "good"]
            if found is not None:
                records = found["records"]
                findings += about_needs(needs.values(), found, where)
        except NoWay as error:
            findings.append(bad("way", "become", f"no command can be run: {error}", "Look at ansible_become there"))
        told = [finding.as_data() for finding in findings]
        kept = {"records": records, "keeps_records": bool(folders)}
        return wrap_var({"changed": False, "findings": told, **kept})
