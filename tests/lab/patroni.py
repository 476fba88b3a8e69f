# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real pair of PostgreSQL servers under Patroni on two of the machines, with its store on the load balancer."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from lab.fleet import Fleet
from lab.machine import FILES, Machine
from lab.names import BALANCER
from lab.shell import wait_until

PAIR = ("web-0", "web-1")
STORE = f"--listen-client-urls=http://0.0.0.0:2379 --advertise-client-urls=http://{BALANCER.address}:2379"
ASK = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8008/cluster', timeout=5).read().decode())"
DATA = "/var/lib/postgresql/lab"


def start(fleet: Fleet) -> None:
    balancer = fleet.balancer
    balancer.write("etc/default/etcd", f'DAEMON_ARGS="{STORE}"\n')
    balancer.run("systemctl", "start", "etcd")
    for name in PAIR:
        machine = fleet.machines[name]
        settings = (FILES / "patroni.yml").read_text()
        for word, value in {"name": name, "address": machine.place.address, "store": BALANCER.address}.items():
            settings = settings.replace(f"<{word}>", value)
        machine.write("etc/patroni/config.yml", settings)
        machine.run("systemctl", "start", "patroni")
    wait_until(lambda: leader(fleet) and len(_streaming(fleet)) == 1, "the pair has a leader and a replica", 120, 0.5)


def stop(fleet: Fleet) -> None:
    for name in PAIR:
        fleet.machines[name].run("sh", "-c", f"systemctl stop patroni; rm -rf {DATA}")
    fleet.balancer.run("sh", "-c", "systemctl stop etcd; rm -rf /var/lib/etcd/default")


def members(fleet: Fleet) -> list[dict[str, Any]]:
    """As any of the two tells it."""
    for name in PAIR:
        with contextlib.suppress(RuntimeError, ValueError):
            return list(json.loads(fleet.machines[name].run("python3", "-c", ASK))["members"])
    return []


def leader(fleet: Fleet) -> str:
    leading = [
        member["name"] for member in members(fleet) if member["role"] == "leader" and member["state"] == "running"
    ]
    return str(leading[0]) if leading else ""


def _streaming(fleet: Fleet) -> list[str]:
    found = members(fleet)
    return [
        member["name"]
        for member in found
        if member["role"] == "replica" and member["state"] in ("running", "streaming")
    ]


def takes_writes(machine: Machine) -> bool:
    """By PostgreSQL itself, not by Patroni."""
    question = "select not pg_is_in_recovery()"
    return machine.run("sudo", "-u", "postgres", "psql", "-XAtc", question).strip().endswith("t")
