# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs what AWX runs: a project, an inventory source, and job templates through ansible-runner.

AWX fetches the project, imports what `ansible-inventory --list --export` prints, and hands each job a folder with the
project, a script that prints the imported inventory, and the answers of the survey as extra variables.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

from helpers import ROOT, ansible_run
from helpers.fleet import RollFleet

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

    def __init__(self, folder: Path, fleet: RollFleet) -> None:
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
