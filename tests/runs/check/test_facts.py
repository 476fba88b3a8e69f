# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of facts, against the simulator as Azure is: all good, and it says what it leaves out."""

from __future__ import annotations

import pytest
from helpers.ansible_run import fleet_inventory
from helpers.check_run import check
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest

FLEET = {
    "groups": {"web": {"kind": "availability_set"}},
    "vms": [{"name": "web-0", "group": "web"}, {"name": "web-1", "group": "web"}],
}
# It stays as it is for as long as the test takes: no event starts, and no VM but web-1 is struck.
STAYS = {"late": 900000}


def host_vars(folder):
    return {"drain_journal": str(folder / "journal.json"), "drain_steps": [{"command": {"drain": "true"}}]}


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("facts")
    with Simulator(FLEET, profile="azure", speed=60) as simulator:
        # The service is off, and a Terminate would start at once: it takes two of its minutes to switch on.
        simulator.document("web-0")
        for kind, name in (("Reboot", "web-0"), ("Preempt", "web-0"), ("Terminate", "web-0"), ("Redeploy", "web-1")):
            simulator.add_event(type=kind, resources=[name], **STAYS)
        simulator.add_event(type="Freeze", resources=["web-1"], status="Started", dwell=90000)
        simulator.advance(240)
        simulator.clear_log()
        hosts = fleet_inventory(folder, simulator, **host_vars(folder))
        found = check(folder, hosts, check_service=True, check_facts=True, maintenance_hosts="web-0")
        yield found, simulator.log()


def facts_of(found, host="web-0"):
    return [finding for finding in found.report["hosts"][host] if finding["area"] == "facts"]


def test_against_our_own_simulator_it_is_all_good(checked):
    found, _log = checked
    facts = facts_of(found)
    assert [fact for fact in facts if fact["verdict"] != "good"] == []
    assert len(facts) > 60
    assert all(fact["expected"] and fact["seen"] for fact in facts)
    # Each grade is there, and each api-version.
    assert {fact["point"][-3:] for fact in facts} == {"[D]", "[O]", "[I]"}
    assert sum("api-version 20" in fact["point"] for fact in facts) == 7
    assert found.run.code == 0, found.run.output


def test_never_a_post_and_at_most_two_requests_in_any_second(checked):
    _found, log = checked
    assert {line["method"] for line in log} == {"GET"}
    times = sorted(line["time"] for line in log)
    assert len(times) > 30
    assert all(later - sooner >= 1 for sooner, later in zip(times, times[2:], strict=False))


def test_it_says_what_it_did_not_look_at(checked):
    found, _log = checked
    told = [one["fact"] for one in found.report["not_looked_at"]]
    assert any("5 requests a second" in fact for fact in told)
    assert any("approval (POST)" in fact for fact in told)
    # There was an event of every kind that is needed.
    assert [one for one in found.report["not_looked_at"] if "now" in one["why"].split()] == []
    assert "not looked at: 5 requests a second for a VM, then 429: at most 2 a second are sent" in found.run.output


def test_what_is_otherwise_is_told(tmp_path):
    fleet = {"vms": [{"name": "web", "compute": {"zone": 1}}]}
    with Simulator(fleet, api_versions=["2017-08-01", "2020-07-01"]) as simulator:
        simulator.add_event(
            type="Reboot", resources=["web"], not_before_format="iso", notice=90000, extra={"DurationInSeconds": "5"}
        )
        hosts = fleet_inventory(tmp_path, simulator, **host_vars(tmp_path))
        found = check(tmp_path, hosts, check_service=True, check_facts=True)
    odd = {fact["point"]: fact for fact in facts_of(found, "web") if fact["verdict"] != "good"}
    assert odd["NotBefore of an event, Scheduled [D]"]["verdict"] == "bad"
    assert odd["DurationInSeconds of an event [O]"]["seen"] == "'5'"
    assert odd["DurationInSeconds of an event [O]"]["verdict"] == "doubtful"
    assert odd["api-version 2019-01-01 of events is answered [D]"]["seen"] == "HTTP 400"
    assert odd["compute.zone from 2017-12-01 on [D]"]["seen"] == "1 in 2017-12-01"
    assert "tell its maintainers" in odd["NotBefore of an event, Scheduled [D]"]["do"]
    missing = {one["fact"]: one["why"] for one in found.report["not_looked_at"]}
    assert missing["NotBefore of an event, Started [D]"] == "there is no event that is Started now"
    assert found.run.code == 2
    # The version that is used is there.
    assert found.of("web", "api-versions")["verdict"] == "good"
