# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever word stands in a result, the glossary says what it stands for."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import STATES as JOURNAL_STATES
from ansible_collections.maintenance.azure.plugins.plugin_utils import _options
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.standard_groups import STATE_GROUPS
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.content import STATES as REPORT_STATES
from helpers import ROOT

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


@pytest.mark.parametrize("page", ["README.md", "docs/first-roll.md", "docs/site/index.rst", "docs/architecture.md"])
def test_readers_find_it(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.search(r"\]\((docs/)?glossary\.md\)|^   docs/glossary$", text, re.MULTILINE)
