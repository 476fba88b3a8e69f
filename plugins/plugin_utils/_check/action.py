# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `_check`: look at a host or at a machine, choose the lock hosts to ask, put together the report."""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

import yaml
from ansible.errors import AnsibleActionFail

from ...module_utils._azure import http
from .._azure import vms
from .._common import ansible
from .._common.options import check_options
from .._common.text import host_names, iso_time, needed_vars
from .._host import connection, readings, windows
from .._host.service import HostFailed
from .._lease import lease
from . import service as _service
from .facts import judged
from .fleet import Asked, check_all
from .look import HOST_HALF, MachineAction, NoWay
from .rehearsal import NOTICE, RehearsalSettings
from .report import (
    Finding,
    Hidden,
    about_journal_folder,
    about_way,
    bad,
    doubtful,
    lines_of,
    make_check_report,
    summary_of,
)
from .service import Answers
from .steps import about_needs, request_for, steps_of_host

OPTIONS = check_options()
TAKES_PYTHON = "as that takes Python, which a Windows host does not run"
ON_LINUX = "Check a Linux VM of the same delivery group"
WHAT_A_JOURNAL_TELLS = ("state", "started_at", "drained_at", "run_id", "worked_on_for")
# What the task that looks at a host has registered.
RESULT = "__check_host"
# What clusters told about nodes.
NODES = "__check_nodes"
VARIABLES = (
    "maintenance_delivery_group",
    "maintenance_domain",
    "maintenance_service",
    "maintenance_status",
    *vms.IDENTITY_VARIABLES,
)
# The playbook that brings the policy along, for who has none of his own.
RUN = Path(__file__).resolve().parents[3] / "playbooks" / "drain_then_approve.yml"


class CheckAction(ansible.DoesOneOf, MachineAction):
    does = OPTIONS

    def do_host(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["host"])
        self.findings: list[Finding] = []
        self.told: dict[str, t.Any] = {
            "changed": False,
            "elsewhere": [],
            "nodes": [],
            "journal": None,
            "journal_problem": "",
            "knows_journal": False,
            "watcher": {},
            "status": None,
            # None where the facts were not asked for.
            "not_seen": None,
        }
        self._check(options, task_vars)
        return {**self.told, "findings": self._without_secrets(task_vars)}

    def _without_secrets(self, task_vars: dict[str, t.Any]) -> list[dict[str, str]]:
        """With -v all that a task returns is shown."""
        findings = [finding.as_data() for finding in self.findings]
        if all(finding.verdict == "good" for finding in self.findings):
            return findings
        hidden = Hidden()
        hidden.add(task_vars, self._templar.template)
        scrubber = hidden.scrubber()
        return [{name: scrubber.without_secrets(text) for name, text in one.items()} for one in findings]

    def _check(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> None:
        not_before = iso_time(time.time() + NOTICE)
        about_steps, needs, self.told["nodes"] = steps_of_host(self, task_vars, options["steps_path"], not_before)
        mine = [need.as_data() for need in needs if not need.machine]
        for machine in dict.fromkeys(need.machine for need in needs if need.machine):
            there = [need.as_data() for need in needs if need.machine == machine]
            self.told["elsewhere"].append({"machine": machine, "records": options["records"], "needs": there})
        request = {
            "journal": options["journal"],
            "watcher": {"program": options["watch_program"], "status_file": options["watch_status_file"]},
            **request_for(mine),
        }
        try:
            way, found = self.look(request, task_vars)
        except NoWay as error:
            do = "Look at ansible_become, ansible_become_user and ansible_become_password"
            self.findings.append(bad("way", "become", f"no command can be run: {error}", do))
            return
        self.findings += about_way(way)
        if found is None:
            self.findings += about_steps
            if not windows.is_windows(self):
                # Nothing more can be done there.
                return
            self._look_without_python(options, task_vars)
        else:
            self.findings.append(about_journal_folder(found["folder_problem"], found["user"]))
            self.findings.append(_service.about_clock_of_host(self._offset(found)))
            self._keep(found)
            self.findings += [*about_steps, *about_needs(mine, found, "the host")]
        try:
            options["endpoint"] = (
                options["endpoint"] if options["endpoint"] == "auto" else http.check_endpoint(options["endpoint"])
            )
        except ValueError as error:
            self.findings.append(bad("service", "endpoint", str(error), "Correct maintenance_endpoint"))
            return
        if options["ask_service"]:
            self._ask(options, task_vars, found)

    def _look_without_python(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> None:
        request = {"state": "read", "path": windows.windows_path(options["journal"])}
        answer = readings.ask_journal(self, request, task_vars)
        problem = str(answer.get("msg")) if answer.get("failed") else ""
        # There is no watcher for Windows.
        self._keep({"journal": answer.get("journal"), "journal_problem": problem, "watcher": {}})
        point = "units, files and commands of the steps"
        self.findings.append(doubtful("plan", point, f"not looked at, {TAKES_PYTHON}", "Look at them by hand"))

    @staticmethod
    def _offset(found: dict[str, t.Any]) -> _service.Offset:
        return _service.offset_of_host(found["now"], found["asked"], found["answered"])

    def _keep(self, found: dict[str, t.Any]) -> None:
        """What is judged when all hosts are known. Of the journal no more than that: secrets may be in it."""
        journal = found["journal"]
        if journal is not None:
            events = [{"id": event.get("id")} for event in journal["events"]]
            self.told["journal"] = {**{key: journal.get(key) for key in WHAT_A_JOURNAL_TELLS}, "events": events}
        self.told["journal_problem"] = found["journal_problem"]
        self.told["knows_journal"] = True
        self.told["watcher"] = found["watcher"]

    def _ask(self, options: dict[str, t.Any], task_vars: dict[str, t.Any], found: dict[str, t.Any] | None) -> None:
        try:
            if found is None:
                begun = time.monotonic()
                reading = self.ask_host(options, task_vars)
                seconds, answers = time.monotonic() - begun, Answers({})
            else:
                reading, seconds, answers = self._conversation(options, task_vars)
            status = readings.status_told(reading, options["vm_name"])
        except HostFailed as failure:
            self.findings.append(_service.about_failure(str(failure)))
            return
        except AnsibleActionFail as failure:
            self.findings.append(_service.about_failure(str(failure)))
            return
        self.told["status"] = status
        host = str(task_vars["inventory_hostname"])
        place = status["this_host"]
        self.findings.append(_service.about_answer(seconds, answers))
        if found is None:
            seen = f"not asked, {TAKES_PYTHON}"
            self.findings.append(doubtful("service", "it is the service itself", seen, ON_LINUX))
        else:
            wanted = self.api_versions(task_vars).wanted(options)
            self.findings.append(_service.about_versions(answers, options["api_version"] or wanted))
            self.findings.append(_service.about_being_real(answers))
        known = needed_vars([host], task_vars["hostvars"], (), texts=vms.IDENTITY_VARIABLES)[host]
        self.findings.append(_service.about_name(host, ansible.plain(known), place))
        self.findings += _service.about_place(task_vars, place)
        if found is not None:
            offset = _service.offset_of_service(answers, self._offset(found))
            self.findings.append(_service.about_clock_of_service(offset))
        if options["ask_facts"] and found is not None:
            findings, self.told["not_seen"] = judged(answers)
            self.findings += findings
        elif options["ask_facts"]:
            self.findings.append(doubtful("facts", "the facts", f"not looked at, {TAKES_PYTHON}", ON_LINUX))

    def _conversation(
        self, options: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> tuple[dict[str, t.Any], float, Answers]:
        questions = [*_service.service_questions(), *(_service.fact_questions() if options["ask_facts"] else [])]
        request = {
            "reading": {
                "endpoints": [options["endpoint"]],
                "api_version": options["api_version"],
                "with_instance": options["vm_name"] is None,
                "timeout": options["timeout"],
            },
            "questions": [question.as_data() for question in questions],
        }
        answer = HOST_HALF.run(
            self, {"ask": request}, task_vars, seconds=2 * options["timeout"] + connection.SECONDS_OF_A_COMMAND
        )
        if answer.get("failed"):
            raise HostFailed(answer)
        told = answer["ask"]
        if told["reading"].get("failed"):
            raise HostFailed(told["reading"])
        reading = {**told["reading"]["answers"], "heard_at": time.time()}
        reading["endpoint"] = readings.endpoint_of(reading["endpoint"], options["endpoint"])
        return reading, told["reading_seconds"], Answers(told["heard"])

    def do_machine(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["machine"])
        entries = ansible.plain(options["entries"])
        needs = {str(need): need for entry in entries for need in entry["needs"]}
        lock_hosts = [one for one in entries if any(need["is_recorded"] for need in one["needs"])]
        folders = list(dict.fromkeys(options["own_records"] or one["records"] for one in lock_hosts))
        where = str(self._task.delegate_to or task_vars["inventory_hostname"])
        findings: list[Finding] = []
        records = None
        try:
            way, found = self.look({"records": folders, **request_for(needs.values())}, task_vars)
            findings += [finding for finding in about_way(way) if finding.verdict != "good"]
            if found is not None:
                records = found["records"]
                findings += about_needs(needs.values(), found, where)
        except NoWay as error:
            findings.append(bad("way", "become", f"no command can be run: {error}", "Look at ansible_become there"))
        told = [finding.as_data() for finding in findings]
        kept = {"records": records, "keeps_records": bool(folders)}
        return {"changed": False, "findings": told, **kept}

    def do_lock_hosts(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["lock_hosts"])
        hostvars, played = task_vars["hostvars"], {str(host) for host in task_vars["ansible_play_hosts_all"]}
        # All hosts of the inventory, whatever the pattern of this run: so has it a run.
        inventory = [str(host) for host in hostvars if host != "localhost" or host in played]
        try:
            variables = needed_vars(inventory, hostvars, ("maintenance_delivery_group",), texts=lease.SIGNS_OF_WINDOWS)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        groups = {host: str(known.get("maintenance_delivery_group") or "") for host, known in variables.items()}
        # Of groups that have no host here nothing is of interest.
        wanted = {groups[host] for host in played if host in groups}
        lock_hosts = lease.lease_groups(groups, options["lock_hosts"], lease.windows_hosts(variables))
        calls = [
            {"group": group, "lock_host": lock_host}
            for group in lock_hosts
            if group in wanted
            for lock_host in lock_hosts[group]
        ]
        return {"changed": False, "calls": calls}

    def do_fleet(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["fleet"])
        hostvars = task_vars["hostvars"]
        try:
            hosts = host_names(options["hosts"])
            known = ansible.plain(needed_vars(hosts, hostvars, (), texts=(RESULT, NODES, *VARIABLES)))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        policy = options["policy"] if options["policy"] is not None else default_policy()
        checked = check_all(
            seen={host: known[host].pop(RESULT, None) for host in hosts},
            nodes={host: known[host].pop(NODES, None) for host in hosts},
            variables=known,
            machines=ansible.plain(options["machines"]),
            leases=ansible.plain(options["leases"]),
            known=[str(host) for host in hostvars],
            settings=RehearsalSettings(ansible.plain(policy), options["max_at_once"], options["min_in_service"]),
            asked=Asked(options["asked_service"], options["asked_facts"]),
            not_before=iso_time(time.time() + NOTICE),
            names=lambda: readings.names_of_inventory(hostvars),
        )
        scrubber = self._hidden(task_vars, [*hosts, *_others(options)]).scrubber()
        report = make_check_report(checked.by_host, checked.fleet, checked.not_looked_at, scrubber)
        if options["report"] and not self._task.check_mode:
            _write(Path(options["report"]).expanduser().absolute(), report)
        told = {"verdict": report["verdict"], "summary": summary_of(report), "lines": lines_of(report)}
        return {"changed": False, "report": report, **told}

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
