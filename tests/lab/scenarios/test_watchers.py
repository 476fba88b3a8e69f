# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that watch their own events: with no controller at all, and many of them at once."""

from __future__ import annotations

import re

import pytest
from lab import events, haproxy, watchers
from lab.cgroups import Group
from lab.evidence import Evidence, left_drained
from lab.names import WEB
from lab.shell import wait_until

ALL = {place.name for place in WEB}
DRAIN_AND_APPROVE = [{"action": "drain_and_approve"}]


@pytest.fixture
def machines(fleet):
    """The fleet behind a load balancer that asks often. Machines with a watcher do not outlive the test."""
    watchers.have_the_balancer_ask(fleet, watchers.USUAL_CHECKS, watchers.QUICK_CHECKS)
    fleet.wait_until_in_service()
    yield fleet
    for machine in fleet.web:
        if machine.has_power and (machine.root / "etc/azure-maintenance").exists():
            machine.turn_off()
    watchers.have_the_balancer_ask(fleet, watchers.QUICK_CHECKS, watchers.USUAL_CHECKS)


def switch_the_controller_off():
    """With the connections that ssh keeps."""
    Group("controller").kill()


def all_is_over(fleet):
    return (
        haproxy.in_service(fleet.balancer) == ALL
        and left_drained(fleet) == []
        and all(event["status"] in ("Finished", "Cancelled") for event in fleet.simulator.events())
    )


def two_hosts_at_once(evidence):
    spans = evidence.out_of_service() + evidence.struck()
    return [
        f"{one.host} and {other.host} at {max(one.begin, other.begin):.1f}"
        for index, one in enumerate(spans)
        for other in spans[index + 1 :]
        if one.host != other.host and one.meets(other)
    ]


def test_a_spot_vm_is_out_of_rotation_within_two_seconds(machines, figures):
    fleet = machines
    rule = {"type": ["Preempt", "Terminate"], "action": "drain", "past_others": True}
    watchers.install(fleet, "web-1", watch_reflex=[rule])
    machine = fleet.machines["web-1"]
    rating = machine.run("systemd-analyze", "security", "--no-pager", "azure-maintenance-watch.service")
    exposure = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", rating).group(1))
    assert exposure <= 3.0, rating
    switch_the_controller_off()
    evidence = Evidence(fleet)
    event_id = events.plan(fleet, "Preempt", "web-1", notice=30)
    wait_until(lambda: not machine.has_power, "the machine was taken away", 120)
    wait_until(lambda: machine.group.processes() == [], "nothing of it runs", 60)
    published = evidence.change(event_id, "created")
    (span,) = [span for span in evidence.out_of_service() if span.host == "web-1"]
    stopped = max(at for at, text in evidence.unit_changes(machine, "nginx.service") if text.startswith("Stopped"))
    answers = evidence.answers()
    evidence.keep("a-spot-vm-with-a-watcher")
    assert Group("controller").processes() == []
    assert answers.failed == []
    assert span.begin - published <= 2.0
    assert stopped < evidence.change(event_id, "started")
    assert evidence.approvals() == []
    figures.add(
        "a Preempt with a watcher, no controller",
        f"after publication: out of rotation {span.begin - published:.1f} s, drained {stopped - published:.1f} s;"
        f" {answers}; the unit is rated {exposure}",
    )


def test_a_single_vm_goes_through_its_reboot_with_no_controller_at_all(machines, figures):
    fleet = machines
    watchers.install(fleet, "web-2", watch_reflex=DRAIN_AND_APPROVE)
    switch_the_controller_off()
    evidence = Evidence(fleet)
    event_id = events.plan(fleet, "Reboot", "web-2", notice=900, impact_seconds=5)
    machine = fleet.machines["web-2"]
    wait_until(lambda: all_is_over(fleet), "the host is back in service", 300, 0.5)
    answers = evidence.answers()
    evidence.keep("a-reboot-with-a-watcher")
    assert Group("controller").processes() == []
    assert answers.failed == []
    assert evidence.approvals() == [event_id]
    assert evidence.boots("web-2") == 1
    told = [entry["what"] for entry in watchers.record(machine) if not entry["what"].startswith("step")]
    # Earlier scenarios may have left theirs.
    assert told.count("drain begins") == told.count("returned to service")
    last = len(told) - 1 - told[::-1].index("drain begins")
    assert told[last : last + 4] == ["drain begins", "drained", "approval begins", "approved"]
    assert told[last + 4 :] == ["approval confirmed", "returned to service"]
    assert not watchers.status(machine)["watcher"]["drained"]
    published, started = (evidence.change(event_id, change) for change in ("created", "started"))
    back = max(span.end for span in evidence.out_of_service() if span.host == "web-2")
    figures.add(
        "a Reboot with a watcher, no controller",
        f"after publication: approved {started - published:.1f} s, in service again {back - published:.1f} s;"
        f" {answers}",
    )


def test_five_watchers_on_one_document_go_one_after_the_other(machines, figures):
    fleet = machines
    hosts = sorted(ALL)[:5]
    watchers.install(fleet, *hosts, watch_reflex=DRAIN_AND_APPROVE, watch_reflex_latest=15)
    switch_the_controller_off()
    evidence = Evidence(fleet)
    for number, host in enumerate(hosts):
        events.plan(fleet, "Reboot", host, notice=60 + 50 * number, impact_seconds=2)
    wait_until(lambda: all_is_over(fleet), "all are back in service", 900, 0.5)
    answers = evidence.answers()
    evidence.keep("five-watchers")
    assert answers.failed == []
    assert two_hosts_at_once(evidence) == []
    assert {host: evidence.boots(host) for host in hosts} == dict.fromkeys(hosts, 1)
    figures.add(
        "five watchers with five Reboots",
        f"{answers}; two hosts down together: never; approvals: {len(evidence.approvals())}",
    )
