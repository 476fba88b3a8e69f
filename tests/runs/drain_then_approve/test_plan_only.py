# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan leaves for later jobs: numbers are numbers on every ansible-core, and an unread fleet has no plan."""

from __future__ import annotations

import json

import pytest
from helpers.fleet import RollFleet


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=2, domains=2) as built:
        yield built


def kept(run):
    text = run.output[run.output.index("RUN: {") + len("RUN: ") :]
    return json.JSONDecoder().raw_decode(text)[0]["maintenance_plan"]


@pytest.mark.rest
def test_counts_are_numbers(fleet):
    fleet.event_per_domain()
    run = fleet.roll("--check")
    assert run.code == 0, run.output
    plan = kept(run)
    assert plan.pop("deadline").startswith("20")
    expected = {"to_do": True, "waves": 2, "hosts": 2, "events": 2, "restore_first": 0, "drained": [], "unknown": 0}
    assert {name: (value, type(value)) for name, value in plan.items()} == {
        name: (value, type(value)) for name, value in expected.items()
    }


def test_a_fleet_of_which_nothing_could_be_read_is_a_failure(fleet):
    for host in fleet.domain_of:
        fleet.host_vars[host]["maintenance_endpoint"] = "http://127.0.0.1:1"
    run = fleet.roll("--check")
    assert run.code == 2
    assert "None of the 2 hosts could be read, so there is no plan." in run.output
