# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands to hosts: one command without a module, time limits, and the end of orphaned workers."""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import importlib.util
import inspect
import json
import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import types
import typing as t
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ...module_utils._azure import documents
from .._common.store import Store
from . import answers, windows

# When a VM loses power, freezes or is taken away, its connections stay open, and ssh waits for the end of a command for
# ever. Here that is normal, so ssh sends keepalives. They do not help where a disk hangs, or a login that asks a dead
# directory, so each command has a timeout as well.

KEEP_ASKING = "-o ServerAliveInterval=5 -o ServerAliveCountMax=3"
# How long one command may take: one that reads and writes a file or two, and what comes on top of what it waits for.
SECONDS_OF_A_COMMAND = 30.0
# A reading of a run, where maintenance_read_timeout is not set.
SECONDS_OF_A_READING = 30
# A host that gave no answer in this run before: it must not keep others waiting as long each time.
SECONDS_AFTER_SILENCE = 10.0
# Whatever takes the exception for something else gets another.
SECONDS_BETWEEN_ALARMS = 2.0
SECONDS_TO_RECONNECT = 10.0
SECONDS_TO_FAIL = 5.0


class HostSilent(AnsibleConnectionFailure):
    """A host took a command and gave no answer in time. What it was told to do may have been done, or be done later."""


class _Alarm(BaseException):
    """No Exception, as those are caught on the way, and some connections try again then."""


def notice_silence(connection: t.Any) -> None:
    """Have it so for all that this task does; what is not ssh is left alone."""
    if getattr(connection, "transport", "") != "ssh":
        return
    own = connection.get_option("ssh_extra_args") or ""
    if KEEP_ASKING not in own:
        connection.set_option("ssh_extra_args", f"{own} {KEEP_ASKING}".strip())


def seconds_of_a_reading(value: t.Any) -> float:
    """What maintenance_read_timeout says for a host."""
    text = str(SECONDS_OF_A_READING if value in (None, "") else value).strip()
    if isinstance(value, bool) or not text.isdecimal() or int(text) == 0:
        raise AnsibleActionFail(f"maintenance_read_timeout must be a whole number of seconds, 1 or more, not {value!r}")
    return float(text)


def seconds_to_connect(action: ActionBase) -> float:
    """After these a host that is down is known to be unreachable, and must not be taken for one that hangs."""
    for name in ("connection_timeout", "timeout"):
        with contextlib.suppress(KeyError, AnsibleError):
            found = action._connection.get_option(name)
            if isinstance(found, (int, float)) and found > 0:
                return float(found) + SECONDS_TO_FAIL
    return SECONDS_OF_A_COMMAND + SECONDS_TO_FAIL


def patience_within(seconds: float) -> int:
    """How long a command may wait for the service, so that the host can still say that it waited in vain."""
    return max(1, int(seconds * 2 / 3))


@contextlib.contextmanager
def answering_within(
    action: ActionBase, task_vars: t.Mapping[str, t.Any], seconds: float, after_silence: float = SECONDS_AFTER_SILENCE
) -> Iterator[None]:
    """What is asked of a task's host in here ends in time, or in HostSilent.

    `after_silence` is the time of a host that has been silent in this run and has not answered since.
    """
    host = str(action._task.delegate_to or task_vars["inventory_hostname"])
    silent = Store(constants.DEFAULT_LOCAL_TMP, "silent")
    if silent.read(host):
        seconds = min(seconds, after_silence)
    try:
        with ending_within(seconds):
            yield
    except Late:
        silent.write(True, host)
        forget_folder(action)
        raise HostSilent(
            f"{host} took a command and gave no answer within {seconds:.0f} s, so it counts as unreachable. Look at its"
            " load, its disks and whatever its login asks"
        ) from None
    except Exception:
        raise
    except BaseException:
        # Ansible's own time for a task is over.
        forget_folder(action)
        raise
    silent.path(host).unlink(missing_ok=True)


def forget_folder(action: ActionBase) -> None:
    """Leave Ansible's temporary folder on the host: it would be removed by a command that has no timeout."""
    action._connection._shell.tmpdir = None


class Late(Exception):
    """It did not end in time."""


@contextlib.contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Ends what takes longer, also inside of a connection plugin, with all that it has started here.

    Ansible's own time for a task comes by the same signal. Where that comes first, nothing is changed about it.
    """
    outer, _interval = signal.getitimer(signal.ITIMER_REAL)
    if threading.current_thread() is not threading.main_thread() or 0 < outer <= seconds:
        yield
        return
    begun = time.monotonic()
    alarm = _Alarm()

    def ring(_number: int, _frame: types.FrameType | None) -> t.NoReturn:
        raise alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, SECONDS_BETWEEN_ALARMS)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _Alarm as rung:
        # It may have rung right before it was to be switched off.
        signal.setitimer(signal.ITIMER_REAL, 0)
        if rung is not alarm:
            raise
        _end_processes(rung.__traceback__)
        raise Late from None
    finally:
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(0.01, outer - (time.monotonic() - begun)))


# Of the user's task that this process does, or of the item of it that it is at.
_deadline = 0.0
_watched_process = 0


def task_timeout(seconds: int) -> int:
    """Return these seconds, the timeout of a user's task, and end its commands if any are left soon after them.

    Ansible's own timeout ends what a task does, but not the command by which it then removes its temporary folder on
    the host. To be resolved by the process that does the task.
    """
    global _deadline, _watched_process
    _deadline = time.monotonic() + seconds + SECONDS_TO_FAIL
    if _watched_process != os.getpid() and multiprocessing.parent_process() is not None:
        _watched_process = os.getpid()
        threading.Thread(target=_end_what_is_left, daemon=True).start()
    return seconds


def _end_what_is_left() -> None:
    while True:
        time.sleep(SECONDS_BETWEEN_ALARMS)
        if time.monotonic() > _deadline:
            end_descendants(os.getpid())


def end_descendants(process: int) -> None:
    """End all commands that a process has started, with what they have started."""
    pairs = _processes()
    ended = {process}
    while more := {pid for pid, parent in pairs if parent in ended} - ended:
        ended |= more
    for pid in ended - {process}:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _processes() -> list[tuple[int, ...]]:
    """Each with its parent. Not every machine has ps, nor /proc."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            lines.append(f"{path.parent.name} {path.read_text().rpartition(')')[2].split()[1]}")
    if not lines:
        told = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False)
        lines = told.stdout.splitlines()
    return [tuple(map(int, line.split())) for line in lines]


def _end_processes(traceback: types.TracebackType | None) -> None:
    """An ssh that nobody listens to any more would stay for as long as its host is silent."""
    while traceback:
        for value in list(traceback.tb_frame.f_locals.values()):
            if isinstance(value, subprocess.Popen):
                with contextlib.suppress(OSError):
                    value.kill()
        traceback = traceback.tb_next


# Ansible's workers outlive a run that is killed with SIGKILL. One that went on would hold a host for a run that has
# ended.

SECONDS_BETWEEN_LOOKS = 2.0


@contextlib.contextmanager
def ending_with_the_run() -> Iterator[None]:
    """While this lasts, this process ends soon after the one that has started it. Only for a process of Ansible's."""
    run = multiprocessing.parent_process()
    if run is None:
        yield
        return
    over = threading.Event()
    watchdog = threading.Thread(target=_watch, args=(run.pid, over), daemon=True)
    watchdog.start()
    try:
        yield
    finally:
        over.set()
        watchdog.join()


def _watch(run: int | None, over: threading.Event) -> None:
    while not over.wait(SECONDS_BETWEEN_LOOKS):
        if os.getppid() != run:
            # Not by an exception: the other thread waits for the host, and would not hear it.
            os._exit(1)


# A module costs the controller and the host some 150 ms of work each; one command costs a fifth. Where the command
# can't work, the module does the same. On a Windows host neither works: see windows.py.

# The answer stands between marks, as a login shell may say something of its own.
MARK = "--maintenance.azure--"
# Said before anything is done: without it, nothing has been.
BEGUN = "--maintenance.azure begins--"
# A single argument of a command can be 128 KiB long.
LONGEST_ARGUMENT = 100_000
# What one host may answer. Thousands of records of a load balancer fit, and nothing that keeps the others waiting.
LARGEST_ANSWER = 8 * 1024 * 1024
MOST_PARTS, MOST_VALUES = 200_000, 500_000
# Arguments of a step may be nested themselves.
DEEPEST_ANSWER = 2 * answers.DEEPEST_DATA
OUR_PACKAGE = "ansible_collections.maintenance.azure.plugins.module_utils"
# The modules are made in the order in which they need each other; the last one has the function that is called.
MODULE = "maintenance.azure._host_command"
LOADER = f"""
import binascii, json, sys, zlib
parts, request = json.loads(zlib.decompress(binascii.a2b_base64(sys.argv[1])).decode("utf-8"))
for name, source in parts:
    part = sys.modules[name] = type(sys)(name)
    part.__path__ = []
    parent = name.rpartition(".")
    if parent[0]:
        setattr(sys.modules[parent[0]], parent[2], part)
    exec(compile(source, name, "exec"), part.__dict__)
if request is None:
    request = json.loads(sys.stdin.readline())
sys.stdout.write("{BEGUN}\\n")
sys.stdout.flush()
print("{MARK}" + json.dumps(part.carried_out(*request)) + "{MARK}")
"""
ANY_PYTHON = '"$(command -v python3 || command -v /usr/libexec/platform-python || echo python)"'


class HostHalf:
    """A file of module_utils with a function `carried_out(request, check_mode)`, a command of `_host_command`.

    The result is a dict, with `failed` and `msg` where it did not work. Whatever way it took, only
    what `shape` names gets through. `private` says that a request may hold secrets: it then does not become part of a
    command, which other users of the host can see. `more` are full names of modules that are sent along without being
    imported.
    """

    def __init__(
        self, name: str, code: types.ModuleType, shape: answers.Shape, private: bool, more: Collection[str] = ()
    ) -> None:
        self.name = name
        self.shape = shape
        self.private = private
        self.code = code.__name__
        self.sources: dict[str, str] = {}
        self.imports: dict[str, list[str]] = {}
        self.more = more
        for name in (*more, self.code):
            self._learn(name)

    def _learn(self, name: str) -> None:
        """Remember the source of a module of ours as hosts get it, and of all that it imports of ours."""
        self.sources[name], self.imports[name] = _as_sent(name)
        for needed in self.imports[name]:
            if needed not in self.sources:
                self._learn(needed)

    def parts(self, unused: Collection[str]) -> list[tuple[str, str]]:
        """Names and sources in the order in which they are needed; those that are not used are empty."""
        packages = self.code.split(".")[:-1]
        found = {".".join(packages[: depth + 1]): "" for depth in range(len(packages))}

        def add(name: str) -> None:
            if name in found:
                return
            if name in unused:
                found[name] = ""
                return
            for needed in self.imports[name]:
                add(needed)
            found[name] = self.sources[name]

        for name in (*self.more, self.code):
            add(name)
        return list(found.items())

    def run(
        self,
        action: ActionBase,
        request: dict[str, t.Any],
        task_vars: dict[str, t.Any],
        unused: Collection[str] = (),
        first: Callable[[], t.Any] | None = None,
        for_module: Mapping[str, t.Any] | None = None,
        ends_with_the_run: bool = False,
        seconds: float = SECONDS_OF_A_COMMAND,
        after_silence: float = SECONDS_AFTER_SILENCE,
    ) -> dict[str, t.Any]:
        """Try the ways to the host in turn; one that can't work there does nothing and returns None.

        `first` is a way that goes before ours. `for_module` is what only the module needs in its request. `unused` are
        full names of modules that this request does not get to: what is not sent is not compiled. `ends_with_the_run`:
        the host is kept for this run while this lasts, so it must not outlive it. `seconds` is the time in which all of
        it ends, and `after_silence` that of a host which has been silent before.
        """
        watched = ending_with_the_run() if ends_with_the_run else contextlib.nullcontext()
        with watched, answering_within(action, task_vars, seconds, after_silence):
            return self._run(action, request, task_vars, unused, first, for_module or {})

    def _run(
        self,
        action: ActionBase,
        request: dict[str, t.Any],
        task_vars: dict[str, t.Any],
        unused: Collection[str],
        first: Callable[[], t.Any] | None,
        for_module: Mapping[str, t.Any],
    ) -> dict[str, t.Any]:
        notice_silence(action._connection)
        if windows.is_windows(action):
            return answers.checked(
                windows.run_by_powershell(action, sys.modules[self.code], request, task_vars), self.shape
            )
        answer = first() if first else None
        if answer is None:
            answer = self._quickly(action, request, task_vars, unused)
        if answer is None:
            answer = action._execute_module(
                module_name=MODULE,
                module_args={"name": self.name, "request": {**request, **for_module}},
                task_vars=task_vars,
            )
            # Or Ansible removes it when the task is over, and waits for that as long as it takes.
            action._remove_tmp_path(action._connection._shell.tmpdir)
            if answer.get("rc") in NOT_RUN and not answer.get("_ansible_parsed", True):
                return _without_python(str(action._task.delegate_to or task_vars["inventory_hostname"]), answer)
        return answers.checked(answer, self.shape)

    def _quickly(
        self, action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any], unused: Collection[str]
    ) -> t.Any:
        """What the host code returned, or None where this way does not work and nothing was done."""
        python = _python(action, task_vars)
        if python is None or (self.private and not _reads_input(action)):
            return None
        given = [request, bool(action._task.check_mode)]
        payload = json.dumps([self.parts(unused), None if self.private else given]).encode()
        # For each host anew, so it should not take long; what is gained by more is little.
        argument = base64.b64encode(zlib.compress(payload, zlib.Z_BEST_SPEED)).decode()
        if len(argument) > LONGEST_ARGUMENT:
            return None
        command = f"{python} -S -c {shlex.quote(LOADER)} {argument}"
        environment = action._compute_environment_string()
        result = action._low_level_execute_command(
            f"{environment} {command}" if environment else command,
            in_data=json.dumps(given).encode() + b"\n" if self.private else None,
        )
        found = re.search(f"{MARK}(.*){MARK}", result["stdout"], re.DOTALL)
        if found:
            try:
                # A service's documents are texts in it, whose parts count as well.
                answer = documents.json_of(found.group(1), LARGEST_ANSWER, MOST_PARTS, MOST_VALUES, DEEPEST_ANSWER)
                # None would mean that nothing was done.
                return [] if answer is None else answer
            except ValueError as error:
                return {"failed": True, "msg": f"The host's answer can't be understood: {str(error)[:200]}"}
        if BEGUN not in result["stdout"]:
            # No Python, no shell as we know it: the module may find a way.
            return None
        said = result["stderr"].strip()[-300:] or result["rc"]
        return {"failed": True, "msg": f"The host's answer was cut off: {said}"}


@functools.cache
def _as_sent(name: str) -> tuple[str, list[str]]:
    """The source of a module as hosts get it, and the modules of ours that it imports, each after its package.

    Comments and docstrings are left out. Imports become absolute, as nothing on the host is in a package.
    """
    module = sys.modules[name]
    # Packages hold modules and a docstring, which hosts do not need.
    if hasattr(module, "__path__"):
        return "", []
    source = inspect.getsource(module)
    lines: list[str | None] = [*source.split("\n")]
    package = name.rpartition(".")[0]
    found: list[str] = []
    kept: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            target = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            if node.level:
                lines[node.lineno - 1] = re.sub(
                    r"from \.+[\w.]*", f"from {target}", str(lines[node.lineno - 1]), count=1
                )
            if target.startswith(f"{OUR_PACKAGE}."):
                inner, _dot, leaf = target[len(OUR_PACKAGE) + 1 :].partition(".")
                modules = [leaf] if leaf else [alias.name for alias in node.names]
                found += [f"{OUR_PACKAGE}.{inner}", *(f"{OUR_PACKAGE}.{inner}.{one}" for one in modules)]
        elif isinstance(node, ast.Constant) and node.end_lineno != node.lineno:
            kept.update(range(node.lineno, (node.end_lineno or 0) + 1))
        elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            text = node.body[0]
            lines[text.lineno - 1] = " " * text.col_offset + "pass"
            for number in range(text.lineno, text.end_lineno or 0):
                lines[number] = None
    sent = [
        line
        for number, line in enumerate(lines, 1)
        if line is not None and (number in kept or line.strip()[:1] not in ("", "#"))
    ]
    return "\n".join(sent), found


def _python(action: ActionBase, task_vars: dict[str, t.Any]) -> str | None:
    """The command that starts Python on the host, or None where only Ansible itself can find out."""
    if action._task.async_val or action._connection._shell.SHELL_FAMILY != "sh":
        return None
    if action._task.delegate_to:
        task_vars = task_vars.get("ansible_delegated_vars", {}).get(action._task.delegate_to, {})
    interpreter = str(task_vars.get("ansible_python_interpreter") or "auto")
    if interpreter.startswith("auto"):
        return ANY_PYTHON
    return None if "{{" in interpreter else shlex.quote(interpreter)


# The shell did not find what it was to run, or may not run it.
NOT_RUN = (126, 127)


def _without_python(host: str, answer: Mapping[str, t.Any]) -> dict[str, t.Any]:
    lines = f"{answer.get('module_stderr', '')}\n{answer.get('module_stdout', '')}".strip().splitlines()
    why = f" ({lines[0].strip()[:200]})" if lines else ""
    message = (
        f"{host} needs Python 3.6 or newer, and none could be run there{why}: install it, or set"
        " ansible_python_interpreter to its path"
    )
    return answers.checked({"failed": True, "changed": False, "msg": message}, answers.mapping)


def _reads_input(action: ActionBase) -> bool:
    """Whether the host code can be given something to read: what Ansible asks before it pipes a module to a host."""
    become = action._connection.become
    return bool(action._connection.has_pipelining) and (become is None or become.name != "su")
