# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters as Ansible calls them."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.maintenance.azure.plugins.filter import plan, waves

FILTERS = pathlib.Path(waves.__file__).parent
FLEET = {
    "web-0": {"maintenance_status": {"this_host": {"update_domain": "0"}, "events": []}},
    "web-1": {"maintenance_domain": "rack 1"},
    "web-2": {},
}


class Text(str):
    """Ansible's own strings are kinds of str, too."""


class OnlyWhatIsNeeded(dict):
    """Stands in for Ansible's hostvars, where everything that is taken costs time."""

    def __getitem__(self, key):
        known = ("maintenance_status", "maintenance_domain", "maintenance_vm_name", "maintenance_delivery_group")
        assert key in known, f"{key} is not needed"
        return super().__getitem__(key)

    def items(self):
        raise AssertionError("everything is fetched")

    values = keys = __iter__ = items


def test_waves_is_a_plain_list_of_lists_of_text():
    found = waves.waves([Text("web-2"), Text("web-0"), Text("web-1")], FLEET)
    assert found == [["web-1"], ["web-2"], ["web-0"]]
    assert {type(host) for wave in found for host in wave} == {str}


def test_only_the_variables_that_are_needed_are_taken():
    fleet = {host: OnlyWhatIsNeeded({**variables, "costly": 1}) for host, variables in FLEET.items()}
    assert waves.waves(list(fleet), fleet) == waves.waves(list(FLEET), FLEET)


def test_warnings_are_shown(monkeypatch):
    shown = []
    monkeypatch.setattr(waves.display, "warning", shown.append)
    event = {"id": "E", "status": "Scheduled", "not_before": None, "resources": ["web-0", "web-1"]}
    fleet = {**FLEET, "web-1": {"maintenance_status": {"events": [event], "this_host": {"update_domain": "1"}}}}
    assert waves.waves(list(fleet), fleet) == [["web-0", "web-1"], ["web-2"]]
    assert len(shown) == 1
    assert "Event E spans several domains (update domain 0 and update domain 1)" in shown[0]


@pytest.mark.parametrize(
    ("hosts", "hostvars", "options", "sentence"),
    [
        ("web-0", FLEET, {}, "Expected a list of host names, not str: 'web-0'"),
        ([1], FLEET, {}, "Expected a list of host names, but it holds 1"),
        (["web-0"], [], {}, "Expected hostvars, not list"),
        (["web-9"], FLEET, {}, "There is no host web-9 in the inventory"),
        (["web-0"], FLEET, {"max_at_once": 0}, "max_at_once must be at least 1, not 0"),
        (
            ["a"],
            {"a": {"maintenance_domain": "{{ rack }}"}},
            {},
            "maintenance_domain of host a is a template that can't be resolved: {{ rack }}",
        ),
    ],
)
def test_mistakes_are_said_in_a_sentence(hosts, hostvars, options, sentence):
    with pytest.raises(AnsibleFilterError) as failure:
        waves.waves(hosts, hostvars, **options)
    assert str(failure.value) == f"maintenance.azure.waves: {sentence}"
    with pytest.raises(AnsibleFilterError) as failure:
        plan.plan(hosts, hostvars, [], **options)
    assert str(failure.value) == f"maintenance.azure.plan: {sentence}"


def test_the_plan_has_its_lines_and_takes_the_rest_of_the_inventory_into_account():
    event = {"id": "E", "type": "Reboot", "status": "Started", "not_before": None, "resources": ["web-0", "WEB-2"]}
    fleet = {**FLEET, "web-0": {"maintenance_status": {"events": [event], "this_host": None}}}
    made = plan.plan(["web-0"], fleet, [{"action": "drain"}])
    assert made["waves"][0]["events"][0]["not_in_run"] == ["web-2"]
    assert made["lines"][0] == "Wave 1 of 1: event E, already started"


@pytest.mark.parametrize("module", [waves, plan])
def test_the_documentation_names_the_options_that_there_are(module):
    name = pathlib.Path(module.__file__).stem
    documentation = yaml.safe_load((FILTERS / f"{name}.yml").read_text())["DOCUMENTATION"]
    function = module.FilterModule().filters()[name]
    code = function.__code__
    arguments = ["_input", *code.co_varnames[1 : code.co_argcount]]
    assert documentation["name"] == name
    assert list(documentation["options"]) == arguments
    assert documentation["positional"] == ", ".join(arguments[1:])
