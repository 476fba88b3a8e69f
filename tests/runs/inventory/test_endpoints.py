# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Live endpoints: who is read, how often, and what bad ones lead to."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from helpers.simulator_process import Simulator

FLEET = {
    "groups": {
        "web": {"kind": "availability_set", "resource_group": "rg-web"},
        "db": {"kind": "availability_set", "resource_group": "rg-db"},
    },
    "vms": [
        *({"name": f"web-{n}", "group": "web", "update_domain": n} for n in range(4)),
        *({"name": f"db-{n}", "group": "db"} for n in range(3)),
    ],
}


@pytest.fixture(scope="module")
def fleet():
    with Simulator(FLEET, requests_per_second=0) as simulator:
        for vm in ("web-0", "db-0"):
            simulator.document(vm)
        simulator.add_event(type="Reboot", resources=["web-1", "web-2"])
        simulator.add_event(type="Freeze", resources=["web-2"], source="User", status="Started")
        yield simulator


@pytest.fixture(autouse=True)
def _quiet(fleet):
    fleet.clear_faults()
    fleet.clear_log()


def reads(fleet):
    return sorted(line["vm"] for line in fleet.log() if line["path"] == "/metadata/scheduledevents")


def webs(**more):
    return {f"web-{n}": dict(more) for n in range(4)}


STATES = {"pending": ["web-1", "web-2"], "started": ["web-2"], "clear": ["web-0", "web-3"], "unknown": []}


@pytest.mark.rest
def test_one_endpoint_tells_about_its_whole_delivery_group(place, fleet):
    proxy = {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    found = place.hosts(webs()).list(endpoints=[fleet.endpoint("web-0") + "/"], environment=proxy)
    assert found.states() == STATES, found.said
    assert found.hosts("type_reboot") == ["web-1", "web-2"]
    assert found.hosts("type_freeze") == found.hosts("source_user") == ["web-2"]
    assert found.hosts("source_platform") == ["web-1", "web-2"]
    assert found.hosts("update_domain_0") == ["web-0"]
    assert "WARNING" not in found.said
    assert reads(fleet) == ["web-0"]
    status = found.status("web-1")
    assert sorted(status) == ["document_incarnation", "events", "pending", "read_at", "this_host"]
    assert status["this_host"] is None
    assert status["pending"] is True
    assert 800 < status["events"][0]["seconds_left"] <= 900
    assert status["events"][0]["affects_this_host"] is True
    assert found.status("web-0")["this_host"]["update_domain"] == "0"
    assert found.status("web-3") == {**found.status("web-0"), "this_host": None}


@pytest.mark.rest
def test_every_way_to_look_at_it(place, fleet):
    place.hosts(webs()).config(endpoints=[fleet.endpoint("web-0")])
    graph = place.run("ansible-inventory", "--graph").output
    assert "|--@maintenance_type_reboot:\n  |  |--web-1\n  |  |--web-2\n" in graph
    in_yaml = place.run("ansible-inventory", "--list", "--yaml", "--export").output
    assert "maintenance_started:\n      hosts:\n        web-2:" in in_yaml
    limited = place.run("ansible", "all", "--limit", "maintenance_pending:!maintenance_started", "--list-hosts").output
    assert [line.strip() for line in limited.splitlines()] == ["hosts (1):", "web-1"]
    pinged = place.run("ansible", "maintenance_type_reboot", "-m", "ansible.builtin.ping").output
    assert sorted(line for line in pinged.splitlines() if "|" in line) == [
        "web-1 | SUCCESS => {",
        "web-2 | SUCCESS => {",
    ]


@pytest.mark.rest
def test_hosts_are_read_at_their_own_endpoints_and_a_shared_one_once(place, fleet):
    hosts = {
        # A template, as a user may write it.
        "10.0.0.1": {"address": fleet.endpoint("web-1"), "maintenance_endpoint": "{{ address }}"},
        "web-3": {"maintenance_endpoint": fleet.endpoint("web-3")},
        "db-1": {"maintenance_endpoint": fleet.endpoint("db-0")},
        "db-2": {"maintenance_endpoint": fleet.endpoint("db-0")},
        "elsewhere": {},
        "from-within": {"maintenance_endpoint": "http://169.254.169.254"},
    }
    # Nobody answers at the default endpoint here: a run that waits for it does so for longer than it is given.
    found = place.hosts(hosts).list(timeout=600)
    assert found.states() == {
        "pending": ["10.0.0.1"],
        "started": [],
        "clear": ["db-1", "db-2", "web-3"],
        "unknown": ["elsewhere", "from-within"],
    }, found.said
    assert found.status("10.0.0.1")["this_host"]["vm_name"] == "web-1"
    assert found.hosts("update_domain_1") == ["10.0.0.1"]
    assert found.hosts("update_domain_3") == ["web-3"]
    assert reads(fleet) == ["db-0", "web-1", "web-3"]
    assert "in maintenance_unknown: elsewhere" in found.said
    assert "Only the host itself can ask http://169.254.169.254" in found.said


@pytest.mark.rest
def test_one_answer_per_delivery_group_and_the_next_host_if_the_first_fails(place, fleet):
    fleet.fault(vm="web-0", kind="html")
    lines = [f"{vm} maintenance_endpoint={fleet.endpoint(vm)}" for vm in sorted(fleet.endpoints)]
    (place.folder / "hosts.ini").write_text(
        "\n".join(["[web]", *lines[3:], "[web:vars]", "maintenance_delivery_group=set-1", "[db]", *lines[:3]])
    )
    # The variable may be anywhere in the inventory.
    (place.folder / "group_vars").mkdir()
    (place.folder / "group_vars" / "db.yml").write_text("maintenance_delivery_group: set-2\n")
    place.sources = ["hosts.ini"]
    found = place.list(use_vars_plugins=True)
    assert found.states() == {**STATES, "clear": ["db-0", "db-1", "db-2", *STATES["clear"]]}, found.said
    assert len(fleet.log()) == 3
    assert reads(fleet) == ["db-0", "web-0", "web-1"]


def test_bad_endpoints_have_their_sentences_and_hide_no_good_one(place, fleet):
    kinds = {
        "web-0": ("hang", "a connection, but no answer in time"),
        "web-2": ("html", "an HTML page"),
        "web-3": ("error_500", "HTTP 500"),
        "db-0": ("redirect", "redirects are never followed"),
        "db-1": ("wrong_shape", "did not answer like the metadata service"),
        "db-2": ("empty_200", "with an empty body"),
    }
    for vm, (kind, _sentence) in kinds.items():
        fleet.fault(vm=vm, kind=kind)
    hosts = {vm: {"maintenance_endpoint": url} for vm, url in fleet.endpoints.items()}
    hosts["closed"] = {"maintenance_endpoint": "http://127.0.0.1:1"}
    hosts["misspelt"] = {"maintenance_endpoint": "https://127.0.0.1"}
    # The one that hangs would do so for ever. The good one has its answer in time on a busy machine, too.
    found = place.hosts(hosts).list(endpoints=[], timeout=15, workers=10)
    assert found.code == 0
    # web-1 is read, and tells about web-2 too.
    assert found.hosts("pending") == ["web-1", "web-2"]
    assert found.hosts("unknown") == ["closed", "db-0", "db-1", "db-2", "misspelt", "web-0", "web-3"]
    for _kind, sentence in [*kinds.values(), ("closed", "Connection refused"), ("misspelt", "plain http only")]:
        assert sentence in found.said


@pytest.mark.rest
def test_a_listed_endpoint_that_fails_leaves_nobody_clear_by_silence(place, fleet):
    place.hosts({**webs(), "db-0": {}})
    options = {"endpoints": [fleet.endpoint("web-0"), "http://127.0.0.1:1"], "timeout": 10}
    found = place.list(**options)
    assert found.states() == {**STATES, "clear": ["web-0"], "unknown": ["db-0", "web-3"]}
    stopped = place.list(**options, on_error="fail")
    assert stopped.code != 0
    assert "Connection refused" in stopped.said
    assert not stopped.data


@pytest.mark.rest
def test_resource_groups_say_what_an_answer_can_not_cover(place, fleet):
    in_db = {f"db-{n}": {"resource_group": "RG-DB"} for n in range(2)}
    found = place.hosts({**webs(resource_group="rg-web"), **in_db}).list(endpoints=[fleet.endpoint("web-0")])
    assert found.states() == {**STATES, "unknown": ["db-0", "db-1"]}
    assert "No VM that answered is in their resource group" in found.said


@pytest.mark.rest
def test_on_its_own_it_makes_the_hosts(place, fleet):
    found = place.list(endpoints=[fleet.endpoint("web-0")], create_hosts=True)
    assert found.states() == {**STATES, "clear": ["web-0"]}
    assert "WARNING" not in found.said
    named = place.hosts({"web-0": {}}).list(endpoints=[fleet.endpoint("web-0")])
    assert "Events name VMs that are no host of this inventory: web-1, web-2." in named.said


def cache_file(folder: Path) -> Path:
    (found,) = [path for path in (folder / "kept").iterdir() if path.is_file()]
    return found


@pytest.mark.rest
def test_the_cache_keeps_answers_and_not_deadlines(place, fleet):
    options = {
        "cache": True,
        "cache_plugin": "jsonfile",
        "cache_connection": str(place.folder / "kept"),
        "cache_timeout": 1000,
    }
    place.hosts(webs())
    first = place.list(endpoints=[fleet.endpoint("web-0")], **options)
    kept = cache_file(place.folder)
    assert "seconds_left" not in kept.read_text()
    assert "not_before" in kept.read_text()
    long_ago = time.time() - 900
    os.utime(kept, (long_ago, long_ago))
    time.sleep(1.1)
    second = place.list_again()
    assert reads(fleet) == ["web-0"]
    assert second.states() == first.states()
    assert second.status("web-1")["read_at"] == first.status("web-1")["read_at"]
    assert second.status("web-1")["events"][0]["seconds_left"] < first.status("web-1")["events"][0]["seconds_left"]
    # To use the cache is not to renew it.
    assert abs(kept.stat().st_mtime - long_ago) < 1
    (place.folder / "book.json").write_text(json.dumps([{"hosts": "all", "gather_facts": False}]))
    place.run("ansible-playbook", "--flush-cache", "--list-hosts", "book.json")
    assert reads(fleet) == ["web-0", "web-0"]


@pytest.mark.rest
def test_an_answer_does_not_live_longer_for_what_is_cached_next_to_it(place, fleet):
    options = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(place.folder / "kept")}
    hosts = {vm: {"maintenance_endpoint": fleet.endpoint(vm)} for vm in ("web-0", "db-0")}
    fleet.fault(vm="db-0", kind="html")
    first = place.hosts(hosts).list(endpoints=[], cache_timeout=3, **options)
    assert first.states() == {"pending": [], "started": [], "clear": ["web-0"], "unknown": ["db-0"]}
    # What failed is not kept: it is asked again, which writes the cache anew.
    fleet.clear_faults()
    place.list(endpoints=[], cache_timeout=1000, **options)
    assert reads(fleet) == ["db-0", "db-0", "web-0"]
    time.sleep(3)
    place.list(endpoints=[], cache_timeout=3, **options)
    assert reads(fleet).count("web-0") == 2


@pytest.mark.rest
def test_the_age_of_a_cached_answer_is_bounded_too(place, fleet):
    options = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(place.folder / "kept")}
    place.hosts(webs()).list(endpoints=[fleet.endpoint("web-0")], **options)
    time.sleep(1.5)
    found = place.list(endpoints=[fleet.endpoint("web-0")], max_age=1, **options)
    assert found.hosts("unknown") == sorted(webs())
    assert "max_age" in found.said


@pytest.mark.rest
def test_a_cache_full_of_something_else_is_read_anew(place, fleet):
    options = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(place.folder / "kept")}
    place.hosts(webs()).list(endpoints=[fleet.endpoint("web-0")], **options)
    cache_file(place.folder).write_text(json.dumps({fleet.endpoint("web-0"): {"events": "none"}}))
    assert place.list_again().states() == STATES
