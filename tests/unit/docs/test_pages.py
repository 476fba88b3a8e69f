# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages quote, name and link to is there, and the glossary explains every word of a result."""

from __future__ import annotations

import functools
import json
import re
import urllib.parse

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import STATES as JOURNAL_STATES
from ansible_collections.maintenance.azure.plugins.plugin_utils._common import options as _options
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.overlay import STATE_GROUPS
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.content import STATES as REPORT_STATES
from helpers import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("roles/*/README.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Shorter than that, a piece of a message could be anywhere.
SHORTEST_PIECE = 8


@functools.lru_cache
def sources() -> str:
    """All code, with strings that go over several lines in one piece."""
    files = [*ROOT.glob("plugins/**/*.py"), *ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/**/*.yml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return re.sub(r"\s+", " ", re.sub(r'"\n\s*f?"', "", text))


def messages():
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (.*)$", page, re.MULTILINE)
    return [message for heading in headings for message in re.findall(r"`([^`]+)`", heading)]


@pytest.mark.parametrize("message", messages())
def test_a_message_that_is_explained_is_one_that_is_said(message):
    pieces = [piece.strip(" .:()") for piece in message.split("...")]
    pieces = [piece for piece in pieces if len(piece) >= SHORTEST_PIECE]
    assert pieces
    for piece in pieces:
        assert piece in sources(), f"nothing says {piece!r}"


def test_the_messages_are_many():
    assert len(messages()) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        address = urllib.parse.urlsplit(target)
        if not address.scheme and address.path:
            assert (page.parent / address.path).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_are_yaml(page):
    for block in YAML.findall(page.read_text(encoding="utf-8")):
        # With Ansible's own tags, such as !unsafe, in it.
        assert list(yaml.parse(block))


def test_there_are_links_and_examples_to_look_at():
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(LINK.findall(page)) for page in pages) > 50
    assert sum(len(YAML.findall(page)) for page in pages) > 30


PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \| (.*) \|$", PAGE, re.MULTILINE)
# Words of results that say nothing about a host, an event or a VM, or that Azure itself has chosen.
OTHER_KEYS = {"changed", "endpoint", "events", "lines", "nothing", "problems", "times", "kept", "again"}


def schema():
    return json.loads((ROOT / "docs" / "maintenance_run.schema.json").read_text(encoding="utf-8"))


EVENT = schema()["properties"]["events"]["additionalProperties"]["properties"]


def returned_by_module(name):
    text = (ROOT / "plugins" / "modules" / f"{name}.py").read_text(encoding="utf-8")
    return set(yaml.safe_load(re.search(r'^RETURN = r"""\n(.*?)^"""', text, re.MULTILINE | re.DOTALL)[1]))


def returned_by_plan():
    page = yaml.safe_load((ROOT / "plugins" / "filter" / "plan.yml").read_text(encoding="utf-8"))
    return set(page["RETURN"]["_value"]["contains"])


RESULTS = {
    "states of hosts in maintenance_run": schema()["$defs"]["state"]["enum"],
    "what a run leaves": schema()["properties"]["left"]["required"],
    "times of an event": [key for key in EVENT if key.endswith("_at")],
    "groups": [f"maintenance_{state}" for state in STATE_GROUPS],
    "states of the report": REPORT_STATES,
    "states of a journal": JOURNAL_STATES,
    "what an approval waits for": _options.approve_options()["wait_for"]["choices"],
    "what a wait waits for": _options.wait_options()["until"]["choices"],
    "results of scheduled_event_approve": returned_by_module("scheduled_event_approve"),
    "results of the filter plan": returned_by_plan(),
}


@pytest.mark.parametrize("where", RESULTS)
def test_every_word_of_a_result_is_explained(where):
    explained = {word for _word, _meaning, results in ROWS for word in re.findall(r"`([^`]+)`", results)}
    assert RESULTS[where]
    assert set(RESULTS[where]) - explained - OTHER_KEYS == set()
