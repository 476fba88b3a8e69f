# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service of a task's host, asked through the host half of a module."""

from __future__ import annotations

import time
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import JUDGED_BY, approval_body
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import OwnVariables
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.documents import Documents
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.service import (
    DocumentReading,
    RefusedByHost,
    Sent,
    Silent,
    Unanswered,
    Unreachable,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.service_action import (
    NAME_NOT_TOLD,
    HostFailed,
    ServiceAction,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.silence import (
    SECONDS_TO_RECONNECT,
    HostSilent,
    Late,
    ending_within,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.status_told import status_told
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.whose_deed import path_of_mark, whose_deed


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
            whole = Documents(constants.DEFAULT_LOCAL_TMP).whole(status, time.time())
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
        body = approval_body(event_ids, version, status["document_incarnation"])
        approval: dict[str, t.Any] = {"body": body, "expected": decided_on.document}
        more: dict[str, t.Any] = {"approval": approval}
        if decided_on.document_sha256:
            approval["expected_sha256"] = decided_on.document_sha256
        if self.marking:
            judged = [
                {name: event[name] for name in ("id", "resources", *JUDGED_BY)}
                for event in status["events"]
                if event["id"] in event_ids
            ]
            run_id = str(self.marking["run_id"])
            audit = whose_deed(OwnVariables(self.action, self.task_vars), run_id)
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
            with ending_within(SECONDS_TO_RECONNECT):
                self.action._connection.reset()
        except (AttributeError, AnsibleConnectionFailure, Late):
            # Not every connection can be reset, and one that is down already need not be.
            return

    def _ask(self, options: dict[str, t.Any], **more: t.Any) -> dict[str, t.Any]:
        try:
            return self.action.ask_host(options, self.task_vars, **more)
        except AnsibleActionFail:
            raise
        except HostSilent as error:
            raise Silent(str(error)) from None
        except AnsibleError as error:
            # Before ansible-core 2.19, a host that falls silent before `become` has asked its question is none of
            # AnsibleConnectionFailure.
            raise Unreachable(str(error)) from None
        except HostFailed as error:
            raise Unanswered(str(error), error.result) from None

    def _reading(self, answers: dict[str, t.Any]) -> DocumentReading:
        try:
            status = status_told(answers, self._name())
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
