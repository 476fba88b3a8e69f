# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from the service is text, also as a variable of the inventory, a host's name and a group's."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.rest

BRACES = "{{ lookup('pipe', 'touch TRAP') }}{% for i in [1] %}x{% endfor %}{{ 7 * 191 }}"
# A header of Jinja's own: no brace is needed after it.
HEADER = "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'touch TRAP') ]][[ 7 * 191 ]]"
EXPRESSION = "lookup('pipe', 'touch TRAP')"


def as_shown(text):
    """A line end in a text of Azure is written as a terminal may show it."""
    return text.replace("\n", "\\n")


@pytest.fixture(params=[BRACES, HEADER, EXPRESSION], ids=["braces", "header", "expression"])
def text(request, tmp_path):
    return request.param.replace("TRAP", str(tmp_path / "evaluated"))


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
    done = place.run("ansible-playbook", "book.json")
    assert done.code == 0, done.output
    assert done.of("Say")["msg"] == as_shown(text)
    assert done.of("Composed")["msg"] == as_shown(text)
    assert done.of("Others")["msg"]["events"][0]["type"] == as_shown(text)
    assert "1337" not in done.output
    assert not (place.folder / "evaluated").exists()


def test_ordinary_text_is_printed_as_text(place, event):
    """Readers other than Ansible know no {"__ansible_unsafe": ...}: AWX's pages, jq."""
    (place.folder / "raw.json").write_text(json.dumps({"DocumentIncarnation": 1, "Events": [event("web")]}))
    found = place.hosts({"web": {}}).list(
        source="file", paths=["raw.json"], compose={"said": "maintenance_status.events[0].description"}
    )
    assert found.status("web")["events"][0]["resources"] == ["web"]
    assert "__ansible_unsafe" not in found.text


def test_hostile_text_stays_text_through_constructed(place, event, text):
    hostile = event("web", Description=text)
    (place.folder / "raw.json").write_text(json.dumps({"DocumentIncarnation": 1, "Events": [hostile]}))
    place.hosts({"web": {}}).config(source="file", paths=["raw.json"])
    constructed = {
        "plugin": "ansible.builtin.constructed",
        "strict": True,
        "compose": {
            "said": "maintenance_status.events[0].description",
            "nested": "{'all': maintenance_status.events | map(attribute='description')}",
            "again": "maintenance_status",
        },
    }
    (place.folder / "constructed.yml").write_text(json.dumps(constructed))
    book = [
        {
            "hosts": "all",
            "gather_facts": False,
            "tasks": [
                {"name": name, "ansible.builtin.debug": {"msg": f"{{{{ {name} }}}}"}}
                for name in ("said", "nested", "again")
            ]
            + [{"name": "Kept", "ansible.builtin.set_fact": {"kept": "{{ said }}"}}]
            + [{"name": "kept", "ansible.builtin.debug": {"msg": "{{ kept }}"}}]
            + [{"name": "Bare", "ansible.builtin.debug": {"msg": "x"}, "when": "said", "ignore_errors": True}],
        }
    ]
    (place.folder / "book.json").write_text(json.dumps(book))
    done = place.run("ansible-playbook", "-i", "constructed.yml", "book.json")
    assert done.code == 0, done.output
    assert done.of("said")["msg"] == as_shown(text)
    assert list(done.of("nested")["msg"]["all"]) == [as_shown(text)]
    assert done.of("again")["msg"]["events"][0]["description"] == as_shown(text)
    assert done.of("kept")["msg"] == as_shown(text)
    assert "1337" not in done.output
    assert not (place.folder / "evaluated").exists()
