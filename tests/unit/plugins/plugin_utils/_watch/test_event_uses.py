# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of an event a host can fill in by itself, and what only a controller can decide: by real templating."""

from __future__ import annotations

import re

import ansible.template
import pytest
from ansible.parsing.dataloader import DataLoader
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.decide import MARK
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.validate import resolved_steps
from ansible_collections.maintenance.azure.plugins.plugin_utils._watch.settings import BadWatch, reflex_settings_of

TYPE = "{{ maintenance_event.type }}"
# No event that is tried has it.
RARE = "{{ maintenance_event.duration_seconds == 7 }}"


def trusted(value):
    """As Ansible has what a user has written: from 2.19 on, nothing else is a template."""
    if isinstance(value, dict):
        return {name: trusted(one) for name, one in value.items()}
    if isinstance(value, list):
        return [trusted(one) for one in value]
    trust = getattr(ansible.template, "trust_as_template", lambda text: text)
    return trust(value) if isinstance(value, str) else value


def steps_of(**variables):
    """The steps that the host is given."""
    templar, variables = ansible.template.Templar(loader=DataLoader()), trusted(variables)
    settings = reflex_settings_of(
        {"name": "web"},
        [{"action": "drain"}],
        {**variables, "vars": variables},
        lambda variables, event: resolved_steps(templar, variables, event),
        {"own": None},
        "web",
        {"latest": 60},
    )
    return settings["steps"]


def command(*words):
    return {"command": {"drain": list(words)}}


def log(message):
    return {"log": {"message": message}}


@pytest.mark.parametrize(
    ("variables", "number", "where"),
    [
        ({"drain_steps": [command("true"), command("{{ rare }}")], "rare": RARE}, 2, "command: drain.0"),
        (
            {"drain_steps": [command("{{ word }}")], "word": "{{ 'a' if rare else 'b' }}", "rare": RARE},
            1,
            "command: drain.0",
        ),
        ({"drain_steps": [log("so {{ text }}")], "text": "{{ maintenance_event.type | lower }}"}, 1, "log: message"),
        (
            {"drain_steps": [log("{{ 'far' if text == 'to be cut' else 'near' }}")]}
            | {"text": "{{ maintenance_event.description }}"},
            1,
            "log: message",
        ),
        ({"drain_steps": [log("{{ vars.rare }}")], "rare": RARE}, 1, "log: message"),
        ({"drain_steps": [log("a{% if maintenance_event.type == 'x' %} long{% endif %} pause")]}, 1, "log: message"),
        ({"drain_steps": [log("{{ maintenance_event }}")]}, 1, "log: message"),
        ({"drain_steps": [log("{{ maintenance_event[key] }}")], "key": "type"}, 1, "log: message"),
        ({"drain_steps": [log("{% set kind = maintenance_event.type %}{{ kind }}")]}, 1, "log: message"),
        ({"drain_steps": [log("{% for one in steps %}x{% endfor %}")], "steps": [TYPE]}, 1, "log: message"),
        ({"drain_steps": [log(f"#jinja2: block_start_string:'[%'\n{TYPE}")]}, 1, "log: message"),
        (
            {"drain_steps": [{"services": {"names": "{{ stopped[maintenance_event.type] }}"}}], "stopped": {}},
            1,
            "services: names",
        ),
        ({"drain_steps": [{"services": {"names": ["a"], "timeout": "{{ rare | int }}"}}], "rare": RARE}, 1, "services"),
        (
            {"drain_steps": "{{ one + two }}", "one": [log(TYPE)], "two": [command("{{ rare }}")], "rare": RARE},
            2,
            "command: drain.0",
        ),
        # In a place where nothing is filled in.
        ({"drain_steps": [command(f"a{TYPE}")]}, 1, "command: drain.0"),
        ({"drain_steps": [{"command": {"drain": f"echo {TYPE}"}}]}, 1, "command: drain"),
        ({"drain_steps": [log("{{ maintenance_event.resources }}")]}, 1, "log: message"),
    ],
)
def test_what_looks_at_an_event_fails_with_the_number_of_the_step(variables, number, where):
    with pytest.raises(BadWatch) as failure:
        steps_of(**variables)
    assert re.match(f"drain_steps, step {number}: {re.escape(where)}", str(failure.value)), failure.value
    assert "uses maintenance_event in a way that a host can't fill in" in str(failure.value)


@pytest.mark.parametrize("plugin", ["vars", "ansible.builtin.vars"])
def test_a_variable_that_is_looked_up_is_followed_as_well(plugin):
    # Before 2.19 a lookup knows no event at all, and fails by itself.
    said = "drain_steps, step 1: log: message uses maintenance_event|drain_steps can't be resolved"
    with pytest.raises(BadWatch, match=said):
        steps_of(drain_steps=[log(f"{{{{ lookup('{plugin}', 'rare') }}}}")], rare=RARE)


def test_steps_that_are_chosen_by_the_event_are_none_of_a_host():
    choice = f"{{{{ one if {RARE.strip('{ }')} else two }}}}"
    with pytest.raises(BadWatch, match="drain_steps as a whole depend on maintenance_event"):
        steps_of(drain_steps=choice, one=[command("true")], two=[command("false")])


@pytest.mark.parametrize(
    "variables",
    [
        {"drain_steps": [log(f"for {TYPE}"), command("go", TYPE)]},
        {"drain_steps": [log("for {{ maintenance_event['type'] }}"), command("go", "{{ kind }}")], "kind": TYPE},
        {"drain_steps": "{{ steps }}", "steps": [log(f"for {TYPE}"), command("go", TYPE)]},
        {"drain_steps": "{{ one + (two | default([])) }}", "one": [log(f"for {TYPE}")], "two": [command("go", TYPE)]},
        {
            "drain_steps": ["{{ one }}", "{{ more.two }}"],
            "one": log(f"for {TYPE}"),
            "more": {"two": command("go", TYPE)},
        },
        {
            "drain_steps": [log("{% if on %}for {{ maintenance_event.type }}{% endif %}"), command("go", TYPE)],
            "on": True,
        },
        {"drain_steps": [log("{{ text if on else '' }}"), command("go", TYPE)], "on": True, "text": f"for {TYPE}"},
        {
            "drain_steps": [log("for {{ text }}"), command("{{ vars['w' ~ 'o'] | lower }}", TYPE)],
            "text": TYPE,
            "wo": "GO",
        },
    ],
)
def test_what_only_passes_it_on_is_filled_in_on_the_host(variables):
    first, second = steps_of(**variables)
    assert first["arguments"]["message"] == f"for {MARK % 'type'}"
    assert second["arguments"]["drain"] == ["go", MARK % "type"]


def test_what_others_do_may_look_at_it():
    file = "{{ 'a.yml' if rare else 'b.yml' }}"
    others = [{"tasks": {"drain": file}}, {"own": {"x": "{{ rare }}"}}]
    balancer = {
        "load_balancer": {
            "haproxy": {
                "backend": "{{ maintenance_event.type | lower }}",
                "server": "{{ maintenance_event.resources[0] }}",
                "host": "lb",
            }
        }
    }
    found = steps_of(drain_steps="{{ others + mine }}", others=[*others, balancer], mine=[log(TYPE)], rare=RARE)
    assert [bool(step.get("left")) for step in found] == [True, True, True, False]


def test_what_is_not_written_as_a_template_is_left_as_it_is():
    (step,) = steps_of(
        drain_steps=[log("maintenance_event.type and {# maintenance_event #}")], x="{{ maintenance_event"
    )
    assert "maintenance_event.type and" in step["arguments"]["message"]
