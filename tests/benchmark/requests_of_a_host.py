# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""scheduled_event_info and scheduled_event_approve against what a user would write without them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import Figure, ratios
from helpers.ansible_run import fleet_inventory, inventory
from helpers.simulator_process import Simulator
from reached_by_ssh import WRAPPER, by_ssh
from timed_run import TimedRun, play

EVENTS = "{{ maintenance_endpoint }}/metadata/scheduledevents?api-version=2020-07-01"
INSTANCE = "{{ maintenance_endpoint }}/metadata/instance/compute?api-version=2019-06-01&format=json"
HEADERS = {"Metadata": "true"}

WARM_UP = {"name": "warm up", "ansible.builtin.raw": "true", "changed_when": False}
URI_EVENTS = {"name": "uri events", "ansible.builtin.uri": {"url": EVENTS, "headers": HEADERS, "return_content": True}}
URI_INSTANCE = {
    "name": "uri instance",
    "ansible.builtin.uri": {"url": INSTANCE, "headers": HEADERS, "return_content": True},
}
INFO = {"name": "info", "maintenance.azure.scheduled_event_info": {"endpoint": "{{ maintenance_endpoint }}"}}
CURL = {"name": "curl", "ansible.builtin.raw": f"curl -sf -H Metadata:true '{EVENTS}'", "changed_when": False}


@contextlib.contextmanager
def fleet(count: int) -> Iterator[Simulator]:
    """VMs that share nothing, each with one event; a benchmark asks more often than the service would allow."""
    vms = [{"name": f"vm{number}"} for number in range(count)]
    with Simulator({"vms": vms}, requests_per_second=0) as simulator:
        add_events(simulator, "E")
        yield simulator


def add_events(simulator: Simulator, prefix: str) -> None:
    for vm in simulator.endpoints:
        simulator.add_event(id=f"{prefix}-{vm}", type="Reboot", resources=[vm], notice=90000, dwell=0)


def interleaved(repeats: int, *ways: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every way once in each round, each time in another order; a command before each round keeps connections warm."""
    tasks: list[dict[str, Any]] = []
    for number in range(repeats):
        first = number % len(ways)
        tasks.append(WARM_UP)
        for way in ways[first:] + ways[:first]:
            tasks += way
    return tasks


def local_reading(folder: Path, repeats: int) -> list[Figure]:
    with fleet(50) as simulator:
        hosts = fleet_inventory(folder, simulator)
        run = play(folder, hosts, interleaved(repeats, [URI_EVENTS, URI_INSTANCE], [INFO], [CURL]))
    uri, info, curl = _two_gets(run), run.of("info"), run.of("curl")
    what = "scheduled_event_info, 50 hosts, local connection, forks 10"
    parts = {"info": info, "uri, two GETs": uri, "raw curl, one GET": curl}
    return [
        Figure(what, "`uri`, the same two GETs", 0.15, ratios(info, uri), parts=parts),
        Figure(what, "one `raw` curl", 1.5, ratios(info, curl), parts=parts),
    ]


def reading_by_ssh(folder: Path, repeats: int) -> list[Figure]:
    with fleet(20) as simulator, contextlib.ExitStack() as servers:
        hosts = _by_ssh(folder, simulator, servers)
        run = play(folder, hosts, interleaved(repeats, [URI_EVENTS, URI_INSTANCE], [INFO]), ANSIBLE_PIPELINING="0")
    uri, info = _two_gets(run), run.of("info")
    what = "scheduled_event_info, 20 addresses by ssh, forks 10"
    return [Figure(what, "`uri`, the same two GETs", 0.2, ratios(info, uri), parts={"info": info, "uri": uri})]


def processor_of_the_host(folder: Path, repeats: int) -> list[Figure]:
    """Every command that sshd is asked for is run by a program that writes down what it and its children used."""
    used = folder / "used.jsonl"
    with fleet(1) as simulator, contextlib.ExitStack() as servers:
        hosts = _by_ssh(folder, simulator, servers, force_command=f"{sys.executable} {WRAPPER} {used}")
        tasks = interleaved(repeats, [URI_EVENTS, URI_INSTANCE], [INFO])
        run = play(folder, hosts, tasks, ANSIBLE_PIPELINING="0")
        lines = [json.loads(line) for line in used.read_text().splitlines()]
    commands: dict[str, list[int]] = {}
    spent: dict[str, list[float]] = {}
    for task in run.tasks:
        own = [line for line in lines if task["began"] <= line["at"] <= task["ended"]]
        commands.setdefault(task["task"], []).append(len(own))
        spent.setdefault(task["task"], []).append(sum(line["user"] + line["system"] for line in own))
    costs = {
        "uri": [sum(pair) for pair in zip(spent["uri events"], spent["uri instance"], strict=True)],
        "info": spent["info"],
    }
    parts: dict[str, Any] = {**costs, "commands at the host": commands}
    return [
        Figure(
            "the host's processor time for one reading",
            "`uri`, the same two GETs",
            0.2,
            ratios(costs["info"], costs["uri"]),
            parts=parts,
            note="user and system time of the commands that sshd ran, sshd itself left out",
        )
    ]


def approving(folder: Path, repeats: int) -> list[Figure]:
    """Both ways find one event on each VM, which is over as soon as it is approved."""
    post = {"url": EVENTS, "headers": HEADERS, "method": "POST", "body_format": "json"}
    post["body"] = {"StartRequests": [{"EventId": "{{ (document.json.Events | first).EventId }}"}]}
    ways: dict[str, list[dict[str, Any]]] = {
        "uri": [{**URI_EVENTS, "register": "document"}, {"name": "uri approve", "ansible.builtin.uri": post}],
        "own": [
            {"name": "approve", "maintenance.azure.scheduled_event_approve": {"endpoint": "{{ maintenance_endpoint }}"}}
        ],
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with fleet(10) as simulator:
        hosts = fleet_inventory(folder, simulator)
        for number in range(2 * repeats):
            name = list(ways)[(number + number // 2) % 2]
            run = play(folder, hosts, [WARM_UP, *ways[name]])
            seconds[name].append(sum(run.of("uri events") + run.of("uri approve") + run.of("approve")))
            approved = [event_id for line in simulator.log() for event_id in line["approved"]]
            if sorted(approved) != sorted(event["id"] for event in simulator.events()):
                sys.exit(f"{name}: approved was {approved}, so this measures something else")
            add_events(simulator, f"E{number}")
    what = "scheduled_event_approve, 10 hosts, one event each"
    return [Figure(what, "a `uri` GET and POST", 0.35, ratios(seconds["own"], seconds["uri"]), parts={**seconds})]


def _two_gets(run: TimedRun) -> list[float]:
    return [events + instance for events, instance in zip(run.of("uri events"), run.of("uri instance"), strict=True)]


def _by_ssh(folder: Path, simulator: Simulator, servers: contextlib.ExitStack, force_command: str = "") -> Path:
    hosts = by_ssh(folder, list(simulator.endpoints), servers, force_command)
    for vm, url in simulator.endpoints.items():
        hosts[vm]["maintenance_endpoint"] = url
    return inventory(folder, hosts)
