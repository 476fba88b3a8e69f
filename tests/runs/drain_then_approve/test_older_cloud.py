# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks in a cloud that lacks the newer api-versions: maintenance_api_version."""

from __future__ import annotations

import pytest
from helpers.ansible_run import run
from helpers.fleet import RollFleet

pytestmark = pytest.mark.rest

AUTO = ("-e", "maintenance_api_version=auto")


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=2, domains=2, api_versions=["2017-03-01", "2017-08-01"]) as built:
        built.event_per_domain(notice=90000)
        yield built


def test_a_whole_roll(fleet):
    done = fleet.roll(*AUTO)
    assert done.code == 0, done.output
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_back_to_normal()
    # Each host has looked for it once.
    newest = [line["vm"] for line in fleet.simulator.log() if line["query"] == "api-version=2020-07-01"]
    assert sorted(newest) == ["web-0", "web-1"]


def test_collect_and_report(fleet):
    for playbook in ("collect", "report"):
        command = ["ansible-playbook", "-i", str(fleet.inventory()), f"maintenance.azure.{playbook}", *AUTO]
        done = run(fleet.folder, command)
        assert done.code == 0, done.output
        assert done.of("Say what was found")["msg"][0] == "2 hosts: 0 with nothing planned, 2 with events, 0 unread"
