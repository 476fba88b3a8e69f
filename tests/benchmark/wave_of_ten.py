# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wave of 10 hosts whose steps take no time and whose event is over at once: what is left is Ansible's own time."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from figures import Figure
from helpers.fleet import RollFleet
from reached_by_ssh import WRAPPER, by_ssh
from timed_run import TimedRun

HOSTS = 10
SECONDS = 8.0


def one_wave(folder: Path, repeats: int) -> list[Figure]:
    own_time, waits = [], []
    for repeat in range(repeats):
        run, waited = _rolled(folder / str(repeat))
        own_time.append(run.seconds - waited)
        waits.append(waited)
    # Once more over ssh, where every command that comes to a host can be counted.
    used = folder / "used.jsonl"
    _rolled(folder / "ssh", force_command=f"{sys.executable} {WRAPPER} {used}")
    trips = len([json.loads(line) for line in used.read_text().splitlines()])
    parts = {
        "own time": own_time,
        "real waits": waits,
        "processor time of all": run.processor,
        "tasks": len(run.tasks),
        "tasks on hosts": sum(task["hosts"] for task in run.tasks),
        "of these skipped": sum(task["skipped"] for task in run.tasks),
        "round trips to hosts": trips,
        "seconds by task": {
            task["task"]: round(task["ended"] - task["began"], 2) for task in run.tasks if task["ended"]
        },
    }
    note = (
        f"the whole command from start to end; {parts['tasks']} tasks, {parts['tasks on hosts']} times on a host,"
        f" {parts['of these skipped']} of them skipped, {trips} round trips to hosts"
    )
    return [Figure("a wave of 10 hosts, Ansible's own time", "-", SECONDS, own_time, " s", parts=parts, note=note)]


def _rolled(folder: Path, force_command: str = "") -> tuple[TimedRun, float]:
    folder.mkdir(parents=True)
    with RollFleet(folder, hosts=HOSTS, domains=1) as fleet, contextlib.ExitStack() as servers:
        fleet.simulator.add_event(id="E", type="Reboot", resources=list(fleet.domain_of), notice=900, dwell=0)
        for host in fleet.domain_of:
            fleet.host_vars[host]["drain_steps"] = [{"command": {"drain": "/bin/true", "restore": "/bin/true"}}]
        if force_command:
            for host, host_vars in by_ssh(folder, list(fleet.domain_of), servers, force_command).items():
                fleet.host_vars[host].update(host_vars)
        run = TimedRun(folder, fleet.command("--forks", "10"), ANSIBLE_PIPELINING="0")
        moments = {change["change"]: change["time"] for change in fleet.simulator.changes()}
        if fleet.approvals() != ["E"] or fleet.drained_hosts():
            sys.exit(f"the wave did not go through: {run.run.output[-2000:]}")
        return run, moments["finished"] - moments["approved"]
