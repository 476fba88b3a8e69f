# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One job for each delivery group that has something to do, launched in AWX, never two for one group."""

from __future__ import annotations

import json
import sys
import time

import pytest
from helpers.ansible_run import run
from helpers.other_collections import collections_path

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
                "maintenance_fan_out_path": str(tmp_path / f"{name}.word"),
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
    (launched,) = awx.launches.workflow_jobs.values()
    assert [job["limit"] for job in launched["jobs"]] == ["a-0,a-1,a-2", "b-0,b-1,b-2"]
    (name,) = {job["extra_data"].pop("maintenance_fan_out_id") for job in launched["jobs"]}
    assert name.startswith("by hand ")
    for job in launched["jobs"]:
        # The hosts are also the pattern of the roll: its lock is kept by hosts of its own group.
        assert job["extra_data"] == {
            "maintenance_hosts": job["limit"],
            "maintenance_drain_profile": "web",
            "maintenance_fan_out_keepers": "a-0,a-1,a-2",
        }
    assert "All 2 jobs ended well." in done.output
    # Lease and word are given back.
    assert list(tmp_path.glob("a-0.*")) == []


def test_what_awx_would_replace_is_not_launched(tmp_path, hosts, awx, template):
    template["ask_limit_on_launch"] = False
    done = fan_out(tmp_path, hosts, awx, "-e", '{"maintenance_max_at_once": 5}')
    assert done.code == 2
    said = done.of("Refuse what AWX would replace")["msg"]
    assert said[0] == "Nothing was launched."
    assert "does not ask for a limit" in said[1]
    assert said[2].startswith("maintenance_max_at_once: 5 is no text; write it in quotes")
    assert awx.launches.workflow_jobs == {}


def test_jobs_with_other_variables_than_asked_for_get_no_word(tmp_path, hosts, awx, template):
    """Somebody edits the template between the check and the jobs."""
    awx.launches.meanwhile = lambda: template.update(survey_enabled=False)
    awx.launches.looks_until_the_end = 1000
    done = fan_out(tmp_path, hosts, awx)
    assert done.code == 2
    said = done.of("Compare what the jobs were given with what they should be")["msg"]
    assert "The jobs do nothing, as they get no word to begin" in said[0]
    assert "(group-1) has None for maintenance_fan_out_id" in " ".join(said)
    assert list(tmp_path.glob("*.word")) == []


def test_lease_and_word_are_renewed_in_turns(tmp_path, hosts, awx):
    awx.launches.looks_until_the_end = 9
    done = fan_out(tmp_path, hosts, awx, "-e", "maintenance_fan_out_timeout=2")
    assert done.code == 0, done.output
    assert done.output.count("TASK [Renew the lease on each lock host]") >= 2
    assert done.output.count("TASK [Leave the word on each lock host, or take it back]") >= 4


def test_a_job_that_fails_is_a_failure_and_the_lease_is_given_back(tmp_path, hosts, awx):
    awx.launches.jobs_fail = True
    done = fan_out(tmp_path, hosts, awx)
    assert done.code == 2
    said = done.of("Tell how they ended")["msg"]
    assert said[0].endswith(": failed.")
    assert "did not end well; its output says why." in said[1]
    awx.launches.jobs_fail = False
    assert fan_out(tmp_path, hosts, awx).code == 0
