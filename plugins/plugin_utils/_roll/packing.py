# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a run as the one text that is kept between tasks, and back. Pure.

Nearly all hosts of a group show the same events. Written out for each host, the text of a thousand VMs would hold a
million ids; so each list is written once.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import RunState

# Before 2.19, ansible-core makes data of a text that reads like a literal of Python, as JSON without null and true
# does, and a text that is no JSON any more when it is asked for one again.
NO_LITERAL = "JSON "


def to_carry(data: t.Mapping[str, t.Any]) -> str:
    """For what goes from task to task through templates, and stays the text that it is."""
    return NO_LITERAL + json.dumps(data)


def from_carried(text: str) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", json.loads(text.removeprefix(NO_LITERAL)))


# What nearly all hosts of a group have in common.
_LISTS = ("shows", "showed", "accounts")


def packed(state: RunState) -> str:
    lists: dict[str, int] = {}
    kept = {
        host: {**known, **{name: lists.setdefault(json.dumps(known[name]), len(lists)) for name in _LISTS}}
        for host, known in t.cast("dict[str, dict[str, t.Any]]", state["kept"]).items()
    }
    return to_carry({**state, "kept": kept, "lists": list(lists)})


def unpacked(text: str) -> RunState:
    state = from_carried(text)
    lists = [json.loads(one) for one in state.pop("lists")]
    for known in state["kept"].values():
        known.update((name, lists[known[name]]) for name in _LISTS)
    return t.cast(RunState, state)
