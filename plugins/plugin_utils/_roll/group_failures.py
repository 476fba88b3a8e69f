# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has gone wrong in this run, by group: it stops its own group, not the others. Pure."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.groups import Grouping
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import BAD_STATES, RunState
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes


def failures(state: RunState, wishes: Wishes, grouping: Grouping) -> dict[str, str]:
    """Group -> what went wrong there in this run. It stops its own group, not the others."""
    if wishes.continue_after_failure:
        return {}
    found: dict[str, list[str]] = {}
    for host, outcome in state["outcomes"].items():
        if outcome["state"] in BAD_STATES:
            why = f"{host}: {outcome.get('error') or outcome['state']}"
            for group in _groups_of(host, state, grouping):
                found.setdefault(group, []).append(why)
    return {group: "; ".join(causes) for group, causes in found.items()}


def _groups_of(host: str, state: RunState, grouping: Grouping) -> set[str]:
    """Its group; of a host that was never read, also that of hosts which one event names together with it."""
    events = [entry["hosts"] for entry in state["events"].values() if host in entry["hosts"]]
    return {grouping.group_of.get(name, "") for name in (host, *(name for named in events for name in named))}
