# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reflex steps: what a host fills in of an event, and what is refused; by real templating."""

from __future__ import annotations

import ansible.template
import pytest
from ansible.parsing.dataloader import DataLoader
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.decide import MARK
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.validate import resolved_steps
from ansible_collections.maintenance.azure.plugins.plugin_utils._watch.settings import BadWatch, reflex_settings_of

TYPE = "{{ maintenance_event.type }}"
OTHER_SIGNS = "#jinja2: block_start_string:'[%', block_end_string:'%]'\n"
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
        lambda variables: resolved_steps(templar, variables, None),
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
    ("variables", "said"),
    [
        (
            {"drain_steps": [command("true"), command("{{ rare }}")], "rare": RARE},
            "drain_steps, step 2 (command): the variable rare uses",
        ),
        (
            {"drain_steps": [command("{{ word }}")], "word": "{{ 'a' if rare else 'b' }}", "rare": RARE},
            "drain_steps, step 1 (command): the variable rare uses",
        ),
        (
            {"drain_steps": [log("so {{ text }}")], "text": TYPE},
            "drain_steps, step 1 (log): the variable text uses",
        ),
        ({"drain_steps": [log("{{ maintenance_event }}")]}, "drain_steps, step 1 (log): message uses"),
        ({"drain_steps": [log("{{ maintenance_event.type | lower }}")]}, "drain_steps, step 1 (log): message uses"),
        ({"drain_steps": [log("{{ maintenance_event.type | d('') }}")]}, "drain_steps, step 1 (log): message uses"),
        ({"drain_steps": [log("{{ maintenance_event is defined }}")]}, "drain_steps, step 1 (log): message uses"),
        ({"drain_steps": [log("{{ maintenance_event['type'] }}")]}, "drain_steps, step 1 (log): message uses"),
        ({"drain_steps": [log("{{ maintenance_event.resources }}")]}, "drain_steps, step 1 (log): message uses"),
        (
            {"drain_steps": [log(f"{{% set kind %}}{TYPE}{{% endset %}}{{{{ 'a' if kind == 'x' else 'b' }}}}")]},
            "drain_steps, step 1 (log): message uses",
        ),
        (
            {"drain_steps": [log(f"{OTHER_SIGNS}[% set x %]{TYPE}[% endset %]{{{{ x | length }}}}")]},
            "drain_steps, step 1 (log): message uses",
        ),
        (
            {"drain_steps": [{"services": {"names": "{{ stopped[maintenance_event.type] }}"}}], "stopped": {}},
            "drain_steps, step 1 (services): names uses",
        ),
        (
            {"drain_steps": "{{ one + two }}", "one": [log(TYPE)], "two": [command("{{ rare }}")], "rare": RARE},
            "drain_steps: the variable rare uses",
        ),
        (
            {"drain_steps": "{{ lists['web'] }}", "lists": {"web": [log(TYPE), log("{{ maintenance_event }}")]}},
            "drain_steps: the variable lists.web.1.log.message uses",
        ),
        (
            {"drain_steps": f"{{{{ one if {RARE.strip('{ }')} else one }}}}", "one": [command("true")]},
            "drain_steps: it uses",
        ),
        # In a place where nothing is filled in.
        ({"drain_steps": [command(f"a{TYPE}")]}, "drain_steps, step 1 (command): drain.0 uses"),
        ({"drain_steps": [{"command": {"drain": f"echo {TYPE}"}}]}, "drain_steps, step 1 (command): drain uses"),
    ],
)
def test_another_use_of_an_event_is_refused_with_the_variable_and_the_step(variables, said):
    with pytest.raises(BadWatch) as failure:
        steps_of(**variables)
    assert str(failure.value).startswith(f"{said} maintenance_event in a way that a host can't fill in by itself.")
    assert "It fills in {{ maintenance_event.KEY }}, written like that in the step itself" in str(failure.value)


@pytest.mark.parametrize(
    ("name", "said"), [("'rare'", "the variable rare"), ("'ra' ~ 're'", "a variable that it looks up")]
)
def test_a_variable_that_is_looked_up_is_refused_as_well(name, said):
    # Before 2.19 a lookup knows no event in a run either.
    with pytest.raises(BadWatch, match=rf"^drain_steps, step 1 \(log\): {said} uses|^drain_steps can't be resolved"):
        steps_of(drain_steps=[log(f"{{{{ lookup('vars', {name}) }}}}")], rare=RARE)


def test_another_error_is_none_of_the_event():
    with pytest.raises(BadWatch, match=r"drain_steps can't be resolved: .*missing"):
        steps_of(drain_steps=[log(TYPE), log("{{ missing }}")])


@pytest.mark.parametrize(
    "variables",
    [
        {"drain_steps": [log("for {{maintenance_event.type}}"), command("{{ 'GO' | lower }}", TYPE)]},
        {"drain_steps": "{{ steps }}", "steps": [log(f"for {TYPE}"), command("go", TYPE)]},
        {"drain_steps": "{{ one + (two | default([])) }}", "one": [log(f"for {TYPE}")], "two": [command("go", TYPE)]},
        {
            "drain_steps": ["{{ one }}", "{{ more.two }}"],
            "one": log(f"{{{{ word }}}} {TYPE}"),
            "word": "for",
            "more": {"two": command("go", TYPE)},
        },
    ],
)
def test_what_is_written_in_a_step_is_filled_in_on_the_host(variables):
    first, second = steps_of(**variables)
    assert first["arguments"]["message"] == f"for {MARK % 'type'}"
    assert second["arguments"]["drain"] == ["go", MARK % "type"]


def test_what_a_run_does_may_use_it_in_any_way():
    others = [{"tasks": {"drain": "{{ 'a.yml' if maintenance_event.type == 'x' else 'b.yml' }}"}}, {"own": {"x": RARE}}]
    webhook = {"log": {"message": "m", "webhook": {"url": f"http://x/{TYPE}", "sent_from": "controller"}}}
    found = steps_of(drain_steps="{{ others + mine }}", others=[*others, webhook], mine=[log(TYPE)])
    assert [bool(step.get("left")) for step in found] == [True, True, True, False]


def test_what_is_not_written_as_a_template_is_left_as_it_is():
    (step,) = steps_of(
        drain_steps=[log("maintenance_event.type and {# maintenance_event #}")], x="{{ maintenance_event"
    )
    assert "maintenance_event.type and" in step["arguments"]["message"]
