# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Live endpoints, saved readings, odd names, hostile text, what users add in Jinja, settings that can't be meant."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from helpers.simulator_process import Simulator


def status(*events, age=0.0, **this_host):
    read_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age))
    who = this_host or None
    return {"this_host": who, "document_incarnation": 2, "events": list(events), "pending": False, "read_at": read_at}


def save(place, **documents):
    folder = place.folder / "readings"
    folder.mkdir(exist_ok=True)
    for name, document in documents.items():
        text = document if isinstance(document, str) else json.dumps(document)
        (folder / f"{name}.json").write_text(text)


def test_documents_and_statuses_and_what_they_cover(place, event):
    save(
        place,
        raw={"DocumentIncarnation": "9", "Events": [event("_WEB-1", "lost")]},
        kept=status(vm_name="web-0", update_domain="0"),
        bad="<html>",
    )
    place.hosts({name: {} for name in ("web-0", "web-1", "web-2")})
    found = place.list(source="file", paths=["readings/*.json", "missing/*.json"])
    assert found.states() == {"pending": ["web-1"], "started": [], "clear": ["web-0"], "unknown": ["web-2"]}, found.said
    assert found.hosts("update_domain_0") == ["web-0"]
    assert found.status("web-1")["events"][0]["resources"] == ["WEB-1", "lost"]
    for sentence in (
        "bad.json is not a reading that can be used: The saved reading is not JSON",
        "paths: missing/*.json matches no file",
        "no host of this inventory: lost.",
        "in maintenance_unknown: web-2",
    ):
        assert sentence in found.said
    (place.folder / "readings" / "bad.json").unlink()
    assert place.list(source="file", paths=["readings/*.json"], covers="all").hosts("clear") == ["web-0", "web-2"]


@pytest.mark.rest
def test_jinja_of_users_behaves_as_in_constructed(place, event):
    save(
        place,
        raw={"DocumentIncarnation": 1, "Events": [event("web-1"), event("web-1", EventId="2", EventType="Freeze")]},
        kept=status(vm_name="web-0", zone="1"),
    )
    place.hosts({"web-0": {"tier": "front"}, "web-1": {"tier": "back"}})
    options = {
        "source": "file",
        "paths": ["readings/*"],
        "query": "[?type == 'Reboot']",
        "group_prefix": "azure_",
        "compose": {"reboots": "maintenance_status.events | length", "word": "given | default('none')"},
        "groups": {"urgent": "maintenance_status.pending and tier == 'back'"},
        "keyed_groups": [{"prefix": "zone", "key": "maintenance_status.this_host.zone | default('none')"}],
    }
    found = place.list("-e", "given=yes", **options, use_extra_vars=True)
    assert found.data["urgent"]["hosts"] == found.data["azure_pending"]["hosts"] == ["web-1"], found.said
    assert found.data["zone_1"]["hosts"] == ["web-0"]
    assert found.data["zone_none"]["hosts"] == ["web-1"]
    variables = found.data["_meta"]["hostvars"]
    assert {name: (int(own["reboots"]), own["word"]) for name, own in variables.items()} == {
        "web-0": (0, "yes"),
        "web-1": (1, "yes"),
    }
    assert "azure_type_freeze" not in found.data
    loose = {**options, "compose": {"broken": "no_such_variable.x"}}
    assert place.list(**loose).data["urgent"]["hosts"] == ["web-1"]
    assert "no_such_variable" in place.list(**loose, strict=True).said


@pytest.mark.rest
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"source": "telepathy"}, "telepathy"),
        ({"source": "file"}, "source: file needs paths"),
        ({"source": "file", "paths": ["x"], "query": "[?type =="}, "query is not a JMESPath expression"),
        ({"source": "file", "paths": ["readings/*"], "query": "[].id"}, "query must pick events"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"source": "facts"}, "source: facts needs a fact cache that outlives a run, and none is configured"),
    ],
)
def test_settings_that_can_not_be_meant_have_their_sentences(place, event, options, sentence):
    save(place, raw={"DocumentIncarnation": 1, "Events": [event("web-1")]})
    found = place.hosts({"web-1": {}}).list(**options)
    assert sentence in found.said
    assert found.hosts("clear") == []


@pytest.mark.rest
def test_a_file_without_plugin_has_its_sentence(place):
    # Where users name the plugins that may be tried. Where they do not, Ansible takes such a file for a list of groups.
    enabled = {"ANSIBLE_INVENTORY_ENABLED": "ansible.builtin.yaml,maintenance.azure.scheduled_events"}
    place.config(plugin="some.other.plugin")
    assert (
        "has no line that says plugin: maintenance.azure.scheduled_events" in place.list_again(environment=enabled).said
    )


@pytest.mark.rest
def test_a_fact_cache_that_can_not_be_used_is_no_reason_to_call_a_host_clear(place):
    nowhere = {"ANSIBLE_CACHE_PLUGIN": "jsonfile"}
    found = place.hosts({"web-1": {}}).list(source="facts", environment=nowhere)
    assert found.hosts("unknown") == ["web-1"]
    assert "The fact cache jsonfile can't be used" in found.said


BRACES = "{{ lookup('pipe', 'touch TRAP') }}{% for i in [1] %}x{% endfor %}{{ 7 * 191 }}"


# A header of Jinja's own: no brace is needed after it.
def as_shown(text):
    """A line end in a text of Azure is written as a terminal may show it."""
    return text.replace("\n", "\\n")


HEADER = "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'touch TRAP') ]][[ 7 * 191 ]]"
EXPRESSION = "lookup('pipe', 'touch TRAP')"


@pytest.fixture(params=[BRACES, HEADER, EXPRESSION], ids=["braces", "header", "expression"])
def text(request, tmp_path):
    return request.param.replace("TRAP", str(tmp_path / "evaluated"))


@pytest.mark.rest
def test_hostile_text_is_never_evaluated(place, event, text):
    hostile = event("web", text, "../../etc", EventId=text, EventType=text, EventSource=text, Description=text)
    hostile["Impact"] = {text: [text]}
    (place.folder / "raw.json").write_text(json.dumps({"DocumentIncarnation": 1, "Events": [hostile]}))
    place.hosts({"web": {}}).config(
        source="file",
        paths=["raw.json"],
        create_hosts=True,
        compose={"said": "maintenance_status.events[0].description"},
        keyed_groups=[{"prefix": "kind", "key": "maintenance_status.events | map(attribute='type')"}],
    )
    found = place.list_again()
    assert sorted(found.data["_meta"]["hostvars"]) == ["web"], found.said
    assert "No host was made" in found.said
    for group in found.data:
        assert group.replace("_", "").isalnum()
    (kind,) = [group for group in found.data if group.startswith("maintenance_type_")]
    assert found.data[kind]["hosts"] == ["web"]
    assert kind == kind.lower()
    assert found.status("web")["events"][0]["description"] == as_shown(text)

    book = [
        {
            "hosts": "all",
            "gather_facts": False,
            "tasks": [
                {"name": "Print", "ansible.builtin.debug": {"var": "maintenance_status"}},
                {"name": "Say", "ansible.builtin.debug": {"msg": "{{ maintenance_status.events[0].description }}"}},
                {"name": "Composed", "ansible.builtin.debug": {"msg": "{{ said }}"}},
                {
                    "name": "Loop",
                    "ansible.builtin.debug": {"msg": "{{ item.id }}|{{ item.other_fields }}|{{ item.resources }}"},
                    "loop": "{{ maintenance_status.events }}",
                },
                {"name": "Others", "ansible.builtin.debug": {"msg": "{{ hostvars['web'].maintenance_status }}"}},
            ],
        }
    ]
    (place.folder / "book.json").write_text(json.dumps(book))
    done = place.run("ansible-playbook", "book.json").ended()
    assert done.of("Say")["msg"] == as_shown(text)
    assert done.of("Composed")["msg"] == as_shown(text)
    assert done.of("Others")["msg"]["events"][0]["type"] == as_shown(text)
    assert "1337" not in done.output
    assert not (place.folder / "evaluated").exists()


@pytest.mark.rest
def test_ordinary_text_is_printed_as_text(place, event):
    """Readers other than Ansible know no {"__ansible_unsafe": ...}: AWX's pages, jq."""
    (place.folder / "raw.json").write_text(json.dumps({"DocumentIncarnation": 1, "Events": [event("web")]}))
    found = place.hosts({"web": {}}).list(
        source="file", paths=["raw.json"], compose={"said": "maintenance_status.events[0].description"}
    )
    assert found.status("web")["events"][0]["resources"] == ["web"]
    assert "__ansible_unsafe" not in found.text


# Live endpoints: who is read, how often, and what bad ones lead to.

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
