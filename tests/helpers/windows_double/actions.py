# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The actions of _windows_host.ps1 in Python: what it answers, this answers. A test replays what a real one said."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import os
import socket
import time
import types
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible_collections.maintenance.azure.plugins.plugin_utils._host import windows as _windows

from helpers.windows_double.machine import ADMINISTRATORS, Machine

# Behind an action, which takes modules to it: for what decides on the controller.


class BehindAnAction:
    def __init__(self, folder: Path) -> None:
        self.machine = Machine(folder / "windows")
        self.calls: list[list[str]] = []
        self._task = types.SimpleNamespace(delegate_to=None, check_mode=False)
        # What happens before the call of this number.
        self.meanwhile: dict[int, Any] = {}

    def _execute_module(self, module_name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        self.meanwhile.get(len(self.calls), lambda: None)()
        self.calls.append([action["action"] for action in module_args["actions"]])
        return done(self.machine, module_args["actions"], check_mode=False)

    def run(self, code: types.ModuleType, request: dict[str, Any]) -> dict[str, Any]:
        """What a host half returns for a request."""
        action: Any = self
        return _windows.run_by_powershell(action, code, request, {"inventory_hostname": "web"})


Action = dict[str, Any]
Result = dict[str, Any]


def done(machine: Machine, actions: list[Action], check_mode: bool) -> Result:
    """The result of the module."""
    hands = _Hands(machine, check_mode)
    results: list[Result] = []
    for action in actions:
        try:
            results.append(hands.do(action))
        except OSError as error:
            results.append({"problem": "failed", "said": str(error)})
        if results[-1].get("problem"):
            break
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return {"changed": any(one.get("replaced") for one in results), "results": results, "now": now}


class _Hands:
    def __init__(self, machine: Machine, check_mode: bool) -> None:
        self.machine = machine
        self.check_mode = check_mode
        self.last_body: str | None = None

    def do(self, action: Action) -> Result:
        if action.get("only_if") is not None and action["only_if"] != self.last_body:
            return {"problem": "changed", "said": "the answer before is another one"}
        known = {"send": self.send, "read": self.read, "replace": self.replace, "boot": self.boot}
        if action["action"] not in known:
            return {"problem": "unknown", "said": f"This host does not know the action {action['action']}"}
        return known[action["action"]](action)

    def send(self, action: Action) -> Result:
        started = time.monotonic()
        try:
            connection = socket.create_connection((action["address"], action["port"]), action["connect_ms"] / 1000)
        except socket.gaierror as error:
            return {"problem": "not_resolved", "said": error.strerror}
        except TimeoutError:
            return {"problem": "not_accepted", "said": "no answer to the connection attempt"}
        except OSError as error:
            return {"problem": "not_accepted", "said": error.strerror}
        found, problem, said = b"", None, None
        with connection:
            try:
                connection.sendall(base64.b64decode(action["request"]))
                while True:
                    left = action["total_ms"] / 1000 - (time.monotonic() - started)
                    if left <= 0:
                        problem = "timed_out"
                        break
                    connection.settimeout(left)
                    piece = connection.recv(65536)
                    if not piece:
                        break
                    found += piece
                    if len(found) > action["largest"]:
                        problem = "too_large"
                        break
            except TimeoutError:
                problem, said = "timed_out", "Connection timed out"
            except OSError as error:
                problem, said = "broken", error.strerror
        _head, blank, body = found.partition(b"\r\n\r\n")
        self.last_body = hashlib.sha256(body).hexdigest() if blank else None
        answer = base64.b64encode(found).decode()
        return {"problem": problem, "said": said, "answer": answer, "body_sha256": self.last_body}

    def boot(self, action: Action) -> Result:
        told: Result = {"count": self.machine.boot_count(), "uptime": round(self.machine.uptime(), 1)}
        another = "same_count" in action and action["same_count"] != told["count"]
        early = action.get("uptime_from") is not None and told["uptime"] < action["uptime_from"]
        late = action.get("uptime_to") is not None and told["uptime"] > action["uptime_to"]
        if another or early or late:
            told.update(problem="changed", said="another boot, or too late")
        return told

    def read(self, action: Action) -> Result:
        path = self.machine.real(action["path"])
        if not path.is_file():
            return {"content": None, "sha256": None}
        doubt = self._doubt(_folder_of(action["path"])) or self._doubt(action["path"])
        if doubt:
            return {"problem": "not_trusted", "said": doubt}
        if path.stat().st_size > action["largest"]:
            return {"problem": "too_large", "said": f"{path.stat().st_size} bytes"}
        content = path.read_bytes()
        return {"content": base64.b64encode(content).decode(), "sha256": hashlib.sha256(content).hexdigest()}

    def replace(self, action: Action) -> Result:
        path, folder = self.machine.real(action["path"]), _folder_of(action["path"])
        real_folder = self.machine.real(folder)
        if not real_folder.is_dir():
            if self.check_mode:
                matches = action.get("expected") is None
                return {"replaced": True, "sha256": None} if matches else _mismatch(action, None)
            # As Windows has it: somebody else may make it at the same moment.
            real_folder.mkdir(parents=True, exist_ok=True)
            self.machine.set_owner(folder, ADMINISTRATORS)
        doubt = self._doubt(folder)
        if doubt:
            return {"problem": "not_trusted", "said": doubt}
        with self._guarded(path):
            there = None
            if path.is_file():
                doubt = self._doubt(action["path"])
                if doubt:
                    return {"problem": "not_trusted", "said": doubt}
                there = hashlib.sha256(path.read_bytes()).hexdigest()
            if not action.get("whatever_is_there") and there != action.get("expected"):
                return _mismatch(action, there)
            if self.check_mode:
                return {"replaced": True, "sha256": there}
            if action.get("content") is None:
                path.unlink(missing_ok=True)
                return {"replaced": True, "sha256": None}
            content = base64.b64decode(action["content"])
            fresh = path.with_name(path.name + ".new")
            fresh.write_bytes(content)
            fresh.replace(path)
            self.machine.set_owner(action["path"], ADMINISTRATORS)
            return {"replaced": True, "sha256": hashlib.sha256(content).hexdigest()}

    def _doubt(self, path: str) -> str:
        if self.machine.real(path).is_symlink():
            return f"{path} is a link, which is not followed"
        if not self.machine.is_trusted(path):
            owner = self.machine.owner(path)
            return f"{path} belongs to {owner}, not to SYSTEM, the Administrators or this user"
        return ""

    @contextlib.contextmanager
    def _guarded(self, path: Path) -> Iterator[None]:
        if self.check_mode:
            yield
            return
        descriptor = os.open(f"{path}.guard", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _mismatch(action: Action, there: str | None) -> Result:
    result: Result = {"replaced": False, "sha256": there}
    if action.get("or_stop"):
        result.update(problem="changed", said="the file holds something else")
    return result


def _folder_of(path: str) -> str:
    return path[: max(path.rfind("/"), path.rfind("\\"))]
