# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory plugin costs, against the figures that it has to meet. See README.md of this folder.

python tests/benchmark/inventory.py [--hosts 10000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from ansible_run import environment  # noqa: E402
from simulator_process import Simulator  # noqa: E402

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


class Cost(NamedTuple):
    # On a machine with other work, the processor's time says more than the clock's.
    processor: float
    clock: float


class Bench:
    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder = folder
        self.rounds = rounds
        self.missed: list[str] = []

    def command(self, *sources: str) -> Cost:
        words = [word for source in sources for word in ("-i", source)]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            ["ansible-inventory", *words, "--graph"],
            cwd=self.folder,
            env=environment(self.folder, ANSIBLE_DEPRECATION_WARNINGS="0"),
            capture_output=True,
            text=True,
            check=True,
        )
        clock, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.stderr.strip():
            sys.exit(f"ansible-inventory has something to say: {done.stderr[:2000]}")
        self.output = done.stdout
        return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock)

    def best(self, *sources: str, rounds: int | None = None) -> Cost:
        costs = [self.command(*sources) for _round in range(rounds or self.rounds)]
        return Cost(min(cost.processor for cost in costs), min(cost.clock for cost in costs))

    def check(self, name: str, value: float, most: float, unit: str = "s") -> None:
        good = value <= most
        print(f"{'good ' if good else 'MISSED'} {name}: {value:.2f} {unit}, at most {most:g} {unit}", flush=True)
        if not good:
            self.missed.append(name)


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


def from_files(bench: Bench, count: int) -> None:
    hosts, config = write_hosts(bench.folder, count), write_readings(bench.folder, count)
    without, with_plugin = bench.best(hosts), bench.best(hosts, config)
    members = bench.output.count("-vm")
    expected = 2 * count + count // PER_GROUP * (1 + 3 * 2 * EVENTS_PER_GROUP - 2 * EVENTS_PER_GROUP)
    if members != expected:
        sys.exit(f"{members} memberships in the graph, not {expected}: this measures something else")
    added = with_plugin.processor - without.processor
    print(f"     {count} hosts: {without.clock:.2f} s without, {with_plugin.clock:.2f} s with the plugin (clock)")
    bench.check(f"{count} hosts, added by the plugin (processor time)", added, 1.0 * count / 10_000)
    (bench.folder / "constructed.yml").write_text(json.dumps(CONSTRUCTED))
    few = write_hosts(bench.folder, 1000), write_readings(bench.folder, 1000)
    jinja = bench.best(*few, "constructed.yml", rounds=1).processor - bench.best(*few).processor
    jinja *= count / 1000
    print(f"     {count} hosts: {jinja:.1f} s for the same groups in Jinja (from 1,000 hosts)")
    bench.check("the plugin against Jinja", added / jinja, 0.1, "of it")
    more = 5 * count
    hosts, config = write_hosts(bench.folder, more), write_readings(bench.folder, more)
    added_more = bench.best(hosts, config).processor - bench.best(hosts).processor
    bench.check(f"{more} hosts against {count}, linear would be 5", added_more / added, 6.5, "times")


def live(bench: Bench) -> None:
    """1,000 hosts in 50 delivery groups: requests by the groups, not by the hosts."""
    sets = [f"set{number}" for number in range(50)]
    fleet = {
        "groups": {name: {"kind": "availability_set"} for name in sets},
        "vms": [{"name": f"{name}-vm{number}", "group": name} for name in sets for number in range(20)],
    }
    with Simulator(fleet, requests_per_second=0) as simulator:
        ways: dict[str, Callable[[str, str], dict[str, str]]] = {
            "one endpoint per group": lambda name, vm: {"maintenance_endpoint": simulator.endpoint(f"{name}-vm0")},
            "own endpoints and known groups": lambda name, vm: {
                "maintenance_endpoint": simulator.endpoint(vm),
                "maintenance_delivery_group": name,
            },
        }
        config = write_config(bench.folder, "live", endpoints=[])
        for way, variables in ways.items():
            hosts = {vm: variables(name, vm) for name in sets for vm in (f"{name}-vm{n}" for n in range(20))}
            (bench.folder / "live.json").write_text(json.dumps({"all": {"hosts": hosts}}))
            simulator.clear_log()
            cost = bench.command("live.json", config)
            print(f"     1000 live hosts, {way}: {cost.clock:.2f} s (clock)")
            bench.check(f"1000 live hosts, {way}", len(simulator.log()), len(sets), "requests")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        bench = Bench(Path(folder), options.rounds)
        from_files(bench, options.hosts)
        live(bench)
    sys.exit(f"missed: {', '.join(bench.missed)}" if bench.missed else 0)


if __name__ == "__main__":
    main()
