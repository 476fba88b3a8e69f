# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events that also name VMs outside the run: they are drained late, and never beside another domain."""

from __future__ import annotations

import pytest
from helpers.fleet import RollFleet

pytestmark = pytest.mark.rest


def test_beside_a_domain_that_goes_down_nothing_is_drained_for_them(tmp_path):
    """A Freeze that names all of them puts them into one wave."""
    with RollFleet(tmp_path, hosts=5) as fleet:
        for outside in ("web-3", "web-4"):
            del fleet.host_vars[outside]
        hosts = ["web-0", "web-1", "web-2"]
        fleet.simulator.add_event(id="F", type="Freeze", resources=hosts, duration=5, dwell=1, notice=3000)
        fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=1, notice=3100)
        fleet.simulator.add_event(id="E1", type="Reboot", resources=["web-1", "web-4"], dwell=1, notice=3200)
        fleet.simulator.add_event(id="E2", type="Reboot", resources=["web-2", "web-3"], dwell=1, notice=3300)
        run = fleet.roll("-e", "approve_wait_timeout=20")
        assert run.code == 2, run.output
        assert sorted(fleet.approvals()) == ["E0", "F"]
        assert [host for word, host, _at in fleet.notes() if word == "drain"] == ["web-0"]
        assert "Not begun: event E1, as Nobody speaks in this run for web-4" in " ".join(run.output.split())
        fleet.assert_back_to_normal()


def test_a_chain_of_events_does_not_drain_a_second_domain(tmp_path):
    with RollFleet(tmp_path, hosts=4) as fleet:
        del fleet.host_vars["web-3"]
        fleet.simulator.add_event(id="A", type="Reboot", resources=["web-0", "web-1"], dwell=1, notice=3000)
        fleet.simulator.add_event(id="B", type="Reboot", resources=["web-1", "web-2", "web-3"], dwell=1, notice=3100)
        run = fleet.roll("-e", "approve_wait_timeout=20")
        assert run.code == 2, run.output
        assert fleet.approvals() == ["A"]
        assert fleet.count("drain", "web-2") == 0
        fleet.assert_back_to_normal()
