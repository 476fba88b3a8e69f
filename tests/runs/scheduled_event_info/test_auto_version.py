# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""api_version auto, in a cloud that lacks the newer versions."""

from __future__ import annotations

import pytest
from helpers import transports as ways
from helpers.ansible_run import fleet_inventory, play
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest

INFO = "maintenance.azure.scheduled_event_info"
FOUND = "2017-08-01"
HIDDEN = (
    f"The metadata service answers api-version {FOUND} and no newer one, which never shows Preempt and Terminate events"
)


@pytest.fixture
def simulator():
    with Simulator({"vms": [{"name": "web"}]}, api_versions=["2017-03-01", FOUND], requests_per_second=0) as fleet:
        fleet.add_event(id="A1", type="Reboot", resources=["web"], notice=9000)
        fleet.add_event(id="P1", type="Preempt", resources=["web"], notice=9000)
        yield fleet


def run(folder, simulator, *tasks, way=ways.ANY):
    hosts = fleet_inventory(folder, simulator, **ways.host_vars(folder, way))
    return play(folder, hosts, *tasks, **ways.play_keywords(folder, way))


def read(name, **options):
    return {"name": name, INFO: {"api_version": "auto", **options}, "ignore_errors": True}


def asked_versions(simulator):
    return [line["query"].partition("=")[2] for line in simulator.log() if line["path"].endswith("/scheduledevents")]


@pytest.mark.parametrize("way", ways.TO_THE_SERVICE)
def test_the_version_is_found_remembered_and_told(tmp_path, simulator, way):
    outcome = run(tmp_path, simulator, read("Read"), read("Read again", affecting="any"), way=way)
    assert outcome.code == 0, outcome.output
    for task in ("Read", "Read again"):
        result = outcome.of(task)
        assert [event["id"] for event in result["events"]] == ["A1"]
        assert result["api_version"] == FOUND
        assert any(HIDDEN in str(warning) for warning in result["warnings"])
    assert outcome.of("Read")["this_host"]["vm_name"] == "web"
    assert HIDDEN in " ".join(outcome.output.split())
    # Down to the one that is there, and then that one at once.
    assert len(asked_versions(simulator)) == 7
    assert asked_versions(simulator)[-2:] == [FOUND, FOUND]
