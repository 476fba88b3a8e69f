# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the watcher as a real process, laid out as the role watch does it. Standard library only.

with Watcher(folder, endpoint) as watcher:
    status = watcher.wait_for(lambda status: status["events"])
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers import ROOT
from helpers.waiting import PATIENCE, wait_until

MODULE_UTILS = ROOT / "plugins" / "module_utils"
PROGRAM = ROOT / "roles" / "watch" / "templates" / "watch.py.j2"


def installed(folder: Path) -> Path:
    """The program, with nothing of the collection beside it but what it has on a host. Returns its path."""
    place = folder / "lib" / "ansible_collections" / "maintenance" / "azure" / "plugins"
    if not place.exists():
        place.mkdir(parents=True)
        (place / "module_utils").symlink_to(MODULE_UTILS)
        lines = PROGRAM.read_text(encoding="utf-8").splitlines()
        (folder / "watch").write_text("\n".join(["#!/usr/bin/python3 -IS", *lines[2:]]) + "\n", encoding="utf-8")
        (folder / "watch").chmod(0o755)
    return folder / "watch"


class Watcher:
    """A running watcher. What it writes to standard error is in `errors()`."""

    def __init__(
        self,
        folder: Path,
        endpoint: str,
        *,
        python: str = sys.executable,
        reflex: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        """`reflex` are the settings of the reflexes, which are then started as children."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.program = installed(folder)
        self.status_file = folder / "status.json"
        self.config = folder / "watch.json"
        self.python = python
        given = {
            "name": "host-1",
            "endpoint": endpoint,
            "interval": 0.25,
            "status_file": str(self.status_file),
            "journal": str(folder / "journal.json"),
            **settings,
        }
        self.journal = Path(given["journal"])
        self.audit_file = folder / "audit.jsonl"
        if reflex is not None:
            given.update(reflex_by="child", reflex_settings=str(folder / "reflex_settings.json"))
            own = {"audit_file": str(self.audit_file), "timeout": 30, **reflex}
            (folder / "reflex_settings.json").write_text(json.dumps({**given, **own}), encoding="utf-8")
        self.config.write_text(json.dumps(given), encoding="utf-8")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        return [self.python, "-I", "-S", str(self.program), "--config", str(self.config)]

    def start(self) -> Watcher:
        with (self.folder / "stderr").open("ab") as errors:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=errors)
        return self

    def __enter__(self) -> Watcher:
        return self.start()

    def __exit__(self, *_about: object) -> None:
        self.stop()

    def stop(self, seconds: float = PATIENCE) -> int:
        """Ends it as systemd would; gives its exit code."""
        assert self.process
        self.process.terminate()
        try:
            return self.process.wait(seconds)
        finally:
            self.process.kill()
            self.process.wait()

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def errors(self) -> str:
        return (self.folder / "stderr").read_text(encoding="utf-8")

    def status(self) -> Any:
        """What the status file holds, or None where there is none."""
        try:
            return json.loads(self.status_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def wait_for(self, question: Callable[[Any], Any]) -> Any:
        """The first status of which the question is true."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            status = self.status()
            if status is not None and question(status):
                return status
            assert self.process
            assert self.process.poll() is None, self.errors()
            time.sleep(0.02)
        raise AssertionError(f"not so after {PATIENCE} s: {self.status()} {self.errors()}")

    def let_reflexes_look(self) -> None:
        """Until they have read the service, and decided, after all that was before this call."""
        trigger = self.folder / "reflex"
        # They take the second one only when they are done with what the first one was about.
        for _turn in range(2):
            trigger.touch()
            wait_until(lambda: not trigger.exists(), self.errors)

    def record(self) -> list[dict[str, Any]]:
        """The lines of the audit file."""
        lines = self.audit_file.read_text(encoding="utf-8").splitlines() if self.audit_file.exists() else []
        return [json.loads(line) for line in lines]

    def reflex_pids(self) -> list[int]:
        return reflex_pids(self.folder / "reflex_settings.json")

    def resident_kilobytes(self) -> int:
        assert self.process
        return resident_kilobytes(self.process.pid)

    def processor_seconds(self) -> float:
        """User and system time of the process itself, its children left out."""
        assert self.process
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def turns(self) -> int:
        """How often it has waited for something: once for each reading at least."""
        assert self.process
        return of_status(self.process.pid, "voluntary_ctxt_switches")


def resident_kilobytes(pid: int) -> int:
    return of_status(pid, "VmRSS")


def of_status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def reflex_pids(settings: Path) -> list[int]:
    """The reflexes that run with these settings."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                if "--reflex" in words and str(settings) in words:
                    found.append(int(entry.name))
    return found
