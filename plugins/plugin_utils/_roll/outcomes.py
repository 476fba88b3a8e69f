# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the hosts of a wave, from what they registered. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import STAYS, Order, Outcome

_JOURNAL_GONE = (
    "Its journal is gone, as after the loss of its disk. What other machines remember was undone there; what was"
    " drained on the host itself is as its boot left it."
)


def wave_outcomes(
    orders: Mapping[str, Order],
    variables: Mapping[str, Mapping[str, t.Any]],
    wave: int,
    number_of_pass: int,
    previous: Mapping[str, Outcome] | None = None,
) -> dict[str, Outcome]:
    """`previous`, and what this wave did to its hosts, from what they registered."""
    outcomes = dict(previous or {})
    for host, order in orders.items():
        if order["later"]:
            continue
        known = variables.get(host) or {}
        approve = _approve_report(order, known)
        reports = (_drain_report(order, known), approve, _restore_report(order, known, approve))
        outcomes[host] = host_outcome(wave, order, *reports, outcomes.get(host))
        outcomes[host]["number_of_pass"] = number_of_pass
    return outcomes


def _drain_report(order: Order, known: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    status = known.get("maintenance_status") or {}
    if order["drain"] == "lost":
        return {"error": status.get("msg") or "No answer"}
    if not order["drains"]:
        return status.get("journal") or {}
    drain = known.get("drain_result") or {}
    return drain if order["drain"] == "drained" else {"error": drain.get("msg") or "The drain failed"}


def _approve_report(order: Order, known: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    if not order["acts"]:
        return {"over": True}
    approve = known.get("approve_result") or {}
    if order["stays"] and approve.get("unsent"):
        # It has another turn: what went wrong is told if it has none any more.
        refused = [one for one in approve.get("refused") or () if one["id"] not in approve["unsent"]]
        return {**approve, "over": True, "error": "", "refused": refused}
    return approve if "over" in approve else {"over": False, "error": approve.get("msg") or "No approval"}


def _restore_report(order: Order, known: Mapping[str, t.Any], approve: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    if not order["restore"] or not approve["over"]:
        return {}
    restore = known.get("restore_result") or {}
    if restore.get("state") == "nothing" and order["drains"]:
        return {**restore, "error": _JOURNAL_GONE}
    if restore.get("state") in ("restored", "nothing"):
        return restore
    return {"state": "failed", "error": restore.get("msg") or "The return to service failed"}


def host_outcome(
    wave: int,
    order: Order,
    drain: Mapping[str, t.Any],
    approve: Mapping[str, t.Any],
    restore: Mapping[str, t.Any],
    previous: Outcome | None = None,
) -> Outcome:
    """What one wave did to one host, in the form that is reported; the results are those of the three roles.

    `previous` is what an earlier pass of the same run did to it.
    """
    before: Outcome = previous or {}
    outcome: Outcome = {
        "wave": wave,
        "state": _state(order, approve, restore),
        "drained_at": drain.get("drained_at"),
        "restored_at": None if order["drain"] == "not_needed" else restore.get("restored_at"),
        "rebooted": _rebooted(drain, restore),
        "approved": [*before.get("approved", ()), *(approve.get("approved") or ())],
        "leaders": {**before.get("leaders", {}), **(approve.get("leaders") or {})},
        "refused": [*before.get("refused", ()), *order["refused"], *(approve.get("refused") or ())],
        "times": {**before.get("times", {}), **(approve.get("times") or {})},
        "outcomes": {**before.get("outcomes", {}), **(approve.get("outcomes") or {})},
        "blocked": {**before.get("blocked", {}), **order["blocked"]},
    }
    error = " ".join(filter(None, (part.get("error") for part in (drain, approve, restore))))
    if error:
        outcome["error"] = error
    return outcome


def _state(order: Order, approve: Mapping[str, t.Any], restore: Mapping[str, t.Any]) -> str:
    if order["drain"] == "lost":
        return "lost"
    if order["vanishes"]:
        return "vanished"
    if order["drain"] == "not_needed" and not restore.get("error"):
        return "failed" if approve.get("error") else "passed"
    if restore.get("state") in ("restored", "nothing"):
        # Back in service, and yet something went wrong on the way: the roll must not go on as if nothing had been.
        return (
            "failed" if order["drain"] in ("failed", "late") or order["blocked"] or approve.get("error") else "restored"
        )
    if order["stays"] and approve["over"] and not approve.get("error"):
        return STAYS
    return "left_drained"


def _rebooted(drain: Mapping[str, t.Any], restore: Mapping[str, t.Any]) -> bool | None:
    before, after = drain.get("boot_id"), restore.get("boot_id")
    return before != after if before and after else None
