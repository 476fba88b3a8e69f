# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a run grows with its hosts, not with their square."""

from __future__ import annotations

import ast
import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.packing import (
    from_carried,
    packed,
    to_carry,
    unpacked,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_plan import begin


def state_of(shows):
    hosts = list(shows)
    state = begin("run", 0.0, hosts, dict.fromkeys(hosts, ""), None)
    state["kept"] = {
        host: {"vm": host, "shows": ids, "showed": [] if ids else ["E0"], "journal": None}
        for host, ids in shows.items()
    }
    return state


def test_what_was_packed_comes_back():
    state = state_of({"a": ["E1", "E2"], "b": ["E2", "E1"], "c": [], "d": None, "e": ["E1", "E2"]})
    assert unpacked(packed(state)) == json.loads(json.dumps(state))


def test_what_all_hosts_show_is_written_once():
    events = [f"event-{number}" for number in range(300)]
    text = packed(state_of({f"web-{number}": list(events) for number in range(300)}))
    assert [text.count(f'"{event}"') for event in events] == [1] * 300


def test_packing_changes_nothing_of_the_state_itself():
    state = state_of({"a": ["E1"]})
    packed(state)
    assert state["kept"]["a"]["shows"] == ["E1"]


def test_no_ansible_core_takes_the_text_for_data():
    text = to_carry({"a": [1]})
    with pytest.raises(SyntaxError):
        ast.literal_eval(text)
    assert not text.startswith(("{", "["))
    assert from_carried(text) == {"a": [1]}
