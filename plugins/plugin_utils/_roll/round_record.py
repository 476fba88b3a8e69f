# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the hosts of a round, and whose notes are of no use any more. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import HostVars
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.batch_model import gone_now
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.leases import calls_for
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.outcomes import wave_outcomes
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.rounds import Round
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_plan import returned_by_others
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import LeaseCall, Order, RunState
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.turns import next_slice
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import grouping_of, kept_of

# The states of an outcome in which a host is in service again, or Azure's to take away.
_IN_OTHER_HANDS = ("restored", "passed", "failed", "vanished")


def record(
    state: RunState, orders: Mapping[str, Order], found: Round | None, variables: HostVars, wave: int, now: float
) -> tuple[RunState, list[LeaseCall], bool]:
    """What became of the hosts of a round, whose notes are of no use any more, and whether others have written them."""
    unsent = _not_sent(orders, variables)
    others = _left_to_others(orders, variables)
    outcomes = wave_outcomes(orders, variables, wave, state["number_of_pass"], state["outcomes"])
    fresh = kept_of(variables, variables, now, state["kept"])
    kept = {**state["kept"], **fresh}
    for host, one in orders.items():
        if not one["later"] and outcomes[host]["state"] in _IN_OTHER_HANDS:
            # It was read before this run brought it back, or saw it off. What is read later counts again.
            kept[host] = {**kept[host], "journal": None}
    back = [host for host in orders if outcomes.get(host, {}).get("state") in ("restored", "passed", "vanished")]
    # What this run has told the keepers itself is not among what they have told it.
    noted = {note["host"] for note in state["notes"]} | {host for host in orders if orders[host]["drains"]}
    noted |= {host for one in orders.values() for mark in one["marks"] for host in mark["hosts"]}
    # What was to be drained when the plan was made, and then was not.
    early = {note["host"] for note in state["first_wave"]["notes"]} if state["first_wave"] else set()
    unused = [host for host in orders if host in early and not orders[host]["drains"] and host not in back]
    if found is not None and (unsent or others):
        found["held"].update(unsent)
        found["again"] = True
    # A round in which nobody got on is one of waiting, whatever it was meant to be.
    got_on = any(one["restore"] or (one["acts"] and not unsent.keys() & set(one["wait"])) for one in orders.values())
    waits = found is not None and not got_on
    if found is None:
        outcomes = returned_by_others(outcomes, kept, variables)
    after: RunState = {
        **state,
        "outcomes": outcomes,
        "kept": kept,
        "gone": gone_now(state, fresh),
        "held": {**state["held"], **(found["held"] if found else {})},
        "notes": [note for note in state["notes"] if note["host"] not in back],
        "first_wave": None,
        "records": [one for one in state["records"] if outcomes.get(one["host"], {}).get("state") != "restored"],
        "waits_since": (state["waits_since"] or now) if waits else None,
        "slice": next_slice(state["slice"], orders, variables),
    }
    taken_over = {host for host in back if _owner_of(variables[host]) not in ("", state["run_id"])}
    taken_over |= {note["host"] for note in state["notes"] if note["run"] != state["run_id"] and note["host"] in back}
    forget = [host for host in back if host in noted | early or host in taken_over] + unused
    calls = calls_for(state, list(variables), grouping_of(kept), forget=forget) if forget else []
    return after, calls, bool(taken_over)


def _owner_of(variables: Mapping[str, t.Any]) -> str:
    """Whose journal the host had when it was read last."""
    return str(((variables.get("maintenance_status") or {}).get("journal") or {}).get("run_id") or "")


def _not_sent(orders: Mapping[str, Order], variables: HostVars) -> dict[str, str]:
    """Event -> why its approval was not sent. Its hosts stay as they are, and get another turn."""
    found: dict[str, str] = {}
    for host, one in orders.items():
        result = variables[host].get("approve_result") or {} if one["acts"] else {}
        if result.get("unsent"):
            found.update(dict.fromkeys(result["unsent"], str(result.get("error") or "the approval could not be sent")))
            one["stays"] = one["drain"] == "drained"
            one["later"] = not one["stays"]
            one["restore"] = False
    return found


def _left_to_others(orders: Mapping[str, Order], variables: HostVars) -> list[str]:
    """Hosts that another run works on, or has taken over: it returns them to service, or they are read again."""
    found = [
        host
        for host, one in orders.items()
        if one["restore"] and (variables[host].get("restore_result") or {}).get("refused")
    ]
    for host in found:
        orders[host]["stays"] = True
        orders[host]["restore"] = False
    return found
