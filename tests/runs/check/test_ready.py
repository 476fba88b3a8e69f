# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet that is ready is found so, and nothing is changed or asked that was not allowed."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from helpers.ansible_run import fleet_inventory, inventory, run
from helpers.check_run import check
from helpers.host_services import Units
from helpers.simulator_process import Simulator

FLEET = {
    "groups": {"web": {"kind": "availability_set"}},
    "vms": [{"name": f"web-{number}", "group": "web", "update_domain": number % 2} for number in range(3)],
}


@pytest.fixture(scope="module")
def simulator():
    with Simulator(FLEET) as fleet:
        yield fleet


@pytest.fixture
def host_vars(tmp_path):
    units = Units(tmp_path / "systemd")
    units.set(nginx="active")
    return {
        "maintenance_delivery_group": "web",
        "drain_journal": str(tmp_path / "state" / "journal.json"),
        "watch_status_file": str(tmp_path / "no-watcher.json"),
        "watch_dir": str(tmp_path / "no-watcher"),
        "drain_steps": [{"services": {"names": ["nginx"]}}, {"command": {"drain": "true"}}],
        "maintenance_lock_path": str(tmp_path / "run.lock"),
        "units_folder": str(units.folder),
    }


def with_units(host_vars):
    path = [host_vars["units_folder"], str(Path(sys.executable).parent), os.environ["PATH"]]
    return {"PATH": os.pathsep.join(path)}


def test_all_is_good(tmp_path, simulator, host_vars):
    simulator.clear_log()
    found = check(
        tmp_path,
        fleet_inventory(tmp_path, simulator, **host_vars),
        settings=with_units(host_vars),
        check_service=True,
        maintenance_min_in_service=1,
    )
    # How long a call takes is a matter of this machine.
    slow = [doubt for doubt in found.not_good() if doubt[1] == "reach"]
    assert found.not_good() == slow
    assert found.run.code == 0, found.run.output
    assert found.report["verdict"] == ("doubtful" if slow else "good")
    assert ("The fleet is ready, with doubts" if slow else "The fleet is ready: ") in found.run.output
    assert {finding["area"] for finding in found.report["hosts"]["web-0"]} == {"way", "service", "state", "plan"}
    keys = {"area", "point", "verdict", "seen", "do"}
    assert all(set(finding) == keys for finding in [*found.report["hosts"]["web-1"], *found.report["fleet"]])
    # It tells what it saw.
    assert re.match(r"by local, a call takes [\d.]+ s", found.of("web-0", "reach")["seen"])
    assert found.of("web-0", "how our code")["seen"] == "one command"
    assert found.of("web-1", "domain")["seen"] == "update domain 1"
    assert found.of("web-0", "step 1 (services): unit nginx")["seen"] == "there"
    assert found.of("the fleet", "the document of web")["seen"] == "the same on 3 hosts, 0 events"
    assert found.of("the fleet", "a Reboot of every host")["seen"] == "2 waves, the largest of 2 of 3 hosts"
    assert "in wave 2 of 2" in found.of("web-1", "a Reboot")["seen"]
    assert found.of("the fleet", "in service")["seen"].startswith("at least 1 of 3 hosts")
    assert {line["method"] for line in simulator.log()} == {"GET"}


@pytest.mark.rest
def test_the_service_is_asked_only_when_that_is_allowed(tmp_path, simulator, host_vars):
    simulator.clear_log()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    hosts = fleet_inventory(tmp_path, simulator, **host_vars)
    found = check(tmp_path, hosts, settings=with_units(host_vars), check_facts=True)
    assert simulator.log() == []
    assert found.run.code == 0, found.run.output
    assert found.report["verdict"] == "doubtful"
    told = found.of("the fleet", "it answers")
    assert (told["area"], told["verdict"]) == ("service", "doubtful")
    assert "switches Scheduled Events on for all VMs of a group" in told["seen"]
    assert "check_service=true" in told["do"]
    assert found.verdict("the fleet", "the facts") == "doubtful"
    # Nothing is left behind but what this test and Ansible wrote.
    after = {path.name for path in tmp_path.rglob("*") if "home" not in path.parts}
    assert after - set(before) == {"hosts.json", "check.json", "results.jsonl", "lock"}


@pytest.mark.rest
def test_a_report_that_can_not_be_written_is_told(tmp_path):
    hosts = inventory(tmp_path, {"a": {}})
    command = [
        "ansible-playbook",
        "-i",
        str(hosts),
        "maintenance.azure.check",
        "-e",
        "check_report=/proc/nothing/x.json",
    ]
    done = run(tmp_path, command).ended(2)
    assert "Name a file in check_report that may be written" in done.of("Put together what was seen")["msg"]


@pytest.mark.rest
def test_of_many_hosts_only_what_is_not_good_is_shown(tmp_path):
    own = {"drain_journal": str(tmp_path / "j" / "journal.json"), "drain_steps": [{"command": {"drain": "true"}}]}
    hosts = {f"web-{number}": own for number in range(21)}
    hosts["web-3"] = {**own, "drain_steps": [{"no such kind": {}}]}
    found = check(tmp_path, inventory(tmp_path, hosts))
    lines = found.run.of("Say what was found")["msg"]
    (told,) = [line for line in lines if " web-" in line and "the fleet" not in line]
    assert told.startswith("bad      web-3,")
    assert "there is no kind no such kind" in told
    assert len(found.report["hosts"]) == 21
    assert found.run.code == 2
    assert json.dumps(found.report["hosts"]["web-7"]).count('"good"') > 5
