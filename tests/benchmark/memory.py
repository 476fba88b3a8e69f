# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's memory for a run of 500 hosts, against a playbook that does as many tasks on as many hosts."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import Figure
from helpers.ansible_run import environment, inventory
from helpers.fleet import RunFleet
from timed_run import CALLBACKS

HOSTS = 500
# One update domain of ten has an event: its hosts are drained and restored, the others read and planned for.
DOMAINS = 10


def five_hundred_hosts(folder: Path, _repeats: int) -> list[Figure]:
    """Once: the peak of a run varies by a few percent, and a run of 500 hosts takes a minute."""
    (folder / "run").mkdir()
    with RunFleet(folder / "run", hosts=HOSTS, domains=DOMAINS) as fleet:
        wave = [host for host, domain in fleet.domain_of.items() if domain == "0"]
        fleet.simulator.add_event(id="E", type="Reboot", resources=wave, notice=9000, dwell=0)
        for host in wave:
            fleet.host_vars[host]["drain_steps"] = [{"command": {"drain": "/bin/true", "restore": "/bin/true"}}]
        run = peak_of(folder / "run", fleet.command("--forks", "10"))
        if fleet.approvals() != ["E"]:
            sys.exit("the run did not go through")
    (folder / "plain").mkdir()
    hosts = inventory(folder / "plain", {host: {"endpoint": "http://127.0.0.1"} for host in fleet.domain_of})
    (folder / "plain" / "play.json").write_text(json.dumps(plain_plays(run["tasks"], wave)))
    plain = peak_of(folder / "plain", ["ansible-playbook", "-i", str(hosts), "--forks", "10", "play.json"])
    mib = {
        "run, largest process": run["largest"],
        "plain, largest process": plain["largest"],
        "run, all processes": run["all"],
        "plain, all processes": plain["all"],
        "tasks": len(run["tasks"]),
        "seconds of the run": run["seconds"],
    }
    note = (
        f"the largest process, {run['largest']:.0f} against {plain['largest']:.0f} MiB; all processes together,"
        f" shared pages counted once, {run['all']:.0f} against {plain['all']:.0f} MiB"
    )
    return [
        Figure(
            "memory of the controller, a run of 500 hosts",
            "plain tasks, as many on as many hosts",
            1.3,
            [run["largest"] / plain["largest"]],
            parts=mib,
            note=note,
        )
    ]


def plain_plays(tasks: list[dict[str, Any]], wave: list[str]) -> list[dict[str, Any]]:
    """As many tasks as the run had, each on as many hosts, with a result that is kept."""
    plays: list[dict[str, Any]] = []
    for number, task in enumerate(tasks):
        hosts = "all" if task["hosts"] > len(wave) else wave
        plain: dict[str, Any] = {
            "name": f"Task {number}",
            "ansible.builtin.raw": "true",
            "register": f"result_{number}",
        }
        if task["hosts"] == 1:
            plain["run_once"] = True
        if not plays or plays[-1]["hosts"] != hosts:
            plays.append({"name": f"Play {number}", "hosts": hosts, "gather_facts": False, "tasks": []})
        plays[-1]["tasks"].append(plain)
    return plays


def peak_of(folder: Path, command: list[str], **more: str) -> dict[str, Any]:
    """In MiB: what the largest process needed at most, and all of them at one moment; and what the run did."""
    times = folder / "task_times.json"
    settings = environment(
        folder,
        ANSIBLE_CALLBACK_PLUGINS=str(CALLBACKS),
        ANSIBLE_CALLBACKS_ENABLED="task_times",
        TASK_TIMES=str(times),
        ANSIBLE_DEPRECATION_WARNINGS="0",
        **more,
    )
    started, together, largest = time.monotonic(), 0, 0
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=settings, stdout=output, stderr=output)
    while True:
        # Looked at while it runs: what the kernel tells about a process that has ended begins with the size of the one
        # that started it, which is this one.
        family = list(_family(process.pid))
        largest = max(largest, *(_kib(f"/proc/{pid}/status", "VmHWM") for pid in family))
        together = max(together, sum(_kib(f"/proc/{pid}/smaps_rollup", "Pss") for pid in family))
        if process.poll() is not None:
            break
        time.sleep(0.2)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}: {(folder / 'output').read_text()[-3000:]}")
    return {
        "largest": largest / 1024,
        "all": together / 1024,
        "tasks": json.loads(times.read_text()),
        "seconds": round(time.monotonic() - started),
    }


def _family(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _family(int(child))


def _kib(path: str, name: str) -> int:
    """0 where the process has ended. Of `Pss`, a page that several processes share counts in parts."""
    with contextlib.suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
    return 0
