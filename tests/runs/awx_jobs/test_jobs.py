# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every job template's equivalent, run by ansible-runner as AWX runs it."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from helpers import ROOT, ansible_run
from helpers.fleet import RunFleet

# What AWX runs: a project, an inventory source, and job templates through ansible-runner.

PATTERN = ROOT / "extensions" / "patterns" / "azure_maintenance"


class _Untrusted(yaml.SafeDumper):
    """AWX marks what comes from a survey, or from another job, as no template."""


_Untrusted.add_representer(str, lambda dumper, text: dumper.represent_scalar("!unsafe", text))


class Job:
    """What became of one job."""

    def __init__(self, status: str, code: int | None, events: list[dict[str, Any]], output: str) -> None:
        self.status = status
        self.code = code
        self.events = events
        self.output = output

    @property
    def artifacts(self) -> dict[str, Any]:
        """What set_stats kept, as AWX takes it from the last event."""
        stats = [event for event in self.events if event["event"] == "playbook_on_stats"]
        return stats[-1]["event_data"]["artifact_data"] if stats else {}

    def results_of(self, task: str) -> list[dict[str, Any]]:
        """As the API of AWX tells them, in the list of a job's events."""
        found = [event for event in self.events if event["event_data"].get("task") == task]
        return [event["event_data"]["res"] for event in found if event["event"] == "runner_on_ok"]


class AwxProject:
    """A fork of the pattern's folder, with the hosts of a simulated fleet in it."""

    def __init__(self, folder: Path, fleet: RunFleet) -> None:
        self.folder = folder
        self.fleet = fleet
        self.project = folder / "project"
        self.jobs = 0
        self.artifacts: dict[str, Any] = {}
        # What AWX tells a job about itself: nothing about slices. And where a workflow started it, about that.
        self.by_awx = True
        self.in_workflow: dict[str, Any] = {}
        shutil.copytree(PATTERN, self.project)
        hosts = {
            host: {
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
                "maintenance_endpoint": url,
                "drain_journal": str(fleet.journal(host)),
                "maintenance_lock_path": str(fleet.folder / f"{host}.lock"),
                "drain_profile": "diary",
                **fleet.host_vars[host],
            }
            for host, url in fleet.simulator.endpoints.items()
        }
        # JSON is YAML.
        (self.project / "inventory" / "10-hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
        words = self.project / "inventory" / "group_vars" / "all.yml"
        steps = {word: fleet.note(word, "{{ inventory_hostname }}") for word in ("drain", "restore")}
        diary = f"\n  diary: {json.dumps([{'command': steps}])}\n"
        words.write_text(words.read_text().replace("\n  none: []\n", f"\n  none: []{diary}"))

    def environment(self) -> dict[str, str]:
        given = ansible_run.environment(self.folder, ANSIBLE_PIPELINING="1")
        # These are for ansible_run's own reading along; ansible-runner brings its own.
        for name in ("ANSIBLE_CALLBACK_PLUGINS", "ANSIBLE_CALLBACKS_ENABLED", "RESULTS_FILE"):
            del given[name]
        return given

    def sync_inventory(self) -> dict[str, Any]:
        """An update of the inventory source."""
        # Only test-rest installs it, and `make test` reads the names of all tests.
        import ansible_runner

        out, err, code = ansible_runner.run_command(
            executable_cmd="ansible-inventory",
            cmdline_args=["-i", str(self.project / "inventory"), "--list", "--export"],
            envvars=self.environment(),
            host_cwd=str(self.project),
            quiet=True,
        )
        assert code == 0, err
        self.imported = json.loads(out)
        self.said = err
        return self.imported

    def private_data(self, answers: dict[str, Any], only: list[str] | None = None) -> Path:
        """The folder that AWX makes for a job; `only` is what a slice leaves of the hosts."""
        self.jobs += 1
        meta = {
            "awx_job_id": self.jobs,
            "awx_job_launch_type": "manual",
            "awx_job_template_id": 7,
            "awx_job_template_name": "Azure maintenance: drain then approve",
            "awx_inventory_id": 1,
            "awx_inventory_name": "Azure maintenance",
            "awx_user_id": 1,
            "awx_user_name": "admin",
        }
        private = self.folder / f"job-{self.jobs}"
        (private / "inventory").mkdir(parents=True)
        (private / "env").mkdir()
        shutil.copytree(self.project, private / "project")
        script = private / "inventory" / "hosts"
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(_sliced(self.imported, only))}\nEND\n")
        script.chmod(0o700)
        # What nodes before this one kept is handed on, and the answers of the survey win over it.
        variables = {**self.artifacts, **answers, **(meta if self.by_awx else {}), **self.in_workflow}
        (private / "env" / "extravars").write_text(yaml.dump(variables, Dumper=_Untrusted))
        facts = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(self.folder / "facts")}
        (private / "env" / "envvars").write_text(json.dumps({**self.environment(), **facts}))
        return private

    def run(self, playbook: str, *cmdline: str, only: list[str] | None = None, **answers: Any) -> Job:
        """A job on the instance that took it."""
        import ansible_runner

        private = self.private_data(answers, only)
        done = ansible_runner.run(
            private_data_dir=str(private),
            playbook=f"playbooks/{playbook}",
            cmdline=" ".join(cmdline) or None,
            quiet=True,
            ident="job",
        )
        job = Job(done.status, done.rc, list(done.events), (private / "artifacts" / "job" / "stdout").read_text())
        self.artifacts.update(job.artifacts)
        return job


def _sliced(imported: dict[str, Any], only: list[str] | None) -> dict[str, Any]:
    if only is None:
        return imported
    hostvars = {host: own for host, own in imported["_meta"]["hostvars"].items() if host in only}
    groups = {
        name: {**group, "hosts": [host for host in group.get("hosts", []) if host in only]}
        for name, group in imported.items()
        if name != "_meta"
    }
    return {**groups, "_meta": {"hostvars": hostvars}}


pytestmark = [pytest.mark.once, pytest.mark.rest]

ANSWERS = {"maintenance_hosts": "all", "maintenance_max_at_once": "100%", "maintenance_drain_profile": "own"}
RUN = {**ANSWERS, "maintenance_plan_only": "no"}
SCHEMA = json.loads((PATTERN.parents[2] / "docs" / "maintenance_run.schema.json").read_text())
HOSTILE = "{{ lookup('pipe', 'touch TRAP') }}{{ 7 * 191 }}"


@pytest.fixture
def fleet(tmp_path):
    folder = tmp_path / "fleet"
    folder.mkdir()
    with RunFleet(folder, hosts=3, domains=2) as built:
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

    plan = awx.run("drain_then_approve.yml", "--check", **RUN)
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
    failed = awx.run("failed.yml", maintenance_failed_step="run")
    assert failed.status == "failed"
    assert "The node run of this workflow failed. Its output says why." in " ".join(failed.output.split())
    plan = awx.run("drain_then_approve.yml", **{**RUN, "maintenance_plan_only": "yes"})
    assert plan.code == 0, plan.output
    assert plan.artifacts["maintenance_plan"]["to_do"] is False
    gate = awx.run("gate.yml")
    assert gate.status == "failed"
    assert "Nothing to do, so nobody is asked." in gate.output


def test_a_slice_is_refused_and_a_limit_that_cuts_an_event_is_told(awx, fleet):
    fleet.event_per_domain()
    awx.sync_inventory()
    awx.in_workflow = {"awx_workflow_job_id": 9, "awx_workflow_job_name": "Azure maintenance: drain then approve"}
    sliced = awx.run("drain_then_approve.yml", only=["web-0"], **RUN)
    assert sliced.status == "failed"
    said = " ".join(sliced.output.split())
    assert "Set job slicing to 1 and launch the template; do not relaunch this job." in said
    assert "there is a workflow with the template's name" in said
    assert fleet.notes() == []

    awx.in_workflow = {"awx_workflow_job_id": 9, "awx_workflow_job_name": "Azure maintenance: workflow"}
    limited = awx.run("drain_then_approve.yml", "--check", "--limit", "web-0", **RUN)
    said = " ".join(limited.output.replace('"', "").replace(",\n", "\n").split())
    assert "It is not approved: it also names web-2 (in the inventory, but not in this run: web-2)" in said
    assert fleet.notes() == []


def test_the_whole_workflow(awx, fleet):
    fleet.event_per_domain()
    awx.sync_inventory()
    for playbook, cmdline, answers in (
        ("collect.yml", (), {"maintenance_hosts": "all"}),
        ("drain_then_approve.yml", ("--check",), RUN),
        ("gate.yml", (), {}),
    ):
        job = awx.run(playbook, *cmdline, **answers)
        assert job.code == 0, job.output
    run = awx.run("drain_then_approve.yml", **RUN)
    assert (run.status, run.code) == ("successful", 0), run.output
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_restored_only_after_the_end()
    fleet.assert_back_to_normal()
    run = run.artifacts["maintenance_run"]
    assert run["ok"] is True
    jsonschema.validate(run, SCHEMA)
    assert {host: one["state"] for host, one in run["hosts"].items()} == dict.fromkeys(fleet.domain_of, "restored")
    # A later node works on it.
    report = awx.run("report.yml", maintenance_hosts="all")
    assert report.code == 0, report.output
    again = awx.run("drain_then_approve.yml", **RUN)
    assert again.code == 0, again.output
    assert len(fleet.approvals()) == 2
