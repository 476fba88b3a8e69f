# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the real ansible-rulebook, from an environment of its own (`make .build/rulebook/made`).

with Rulebook(folder, inventory, {"maintenance_secret": "s"}) as rulebook:
    rulebook.wait_until_it_listens()
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse
from pathlib import Path
from typing import Any

from helpers import ROOT, ansible_run
from helpers.network import free_port
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
        def listens() -> bool:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return True
            return False

        self.wait_for(lambda: listens() and "Waiting for events" in self.output)


ANSWERED = {
    "ask_limit_on_launch": True,
    "ask_labels_on_launch": False,
    "ask_inventory_on_launch": False,
    "ask_variables_on_launch": False,
}


class RulebookController:
    def __init__(self, template: str, simultaneous: bool = True) -> None:
        self.template = template
        # Otherwise the second job of the template waits until the first has ended.
        self.simultaneous = simultaneous
        self.launched: list[dict[str, Any]] = []
        # Jobs run until this is set.
        self.may_end = threading.Event()
        controller = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urllib.parse.urlsplit(self.path)
                asked = urllib.parse.parse_qs(url.query)
                if url.path.endswith("/unified_job_templates/"):
                    found = [controller.about] if asked.get("name") == [controller.template] else []
                    self.answer(200, {"count": len(found), "next": None, "results": found})
                elif url.path.endswith("/jobs/"):
                    jobs = [controller.job(int(number)) for number in asked["id__in"][0].split(",")]
                    self.answer(200, {"count": len(jobs), "next": None, "results": jobs})
                elif "/jobs/" in url.path:
                    self.answer(200, controller.job(int(url.path.strip("/").rpartition("/")[2])))
                else:
                    self.answer(200, {"version": "24.6.1"})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                controller.launched.append(body)
                number = len(controller.launched)
                self.answer(201, {"id": number, "url": f"/api/v2/jobs/{number}/", "status": "pending"})

            def answer(self, status: int, body: dict[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_about: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def job(self, number: int) -> dict[str, Any]:
        status = "successful" if self.may_end.is_set() else "running"
        if status == "running" and number > 1 and not self.simultaneous:
            status = "pending"
        return {"id": number, "status": status, "artifacts": {}, "created": "2026-11-16T00:00:00Z"}

    @property
    def about(self) -> dict[str, Any]:
        return {
            "id": 7,
            "type": "job_template",
            "name": self.template,
            "summary_fields": {"organization": {"name": "Default"}},
            "related": {"launch": "/api/v2/job_templates/7/launch/"},
            "allow_simultaneous": self.simultaneous,
            **ANSWERED,
        }

    def __enter__(self) -> RulebookController:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_about: object) -> None:
        self.may_end.set()
        self.server.shutdown()
        self.server.server_close()
