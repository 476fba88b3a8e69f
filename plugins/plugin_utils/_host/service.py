# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service of a host, asked from the controller."""

from __future__ import annotations

import dataclasses
import time
import typing as t
from collections.abc import Mapping

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ...module_utils._azure import http, imds
from ...module_utils._host import approval_command as _approval_command
from ...module_utils._host import exchange as _exchange
from ...module_utils._host import journal as _journal
from ...module_utils._host import run_mark
from ...module_utils._host.audit import DEFAULT_FILE
from .._azure import events as azure
from .._common import ansible
from .._common.ansible import OwnVariables
from . import answers as _answers
from . import connection, curl, readings
from .connection import HostHalf


@dataclasses.dataclass(frozen=True)
class DocumentReading:
    """One good reading: what it means, and the document itself, by which a later one is recognised as the same.

    Of a reading of an earlier task there is the digest alone.
    """

    status: dict[str, t.Any]
    document: str
    vm_name: str
    document_sha256: str | None = None


@dataclasses.dataclass(frozen=True)
class Sent:
    """What came of sending an approval: the reading right before it, and whether the service took it.

    Neither sent nor a problem: the document was another one than the approval was decided on, so nothing was sent.
    """

    reading: DocumentReading
    sent: bool = False
    problem: str = ""
    unclear: bool = False


class Unreachable(Exception):
    """The host could not be reached, or contact was lost on the way: what was sent may have arrived."""


class Silent(Unreachable):
    """The host took a command and never answered: it hangs, which is not what a VM does that boots."""


class Unanswered(Exception):
    """The host was reached, but the service gave no good answer. `result` is what its host half said instead."""

    def __init__(self, message: str, result: Mapping[str, t.Any] | None = None) -> None:
        super().__init__(message)
        self.result = result or {}


class RefusedByHost(Exception):
    """The host was reached, is the fence, and did nothing. `word` says why."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


class Service(t.Protocol):
    def read(self, seconds: float | None = None) -> DocumentReading: ...

    def approve(self, decided_on: DocumentReading, event_ids: list[str]) -> Sent: ...

    def reconnect(self) -> None: ...


def whose_action(own: OwnVariables, run_id: str) -> dict[str, t.Any]:
    """Which run, whose, and from where. In AWX it is the one who has launched the job."""
    return {
        "file": str(own.setting("watch_audit_file") or DEFAULT_FILE),
        "run_id": run_id,
        "who": str(own.setting("awx_user_name") or ansible.user_name()),
        "where": ansible.controller_name(),
        "host": own.host,
        "incarnation": _document_read_last(own),
    }


def _document_read_last(own: OwnVariables) -> int | str | None:
    status = own.registered("maintenance_status")
    incarnation = status.get("document_incarnation") if isinstance(status, Mapping) else None
    if isinstance(incarnation, str):
        # A plain one.
        return str.__str__(incarnation)
    return int(incarnation) if isinstance(incarnation, int) else None


def path_of_mark(own: OwnVariables) -> str:
    """Where a run says on the host that it is there, if there is a watcher."""
    return str(run_mark.path_beside(str(own.setting("watch_status_file") or run_mark.STATUS_FILE)))


EXCHANGE = HostHalf("exchange", _exchange, _answers.EXCHANGE, private=False)
HOST_STATE = HostHalf("exchange", _exchange, _answers.HOST_STATE, private=False)
NAME_NOT_TOLD = (
    "The instance metadata does not tell this VM's name, so it is not known which events name it: give vm_name"
)


class HostFailed(Exception):
    """The host half did not answer, or not as it should. `result` says why."""

    def __init__(self, result: dict[str, t.Any]) -> None:
        super().__init__(result.get("msg", ""))
        self.result = result


class ServiceAction(ActionBase):
    """Base of the actions that talk to the metadata service of a host.

    `seconds` is how long one command may take in all, in a run. Else it waits for the service as long as was asked for.
    `after_silence` is that time for a host that has been silent before. `by_curl`: a host without Python will do.
    """

    seconds: float | None = None
    after_silence: float = connection.SECONDS_AFTER_SILENCE
    by_curl = False

    def checked_options(self, argument_spec: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=argument_spec)
        self.check_seconds(options, "timeout")
        if options["endpoint"] != "auto":
            try:
                options["endpoint"] = http.check_endpoint(options["endpoint"])
            except ValueError as error:
                raise AnsibleActionFail(str(error)) from None
        if options["vm_name"] is not None and not options["vm_name"].strip():
            raise AnsibleActionFail("vm_name is empty: leave it out, or give the name that events use for this VM")
        return options

    @staticmethod
    def check_seconds(options: dict[str, t.Any], name: str) -> None:
        if options[name] <= 0:
            raise AnsibleActionFail(f"{name} must be at least 1 second, not {options[name]}")

    @staticmethod
    def check_ids(options: dict[str, t.Any]) -> None:
        if any(not event_id.strip() for event_id in options["event_ids"] or ()):
            raise AnsibleActionFail("event_ids holds an empty id")

    def ask_host(self, options: dict[str, t.Any], task_vars: dict[str, t.Any], **more: t.Any) -> dict[str, t.Any]:
        """Run the host half and return the service's answers as they came."""
        return self._heard(self._asked(EXCHANGE, options, task_vars, more), options, task_vars)

    def look_at_host(
        self, options: dict[str, t.Any], task_vars: dict[str, t.Any], **more: t.Any
    ) -> tuple[dict[str, t.Any], t.Callable[[], dict[str, t.Any]]]:
        """Ask the service and read the journal by one command. Returns the other looks, and a call for the answers."""
        found = self._asked(HOST_STATE, options, task_vars, {"journal": options["journal"], **more})
        reading = found if found.get("failed") else found["reading"]
        return found, lambda: self._heard(reading, options, task_vars)

    def _asked(
        self, half: HostHalf, options: dict[str, t.Any], task_vars: dict[str, t.Any], more: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        request = {
            "endpoints": [options["endpoint"]],
            "api_version": self.api_versions(task_vars).wanted(options),
            "with_instance": options["vm_name"] is None,
            "timeout": min(options["timeout"], connection.patience_within(self.seconds))
            if self.seconds
            else options["timeout"],
            **more,
        }
        unused = [] if (request.get("approval") or {}).get("marking") else [_approval_command.__name__]
        return half.run(
            self,
            request,
            task_vars,
            unused=[*unused, _journal.__name__] if unused and not request.get("journal") else unused,
            first=(lambda: curl.run_by_curl(self, request)) if self.by_curl else None,
            seconds=self.seconds or options["timeout"] + connection.SECONDS_OF_A_COMMAND,
            after_silence=self.after_silence,
        )

    def _heard(
        self, result: dict[str, t.Any], options: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        if result.get("failed"):
            raise HostFailed(result)
        answers: dict[str, t.Any] = result["answers"]
        # When something was heard, the controller says: a host whose clock is ahead would have the last word.
        answers["heard_at"] = time.time()
        answers["endpoint"] = readings.endpoint_of(answers["endpoint"], options["endpoint"])
        self.api_versions(task_vars).learn(options, answers)
        return answers

    def api_versions(self, task_vars: dict[str, t.Any]) -> readings.ApiVersions:
        host = str(self._task.delegate_to or task_vars["inventory_hostname"])
        return readings.ApiVersions(constants.DEFAULT_LOCAL_TMP, host)

    def version_warnings(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> list[str]:
        """Event types that nobody sees here, where the user has left the version to us."""
        if options["api_version"] != imds.AUTO:
            return []
        warning = azure.warning_about_version(self.api_versions(task_vars).wanted(options))
        return [warning] if warning else []


class HostService:
    """What service.py calls a Service, for the host of a task."""

    def __init__(self, action: ServiceAction, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> None:
        self.action = action
        self.options = options
        self.task_vars = task_vars
        self.this_host: dict[str, t.Any] | None = None
        # In a run: what is written into the journal, in one go with an approval, and what the host compares before.
        self.marking: dict[str, t.Any] | None = None

    def earlier_reading(self, status: t.Any) -> DocumentReading | None:
        """What an earlier task of this run has read, if it is whole."""
        try:
            whole = readings.Documents(constants.DEFAULT_LOCAL_TMP).whole(status, time.time())
            self.this_host = dict(whole["this_host"])
            if not isinstance(whole["events"], list):
                return None
            return DocumentReading(whole, "", str(self.this_host["vm_name"]), str(whole["document_sha256"]))
        except (KeyError, TypeError, ValueError):
            self.this_host = None
            return None

    def read(self, seconds: float | None = None) -> DocumentReading:
        timeout = self.options["timeout"] if seconds is None else max(1, int(seconds))
        # The host says who it is once; the later answers are about events only.
        with_instance = self._name() is None
        more: dict[str, t.Any] = {"with_instance": with_instance}
        if self.options.get("journal") and self.options.get("run_id") and not self.action._task.check_mode:
            # Who waits says with each reading that he is still there.
            more["renewal"] = {"path": self.options["journal"], "run_id": self.options["run_id"]}
            more["mark"] = self._mark(self.options["run_id"])
        return self._reading(self._ask({**self.options, "timeout": timeout}, **more))

    def approve(self, decided_on: DocumentReading, event_ids: list[str]) -> Sent:
        status = decided_on.status
        version = self.action.api_versions(self.task_vars).wanted(self.options)
        body = azure.approval_body(event_ids, version, status["document_incarnation"])
        approval: dict[str, t.Any] = {"body": body, "expected": decided_on.document}
        more: dict[str, t.Any] = {"approval": approval}
        if decided_on.document_sha256:
            approval["expected_sha256"] = decided_on.document_sha256
        if self.marking:
            judged = [
                {name: event[name] for name in ("id", "resources", *azure.JUDGED_BY)}
                for event in status["events"]
                if event["id"] in event_ids
            ]
            run_id = str(self.marking["run_id"])
            audit = whose_action(OwnVariables(self.action, self.task_vars), run_id)
            approval["marking"] = {**self.marking, "judged": judged, "audit": audit}
            more["mark"] = self._mark(run_id)
        try:
            answers = self._ask({**self.options, "endpoint": status["endpoint"]}, **more)
        except Unanswered as error:
            if error.result.get("refused"):
                raise RefusedByHost(error.result["refused"], str(error)) from None
            if error.result.get("kind") not in (None, "unexpected"):
                raise
            # The host half did not live to tell what it did, or tells something else.
            return Sent(decided_on, problem=str(error), unclear=True)
        problem = answers.get("problem") or {"message": "", "unclear": False}
        return Sent(self._reading(answers), answers.get("sent", False), problem["message"], problem["unclear"])

    def _mark(self, run_id: str) -> dict[str, t.Any]:
        """For a watcher on the host: the run is still there, and comes first."""
        return {"path": path_of_mark(OwnVariables(self.action, self.task_vars)), "run_id": run_id}

    def reconnect(self) -> None:
        try:
            # Whether the host is silent is not known by this: most of them close it on this side alone.
            with connection.ending_within(connection.SECONDS_TO_RECONNECT):
                self.action._connection.reset()
        except (AttributeError, AnsibleConnectionFailure, connection.Late):
            # Not every connection can be reset, and one that is down already need not be.
            return

    def _ask(self, options: dict[str, t.Any], **more: t.Any) -> dict[str, t.Any]:
        try:
            return self.action.ask_host(options, self.task_vars, **more)
        except AnsibleActionFail:
            raise
        except connection.HostSilent as error:
            raise Silent(str(error)) from None
        except AnsibleError as error:
            # Before ansible-core 2.19, a host that falls silent before `become` has asked its question is none of
            # AnsibleConnectionFailure.
            raise Unreachable(str(error)) from None
        except HostFailed as error:
            raise Unanswered(str(error), error.result) from None

    def _reading(self, answers: dict[str, t.Any]) -> DocumentReading:
        try:
            status = readings.status_told(answers, self._name())
        except AnsibleActionFail as error:
            raise Unanswered(str(error)) from None
        self.this_host = status["this_host"] or self.this_host
        status["this_host"] = self.this_host
        name = self._name()
        if name is None:
            raise AnsibleActionFail(NAME_NOT_TOLD)
        return DocumentReading(status, answers["events"]["body"], name)

    def _name(self) -> str | None:
        return self.this_host["vm_name"] if self.this_host else self.options["vm_name"]
