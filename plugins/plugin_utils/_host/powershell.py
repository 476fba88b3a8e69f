# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host commands for Windows hosts, carried out on the controller."""

from __future__ import annotations

import base64
import binascii
import hashlib
import inspect
import time
import types
import typing as t
from collections.abc import Mapping

from ansible.plugins.action import ActionBase

from ...module_utils._azure import http as _http
from ...module_utils._azure import imds as _imds
from ...module_utils._azure.http import address_of, answer_in, request_bytes
from .windows import (
    ActionResult,
    ActionsFailed,
    Changed,
    Look,
    OtherBytes,
    WindowsAction,
    WindowsActions,
    WindowsMachine,
    unexpected,
)

LARGEST_ANSWER = _http.LARGEST_BODY + 128 * 1024
# As in curl.py: who this VM is, is asked along with the events.
SECONDS_TO_ASK_ALONG = 5


class ActionTransport:
    """What imds.py calls a transport."""

    def __init__(self, machine: WindowsMachine, endpoint: str, with_instance: bool) -> None:
        self.machine = machine
        self.endpoint = endpoint
        self.address, self.port = address_of(endpoint)
        self.ask_along = _imds.INSTANCE_TARGET if with_instance else None
        self.kept: dict[str, _http.Answer] = {}

    def send(
        self,
        method: str,
        target: str,
        body: str | None,
        headers: Mapping[str, str],
        connect_seconds: float,
        seconds: float,
    ) -> _http.Answer:
        if target in self.kept:
            return self.kept.pop(target)
        send = self._send(method, target, body, headers, connect_seconds, seconds)
        if method == "POST":
            sent = self.machine.write(send)[0]
            self.machine.has_sent = True
            return _answer(sent)[0]
        along, self.ask_along = self.ask_along, None
        sends = [send]
        if along and along != target:
            sends.append(self._send(method, along, None, headers, connect_seconds, min(seconds, SECONDS_TO_ASK_ALONG)))
        found = self.machine.fetch(*sends)
        answer, content = _answer(found[0])
        if answer.status == 200 and self.machine.clock.heard:
            self.machine.look = Look(send, _body_digest(content), self.machine.clock.heard[1])
        if along and len(found) > 1 and not found[1].get("problem"):
            self.kept[along] = _answer(found[1])[0]
        return answer

    def _send(
        self,
        method: str,
        target: str,
        body: str | None,
        headers: Mapping[str, str],
        connect_seconds: float,
        seconds: float,
    ) -> WindowsAction:
        request = request_bytes(self.endpoint, method, target, body, headers)
        return {
            "action": "send",
            "address": self.address,
            "port": self.port,
            "request": base64.b64encode(request).decode(),
            "connect_ms": int(connect_seconds * 1000),
            "total_ms": int(seconds * 1000),
            "largest": LARGEST_ANSWER,
        }


def _answer(result: ActionResult) -> tuple[_http.Answer, bytes]:
    """The answer of the service and its bytes, or the exception that says why there is none."""
    problem, said = result.get("problem"), str(result.get("said") or "")
    if problem == "not_resolved":
        raise _http.NotResolved(said)
    if problem == "not_accepted":
        raise _http.NotAccepted(said)
    if problem == "too_large":
        raise _http.TooLarge()
    if problem not in (None, "timed_out", "broken"):
        raise ActionsFailed(unexpected(f"{problem}: {said}"))
    try:
        content = base64.b64decode(result.get("answer") or "", validate=True)
    except (binascii.Error, ValueError):
        raise ActionsFailed(unexpected("the answer of its service is cut off")) from None
    if problem == "timed_out":
        raise _http.TimedOut()
    if problem == "broken":
        raise _http.Broken(said or "the connection ended")
    return answer_in(content, time.time()), content


def _body_digest(content: bytes) -> str:
    """As the host makes it: of what follows the head."""
    return hashlib.sha256(content.partition(b"\r\n\r\n")[2]).hexdigest()


def ways_to_the_service(machine: WindowsMachine, request: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What the host halves need to ask the service of that machine."""
    # Looking for a version may take as many requests as a VM has a second: then nothing is asked along.
    alone = request.get("approval") or request.get("api_version") == _imds.AUTO
    with_instance = bool(request.get("with_instance")) and not alone
    return {
        "transport": lambda endpoint: ActionTransport(machine, endpoint, with_instance),
        # Windows does not tell what DHCP said in option 245.
        "discovered_endpoints": list,
    }


# Others may have written in between.
MOST_LOOKS = 6
NOT_ON_WINDOWS = "This can't be done on a Windows host"
NOTHING_ELSE_IS_TRIED = (
    " On Windows no other address is looked for. Give it in endpoint: only VMs of the classic model, which Azure has"
    " retired, have another one"
)
NEVER_STILL = "Others have changed it again and again while this run was about to write: run again"


def run_by_powershell(
    action: ActionBase, code: types.ModuleType, request: dict[str, t.Any], task_vars: dict[str, t.Any]
) -> dict[str, t.Any]:
    """What the host half returns for a request, done on a Windows host."""
    if "here" not in inspect.signature(code.carried_out).parameters:
        return {"failed": True, "changed": False, "msg": f"{NOT_ON_WINDOWS}: it is for Linux hosts"}
    actions = WindowsActions(action, task_vars)
    compares_bytes = True
    try:
        for _number in range(MOST_LOOKS):
            machine = WindowsMachine(actions, request, compares_bytes)
            machine.service = ways_to_the_service(machine, request)
            try:
                answer: dict[str, t.Any] = code.carried_out(request, bool(action._task.check_mode), here=machine)
                machine.finish()
                return _with_advice(answer, request)
            except Changed as changed:
                compares_bytes = compares_bytes and not isinstance(changed, OtherBytes)
    except ActionsFailed as failure:
        return failure.result
    return {"failed": True, "changed": False, "msg": NEVER_STILL}


def _with_advice(answer: dict[str, t.Any], request: dict[str, t.Any]) -> dict[str, t.Any]:
    if answer.get("kind") not in (None, "busy", "timed_out") and request.get("endpoints") == ["auto"]:
        return {**answer, "msg": f"{answer['msg']}{NOTHING_ELSE_IS_TRIED}"}
    return answer
