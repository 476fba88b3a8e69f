# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet of Linux and Windows hosts goes through its maintenance: one wave, one event, one lease."""

from __future__ import annotations

import base64

import pytest
from helpers.fleet import RollFleet
from helpers.restless_service import restless_service
from helpers.windows_host import WindowsHost, with_ansible_windows
from tools.wheel_part import Unavailable

pytestmark = pytest.mark.rest

# Besides the wait for the event.
CALLS_OF_A_ROLL = 20


class MixedFleet(RollFleet):
    """web-0 and web-1 are Linux hosts, web-2 and web-3 Windows hosts; web-0 and web-3 are of one domain."""

    WINDOWS = ("web-2", "web-3")

    def __init__(self, folder):
        super().__init__(folder)
        self.settings = with_ansible_windows()
        self.windows = {name: WindowsHost(folder / f"{name}.windows") for name in self.WINDOWS}
        for name, host in self.windows.items():
            self.host_vars[name] = {
                **host.host_vars,
                "ansible_shell_type": "powershell",
                "drain_journal": host.file("journal.json"),
                "maintenance_lock_path": host.file("run.lock"),
                "drain_steps": [self.windows_step(name)],
            }

    def windows_step(self, host):
        """A step that writes into the diary. So long a killed run keeps others out while tasks do a step."""
        return {"command": {**self.noted_step(host)["command"], "timeout": 40}}

    def journal(self, host):
        if host in self.windows:
            return self.windows[host].real(self.windows[host].file("journal.json"))
        return super().journal(host)


@pytest.fixture
def fleet(tmp_path):
    try:
        built = MixedFleet(tmp_path)
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    with built:
        yield built


def assert_all_went_well(fleet, run):
    assert run.code == 0, run.output
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_restored_only_after_the_end()
    fleet.assert_back_to_normal()


def approving_calls(host):
    """The deeds of the calls that hold an approval."""
    calls = [call["arguments"]["deeds"] for call in host.machine.calls() if "deeds" in call["arguments"]]
    return [
        [deed["deed"] for deed in deeds]
        for deeds in calls
        if any(base64.b64decode(deed.get("request", "")).startswith(b"POST") for deed in deeds)
    ]


@pytest.fixture
def restless(fleet):
    """A host of the fleet whose service never says the same in the same bytes."""
    with restless_service(fleet.simulator.endpoints["web-2"]) as endpoint:
        fleet.host_vars["web-2"]["maintenance_endpoint"] = endpoint
        yield fleet.windows["web-2"]


def test_a_mixed_fleet(fleet, restless):
    fleet.event_per_domain()
    plan = fleet.roll("--check")
    assert plan.code == 0, plan.output
    assert (fleet.notes(), fleet.approvals(), fleet.drained_hosts()) == ([], [], [])
    for host in fleet.windows.values():
        host.machine.forget_calls()
    run = fleet.roll()
    assert_all_went_well(fleet, run)
    assert sorted(fleet.approvals()) == ["E0", "E1", "E2"]
    assert all(fleet.count(word, host) == 1 for word in ("drain", "restore") for host in fleet.domain_of)
    assert {host: one["state"] for host, one in fleet.summary(run)["hosts"].items()} == dict.fromkeys(
        fleet.domain_of, "restored"
    )
    # The lease is kept by the Linux hosts first, and by one Windows host.
    keeper = fleet.windows["web-3"]
    assert keeper.text(keeper.file("run.lock")) is None
    assert len(keeper.calls()) <= CALLS_OF_A_ROLL, keeper.calls()
    # Look, compare, mark and send; and then mark and send what that look has shown.
    marks = ["replace", "replace"]
    assert approving_calls(restless) == [["boot", "send", *marks, "send"], ["boot", *marks, "send"]]


def test_a_run_that_is_killed_while_a_windows_host_is_drained(fleet):
    fleet.event_of_domain("0")
    fleet.roll_and_kill_when(lambda: fleet.count("drain", "web-3") == 1)
    assert fleet.journal("web-3").exists()
    run = fleet.roll()
    assert_all_went_well(fleet, run)
    assert fleet.approvals() == ["E0"]


def test_a_windows_host_that_is_away_for_a_while(fleet):
    """The answer to what was written is lost: the next run, or the next turn, goes on."""
    fleet.event_of_domain("2")
    fleet.windows["web-2"].machine.has_trouble(lose=1, **{"with": "replace"})
    run = fleet.roll()
    if run.code != 0:
        run = fleet.roll()
    assert_all_went_well(fleet, run)
    assert fleet.approvals() == ["E2"]


def test_a_windows_host_that_lies_is_not_approved(fleet):
    fleet.event_of_domain("0")
    fleet.windows["web-3"].machine.has_trouble(lie={"results": [{"count": 7, "uptime": 1.0}] * 9})
    run = fleet.roll()
    assert run.code != 0
    assert fleet.approvals() == []
    fleet.windows["web-3"].machine.has_trouble()
    assert_all_went_well(fleet, fleet.roll())
