# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a batch's plan may be done now, by the rules of decide.py, and what is left for the next round. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import natural
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import Plan, PlanEntry
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.decide import what_may_go_down_now
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    DRAIN,
    HOLD,
    RETURN,
    ROUND,
    Move,
    Roll,
)


class Round(t.TypedDict):
    """One round of a batch: what may go down now. The rest comes in a later round, or says why it does not."""

    # The events that are taken care of now, and those of the batch that are left alone.
    events: list[PlanEntry]
    ignored: list[PlanEntry]
    # The hosts that are drained now, and for which events.
    drain: list[str]
    drain_for: dict[str, list[str]]
    # Hosts whose turn has not come, those that stay drained for their next event, those that are brought back first.
    later: list[str]
    stay: list[str]
    back: list[str]
    # Event -> why it is not begun.
    held: dict[str, str]
    # Whether another round may have something; with nothing to do now, when it is worth another look.
    again: bool
    waits: bool
    # All that is waited for is that enough hosts are in service; that these hosts are.
    waits_for_service: bool
    waits_for: list[str]


def next_round(
    plan: Plan,
    batch: Sequence[str],
    roll: Roll,
    unleased: Mapping[str, str] | None = None,
    unfit: Mapping[str, str] | None = None,
) -> Round:
    """`unleased`: group -> why this run does not have what it needs to begin something there; `unfit`: host -> why it
    can't be drained.
    """
    missing, not_fit = unleased or {}, unfit or {}
    moves = [_without_lease(move, missing) for move in what_may_go_down_now(roll)]
    holds = [move for move in moves if move.kind == HOLD]
    entries: list[PlanEntry] = [entry for wave in plan["waves"] for entry in wave["events"]]
    going = {move.approve for move in moves if move.kind == ROUND}
    going |= {event for move in moves if move.kind == DRAIN for event in move.events}
    chosen = [
        entry
        for entry in entries
        if _is_chosen(entry, going) and ("drain" not in entry["steps"] or not_fit.keys().isdisjoint(entry["hosts"]))
    ]
    put_off = [entry for entry in entries if entry not in chosen]
    back = sorted({host for move in moves if move.kind == RETURN for host in move.hosts if host in batch}, key=natural)
    busy = {host for entry in chosen for host in entry["hosts"]}
    stay = {host for entry in put_off if entry["action"] == "drain" for host in entry["hosts"]}
    drained = {host for entry in chosen if "drain" in entry["steps"] for host in entry["shown_by"]}
    held = _held(put_off, moves)
    held.update((entry["id"], not_fit[host]) for entry in put_off for host in entry["hosts"] if host in not_fit)
    did = bool(back) or any(not entry["vanishing"] for entry in chosen)
    return {
        "events": chosen,
        "ignored": list(plan["ignored"]),
        "drain": [host for host in batch if host in busy and host in drained],
        "drain_for": drained_for([*chosen, *put_off], drained),
        "later": [host for host in batch if host not in busy and host not in back],
        "stay": sorted(busy & stay & drained, key=natural),
        "back": back,
        "held": held,
        # What vanishes is not waited for, so that it would be the same once more.
        "again": bool(put_off) and did,
        "waits": not did
        and _may_still_come([one for one in put_off if not_fit.keys().isdisjoint(one["hosts"])], moves),
        "waits_for_service": bool(holds) and all(move.short_of_service for move in holds),
        "waits_for": sorted({name for move in holds for name in move.in_the_way}, key=natural),
    }


def _without_lease(move: Move, unleased: Mapping[str, str]) -> Move:
    if not move.needs_lease or move.group not in unleased:
        return move
    events = (move.approve,) if move.approve else move.events
    return Move(HOLD, move.group, move.hosts, events, why=unleased[move.group])


def _is_chosen(entry: PlanEntry, going: set[str]) -> bool:
    """What may go down is decided in one place. What has started is waited for, what vanishes is drained at once."""
    return entry["status"] == "Started" or entry["vanishing"] or entry["id"] in going


def drained_for(entries: Sequence[PlanEntry], drained: set[str]) -> dict[str, list[str]]:
    """A drain is for all events of a host that need one, so that it is not given back between them."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        if entry["action"] == "drain":
            for host in entry["shown_by"]:
                if host in drained:
                    found.setdefault(host, []).append(entry["id"])
    return found


def _held(put_off: Sequence[PlanEntry], moves: Sequence[Move]) -> dict[str, str]:
    why = {event: move.why for move in moves if move.kind == HOLD for event in move.events}
    return {entry["id"]: why.get(entry["id"], "its turn has not come") for entry in put_off}


def _may_still_come(put_off: Sequence[PlanEntry], moves: Sequence[Move]) -> bool:
    never = {event for move in moves if move.kind == HOLD and move.never for event in move.events}
    return any(entry["id"] not in never for entry in put_off)
