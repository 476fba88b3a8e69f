# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every process of the lab is in a cgroup of the lab: so each can be frozen, killed and found again."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Any

from lab.names import PREFIX
from lab.requirements import CGROUPS
from lab.shell import wait_until

ROOT = next((place for place in CGROUPS if (place / "cgroup.controllers").exists()), CGROUPS[0])


class Group:
    """A group of processes, with all groups below it. The one without a name is the whole lab."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.path = ROOT / PREFIX / name

    def start(self, command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        """Start a process in the group, in a session of its own: it lives on when we end."""
        self.path.mkdir(parents=True, exist_ok=True)
        entrance = str(self.path / "cgroup.procs")

        def enter() -> None:
            with open(entrance, "w") as group:  # noqa: PTH123 - between fork and exec, the less the better
                group.write("0")

        options = {"stdin": subprocess.DEVNULL, "start_new_session": True, "preexec_fn": enter, **more}
        return subprocess.Popen(command, **options)

    def processes(self) -> list[int]:
        found: list[int] = []
        # Groups come and go while we look.
        for folder, _folders, _files in os.walk(self.path):
            with contextlib.suppress(OSError):
                found += [int(line) for line in Path(folder, "cgroup.procs").read_text().split()]
        # Those of other process namespaces are shown as 0.
        return [process for process in found if process]

    def freeze(self, frozen: bool) -> None:
        (self.path / "cgroup.freeze").write_text("1" if frozen else "0")
        wanted = f"frozen {int(frozen)}"
        wait_until(lambda: wanted in (self.path / "cgroup.events").read_text(), f"{wanted} of {self.name}", 20, 0.002)

    def kill(self) -> None:
        """SIGKILL for all, frozen or not; comes back when they are gone."""
        if self.path.exists():
            (self.path / "cgroup.kill").write_text("1")
            wait_until(lambda: not self.processes(), f"the processes of {self.name or PREFIX} are gone", 30, 0.01)

    def remove(self) -> None:
        """Remove the group in every hierarchy: systemd-nspawn makes it in that of the old systemd too."""
        for hierarchy in {ROOT, *Path("/sys/fs/cgroup").iterdir()}:
            top = hierarchy / PREFIX / self.name
            if top.is_dir():
                # A process that has just ended keeps its group for a moment.
                wait_until(lambda top=top: _removed(top), f"{top} is removed", 20)


def _removed(top: Path) -> bool:
    for folder, _folders, _files in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106
    return not top.exists()
