# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a batch's plan may be done now, by the rules of decide.py, and what is left for the next round. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import natural
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.decide import group_states, what_may_go_down_now
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    DRAIN,
    HOLD,
    RETURN,
    ROUND,
    Move,
    Roll,
)

Entry: t.TypeAlias = Mapping[str, t.Any]


def next_round(plan: Mapping[str, t.Any], batch: Sequence[str], roll: Roll) -> dict[str, t.Any]:
    """The plan with one wave at most: what may go down now. The rest comes in a later round, or says why it does not.

    `later` are hosts whose turn has not come, `stay` those that stay drained for their next event, `back` those that
    are brought back first, `held` tells why something is not begun, and `again` whether another round may have
    something.
    """
    moves = what_may_go_down_now(roll)
    entries: list[Entry] = [entry for wave in plan["waves"] for entry in wave["events"]]
    going = {move.approve for move in moves if move.kind == ROUND}
    going |= {event for move in moves if move.kind == DRAIN for event in move.events}
    chosen = [entry for entry in entries if _is_chosen(entry, going, roll)]
    put_off = [entry for entry in entries if entry not in chosen]
    back = sorted({host for move in moves if move.kind == RETURN for host in move.hosts if host in batch}, key=natural)
    busy = {host for entry in chosen for host in entry["hosts"]}
    stay = {host for entry in put_off if entry["action"] == "drain" for host in entry["hosts"]}
    ours = [host for host in batch if host in busy]
    drained = {host for entry in chosen if "drain" in entry["steps"] for host in entry["shown_by"]}
    wave = {
        "hosts": ours,
        "events": chosen,
        "drain": [host for host in ours if host in drained],
        "approve": [entry["id"] for entry in chosen if entry["approvable"]],
    }
    return {
        **plan,
        "waves": [wave] if chosen else [],
        "later": [host for host in batch if host not in busy and host not in back],
        "stay": sorted(busy & stay & drained, key=natural),
        "back": back,
        "held": _held(put_off, moves),
        # What vanishes is not waited for, so that it would be the same once more.
        "again": bool(put_off) and (bool(back) or any(not entry["vanishing"] for entry in chosen)),
    }


def _is_chosen(entry: Entry, going: set[str], roll: Roll) -> bool:
    if entry["status"] != "Scheduled" or entry["vanishing"] or entry["id"] in going:
        return True
    read = {host.name for host in roll.hosts if host.read}
    if entry["approvable"] and read.issuperset(entry["hosts"]):
        return False
    # What can't be approved, or names a host that can't be read, is drained as far as that can be done and waited for,
    # unless that would take a second domain down.
    return any(state.fits(entry["hosts"], state.down) for state in group_states(roll) if entry["id"] in state.by_id)


def _held(put_off: Sequence[Entry], moves: Sequence[Move]) -> dict[str, str]:
    why = {event: move.why for move in moves if move.kind == HOLD for event in move.events}
    return {entry["id"]: why.get(entry["id"], "its turn has not come") for entry in put_off}
