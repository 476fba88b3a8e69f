# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watchers on the machines of the lab, installed by the role as a user would do it."""

from __future__ import annotations

import json
from typing import Any

from lab import controller
from lab.fleet import Fleet
from lab.machine import Machine
from lab.shell import wait_until

BOOK = """- name: Watch
  hosts: "{{ maintenance_hosts }}"
  gather_facts: false
  roles: [maintenance.azure.watch]
"""
# Every step is one of the host itself: the load balancer finds out by its own checks.
STEPS: list[dict[str, Any]] = [
    {"load_balancer": {"probe_file": {"path": "/srv/www/healthz", "wait": 3}}},
    {"connections": {"ports": [80], "at_most": 0, "timeout": 30}},
    {"services": {"names": ["nginx"]}},
]
USUAL_CHECKS = "check inter 1s fall 2 rise 2"
QUICK_CHECKS = "check inter 500ms fastinter 100ms fall 2 rise 2"
CONFIGURATION = "etc/haproxy/haproxy.cfg"
STATUS = "run/azure-maintenance/status.json"
RECORD = "var/log/azure-maintenance/audit.jsonl"


def install(fleet: Fleet, *hosts: str, **variables: Any) -> None:
    """On these hosts; comes back when each has read its events, and when nothing can have gone unseen any more."""
    book = controller.HOME / "watch.yml"
    book.write_text(BOOK)
    settings = {"drain_steps": STEPS, "maintenance_hosts": ",".join(hosts), **variables}
    installed = controller.run("watch", book=str(book), **settings)
    assert installed.code == 0, installed.output
    for host in hosts:
        wait_until(lambda host=host: status(fleet.machines[host]), f"the watcher of {host} has read", 60)
    for host in hosts:
        machine = fleet.machines[host]
        wait_until(lambda machine=machine: _is_settled(machine), f"{host} knows what there is", 90)


def _is_settled(machine: Machine) -> bool:
    """Half a minute after the first reading an event of others that was missed no longer counts."""
    path = machine.root / "var/lib/azure-maintenance/reflex_memory.json"
    if not path.exists():
        return False
    since = json.loads(path.read_text())["sightings"]["others_gone_at"]
    return since is None or float(machine.run("date", "+%s")) - since > 31


def status(machine: Machine) -> Any:
    try:
        return json.loads(machine.inner_path(STATUS).read_text())
    except FileNotFoundError:
        return None


def record(machine: Machine) -> list[dict[str, Any]]:
    path = machine.root / RECORD
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def have_the_balancer_ask(fleet: Fleet, before: str, after: str) -> None:
    path = fleet.balancer.root / CONFIGURATION
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    fleet.balancer.run("systemctl", "restart", "haproxy")
