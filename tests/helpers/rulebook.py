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
import subprocess
import threading
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers import ROOT, ansible_run
from helpers.network import free_port, http_server, listens
from helpers.waiting import wait_until

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
        self.wait_for(lambda: listens(self.port) and "Waiting for events" in self.output)


ANSWERED = {
    "ask_limit_on_launch": True,
    "ask_labels_on_launch": False,
    "ask_inventory_on_launch": False,
    "ask_variables_on_launch": False,
}


class RulebookController:
    def __init__(self, template: str) -> None:
        self.template = template
        self.launched: list[dict[str, Any]] = []
        # Jobs run until this is set.
        self.may_end = threading.Event()
        self._serving = contextlib.ExitStack()

    def answer(self, method: str, path: str, _headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        url = urllib.parse.urlsplit(path)
        asked = urllib.parse.parse_qs(url.query)
        if method == "POST":
            self.launched.append(json.loads(body))
            number = len(self.launched)
            return 201, {"id": number, "url": f"/api/v2/jobs/{number}/", "status": "pending"}
        if url.path.endswith("/unified_job_templates/"):
            found = [self.about] if asked.get("name") == [self.template] else []
            return 200, {"count": len(found), "next": None, "results": found}
        if url.path.endswith("/jobs/"):
            jobs = [self.job(int(number)) for number in asked["id__in"][0].split(",")]
            return 200, {"count": len(jobs), "next": None, "results": jobs}
        if "/jobs/" in url.path:
            return 200, self.job(int(url.path.strip("/").rpartition("/")[2]))
        return 200, {"version": "24.6.1"}

    def job(self, number: int) -> dict[str, Any]:
        status = "successful" if self.may_end.is_set() else "running"
        return {"id": number, "status": status, "artifacts": {}, "created": "2026-11-16T00:00:00Z"}

    @property
    def about(self) -> dict[str, Any]:
        return {
            "id": 7,
            "type": "job_template",
            "name": self.template,
            "summary_fields": {"organization": {"name": "Default"}},
            "related": {"launch": "/api/v2/job_templates/7/launch/"},
            "allow_simultaneous": True,
            **ANSWERED,
        }

    def __enter__(self) -> RulebookController:
        self.url = self._serving.enter_context(http_server(self.answer)) + "/"
        return self

    def __exit__(self, *_about: object) -> None:
        self.may_end.set()
        self._serving.close()
