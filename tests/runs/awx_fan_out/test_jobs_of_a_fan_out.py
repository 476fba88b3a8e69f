# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the job that fans out launches, run for real: it begins with its word, and does nothing without it."""

from __future__ import annotations

import pytest
from helpers.ansible_run import run
from helpers.fleet import RollFleet
from helpers.other_collections import collections_path

pytestmark = [pytest.mark.once, pytest.mark.rest]

# A busy machine may be late to renew what is to be renewed once a minute.
LONG_LEASE = ("-e", "__maintenance_lease_seconds=900")


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=3, domains=2) as built:
        for host in built.domain_of:
            built.host_vars[host] = {
                "maintenance_delivery_group": "web",
                "maintenance_fan_out_path": str(tmp_path / f"{host}.word"),
            }
        yield built


def test_a_job_without_a_word_ends_and_touches_nothing(fleet):
    fleet.event_per_domain()
    done = fleet.roll("-e", "maintenance_fan_out_id=nobody", "-e", "maintenance_fan_out_keepers=web-0,web-1,web-2")
    assert done.code == 2
    said = done.of("Begin only with the word of the job that fans out")["msg"]
    assert said.startswith("The job that fans out has left no word for nobody on web-0,web-1,web-2.")
    assert (fleet.notes(), fleet.approvals(), fleet.drained_hosts()) == ([], [], [])


def test_the_jobs_of_a_fan_out_begin_with_its_word(fleet, awx, tmp_path):
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
    collected = playbook("collect")
    assert collected.code == 0, collected.output
    done = playbook("awx_fan_out", *LONG_LEASE)
    assert done.code == 0, done.output + "".join(outputs)
    assert "All 1 jobs ended well." in done.output
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_back_to_normal()
