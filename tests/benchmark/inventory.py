# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory plugin costs."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figures import Figure, ratios
from helpers.ansible_run import environment
from helpers.simulator_process import Simulator

HOSTS = 10_000
# Jinja takes half a minute for all of them, and is known to take as long for each.
HOSTS_IN_JINJA = 500
PER_GROUP = 100
EVENTS_PER_GROUP = 5
TYPES = ("Freeze", "Reboot", "Redeploy")

# The same groups as the plugin makes, as a user without it would write them.
CONSTRUCTED = {
    "plugin": "ansible.builtin.constructed",
    "groups": {
        "jinja_pending": "maintenance_status.events | selectattr('status', 'equalto', 'Scheduled') | list | length > 0",
        "jinja_started": "maintenance_status.events | selectattr('status', 'equalto', 'Started') | list | length > 0",
        "jinja_clear": "maintenance_status.events | length == 0",
        "jinja_unknown": "maintenance_status is not defined",
    },
    "keyed_groups": [
        {
            "prefix": "jinja_type",
            "key": "maintenance_status.events | map(attribute='type') | map('lower') | unique | list",
        },
        {
            "prefix": "jinja_source",
            "key": "maintenance_status.events | map(attribute='source') | map('lower') | unique | list",
        },
        {"prefix": "jinja_update_domain", "key": "maintenance_status.this_host.update_domain | default('')"},
    ],
}


def processor_time(folder: Path, *sources: str) -> tuple[float, str]:
    """What ansible-inventory takes, and what it writes. On a machine with other work, the clock would say less."""
    words = [word for source in sources for word in ("-i", source)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["ansible-inventory", *words, "--graph"],
        cwd=folder,
        env=environment(folder, ANSIBLE_DEPRECATION_WARNINGS="0"),
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.stderr.strip():
        sys.exit(f"ansible-inventory has something to say: {done.stderr[:2000]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def write_hosts(folder: Path, count: int) -> str:
    """A static inventory: groups of 100 hosts, each a delivery group."""
    lines = []
    for group in range(count // PER_GROUP):
        lines += [f"[set{group}]", f"set{group}-vm[0:{PER_GROUP - 1}]"]
        lines += [f"[set{group}:vars]", f"maintenance_delivery_group=set{group}"]
    name = f"hosts-{count}.ini"
    (folder / name).write_text("\n".join(lines) + "\n")
    return name


def write_readings(folder: Path, count: int) -> str:
    """One saved reading per delivery group, by its first VM, with five events that name two VMs each."""
    readings = folder / f"readings-{count}"
    readings.mkdir()
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for group in range(count // PER_GROUP):
        events = [
            {
                "id": f"E-{group}-{number}",
                "type": TYPES[number % len(TYPES)],
                "status": "Scheduled" if number else "Started",
                "source": "Platform",
                "resources": [f"set{group}-vm{number * 3}", f"set{group}-vm{number * 3 + 1}"],
                "not_before": "2036-01-01T00:00:00Z" if number else None,
                "description": "Host server is undergoing maintenance.",
            }
            for number in range(EVENTS_PER_GROUP)
        ]
        who = {"vm_name": f"set{group}-vm0", "update_domain": "0"}
        (readings / f"{group}.json").write_text(json.dumps({"this_host": who, "events": events, "read_at": now}))
    return write_config(folder, f"{count}", source="file", paths=[f"{readings.name}/*.json"])


def write_config(folder: Path, name: str, **options: Any) -> str:
    path = folder / f"{name}-scheduled_events.yml"
    path.write_text(json.dumps({"plugin": "maintenance.azure.scheduled_events", **options}))
    return path.name


def ten_thousand_hosts(folder: Path, repeats: int) -> list[Figure]:
    hosts, config = write_hosts(folder, HOSTS), write_readings(folder, HOSTS)
    few = write_hosts(folder, HOSTS_IN_JINJA), write_readings(folder, HOSTS_IN_JINJA)
    (folder / "constructed.yml").write_text(json.dumps(CONSTRUCTED))
    names = ("without", "with", "few", "few with constructed")
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _repeat in range(repeats):
        for name, sources in zip(names, ((hosts,), (hosts, config), few, (*few, "constructed.yml")), strict=True):
            spent, output = processor_time(folder, *sources)
            seconds[name].append(spent)
            if name == "with":
                check_graph(output, HOSTS)
    added = [own - plain for own, plain in zip(seconds["with"], seconds["without"], strict=True)]
    jinja = [
        (both - plain) * HOSTS / HOSTS_IN_JINJA
        for both, plain in zip(seconds["few with constructed"], seconds["few"], strict=True)
    ]
    parts: dict[str, Any] = {**seconds, "added by the plugin": added, "the same groups in Jinja, scaled": jinja}
    note = "processor time of ansible-inventory"
    return [
        Figure("inventory plugin, 10,000 hosts, added", "the same hosts without it", 1.0, added, " s", parts, note),
        Figure(
            "inventory plugin, 10,000 hosts",
            "the same groups by `constructed`",
            0.1,
            ratios(added, jinja),
            parts=parts,
            note=f"{note}; `constructed` on {HOSTS_IN_JINJA} hosts, times {HOSTS // HOSTS_IN_JINJA}",
        ),
    ]


def check_graph(output: str, count: int) -> None:
    members = output.count("-vm")
    expected = 2 * count + count // PER_GROUP * (1 + 3 * 2 * EVENTS_PER_GROUP - 2 * EVENTS_PER_GROUP)
    if members != expected:
        sys.exit(f"{members} memberships in the graph, not {expected}: this measures something else")


def live_requests(folder: Path, _repeats: int) -> list[Figure]:
    """1,000 hosts in 50 delivery groups: requests by the groups, not by the hosts."""
    sets = [f"set{number}" for number in range(50)]
    fleet = {
        "groups": {name: {"kind": "availability_set"} for name in sets},
        "vms": [{"name": f"{name}-vm{number}", "group": name} for name in sets for number in range(20)],
    }
    counts = []
    with Simulator(fleet, requests_per_second=0) as simulator:
        ways: dict[str, Callable[[str, str], dict[str, str]]] = {
            "one endpoint per group": lambda name, vm: {"maintenance_endpoint": simulator.endpoint(f"{name}-vm0")},
            "own endpoints and known groups": lambda name, vm: {
                "maintenance_endpoint": simulator.endpoint(vm),
                "maintenance_delivery_group": name,
            },
        }
        config = write_config(folder, "live", endpoints=[])
        for variables in ways.values():
            hosts = {vm: variables(name, vm) for name in sets for vm in (f"{name}-vm{n}" for n in range(20))}
            (folder / "live.json").write_text(json.dumps({"all": {"hosts": hosts}}))
            simulator.clear_log()
            processor_time(folder, "live.json", config)
            counts.append(len(simulator.log()))
    what = "inventory plugin, requests for 1,000 live hosts"
    return [
        Figure(what, "50 delivery groups", len(sets), [float(count) for count in counts], parts={"ways": list(ways)})
    ]
