# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A roll against Azure's habits, slow to begin with and away while its VMs are, and in a cloud that lacks versions."""

from __future__ import annotations

import pytest
from helpers.fleet import RollFleet

pytestmark = pytest.mark.rest


@pytest.fixture
def fleet(tmp_path):
    """A minute passes in a second: the first call takes 2 s, events show 3 s after it, VMs are away for 4 s."""
    with RollFleet(tmp_path, hosts=3, domains=2, profile="azure", speed=60) as built:
        yield built


def questions(fleet, vm):
    return [line for line in fleet.simulator.log() if line["vm"] == vm and line["path"].endswith("/scheduledevents")]


def test_a_roll_with_a_slow_start_and_vms_that_go_away(fleet):
    fleet.event_per_domain(notice=90000, dwell=420, impact_seconds=240)
    first = fleet.roll("--check")
    assert first.code == 0, first.output
    # One has waited for its call, which switched the service on; others were answered with nothing and asked again.
    assert max(len(questions(fleet, vm)) for vm in fleet.domain_of) > 1
    fleet.simulator.advance(240)
    run = fleet.roll()
    assert run.code == 0, run.output
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    started = [change for change in fleet.simulator.changes() if change["change"] == "started"]
    assert len(started) == 2
    for change in started:
        away = [vm for vm in change["resources"] for line in questions(fleet, vm) if was_answered(line, change)]
        assert away == []
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_restored_only_after_the_end()
    fleet.assert_back_to_normal()


def was_answered(line, started):
    """Whether a question was asked and answered while the VM was away."""
    return line["answered"] is not None and started["time"] < line["time"] < started["time"] + 4


AUTO = ("-e", "maintenance_api_version=auto")


@pytest.fixture
def older(tmp_path):
    with RollFleet(tmp_path, hosts=2, domains=2, api_versions=["2017-03-01", "2017-08-01"]) as built:
        built.event_per_domain(notice=90000)
        yield built


def test_a_whole_roll_in_a_cloud_that_lacks_the_newer_api_versions(older):
    done = older.roll(*AUTO)
    assert done.code == 0, done.output
    assert sorted(older.approvals()) == ["E0", "E1"]
    older.assert_nothing_approved_before_its_hosts_were_drained()
    older.assert_one_domain_at_a_time()
    older.assert_back_to_normal()
    # Each host has looked for it once.
    newest = [line["vm"] for line in older.simulator.log() if line["query"] == "api-version=2020-07-01"]
    assert sorted(newest) == ["web-0", "web-1"]
