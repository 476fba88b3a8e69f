# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is launched in AWX: a job for each group with something to do, never two for one; a workflow for a reason."""

from __future__ import annotations

import json
import sys
import time

import pytest
from helpers import ROOT
from helpers.ansible_run import run
from helpers.awx_double.server import AwxDouble
from helpers.fleet import RunFleet
from helpers.other_collections import collections_path

PROJECT = ROOT / "extensions" / "patterns" / "azure_maintenance"
QUESTION = {"type": "text", "required": True, "min": 1}
ASKED = {
    "maintenance_hosts": "",
    "maintenance_max_at_once": "100%",
    "maintenance_drain_profile": "own",
}


@pytest.fixture
def awx():
    with AwxDouble(PROJECT) as double:
        project = double.store.add("projects", {"name": "P", "organization": 1})
        questions = [{"variable": name, "default": default, **QUESTION} for name, default in ASKED.items()]
        double.store.add(
            "job_templates",
            {
                "name": "Azure maintenance: roll one group",
                "project": project["id"],
                "playbook": "playbooks/drain_then_approve.yml",
                "job_type": "run",
                "allow_simultaneous": True,
                "ask_limit_on_launch": True,
                "survey_enabled": True,
                "survey_spec": {"spec": questions},
            },
        )
        # Nobody is a superuser who does not have to be.
        double.launches.superuser = False
        double.launches.member_of = [1, 99]
        yield double


@pytest.fixture
def template(awx):
    return awx.store.named("job_templates", "Azure maintenance: roll one group")


pytestmark = [pytest.mark.once, pytest.mark.rest]


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
    command += ["-e", "__maintenance_fan_out_pause=1"]
    return run(folder, command, 600, ANSIBLE_COLLECTIONS_PATH=collections_path(), **awx.environment)


def test_a_job_for_each_group_with_its_own_limit(tmp_path, hosts, awx):
    looked = fan_out(tmp_path, hosts, awx, "--check").ended()
    assert "9 hosts: 2 jobs for 2 delivery groups with 6 hosts" in looked.output
    assert awx.writes == []

    done = fan_out(tmp_path, hosts, awx, "-e", "maintenance_drain_profile=web").ended()
    assert awx.refusals == []
    (launched,) = awx.launches.workflow_jobs.values()
    assert [job["limit"] for job in launched["jobs"]] == ["a-0,a-1,a-2", "b-0,b-1,b-2"]
    for job in launched["jobs"]:
        # The hosts are also the pattern of the run: its lock is kept by hosts of its own group.
        assert job["extra_data"] == {"maintenance_hosts": job["limit"], "maintenance_drain_profile": "web"}
    assert "All 2 jobs ended well." in done.output
    # The lease is given back.
    assert list(tmp_path.glob("a-0.*")) == []


def test_what_awx_would_replace_is_not_launched(tmp_path, hosts, awx, template):
    template["ask_limit_on_launch"] = False
    done = fan_out(tmp_path, hosts, awx, "-e", '{"maintenance_max_at_once": 5}').ended(2)
    said = done.of("Refuse what AWX would replace")["msg"]
    assert said[0] == "Nothing was launched."
    assert "does not ask for a limit" in said[1]
    assert said[2].startswith("maintenance_max_at_once: 5 is no text; write it in quotes")
    assert awx.launches.workflow_jobs == {}


def test_jobs_with_other_variables_than_asked_for_are_cancelled(tmp_path, hosts, awx, template):
    """Somebody edits the template between the check and the jobs."""
    awx.launches.meanwhile = lambda: template.update(survey_enabled=False)
    awx.launches.looks_until_the_end = 1000
    done = fan_out(tmp_path, hosts, awx)
    assert done.code == 2
    said = " ".join(done.of("Report how the jobs ended")["msg"])
    assert "AWX gave these jobs other variables than they were launched with, so they were cancelled." in said
    assert "(group-1) has None for maintenance_hosts" in said
    assert {job["status"] for job in awx.launches.jobs.values()} == {"canceled"}


def test_it_waits_until_the_jobs_are_over_also_where_awx_does_not_answer(tmp_path, hosts, awx):
    awx.launches.looks_until_the_end = 7
    awx.launches.meanwhile = lambda: setattr(awx.launches, "unanswered", 3)
    done = fan_out(tmp_path, hosts, awx)
    assert done.code == 0, done.output
    assert awx.launches.unanswered == 0
    assert done.output.count("TASK [Wait for the jobs]") >= 3
    assert done.output.count("TASK [Renew the lease on each lock host]") >= 3


def test_jobs_that_awx_does_not_begin_in_time_are_cancelled(tmp_path, hosts, awx):
    awx.launches.looks_until_the_end = 1000
    done = fan_out(tmp_path, hosts, awx, "-e", "maintenance_fan_out_timeout=1")
    assert done.code == 2
    said = " ".join(done.of("Report how the jobs ended")["msg"])
    assert "not over after 1 seconds, see maintenance_fan_out_timeout." in said, done.output
    assert {job["status"] for job in awx.launches.jobs.values()} == {"canceled"}


def test_a_job_that_fails_is_a_failure_and_the_lease_is_given_back(tmp_path, hosts, awx):
    awx.launches.jobs_fail = True
    done = fan_out(tmp_path, hosts, awx)
    assert done.code == 2
    said = done.of("Report how the jobs ended")["msg"]
    assert said[0].endswith(": failed.")
    assert "did not end well; its output says why." in said[1]
    assert list(tmp_path.glob("a-0.*")) == []


# A busy machine may be late to renew what is to be renewed once a minute.
LONG_LEASE = ("-e", "__maintenance_lease_seconds=900")


@pytest.fixture
def fleet(tmp_path):
    with RunFleet(tmp_path, hosts=3, domains=2) as built:
        for host in built.domain_of:
            built.host_vars[host] = {"maintenance_delivery_group": "web"}
        yield built


def test_the_jobs_of_a_fan_out_approve_their_events(fleet, awx, tmp_path):
    fleet.event_per_domain()
    inventory = fleet.inventory()
    path = collections_path()
    cache = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(tmp_path / "facts")}
    more = {"ANSIBLE_COLLECTIONS_PATH": path, "ANSIBLE_PIPELINING": "1", **cache, **awx.environment}

    def playbook(name, *arguments, folder=tmp_path):
        return run(
            folder, ["ansible-playbook", "-i", str(inventory), f"maintenance.azure.{name}", *arguments], 300, **more
        )

    outputs = []

    def job(made):
        folder = tmp_path / f"job-{made['id']}"
        folder.mkdir()
        (folder / "vars.json").write_text(made["extra_vars"])
        done = playbook("drain_then_approve", "--limit", made["limit"], "-e", "@vars.json", *LONG_LEASE, folder=folder)
        outputs.append(done.output)
        return done.code == 0

    awx.launches.run = job
    playbook("collect").ended()
    done = playbook("awx_fan_out", *LONG_LEASE)
    assert done.code == 0, done.output + "".join(outputs)
    assert "All 1 jobs ended well." in done.output
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_back_to_normal()


def test_the_workflow_is_launched_once_and_only_for_a_reason(tmp_path):
    asked = [{"variable": name, **QUESTION} for name in ("maintenance_hosts", "maintenance_max_at_once")]
    with AwxDouble(PROJECT) as awx, RunFleet(tmp_path, hosts=2, domains=2) as fleet:
        awx.store.add("organizations", {"name": "Second"})
        for organization in (1, awx.store.named("organizations", "Second")["id"]):
            awx.store.add(
                "workflow_job_templates",
                {
                    "name": "W",
                    "organization": organization,
                    "survey_enabled": True,
                    "ask_variables_on_launch": False,
                    **dict.fromkeys(("ask_inventory_on_launch", "ask_limit_on_launch"), False),
                    "survey_spec": {"spec": asked},
                },
            )
        given = {
            "maintenance_look_workflow": "W",
            "maintenance_look_organization": "Second",
            "maintenance_hosts": "all",
            "maintenance_max_at_once": "50%",
        }

        def look():
            command = ["ansible-playbook", "-i", str(fleet.inventory()), "maintenance.azure.awx_look"]
            more = {"ANSIBLE_COLLECTIONS_PATH": collections_path(), **awx.environment}
            return run(tmp_path, [*command, "-e", json.dumps(given)], 300, **more).ended()

        assert "Nothing to do, so nobody is asked." in look().output
        assert awx.launches.workflow_jobs == {}

        fleet.event_per_domain()
        look()
        assert len(awx.launches.workflow_jobs) == 1
        launched = next(iter(awx.launches.workflow_jobs.values()))
        assert json.loads(launched["extra_vars"]) == {"maintenance_hosts": "all", "maintenance_max_at_once": "50%"}
        second = awx.store.kinds["workflow_job_templates"][launched["unified_job_template"]]
        assert second["organization"] != 1
        assert (fleet.notes(), fleet.approvals()) == ([], [])

        again = look()
        assert f"the workflow is under way for it: workflow job {launched['id']}" in again.output
        assert len(awx.launches.workflow_jobs) == 1
