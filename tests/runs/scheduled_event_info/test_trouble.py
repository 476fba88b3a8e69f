# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service in trouble or without newer versions: what does not pass is said, and no trouble is ever "no events"."""

from __future__ import annotations

import pytest
from helpers import transports as ways
from helpers.ansible_run import fleet_inventory, inventory, play, play_each
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest


@pytest.fixture(scope="module")
def simulator():
    with Simulator({"vms": [{"name": "web"}]}) as fleet:
        fleet.add_event(id="A1", type="Reboot", resources=["web"], notice=9000)
        yield fleet


@pytest.fixture(autouse=True)
def no_faults_left(simulator):
    simulator.clear_faults()
    simulator.clear_log()
    yield
    simulator.clear_faults()


def reading(folder, simulator, way=ways.ANY, **options):
    task = {"name": "Read", "maintenance.azure.scheduled_event_info": options}
    hosts = fleet_inventory(folder, simulator, **ways.host_vars(folder, way))
    return play(folder, hosts, task, **ways.play_keywords(folder, way))


both_ways = pytest.mark.parametrize("way", ways.TO_THE_SERVICE[:2])


@both_ways
@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("error_503", "HTTP 503"),
        ("empty_200", "an empty body"),
        ("truncated_json", "is not JSON"),
        ("wrong_shape", "did not answer like the metadata service"),
    ],
)
def test_lasting_trouble_is_a_failure_that_says_what_and_where(tmp_path, simulator, way, kind, part):
    simulator.fault(kind=kind, path="scheduledevents")
    outcome = reading(tmp_path, simulator, way, timeout=4)
    result = outcome.of("Read")
    assert (outcome.code, result["outcome"], "events" in result) == (2, "failed", False)
    assert part in result["msg"]
    assert simulator.endpoint("web") in result["msg"]
    assert "Traceback" not in outcome.output


def test_a_name_that_the_instance_metadata_does_not_tell(tmp_path, simulator):
    simulator.fault(kind="raw", status=200, body='{"name": ""}', path="instance")
    result = reading(tmp_path, simulator).of("Read")
    assert result["outcome"] == "failed"
    assert "vm_name" in result["msg"]
    everything = reading(tmp_path, simulator, affecting="any").of("Read")
    assert everything["this_host"] is None
    assert [event["affects_this_host"] for event in everything["events"]] == [None]


@both_ways
def test_nobody_at_the_address_is_not_waited_for_as_long_as_allowed(tmp_path, simulator, way):
    simulator.fault(kind="refuse")
    # Longer than the run is given.
    outcome = reading(tmp_path, simulator, way, timeout=600)
    assert "Not an Azure VM, or the service is blocked" in outcome.of("Read")["msg"]


BAD_INPUT = [
    ({"api_version": "2021-01-01"}, "must be one of: 2017-03-01, 2017-08-01"),
    ({"affecting": "all"}, "must be one of: this_host, any"),
    ({"event_types": ["Pause"]}, "Freeze, Reboot, Redeploy, Preempt, Terminate"),
    ({"event_types": ["Terminate"], "api_version": "2017-11-01"}, "never shows Terminate"),
    ({"endpoint": "169.254.169.254"}, "the http:// is missing"),
    ({"endpoint": "http://169.254.169.254/metadata"}, "leave out the path"),
    ({"endpoint": "https://169.254.169.254"}, "plain http only"),
    ({"endpoint": "http://no-such-name.invalid"}, "no address for that name"),
    ({"query": "events[?"}, "query is not a JMESPath expression: 'events[?'"),
    ({"query": "length(document_incarnation)"}, "query 'length(document_incarnation)' does not fit the data"),
    ({"timeout": 0}, "timeout must be at least 1 second, not 0"),
    ({"timeout": -5}, "timeout must be at least 1 second, not -5"),
    ({"within": -1}, "within must not be negative"),
    ({"vm_name": " "}, "vm_name is empty"),
    ({"nosuch": 1}, "nosuch"),
]


@pytest.fixture(scope="module")
def refusals(tmp_path_factory, simulator):
    folder = tmp_path_factory.mktemp("bad_input")
    cases = [options for options, _part in BAD_INPUT]
    return play_each(folder, fleet_inventory(folder, simulator), "maintenance.azure.scheduled_event_info", cases)


@pytest.mark.parametrize(("options", "part"), BAD_INPUT, ids=str)
def test_bad_input_is_one_sentence(refusals, options, part):
    refusal = refusals.of(str(options))
    assert refusal["outcome"] == "failed"
    assert part in refusal["msg"]
    assert "\n" not in refusal["msg"].strip()
    assert "Traceback" not in refusals.output


def test_the_real_address_is_the_default(tmp_path):
    """Nothing answers there on a machine of this kind; what is asked, and where, is in the message."""
    task = {"name": "Read", "maintenance.azure.scheduled_event_info": {"timeout": 1}}
    outcome = play(tmp_path, inventory(tmp_path, {"web": {}}), task, module_defaults={})
    assert "GET http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01" in outcome.of("Read")["msg"]


INFO = "maintenance.azure.scheduled_event_info"
FOUND = "2017-08-01"
HIDDEN = (
    f"The metadata service answers api-version {FOUND} and no newer one, which never shows Preempt and Terminate events"
)


@pytest.fixture
def older():
    with Simulator({"vms": [{"name": "web"}]}, api_versions=["2017-03-01", FOUND], requests_per_second=0) as fleet:
        fleet.add_event(id="A1", type="Reboot", resources=["web"], notice=9000)
        fleet.add_event(id="P1", type="Preempt", resources=["web"], notice=9000)
        yield fleet


def run(folder, older, *tasks, way=ways.ANY):
    hosts = fleet_inventory(folder, older, **ways.host_vars(folder, way))
    return play(folder, hosts, *tasks, **ways.play_keywords(folder, way))


def read(name, **options):
    return {"name": name, INFO: {"api_version": "auto", **options}, "ignore_errors": True}


def asked_versions(older):
    return [line["query"].partition("=")[2] for line in older.log() if line["path"].endswith("/scheduledevents")]


@pytest.mark.parametrize("way", ways.TO_THE_SERVICE)
def test_the_version_is_found_remembered_and_told(tmp_path, older, way):
    outcome = run(tmp_path, older, read("Read"), read("Read again", affecting="any"), way=way).ended()
    for task in ("Read", "Read again"):
        result = outcome.of(task)
        assert [event["id"] for event in result["events"]] == ["A1"]
        assert result["api_version"] == FOUND
        assert any(HIDDEN in str(warning) for warning in result["warnings"])
    assert outcome.of("Read")["this_host"]["vm_name"] == "web"
    assert HIDDEN in " ".join(outcome.output.split())
    # Down to the one that is there, and then that one at once.
    assert len(asked_versions(older)) == 7
    assert asked_versions(older)[-2:] == [FOUND, FOUND]
