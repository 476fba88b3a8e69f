# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows host for tests: its double, or the PowerShell of this machine where there is one.

A PowerShell on Linux has no services, owners and counted boots, and the modules of ansible.windows do not run there:
tests that need those say so by `needs_the_double`.
"""

from __future__ import annotations

import contextlib
import ntpath
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_run import MIRROR
from tools.wheel_part import wheel_part
from windows_double.machine import Machine

PLUGINS = Path(__file__).resolve().parent / "windows_double" / "connection_plugins"
POWERSHELL = shutil.which("pwsh")
WHICH = "a real PowerShell" if POWERSHELL else "the double of a Windows host, as there is no pwsh"
needs_the_double = pytest.mark.skipif(bool(POWERSHELL), reason="only the double has what this needs of Windows")
needs_powershell = pytest.mark.skipif(not POWERSHELL, reason="there is no pwsh on the PATH")
counts_calls = pytest.mark.skipif(bool(POWERSHELL), reason="only the double counts calls")
# With the ansible.windows that others test on real Windows.
PACKAGE = "ansible==12.3.0"


def _way_to_powershell(program: str) -> dict[str, str]:
    """Ansible calls it by the name that it has on Windows, and copies no files where it pipes."""
    folder = MIRROR / "powershell"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / "PowerShell").symlink_to(program)
    path = [str(folder), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {"ANSIBLE_PIPELINING": "1", "PATH": os.pathsep.join(path)}


# For a run: how it gets to such a host.
SETTINGS = _way_to_powershell(POWERSHELL) if POWERSHELL else {"ANSIBLE_CONNECTION_PLUGINS": str(PLUGINS)}


def ansible_windows() -> Path:
    """The folder of collections with ansible.windows in it. Raises Unavailable."""
    return Path(wheel_part(PACKAGE, ("ansible_collections/ansible/windows/",), MIRROR / "ansible_windows"))


def with_ansible_windows() -> dict[str, str]:
    """The settings of a run that needs that collection."""
    ours = os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(MIRROR))
    return {**SETTINGS, "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join([ours, str(ansible_windows())])}


class WindowsHost:
    """One host, and what is seen of it from outside."""

    def __init__(self, folder: Path) -> None:
        self.machine = Machine(folder)
        # Where its files are: by default on Windows, and where this user may write with a PowerShell on Linux.
        self.folder = str(folder / "azure-maintenance") if POWERSHELL else "C:\\ProgramData\\azure-maintenance"

    @property
    def host_vars(self) -> dict[str, Any]:
        if POWERSHELL:
            return {"ansible_connection": "local", "ansible_shell_type": "powershell", "ansible_remote_tmp": "/tmp"}
        return {"ansible_connection": "windows_double", "windows_double_folder": str(self.machine.folder)}

    def file(self, name: str) -> str:
        """The path of a file of ours there."""
        return (os.path if POWERSHELL else ntpath).join(self.folder, name)

    def option(self, name: str) -> dict[str, str]:
        """The option that says where such a file is; none where the default will do."""
        return {"path": self.file(name)} if POWERSHELL else {}

    def real(self, path: str) -> Path:
        """Where that is on this machine."""
        return Path(path) if POWERSHELL else self.machine.real(path)

    def text(self, path: str) -> str | None:
        real = self.real(path)
        return real.read_text(encoding="utf-8") if real.is_file() else None

    def calls(self) -> list[list[str]]:
        """The deeds of each call, as far as the double tells: ["boot", "send"], ..."""
        return [
            [deed["deed"] for deed in call["arguments"]["deeds"]]
            for call in self.machine.calls()
            if "deeds" in call["arguments"]
        ]

    def assert_calls(self, number: int) -> None:
        assert POWERSHELL or len(self.calls()) == number, self.calls()
