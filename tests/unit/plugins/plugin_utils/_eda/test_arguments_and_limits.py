# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the source may be told, how much it takes, and that nothing which it tells is a template."""

from __future__ import annotations

import dataclasses
import runpy

import jinja2
import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.arguments import (
    BadArguments,
    SourceArguments,
    arguments_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.limits import Allowance, SeenSignatures
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.source import check_rulebook
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.told import no_template
from helpers.event_source import PLUGIN
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("given_arguments", "complaint"),
    [
        ({"ports": 1}, "there is no argument ports"),
        ({"port": "http"}, "port must be a number"),
        ({"port": 70000}, "port must be a number"),
        ({"settle": -1}, "settle must be a number of seconds"),
        ({"remind": 0}, "remind must be a number of seconds"),
        ({"silent_after": True}, "silent_after must be"),
        ({"secret": ""}, "secret must be a text, or a list of texts, and none of them empty"),
        ({"secret": ["a", ""]}, "none of them empty"),
        ({"secret": []}, "none of them empty"),
        ({"secrets": "a"}, "secrets must be a mapping"),
        ({"certfile": "a"}, "certfile and keyfile belong together"),
        ({"endpoints": "http://a"}, "endpoints must be a list"),
        ({"endpoints": ["https://a"]}, "plain http only"),
        ({"host": "192.0.2.1"}, "listens on loopback only"),
    ],
)
def test_what_can_not_be_used_is_said_in_a_sentence(given_arguments, complaint):
    with pytest.raises(BadArguments, match=complaint):
        arguments_of(given_arguments)


def test_the_documentation_has_every_argument_with_its_default():
    """Where there is no default nothing is said of one."""
    options = yaml.safe_load(runpy.run_path(str(PLUGIN))["DOCUMENTATION"])["options"]
    fields = {field.name: field.default for field in dataclasses.fields(SourceArguments)}
    assert list(options) == list(fields)
    for name, about in options.items():
        default = fields[name]
        has_none = default is None or default is dataclasses.MISSING or default == ()
        assert about.get("default") == (None if has_none else default), name


def test_the_examples_can_be_used():
    for example in yaml.safe_load(runpy.run_path(str(PLUGIN))["EXAMPLES"]):
        arguments_of(example["maintenance.azure.scheduled_events"])


def test_numbers_may_be_texts_as_a_template_makes_them():
    assert arguments_of({"port": "5011", "settle": "0.5", "secret": 123, "certfile": None}) == SourceArguments(
        port=5011, settle=0.5, secret=("123",)
    )


def test_who_has_no_secret_is_on_loopback_and_who_reads_by_itself_does_not_listen():
    assert arguments_of({}).host == "127.0.0.1"
    assert arguments_of({"secret": "s"}).host == "0.0.0.0"
    assert arguments_of({}).listens
    assert not arguments_of({"endpoints": ["http://127.0.0.1:1"]}).listens
    assert arguments_of({"endpoints": ["http://127.0.0.1:1"], "secret": "s"}).listens


@pytest.mark.parametrize(("version", "is_good"), [("1.1.7", False), ("1.2.0", True), ("1.10.0rc1", True), (None, True)])
def test_an_old_ansible_rulebook_is_refused(version, is_good):
    if is_good:
        check_rulebook(version)
    else:
        with pytest.raises(BadArguments, match=r"needs ansible-rulebook 1\.2\.0 or newer, not 1\.1\.7"):
            check_rulebook(version)


@given(st.lists(st.floats(0, 5), max_size=60))
def test_an_allowance_gives_so_many_at_once_and_so_many_a_second(pauses):
    allowance, now, taken = Allowance(5, 2), 0.0, []
    for pause in pauses:
        now += pause
        if allowance.takes("a", now):
            taken.append(now)
    for number, first in enumerate(taken):
        for count, last in enumerate(taken[number:], start=1):
            assert count <= 5 + (last - first) * 2 + 0.001


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 400)), max_size=40))
def test_a_signature_is_good_once_within_its_window(uses):
    seen, now, used = SeenSignatures(), 0.0, {}
    for name, pause in uses:
        now += pause
        fresh = seen.is_new(name, now + 300, now)
        if name in used and now <= used[name]:
            assert not fresh
        if fresh:
            used[name] = now + 300


@given(st.text(alphabet="{}%#a j", max_size=12) | st.just("#jinja2: variable_start_string: '[['"))
def test_nothing_that_is_told_is_a_template(text):
    safe = no_template({"a": [text]})["a"][0]
    environment = jinja2.Environment()
    assert environment.from_string(safe).render() == safe.removesuffix("\n")
    assert not safe.startswith("#jinja2:")
