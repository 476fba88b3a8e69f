# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look at one machine."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ...module_utils._check import look as _look
from .._host import answers as _answers
from .._host import connection, service
from .._host.answers import whole
from .report import Way


def _by_name(shape: _answers.Shape) -> _answers.Shape:
    """A mapping of any names to values of one shape."""
    return lambda value: {_answers.message(name): shape(one) for name, one in _answers.mapping(value).items()}


# The shape of the whole answer about a journal, of which only the journal itself is taken.
def _journal(value: object) -> object:
    whole = {"changed": False, "journal": value, "boot_id": None, "now": ""}
    return _answers.JOURNAL(whole)["journal"]


_RECORD = _answers.keyed(
    {"file": _answers.message, "problem": _answers.message},
    {
        "host": _answers.message,
        "vm": _answers.message,
        "types": _answers.list_of(_answers.message),
        "run_id": _answers.message,
        "at": _answers.message,
        "events": _answers.list_of(_answers.message),
    },
)
_WATCHER = _answers.keyed(
    {
        "installed": _answers.flag,
        "problem": _answers.message,
        "age": _answers.maybe(_answers.number),
        "status": _answers.maybe(
            _answers.keyed(
                {},
                {
                    "read_at": _answers.maybe(_answers.message),
                    "watcher": _answers.maybe(
                        _answers.keyed(
                            {},
                            {
                                "version": _answers.maybe(_answers.message),
                                "failing_since": _answers.maybe(_answers.message),
                                "problem": _answers.maybe(_answers.message),
                                "drained": _answers.maybe(_answers.flag),
                                "left_for_a_run": _answers.maybe(_answers.list_of(_answers.message)),
                            },
                        )
                    ),
                },
            )
        ),
    }
)
_LOOK = _answers.keyed(
    {
        "python": _answers.message,
        "user": _answers.message,
        "now": _answers.number,
        "journal": _journal,
        "journal_problem": _answers.message,
        "folder_problem": _answers.message,
        "records": _answers.list_of(_RECORD),
        "units": _by_name(_answers.message),
        "paths": _by_name(_answers.message),
        "commands": _by_name(_answers.flag),
        "watcher": _WATCHER,
    }
)
_HEARD = _answers.keyed(
    {
        "status": _answers.maybe(whole),
        "headers": _by_name(_answers.message),
        "body": _answers.text,
        "problem": _answers.message,
        "at": _answers.number,
        "seconds": _answers.number,
    }
)
_FAILED_READING = _answers.keyed({"failed": _answers.flag, "msg": _answers.message})


def _reading(value: object) -> object:
    failed = isinstance(value, dict) and value.get("failed")
    return _FAILED_READING(value) if failed else _answers.EXCHANGE(value)


_ASK = _answers.keyed({"reading": _reading, "reading_seconds": _answers.number, "heard": _by_name(_HEARD)})
HOST_CHECK = _answers.keyed({"changed": _answers.flag}, {"look": _LOOK, "ask": _ASK})


HOST_HALF = connection.HostHalf("look", _look, HOST_CHECK, private=False)
HERE = "--maintenance.azure is here--"


class NoWay(Exception):
    """The machine is reached, but no command can be run there. Says why."""


class MachineAction(service.ServiceAction):
    """Base of the actions that look at a machine. It changes nothing there, so that check mode makes no difference."""

    _supports_check_mode = True
    _requires_connection = True

    by_module = False

    def _execute_module(self, *arguments: t.Any, **more: t.Any) -> t.Any:
        self.by_module = True
        return super()._execute_module(*arguments, **more)

    def look(self, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> tuple[Way, dict[str, t.Any] | None]:
        """The way to the machine, and what was found there; None where our code can't run. Raises NoWay."""
        connection.notice_silence(self._connection)
        shell = str(self._connection._shell.SHELL_FAMILY)
        # The first call makes the connection; how long the next takes is what a run has to do with.
        self._said("echo", task_vars)
        begun = time.monotonic()
        said = self._said(f"echo '{HERE}'" if shell == "sh" else "echo", task_vars)
        way: dict[str, t.Any] = {
            "connection": str(self._connection.transport),
            "shell": shell,
            "seconds": time.monotonic() - begun,
            "become": self._become(),
        }
        if shell != "sh":
            return Way(**way), None
        if HERE not in said["stdout"]:
            raise NoWay(" ".join(f"{said['stderr']} {said['stdout']}".split())[-300:] or f"exit code {said['rc']}")
        self.by_module = False
        asked = time.time()
        answer = HOST_HALF.run(self, {"look": request}, task_vars)
        if answer.get("failed"):
            why = " ".join(str(answer.get("module_stderr") or answer["msg"]).split())[:400]
            return Way(**way, problem=why), None
        found = {**answer["look"], "asked": asked, "answered": time.time()}
        return Way(**way, python=found["python"], by_module=self.by_module, user=found["user"]), found

    def _said(self, command: str, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        try:
            with connection.answering_within(self, task_vars, connection.SECONDS_OF_A_COMMAND):
                return t.cast("dict[str, t.Any]", self._low_level_execute_command(command))
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as error:
            # Such as a password for become that is missing.
            raise NoWay(str(error)) from None

    def _become(self) -> str:
        become = self._connection.become
        if become is None:
            return ""
        return f"{become.name} to {become.get_option('become_user', playcontext=self._play_context) or 'root'}"
