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
from .._host.answers import Shape, flag, keyed, list_of, mapping, maybe, message, number, text, whole
from .._host.connection import SECONDS_OF_A_COMMAND, HostHalf, answering_within, notice_silence
from .._host.service import ServiceAction
from .report import Way


def _by_name(shape: Shape) -> Shape:
    """A mapping of any names to values of one shape."""
    return lambda value: {message(name): shape(one) for name, one in mapping(value).items()}


# The shape of the whole answer about a journal, of which only the journal itself is taken.
def _journal(value: object) -> object:
    whole = {"changed": False, "journal": value, "boot_id": None, "now": ""}
    return _answers.JOURNAL(whole)["journal"]


_RECORD = keyed(
    {"file": message, "problem": message},
    {
        "host": message,
        "vm": message,
        "types": list_of(message),
        "run_id": message,
        "at": message,
        "events": list_of(message),
    },
)
_WATCHER = keyed(
    {
        "installed": flag,
        "problem": message,
        "age": maybe(number),
        "status": maybe(
            keyed(
                {},
                {
                    "read_at": maybe(message),
                    "watcher": maybe(
                        keyed(
                            {},
                            {
                                "version": maybe(message),
                                "failing_since": maybe(message),
                                "problem": maybe(message),
                                "drained": maybe(flag),
                                "left_for_a_run": maybe(list_of(message)),
                            },
                        )
                    ),
                },
            )
        ),
    }
)
_LOOK = keyed(
    {
        "python": message,
        "user": message,
        "now": number,
        "journal": _journal,
        "journal_problem": message,
        "folder_problem": message,
        "records": list_of(_RECORD),
        "units": _by_name(message),
        "paths": _by_name(message),
        "commands": _by_name(flag),
        "watcher": _WATCHER,
    }
)
_HEARD = keyed(
    {
        "status": maybe(whole),
        "headers": _by_name(message),
        "body": text,
        "problem": message,
        "at": number,
        "seconds": number,
    }
)
_FAILED_READING = keyed({"failed": flag, "msg": message})


def _reading(value: object) -> object:
    failed = isinstance(value, dict) and value.get("failed")
    return _FAILED_READING(value) if failed else _answers.EXCHANGE(value)


_ASK = keyed({"reading": _reading, "reading_seconds": number, "heard": _by_name(_HEARD)})
HOST_CHECK = keyed({"changed": flag}, {"look": _LOOK, "ask": _ASK})


HOST_HALF = HostHalf("look", _look, HOST_CHECK, private=False)
HERE = "--maintenance.azure is here--"


class NoWay(Exception):
    """The machine is reached, but no command can be run there. Says why."""


class MachineAction(ServiceAction):
    """Base of the actions that look at a machine. It changes nothing there, so that check mode makes no difference."""

    _supports_check_mode = True
    _requires_connection = True

    by_module = False

    def _execute_module(self, *arguments: t.Any, **more: t.Any) -> t.Any:
        self.by_module = True
        return super()._execute_module(*arguments, **more)

    def look(self, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> tuple[Way, dict[str, t.Any] | None]:
        """The way to the machine, and what was found there; None where our code can't run. Raises NoWay."""
        notice_silence(self._connection)
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
            with answering_within(self, task_vars, SECONDS_OF_A_COMMAND):
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
