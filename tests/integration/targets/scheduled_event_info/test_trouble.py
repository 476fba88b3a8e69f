# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service in trouble: what passes is waited for, the rest is said, and no trouble is ever "no events"."""

from __future__ import annotations

import pytest
import ways
from ansible_run import fleet_inventory, inventory, play, play_each
from simulator_process import Simulator


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


def requests_a_second(simulator):
    times = sorted(line["time"] for line in simulator.log())
    return max(sum(1 for other in times if start <= other < start + 1) for start in times)


# The module runs the same code as the command.
both_ways = pytest.mark.parametrize("way", ways.TO_THE_SERVICE[:2])


@both_ways
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "gone_410", "count": 3},
        {"kind": "too_many_429", "count": 2, "retry_after": 1},
        {"kind": "error_500", "count": 2},
        {"kind": "error_503", "seconds": 2},
        {"kind": "timeout_408", "count": 1},
        {"kind": "drop", "count": 2},
        {"kind": "empty_200", "count": 2},
        {"kind": "hang", "seconds": 2},
        {"kind": "refuse", "seconds": 2},
    ],
    ids=lambda fault: fault["kind"],
)
def test_passing_trouble_is_waited_for(tmp_path, simulator, way, fault):
    simulator.fault(**fault)
    outcome = reading(tmp_path, simulator, way, timeout=30)
    assert outcome.code == 0, outcome.output
    assert [event["id"] for event in outcome.of("Read")["events"]] == ["A1"]
    assert requests_a_second(simulator) <= 5


@both_ways
@pytest.mark.parametrize(
    ("fault", "part"),
    [
        ({"kind": "gone_410"}, "HTTP 410"),
        ({"kind": "too_many_429", "retry_after": 90}, "asked to wait 90 s, longer than the timeout of 4 s"),
        ({"kind": "error_503"}, "HTTP 503"),
        ({"kind": "hang"}, "a connection, but no answer in time"),
        ({"kind": "drop"}, "a connection that ended without an answer"),
        ({"kind": "empty_200"}, "an empty body"),
        ({"kind": "truncated_json"}, "is not JSON"),
        ({"kind": "html"}, "an HTML page"),
        ({"kind": "redirect"}, "a redirect to"),
        ({"kind": "wrong_shape"}, "did not answer like the metadata service"),
        ({"kind": "huge_body"}, "more than 1048576 bytes"),
        ({"kind": "status", "status": 400}, "HTTP 400"),
        ({"kind": "status", "status": 404}, "HTTP 404"),
        ({"kind": "status", "status": 405}, "HTTP 405"),
    ],
    ids=lambda value: str(value.get("status", value["kind"])) if isinstance(value, dict) else "",
)
def test_lasting_trouble_is_a_failure_that_says_what_and_where(tmp_path, simulator, way, fault, part):
    simulator.fault(**fault, seconds=60, path="scheduledevents")
    outcome = reading(tmp_path, simulator, way, timeout=4)
    result = outcome.of("Read")
    assert (outcome.code, result["outcome"]) == (2, "failed")
    assert "events" not in result
    assert part in result["msg"]
    assert simulator.endpoint("web") in result["msg"]
    assert "Traceback" not in outcome.output
    assert outcome.seconds < 15


def test_a_name_that_the_instance_metadata_does_not_tell(tmp_path, simulator):
    simulator.fault(kind="raw", status=200, body='{"name": ""}', seconds=60, path="instance")
    result = reading(tmp_path, simulator).of("Read")
    assert result["outcome"] == "failed"
    assert "vm_name" in result["msg"]
    everything = reading(tmp_path, simulator, affecting="any").of("Read")
    assert everything["this_host"] is None
    assert [event["affects_this_host"] for event in everything["events"]] == [None]


@both_ways
def test_nobody_at_the_address_costs_some_fifteen_seconds(tmp_path, simulator, way):
    simulator.fault(kind="refuse", seconds=60)
    outcome = reading(tmp_path, simulator, way)
    assert "Not an Azure VM, or the service is blocked" in outcome.of("Read")["msg"]
    assert outcome.seconds < 22


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


def test_bad_input_is_refused_at_once(refusals):
    assert refusals.seconds / len(BAD_INPUT) < 2


def test_a_missing_jmespath_names_the_package(tmp_path, simulator):
    hidden = tmp_path / "hidden" / "jmespath"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('hidden')")
    task = {"name": "Read", "maintenance.azure.scheduled_event_info": {"query": "events"}}
    outcome = play(tmp_path, fleet_inventory(tmp_path, simulator), task, PYTHONPATH=str(hidden.parent))
    assert "pip install jmespath" in outcome.of("Read")["msg"]


def test_the_real_address_is_the_default(tmp_path):
    """Nothing answers there on a machine of this kind; what is asked, and where, is in the message."""
    task = {"name": "Read", "maintenance.azure.scheduled_event_info": {"timeout": 1}}
    outcome = play(tmp_path, inventory(tmp_path, {"web": {}}), task, module_defaults={})
    assert "GET http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01" in outcome.of("Read")["msg"]
