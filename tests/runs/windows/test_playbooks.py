# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks that only look, on a fleet of Linux and Windows hosts."""

from __future__ import annotations

import json

import pytest
from helpers import ansible_run, check_run
from helpers.simulator_process import Simulator
from helpers.windows_host import SETTINGS, WindowsHost, with_ansible_windows
from tools.wheel_part import Unavailable

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
    found = run(tmp_path, inventory, "collect")
    assert found.code == 0, found.output
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
    found = run(tmp_path, inventory, "report", "-e", '{"maintenance_report_record": true}')
    assert found.code == 0, found.output
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
