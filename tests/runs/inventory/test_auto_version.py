# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin, in a cloud that lacks the newer api-versions."""

from __future__ import annotations

import pytest
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest

OLD = ["2017-03-01", "2017-08-01"]
HIDDEN = "answers api-version 2017-08-01 and no newer one, which never shows Preempt and Terminate events"


@pytest.fixture(scope="module")
def simulator():
    fleet = {"groups": {"web": {}}, "vms": [{"name": "web-0", "group": "web"}, {"name": "web-1", "group": "web"}]}
    with Simulator(fleet, api_versions=OLD, requests_per_second=0) as old:
        old.add_event(type="Reboot", resources=["web-1"], notice=9000)
        yield old


def hosts(simulator):
    return {vm: {"maintenance_endpoint": url} for vm, url in simulator.endpoints.items()}


def asked(simulator):
    return [line["query"] for line in simulator.log() if line["path"].endswith("/scheduledevents")]


def test_without_it_nothing_is_known(place, simulator):
    found = place.hosts(hosts(simulator)).list()
    assert found.states()["unknown"] == ["web-0", "web-1"]
    assert "HTTP 400" in found.said


def test_auto_finds_the_version_and_warns_of_what_it_hides(place, simulator):
    simulator.clear_log()
    found = place.hosts(hosts(simulator)).list(api_version="auto")
    assert found.states() == {"pending": ["web-1"], "started": [], "clear": ["web-0"], "unknown": []}, found.said
    # Once, however many endpoints there are.
    assert found.said.count(HIDDEN) == 1
    # Down to the one that is there, for each endpoint.
    assert asked(simulator).count("api-version=2017-08-01") == 2
    assert asked(simulator).count("api-version=2017-11-01") == 2
    assert "api-version=2017-03-01" not in asked(simulator)


def test_a_version_by_name(place, simulator):
    found = place.hosts(hosts(simulator)).list(api_version="2017-03-01")
    assert found.states()["pending"] == ["web-1"]
    # The user has chosen it.
    assert HIDDEN not in found.said
