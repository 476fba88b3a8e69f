# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One job for each delivery group that has something to do, launched in AWX, never two for one group."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from ansible_run import run
from awx_double.server import AwxDouble
from other_collections import collections_path

pytestmark = pytest.mark.once

PROJECT = Path(__file__).resolve().parents[4] / "extensions" / "patterns" / "azure_maintenance"
QUESTION = {"type": "text", "required": True}
ASKED = ("maintenance_hosts", "maintenance_max_at_once", "maintenance_drain_profile")


@pytest.fixture
def awx():
    with AwxDouble(PROJECT) as double:
        project = double.store.add("projects", {"name": "P", "organization": 1})
        double.store.add(
            "job_templates",
            {
                "name": "Azure maintenance: roll one group",
                "project": project["id"],
                "playbook": "playbooks/drain_then_approve.yml",
                "allow_simultaneous": True,
                "ask_limit_on_launch": True,
                "survey_enabled": True,
                "survey_spec": {"spec": [{"variable": name, **QUESTION} for name in ASKED]},
            },
        )
        yield double


@pytest.fixture
def hosts(tmp_path):
    """Three availability sets of three; two of them have an event, and of one only one host was read."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    found = {}
    for group in ("a", "b", "c"):
        for number in range(3):
            name = f"{group}-{number}"
            event = {
                "id": f"E-{group}",
                "status": "Scheduled",
                "type": "Reboot",
                "resources": [f"{group}-0", f"{group}-2"],
            }
            status = {"events": [] if group == "c" else [event], "read_at": now, "this_host": None, "pending": True}
            found[name] = {
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
                "maintenance_lock_path": str(tmp_path / f"{name}.lock"),
                "maintenance_delivery_group": f"set-{group}",
                **({} if group == "b" and number else {"maintenance_status": status}),
            }
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": found}}))
    return tmp_path / "hosts.json"


def fan_out(folder, hosts, awx, *arguments):
    command = ["ansible-playbook", "-i", str(hosts), "maintenance.azure.awx_fan_out", *arguments]
    return run(folder, command, 600, ANSIBLE_COLLECTIONS_PATH=collections_path(), **awx.environment)


def test_a_job_for_each_group_with_its_own_limit(tmp_path, hosts, awx):
    looked = fan_out(tmp_path, hosts, awx, "--check")
    assert looked.code == 0, looked.output
    assert "9 hosts: 2 jobs for 2 delivery groups with 6 hosts" in looked.output
    assert awx.writes == []

    done = fan_out(tmp_path, hosts, awx, "-e", "maintenance_drain_profile=web")
    assert done.code == 0, done.output
    assert awx.refusals == []
    (launched,) = awx.store.workflow_jobs.values()
    assert [job["limit"] for job in launched["jobs"]] == ["a-0,a-1,a-2", "b-0,b-1,b-2"]
    for job in launched["jobs"]:
        # The hosts are also the pattern of the roll: its lock is kept by hosts of its own group.
        assert job["extra_data"] == {"maintenance_hosts": job["limit"], "maintenance_drain_profile": "web"}


@pytest.mark.long
def test_groups_are_packed_where_there_are_too_many(tmp_path, hosts, awx):
    done = fan_out(tmp_path, hosts, awx, "-e", "maintenance_fan_out_jobs=1")
    assert done.code == 0, done.output
    (launched,) = awx.store.workflow_jobs.values()
    assert [job["limit"] for job in launched["jobs"]] == ["a-0,a-1,a-2,b-0,b-1,b-2"]


@pytest.mark.long
def test_a_job_that_fails_is_a_failure_and_the_lock_is_given_back(tmp_path, hosts, awx):
    awx.jobs_fail = True
    done = fan_out(tmp_path, hosts, awx)
    assert done.code == 2
    assert "Bulk Job Launch" in done.of("Launch the jobs")["msg"]
    awx.jobs_fail = False
    assert fan_out(tmp_path, hosts, awx).code == 0
