# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all plugins do with Ansible: failures, data of filters, variables of a task."""

from __future__ import annotations

import datetime
import functools
import getpass
import hashlib
import multiprocessing
import os
import re
import socket
import typing as t
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleFilterError
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var
from ansible.vars.hostvars import HostVars

from .store import RunStore
from .text import iso_time

RunOfAction = Callable[..., dict[str, t.Any]]


def in_one_sentence(run: RunOfAction) -> RunOfAction:
    """For `run` of an action.

    Before 2.19, ansible-core puts a traceback into every AnsibleActionFail, an empty one where there is none, and tells
    the user that an exception occurred. Any other exception is none that was foreseen and keeps its traceback.
    """

    @functools.wraps(run)
    def run_or_fail(self: t.Any, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        try:
            return run(self, tmp, task_vars)
        except AnsibleActionFail as failure:
            failure.result.pop("exception", None)
            raise

    return run_or_fail


class DoesOneOf(ActionBase):
    """Base of the internal actions: the option `do` names the method to run, each with options of its own."""

    does: t.ClassVar[Collection[str]] = ()

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        given = self._task.args
        try:
            self._task.args = {"do": given.get("do")} if "do" in given else {}
            spec = dict(do=dict(type="str", required=True, choices=list(self.does)))
            _unused, options = self.validate_argument_spec(argument_spec=spec)
            self._task.args = {option: value for option, value in given.items() if option != "do"}
            return t.cast("dict[str, t.Any]", wrap_var(getattr(self, f"do_{options['do']}")(task_vars or {})))
        finally:
            # A task that is tried again has to find them.
            self._task.args = given


def as_filter(name: str, function: Callable[..., t.Any]) -> Callable[..., t.Any]:
    @functools.wraps(function)
    def filtered(*arguments: t.Any, **options: t.Any) -> t.Any:
        try:
            # Azure's words may be in it. Before ansible-core 2.19 it has to be said that they are no templates.
            return wrap_var(function(*map(plain, arguments), **{name: plain(value) for name, value in options.items()}))
        except (ValueError, KeyError, TypeError) as error:
            raise AnsibleFilterError(f"maintenance.azure.{name}: {error}") from None

    return filtered


def plain(value: t.Any) -> t.Any:
    """Without the containers of ansible-core 2.19 and newer, which can't be copied."""
    if isinstance(value, HostVars):
        # Who takes it takes from it what is needed; it is costly.
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, datetime.datetime):
        # What AWX hands on from job to job is marked as unsafe, and then ansible-core 2.19 makes times of our texts.
        return iso_time(value.timestamp())
    return value


# Each task of each host is a process of its own, in which every template among the task's arguments is compiled anew:
# for a task that does little else, that is most of what it costs. So the actions of a run take what they always
# need.

# What a task registers for a host that is not its business. As a condition of the task, that would be a template, too.
NOT_ORDERED: dict[str, t.Any] = {"changed": False, "skipped": True, "skip_reason": "The order does not name this host"}


# A variable of the tasks of a run: they follow the order in its store, and not the variables of the role.
ORDERED = "__maintenance_ordered"


class OwnVariables:
    def __init__(self, action: ActionBase, task_vars: dict[str, t.Any]) -> None:
        self.action = action
        self.task_vars = task_vars
        self.host = str(task_vars["inventory_hostname"])

    def setting(self, name: str, default: t.Any = None) -> t.Any:
        """What the user has set, resolved; the default where it is not set, or set to nothing."""
        value = self.task_vars.get(name)
        if value is not None and not isinstance(value, (bool, int, float)):
            value = plain(self.action._templar.template(value))
        return default if value is None else value

    def registered(self, name: str) -> t.Any:
        """What a task has registered. It is no template, whatever it holds."""
        return self.task_vars.get(name)

    def settings(self, names: t.Mapping[str, str]) -> dict[str, t.Any]:
        """Option -> the value of the variable that is named for it, of those that are set."""
        found = {option: self.setting(variable) for option, variable in names.items()}
        return {option: value for option, value in found.items() if value is not None}

    def listed(self, path: str) -> bool:
        """Whether this host is in a list of hosts: `ansible_play_batch`, or `__check.hosts` of what was registered."""
        name, _dot, key = path.partition(".")
        found = self.registered(name)
        hosts = (found or {}).get(key) if key else found
        return self.host in (hosts or ())

    @property
    def is_ordered(self) -> bool:
        """Whether the tasks of a run use the role, and not those of a user."""
        return bool(self.task_vars.get(ORDERED))

    def order(self) -> dict[str, t.Any] | None:
        """What a run has this host do; None for nothing."""
        given = self.setting(ORDERED)
        if isinstance(given, dict):
            # As tests have it.
            return given
        return RunStore(constants.DEFAULT_LOCAL_TMP).order(self.host)

    def run(self) -> dict[str, t.Any]:
        """What a run has its actions know."""
        return RunStore(constants.DEFAULT_LOCAL_TMP).head


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # A container may run as a user without a name.
        return f"uid {os.getuid()}"


def controller_name() -> str:
    return socket.gethostname()


class BadQuery(ValueError):
    """The expression can't be used. The text is for the user."""


def compile_query(expression: str) -> t.Callable[[t.Any], t.Any]:
    """Return a function that applies the expression. Fails before anything was asked of a host."""
    try:
        import jmespath
        import jmespath.exceptions
    except ImportError:
        raise BadQuery(
            "query needs the Python package jmespath on the controller, which is not there: pip install jmespath"
        ) from None
    try:
        compiled = jmespath.compile(expression)
    except jmespath.exceptions.JMESPathError as error:
        raise BadQuery(f"query is not a JMESPath expression: {expression!r} ({_one_line(error)})") from None

    def apply(data: t.Any) -> t.Any:
        try:
            return compiled.search(data)
        except jmespath.exceptions.JMESPathError as error:
            raise BadQuery(f"query {expression!r} does not fit the data: {_one_line(error)}") from None

    return apply


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


# What Ansible does not take for a template of the user it prints as {"__ansible_unsafe": ...}. Jobs turn that back; the
# pages of AWX, its host variables and jq do not. So only text is told apart that could be a template.

try:
    from ansible.template import is_trusted_as_template, trust_as_template
except ImportError:
    # Before ansible-core 2.19 every text is a template, unless it is marked as none.
    is_trusted_as_template = trust_as_template = None

# Letters, digits and what stands between words: no bracket, quote, bar or other sign that means something to Jinja.
_WORDS = re.compile(r"[\w .,:;/@+=-]*")
# It sets other delimiters than braces for the rest of the text.
HEADER = "#jinja2:"


def could_be_a_template(text: str) -> bool:
    return "{" in text or "}" in text or text.startswith(HEADER)


def is_template(text: str) -> bool:
    """Whether Ansible would resolve it, as the user has written it."""
    return not getattr(text, "__UNSAFE__", False) if trust_as_template is None else is_trusted_as_template(text)


def as_template(text: str) -> str:
    return text if trust_as_template is None else trust_as_template(text)


def guard(value: t.Any) -> t.Any:
    """The same value, safe to be a variable of a host."""
    if isinstance(value, str):
        return _guard_text(value)
    if isinstance(value, dict):
        return {guard(key): guard(item) for key, item in value.items()}
    if isinstance(value, list):
        return [guard(item) for item in value]
    return value


def _guard_text(text: str) -> str:
    if trust_as_template is None:
        return t.cast(str, wrap_var(text)) if could_be_a_template(text) else text
    # Since 2.19 nothing is a template unless it is said to be one. That is said of words alone, in which nothing could
    # be evaluated, or else all of it would be printed as unsafe.
    return trust_as_template(text) if _WORDS.fullmatch(text) else text


PROC = Path("/proc")


class RunHasEnded(Exception):
    """The run was killed, and this task of it goes on alone: it must not take anything in the name of the dead."""


def this_run(run_id: str, note: str) -> dict[str, t.Any]:
    """The owner that a task of this run is. A task runs in a fork; the run is the process that forked it."""
    parent = multiprocessing.parent_process()
    pid = os.getppid()
    if parent is not None and parent.pid != pid:
        raise RunHasEnded("The run that this task is part of was killed, so no lease is taken for it any more")
    start, _dead = _process(pid)
    return {
        "run_id": run_id,
        "note": note,
        "user": user_name(),
        "host": controller_name(),
        "controller": _controller() if start else "",
        "pid": pid,
        "process_start": start,
    }


def is_dead(owner: Mapping[str, t.Any], controller: str) -> bool:
    """Whether the owner is a process of this controller that is no more. What can't be known counts as alive."""
    if not controller or not owner["process_start"] or owner["controller"] != controller or owner["pid"] <= 0:
        return False
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        # Another user's process is still a process, though /proc may hide it.
        pass
    start, ended = _process(owner["pid"])
    return ended or bool(start and start != owner["process_start"])


def _process(pid: int) -> tuple[str, bool]:
    """When a process was started, in the kernel's count, and whether it has ended; ("", False) if it can't be seen."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", False
    # The second field is the program's name, in brackets, and may hold anything.
    fields = text.rpartition(")")[2].split()
    return fields[19], fields[0] in ("Z", "X")


def _controller() -> str:
    """A name for everything that has the same process ids: one boot of one kernel, and one container of it."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = str((PROC / "self/ns/pid").readlink())
    except OSError:
        return ""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        machine = ""
    return hashlib.sha256("\n".join((machine, boot, namespace)).encode()).hexdigest()[:32]
