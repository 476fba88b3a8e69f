# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a run in words and as an artifact."""

from __future__ import annotations

import collections
import typing as t
from collections.abc import Iterable, Mapping

from .._azure import events as azure
from .._common import text
from .._plan import plan
from .._plan.plan import Plan
from . import run_state
from .run_state import Outcome

# Some 160 bytes a host and 450 an event: AWX keeps this in its database and hands it to every later job of a workflow.
MOST_HOSTS = 2000
MOST_EVENTS = 1000
MOST_ERROR = 500
_WENT_WELL = ("restored", "passed", "vanished")


def run_artifact(summary: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The summary without its words, with `counts` by state, and with `left_out`: how much of each list is not in it.

    What went wrong comes first, so that it is what went well that is left out.
    """
    hosts: dict[str, dict[str, t.Any]] = {
        host: {**outcome, "error": str(outcome["error"])[:MOST_ERROR]} if "error" in outcome else outcome
        for host, outcome in summary["hosts"].items()
    }
    worst_first = sorted(hosts, key=lambda host: hosts[host]["state"] in _WENT_WELL)
    events: dict[str, dict[str, t.Any]] = summary["events"]
    unsettled_first = sorted(events, key=lambda event_id: events[event_id].get("outcome") == "over")
    left = {name: value[:MOST_HOSTS] if isinstance(value, list) else value for name, value in summary["left"].items()}
    return {
        **{key: value for key, value in summary.items() if key != "lines"},
        "counts": dict(collections.Counter(outcome["state"] for outcome in hosts.values())),
        "hosts": {host: hosts[host] for host in worst_first[:MOST_HOSTS]},
        "events": {event_id: events[event_id] for event_id in unsettled_first[:MOST_EVENTS]},
        "left": left,
        "left_out": {
            "hosts": max(0, len(hosts) - MOST_HOSTS),
            "events": max(0, len(events) - MOST_EVENTS),
            **{name: len(value) - len(left[name]) for name, value in summary["left"].items()},
        },
    }


_STATES = {
    "restored": "Drained and returned to service",
    "passed": "Went through it without a drain",
    "vanished": "Handed over to Azure, which takes them away",
    "failed": "In service, but something went wrong",
    "left_drained": "Still drained",
    "lost": "Unreachable",
}


def run_summary(run: Mapping[str, t.Any], outcomes: Mapping[str, Outcome], last_plan: Plan) -> dict[str, t.Any]:
    """`maintenance_run`: what was done about each event, what happened to each host, and what is left.

    `last_plan` is made from the last reading, so its waves are what nobody has taken care of.
    """
    # Who knows what an earlier run left behind there.
    problems = last_plan.get("journal_problems", ())
    recorded = _recorded_of_unread(run.get("records", ()), last_plan)
    left: dict[str, list[t.Any]] = {
        "drained": sorted(
            {host for host, outcome in outcomes.items() if outcome["state"] in ("left_drained", run_state.STAYS)}
            | set(last_plan.get("left_drained", ()))
            | set(last_plan.get("already_drained", ()))
            | _never_returned(outcomes, last_plan)
            | {record["host"] for record in recorded}
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
        "waves_run": len(
            {(outcome["number_of_pass"], outcome["wave"]) for outcome in outcomes.values() if outcome["wave"]}
        ),
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
    unasked = list(run.get("unasked", {}).values())
    summary["ok"] = not (undone or nothing_read or unasked or run.get("stopped"))
    return {
        **summary,
        "lines": summary_lines(
            {**summary, "held": held, "unasked": unasked, "recorded": recorded}, last_plan.get("unread", ()), problems
        ),
        "artifact": run_artifact(summary),
    }


def _never_returned(outcomes: Mapping[str, Outcome], last_plan: Plan) -> set[str]:
    """Their event is over, but another run was at work on them."""
    back = ("restored", "passed", "failed")
    return {host for host in last_plan.get("restore_first", ()) if outcomes.get(host, {}).get("state") not in back}


def _recorded_of_unread(records: Iterable[run_state.RecordData], last_plan: Plan) -> list[run_state.RecordData]:
    """Return the records of hosts that can't be read: no event may show that something is drained for them."""
    return [
        record
        for record in records
        if record["host"] in last_plan["unknown"]
        and not any(azure.event_type(kind).takes_away for kind in record["types"])
    ]


def _went_wrong(outcome: Outcome) -> bool:
    return outcome["state"] in ("failed", "lost") or (outcome["state"] == "vanished" and bool(outcome.get("error")))


def _reported(outcome: Outcome) -> dict[str, t.Any]:
    state = "left_drained" if outcome["state"] == run_state.STAYS else outcome["state"]
    told = {
        "pass": outcome["number_of_pass"],
        "wave": outcome["wave"],
        "drained_at": outcome.get("drained_at"),
        "restored_at": outcome.get("restored_at"),
        "rebooted": outcome.get("rebooted"),
        "error": outcome.get("error"),
    }
    return {"state": state, **{key: value for key, value in told.items() if value is not None}}


def _refusals(outcomes: Mapping[str, Outcome]) -> list[dict[str, t.Any]]:
    found: dict[str, dict[str, t.Any]] = {}
    for outcome in outcomes.values():
        for refusal in outcome["refused"]:
            known = found.setdefault(refusal["id"].casefold(), {"id": refusal["id"]})
            known.update((key, refusal[key]) for key in ("uncovered", "why") if key in refusal)
            if "reason" in refusal and not refusal["uncovered"]:
                known["why"] = refusal["reason"]
    return list(found.values())


def _events(known: Mapping[str, plan.PlanEntry], outcomes: Mapping[str, Outcome]) -> dict[str, dict[str, t.Any]]:
    keys = ("type", "source", "not_before", "hosts", "action", "why")
    moments = dict.fromkeys(("approved_at", "started_at", "over_at"))
    found: dict[str, dict[str, t.Any]] = {
        event_id: {**{key: event.get(key) for key in keys}, "approved_by": None, **moments, "outcome": "left alone"}
        for event_id, event in known.items()
    }
    for outcome in outcomes.values():
        for event_id, sender in outcome["leaders"].items():
            found.setdefault(event_id, {})["approved_by"] = sender
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
    unread: Iterable[plan.SameReason] = (),
    journal_problems: Iterable[plan.SameReason] = (),
) -> list[str]:
    """The end of a run in words: what was done, and what somebody has to look at."""
    hosts, left = summary["hosts"], summary["left"]
    counts = f"{summary['waves_run']} waves, {len(hosts)} hosts, {len(summary['events'])} events"
    lines = [f"{counts}, {summary['started_at']} to {summary['ended_at']}."]
    for state, words in _STATES.items():
        names = [host for host, outcome in hosts.items() if outcome["state"] == state]
        if names:
            # What went well is counted; what somebody has to look at is named.
            listed = _listed(names) if state in run_state.BAD_STATES else text.some_of(names, 8)
            lines.append(f"{words}: {listed}.")
    lines += [f"{host}: {outcome['error']}" for host, outcome in hosts.items() if outcome.get("error")]
    if summary["stopped"]:
        lines.append(f"The run was stopped. {summary['stopped']}")
    lines += [f"Not run: the wave of {_listed(wave)}." for wave in left["not_run"]]
    lines += [f"Not begun: event {event}, as {why}." for event, why in summary.get("held", {}).items()]
    lines += [f"Not approved: event {refusal['id']}{_why_refused(refusal)}." for refusal in left["refused"]]
    lines += [f"Not trusted: {why}" for why in left["not_believed"]]
    lines += [f"Not drained: {why}" for why in summary.get("unasked", ())]
    if left["drained"]:
        lines.append(
            f"LEFT DRAINED: {_listed(left['drained'])}."
            " Run the playbook again to return to service what has no event any more."
        )
    lines += [
        f"{record['machine']} has a record that something is drained there for {record['host']}, which can't be read."
        " Run the playbook again when it can be reached. If it never will be, put this right by hand, then remove the"
        f" record there: {record['removal']}"
        for record in summary.get("recorded", ())
    ]
    lines += [
        f"Not known whether an earlier run left it drained: {_listed(group['hosts'])}. {group['why']}"
        for group in journal_problems
    ]
    lines += [f"Unread, so nothing is known about {_listed(group['hosts'])}. {group['why']}" for group in unread]
    well = "All is well with the others." if left["unknown"] else "All is well."
    lines.append(well if summary["ok"] else "Something is left to do, see above.")
    return lines


def _why_refused(refusal: Mapping[str, t.Any]) -> str:
    touches = f", which also touches {_listed(refusal['uncovered'])}" if refusal["uncovered"] else ""
    return f"{touches}: {refusal['why']}" if refusal.get("why") else touches


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
