# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins for modules of ansible.windows: they do to the double what the real ones do to Windows.

Commands are those of this machine. The scripts of ours that win_powershell runs are known by their names, and run in
the PowerShell of this machine where there is one.
"""

from __future__ import annotations

import ast
import base64
import functools
import json
import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from helpers.windows_double import powershell_process
from helpers.windows_double.machine import Machine
from helpers.windows_double.piped import Piped

# What the modules of ansible.windows take, by their own documentation.

COLLECTION = Path("ansible_collections") / "ansible" / "windows" / "plugins"


def _plugins() -> Path:
    for folder in os.environ["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep):
        if (Path(folder) / COLLECTION).is_dir():
            return Path(folder) / COLLECTION
    raise FileNotFoundError("ansible.windows is in none of ANSIBLE_COLLECTIONS_PATH")


def _documentation(path: Path, name: str) -> dict[str, Any]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            found: dict[str, Any] = yaml.safe_load(ast.literal_eval(node.value))
            return found
    raise ValueError(f"{path} has no {name}")


@functools.cache
def options_of(module: str) -> dict[str, dict[str, Any]]:
    """Option, or one of its other names -> what is documented of it. Raises where there is no such module."""
    plugins = _plugins()
    told = _documentation(plugins / "modules" / f"{module}.py", "DOCUMENTATION")
    options: dict[str, dict[str, Any]] = dict(told.get("options") or {})
    for fragment in told.get("extends_documentation_fragment", []):
        name = fragment.rpartition(".")[2]
        path = plugins / "doc_fragments" / f"{name}.py"
        if path.is_file():
            options = {**_documentation(path, "DOCUMENTATION")["options"], **options}
    aliases = {alias: option for option in options.values() for alias in option.get("aliases", [])}
    return {**options, **aliases}


def complaint_about(module: str, arguments: dict[str, Any]) -> str:
    """What the real module refuses: options that it does not have, choices that are none, what is missing."""
    options = options_of(module)
    for name, value in arguments.items():
        if name not in options:
            return f"Unsupported parameters for ({module}) module: {name}"
        choices = options[name].get("choices")
        if choices and value is not None and str(value) not in map(str, choices):
            return f"value of {name} must be one of: {', '.join(map(str, choices))}. Got no match for: {value}"
    given = [id(options[name]) for name in arguments]
    # By whichever of its names.
    missing = [name for name, option in options.items() if option.get("required") and id(option) not in given]
    return f"missing required arguments: {', '.join(missing)}" if missing else ""


SCRIPTS = Path(__file__).resolve().parents[3] / "roles" / "steps" / "files" / "windows"


def done(machine: Machine, piped: Piped) -> dict[str, Any]:
    collection, _dot, module = piped.module.rpartition(".")
    # Ansible takes that of ansible.windows, and calls it by its old name.
    if module == "async_status":
        return _async_status(machine, piped.arguments)
    stand_in = STAND_INS.get(module)
    if collection != "ansible.windows" or stand_in is None:
        return {"failed": True, "msg": f"The double does not know the module {piped.module}"}
    given = {name: value for name, value in piped.arguments.items() if value is not None}
    complaint = complaint_about(module, given)
    if complaint:
        return {"failed": True, "msg": complaint}
    if piped.job:
        return _goes_on_alone(machine, piped)
    return stand_in(machine, given, piped.check_mode)


# What goes on alone: a process of its own, that is ended when its time is over.


def _job(machine: Machine, job: str) -> Path:
    folder = machine.folder / "jobs"
    folder.mkdir(exist_ok=True)
    return folder / job


def _goes_on_alone(machine: Machine, piped: Piped) -> dict[str, Any]:
    place = _job(machine, piped.job)
    place.write_text(json.dumps({"started": 1, "finished": 0, "ansible_job_id": piped.job}))
    order = json.dumps(
        [str(machine.folder), piped.module, piped.arguments, piped.check_mode, str(place), piped.seconds]
    )
    tests = str(Path(__file__).resolve().parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", "from helpers.windows_double.modules import watchdog; watchdog()", order],
        env={**os.environ, "PYTHONPATH": tests},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    ) as process:
        # It is not waited for.
        process.returncode = 0
    return {"started": 1, "finished": 0, "ansible_job_id": piped.job, "results_file": str(place), "changed": True}


def watchdog() -> None:
    """Does what was ordered, in a process of its own that is killed when the time is over."""
    folder, module, arguments, check_mode, place, seconds = json.loads(sys.argv[1])
    child = os.fork()
    if child == 0:
        os.setsid()
        stand_in = STAND_INS[module.rpartition(".")[2]]
        given = {name: value for name, value in arguments.items() if value is not None}
        answer = stand_in(Machine(Path(folder)), given, check_mode)
        Path(f"{place}.new").write_text(json.dumps(answer))
        Path(f"{place}.new").replace(place)
        os._exit(0)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.1)
    os.killpg(child, 9)
    Path(place).write_text(json.dumps({"failed": True, "msg": "timed out waiting for module completion"}))


def _async_status(machine: Machine, arguments: dict[str, Any]) -> dict[str, Any]:
    job = arguments["jid"]
    place = _job(machine, job)
    if arguments.get("mode") == "cleanup":
        place.unlink(missing_ok=True)
        return {"ansible_job_id": job, "erased": str(place)}
    if not place.exists():
        return {"failed": True, "ansible_job_id": job, "started": 1, "finished": 1, "msg": "could not find job"}
    data: dict[str, Any] = json.loads(place.read_text())
    if "started" not in data:
        data.update(finished=1, ansible_job_id=job)
    return data


def _command(_machine: Machine, given: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    if check_mode:
        return {
            "changed": False,
            "skipped": True,
            "msg": "remote module (ansible.windows.win_command) does not support check mode",
        }
    words = given.get("argv") or shlex.split(given["cmd"])
    try:
        found = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        return {"failed": True, "changed": False, "rc": 2, "msg": f"Failed to start the command: {error}"}
    answer = {"changed": True, "rc": found.returncode, "stdout": found.stdout, "stderr": found.stderr}
    return {**answer, "failed": True, "msg": "non-zero return code"} if found.returncode else answer


def _service_info(machine: Machine, given: dict[str, Any], _check_mode: bool) -> dict[str, Any]:
    state = machine.services().get(given["name"])
    services = [] if state is None else [{"name": given["name"], "state": state}]
    return {"changed": False, "exists": state is not None, "services": services}


def _service(machine: Machine, given: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    name, wanted = given["name"], given["state"]
    state = machine.services().get(name)
    if state is None:
        return {"failed": True, "msg": f"Service '{name}' is not installed, need to set 'path' to create a new service"}
    if machine.trouble().get("stuck") == name:
        time.sleep(600)
    if not check_mode and machine.trouble().get("stays") != name:
        machine.set_services(**{name: wanted})
    return {"changed": state != wanted, "exists": True, "state": wanted}


def _stat(machine: Machine, given: dict[str, Any], _check_mode: bool) -> dict[str, Any]:
    return {"changed": False, "stat": {"exists": machine.real(given["path"]).exists()}}


def _uri(_machine: Machine, given: dict[str, Any], _check_mode: bool) -> dict[str, Any]:
    body = given.get("body")
    data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
    headers = {**(given.get("headers") or {})}
    if given.get("content_type"):
        headers["Content-Type"] = given["content_type"]
    request = urllib.request.Request(given["url"], data=data, headers=headers, method=given.get("method", "GET"))
    try:
        with urllib.request.urlopen(request, timeout=float(given.get("timeout") or 30)) as response:
            status, content = response.status, response.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        status, content = error.code, error.read().decode("utf-8", "replace")
    except OSError as error:
        return {"failed": True, "changed": False, "msg": f"The request failed: {error}"}
    accepted = [int(one) for one in given.get("status_code", [200])]
    answer = {"changed": False, "status_code": status, "content": content}
    return answer if status in accepted else {**answer, "failed": True, "msg": f"Status code of request '{status}'"}


def _wait_for(_machine: Machine, given: dict[str, Any], _check_mode: bool) -> dict[str, Any]:
    ends = time.monotonic() + float(given.get("timeout", 300))
    while True:
        try:
            socket.create_connection((given["host"], int(given["port"])), 1).close()
            return {"changed": False, "elapsed": 0}
        except OSError:
            if time.monotonic() >= ends:
                return {
                    "failed": True,
                    "msg": f"timeout while waiting for {given['host']}:{given['port']} to start listening",
                }
            time.sleep(float(given.get("sleep", 1)))


def _powershell(machine: Machine, given: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    for script, stand_in in OUR_SCRIPTS.items():
        if given["script"].strip() == (SCRIPTS / script).read_text(encoding="utf-8").strip():
            if powershell_process.POWERSHELL:
                return powershell_process.script(machine, SCRIPTS / script, given["parameters"], check_mode)
            return stand_in(machine, given["parameters"], check_mode)
    return {"failed": True, "msg": "The double can't run PowerShell"}


def _probe_file(machine: Machine, given: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    path = machine.real(given["Path"])
    found = {"content": base64.b64encode(path.read_bytes()).decode()} if path.is_file() else None
    changes = {
        "look": False,
        "remove": found is not None,
        "create": found is None,
        "put": found is None or found["content"] != given["Content"],
    }[given["Action"]]
    if changes and not check_mode:
        if given["Action"] == "remove":
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(given["Content"]))
    if not check_mode:
        time.sleep(int(given["Wait"]))
    return {"changed": changes, "result": {"file": found}}


def _connections(machine: Machine, given: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    ends = time.monotonic() + float(given["Seconds"])
    while True:
        left = int(machine.trouble().get("connections", 0))
        if left <= int(given["AtMost"]) or check_mode or time.monotonic() >= ends:
            return {"changed": False, "result": {"established": left}}
        time.sleep(0.2)


def _event_log(machine: Machine, given: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    if not check_mode:
        with (machine.folder / "event_log").open("a", encoding="utf-8") as log:
            log.write(json.dumps(given) + "\n")
    return {"changed": True, "result": {}}


def _ping(_machine: Machine, _given: dict[str, Any], _check_mode: bool) -> dict[str, Any]:
    return {"changed": False, "ping": "pong"}


OUR_SCRIPTS = {"probe_file.ps1": _probe_file, "connections.ps1": _connections, "event_log.ps1": _event_log}
STAND_INS: dict[str, Any] = {
    "win_command": _command,
    "win_ping": _ping,
    "win_powershell": _powershell,
    "win_service": _service,
    "win_service_info": _service_info,
    "win_stat": _stat,
    "win_uri": _uri,
    "win_wait_for": _wait_for,
}
