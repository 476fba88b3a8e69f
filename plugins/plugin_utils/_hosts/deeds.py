# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small deeds on a Windows host, as many as belong together in one call. What decides is on this side of it."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ansible.plugins.action import ActionBase
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import shapes
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.answers import checked

MODULE = "maintenance.azure._windows_host"
WINDOWS_SHELLS = ("powershell", "cmd")

WindowsDeed: t.TypeAlias = dict[str, t.Any]
DeedResult: t.TypeAlias = dict[str, t.Any]


class DeedsFailed(Exception):
    """The host did not do what it was asked for, or did not say so. `result` is a failure as any host half has it."""

    def __init__(self, result: dict[str, t.Any]) -> None:
        super().__init__(result["msg"])
        self.result = result


def is_windows(action: ActionBase) -> bool:
    """Whether the host of a task has a shell of the PowerShell family."""
    return action._connection._shell.SHELL_FAMILY in WINDOWS_SHELLS


class WindowsDeeds:
    """The host of a task, and the one call by which something is done there."""

    def __init__(self, action: ActionBase, task_vars: dict[str, t.Any]) -> None:
        self.action = action
        self.task_vars = task_vars

    def done(self, deeds: Sequence[WindowsDeed]) -> list[DeedResult]:
        """What became of each, up to the first that has a `problem`."""
        answer = checked(
            self.action._execute_module(
                module_name=MODULE, module_args={"deeds": list(deeds)}, task_vars=self.task_vars
            ),
            shapes.DEEDS,
        )
        if answer.get("failed"):
            raise DeedsFailed(answer)
        results: list[DeedResult] = answer["results"]
        whole = len(results) == len(deeds) or (bool(results) and bool(results[-1].get("problem")))
        if not whole or len(results) > len(deeds) or any(one.get("problem") for one in results[:-1]):
            raise DeedsFailed(unexpected(f"{len(results)} answers to {len(deeds)} deeds"))
        return results


def unexpected(what: str) -> dict[str, t.Any]:
    return {
        "failed": True,
        "changed": False,
        "kind": "unexpected",
        "msg": f"The host answered something else than it was asked for: {what}. Nothing of it was used",
    }
