# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who sees an event and may approve it."""

from __future__ import annotations

import pytest
from helpers.simulator_process import ControlError, Simulator

FLEET = {
    "groups": {
        "web": {"kind": "availability_set"},
        "pool-1": {"kind": "scale_set", "name": "pool"},
        "pool-2": {"kind": "scale_set", "name": "pool"},
        "roles": {"kind": "cloud_service"},
        "family": {"kind": "standalone"},
        "gpu": {"kind": "scale_set", "own_events_only": True},
    },
    "vms": [
        {"name": "web-0", "group": "web", "zone": "1"},
        {"name": "web-1", "group": "web", "zone": "2"},
        {"name": "pool_0", "group": "pool-1"},
        {"name": "pool_1", "group": "pool-1"},
        {"name": "pool_2", "group": "pool-2"},
        {"name": "FrontEnd_IN_0", "group": "roles"},
        {"name": "BackEnd_IN_0", "group": "roles"},
        {"name": "family-0", "group": "family"},
        {"name": "family-1", "group": "family"},
        {"name": "gpu_0", "group": "gpu"},
        {"name": "gpu_1", "group": "gpu"},
        {"name": "alone"},
        {"name": "zonal", "zone": "1"},
    ],
}


@pytest.fixture(scope="module")
def fleet():
    with Simulator(FLEET, requests_per_second=0) as simulator:
        yield simulator


def who_sees(simulator, event_id):
    return {vm for vm in simulator.endpoints if event_id in [e["EventId"] for e in simulator.document(vm)["Events"]]}


@pytest.mark.parametrize(
    ("vm", "seen_by"),
    [
        pytest.param("web-0", {"web-0", "web-1"}, id="all VMs of an availability set, whatever their zone"),
        pytest.param("pool_0", {"pool_0", "pool_1"}, id="all VMs of the placement group of a scale set"),
        pytest.param("pool_2", {"pool_2"}, id="not the other placement group of the same scale set"),
        pytest.param("FrontEnd_IN_0", {"FrontEnd_IN_0", "BackEnd_IN_0"}, id="all VMs of a cloud service"),
        pytest.param("alone", {"alone"}, id="a standalone VM alone"),
        pytest.param("zonal", {"zonal"}, id="a zonal VM alone"),
        pytest.param("family-0", {"family-0"}, id="each VM of a group of lone VMs alone"),
        pytest.param("gpu_0", {"gpu_0"}, id="a GPU VM in a scale set with one fault domain alone"),
    ],
)
def test_an_event_is_delivered_to(fleet, vm, seen_by):
    event = fleet.add_event(type="Reboot", resources=[vm])
    assert who_sees(fleet, event["id"]) == seen_by


def test_an_event_is_approvable_by_any_vm_of_the_group_also_one_that_it_does_not_name(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    assert simulator.approve("web-1", event["id"]).status == 200
    assert simulator.event(event["id"])["approved_by"] == "web-1"


def test_an_event_is_not_approvable_from_another_group(fleet):
    event = fleet.add_event(type="Reboot", resources=["web-0"])
    fleet.approve("alone", event["id"])
    assert not fleet.event(event["id"])["approved"]


def test_an_event_may_name_vms_that_nobody_plays(fleet):
    event = fleet.add_event(type="Reboot", resources=["stranger"], group="web")
    assert who_sees(fleet, event["id"]) == {"web-0", "web-1"}


def test_an_event_without_a_group_must_name_vms_of_the_fleet(fleet):
    with pytest.raises(ControlError, match='no VM of the fleet is called "stranger"'):
        fleet.add_event(type="Reboot", resources=["web-0", "stranger"])


def test_one_event_belongs_to_one_delivery_group(fleet):
    with pytest.raises(ControlError, match="different delivery groups"):
        fleet.add_event(type="Reboot", resources=["web-0", "alone"])


def test_the_same_name_may_exist_in_two_groups_inferred(start):
    """[I] Resources hold bare names, so the name alone does not tell which VM is meant."""
    simulator = start(
        {
            "vms": [
                {"name": "db", "group": "one", "resource_group": "rg-1"},
                {"name": "db", "key": "db-of-two", "group": "two", "resource_group": "rg-2"},
            ]
        }
    )
    event = simulator.add_event(type="Reboot", resources=["db-of-two"])
    assert who_sees(simulator, event["id"]) == {"db-of-two"}
    assert simulator.document("db-of-two")["Events"][0]["Resources"] == ["db"]


def test_the_first_call_of_one_vm_switches_the_service_on_for_its_whole_group_only(start):
    simulator = start(FLEET)
    simulator.document("web-0")
    on = [group["name"] for group in simulator.state()["groups"] if group["service"] == "on"]
    assert on == ["web"]
