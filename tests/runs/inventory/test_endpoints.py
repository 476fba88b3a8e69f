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
        simulator.add_event(type="Reboot", resources=["web-1", "web-2"], notice=9000)
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
    assert 8000 < status["events"][0]["seconds_left"] <= 9000
    assert status["events"][0]["affects_this_host"] is True
    assert found.status("web-0")["this_host"]["update_domain"] == "0"
    assert found.status("web-3") == {**found.status("web-0"), "this_host": None}


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
        "web-2": ("html", "an HTML page"),
        "db-0": ("redirect", "redirects are never followed"),
        "db-1": ("wrong_shape", "did not answer like the metadata service"),
    }
    for vm, (kind, _sentence) in kinds.items():
        fleet.fault(vm=vm, kind=kind)
    hosts = {vm: {"maintenance_endpoint": url} for vm, url in fleet.endpoints.items()}
    hosts["misspelt"] = {"maintenance_endpoint": "https://127.0.0.1"}
    found = place.hosts(hosts).list(endpoints=[], timeout=120, workers=10)
    assert found.code == 0
    # web-1 is read, and tells about web-2 too.
    assert found.hosts("pending") == ["web-1", "web-2"]
    assert found.hosts("unknown") == ["db-0", "db-1", "misspelt"]
    for _kind, sentence in [*kinds.values(), ("misspelt", "plain http only")]:
        assert sentence in found.said


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
