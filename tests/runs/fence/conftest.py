# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from helpers.ansible_run import fleet_inventory
from helpers.simulator_process import Simulator


@pytest.fixture(scope="module")
def simulator():
    vms = [{"name": name, "group": "set", "update_domain": "0"} for name in ("web", "db")]
    with Simulator({"vms": vms, "groups": {"set": {"kind": "availability_set"}}}, requests_per_second=0) as fleet:
        yield fleet


@pytest.fixture
def fleet(tmp_path, simulator):
    simulator.reset()
    return Fleet(tmp_path, simulator)


class Fleet:
    """Two VMs that one event names, each a host with a journal of its own."""

    def __init__(self, folder, simulator):
        self.folder, self.simulator = folder, simulator
        simulator.add_event(id="A1", type="Reboot", resources=["web", "db"], notice=9000, dwell=600)

    def inventory(self, **host_vars):
        return fleet_inventory(
            self.folder,
            self.simulator,
            **{"drain_journal": f"{self.folder}/{{{{ inventory_hostname }}}}/journal.json", **host_vars},
        )

    def journal(self, host="web"):
        path = self.folder / host / "journal.json"
        return json.loads(path.read_text()) if path.exists() else None

    def requests(self, host="web"):
        return [line["method"] for line in self.simulator.log() if line["vm"] == host]
