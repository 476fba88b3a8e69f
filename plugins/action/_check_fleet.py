# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts together what the playbook check saw on all hosts, and writes it down where that is wanted."""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

import yaml
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._azure.vms import IDENTITY_VARIABLES
from ..plugin_utils._check.fleet import Asked, check_all
from ..plugin_utils._check.rehearsal import NOTICE, RehearsalSettings
from ..plugin_utils._check.report import Hidden, lines_of, make_check_report, summary_of
from ..plugin_utils._common.ansible import in_one_sentence, plain
from ..plugin_utils._common.options import check_fleet_options
from ..plugin_utils._common.text import host_names, iso_time, needed_vars
from ..plugin_utils._host.readings import names_of_inventory

# What check_host has registered.
RESULT = "__check_host"
# What clusters told about nodes.
NODES = "__check_nodes"
VARIABLES = (
    "maintenance_delivery_group",
    "maintenance_domain",
    "maintenance_service",
    "maintenance_status",
    *IDENTITY_VARIABLES,
)
# The playbook that brings the policy along, for who has none of his own.
RUN = Path(__file__).resolve().parents[2] / "playbooks" / "drain_then_approve.yml"


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=check_fleet_options())
        hostvars = (task_vars or {})["hostvars"]
        try:
            hosts = host_names(options["hosts"])
            known = plain(needed_vars(hosts, hostvars, (), texts=(RESULT, NODES, *VARIABLES)))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        policy = options["policy"] if options["policy"] is not None else default_policy()
        checked = check_all(
            seen={host: known[host].pop(RESULT, None) for host in hosts},
            nodes={host: known[host].pop(NODES, None) for host in hosts},
            variables=known,
            machines=plain(options["machines"]),
            leases=plain(options["leases"]),
            known=[str(host) for host in hostvars],
            settings=RehearsalSettings(plain(policy), options["max_at_once"], options["min_in_service"]),
            asked=Asked(options["asked_service"], options["asked_facts"]),
            not_before=iso_time(time.time() + NOTICE),
            names=lambda: names_of_inventory(hostvars),
        )
        scrubber = self._hidden(task_vars or {}, [*hosts, *_others(options)]).scrubber()
        report = make_check_report(checked.by_host, checked.fleet, checked.not_looked_at, scrubber)
        if options["report"] and not self._task.check_mode:
            _write(Path(options["report"]).expanduser().absolute(), report)
        told = {"verdict": report["verdict"], "summary": summary_of(report), "lines": lines_of(report)}
        return wrap_var({"changed": False, "report": report, **told})

    def _hidden(self, task_vars: dict[str, t.Any], hosts: list[str]) -> Hidden:
        hidden, hostvars = Hidden(), task_vars["hostvars"]
        # What plays and the command line say is here, too.
        hidden.add(task_vars, self._templar.template)
        for host in hosts:
            if host in hostvars:
                variables = hostvars.raw_get(host)
                templar = self._templar.copy_with_new_env(available_variables={**variables, "hostvars": hostvars})
                hidden.add(variables, templar.template)
        return hidden


def default_policy() -> t.Any:
    for part in yaml.safe_load(RUN.read_text(encoding="utf-8")):
        if "maintenance_default_policy" in part.get("vars", {}):
            return part["vars"]["maintenance_default_policy"]
    raise AnsibleActionFail(f"{RUN} brings no maintenance_default_policy along")


def _others(options: dict[str, t.Any]) -> list[str]:
    """The machines that were looked at for others."""
    names = [one.get("__check_machine") for one in options["machines"]]
    names += [(one.get("__check_call") or {}).get("lock_host") for one in options["leases"]]
    return list(dict.fromkeys(str(name) for name in names if name))


def _write(path: Path, report: dict[str, t.Any]) -> None:
    """In one step: somebody may be looking at the old one."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise AnsibleActionFail(
            f"What was found can't be written: {error}. Name a file in check_report that may be written"
        ) from None
