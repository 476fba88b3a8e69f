# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole runs of many hosts, one event each, whose steps take no time and whose events are over at once.

What is left is Ansible's own time. It is told in tasks `raw` on the same hosts, measured right before and after.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import Figure
from helpers.fleet import RunFleet
from memory import peak_of
from reached_by_ssh import WRAPPER, by_ssh
from requests_of_a_host import WARM_UP
from timed_run import TimedRun, play

FORKS = ("--forks", "10")
TEN, FEW, MANY = 10, 50, 200


@contextlib.contextmanager
def fleet_of(folder: Path, hosts: int, domains: int = 1, events: bool = True) -> Iterator[RunFleet]:
    folder.mkdir(parents=True)
    with RunFleet(folder, hosts=hosts, domains=domains, requests_per_second=0) as fleet:
        for host in fleet.domain_of:
            fleet.host_vars[host]["drain_steps"] = [{"command": {"drain": "/bin/true", "restore": "/bin/true"}}]
            if events:
                fleet.simulator.add_event(id=f"E-{host}", type="Reboot", resources=[host], notice=90000, dwell=0)
        yield fleet


def ran(fleet: RunFleet, **settings: str) -> TimedRun:
    run = TimedRun(fleet.folder, fleet.command(*FORKS), timeout=1800, ANSIBLE_PIPELINING="1", **settings)
    _went_through(fleet, run.run.output)
    return run


def _went_through(fleet: RunFleet, output: str) -> None:
    if fleet.drained_hosts() or len(fleet.approvals()) != len(fleet.simulator.events()):
        sys.exit(f"the run did not go through: {output[-2000:]}")


def seconds_of_raw(fleet: RunFleet) -> float:
    """One task `raw` on all of these hosts; the first one is not counted."""
    run = play(fleet.folder, fleet.inventory(), [WARM_UP, {**WARM_UP, "name": "raw"}], ANSIBLE_PIPELINING="1")
    return run.of("raw")[0]


def one_wave(folder: Path, repeats: int) -> list[Figure]:
    own_time, waits = [], []
    for repeat in range(repeats):
        run, waited = _one_wave_ran(folder / str(repeat))
        own_time.append(run.seconds - waited)
        waits.append(waited)
    # Once more over ssh, where every command that comes to a host can be counted.
    used = folder / "used.jsonl"
    _one_wave_ran(folder / "ssh", force_command=f"{sys.executable} {WRAPPER} {used}")
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
    return [Figure("a wave of 10 hosts, Ansible's own time", "-", 8.0, own_time, " s", parts=parts, note=note)]


def _one_wave_ran(folder: Path, force_command: str = "") -> tuple[TimedRun, float]:
    folder.mkdir(parents=True)
    with RunFleet(folder, hosts=TEN, domains=1) as fleet, contextlib.ExitStack() as servers:
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


def one_wave_of_many(folder: Path, repeats: int) -> list[Figure]:
    a_host: dict[int, list[float]] = {FEW: [], MANY: []}
    times_raw: list[float] = []
    requests: list[float] = []
    parts: dict[str, Any] = {}
    for repeat in range(repeats):
        for count in (FEW, MANY):
            with fleet_of(folder / f"{repeat}-{count}", count) as fleet:
                before = seconds_of_raw(fleet)
                fleet.simulator.clear_log()
                run = ran(fleet)
                requests.append(_requests_of_a_host(fleet))
                raw = statistics.mean([before, seconds_of_raw(fleet)])
            a_host[count].append(run.seconds / count)
            parts[f"{count} hosts, seconds by task"] = _by_task(run.tasks)
            if count == MANY:
                times_raw.append(run.seconds / raw)
    growth = [many / few for few, many in zip(a_host[FEW], a_host[MANY], strict=True)]
    parts.update({f"seconds a host of {count}": seconds for count, seconds in a_host.items()})
    what = f"a run, {MANY} hosts in one wave"
    return [
        Figure(what, "one `raw` task on them", 40, times_raw, parts=parts),
        Figure(f"{what}, a host", f"a host of {FEW}", 1.15, growth, parts={}),
        Figure("a run, requests of a host", "-", 8, requests, note="readings while it waits are not counted"),
    ]


def nothing_to_do(folder: Path, repeats: int) -> list[Figure]:
    seconds, parts = [], {}
    for repeat in range(repeats):
        with fleet_of(folder / str(repeat), MANY, events=False) as fleet:
            run = ran(fleet)
            seconds.append(run.seconds)
            parts = {"seconds by task": _by_task(run.tasks)}
    return [Figure(f"a run with nothing to do, {MANY} hosts", "-", 15, seconds, " s", parts=parts)]


def until_the_first_drain(folder: Path, repeats: int) -> list[Figure]:
    """From the start of the command until the first step of a drain is done, by the clock of the host."""
    seconds = []
    for repeat in range(repeats):
        with fleet_of(folder / str(repeat), 6, domains=3) as fleet, contextlib.ExitStack() as servers:
            for host, host_vars in by_ssh(fleet.folder, list(fleet.domain_of), servers).items():
                steps = [{"command": {"drain": fleet.note("drain", host), "restore": "/bin/true"}}]
                fleet.host_vars[host].update(host_vars, drain_steps=steps)
            # As for somebody who has worked with these hosts before.
            seconds_of_raw(fleet)
            began = time.time()
            ran(fleet)
            seconds.append(min(at for _word, _host, at in fleet.notes()) - began)
    return [Figure("a run of 6 hosts in 3 domains by ssh, until the first drain step", "-", 3, seconds, " s")]


def a_thousand_vms(folder: Path, _repeats: int) -> list[Figure]:
    """Once, as it takes its time. In five domains, so in five waves."""
    with fleet_of(folder / "thousand", 1000, domains=5) as fleet:
        run = peak_of(fleet.folder, fleet.command(*FORKS), ANSIBLE_PIPELINING="1")
        _went_through(fleet, (fleet.folder / "output").read_text(encoding="utf-8"))
    parts = {"seconds by task": _by_task(run["tasks"])}
    note = f"all processes together need at most {run['all']:.0f} MiB, the largest one {run['largest']:.0f} MiB"
    return [Figure("a run of 1,000 VMs in five domains", "-", 900, [run["seconds"]], " s", parts=parts, note=note)]


def _by_task(tasks: list[dict[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for task in tasks:
        if task["ended"]:
            found[task["task"]] = round(found.get(task["task"], 0.0) + task["ended"] - task["began"], 2)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _requests_of_a_host(fleet: RunFleet) -> float:
    """The most that one host has sent, without its wait: what it reads after its approval, but for the last look."""
    sent: dict[str, int] = {}
    readings_after: dict[str, int] = {}
    for line in fleet.simulator.log():
        vm = line["vm"]
        if line["method"] == "GET" and vm in readings_after:
            readings_after[vm] += 1
            continue
        sent[vm] = sent.get(vm, 0) + 1
        if line["method"] == "POST":
            readings_after[vm] = 0
    return float(max(sent[vm] + min(1, readings_after.get(vm, 0)) for vm in sent))
