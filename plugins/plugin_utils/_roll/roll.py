# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decisions of a roll, between one wave and the next and inside a wave. Pure: no I/O, no Ansible imports."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.doubts import who_shows_it
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.artifact import run_artifact

Order = dict[str, t.Any]
Outcome = dict[str, t.Any]

# What became of a host's drain. Only a journal that says so makes a host drained.
DRAIN_STATES = ("drained", "not_needed", "late", "failed", "lost")
# Drained for another event, whose turn comes in a later round of the same wave.
STAYS = "stays drained"
# A host in one of these states stops the roll.
BAD_STATES = ("left_drained", "failed", "lost")


def check_batch(
    batch: Sequence[str], plan: Mapping[str, t.Any], outcomes: Mapping[str, Outcome], go_on: bool = False
) -> dict[str, t.Any]:
    """Whether this batch may begin: {wave, stop}. `stop` is a sentence, or empty.

    Nothing in Ansible stops a roll by itself, so every batch begins with this.
    """
    wave = next((wave for wave in plan["waves"] if set(wave["hosts"]) == set(batch)), None)
    if wave is None:
        return {
            "wave": None,
            "stop": (
                f"The batch {_listed(batch)} is no wave of the plan: a host was lost, or the batches were changed from"
                " outside. Nothing more is touched."
            ),
        }
    if len(wave["domains"]) > 1 and not wave["warnings"]:
        return {"wave": wave, "stop": f"The batch {_listed(batch)} holds several domains: {_listed(wave['domains'])}."}
    bad = [host for host, outcome in outcomes.items() if outcome.get("state") in BAD_STATES]
    if bad and not go_on:
        causes = "; ".join(f"{host}: {outcomes[host].get('error') or outcomes[host]['state']}" for host in bad)
        return {"wave": wave, "stop": f"Not begun, as an earlier wave went wrong ({causes})."}
    return {"wave": wave, "stop": ""}


def roll_with_plan(
    plan: Mapping[str, t.Any],
    roll: Mapping[str, t.Any],
    hosts: Sequence[str],
    number_of_pass: int,
    plan_only: bool = False,
) -> dict[str, t.Any]:
    """What the plays of a run share, with a new plan in it. Events keep what was first planned for them."""
    planned = [event for wave in plan["waves"] for event in wave["events"]] + plan["ignored"]
    return {
        **roll,
        "hosts": list(hosts),
        "plan": {key: value for key, value in plan.items() if key != "kept"},
        "kept": plan.get("kept", ""),
        "pass": number_of_pass,
        # With nothing but a plan asked for, the plan is the output.
        "waves": [] if plan_only or roll["stopped"] else [wave["hosts"] for wave in plan["waves"]],
        # Whatever stopped the roll: a host whose event is gone belongs back in service.
        "leftovers": [] if plan_only else plan["restore_first"],
        # Another look is worth it only after something was done.
        "to_read": not plan_only and not roll["stopped"] and bool(plan["waves"]),
        "events": {**{event["id"]: event for event in planned}, **roll["events"]},
        # Kept, as the event may be over when the run is: then nobody took care of it.
        "not_believed": list(dict.fromkeys([*roll.get("not_believed", ()), *_wrong_doubts(plan)])),
    }


def _wrong_doubts(plan: Mapping[str, t.Any]) -> list[str]:
    return [doubt["why"] for doubt in plan.get("not_believed", ()) if doubt["wrong"]]


def drain_states(
    wave: Mapping[str, t.Any], batch: Sequence[str], variables: Mapping[str, Mapping[str, t.Any]]
) -> dict[str, str]:
    """What became of the drain of each host, one of DRAIN_STATES, from what it registered."""
    due = to_be_drained(wave)
    return {host: _drain_state(host in due, variables.get(host) or {}) for host in batch}


def to_be_drained(wave: Mapping[str, t.Any]) -> set[str]:
    return {host for part in wave["waves"] for host in part["drain"]}


def _drain_state(was_due: bool, known: Mapping[str, t.Any]) -> str:
    status = known.get("maintenance_status") or {}
    # Whoever can't be read can't be drained, whatever its neighbours say about its events.
    if not isinstance(status.get("events"), list):
        return "lost"
    if not was_due:
        return "drained" if status.get("journal") else "not_needed"
    drain = known.get("drain_result") or {}
    if drain.get("state") == "drained" and not drain.get("failed") and not drain.get("unreachable"):
        return "drained"
    # A host that went away in the middle of its drain is most likely being rebooted: it is waited for, not given up.
    return "late" if drain.get("late") or drain.get("unreachable") else "failed"


def wave_orders(
    events: Sequence[Mapping[str, t.Any]],
    batch: Sequence[str],
    drains: Mapping[str, str],
    on_failed_drain: str = "restore",
    later: Iterable[str] = (),
    stay: Iterable[str] = (),
    back: Iterable[str] = (),
) -> dict[str, Order]:
    """What each host of a wave does after the drain: approve what, wait for what, and be restored or left.

    `drains` tells each host's drain state; a host that is not in it is lost. `later`: hosts of the batch whose turn has
    not come, and that are left as they are; `stay`: those that stay drained for their next event; `back`: those that
    are brought back to service first.
    """
    orders: dict[str, Order] = {host: _empty_order(drains.get(host, "lost")) for host in batch}
    for event in events:
        hosts = [host for host in event["hosts"] if host in orders]
        blocked = _blocked_by(event, hosts, drains)
        # What could not be drained in time stays as it is, its neighbours too, until the event has come and gone.
        too_late = any(drains.get(host) == "late" for host in hosts)
        for host in hosts:
            _give(orders[host], event, blocked, too_late)
    for order in orders.values():
        order["acts"] = bool(order["approve_drained"] or order["approve_as_is"] or order["wait"])
        order["restore"] = _is_restored(order, on_failed_drain)
    for host in later:
        if drains.get(host, "lost") != "lost":
            orders[host] = {**_empty_order("not_needed"), "later": True}
    for host in stay:
        orders[host].update(stays=orders[host]["drain"] == "drained")
        orders[host]["restore"] = orders[host]["restore"] and not orders[host]["stays"]
    for host in back:
        orders[host] = {**_empty_order("drained"), "restore": True}
    return orders


def _empty_order(drain: str) -> Order:
    return {
        "drain": drain,
        "approve_drained": [],
        "approve_as_is": [],
        "wait": [],
        "refused": [],
        "blocked": {},
        "vanishes": False,
        "acts": False,
        "restore": False,
        "stays": False,
        "later": False,
    }


def _blocked_by(event: Mapping[str, t.Any], hosts: Iterable[str], drains: Mapping[str, str]) -> list[str]:
    """The hosts that keep the event from being approved: those that it touches and that are not drained."""
    if event["action"] != "drain":
        return [host for host in hosts if drains.get(host, "lost") == "lost"]
    return [host for host in hosts if drains.get(host, "lost") != "drained"]


def _give(order: Order, event: Mapping[str, t.Any], blocked: list[str], too_late: bool) -> None:
    if event["action"] == "ignore":
        return
    started = event["status"] != "Scheduled"
    if not started and blocked:
        order["blocked"][event["id"]] = blocked
    elif not started and not event["approvable"]:
        order["refused"].append({"id": event["id"], "uncovered": event["uncovered"], **_contradiction(event)})
    elif not started:
        order["approve_drained" if event["action"] == "drain" else "approve_as_is"].append(event["id"])
    if event["vanishing"]:
        # Who is late for it is gone soon all the same: back in service it would only lose what it was given.
        order["vanishes"] = order["vanishes"] or too_late or event["id"] not in order["blocked"]
    elif event["id"] not in order["blocked"] or too_late:
        order["wait"].append(event["id"])


def _contradiction(event: Mapping[str, t.Any]) -> dict[str, str]:
    """Where hosts that one event names were read again and do not all show it: who does and who does not."""
    if not event.get("not_believed_of"):
        return {}
    return {"why": who_shows_it(event["shown_by"], event["not_shown_by"])}


def _is_restored(order: Order, on_failed_drain: str) -> bool:
    if order["drain"] in ("lost", "not_needed") or order["vanishes"]:
        return False
    if order["blocked"] and not order["wait"]:
        return on_failed_drain == "restore"
    return True


def restore_orders(batch: Sequence[str]) -> dict[str, Order]:
    """For hosts that an earlier run left drained and that nothing is planned for any more."""
    return {host: {**_empty_order("drained"), "restore": True} for host in batch}


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
        if order.get("later"):
            continue
        known = variables.get(host) or {}
        approve = _approve_report(order, known)
        reports = (_drain_report(order, known), approve, _restore_report(order, known, approve))
        outcomes[host] = {**host_outcome(wave, order, *reports, outcomes.get(host)), "pass": number_of_pass}
    return outcomes


def _drain_report(order: Order, known: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    status = known.get("maintenance_status") or {}
    if order["drain"] == "lost":
        return {"error": status.get("msg") or "No answer"}
    if not order.get("drains"):
        return status.get("journal") or {}
    drain = known.get("drain_result") or {}
    return drain if order["drain"] == "drained" else {"error": drain.get("msg") or "The drain failed"}


def _approve_report(order: Order, known: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    if not order["acts"]:
        return {"over": True}
    approve = known.get("approve_result") or {}
    return approve if "over" in approve else {"over": False, "error": approve.get("msg") or "No approval"}


def _restore_report(order: Order, known: Mapping[str, t.Any], approve: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    if not order["restore"] or not approve["over"]:
        return {}
    restore = known.get("restore_result") or {}
    if restore.get("state") == "nothing" and order.get("drains"):
        return {**restore, "error": _JOURNAL_GONE}
    if restore.get("state") in ("restored", "nothing"):
        return restore
    return {"state": "failed", "error": restore.get("msg") or "The restore failed"}


def host_outcome(
    wave: int,
    order: Mapping[str, t.Any],
    drain: Mapping[str, t.Any],
    approve: Mapping[str, t.Any],
    restore: Mapping[str, t.Any],
    previous: Mapping[str, t.Any] | None = None,
) -> Outcome:
    """What one wave did to one host, in the form that is reported; the results are those of the three roles.

    `previous` is what an earlier pass of the same run did to it.
    """
    before = previous or {}
    outcome: Outcome = {
        "wave": wave,
        "state": _state(order, approve, restore),
        "drained_at": drain.get("drained_at"),
        "restored_at": restore.get("restored_at"),
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


def _state(order: Mapping[str, t.Any], approve: Mapping[str, t.Any], restore: Mapping[str, t.Any]) -> str:
    if order["drain"] == "lost":
        return "lost"
    if order["vanishes"]:
        return "vanished"
    if restore.get("state") in ("restored", "nothing"):
        # Back in service, and yet something went wrong on the way: the roll must not go on as if nothing had been.
        return (
            "failed" if order["drain"] in ("failed", "late") or order["blocked"] or approve.get("error") else "restored"
        )
    if order["drain"] == "not_needed":
        return "failed" if approve.get("error") else "passed"
    if order.get("stays") and approve["over"] and not approve.get("error"):
        return STAYS
    return "left_drained"


def _rebooted(drain: Mapping[str, t.Any], restore: Mapping[str, t.Any]) -> bool | None:
    before, after = drain.get("boot_id"), restore.get("boot_id")
    return before != after if before and after else None


def run_summary(
    run: Mapping[str, t.Any], outcomes: Mapping[str, Outcome], last_plan: Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """`maintenance_run`: what was done about each event, what happened to each host, and what is left.

    `last_plan` is made from the last reading, so its waves are what nobody has taken care of.
    """
    # Who knows what an earlier run left behind there.
    problems = last_plan.get("journal_problems", ())
    left: dict[str, list[t.Any]] = {
        "drained": sorted(
            {host for host, outcome in outcomes.items() if outcome["state"] in ("left_drained", STAYS)}
            | set(last_plan.get("left_drained", ()))
            | set(last_plan.get("already_drained", ()))
        ),
        "failed": sorted(
            {host for host, outcome in outcomes.items() if _went_wrong(outcome)}
            | {host for group in problems for host in group["hosts"]}
        ),
        "refused": _refusals(outcomes),
        "not_run": [wave["hosts"] for wave in last_plan["waves"]],
        "unknown": list(last_plan["unknown"]),
        "not_believed": list(run.get("not_believed", ())),
    }
    summary: dict[str, t.Any] = {
        "run_id": run["run_id"],
        "started_at": run["started_at"],
        "ended_at": run["ended_at"],
        "waves_run": len({(outcome["pass"], outcome["wave"]) for outcome in outcomes.values() if outcome["wave"]}),
        "events": _events(run.get("events", {}), outcomes),
        "hosts": {host: _reported(outcome) for host, outcome in outcomes.items()},
        "left": left,
        "stopped": run.get("stopped", ""),
    }
    undone_events = {event["id"] for wave in last_plan["waves"] for event in wave.get("events", ())}
    held = {event: why for event, why in run.get("held", {}).items() if event in undone_events}
    # Without a single reading, nobody knows whether there is anything to do.
    nothing_read = bool(left["unknown"]) and len(left["unknown"]) == len(run["hosts"])
    undone = any(left[key] for key in ("drained", "failed", "refused", "not_run", "not_believed"))
    summary["ok"] = not (undone or nothing_read or run.get("stopped"))
    return {
        **summary,
        "lines": summary_lines({**summary, "held": held}, last_plan.get("unread", ()), problems),
        "artifact": run_artifact(summary),
    }


def _went_wrong(outcome: Outcome) -> bool:
    return outcome["state"] in ("failed", "lost") or (outcome["state"] == "vanished" and bool(outcome.get("error")))


def _reported(outcome: Outcome) -> dict[str, t.Any]:
    keys = ("pass", "wave", "drained_at", "restored_at", "rebooted", "error")
    state = "left_drained" if outcome["state"] == STAYS else outcome["state"]
    return {"state": state, **{key: outcome[key] for key in keys if outcome.get(key) is not None}}


def _refusals(outcomes: Mapping[str, Outcome]) -> list[dict[str, t.Any]]:
    found: dict[str, dict[str, t.Any]] = {}
    for outcome in outcomes.values():
        for refusal in outcome["refused"]:
            known = found.setdefault(refusal["id"].casefold(), {"id": refusal["id"]})
            known.update((key, refusal[key]) for key in ("uncovered", "why") if key in refusal)
    return list(found.values())


def _events(known: Mapping[str, Mapping[str, t.Any]], outcomes: Mapping[str, Outcome]) -> dict[str, dict[str, t.Any]]:
    keys = ("type", "source", "not_before", "hosts", "action", "why")
    moments = dict.fromkeys(("approved_at", "started_at", "over_at"))
    found: dict[str, dict[str, t.Any]] = {
        event_id: {**{key: event.get(key) for key in keys}, "approved_by": None, **moments, "outcome": "left alone"}
        for event_id, event in known.items()
    }
    for outcome in outcomes.values():
        for event_id, leader in outcome["leaders"].items():
            found.setdefault(event_id, {})["approved_by"] = leader
        for event_id, times in outcome.get("times", {}).items():
            entry = found.setdefault(event_id, {})
            # Every host of an event sees it for itself; what counts is who saw it first.
            entry.update((name, min(at, entry.get(name) or at)) for name, at in times.items())
        for event_id, seen in outcome["outcomes"].items():
            found.setdefault(event_id, {})["outcome"] = "over" if seen == "gone" else seen
        for refusal in outcome["refused"]:
            entry = found.setdefault(refusal["id"], {})
            entry["outcome"] = f"refused, {entry.get('outcome', '')}".rstrip(", ")
        for event_id, hosts in outcome["blocked"].items():
            found.setdefault(event_id, {})["outcome"] = f"not approved, {_listed(hosts)} not drained"
    return found


def summary_lines(
    summary: Mapping[str, t.Any],
    unread: Iterable[Mapping[str, t.Any]] = (),
    journal_problems: Iterable[Mapping[str, t.Any]] = (),
) -> list[str]:
    """The end of a run in words: what was done, and what somebody has to look at."""
    hosts, left = summary["hosts"], summary["left"]
    counts = f"{summary['waves_run']} waves, {len(hosts)} hosts, {len(summary['events'])} events"
    lines = [f"{counts}, {summary['started_at']} to {summary['ended_at']}."]
    for state, words in _STATES.items():
        names = [host for host, outcome in hosts.items() if outcome["state"] == state]
        if names:
            # What went well is counted; what somebody has to look at is named.
            listed = _listed(names) if state in BAD_STATES else some_of(names, 8)
            lines.append(f"{words}: {listed}.")
    lines += [f"{host}: {outcome['error']}" for host, outcome in hosts.items() if outcome.get("error")]
    if summary["stopped"]:
        lines.append(f"The roll was stopped. {summary['stopped']}")
    lines += [f"Not run: the wave of {_listed(wave)}." for wave in left["not_run"]]
    lines += [f"Not begun: event {event}, as {why}." for event, why in summary.get("held", {}).items()]
    lines += [f"Not approved: event {refusal['id']}{_why_refused(refusal)}." for refusal in left["refused"]]
    lines += [f"Not believed: {why}" for why in left["not_believed"]]
    if left["drained"]:
        lines.append(
            f"LEFT DRAINED: {_listed(left['drained'])}. Run the playbook again to restore what has no event any more."
        )
    lines += [
        f"Not known whether an earlier run left it drained: {_listed(group['hosts'])}. {group['why']}"
        for group in journal_problems
    ]
    lines += [f"Not read, so nothing is known about {_listed(group['hosts'])}. {group['why']}" for group in unread]
    well = "All is well with the others." if left["unknown"] else "All is well."
    lines.append(well if summary["ok"] else "Something is left to do, see above.")
    return lines


def _why_refused(refusal: Mapping[str, t.Any]) -> str:
    touches = f", which also touches {_listed(refusal['uncovered'])}"
    return f"{touches}: {refusal['why']}" if refusal.get("why") else touches


_JOURNAL_GONE = (
    "Its journal is gone, as after the loss of its disk. What other machines remember was undone there; what was"
    " drained on the host itself is as its boot left it."
)
_STATES = {
    "restored": "Drained and restored",
    "passed": "Went through it as they were",
    "vanished": "Handed over to Azure, which takes them away",
    "failed": "In service, but something went wrong",
    "left_drained": "Still drained",
    "lost": "Lost contact",
}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
