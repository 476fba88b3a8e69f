# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks on a fleet of Linux and Windows hosts: those that only look, and a run in one wave, event and lease."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping

import pytest
from helpers import ansible_run, check_run
from helpers.fleet import RunFleet
from helpers.network import http_server
from helpers.simulator_process import Simulator, ask
from helpers.windows_host import SETTINGS, WindowsHost, with_ansible_windows
from tools.wheel_part import Unavailable


@contextlib.contextmanager
def restless_service(endpoint: str) -> Iterator[str]:
    """Its address. The data are the same: only the blanks behind them grow with each answer."""
    numbers = itertools.count(1)

    def answer(method: str, path: str, _headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        found = ask(endpoint + path, method, body or None, {"Metadata": "true"})
        return found.status, found.body + b" " * next(numbers)

    with http_server(answer) as address:
        yield address


pytestmark = pytest.mark.rest
JOURNAL = "C:\\ProgramData\\azure-maintenance\\journal.json"
FLEET = {
    "groups": {"web": {"kind": "availability_set"}},
    "vms": [{"name": f"web-{number}", "group": "web", "update_domain": number} for number in range(3)],
}


@pytest.fixture
def simulator():
    with Simulator(FLEET, requests_per_second=0) as fleet:
        fleet.add_event(id="E1", type="Reboot", resources=["web-1"], notice=900)
        yield fleet


@pytest.fixture
def windows(tmp_path):
    """web-1 and web-2 are Windows hosts, and the last of them does not answer."""
    hosts = {name: WindowsHost(tmp_path / f"{name}.windows") for name in ("web-1", "web-2")}
    hosts["web-2"].machine.has_trouble(away=True)
    return hosts


@pytest.fixture
def inventory(tmp_path, simulator, windows):
    steps = {"drain_steps": [{"services": {"names": ["W3SVC"]}}], "ansible_shell_type": "powershell"}
    own = {name: {"maintenance_endpoint": endpoint} for name, endpoint in simulator.endpoints.items()}
    own["web-0"]["drain_journal"] = str(tmp_path / "web-0" / "journal.json")
    for name, host in windows.items():
        own[name].update(host.host_vars, **steps)
    return ansible_run.inventory(tmp_path, own)


def run(folder, inventory, playbook, *arguments, **settings):
    command = ["ansible-playbook", "-i", str(inventory), f"maintenance.azure.{playbook}", *arguments]
    return ansible_run.run(folder, command, **SETTINGS, **settings)


def test_collect_keeps_what_was_read(tmp_path, inventory, windows):
    found = run(tmp_path, inventory, "collect").ended()
    results = found.everywhere("Keep what was read, or that nothing was")
    kept = {name: result["ansible_facts"] for name, result in results.items()}
    status = {name: one["maintenance_status"] for name, one in kept.items()}
    assert [event["id"] for event in status["web-1"]["events"] if event["affects_this_host"]] == ["E1"]
    assert status["web-1"]["this_host"]["vm_name"] == "web-1"
    assert [event["affects_this_host"] for event in status["web-0"]["events"]] == [False]
    assert status["web-2"] is None
    assert "the machine does not answer" in kept["web-2"]["maintenance_unread"]
    assert windows["web-1"].calls() == [["boot", "send", "send"]]


def test_report_shows_them(tmp_path, inventory):
    run(tmp_path, inventory, "report", "-e", '{"maintenance_report_record": true}').ended()
    report = json.loads((tmp_path / "maintenance-report.json").read_text())
    assert {host["name"]: host["state"] for host in report["hosts"]} == {
        "web-0": "clear",
        "web-1": "pending",
        "web-2": "unknown",
    }
    assert [event["id"] for event in report["events"]] == ["E1"]


def test_check_says_what_is_ready_and_what_is_not(tmp_path, inventory, simulator, windows):
    try:
        settings = with_ansible_windows()
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    found = check_run.check(tmp_path, inventory, check_service=True, settings=settings)
    assert (found.of("web-1", "how our code")["seen"], found.verdict("web-1", "Python")) == ("PowerShell", "good")
    assert found.verdict("web-1", "drain steps") == "good"
    assert found.verdict("web-1", "journal") == "good"
    assert found.verdict("web-2", "reach") == "bad"
    assert "does not run" in found.of("web-1", "it is the service itself")["seen"]
    # Left behind by a run that was killed.
    left = {"state": "drained", "run_id": "r1", "events": [{"id": "E1"}], "steps": [], "boot_id": "boot-7"}
    windows["web-1"].machine.write(JOURNAL, json.dumps({"version": 1, **left}))
    found = check_run.check(tmp_path, inventory, "--limit", "web-1", settings=settings)
    assert found.run.code != 0
    assert "by run r1 for E1" in found.of("web-1", "journal")["seen"]
    assert found.verdict("web-1", "journal") == "bad"


# Besides the wait for the event.
CALLS_OF_A_RUN = 32


class MixedFleet(RunFleet):
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
    """The actions of the calls that hold an approval."""
    calls = [call["arguments"]["actions"] for call in host.machine.calls() if "actions" in call["arguments"]]
    return [
        [action["action"] for action in actions]
        for actions in calls
        if any(base64.b64decode(action.get("request", "")).startswith(b"POST") for action in actions)
    ]


@pytest.fixture
def restless(fleet):
    """A host of the fleet whose service never says the same in the same bytes."""
    with restless_service(fleet.simulator.endpoints["web-2"]) as endpoint:
        fleet.host_vars["web-2"]["maintenance_endpoint"] = endpoint
        yield fleet.windows["web-2"]


def test_a_mixed_fleet(fleet, restless):
    fleet.event_per_domain()
    fleet.run("--check").ended()
    assert (fleet.notes(), fleet.approvals(), fleet.drained_hosts()) == ([], [], [])
    for host in fleet.windows.values():
        host.machine.forget_calls()
    run = fleet.run()
    assert_all_went_well(fleet, run)
    assert sorted(fleet.approvals()) == ["E0", "E1", "E2"]
    assert all(fleet.count(word, host) == 1 for word in ("drain", "restore") for host in fleet.domain_of)
    assert {host: one["state"] for host, one in fleet.summary(run)["hosts"].items()} == dict.fromkeys(
        fleet.domain_of, "restored"
    )
    # The lease is kept by the Linux hosts first, and by one Windows host.
    lock_host = fleet.windows["web-3"]
    assert lock_host.text(lock_host.file("run.lock")) is None
    assert len(lock_host.calls()) <= CALLS_OF_A_RUN, lock_host.calls()
    # Compare, mark and send; and then mark and send what another look has shown.
    marks = ["replace", "replace"]
    assert approving_calls(restless) == [["boot", "send", *marks, "send"], ["boot", *marks, "send"]]


def test_a_run_that_is_killed_while_a_windows_host_is_drained(fleet):
    fleet.event_of_domain("0")
    fleet.run_and_kill_when(lambda: fleet.count("drain", "web-3") == 1)
    assert fleet.journal("web-3").exists()
    run = fleet.run()
    assert_all_went_well(fleet, run)
    assert fleet.approvals() == ["E0"]


def test_a_windows_host_that_lies_is_not_approved(fleet):
    fleet.event_of_domain("0")
    fleet.windows["web-3"].machine.has_trouble(lie={"results": [{"count": 7, "uptime": 1.0}] * 9})
    run = fleet.run()
    assert run.code != 0
    assert fleet.approvals() == []
    fleet.windows["web-3"].machine.has_trouble()
    assert_all_went_well(fleet, fleet.run())
