# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user gets from scheduled_event_info, in every way in which tasks are run."""

from __future__ import annotations

import pytest
from helpers.ansible_run import fleet_inventory, inventory, play, play_each
from helpers.simulator_process import Simulator

FLEET = {
    "vms": [
        {"name": "web_0", "group": "web", "update_domain": "0"},
        {"name": "web_1", "group": "web", "update_domain": "1"},
        {"name": "alone"},
    ],
    "groups": {"web": {"kind": "availability_set"}},
}
API_VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
READ = {"name": "Read", "maintenance.azure.scheduled_event_info": {}}


@pytest.fixture(scope="module")
def simulator():
    with Simulator(FLEET) as fleet:
        fleet.add_event(
            id="A1",
            type="Reboot",
            resources=["web_0"],
            notice=3600,
            description="Host server is undergoing maintenance.",
        )
        fleet.add_event(id="B2", type="Freeze", resources=["web_1"], notice=1500, duration=5, source="User")
        fleet.add_event(id="C3", type="Redeploy", resources=["web_0", "web_1"], status="Started", dwell=9000)
        yield fleet


@pytest.fixture
def hosts(tmp_path, simulator):
    return fleet_inventory(tmp_path, simulator)


def read(options, **keywords):
    return {"name": "Read", "maintenance.azure.scheduled_event_info": options, **keywords}


def ids(result):
    return [event["id"] for event in result["events"]]


def test_every_host_learns_what_is_planned_for_it(tmp_path, hosts):
    results = play(tmp_path, hosts, READ).everywhere("Read")
    assert {host: ids(result) for host, result in results.items()} == {
        "web_0": ["A1", "C3"],
        "web_1": ["B2", "C3"],
        "alone": [],
    }
    web_0 = results["web_0"]
    assert (web_0["outcome"], web_0["changed"], web_0["pending"]) == ("ok", False, True)
    assert web_0["this_host"]["vm_name"] == "web_0"
    assert web_0["this_host"]["update_domain"] == "0"
    assert set(web_0["this_host"]) == {
        "vm_name",
        "vm_id",
        "resource_id",
        "resource_group",
        "subscription_id",
        "location",
        "zone",
        "update_domain",
        "fault_domain",
        "scale_set",
        "placement_group",
    }
    event = dict(web_0["events"][0])
    assert 1800 < event.pop("seconds_left") <= 3600
    assert event.pop("not_before").endswith("Z")
    assert event == {
        "id": "A1",
        "type": "Reboot",
        "status": "Scheduled",
        "source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": ["web_0"],
        "duration_seconds": None,
        "description": "Host server is undergoing maintenance.",
        "affects_this_host": True,
    }
    assert not results["alone"]["pending"]


READINGS = [
    ({"affecting": "any"}, ["A1", "B2", "C3"]),
    ({"event_types": ["Redeploy"]}, ["C3"]),
    ({"event_statuses": ["Scheduled"]}, ["A1"]),
    ({"affecting": "any", "event_sources": ["User"]}, ["B2"]),
    ({"affecting": "any", "within": 1600}, ["B2", "C3"]),
    ({"vm_name": "WEB_1"}, ["B2", "C3"]),
    *(({"api_version": version}, ["A1", "C3"]) for version in API_VERSIONS),
]


@pytest.fixture(scope="module")
def readings(tmp_path_factory, simulator):
    folder = tmp_path_factory.mktemp("readings")
    cases = [options for options, _expected in READINGS]
    return play_each(
        folder,
        fleet_inventory(folder, simulator),
        "maintenance.azure.scheduled_event_info",
        cases,
        arguments=("--limit", "web_0"),
    )


@pytest.mark.rest
@pytest.mark.parametrize(("options", "expected"), READINGS, ids=str)
def test_options(readings, options, expected):
    assert ids(readings.of(str(options))) == expected


@pytest.mark.rest
def test_a_given_name_spares_the_instance_metadata(tmp_path, hosts, simulator):
    simulator.clear_log()
    result = play(tmp_path, hosts, read({"vm_name": "web_0"}), arguments=("--limit", "web_1")).of("Read")
    assert (result["this_host"], ids(result)) == (None, ["A1", "C3"])
    assert [line["path"] for line in simulator.log()] == ["/metadata/scheduledevents"]


@pytest.mark.rest
def test_query(tmp_path, hosts):
    options = {"affecting": "any", "query": "events[?status == 'Scheduled'].resources[]"}
    assert play(tmp_path, hosts, read(options), arguments=("--limit", "web_0")).of("Read")["query_result"] == [
        "web_0",
        "web_1",
    ]


@pytest.mark.rest
@pytest.mark.parametrize(
    ("keywords", "settings", "arguments"),
    [
        pytest.param({}, {}, ("--check", "--diff"), id="check mode"),
        pytest.param({}, {"ANSIBLE_PIPELINING": "1"}, (), id="pipelining"),
        pytest.param({"loop": [1, 2]}, {}, (), id="loop"),
        pytest.param({"delegate_to": "web_0"}, {}, (), id="delegated to itself"),
    ],
)
def test_ways_to_run_a_task(tmp_path, hosts, keywords, settings, arguments):
    outcome = play(tmp_path, hosts, {**READ, **keywords}, arguments=("--limit", "web_0", *arguments), **settings)
    assert outcome.code == 0, outcome.output
    result = outcome.of("Read")
    for single in result.get("results", [result]):
        assert ids(single) == ["A1", "C3"]


@pytest.mark.rest
def test_delegation_reads_the_host_that_is_delegated_to(tmp_path, simulator):
    own = {vm: {"maintenance_endpoint": url} for vm, url in simulator.endpoints.items()}
    task = read({"endpoint": "{{ hostvars.web_1.maintenance_endpoint }}"}, delegate_to="web_1")
    result = play(tmp_path, inventory(tmp_path, own), task, arguments=("--limit", "web_0")).of("Read", "web_0")
    assert result["this_host"]["vm_name"] == "web_1"
    assert ids(result) == ["B2", "C3"]


HOSTILE = "{{ lookup('pipe', 'touch TRAP') }}{% for i in [1] %}x{% endfor %}{{ 7 * 191 }}"


def read_hostile(tmp_path, simulator):
    return play(
        tmp_path,
        fleet_inventory(tmp_path, simulator),
        {
            "name": "Read",
            "maintenance.azure.scheduled_event_info": {"query": "events[0].description"},
            "register": "reading",
        },
        {"name": "Print", "ansible.builtin.debug": {"var": "reading"}},
        {"name": "Say", "ansible.builtin.debug": {"msg": "{{ reading.events[0].description }}"}},
        {"name": "Keep", "ansible.builtin.set_fact": {"maintenance_status": "{{ reading }}", "cacheable": True}},
        {"name": "Say kept", "ansible.builtin.debug": {"msg": "{{ maintenance_status.events[0].type }}"}},
        {
            "name": "Loop",
            "ansible.builtin.debug": {"msg": "{{ item.other_fields }} {{ item.id }}"},
            "loop": "{{ maintenance_status.events }}",
        },
        {"name": "Compute", "ansible.builtin.debug": {"msg": "{{ maintenance_status.this_host.location }}"}},
    )


def test_hostile_text_comes_back_as_it_is(tmp_path):
    """Text from the service is text: never a template, on any ansible-core."""
    trap = tmp_path / "evaluated"
    text = HOSTILE.replace("TRAP", str(trap))
    odd = {"EventType": text, "Impact": {text: [text]}}
    with Simulator({"vms": [{"name": "web", "compute": {"location": text}}]}) as simulator:
        simulator.add_event(id=text, type="Reboot", resources=["web"], description=text, extra=odd)
        outcome = read_hostile(tmp_path, simulator).ended()
    result = outcome.of("Read")
    assert result["events"][0]["description"] == text
    assert result["events"][0]["type"] == text
    assert result["events"][0]["id"] == text
    assert result["events"][0]["other_fields"] == {"Impact": {text: [text]}}
    assert result["query_result"] == text
    for task in ("Say", "Say kept", "Compute"):
        assert outcome.of(task)["msg"] == text
    assert outcome.of("Loop")["results"][0]["msg"].endswith(text)
    assert "1337" not in outcome.output
    assert not trap.exists()


# The same over ssh, with and without pipelining, and as another user.
