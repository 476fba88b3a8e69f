# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at one host for the playbook check, and asks its metadata service where that was allowed."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils._azure.http import check_endpoint
from ..plugin_utils._azure.vms import IDENTITY_VARIABLES
from ..plugin_utils._check import service as _service
from ..plugin_utils._check.facts import judged
from ..plugin_utils._check.look import HOST_HALF, MachineAction, NoWay
from ..plugin_utils._check.rehearsal import NOTICE
from ..plugin_utils._check.report import Finding, Hidden, about_journal_folder, about_way, bad, doubtful
from ..plugin_utils._check.service import Answers, fact_questions, service_questions
from ..plugin_utils._check.steps import about_needs, request_for, steps_of_host
from ..plugin_utils._common.ansible import in_one_sentence, plain
from ..plugin_utils._common.options import check_host_options
from ..plugin_utils._common.text import iso_time, needed_vars
from ..plugin_utils._host.connection import SECONDS_OF_A_COMMAND
from ..plugin_utils._host.readings import ask_journal, endpoint_of, status_told
from ..plugin_utils._host.service import HostFailed
from ..plugin_utils._host.windows import is_windows, windows_path

TAKES_PYTHON = "as that takes Python, which a Windows host does not run"
ON_LINUX = "Check a Linux VM of the same delivery group"
WHAT_A_JOURNAL_TELLS = ("state", "started_at", "drained_at", "run_id", "worked_on_for")


class ActionModule(MachineAction):
    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        _unused, options = self.validate_argument_spec(argument_spec=check_host_options())
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
        return wrap_var({**self.told, "findings": self._without_secrets(task_vars)})

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
            if not is_windows(self):
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
                options["endpoint"] if options["endpoint"] == "auto" else check_endpoint(options["endpoint"])
            )
        except ValueError as error:
            self.findings.append(bad("service", "endpoint", str(error), "Correct maintenance_endpoint"))
            return
        if options["ask_service"]:
            self._ask(options, task_vars, found)

    def _look_without_python(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> None:
        request = {"state": "read", "path": windows_path(options["journal"])}
        answer = ask_journal(self, request, task_vars)
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
            status = status_told(reading, options["vm_name"])
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
        known = needed_vars([host], task_vars["hostvars"], (), texts=IDENTITY_VARIABLES)[host]
        self.findings.append(_service.about_name(host, plain(known), place))
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
        questions = [*service_questions(), *(fact_questions() if options["ask_facts"] else [])]
        request = {
            "reading": {
                "endpoints": [options["endpoint"]],
                "api_version": options["api_version"],
                "with_instance": options["vm_name"] is None,
                "timeout": options["timeout"],
            },
            "questions": [question.as_data() for question in questions],
        }
        answer = HOST_HALF.run(self, {"ask": request}, task_vars, seconds=2 * options["timeout"] + SECONDS_OF_A_COMMAND)
        if answer.get("failed"):
            raise HostFailed(answer)
        told = answer["ask"]
        if told["reading"].get("failed"):
            raise HostFailed(told["reading"])
        reading = {**told["reading"]["answers"], "heard_at": time.time()}
        reading["endpoint"] = endpoint_of(reading["endpoint"], options["endpoint"])
        return reading, told["reading_seconds"], Answers(told["heard"])
