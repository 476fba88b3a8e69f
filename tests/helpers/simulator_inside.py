# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator's parts in this process: no sockets, no threads, and a time that the test drives.

with inside({"vms": [{"name": "web-0"}]}) as simulator:
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    simulator.time.go_on(900)
    assert simulator.event(event["id"])["status"] == "Started"
"""

from __future__ import annotations

import contextlib
import email.message
import importlib
import json
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

from helpers.driven_time import DrivenTime
from helpers.simulator_process import METADATA, PROGRAM, Answer, ControlError, SimulatorClient


def part(name: str) -> ModuleType:
    """A module of the simulator. Its folder is copied to machines as it is, so nothing compiled is left there."""
    if str(PROGRAM.parent) not in sys.path:
        sys.path.append(str(PROGRAM.parent))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.import_module(f"{PROGRAM.name}.{name}")
    finally:
        sys.dont_write_bytecode = before


# Those that look at a clock, or wait.
TIMED = [
    part(name)
    for name in ("clock", "control", "event", "faults", "life_cycle", "metadata_service", "rate_limit", "request_log")
] + [part("world")]
Request = part("http_messages").Request


@contextlib.contextmanager
def driven_time() -> Iterator[DrivenTime]:
    """The time of all parts that are used meanwhile."""
    driven = DrivenTime()
    with contextlib.ExitStack() as stack:
        for module in TIMED:
            for name in {"time", "threading"} & set(vars(module)):
                stack.enter_context(mock.patch.object(module, name, driven))
        yield driven


def a_request(method: str, target: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
    path, _mark, query = target.partition("?")
    text = "" if body is None else body if isinstance(body, (bytes, str)) else json.dumps(body)
    message = email.message.Message()
    for name, value in (headers or {}).items():
        message[name] = value
    return Request(method, path, query, message, text.encode("utf-8") if isinstance(text, str) else text)


class NoAnswer(Exception):
    """The connection is closed without one."""


class Inside(SimulatorClient):
    """A simulator like that of simulator_process.py, but in this process and without a rate limit."""

    def __init__(self, driven: DrivenTime, fleet: dict[str, Any], profile: str, settings: dict[str, Any]) -> None:
        super().__init__("")
        self.time = driven
        self.heard: list[tuple[str, str]] = []
        self.synced = 0
        document = {**fleet, "settings": {"requests_per_second": 0, **fleet.get("settings", {}), **settings}}
        self.fleet = part("fleet").Fleet(document, profile)
        clock = part("clock").Clock(self.fleet.settings["speed"])
        self.world = part("world").World(self.fleet, clock, lambda event, change: self.heard.append((event.id, change)))
        self.faults = part("faults").Faults(self.fleet.vms)
        self.requests = part("request_log").RequestLog()
        self.service = part("metadata_service").MetadataService(self.world, self.faults, self.requests)
        self._control = part("control").Control(self.service, self._sync)

    def _sync(self) -> None:
        self.synced += 1

    def call(self, method: str, path: str, body: Any = None) -> Any:
        told = self.told(method, path, body)
        if told.status >= 300:
            raise ControlError(told.status, told.json["error"])
        return told.json

    def told(self, method: str, path: str, body: Any = None) -> Answer:
        """What the control interface says, whatever it is."""
        return _answer(self._control.answer(a_request(method, path, body)))

    def ask(self, vm: str, path: str, method: str = "GET", body: Any = None, **more: Any) -> Answer:
        request = a_request(method, path, body, more.get("headers", METADATA))
        response = self.service.answer(self.fleet.vms[vm], request, more.get("client_is_there", lambda: True))
        if response is None:
            raise NoAnswer
        return _answer(response)


def _answer(response: Any) -> Answer:
    headers = {"content-type": response.content_type, **{k.lower(): v for k, v in response.headers.items()}}
    return Answer(response.status, headers, response.body)


@contextlib.contextmanager
def inside(fleet: dict[str, Any] | None = None, profile: str = "quick", **settings: Any) -> Iterator[Inside]:
    with driven_time() as driven:
        yield Inside(driven, fleet or {"vms": [{"name": "a"}]}, profile, settings)
