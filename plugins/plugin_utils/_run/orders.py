# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Orders to the hosts of a wave, and what became of them."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from .._azure import doubts
from .._plan.plan import PlanEntry
from . import run_state
from .run_state import Order, Outcome


def drain_states(drained: Iterable[str], variables: Mapping[str, Mapping[str, t.Any]]) -> dict[str, str]:
    """What became of the drain of each host, one of DRAIN_STATES, from what it registered; `drained` were to be."""
    due = set(drained)
    return {host: _drain_state(host in due, known) for host, known in variables.items()}


def _drain_state(was_due: bool, known: Mapping[str, t.Any]) -> str:
    status = known.get("maintenance_status") or {}
    # Whoever can't be read can't be drained, whatever its neighbours say about its events.
    if not isinstance(status.get("events"), list):
        return "lost"
    if not was_due:
        # One that holds nothing but marks says that an approval began, of what needs no drain.
        return "drained" if (status.get("journal") or {}).get("state", "marked") != "marked" else "not_needed"
    drain = known.get("drain_result") or {}
    if drain.get("state") == "drained" and not drain.get("failed") and not drain.get("unreachable"):
        return "drained"
    # A host that went away in the middle of its drain is most likely being rebooted: it is waited for, not given up.
    if drain.get("late") or drain.get("unreachable"):
        return "late"
    # The host did nothing: what the order was made from is no longer so. It is read again and gets its turn.
    return "put_off" if drain.get("refused") else "failed"


def wave_orders(
    events: Sequence[PlanEntry],
    batch: Sequence[str],
    drains: Mapping[str, str],
    on_failed_drain: str = "restore",
    later: Iterable[str] = (),
    stay: Iterable[str] = (),
    back: Iterable[str] = (),
    not_now: Iterable[str] = (),
    no_time: t.Container[str] = (),
) -> dict[str, Order]:
    """What each host of a wave does after the drain: approve what, wait for what, and be restored or left.

    `drains` has each host's drain state; a host that is not in it is unreachable. `later`: hosts of the batch whose
    turn has not come, and that are left as they are; `stay`: those that stay drained for their next event; `back`:
    those that return to service first; `not_now`: events that may not be approved now, whose hosts stay drained;
    `no_time`: events so near that whoever is returned to service would not be drained again in time.
    """
    orders: dict[str, Order] = {host: empty_order(drains.get(host, "lost")) for host in batch}
    # Who is read again first keeps the others of the event waiting, drained.
    put_off = set(not_now) | {
        event["id"] for event in events if any(drains.get(host) == "put_off" for host in event["hosts"])
    }
    for event in events:
        hosts = [host for host in event["hosts"] if host in orders]
        blocked = _blocked_by(event, hosts, drains)
        # What could not be drained in time stays as it is, its neighbours too, until the event is over.
        # So do, when it is near, those of a host that can't be read.
        states = {orders[host]["drain"] for host in hosts}
        beside_one_unreachable = event["action"] == "drain" and event["id"] in no_time and "lost" in states
        for host in hosts:
            too_late = "late" in states or (beside_one_unreachable and orders[host]["drain"] != "lost")
            _give(orders[host], event, blocked, too_late, event["id"] in put_off)
    waiting = {host for event in events if event["id"] in put_off for host in event["hosts"]}
    for host, order in orders.items():
        order["acts"] = bool(order["approve_drained"] or order["approve_as_is"] or order["wait"])
        order["later"] = host in waiting and order["drain"] == "not_needed" and not order["acts"]
        order["restore"] = _is_restored(order, on_failed_drain) and (
            host not in waiting or order["drain"] != "not_needed"
        )
    for host in later:
        if drains.get(host, "lost") != "lost":
            orders[host] = left_as_it_is()
    for host in stay:
        orders[host]["stays"] = orders[host]["drain"] == "drained"
    for host in back:
        orders[host] = returned("drained")
    for host, order in orders.items():
        if order["drain"] == "put_off":
            orders[host] = left_as_it_is()
        order["restore"] = order["restore"] and not order["stays"]
    return orders


def left_as_it_is() -> Order:
    """For a host whose turn has not come."""
    order = empty_order("not_needed")
    order["later"] = True
    return order


def returned(drain: str) -> Order:
    """For a host that is returned to service, and does nothing else."""
    order = empty_order(drain)
    order["restore"] = True
    return order


def empty_order(drain: str) -> Order:
    return {
        "drain": drain,
        "drains": False,
        "approve_drained": [],
        "approve_as_is": [],
        "together": [],
        "marks": [],
        "fence": None,
        "restore_fence": None,
        "wait": [],
        "refused": [],
        "blocked": {},
        "taken_away": False,
        "acts": False,
        "restore": False,
        "stays": False,
        "later": False,
    }


def _blocked_by(event: PlanEntry, hosts: Iterable[str], drains: Mapping[str, str]) -> list[str]:
    """The hosts that keep the event from being approved: those that it touches and that are not drained."""
    if event["action"] != "drain":
        return [host for host in hosts if drains.get(host, "lost") == "lost"]
    return [host for host in hosts if drains.get(host, "lost") not in ("drained", "put_off")]


def _give(order: Order, event: PlanEntry, blocked: list[str], too_late: bool, not_now: bool) -> None:
    if event["action"] == "ignore":
        return
    started = event["status"] != "Scheduled"
    if not_now and not started and not blocked and not event["vanishing"]:
        order["stays"] = order["stays"] or order["drain"] not in ("not_needed", "put_off")
        return
    if not started and blocked:
        order["blocked"][event["id"]] = blocked
    elif not started and not_now:
        # Azure takes the VM away when it is due, approved or not.
        pass
    elif not started and not event["approvable"]:
        refusal: run_state.Refusal = {"id": event["id"], "uncovered": event["uncovered"]}
        order["refused"].append({**refusal, **_contradiction(event)})
    elif not started:
        order["approve_drained" if event["action"] == "drain" else "approve_as_is"].append(event["id"])
    if event["vanishing"]:
        # A VM that is drained too late is taken away all the same, so its return to service would be in vain.
        order["taken_away"] = order["taken_away"] or too_late or event["id"] not in order["blocked"]
    elif event["id"] not in order["blocked"] or too_late:
        order["wait"].append(event["id"])


def _contradiction(event: PlanEntry) -> run_state.Refusal:
    """Where hosts that one event names were read again and do not all show it: who does and who does not."""
    if not event.get("not_believed_of"):
        return {}
    return {"why": doubts.who_shows_it(event["shown_by"], event["not_shown_by"])}


def _is_restored(order: Order, on_failed_drain: str) -> bool:
    if order["drain"] == "lost" or order["taken_away"]:
        return False
    if order["drain"] == "not_needed":
        # Nothing was drained; the journal with the mark of the approval is put away.
        return bool(order["approve_as_is"])
    if order["blocked"] and not order["wait"]:
        return on_failed_drain == "restore"
    return True


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
    if order["taken_away"]:
        return "vanished"
    if order["drain"] == "not_needed" and not restore.get("error"):
        return "failed" if approve.get("error") else "passed"
    if restore.get("state") in ("restored", "nothing"):
        # Back in service, and yet something went wrong on the way: the run must not go on as if nothing had been.
        return (
            "failed" if order["drain"] in ("failed", "late") or order["blocked"] or approve.get("error") else "restored"
        )
    if order["stays"] and approve["over"] and not approve.get("error"):
        return run_state.STAYS
    return "left_drained"


def _rebooted(drain: Mapping[str, t.Any], restore: Mapping[str, t.Any]) -> bool | None:
    before, after = drain.get("boot_id"), restore.get("boot_id")
    return before != after if before and after else None


# Of the time after which a host would refuse: 40 seconds.
SHARE_OF_A_YOUNG_READING = 1 / 2


def left_to_tasks(results: Mapping[str, Mapping[str, t.Any]]) -> list[str]:
    """Hosts with steps that need tasks of their own."""
    return [host for host, result in results.items() if result.get("work")]


def to_be_read_again(results: Mapping[str, Mapping[str, t.Any]], oldest: float, now: float) -> list[str]:
    """Hosts whose drain has brought no reading along, or one that is no longer young: others took their time."""
    limit = oldest * SHARE_OF_A_YOUNG_READING
    heard = {host: (result.get("reading") or {}).get("heard_at") for host, result in results.items()}
    return [host for host, at in heard.items() if at is None or not 0 <= now - at < limit]
