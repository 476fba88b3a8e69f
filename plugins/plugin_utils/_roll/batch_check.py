# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a batch may begin, and which hosts have to be read for it. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import PlanWave
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.text import render_start
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.first_wave import has_to_be_read, is_begun
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.group_failures import failures
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.leases import LeaseAnswers, calls_for
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_plan import vanished
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import LeaseCall, RunState
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.turns import in_slices
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import grouping_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes


class Check(t.TypedDict):
    wave: PlanWave | None
    stop: str
    lines: list[str]
    calls: list[LeaseCall]
    # The hosts of the first round, and those of them that have to be read before it.
    hosts: list[str]
    reads: list[str]
    # The lease was taken with the plan.
    begun: bool


def check(state: RunState, batch: Sequence[str], wishes: Wishes, early: LeaseAnswers, now: float) -> Check:
    """Whether this batch may begin. `stop` is a sentence, or empty. Nothing in Ansible stops a roll by itself.

    `early` is what the lock hosts said right after the plan.
    """
    wave = next((wave for wave in state["plan"]["waves"] if set(wave["hosts"]) == set(batch)), None)
    names = ", ".join(batch)
    stop = ""
    grouping = grouping_of(state["kept"])
    if wave is None:
        stop = (
            f"The batch {names} is no wave of the plan: a host is unreachable, or the batches were changed from"
            " outside. Nothing more is touched."
        )
    elif len(wave["domains"]) > 1 and not wave["warnings"]:
        stop = f"The batch {names} holds several domains: {', '.join(wave['domains'])}."
    else:
        failed = failures(state, wishes, grouping)
        groups = {grouping.group_of[host] for host in batch if host in grouping.group_of}
        if groups and groups <= set(failed):
            causes = "; ".join(failed[group] for group in sorted(groups))
            stop = f"Not begun, as an earlier wave went wrong ({causes})."
    begun = not stop and is_begun(state, batch, wishes, now)
    hosts = in_slices(state, batch)
    return {
        "wave": wave,
        "stop": stop,
        "lines": render_start({"wave": wave, "stop": stop}, now),
        "calls": _taken_for_nothing(state) if stop else calls_for(state, batch, grouping),
        "hosts": hosts,
        "reads": hosts if not begun or has_to_be_read(state, early, now) else [],
        "begun": begun,
    }


def _taken_for_nothing(state: RunState) -> list[LeaseCall]:
    """What is given back of what was taken for a wave that does not begin."""
    first = state["first_wave"]
    noted = [note["host"] for note in first["notes"]] if first else []
    return [{**call, "notes": [], "forget": noted} for call in first["calls"]] if first else []


def stale(state: RunState, batch: Sequence[str], wishes: Wishes, now: float) -> list[str]:
    """Hosts of the groups of this batch that may have drained themselves since they were read.

    The mark that a reading leaves keeps them from it for a while, and no longer.
    """
    group_of = grouping_of(state["kept"]).group_of
    groups = {group_of[host] for host in batch if host in group_of}
    seen_off = {*batch, *vanished(state)}
    return [
        host
        for host, known in state["kept"].items()
        if known["reflexes"]
        and host not in seen_off
        and group_of.get(host) in groups
        and now - known["seen_at"] > wishes.reading_holds
    ]
