# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a batch now: its newest plan, the events that are gone, and the model for the rules. Pure."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import HostVars, InventoryNames
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import (
    Plan,
    make_plan,
    read_policy,
    with_journal,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import read_max_at_once
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.group_failures import failures
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import Roll
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import Kept, RunState
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import (
    events_gone,
    grouping_of,
    model_of,
    shown_by_group,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes


@dataclasses.dataclass(frozen=True)
class Inventory:
    """What is asked of the rest of the inventory, and only where it matters, as it is costly."""

    elsewhere: Callable[[], Mapping[str, Sequence[str]]]
    names: Callable[[], InventoryNames]


def newest_plan(
    hosts: Sequence[str], variables: HostVars, wishes: Wishes, inventory: Inventory, now: float, read_again: bool
) -> Plan:
    return make_plan(
        hosts,
        variables,
        wishes.policy,
        max_at_once=wishes.max_at_once,
        drained=with_journal(variables),
        uncovered=wishes.uncovered,
        elsewhere=inventory.elsewhere,
        names=inventory.names,
        read_again=read_again,
        now=now,
    )


def model_of_batch(
    state: RunState,
    kept: Mapping[str, Kept],
    variables: HostVars,
    made: Plan,
    wishes: Wishes,
    inventory: Inventory,
    now: float,
    read_now: Collection[str] = (),
) -> Roll:
    """`read_now`: hosts outside of the batch that were read with it."""
    planned = [entry for wave in made["waves"] for entry in wave["events"]]
    limit = read_max_at_once(wishes.max_at_once, len(state["hosts"]))
    roll = model_of(
        kept,
        variables,
        planned,
        read_policy(wishes.policy),
        state["outcomes"],
        dataclasses.replace(wishes.settings, max_at_once=limit, patience=wishes.patience),
        state["run_id"],
        now,
        notes=state["notes"],
        records=state["records"],
        elsewhere=functools.cache(inventory.elsewhere),
        gone=gone_now(state, {host: kept[host] for host in (*variables, *read_now)}),
        inventory=state["lease_of"],
        refused={*state["refused"], *made["refused_hosts"]},
        read_now=read_now,
    )
    failed = failures(state, wishes, grouping_of(kept))
    return dataclasses.replace(roll, failures=failed, services=state["services"] or None)


def gone_now(state: RunState, fresh: Mapping[str, Kept]) -> list[list[str]]:
    """Declared groups and their events that are no longer there, by what hosts have said now."""
    before = {(group, event) for group, event in state["gone"]}
    return sorted(map(list, (events_gone(state["kept"], fresh) | before) - shown_by_group(fresh)))
