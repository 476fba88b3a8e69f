# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounds, batches and turns of a wave."""

from __future__ import annotations

import secrets
import typing as t
from collections.abc import Mapping, Sequence

from .._common import text
from .._plan import waves
from .._plan.plan import Plan, PlanEntry
from . import model, run_state
from .model import Move
from .rules import what_may_go_down_now
from .run_state import RunState


class Round(t.TypedDict):
    """One round of a batch: what may go down now. The rest comes in a later round, or says why it does not."""

    # The events that are taken care of now, and those of the batch that are left alone.
    events: list[PlanEntry]
    ignored: list[PlanEntry]
    # The hosts that are drained now, and for which events.
    drain: list[str]
    drain_for: dict[str, list[str]]
    # Hosts whose turn has not come, those that stay drained for their next event, those that return to service first.
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
    run: model.Run,
    unleased: Mapping[str, str] | None = None,
    unfit: Mapping[str, str] | None = None,
) -> Round:
    """`unleased`: group -> why this run does not have what it needs to begin something there; `unfit`: host -> why it
    can't be drained.
    """
    missing, not_fit = unleased or {}, unfit or {}
    moves = [_without_lease(move, missing) for move in what_may_go_down_now(run)]
    holds = [move for move in moves if move.kind == model.HOLD]
    entries: list[PlanEntry] = [entry for wave in plan["waves"] for entry in wave["events"]]
    going = {move.approve for move in moves if move.kind == model.ROUND}
    going |= {event for move in moves if move.kind == model.DRAIN for event in move.events}
    chosen = [
        entry
        for entry in entries
        if _is_chosen(entry, going) and ("drain" not in entry["steps"] or not_fit.keys().isdisjoint(entry["hosts"]))
    ]
    put_off = [entry for entry in entries if entry not in chosen]
    back = sorted(
        {host for move in moves if move.kind == model.RETURN for host in move.hosts if host in batch}, key=text.natural
    )
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
        "stay": sorted(busy & stay & drained, key=text.natural),
        "back": back,
        "held": held,
        # Nobody waits for a VM that is taken away, so another round would be the same.
        "again": bool(put_off) and did,
        "waits": not did
        and _may_still_come([one for one in put_off if not_fit.keys().isdisjoint(one["hosts"])], moves),
        "waits_for_service": bool(holds) and all(move.short_of_service for move in holds),
        "waits_for": sorted({name for move in holds for name in move.in_the_way}, key=text.natural),
    }


def _without_lease(move: Move, unleased: Mapping[str, str]) -> Move:
    if not move.needs_lease or move.group not in unleased:
        return move
    events = (move.approve,) if move.approve else move.events
    return Move(model.HOLD, move.group, move.hosts, events, why=unleased[move.group])


def _is_chosen(entry: PlanEntry, going: set[str]) -> bool:
    """Started events are waited for, what is taken away is drained at once; the rest is decided by the rules."""
    return entry["status"] == "Started" or entry["vanishing"] or entry["id"] in going


def drained_for(entries: Sequence[PlanEntry], drained: set[str]) -> dict[str, list[str]]:
    """A drain is for all events of a host that need one, so that it is not returned to service between them."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        if entry["action"] == "drain":
            for host in entry["shown_by"]:
                if host in drained:
                    found.setdefault(host, []).append(entry["id"])
    return found


def _held(put_off: Sequence[PlanEntry], moves: Sequence[Move]) -> dict[str, str]:
    why = {event: move.why for move in moves if move.kind == model.HOLD for event in move.events}
    return {entry["id"]: why.get(entry["id"], "its turn has not come") for entry in put_off}


def _may_still_come(put_off: Sequence[PlanEntry], moves: Sequence[Move]) -> bool:
    never = {event for move in moves if move.kind == model.HOLD and move.never for event in move.events}
    return any(entry["id"] not in never for entry in put_off)


# A run that waits looks again after so many seconds, at random, so that two of them do not meet for ever.
SHORTEST_PAUSE, LONGEST_PAUSE = 4, 9
# How often the playbook reads all hosts and goes through the batches.
PASSES = 3


def in_slices(state: RunState, hosts: Sequence[str]) -> list[str]:
    """As many of these hosts as are done while their reading is fresh; hosts that one event names stay together."""
    if not state["slice"]:
        return list(hosts)
    together = waves.Joined()
    for entry in state["events"].values():
        for host in entry["hosts"]:
            together.join(entry["hosts"][0], host)
    company: dict[str, list[str]] = {}
    for host in hosts:
        company.setdefault(together.root(host), []).append(host)
    chosen: set[str] = set()
    for members in company.values():
        if len(chosen) >= state["slice"]:
            break
        chosen.update(members)
    return [host for host in hosts if host in chosen]


def next_slice(before: int, orders: Mapping[str, run_state.Order], variables: Mapping[str, Mapping[str, t.Any]]) -> int:
    """Half as many, where hosts refused for the age of their reading alone."""
    refused = [
        host
        for host in orders
        if (variables[host].get("drain_result") or {}).get("refused") == "age"
        or (variables[host].get("approve_result") or {}).get("refused_by_host") == "age"
    ]
    return max(1, len(orders) // 2) if refused else before


def left_of_the_batch(state: RunState, found: Round, batch: Sequence[str]) -> list[str]:
    """The hosts of the next round: those that are not through, as many as go in one."""
    waiting = {host for entry in _entries(state) if entry["id"] in found["held"] for host in entry["hosts"]}
    through = {
        host
        for host, outcome in state["outcomes"].items()
        if outcome["number_of_pass"] == state["number_of_pass"]
        and outcome["state"] in ("restored", "passed", "vanished")
        and host not in waiting
    }
    return in_slices(state, [host for host in batch if host not in through])


def _entries(state: RunState) -> list[PlanEntry]:
    return [entry for wave in state["plan"]["waves"] for entry in wave["events"]]


def goes_on(
    state: RunState,
    found: Round,
    seen: Sequence[str],
    batch: Sequence[str],
    run_settings: model.RunSettings,
    now: float,
) -> tuple[bool, int]:
    """Whether the batch has another round, and how long to pause before it. `seen` were in this one."""
    bad = any(state["outcomes"].get(host, {}).get("state") in run_state.BAD_STATES for host in batch)
    if bad and not run_settings.continue_after_failure:
        return False, 0
    since = state["waits_since"]
    if since is None:
        # With slices there are hosts whose turn comes only now.
        return found["again"] or not set(seen).issuperset(left_of_the_batch(state, found, batch)), 0
    if not (found["again"] or found["waits"]) or _own_hosts_come_first(state, found, batch):
        return False, 0
    patience = run_settings.healthy_timeout if found["waits_for_service"] else run_settings.patience
    if now - since >= patience:
        return False, 0
    return True, SHORTEST_PAUSE + secrets.randbelow(LONGEST_PAUSE - SHORTEST_PAUSE + 1)


def _own_hosts_come_first(state: RunState, found: Round, batch: Sequence[str]) -> bool:
    """What is waited for is this run's own to do, in another batch: then this one comes up again in the next pass."""
    others = set(state["hosts"]) - set(batch)
    return state["number_of_pass"] < PASSES and bool(found["waits_for"]) and others.issuperset(found["waits_for"])
