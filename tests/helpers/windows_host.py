# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows host for tests: its double, or the PowerShell of this machine where there is one.

What is around it is the double's either way: disk, owners, services, what goes wrong, and a record of all calls. In a
PowerShell run our module and our scripts; the modules of ansible.windows need Windows itself, so what stands for them
is the same in both. Tests that need boots of Windows say so by `needs_boots`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tools.wheel_part import wheel_part

from helpers.ansible_run import MIRROR
from helpers.windows_double.machine import Machine
from helpers.windows_double.powershell_process import POWERSHELL

PLUGINS = Path(__file__).resolve().parent / "windows_double" / "connection_plugins"
WHICH = "a real PowerShell" if POWERSHELL else "the double of a Windows host, as there is no pwsh"
needs_boots = pytest.mark.skipif(bool(POWERSHELL), reason="a PowerShell on Linux has one boot only")
needs_powershell = pytest.mark.skipif(not POWERSHELL, reason="there is no pwsh on the PATH")
# With the ansible.windows that others test on real Windows.
PACKAGE = "ansible==12.3.0"
# For a run: how it gets to such a host.
SETTINGS = {
    "ANSIBLE_CONNECTION_PLUGINS": str(PLUGINS),
    # `host_command`: what only roles and runs write into journals and leases.
    "ANSIBLE_ACTION_PLUGINS": str(Path(__file__).resolve().parent / "action_plugins"),
}


def ansible_windows() -> Path:
    """The folder of collections with ansible.windows in it. Raises Unavailable."""
    return Path(wheel_part(PACKAGE, ("ansible_collections/ansible/windows/",), MIRROR / "ansible_windows"))


def with_ansible_windows() -> dict[str, str]:
    """The settings of a run that needs that collection."""
    ours = os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(MIRROR))
    return {**SETTINGS, "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join([ours, str(ansible_windows())])}


class WindowsHost:
    """One host, and what is seen of it from outside."""

    folder = "C:\\ProgramData\\azure-maintenance"

    def __init__(self, folder: Path) -> None:
        self.machine = Machine(folder)

    @property
    def host_vars(self) -> dict[str, Any]:
        return {"ansible_connection": "windows_double", "windows_double_folder": str(self.machine.folder)}

    def file(self, name: str) -> str:
        """The path of a file of ours there."""
        return f"{self.folder}\\{name}"

    def real(self, path: str) -> Path:
        """Where that is on this machine."""
        return self.machine.real(path)

    def text(self, path: str) -> str | None:
        return self.machine.text(path)

    def calls(self) -> list[list[str]]:
        """The actions of each call: ["boot", "send"], ... Without one that was too late, and the look after."""
        found, late = [], False
        for call in self.machine.calls():
            if "actions" not in call["arguments"]:
                continue
            too_late = any("too late" in str(one.get("said")) for one in call["answer"].get("results", []))
            if not (late or too_late):
                found.append([action["action"] for action in call["arguments"]["actions"]])
            late = too_late
        return found

    def assert_calls(self, number: int) -> None:
        assert len(self.calls()) == number, self.calls()
