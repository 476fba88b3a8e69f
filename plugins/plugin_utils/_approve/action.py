# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The actions that approve events."""

from __future__ import annotations

import contextlib
import functools
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.utils.display import Display

from .._azure import doubts, vms
from .._azure import events as azure
from .._common import ansible
from .._common.options import approval_by_role_options, approve_options
from .._common.text import needed_vars, some_of
from .._host import connection, readings
from .._host.service import DocumentReading, HostService, Unanswered, Unreachable
from . import judge
from .send import Approval, Approver, Election
from .wait import Complaints, NoticeBoard, Wait, WaitAction


class ApproveAction(WaitAction):
    """Base of the actions that approve events."""

    def approve(self, task_vars: dict[str, t.Any], by_role: bool = False) -> dict[str, t.Any]:
        """The result of scheduled_event_approve for the arguments of the task, of which the role has more."""
        more = approval_by_role_options()
        options = {option: spec.get("default") for option, spec in more.items()}
        options.update(self.checked_wait({**approve_options(), **(more if by_role else {})}))
        if options["drained"] is None:
            options["drained"] = [task_vars["inventory_hostname"]]
        return _Approval(self, options, task_vars).result()


class _Approval:
    """One host's part, from checked options to a result."""

    def __init__(self, action: ApproveAction, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> None:
        self.action = action
        self.options = options
        self.task_vars = task_vars
        # Who talks to the service: with delegate_to it is not the host that the task is for.
        self.sender = str(action._task.delegate_to or task_vars["inventory_hostname"])

    def result(self) -> dict[str, t.Any]:
        service = HostService(self.action, self.options, self.task_vars)
        service.marking = self._marking()
        approver = Approver(
            service=service,
            election=Election(constants.DEFAULT_LOCAL_TMP, prediction=self.action._task.check_mode),
            sender=self.sender,
            # The same for all hosts, also where each of them has included the task for itself.
            task=self.action._task.get_path() or self.action._task._uuid,
            wanted=self.options["event_ids"],
            drained=self._drained_vms,
            others=self._vms_of_the_batch,
            timeout=self.options["timeout"],
            not_shown=self._not_shown,
            doubts=self._doubts,
            unmarked=self._unmarked,
            decided_on=self._decided_on(service),
            first_sender=self._first_senders(),
            in_a_run=service.marking is not None,
            decided_at={azure.canonical_id(mark["event"]): float(mark["at"]) for mark in self.options["marks"]},
            allow_uncovered=self.options["uncovered"] == "allow",
            insist=self.options["leader"] == "self",
            predict_only=self.action._task.check_mode,
            mind_lost_answers=self.options["wait_for"] != "nothing",
        )
        try:
            with connection.ending_with_the_run() if service.marking else contextlib.nullcontext():
                approval = approver.run()
        except Unreachable as error:
            raise AnsibleConnectionFailure(str(error)) from None
        except Unanswered as error:
            raise AnsibleActionFail(str(error)) from None
        failures = [refusal["reason"] for refusal in approval.refused] + approval.problems
        wait = self._wait(service, approver.reading, approval)
        if wait and not failures:
            failures = list(filter(None, [wait.until_reached()]))
        last = wait.reading if wait else approver.reading
        return self._result(approval, failures, approver.reading, last)

    def _marking(self) -> dict[str, t.Any] | None:
        """In a run: what the host writes down and compares in the same command in which it sends."""
        options = self.options
        if not options["marks"]:
            return None
        for name in ("journal", "run_id", "fence"):
            if not options[name]:
                raise AnsibleActionFail(f"marks need {name} as well")
        fence = readings.complete_fence(options, self.action.api_versions(self.task_vars))
        marks = ansible.plain(options["marks"])
        return {"journal": options["journal"], "run_id": options["run_id"], "fence": fence, "marks": marks}

    def _decided_on(self, service: HostService) -> DocumentReading | None:
        """What this run has read last, if that is what is to be judged. Without it, the host is read once more."""
        if not self.options["reading"] or self.options["vm_name"] is not None:
            return None
        return service.earlier_reading(ansible.plain(readings.last_reading(self.task_vars)))

    def _first_senders(self) -> dict[str, str]:
        """Event -> the first of its hosts that is still there. The others need not be asked who they are."""
        batch = self.task_vars.get("ansible_play_batch", [])
        found: dict[str, str] = {}
        for mark in self.options["marks"]:
            found.update((azure.canonical_id(mark["event"]), str(host)) for host in mark["hosts"][:1] if host in batch)
        return found

    @functools.cached_property
    def _unmarked_hosts(self) -> dict[str, list[str]]:
        marks, variable = ansible.plain(self.options["marks"]), self.options["marks_in"]
        if not marks or not variable:
            return {}
        hosts = sorted({str(host) for mark in marks for host in mark["hosts"]} - {self.sender})
        results = {
            host: ansible.plain(own.get(variable))
            for host, own in needed_vars(hosts, self.task_vars["hostvars"], (), texts=(variable,)).items()
        }
        return judge.unmarked_hosts(marks, self.sender, results, self.options["run_id"])

    def _unmarked(self) -> dict[str, list[str]]:
        return self._unmarked_hosts

    def _variables_of(self, hosts: list[str], *more: str) -> dict[str, dict[str, t.Any]]:
        try:
            names = dict.fromkeys([*vms.NAME_VARIABLES, *readings.LAST_READING, *more])
            found = needed_vars(hosts, self.task_vars["hostvars"], list(names), texts=judge.DRAINED_VARIABLES)
        except ValueError as error:
            raise AnsibleActionFail(f"drained: {error}") from None
        if self.options["marks"]:
            # In a run.
            for known in found.values():
                known[readings.READING] = readings.last_reading(known)
        return found

    @functools.cached_property
    def _drained_hosts(self) -> tuple[list[str], dict[str, dict[str, t.Any]]]:
        """Who is ready by what the user and the journals say, and the variables of these hosts."""
        journals = self.options["journals"]
        drained = [str(host) for host in self.options["drained"]]
        # Nobody else: then nothing of this host's variables matters, and they take time.
        needed = [*drained, self.sender] if journals or set(drained) - {self.sender} else []
        host_vars = self._variables_of(needed, *filter(None, [journals]))
        return judge.ready_hosts(drained, host_vars, journals), host_vars

    def _drained_vms(self, reading: DocumentReading) -> list[str]:
        drained, host_vars = self._drained_hosts
        refused = {host for claim in self._false_claims(reading) for host in claim.refused}
        return judge.drained_vms(drained, host_vars, self.sender, reading.status["this_host"], reading.vm_name, refused)

    def _false_claims(self, reading: DocumentReading) -> list[vms.Claim]:
        scheduled = [event for event in reading.status["events"] if event["status"] == "Scheduled"]
        if not scheduled:
            return []
        drained, host_vars = self._drained_hosts
        if self.sender not in host_vars:
            host_vars = {**host_vars, **self._variables_of([self.sender])}
        # In a run the plan has compared these hosts with the whole inventory, right before.
        names = None if self.options["marks"] else self._names
        return judge.not_believed(
            drained, host_vars, self.sender, reading.status["this_host"], reading.vm_name, scheduled, names
        )

    def _names(self) -> vms.InventoryNames:
        return readings.names_of_inventory(self.task_vars["hostvars"], constants.DEFAULT_LOCAL_TMP)

    def _doubts(self, reading: DocumentReading) -> judge.Doubts:
        claims = self._false_claims(reading)
        sender = [claim for claim in claims if self.sender in claim.refused]
        others = [claim for claim in claims if self.sender not in claim.refused]
        told = [" ".join(doubt["why"] for doubt in doubts.about_claims(part, {})) for part in (sender, others)]
        return judge.Doubts(*told)

    def _hints(self) -> list[str]:
        hosts = judge.never_told(*self._drained_hosts, self.sender)
        if not hosts:
            return []
        hint = (
            f"In drained, but not known to be any VM: {some_of(hosts)}. Read them before, so that they have a"
            " maintenance_status, or give them the variables resource_group and subscription_id."
        )
        return [hint]

    def _not_shown(self, reading: DocumentReading) -> dict[str, list[str]]:
        """Where journals are looked at, the readings are as well: both were made by the run that asks."""
        if not self.options["journals"]:
            return {}
        drained, host_vars = self._drained_hosts
        others = [host for host in drained if host != self.sender]
        return judge.not_shown(others, host_vars, [event["id"] for event in reading.status["events"]])

    def _vms_of_the_batch(self) -> dict[str, str]:
        """VM names of the hosts that may still run this task after us; none where it runs only here."""
        if self.action._task.run_once or self.action._task.delegate_to or self.options["leader"] == "self":
            return {}
        batch = [str(host) for host in self.task_vars.get("ansible_play_batch", []) if host != self.sender]
        return {host: vms.vm_name_of(host, variables) for host, variables in self._variables_of(batch).items()}

    def _wait(self, service: HostService, reading: DocumentReading, approval: Approval) -> Wait | None:
        event_ids = list(dict.fromkeys([*approval.leaders, *approval.already_started]))
        if self.options["wait_for"] not in ("started", "finished") or not event_ids or self.action._task.check_mode:
            return None
        return Wait(
            service=service,
            reading=reading,
            complaints=Complaints(self.sender, Display().display),
            goal=self.options["wait_for"],
            event_ids=event_ids,
            wait_timeout=self.options["wait_timeout"],
            read_timeout=self.options["timeout"],
            tell=Display().display,
            is_news=NoticeBoard(constants.DEFAULT_LOCAL_TMP).is_news,
        )

    def _result(
        self, approval: Approval, failures: list[str], decided_on: DocumentReading, last: DocumentReading
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = {
            "changed": bool(approval.approved),
            "endpoint": last.status["endpoint"],
            "approved": approval.approved,
            "already_started": approval.already_started,
            "gone": approval.gone,
            "refused": approval.refused,
            "leaders": approval.leaders,
            "times": approval.times,
            "events": self._events(last),
            "problems": failures,
            "msg": self._sentence(approval, failures),
        }
        warnings = self.action.version_warnings(self.options, self.task_vars)
        if warnings:
            result["warnings"] = warnings
        if approval.left_to:
            result["left_to"] = approval.left_to
        if approval.refused_by_host:
            result["refused_by_host"] = approval.refused_by_host
        if failures:
            result["failed"] = True
        hints = self._hints() if approval.refused else []
        if hints:
            result["warnings"] = hints
        if self.action._task.diff:
            result["diff"] = self._diff(approval, decided_on, last)
        return result

    def _events(self, reading: DocumentReading) -> list[vms.EventData]:
        """The events that name this VM or were asked for."""
        asked = {azure.canonical_id(event_id) for event_id in self.options["event_ids"] or ()}
        return [
            {**event, "affects_this_host": azure.names_host(event, reading.vm_name)}
            for event in reading.status["events"]
            if azure.names_host(event, reading.vm_name) or azure.canonical_id(event["id"]) in asked
        ]

    def _sentence(self, approval: Approval, failures: list[str]) -> str:
        approved = "Would approve" if self.action._task.check_mode else "Approved"
        parts = [f"{approved} {', '.join(approval.approved)}"] if approval.approved else []
        parts += [
            f"{event_id} {'would be' if self.action._task.check_mode else 'was'} approved by {sender}"
            for event_id, sender in approval.leaders.items()
            if event_id not in approval.approved
        ]
        parts += [
            f"{event_id} could not be approved from here and is left to {', '.join(others)}"
            for event_id, others in approval.left_to.items()
        ]
        if approval.already_started:
            parts.append(f"Already started: {', '.join(approval.already_started)}")
        if approval.gone:
            parts.append(f"No longer listed: {', '.join(approval.gone)}")
        if approval.refused:
            parts.append("Refused: " + "; ".join(refusal["reason"] for refusal in approval.refused))
        parts += failures[len(approval.refused) :]
        return ". ".join(part.rstrip(".") for part in parts) if parts else "Nothing to approve"

    def _diff(self, approval: Approval, decided_on: DocumentReading, last: DocumentReading) -> dict[str, str]:
        lines: dict[str, list[str]] = {"before": [], "after": []}
        for event_id, status in self._statuses_before(approval, decided_on).items():
            seen = judge.shown_status(event_id, last.status["events"])
            if event_id in approval.approved and seen == "Scheduled":
                seen = "Scheduled, approved"
            lines["before"].append(f"{event_id}: {status}\n")
            lines["after"].append(f"{event_id}: {seen}\n")
        return {name: "".join(text) for name, text in lines.items()}

    def _statuses_before(self, approval: Approval, decided_on: DocumentReading) -> dict[str, str]:
        statuses = {event["id"]: event["status"] for event in self._events(decided_on)}
        # What we started was Scheduled, even if the reading that told us that it arrived says Started.
        return {**statuses, **dict.fromkeys(approval.approved, "Scheduled")}
