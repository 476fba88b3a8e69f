# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long it takes to say which of 100,000 hosts may go down together."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ansible_collections.maintenance.azure.plugins.filter.waves import waves
from figures import Figure, ratios

HOSTS = 100_000
PER_GROUP = 20


def one_hundred_thousand(_folder: Path, repeats: int) -> list[Figure]:
    whole, half = hosts_of(HOSTS), hosts_of(HOSTS // 2)
    seconds: dict[str, list[float]] = {"100,000 hosts": [], "50,000 hosts": []}
    for _repeat in range(repeats):
        seconds["100,000 hosts"].append(measured(whole))
        seconds["50,000 hosts"].append(measured(half))
    growth = ratios(seconds["100,000 hosts"], seconds["50,000 hosts"])
    note = "processor time of the filter"
    return [
        Figure("`waves`, 100,000 hosts", "-", 1.0, seconds["100,000 hosts"], " s", parts={**seconds}, note=note),
        Figure("`waves`, 100,000 hosts", "50,000 hosts, linear is 2", 2.5, growth, parts={**seconds}, note=note),
    ]


def hosts_of(count: int) -> dict[str, dict[str, Any]]:
    """Availability sets of 20 VMs in 5 update domains; one VM of each has an event, which all of them were shown."""
    hosts: dict[str, dict[str, Any]] = {}
    for number in range(count):
        group, place = divmod(number, PER_GROUP)
        event = {
            "id": f"E-{group}",
            "type": "Reboot",
            "status": "Scheduled",
            "resources": [f"set{group}-vm{group % PER_GROUP}"],
            "not_before": f"2036-01-01T00:{group % 60:02}:00Z",
            "affects_this_host": place == group % PER_GROUP,
        }
        hosts[f"set{group}-vm{place}"] = {
            "maintenance_status": {
                "this_host": {
                    "vm_name": f"set{group}-vm{place}",
                    "update_domain": str(place % 5),
                    "resource_group": f"rg{group}",
                    "subscription_id": "0",
                    "zone": None,
                },
                "events": [event],
                "read_at": "2026-01-01T00:00:00Z",
            }
        }
    return hosts


def measured(hosts: dict[str, dict[str, Any]]) -> float:
    started = time.process_time()
    made = waves(list(hosts), hosts)
    spent = time.process_time() - started
    assert sum(map(len, made)) == len(hosts)
    return spent
