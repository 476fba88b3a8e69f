# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way to a Windows host: the host half runs here, and what it does to the host are deeds in PowerShell."""

from __future__ import annotations

import inspect
import types
import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.deed_transport import (
    just_heard,
    ways_to_the_service,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.deeds import DeedsFailed, WindowsDeeds
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.last_seen import LastSeen
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.windows_machine import Changed, WindowsMachine
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.windows_paths import windows_path

# The first rests on what was seen last, the later ones on what the one before has heard, or on another look.
TRIES = 6
NOT_ON_WINDOWS = "This can't be done on a Windows host"
NOTHING_ELSE_IS_TRIED = (
    " On Windows no other address is looked for. Give it in endpoint: only VMs of the classic model, which Azure has"
    " retired, have another one"
)
NEVER_STILL = "Others have changed it again and again while this run was about to write: run again"
# On an action: the machine that a reading has looked at, for what is asked along with it.
READ_ALONG = "windows_read_along"


def run_by_powershell(
    action: ActionBase, code: types.ModuleType, request: dict[str, t.Any], task_vars: dict[str, t.Any]
) -> dict[str, t.Any]:
    """What the host half returns for a request, done on a Windows host."""
    if "here" not in inspect.signature(code.carried_out).parameters:
        return {"failed": True, "changed": False, "msg": f"{NOT_ON_WINDOWS}: it is for Linux hosts"}
    host = str(action._task.delegate_to or task_vars["inventory_hostname"])
    deeds = WindowsDeeds(action, task_vars)
    check_mode = bool(action._task.check_mode)
    along = getattr(action, READ_ALONG, None)
    try:
        if isinstance(along, WindowsMachine) and request.get("state") == "read":
            return _carried_out(code, request, check_mode, along)
        # What nothing is written for is only known by a look.
        foresees, heard = not check_mode and _writes(request), None
        for _number in range(TRIES):
            machine = WindowsMachine(deeds, LastSeen(constants.DEFAULT_LOCAL_TMP, host), request, foresees, heard)
            if along:
                machine.content(windows_path(str(along)))
                machine.at_work(windows_path(str(along)))
            try:
                answer = _carried_out(code, request, check_mode, machine)
                machine.finish()
            except Changed as changed:
                # A document in other bytes only means judging again.
                heard = just_heard(machine, changed)
                foresees = heard is not None
                continue
            if machine.is_certain:
                if along:
                    setattr(action, READ_ALONG, machine)
                return _with_advice(answer, request)
            foresees, heard = False, None
    except DeedsFailed as failure:
        return failure.result
    return {"failed": True, "changed": False, "msg": NEVER_STILL}


def _carried_out(
    code: types.ModuleType, request: dict[str, t.Any], check_mode: bool, machine: WindowsMachine
) -> dict[str, t.Any]:
    machine.service = ways_to_the_service(machine, request)
    answer: dict[str, t.Any] = code.carried_out(request, check_mode, here=machine)
    return answer


def _writes(request: dict[str, t.Any]) -> bool:
    """Whether it may come to a write, or to an approval: only then is something foreseen."""
    if "endpoints" in request:
        return bool(request.get("approval"))
    return request.get("state", request.get("do")) != "read"


def _with_advice(answer: dict[str, t.Any], request: dict[str, t.Any]) -> dict[str, t.Any]:
    if answer.get("kind") not in (None, "busy", "timed_out") and request.get("endpoints") == ["auto"]:
        return {**answer, "msg": f"{answer['msg']}{NOTHING_ELSE_IS_TRIED}"}
    return answer
