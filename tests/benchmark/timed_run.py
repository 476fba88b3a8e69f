# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Timed runs of real playbooks."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from helpers import ansible_run

CALLBACKS = Path(__file__).resolve().parent / "callback_plugins"


class TimedRun:
    """One run of ansible-playbook, with the times of its tasks."""

    def __init__(self, folder: Path, command: list[str], timeout: float = 600, **settings: str) -> None:
        times = folder / "task_times.json"
        times.unlink(missing_ok=True)
        before = _processor_time()
        self.run = ansible_run.run(
            folder,
            command,
            timeout,
            ANSIBLE_CALLBACK_PLUGINS=str(CALLBACKS),
            ANSIBLE_CALLBACKS_ENABLED="task_times",
            TASK_TIMES=str(times),
            ANSIBLE_DEPRECATION_WARNINGS="0",
            **settings,
        )
        self.processor = _processor_time() - before
        if self.run.code or not times.exists():
            sys.exit(f"{' '.join(command)} ended with {self.run.code}: {self.run.output[-3000:]}")
        self.tasks: list[dict[str, Any]] = json.loads(times.read_text(encoding="utf-8"))
        failed = [task for task in self.tasks if task["failed"]]
        if failed:
            sys.exit(f"a task failed, so this measures something else: {failed[0]}")

    @property
    def seconds(self) -> float:
        return self.run.seconds

    def of(self, name: str) -> list[float]:
        """Seconds from the beginning of each task of that name until its last host was done."""
        return [task["ended"] - task["began"] for task in self.tasks if task["task"] == name]


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play(
    folder: Path,
    hosts: Path,
    tasks: list[dict[str, Any]],
    forks: int = 10,
    arguments: tuple[str, ...] = (),
    **more: str,
) -> TimedRun:
    book = [{"name": "Bench", "hosts": "all", "gather_facts": False, "tasks": tasks}]
    (folder / "play.json").write_text(json.dumps(book))
    command = ["ansible-playbook", "-i", str(hosts), "--forks", str(forks), "play.json", *arguments]
    return TimedRun(folder, command, **more)
