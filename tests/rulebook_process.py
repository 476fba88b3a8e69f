# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the real ansible-rulebook, from an environment of its own (`make .build/rulebook/made`).

with Rulebook(folder, inventory, {"maintenance_secret": "s"}) as rulebook:
    rulebook.wait_until_it_listens()
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import ansible_run
from free_port import free_port
from patience import wait_until

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".build" / "rulebook" / "bin"


def what_is_missing() -> str | None:
    """Why no rulebook can be run here."""
    if not (BIN / "ansible-rulebook").exists():
        return "no ansible-rulebook: make .build/rulebook/made"
    java = shutil.which("java")
    if java is None:
        return "no Java: ansible-rulebook needs version 17 or newer"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if not version or int(version[1]) < 17:
        return f"Java is too old for ansible-rulebook, which needs 17: {said.splitlines()[0]}"
    return None


class Rulebook:
    def __init__(
        self,
        folder: Path,
        inventory: Path,
        variables: dict[str, Any],
        rulebook: str = "maintenance.azure.drain_then_approve",
        options: tuple[str, ...] = (),
        **environment: str,
    ) -> None:
        self.folder = folder
        self.port = variables.get("maintenance_port") or free_port()
        self.log = folder / "rulebook.log"
        given = folder / "rulebook-vars.json"
        given.write_text(json.dumps({"maintenance_port": self.port, **variables}))
        book = ["--rulebook", rulebook, "--inventory", str(inventory), "--vars", str(given), "--verbose", *options]
        self.command = [str(BIN / "ansible-rulebook"), *book]
        settings = {"ANSIBLE_PIPELINING": "1", "RESULTS_FILE": str(folder / "results.jsonl"), **environment}
        self.environment = ansible_run.environment(folder, **settings)
        self.environment["PATH"] = os.pathsep.join([str(BIN), self.environment["PATH"]])
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Rulebook:
        return self.start()

    def __exit__(self, *_about: object) -> None:
        self.kill()

    def start(self) -> Rulebook:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def kill(self) -> None:
        """With -9, and all that it has started with it."""
        assert self.process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_it_alone(self) -> None:
        """As the out-of-memory killer does: a run that is under way goes on."""
        assert self.process
        self.process.kill()
        self.process.wait()

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, condition: Any) -> None:
        def now_or_never() -> bool:
            holds = condition()
            assert self.process
            assert holds or self.process.poll() is None, f"ended too early: {self.output}"
            return bool(holds)

        wait_until(now_or_never, lambda: self.output)

    def wait_until_it_listens(self) -> None:
        def listens() -> bool:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return True
            return False

        self.wait_for(lambda: listens() and "Waiting for events" in self.output)
