# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A watcher beside a real run, and killed at many moments: nothing is lost, nothing that was recorded is done again."""

from __future__ import annotations

import json
import os
import signal
import socket

import pytest
from helpers import ansible_run
from helpers.fleet import RunFleet
from helpers.waiting import wait_until
from helpers.watcher_process import Watcher

pytestmark = pytest.mark.waits


def test_a_run_leaves_its_mark_on_every_host_and_its_actions_in_the_record(tmp_path):
    with RunFleet(tmp_path, hosts=2, domains=2) as fleet:
        for host in fleet.domain_of:
            (tmp_path / f"watch-{host}").mkdir()
            fleet.host_vars[host]["watch_status_file"] = str(tmp_path / f"watch-{host}" / "status.json")
            # The role has made the directory on one of them only.
            fleet.host_vars[host]["watch_audit_file"] = str(tmp_path / f"log-{host}" / "audit.jsonl")
        (tmp_path / "log-web-0").mkdir()
        fleet.event_of_domain("0")
        fleet.run().ended()
        report = fleet_report(fleet, tmp_path)
        marks = [json.loads((tmp_path / f"watch-{host}" / "run.json").read_text()) for host in fleet.domain_of]
    assert len({mark["run_id"] for mark in marks}) == 1
    assert marks[0]["run_id"]
    path = tmp_path / "log-web-0" / "audit.jsonl"
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["what"] for line in told] == [
        "drain begins",
        "drained",
        "approval begins",
        "approved",
        "approval confirmed",
        "returned to service",
    ]
    confirmed = told[4]
    assert confirmed.pop("event") == "E0"
    confirmed["events"] = ["E0"]
    assert {line["by"] for line in told} == {f"run {marks[0]['run_id']}"}
    assert {line["where"] for line in told} == {socket.gethostname()}
    assert all(line["who"] and line["events"] == ["E0"] and line["host"] == "web-0" for line in told)
    assert all(isinstance(line["incarnation"], int) for line in told)
    assert told[2]["incarnation"] == told[3]["incarnation"] < confirmed["incarnation"]
    assert confirmed["shown"] in ("Started", "gone")
    assert told[2]["at"] <= confirmed["seen_at"] <= confirmed["at"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "log-web-1").exists()
    assert report["record"]["without"] == ["web-1"]
    assert [line["what"] for line in report["record"]["lines"]][-1] == "drain begins"
    (shown,) = (line for line in report["record"]["lines"] if line["what"] == "approval confirmed")
    assert shown["more"] == f"{confirmed['shown']} at {confirmed['seen_at']}: document {confirmed['incarnation']}"


def fleet_report(fleet, folder):
    words = ["-e", "maintenance_report_record=true", "-e", f"maintenance_report_dir={folder}"]
    command = ["ansible-playbook", "maintenance.azure.report", "-i", str(fleet.inventory()), *words]
    ansible_run.run(folder, command).ended()
    return json.loads((folder / "maintenance-report.json").read_text())


def test_a_run_takes_over_what_a_reflex_has_drained(tmp_path):
    with RunFleet(tmp_path, hosts=2, domains=2) as fleet:
        fleet.event_of_domain("0", notice=9000)
        steps = [{"number": 1, "kind": "command", "arguments": fleet.noted_step("web-0")["command"]}]
        watcher = Watcher(
            tmp_path / "watch",
            fleet.simulator.endpoint("web-0"),
            interval=1,
            journal=str(fleet.journal("web-0")),
            reflex={"reflex": [{"action": "drain"}], "steps": steps},
        ).start()
        try:
            # One that has only just begun to watch can't know what went before, and waits for half a minute.
            wait_until(lambda: fleet.count("drain", "web-0"))
            fleet.host_vars["web-0"]["watch_status_file"] = str(watcher.status_file)
            fleet.run().ended()
        finally:
            watcher.kill()
            for pid in watcher.reflex_pids():
                os.kill(pid, signal.SIGKILL)
        assert fleet.approvals() == ["E0"]
        assert fleet.drained_hosts() == []
        assert fleet.notes()[-1][:2] == ("restore", "web-0")
