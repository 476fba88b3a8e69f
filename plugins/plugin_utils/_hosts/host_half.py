# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host code as one command: no file is copied, and nothing has to be unpacked.

A module costs the controller and the host some 150 ms of work each; this costs a fifth. Where it can't work, the module
does the same. On a Windows host none of them can: see powershell.py.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import inspect
import json
import re
import shlex
import sys
import types
import typing as t
import zlib
from collections.abc import Callable, Collection

from ansible.plugins.action import ActionBase
from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import json_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.answers import DEEPEST_DATA, Shape, checked
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.deeds import is_windows
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.orphan import ending_with_the_run
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.powershell import run_by_powershell
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.silence import (
    SECONDS_AFTER_SILENCE,
    SECONDS_OF_A_COMMAND,
    answering_within,
    notice_silence,
)

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
DEEPEST_ANSWER = 2 * DEEPEST_DATA
OUR_PACKAGE = "ansible_collections.maintenance.azure.plugins.module_utils"
# The modules are made in the order in which they need each other; the last one has the function that is called.
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
    """A file of module_utils with a function `carried_out(request, check_mode)`, and the module that calls it too.

    The result is that of the module: a dict, with `failed` and `msg` where it did not work. Whatever way it took, only
    what `shape` names gets through. `private` says that a request may hold secrets: it then does not become part of a
    command, which other users of the host can see.
    """

    def __init__(self, module: str, code: types.ModuleType, shape: Shape, private: bool) -> None:
        self.module = f"maintenance.azure.{module}"
        self.shape = shape
        self.private = private
        self.code = code.__name__
        self.sources: dict[str, str] = {}
        self.imports: dict[str, list[str]] = {}
        self._learn(self.code)

    def _learn(self, name: str) -> None:
        """Remember the source of a module of ours, and of all that it imports of ours."""
        module = sys.modules[name]
        # The packages hold nothing but modules.
        self.sources[name] = "" if hasattr(module, "__path__") else inspect.getsource(module)
        self.imports[name] = _imports_in(self.sources[name])
        for needed in self.imports[name]:
            if needed not in self.sources:
                self._learn(needed)

    def _parts(self, unused: Collection[str]) -> list[tuple[str, str]]:
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

        add(self.code)
        return list(found.items())

    def run(
        self,
        action: ActionBase,
        request: dict[str, t.Any],
        task_vars: dict[str, t.Any],
        module_args: dict[str, t.Any] | None = None,
        unused: Collection[str] = (),
        first: Callable[[], t.Any] | None = None,
        ends_with_the_run: bool = False,
        seconds: float = SECONDS_OF_A_COMMAND,
        after_silence: float = SECONDS_AFTER_SILENCE,
    ) -> dict[str, t.Any]:
        """Try the ways to the host in turn; one that can't work there does nothing and returns None.

        `first` is a way that goes before ours. `unused` are full names of modules that this request does not get to:
        what is not sent is not compiled. `ends_with_the_run`: the host is kept for this run while this lasts, so it
        must not outlive it. `seconds` is the time in which all of it ends, and `after_silence` that of a host which has
        been silent before.
        """
        watched = ending_with_the_run() if ends_with_the_run else contextlib.nullcontext()
        with watched, answering_within(action, task_vars, seconds, after_silence):
            return self._run(action, request, task_vars, module_args, unused, first)

    def _run(
        self,
        action: ActionBase,
        request: dict[str, t.Any],
        task_vars: dict[str, t.Any],
        module_args: dict[str, t.Any] | None,
        unused: Collection[str],
        first: Callable[[], t.Any] | None,
    ) -> dict[str, t.Any]:
        notice_silence(action._connection)
        if is_windows(action):
            return checked(run_by_powershell(action, sys.modules[self.code], request, task_vars), self.shape)
        answer = first() if first else None
        if answer is None:
            answer = self._quickly(action, request, task_vars, unused)
        if answer is None:
            answer = action._execute_module(
                module_name=self.module, module_args=module_args or request, task_vars=task_vars
            )
            # Or Ansible removes it when the task is over, and waits for that as long as it takes.
            action._remove_tmp_path(action._connection._shell.tmpdir)
        return checked(answer, self.shape)

    def _quickly(
        self, action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any], unused: Collection[str]
    ) -> t.Any:
        """What the host code returned, or None where this way does not work and nothing was done."""
        python = _python(action, task_vars)
        if python is None or (self.private and not _reads_input(action)):
            return None
        given = [request, bool(action._task.check_mode)]
        payload = json.dumps([self._parts(unused), None if self.private else given]).encode()
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
                answer = json_of(found.group(1), LARGEST_ANSWER, MOST_PARTS, MOST_VALUES, DEEPEST_ANSWER)
                # None would mean that nothing was done.
                return [] if answer is None else answer
            except ValueError as error:
                return {"failed": True, "msg": f"The host's answer can't be understood: {str(error)[:200]}"}
        if BEGUN not in result["stdout"]:
            # No Python, no shell as we know it: the module may find a way.
            return None
        said = result["stderr"].strip()[-300:] or result["rc"]
        return {"failed": True, "msg": f"The host's answer was cut off: {said}"}


def _imports_in(source: str) -> list[str]:
    """The modules of ours that a source imports, each after the package that it is in, by their full names."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{OUR_PACKAGE}."):
            package, _dot, module = str(node.module)[len(OUR_PACKAGE) + 1 :].partition(".")
            modules = [module] if module else [alias.name for alias in node.names]
            found += [f"{OUR_PACKAGE}.{package}", *(f"{OUR_PACKAGE}.{package}.{name}" for name in modules)]
    return found


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


def _reads_input(action: ActionBase) -> bool:
    """Whether the host code can be given something to read: what Ansible asks before it pipes a module to a host."""
    become = action._connection.become
    return bool(action._connection.has_pipelining) and (become is None or become.name != "su")
