# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metadata services of which each answers otherwise than it should, and the table of facts."""

from __future__ import annotations

import http.server
import json
import os
import threading

import pytest
from helpers.ansible_run import fleet_inventory, inventory
from helpers.check_run import check
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest

STANDALONE = (
    "web-0",
    "called-otherwise",
    "wrong-name",
    "wrong-group",
    "slow",
    "apart-0",
    "apart-1",
    "counted-0",
    "counted-1",
    "twin",
)


# Of the first answer of one of them, in seconds.
DELAY = 6


class Naive(http.server.BaseHTTPRequestHandler):
    """Like the mock servers that are about: it answers whatever it is asked, however."""

    def do_GET(self):
        body = json.dumps({"DocumentIncarnation": 1, "Events": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp=None):
        return "Mon, 16 Nov 2020 00:20:32 GMT"

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def naive():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Naive)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def found(tmp_path_factory, naive):
    folder = tmp_path_factory.mktemp("services")
    vms = [{"name": name} for name in STANDALONE]
    vms.append({"name": "no-domain", "compute": {"platformUpdateDomain": ""}})
    usual = {"drain_journal": str(folder / "journal.json"), "drain_steps": [{"command": {"drain": "true"}}]}
    with (
        Simulator({"vms": vms}) as simulator,
        Simulator({"vms": [{"name": "old"}, {"name": "auto"}]}, api_versions=["2017-03-01", "2017-08-01"]) as old,
    ):
        for name in ("counted-0", "apart-0", "apart-1"):
            simulator.document(name)
        event = simulator.add_event(type="Reboot", resources=["counted-0"])
        simulator.cancel(event["id"])
        simulator.add_event(type="Reboot", resources=["apart-0"], notice=90000)
        simulator.fault(vm="slow", kind="slow", delay=DELAY, count=1)
        hosts = {vm: {"maintenance_endpoint": url} for vm, url in simulator.endpoints.items()}
        hosts["10.0.0.9"] = hosts.pop("called-otherwise")
        hosts["wrong-name"]["maintenance_vm_name"] = "somebody-else"
        hosts["wrong-group"].update(resource_group="rg-other", subscription_id="other")
        hosts["apart-0"]["maintenance_delivery_group"] = hosts["apart-1"]["maintenance_delivery_group"] = "apart"
        hosts["counted-0"]["maintenance_delivery_group"] = hosts["counted-1"]["maintenance_delivery_group"] = "counted"
        hosts["twin-of-twin"] = dict(hosts["twin"])
        hosts["naive"] = {"maintenance_endpoint": naive}
        hosts["nobody"] = {"maintenance_endpoint": "http://127.0.0.1:1"}
        hosts["old"] = {"maintenance_endpoint": old.endpoint("old")}
        hosts["auto"] = {"maintenance_endpoint": old.endpoint("auto"), "maintenance_api_version": "auto"}
        listed = inventory(folder, {host: {**usual, **own} for host, own in hosts.items()})
        yield check(folder, listed, settings={"ANSIBLE_FORKS": "20"}, check_service=True)


@pytest.mark.parametrize(
    ("host", "point", "verdict", "seen"),
    [
        ("web-0", "it answers", "good", "the first reading took"),
        ("nobody", "it answers", "bad", "no connection"),
        ("slow", "it answers", "doubtful", "the first reading took"),
        ("web-0", "api-versions", "good", "all 7"),
        ("old", "it answers", "bad", "HTTP 400"),
        ("auto", "api-versions", "doubtful", "which never shows Preempt and Terminate events"),
        ("web-0", "it is the service itself", "good", "it refuses what Azure refuses"),
        ("auto", "it is the service itself", "good", "it refuses what Azure refuses"),
        ("naive", "it is the service itself", "bad", "HTTP 200 to a request without the header"),
        ("web-0", "the VM's name", "good", "web-0"),
        ("10.0.0.9", "the VM's name", "bad", "called-otherwise, which the inventory does not confirm"),
        ("wrong-name", "the VM's name", "bad", "wrong-name, and the inventory declares somebody-else"),
        ("naive", "the VM's name", "bad", "does not tell it"),
        ("auto", "the VM's name", "good", "auto"),
        ("web-0", "resource group", "good", "rg-simulated in westeurope"),
        ("wrong-group", "resource group", "bad", "the inventory has another one"),
        ("naive", "resource group", "doubtful", "does not tell it"),
        ("web-0", "domain", "good", "update domain 0"),
        ("no-domain", "domain", "doubtful", "none"),
        ("web-0", "the clock of the host", "good", "as that of the controller"),
        ("web-0", "the clock of the service", "good", "as that of the controller"),
        ("naive", "the clock of the service", "bad", "behind that of the controller"),
        ("the fleet", "the document of apart", "bad", "apart-0: 1 events and apart-1: 0 events"),
        ("the fleet", "the document of counted", "doubtful", "its DocumentIncarnation is 3 on counted-0 and 1 on"),
        ("the fleet", "who is which VM", "bad", "twin"),
    ],
)
def test_it_is_found(found, host, point, verdict, seen):
    told = found.of(host, point)
    assert (told["verdict"], seen in told["seen"]) == (verdict, True), told
    assert bool(told["do"]) == (verdict != "good")


def test_one_that_is_as_it_should_be_is_good_beside_all_these(found):
    assert {finding["verdict"] for finding in found.report["hosts"]["web-0"]} == {"good"}
    assert found.run.code == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_journal_of_another_user(tmp_path):
    journal = tmp_path / "journal.json"
    journal.write_text("{}")
    journal.chmod(0o600)
    os.chown(journal, 12345, -1)
    found = check(tmp_path, inventory(tmp_path, {"web": {"drain_journal": str(journal)}}))
    assert "belongs to user id 12345" in found.of("web", "journal")["seen"]
    assert found.run.code == 2


# The table of facts, against the simulator as Azure is: all good, and it says what it leaves out.

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
