# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each host does after the drain, and which approvals the lock hosts were told of in time. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import HostVars
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.batch_model import (
    Inventory,
    model_of_batch,
    newest_plan,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.decide import drain_deadline, may_approve_now
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.fence_terms import fence_for, owner_only
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.leases import (
    LeaseAnswers,
    approval_notes,
    calls_for,
    lost_leases,
    mark_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.orders import drain_states, wave_orders
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.rounds import Round
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import LeaseCall, Order, RunState
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import grouping_of, kept_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes


def order(
    state: RunState, found: Round, variables: HostVars, wishes: Wishes, inventory: Inventory, now: float
) -> tuple[dict[str, Order], dict[str, str], list[LeaseCall]]:
    """What each host does after the drain; why events may not be approved now; what the keepers are told first."""
    batch = list(variables)
    drains = drain_states(found["drain"], variables)
    kept = {**state["kept"], **kept_of(batch, variables, now, state["kept"])}
    made = newest_plan(batch, variables, wishes, inventory, now, read_again=True)
    grouping = grouping_of(kept)
    roll = model_of_batch(state, kept, variables, made, wishes, inventory, now)
    newest = {entry["id"]: entry for wave in made["waves"] for entry in wave["events"]}
    # An event that has started, grown or gone since is taken as it is now.
    entries = [newest.get(entry["id"], entry) for entry in found["events"]]
    held = {}
    for entry in entries:
        if entry["approvable"] and entry["status"] == "Scheduled":
            verdict = may_approve_now(entry["id"], roll, entry["hosts"])
            if not verdict.allowed and all(drains.get(host) in ("drained", "not_needed") for host in entry["hosts"]):
                held[entry["id"]] = verdict.why
    orders = wave_orders(
        entries,
        batch,
        drains,
        wishes.on_failed_drain,
        later=found["later"],
        stay=found["stay"],
        back=found["back"],
        not_now=held,
        no_time={event.id for event in roll.events if drain_deadline(roll, event) <= now},
    )
    by_id = {entry["id"]: entry for entry in entries}
    started = {event.id for event in roll.events if event.started}
    going = {event for one in orders.values() for event in (*one["approve_drained"], *one["approve_as_is"])}
    may_start = sorted(started | going)
    for host, one in orders.items():
        sent = [*one["approve_drained"], *one["approve_as_is"]]
        one["drains"] = host in found["drain"]
        one["together"] = sorted({name for event in sent for name in by_id[event]["hosts"]} | {host})
        one["marks"] = [mark_of(by_id[event], now) for event in sent]
        one["fence"] = fence = fence_for(variables[host], sent, wishes)
        fence["may_start"] = may_start
        # Who is brought back although his event is still there must have been read just now.
        one["restore_fence"] = fence if host in found["back"] else owner_only(fence)
    notes = approval_notes(
        [by_id[mark["event"]] for one in orders.values() for mark in one["marks"]], state["run_id"], now
    )
    return orders, held, calls_for(state, batch, grouping, notes) if notes else []


def confirm_approval(
    state: RunState, orders: dict[str, Order], answers: LeaseAnswers, calls: Iterable[LeaseCall], now: float
) -> tuple[dict[str, Order], dict[str, str]]:
    """An approval that the keepers were not told of is not sent: its hosts stay drained, and are read again."""
    lost = lost_leases(state, answers, calls, now)
    held: dict[str, str] = {}
    for host, one in orders.items():
        why = lost(host)
        sent = [*one["approve_drained"], *one["approve_as_is"]]
        if why and sent:
            held.update(dict.fromkeys(sent, why))
            one["approve_drained"], one["approve_as_is"], one["marks"], one["restore"] = [], [], [], False
            one["wait"] = [event for event in one["wait"] if event not in sent]
            one["acts"] = bool(one["wait"])
            one["stays"] = one["drain"] == "drained"
            one["later"] = not one["stays"] and not one["acts"]
    return orders, held
