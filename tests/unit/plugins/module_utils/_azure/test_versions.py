# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""api_version auto: from the newest that we know down, one more request for each 400."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service import exchange as _exchange
from ansible_collections.maintenance.azure.plugins.module_utils._service import targets as _targets
from helpers.simulator_process import Simulator


@pytest.fixture
def cloud():
    """A function that starts a service with these api-versions only; all end with the test."""
    running = []

    def start(*versions):
        running.append(Simulator({"vms": [{"name": "web"}]}, api_versions=list(versions), requests_per_second=0))
        running[-1].add_event(id="A1", type="Reboot", resources=["web"], notice=9000)
        return running[-1]

    yield start
    for simulator in running:
        simulator.stop()


def ask(simulator, api_version="auto", **more):
    request = {"endpoints": [simulator.endpoint("web")], "api_version": api_version, "timeout": 20}
    return _exchange.carried_out({"with_instance": False, **request, **more}, False)


def asked_versions(simulator):
    return [line["query"].partition("=")[2] for line in simulator.log() if line["path"].endswith("/scheduledevents")]


@pytest.mark.parametrize(
    ("there", "requests"),
    [(("2020-07-01", "2017-08-01"), 1), (("2019-08-01",), 2), (("2017-03-01", "2017-08-01"), 6), (("2017-03-01",), 7)],
)
def test_the_newest_version_that_is_there_is_found(cloud, there, requests):
    simulator = cloud(*there)
    answers = ask(simulator)["answers"]
    assert answers["api_version"] == max(there)
    assert json.loads(answers["events"]["body"])["Events"][0]["EventId"] == "A1"
    assert asked_versions(simulator) == sorted(_targets.API_VERSIONS, reverse=True)[:requests]


def test_the_search_keeps_to_four_requests_a_second(cloud):
    simulator = cloud("2017-03-01")
    began = time.monotonic()
    ask(simulator, with_instance=True)
    assert len(simulator.log()) == 8
    # The fifth comes a second after the first, at the earliest.
    assert time.monotonic() - began >= 1


def test_a_version_that_was_given_is_the_only_one_that_is_asked_for(cloud):
    simulator = cloud("2017-08-01")
    failed = ask(simulator, "2020-07-01")
    assert (failed["failed"], failed["kind"], failed["status"]) == (True, "rejected", 400)
    assert asked_versions(simulator) == ["2020-07-01"]
    assert ask(simulator, "2017-08-01")["answers"]["api_version"] == "2017-08-01"


def test_only_400_means_that_a_version_is_not_there(cloud):
    simulator = cloud("2020-07-01")
    simulator.fault(kind="status", status=403)
    assert ask(simulator)["status"] == 403
    assert asked_versions(simulator) == ["2020-07-01"]


def test_where_no_version_is_there_the_failure_says_so(cloud):
    simulator = cloud("2020-07-01")
    simulator.fault(kind="status", status=400, body={"error": "Bad request."})
    failed = ask(simulator)
    assert (failed["kind"], failed["status"]) == ("rejected", 400)
    assert "none of the 7 api-versions" in failed["msg"]
    assert "2020-07-01" in failed["msg"]
    assert len(asked_versions(simulator)) == 7


def test_trouble_that_passes_is_waited_for_at_each_version(cloud):
    simulator = cloud("2019-04-01")
    simulator.fault(kind="error_503", skip=2, count=1)
    assert ask(simulator)["answers"]["api_version"] == "2019-04-01"
    assert asked_versions(simulator) == ["2020-07-01", "2019-08-01", "2019-04-01", "2019-04-01"]


def test_an_approval_is_sent_by_the_version_that_was_found(cloud):
    simulator = cloud("2017-08-01")
    document = ask(simulator)["answers"]["events"]["body"]
    simulator.clear_log()
    approval = {"expected": document, "body": json.dumps({"StartRequests": [{"EventId": "A1"}]})}
    answers = ask(simulator, approval=approval)["answers"]
    assert (answers["sent"], answers["api_version"]) == (True, "2017-08-01")
    (post,) = [line for line in simulator.log() if line["method"] == "POST"]
    assert (post["query"], post["approved"]) == ("api-version=2017-08-01", ["A1"])
