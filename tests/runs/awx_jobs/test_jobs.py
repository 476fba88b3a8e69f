# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every job template's equivalent, run by ansible-runner as AWX runs it."""

from __future__ import annotations

import base64
import gzip
import json

import jsonschema
import pytest
from helpers.awx_job import PATTERN, AwxProject
from helpers.fleet import RollFleet

pytestmark = [pytest.mark.once, pytest.mark.rest]

ANSWERS = {"maintenance_hosts": "all", "maintenance_max_at_once": "100%", "maintenance_drain_profile": "own"}
ROLL = {**ANSWERS, "maintenance_plan_only": "no"}
SCHEMA = json.loads((PATTERN.parents[2] / "docs" / "maintenance_run.schema.json").read_text())
HOSTILE = "{{ lookup('pipe', 'touch TRAP') }}{{ 7 * 191 }}"


@pytest.fixture
def fleet(tmp_path):
    folder = tmp_path / "fleet"
    folder.mkdir()
    with RollFleet(folder, hosts=3, domains=2) as built:
        yield built


@pytest.fixture
def awx(tmp_path, fleet):
    return AwxProject(tmp_path, fleet)


def test_the_inventory_source_and_the_jobs_before_the_approval(awx, fleet, tmp_path):
    trap = tmp_path / "evaluated"
    words = HOSTILE.replace("TRAP", str(trap))
    fleet.event_per_domain(description=words)
    imported = awx.sync_inventory()
    assert sorted(imported["maintenance_pending"]["hosts"]) == ["web-0", "web-1", "web-2"]
    assert imported["maintenance_update_domain_1"]["hosts"] == ["web-1"]
    assert imported["_meta"]["hostvars"]["web-1"]["maintenance_status"]["pending"] is True

    collected = awx.run("collect.yml", maintenance_hosts="maintenance_pending")
    assert collected.code == 0, collected.output
    assert "3 hosts: 0 with nothing planned, 3 with events, 0 unread" in collected.output

    plan = awx.run("drain_then_approve.yml", "--check", **ROLL)
    assert plan.code == 0, plan.output
    assert "Wave 2 of 2: update domain 1" in plan.output
    kept = plan.artifacts["maintenance_plan"]
    assert {key: kept[key] for key in ("to_do", "waves", "hosts", "events", "restore_first", "unknown")} == {
        "to_do": True,
        "waves": 2,
        "hosts": 3,
        "events": 2,
        "restore_first": 0,
        "unknown": 0,
    }
    assert kept["drained"] == []
    assert kept["deadline"].startswith("20")

    gate = awx.run("gate.yml")
    assert gate.code == 0, gate.output
    assert "2 waves, 3 hosts, 2 events, due at 20" in gate.output
    assert (fleet.notes(), fleet.approvals(), fleet.drained_hosts()) == ([], [], [])

    more = {"maintenance_report_in_events": True, "__report_part_size": 2000}
    report = awx.run("report.yml", maintenance_hosts="all", **more)
    assert report.code == 0, report.output
    assert report.artifacts["maintenance_report"]["html"].endswith("maintenance-report.html")
    parts = [result["stdout"] for result in report.results_of("Hand the page over")]
    assert len(parts) > 1
    assert {len(part) for part in parts[:-1]} == {2000}
    page = gzip.decompress(base64.b64decode("".join(parts))).decode()
    assert page.startswith("<!")
    assert "web-2" in page

    assert not trap.exists()
    assert "1337" not in plan.output + collected.output


def test_nobody_is_asked_where_there_is_nothing_to_do(awx):
    awx.sync_inventory()
    failed = awx.run("failed.yml", maintenance_failed_step="roll")
    assert failed.status == "failed"
    assert "The node roll of this workflow failed. Its output says why." in " ".join(failed.output.split())
    plan = awx.run("drain_then_approve.yml", **{**ROLL, "maintenance_plan_only": "yes"})
    assert plan.code == 0, plan.output
    assert plan.artifacts["maintenance_plan"]["to_do"] is False
    gate = awx.run("gate.yml")
    assert gate.status == "failed"
    assert "Nothing to do, so nobody is asked." in gate.output


def test_a_slice_is_refused_and_a_limit_that_cuts_an_event_is_told(awx, fleet):
    fleet.event_per_domain()
    awx.sync_inventory()
    awx.in_workflow = {"awx_workflow_job_id": 9, "awx_workflow_job_name": "Azure maintenance: drain then approve"}
    sliced = awx.run("drain_then_approve.yml", only=["web-0"], **ROLL)
    assert sliced.status == "failed"
    said = " ".join(sliced.output.split())
    assert "Set job slicing to 1 and launch the template; do not relaunch this job." in said
    assert "there is a workflow with the template's name" in said
    assert fleet.notes() == []

    awx.in_workflow = {"awx_workflow_job_id": 9, "awx_workflow_job_name": "Azure maintenance: workflow"}
    limited = awx.run("drain_then_approve.yml", "--check", "--limit", "web-0", **ROLL)
    said = " ".join(limited.output.replace('"', "").replace(",\n", "\n").split())
    assert "It is not approved: it also names web-2 (in the inventory, but not in this run: web-2)" in said
    assert fleet.notes() == []


def test_the_whole_workflow(awx, fleet):
    fleet.event_per_domain()
    awx.sync_inventory()
    for playbook, cmdline, answers in (
        ("collect.yml", (), {"maintenance_hosts": "all"}),
        ("drain_then_approve.yml", ("--check",), ROLL),
        ("gate.yml", (), {}),
    ):
        job = awx.run(playbook, *cmdline, **answers)
        assert job.code == 0, job.output
    roll = awx.run("drain_then_approve.yml", **ROLL)
    assert (roll.status, roll.code) == ("successful", 0), roll.output
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_restored_only_after_the_end()
    fleet.assert_back_to_normal()
    run = roll.artifacts["maintenance_run"]
    assert run["ok"] is True
    jsonschema.validate(run, SCHEMA)
    assert {host: one["state"] for host, one in run["hosts"].items()} == dict.fromkeys(fleet.domain_of, "restored")
    # A later node works on it.
    report = awx.run("report.yml", maintenance_hosts="all")
    assert report.code == 0, report.output
    again = awx.run("drain_then_approve.yml", **ROLL)
    assert again.code == 0, again.output
    assert len(fleet.approvals()) == 2
