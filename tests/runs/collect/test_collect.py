# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook that reads all hosts and keeps what it read, and the inventory that is made of it."""

from __future__ import annotations

import json

import pytest
from helpers.ansible_run import inventory, run
from helpers.simulator_process import Simulator

TEXT = "{{ lookup('pipe', 'touch TRAP') }}{{ 7 * 191 }}"
FLEET = {
    "groups": {"web": {"kind": "availability_set", "resource_group": "rg-web"}},
    "vms": [
        *({"name": f"web-{n}", "group": "web", "update_domain": n} for n in range(3)),
        {"name": "db"},
        {"name": "bad"},
        {"name": "lone"},
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("collect")


@pytest.fixture(scope="module")
def text(folder):
    return TEXT.replace("TRAP", str(folder / "evaluated"))


@pytest.fixture(scope="module")
def fleet(text):
    with Simulator(FLEET, requests_per_second=0) as simulator:
        simulator.document("web-0")
        simulator.add_event(type="Reboot", resources=["WEB-1"], group="web", description=text, extra={text: text})
        yield simulator


@pytest.fixture(scope="module")
def settings(folder):
    return {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(folder / "facts")}


@pytest.fixture(scope="module")
def hosts(folder, fleet):
    """All VMs; the webs are known to be one delivery group, and one host is not there at all."""
    own = {vm: {"maintenance_endpoint": url} for vm, url in fleet.endpoints.items()}
    for name in ("web-0", "web-1", "web-2"):
        own[name]["maintenance_delivery_group"] = "set-1"
    # Called by address, so that the inventory has to say which VM it is.
    own["10.0.0.9"] = {**own.pop("lone"), "maintenance_vm_name": "lone"}
    own["gone"] = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    return str(inventory(folder, own))


def collect(folder, hosts, settings, *arguments):
    return run(folder, ["ansible-playbook", "-i", hosts, "maintenance.azure.collect", *arguments], **settings)


def graph(folder, hosts, settings, **options):
    config = {"plugin": "maintenance.azure.scheduled_events", "source": "facts", **options}
    (folder / "scheduled_events.yml").write_text(json.dumps(config))
    command = ["ansible-inventory", "-i", hosts, "-i", "scheduled_events.yml", "--graph"]
    output = run(folder, command, **settings).output
    members: dict[str, list[str]] = {}
    group = ""
    for line in output.splitlines():
        word = line.strip(" |").removeprefix("--")
        if word.startswith("@"):
            group = word.strip("@:")
        elif line.startswith("  |  |--"):
            members.setdefault(group, []).append(word)
    return {group: sorted(found) for group, found in members.items()}, " ".join(output.split())


@pytest.fixture(scope="module")
def first(folder, hosts, settings, fleet):
    fleet.fault(vm="bad", kind="html")
    fleet.clear_log()
    return collect(folder, hosts, settings)


@pytest.fixture(scope="module")
def log(fleet, first):
    return fleet.log()


def test_who_can_not_be_read_stops_nobody_and_is_named_in_the_one_summary(first, text, folder, hosts, settings):
    assert first.code == 0, first.output
    lines = first.of("Report what was found")["msg"]
    assert lines[0] == "7 hosts: 4 with nothing planned, 1 with events, 2 unread"
    assert lines[1].startswith("Reboot Scheduled, not before 20")
    assert lines[1].endswith(": web-1")
    assert [line.split(":")[1].strip() for line in lines[2:]] == ["bad", "gone"]
    assert "an HTML page" in lines[2]
    assert text not in first.output
    # The facts make the inventory.
    members, said = graph(folder, hosts, settings)
    assert members["maintenance_pending"] == members["maintenance_type_reboot"] == ["web-1"]
    assert members["maintenance_clear"] == ["10.0.0.9", "db", "web-0", "web-2"]
    assert members["maintenance_unknown"] == ["bad", "gone"]
    assert members["maintenance_update_domain_0"] == ["10.0.0.9", "db", "web-0"]
    assert "could not read them when it last ran: Asked GET" in said
    assert not (folder / "evaluated").exists()


@pytest.mark.rest
def test_each_host_is_asked_once_and_one_of_a_delivery_group(first, log):
    assert first.code == 0
    asked = [line["vm"] for line in log if line["path"] == "/metadata/scheduledevents"]
    assert sorted(asked) == ["bad", "db", "lone", "web-0"]


@pytest.mark.rest
def test_hostile_text_comes_back_from_the_cache_as_text(first, folder, hosts, settings, text):
    assert first.code == 0
    tasks = [
        {"name": "Say", "ansible.builtin.debug": {"msg": "{{ maintenance_status.events[0].description }}"}},
        {"name": "Keys", "ansible.builtin.debug": {"msg": "{{ maintenance_status.events[0].other_fields }}"}},
    ]
    (folder / "book.json").write_text(json.dumps([{"hosts": "web-1", "gather_facts": False, "tasks": tasks}]))
    sources = ["-i", hosts, "-i", "scheduled_events.yml"]
    for its_sources in (sources, sources[:2]):
        done = run(folder, ["ansible-playbook", *its_sources, "book.json"], **settings)
        assert done.of("Say")["msg"] == text
        assert done.of("Keys")["msg"] == {text: text}
    assert not (folder / "evaluated").exists()


@pytest.mark.rest
def test_a_reading_does_not_outlive_the_next_one_that_fails(first, folder, hosts, settings, fleet):
    assert first.code == 0
    # The first of the delivery group hangs too: the others are asked.
    fleet.fault(vm="db", kind="html")
    fleet.fault(vm="web-0", kind="html")
    again = collect(folder, hosts, settings, "-e", "maintenance_hosts=all:!bad:!gone")
    assert again.of("Report what was found")["msg"][0] == "5 hosts: 2 with nothing planned, 1 with events, 2 unread"
    members, said = graph(folder, hosts, settings)
    # web-0 was not read itself, but others of its delivery group were.
    assert members["maintenance_clear"] == ["10.0.0.9", "web-0", "web-2"], said
    assert members["maintenance_unknown"] == ["bad", "db", "gone"]
    assert members["maintenance_update_domain_1"] == ["web-1"]


@pytest.mark.rest
def test_where_none_could_be_read_it_fails(folder, settings):
    lost = str(inventory(folder, {"lost": {"maintenance_endpoint": "http://127.0.0.1:1"}}, "lost.json"))
    done = run(folder, ["ansible-playbook", "-i", lost, "maintenance.azure.collect"], **settings).ended(2)
    assert done.of("Fail if none of the hosts could be read")["msg"].startswith("None of the hosts")
    # The report is where somebody reads about it.
    done = run(folder, ["ansible-playbook", "-i", lost, "maintenance.azure.report"], **settings).ended()
