# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thirty hosts, ten events, ten forks: one request per leader, and nobody is asked too often."""

from __future__ import annotations

import collections

import pytest
from helpers.ansible_run import fleet_inventory, play
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest

HOSTS = [f"web_{number:02}" for number in range(30)]


def most_in_one_second(times):
    times = sorted(times)
    return max(sum(1 for other in times if start <= other < start + 1) for start in times)


def test_thirty_hosts(tmp_path):
    fleet = {"vms": [{"name": name, "group": "web"} for name in HOSTS], "groups": {"web": {"kind": "availability_set"}}}
    with Simulator(fleet) as simulator:
        for number in range(10):
            simulator.add_event(id=f"E{number}", type="Reboot", resources=HOSTS[number * 3 : number * 3 + 3], dwell=600)
        task = {"name": "Approve", "maintenance.azure.scheduled_event_approve": {"drained": "{{ ansible_play_batch }}"}}
        outcome = play(tmp_path, fleet_inventory(tmp_path, simulator), task, arguments=("--forks", "10"))
        log = simulator.log()
    assert outcome.code == 0, outcome.output
    posts = [line for line in log if line["method"] == "POST"]
    assert sorted(i for line in posts for i in line["approved"]) == sorted(f"E{number}" for number in range(10))
    assert len(posts) == len({line["vm"] for line in posts}) == 10
    assert sum(result["changed"] for result in outcome.everywhere("Approve").values()) == 10
    by_vm = collections.defaultdict(list)
    for line in log:
        by_vm[line["vm"]].append(line["time"])
    assert max(most_in_one_second(times) for times in by_vm.values()) <= 5
