# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PowerShell of this machine, where there is one, in the place of Windows' own: the disk of the double is its disk.

What Windows has and a PowerShell on Linux has not, as far as we call it, is in the PowerShell module WindowsDouble.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from helpers.windows_double.machine import Machine

POWERSHELL = shutil.which("pwsh")
HERE = Path(__file__).resolve().parent / "powershell"
# A text in JSON that is a path of Windows, whole.
_PATH = re.compile(r'"([A-Za-z]:(?:\\\\|/)(?:[^"\\]|\\\\)*)"')


class _Disk:
    """Paths of Windows, put where the double keeps them; and what is said of those, in words of Windows again."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.put: dict[str, str] = {}

    def away(self, text: str) -> str:
        return _PATH.sub(lambda hit: json.dumps(self._real(json.loads(hit.group(0)))), text)

    def _real(self, path: str) -> str:
        real = str(self.machine.real(path))
        shown = path
        # A folder on the way there may be spoken of too.
        while len(shown) > len("C:\\"):
            self.put[str(self.machine.real(shown))] = shown
            shown = re.sub(r"[\\/]+[^\\/]*$", "", shown)
        return real

    def back(self, text: str) -> str:
        for real in sorted(self.put, key=len, reverse=True):
            text = text.replace(real, json.dumps(self.put[real])[1:-1])
        return text


def surroundings(machine: Machine) -> dict[str, str]:
    return {
        **os.environ,
        "OS": "Windows_NT",
        "PSModulePath": str(HERE),
        "WINDOWS_DOUBLE_FOLDER": str(machine.folder),
        "NO_COLOR": "1",
    }


def piped(machine: Machine, command: str, data: bytes) -> tuple[int, bytes, bytes]:
    """What Ansible pipes to a host, piped to PowerShell: by the command that Ansible gives, as by any connection."""
    disk = _Disk(machine)
    wrapper, nulls, payload = data.partition(b"\0\0\0\0")
    given = wrapper + nulls + disk.away(payload.decode()).encode()
    folder = machine.folder / "program"
    folder.mkdir(exist_ok=True)
    around = surroundings(machine)
    # Ansible calls it by the name that it has on Windows, where upper and lower case are the same.
    for name in (folder / "PowerShell", folder / "powershell"):
        if not name.is_symlink():
            name.symlink_to(str(POWERSHELL))
    around["PATH"] = os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(command, shell=True, input=given, capture_output=True, check=False, env=around)
    return done.returncode, disk.back(done.stdout.decode(errors="replace")).encode(), done.stderr


def script(machine: Machine, path: Path, parameters: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """What a script for win_powershell says and does there."""
    disk = _Disk(machine)
    program = str(HERE / "as_win_powershell.ps1")
    told = [str(path), disk.away(json.dumps(parameters)), json.dumps(check_mode)]
    command = [str(POWERSHELL), "-NoProfile", "-NonInteractive", "-File", program, *told]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings(machine))
    if done.returncode != 0:
        return {"failed": True, "msg": f"PowerShell ended with {done.returncode}: {done.stderr}"}
    answer: dict[str, Any] = json.loads(disk.back(done.stdout))
    return answer
