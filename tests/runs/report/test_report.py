# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook report, from real readings and real runs."""

from __future__ import annotations

import json

import pytest
from helpers import ansible_run
from helpers.fleet import RunFleet
from helpers.simulator_process import Simulator

HOSTILE = "</script><script>alert(1)</script>{{ lookup('pipe', 'touch TRAP') }}<b>'\"&"


@pytest.fixture
def simulator():
    vms = [{"name": f"web-{number}", "group": "web", "update_domain": str(number)} for number in range(3)]
    with Simulator({"vms": vms, "groups": {"web": {}}}) as fleet:
        yield fleet


def report(folder, inventory, *arguments):
    return ansible_run.run(
        folder, ["ansible-playbook", "-i", str(inventory), "maintenance.azure.report", *arguments], timeout=300
    )


def data(folder, name="maintenance-report"):
    return json.loads((folder / f"{name}.json").read_text())


def test_what_is_read_now(tmp_path, simulator):
    trap = tmp_path / "evaluated"
    words = HOSTILE.replace("TRAP", str(trap))
    simulator.add_event(id=words, type="Reboot", resources=["web-0"], description=words)
    simulator.fault(kind="raw", vm="web-2", status=200, body=words)
    away = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    hosts = {vm: {"maintenance_endpoint": url} for vm, url in simulator.endpoints.items()}
    inventory = ansible_run.inventory(tmp_path, {**hosts, "away": away})
    run = report(tmp_path, inventory).ended()
    found = data(tmp_path)
    assert {host["name"]: host["state"] for host in found["hosts"]} == {
        "web-0": "pending",
        "web-1": "clear",
        "web-2": "unknown",
        "away": "unknown",
    }
    assert [event["id"] for event in found["events"]] == [words]
    assert "ssh" in next(host["unread"] for host in found["hosts"] if host["name"] == "away")
    page = (tmp_path / "maintenance-report.html").read_text()
    assert words not in page
    assert page.count("<script") == 1
    assert "{{ lookup" in page
    assert not trap.exists()
    assert str(tmp_path / "maintenance-report.html") in run.output
    assert "Nothing is known about away, web-2." in run.output


@pytest.mark.rest
def test_the_last_run(tmp_path):
    """Both ways that a report gets to know it: the file that a run writes, and the variable that AWX hands on."""
    with RunFleet(tmp_path, hosts=2, domains=2) as fleet:
        fleet.event_per_domain()
        kept = tmp_path / "run.json"
        run = fleet.run("-e", f"maintenance_run_file={kept}").ended()
        summary = fleet.summary(run)
        assert json.loads(kept.read_text()) == summary
        inventory = fleet.inventory()
        report(tmp_path, inventory, "-e", f"maintenance_run_file={kept}", "-e", "maintenance_report_name=first").ended()
        (tmp_path / "vars.json").write_text(
            json.dumps({"maintenance_run": summary, "maintenance_report_name": "second"})
        )
        report(tmp_path, inventory, "-e", f"@{tmp_path / 'vars.json'}").ended()
    for name in ("first", "second"):
        found = data(tmp_path, name)
        assert found["last_run"] == summary
        assert [host["last_run"]["state"] for host in found["hosts"]] == ["restored", "restored"]
        page = (tmp_path / f"{name}.html").read_text()
        assert "approved <time" in page
        assert "all is well" in page


@pytest.mark.rest
def test_without_reading_anything(tmp_path, simulator):
    """From what is known, as with cached facts; many hosts, in few tasks."""
    simulator.add_event(id="E", type="Reboot", resources=["web-0"])
    status = {
        "this_host": None,
        "document_incarnation": 1,
        "events": [],
        "pending": False,
        "read_at": "2026-11-16T00:00:00Z",
    }
    hosts = {f"h{number}": {"maintenance_status": status} for number in range(1999)}
    inventory = ansible_run.inventory(
        tmp_path, {**hosts, "web-0": {"maintenance_endpoint": simulator.endpoint("web-0")}}
    )
    folder = tmp_path / "not" / "there"
    report(tmp_path, inventory, "-e", "maintenance_report_read=false", "-e", f"maintenance_report_dir={folder}").ended()
    assert simulator.log() == []
    counts = data(folder)["counts"]
    assert (counts["hosts"], counts["clear"], counts["unknown"]) == (2000, 1999, 1)
    assert data(folder)["stale"] is True


@pytest.mark.rest
@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"maintenance_report_dir": "/proc/nothing"}, "Name a folder that may be written to"),
        ({"maintenance_report_name": "../x"}, "name is the name of a file"),
        ({"maintenance_run": {"x": 1}}, "maintenance_run is not what drain_then_approve ends with"),
        ({"maintenance_run_file": "hosts.json"}, "maintenance_run is not what drain_then_approve ends with"),
        ({"maintenance_run_file": "/proc/self/exe"}, "can't be read as JSON"),
    ],
)
def test_mistakes_end_in_a_sentence(tmp_path, options, part):
    inventory = ansible_run.inventory(tmp_path, {"a": {}})
    run = report(tmp_path, inventory, "-e", json.dumps({"maintenance_report_read": False, **options})).ended(2)
    assert part in run.of("Write the page and the data")["msg"]
