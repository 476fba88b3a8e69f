# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-rulebook on the controller of the lab, and watchers on its web servers that tell it."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from helpers.rulebook import BIN
from lab import controller
from lab.cgroups import Group
from lab.names import LOGS, OUTSIDE
from lab.shell import run, wait_until

# An address that only watchers use.
ADDRESS, PORT = "10.86.0.9", 5010
SECRET = secrets.token_hex(16)
STATE_FILE = "eda-state.json"
_TOLD = re.compile(r"^\*\* (\S+ \S+) \[received event\]", re.MULTILINE)


@contextlib.contextmanager
def watchers(**variables: Any) -> Iterator[None]:
    """Watchers on all web servers, which go at the end."""
    _ip("replace")
    book = controller.HOME / "watch.yml"
    notify = [{"url": f"http://{ADDRESS}:{PORT}/", "secret": SECRET}]
    play = {"name": "Watch", "hosts": "web", "gather_facts": False, "roles": [{"role": "maintenance.azure.watch"}]}
    book.write_text(yaml.safe_dump([play]))
    done = controller.run("watch", book=str(book), watch_notify=notify, **variables)
    assert done.code == 0, done.output
    try:
        yield
    finally:
        Group("controller").kill()
        done = controller.run("no-watch", book=str(book), watch_state="absent")
        _ip("del")
        assert done.code == 0, done.output


def _ip(word: str) -> None:
    run("ip", "-n", OUTSIDE.namespace, "addr", word, f"{ADDRESS}/24", "dev", "br0")


class Rulebook:
    def __init__(self) -> None:
        self.log = LOGS / f"{len(list(LOGS.glob('*.play'))):03}-rulebook.play"
        given = controller.HOME / "eda.json"
        given.write_text(
            json.dumps(
                {
                    "maintenance_secret": SECRET,
                    "maintenance_port": PORT,
                    "maintenance_hosts": "web",
                    "maintenance_state_file": str(controller.HOME / STATE_FILE),
                }
            )
        )
        (controller.HOME / STATE_FILE).unlink(missing_ok=True)
        words = ["--rulebook", controller.BOOK, "--inventory", str(controller.HOME / "hosts.json")]
        path = f"PATH={BIN}:/usr/sbin:/usr/bin:/sbin:/bin"
        self.command = [str(controller.IN_LAB), "env", path, "ansible-rulebook", *words, "--vars", str(given)]
        self.command += ["--verbose", "--print-events"]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Rulebook:
        before = len(self.output)
        with self.log.open("ab") as log:
            self.process = Group("controller").start(self.command, cwd=controller.HOME, stdout=log, stderr=log)
        wait_until(lambda: "Waiting for events" in self.output[before:], "the rulebook listens", 120, 0.2)
        return self

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def is_at_work(self) -> bool:
        """Whether a run that it has started is still under way."""
        return any("ansible-playbook" in _command_of(process) for process in Group("controller").processes())

    def told_at(self) -> list[float]:
        """When the rules were told something."""
        return [datetime.datetime.fromisoformat(text).timestamp() for text in _TOLD.findall(self.output)]


def _command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
