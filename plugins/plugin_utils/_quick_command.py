# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a small piece of host code as one command: no file is copied, and no module has to be unpacked.

A module costs the controller and the host some 150 ms of work each; this costs a fifth. Where it can't work, the caller
runs the module instead.
"""

from __future__ import annotations

import base64
import functools
import inspect
import json
import re
import shlex
import typing as t
import zlib

from ansible.plugins.action import ActionBase
from ansible_collections.maintenance.azure.plugins.module_utils import _exchange, _imds, _leases

# The answer stands between marks, as a login shell may say something of its own.
MARK = "--maintenance.azure--"
# Said before anything is asked of the service: without it, nothing has been.
BEGUN = "--maintenance.azure begins--"
# A single argument of a command can be 128 KiB long.
LONGEST_ARGUMENT = 100_000
# The parts are made into modules in this order; the last one has the function that is called.
PARTS = {"_imds": _imds, "_leases": _leases, "_exchange": _exchange}
LOADER = f"""
import base64, json, sys, types, zlib
given = json.loads(zlib.decompress(base64.b64decode(sys.argv[1])).decode("utf-8"))
space = {{}}
for name, source in given["parts"]:
    part = types.ModuleType(name)
    part.__dict__.update(space)
    exec(compile(source, name, "exec"), part.__dict__)
    space[name] = part
sys.stdout.write("{BEGUN}\\n")
sys.stdout.flush()
print("{MARK}" + json.dumps(part.exchange(given["request"])) + "{MARK}")
"""
ANY_PYTHON = '"$(command -v python3 || command -v /usr/libexec/platform-python || echo python)"'


@functools.lru_cache(maxsize=1)
def _parts() -> list[tuple[str, str]]:
    # On the host the parts are beside each other, not in a collection.
    own_import = re.compile(r"^from ansible_collections\.maintenance\.azure\..*\n", re.MULTILINE)
    return [(name, own_import.sub("", inspect.getsource(part))) for name, part in PARTS.items()]


def run_quickly(action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any] | None:
    """What the host code returned, or None where this way does not work and nothing was asked."""
    python = _python(action, task_vars)
    if python is None:
        return None
    payload = json.dumps({"parts": _parts(), "request": request}).encode()
    argument = base64.b64encode(zlib.compress(payload, 9)).decode()
    if len(argument) > LONGEST_ARGUMENT:
        return None
    command = f"{python} -c {shlex.quote(LOADER)} {argument}"
    environment = action._compute_environment_string()
    result = action._low_level_execute_command(f"{environment} {command}" if environment else command)
    found = re.search(f"{MARK}(.*){MARK}", result["stdout"], re.DOTALL)
    if found:
        return json.loads(found.group(1))
    if BEGUN not in result["stdout"]:
        # No Python, no shell as we know it: the module may find a way.
        return None
    return {"failed": True, "msg": f"The host's answer was cut off: {result['stderr'].strip()[-300:] or result['rc']}"}


def _python(action: ActionBase, task_vars: dict[str, t.Any]) -> str | None:
    """The command that starts Python on the host, or None where only Ansible itself can find out."""
    if action._task.delegate_to or action._task.async_val or action._connection._shell.SHELL_FAMILY != "sh":
        return None
    interpreter = str(task_vars.get("ansible_python_interpreter") or "auto")
    if interpreter.startswith("auto"):
        return ANY_PYTHON
    return None if "{{" in interpreter else shlex.quote(interpreter)
