# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run: its begin, its plan, its batches and its leftovers."""

from __future__ import annotations

import json
import shlex
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from .._azure.vms import HostVars, KnownVms, of_one_short_name, this_hosts_of, with_told_scopes
from .._common.text import iso_time, some_of, wrapped
from .._lease import lease
from .._plan.plan import Plan, PlanWave
from .._plan.text import render_plan, render_start
from .._steps import kinds
from . import leases, rounds, run_state, view
from .groups import failures, warning_about
from .model import RunSettings
from .orders import SHARE_OF_A_YOUNG_READING, left_as_it_is, returned
from .run_state import Kept, RecordData, RunState
from .summary import MOST_HOSTS

# A node's label says that it has the annotation, which nobody can search for.
ANNOTATION = "maintenance.azure/drained"
RecordHolder: t.TypeAlias = kinds.RecordsPlace | kinds.Cluster
# Folder of a machine, or cluster -> what it answered.
RecordAnswers: t.TypeAlias = Mapping[RecordHolder, Mapping[str, t.Any]]


def answer_of_cluster(result: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What kubernetes.core.k8s_info said, in the words of a machine with records."""
    nodes = result.get("resources")
    if result.get("failed") or result.get("unreachable") or not isinstance(nodes, list):
        return {"msg": result.get("msg") or "no answer"}
    records, unreadable = [], []
    for node in nodes:
        about = node.get("metadata") or {}
        name = str(about.get("name"))
        try:
            records.append(_annotated(name, (about.get("annotations") or {})[ANNOTATION]))
        except (KeyError, TypeError, ValueError):
            unreadable.append(f"annotation {ANNOTATION} of the node {name}")
    return {"records": records, "unreadable": unreadable}


def _annotated(node: str, text: str) -> dict[str, t.Any]:
    kept = json.loads(text)
    named = f"node {shlex.quote(node)} {ANNOTATION}-"
    return {
        "machine": f"The node {node}",
        "host": str(kept["host"]),
        "events": [str(event) for event in kept.get("events") or ()],
        "types": [str(kind) for kind in kept.get("types") or ()],
        "run_id": str(kept["run_id"]),
        "removal": f"kubectl annotate {named} && kubectl label {named}",
    }


def recorded_hosts(answer: Mapping[str, t.Any]) -> set[str]:
    return {str(kept["host"]) for kept in answer.get("records", ())}


def with_records(state: RunState, needs: Mapping[str, Sequence[RecordHolder]], answers: RecordAnswers) -> RunState:
    """What the other machines remember. Hosts whose steps need one that can't be asked are not drained.

    `needs`: host -> where its steps leave records. A machine says nothing about other hosts of the inventory.
    """
    records: list[RecordData] = []
    foreign: list[RecordData] = []
    for place, answer in answers.items():
        for kept in answer.get("records", ()):
            record: RecordData = {
                "machine": kept.get("machine", place.machine),
                "host": kept["host"],
                "events": list(kept["events"]),
                "types": list(kept["types"]),
                "run": kept["run_id"],
                "removal": kept.get("removal") or f"rm {kept['path']}",
            }
            (records if place in needs.get(kept["host"], ()) else foreign).append(record)
    unasked: dict[str, str] = {}
    for host, places in needs.items():
        for place in places:
            answer = answers.get(place) or {}
            if "records" not in answer:
                why = str(answer.get("msg") or "no answer").rstrip(".")
                unasked[host] = f"{place.in_words}, which a step of {host} needs, can't be asked for its records: {why}"
            elif answer["unreadable"]:
                names = ", ".join(answer["unreadable"])
                unasked[host] = (
                    f"{place.in_words}, which a step of {host} needs, has records that can't be read: {names}"
                )
    return {**state, "records": records, "foreign_records": foreign, "unasked": unasked}


def foreign_records(state: RunState) -> list[str]:
    """Records of hosts that the inventory no longer has, or whose steps do not act there: what to do about them."""
    lines = []
    for kept in state["foreign_records"]:
        known = kept["host"] in state["lease_of"]
        why = "whose drain_steps do not act there" if known else "which the inventory no longer has"
        lines.append(
            f"{kept['machine']} remembers that something is drained there for {kept['host']}, {why}."
            f" Put it right by hand, then remove the record there: {kept['removal']}"
        )
    return lines


def remembered_only(state: RunState) -> list[str]:
    """Hosts that have no event and no journal, such as after the loss of their disk, and that others remember."""
    quiet = set(state["plan"]["nothing_to_do"]) - set(state["plan"]["restore_first"])
    return [kept["host"] for kept in state["records"] if kept["host"] in quiet and _shows_none(state, kept)]


def _shows_none(state: RunState, kept: RecordData) -> bool:
    known = state["kept"].get(kept["host"])
    shown = {event.casefold() for event in (known["shows"] if known else None) or ()}
    return shown.isdisjoint(event.casefold() for event in kept["events"])


def begin(
    run_id: str,
    now: float,
    hosts: Sequence[str],
    groups: Mapping[str, str],
    lock_hosts: t.Any,
    windows: t.Collection[str] = (),
    services: Mapping[str, str] | None = None,
    vms: KnownVms | None = None,
) -> RunState:
    """`groups`: each host of the inventory, whatever the pattern of the run, and its `maintenance_delivery_group`.

    `windows`: those of them that are Windows hosts. `services`: host -> its service, also of hosts that the run leaves
    out, where that matters. `vms`: what the inventory declares of all its hosts.
    """
    return {
        "run_id": run_id,
        "started_at": iso_time(now),
        "hosts": list(hosts),
        "number_of_pass": 0,
        "to_read": True,
        "plan": t.cast(Plan, {}),
        "events": {},
        "kept": {},
        "not_shown": [],
        "outcomes": {},
        "held": {},
        "stopped": "",
        "not_believed": [],
        "lock_hosts": lease.lease_groups(groups, lock_hosts, windows),
        "lease_of": dict(groups),
        "vms": {host: list(entry) for host, entry in (vms or {}).items()},
        "services": dict(services or {}),
        "refused": [],
        "notes": [],
        "refusals": {},
        "records": [],
        "foreign_records": [],
        "unasked": {},
        "slice": 0,
        "waits_since": None,
        "round": {},
    }


def plan(
    state: RunState, variables: HostVars, run_settings: RunSettings, inventory: view.Inventory, now: float
) -> RunState:
    """The newest plan of all hosts, and what the readings that it was made from are worth keeping for."""
    made = view.newest_plan(list(variables), variables, run_settings, inventory, now, read_again=False)
    fresh = view.kept_of(variables, variables, now, state["kept"])
    kept = {**state["kept"], **fresh}
    busy = {host for wave in made["waves"] for host in wave["hosts"]}
    doubtful = [host for host in view.grouping_of(kept).doubtful if host in busy]
    made["lines"] = render_plan(made)
    if len(doubtful) > 1:
        made["lines"] += wrapped(f"Warning: {warning_about(doubtful)}")
    inferred = [host for host in variables if host in busy and not kept[host]["place"]["delivery_group"]]
    if inferred:
        made["lines"] += wrapped(
            f"Advice: set maintenance_delivery_group on {some_of(inferred)}. Without it, their group is what hosts say"
            " about themselves, and a host that lies can join it and keep it waiting."
        )
    unmarked = [host for host in variables if kept[host]["reflexes"] and kept[host]["unmarked"]]
    if unmarked:
        made["lines"] += wrapped(
            f"Warning: {some_of(unmarked, 8)} acts by itself, and can't be told that a run is there: this user may not"
            " write beside the watcher's status. Use become, so that only one of them acts."
        )
    planned = [event for wave in made["waves"] for event in wave["events"]] + made["ignored"]
    shared_names = [host for host in of_one_short_name(state["lease_of"]) if host in variables]
    wrong = [doubt["why"] for doubt in made["not_believed"] if doubt["wrong"]]
    after: RunState = {
        **state,
        "outcomes": returned_by_others(state["outcomes"], kept, variables),
        "number_of_pass": state["number_of_pass"] + 1,
        "plan": made,
        "kept": kept,
        # In a batch the other hosts' readings are not at hand.
        "vms": with_told_scopes(state["vms"], this_hosts_of(shared_names, variables)),
        "not_shown": view.not_shown_now(state, fresh),
        "refused": made["refused_hosts"],
        # Events keep what was first planned for them.
        "events": {**{event["id"]: event for event in planned}, **state["events"]},
        # Kept, as the event may be over when the run is: then nobody took care of it.
        "not_believed": list(dict.fromkeys([*state["not_believed"], *wrong])),
    }
    return {**after, "to_read": bool(_to_run(after, run_settings)), "round": {}}


def returned_by_others(
    outcomes: Mapping[str, run_state.Outcome], kept: Mapping[str, Kept], seen: Iterable[str]
) -> dict[str, run_state.Outcome]:
    """Another run has taken over what this one has left drained, and returned it."""
    found = {
        host for host in seen if is_in_service(kept[host]) and outcomes.get(host, {}).get("state") == run_state.STAYS
    }
    return {host: {**one, "state": "restored"} if host in found else one for host, one in outcomes.items()}


def _to_run(state: RunState, run_settings: RunSettings) -> list[PlanWave]:
    """The waves that may begin: a failure stops those of its own group."""
    # With nothing but a plan asked for, the plan is the output.
    if run_settings.plan_only:
        return []
    grouping = view.grouping_of(state["kept"])
    failed = failures(state, run_settings, grouping)
    waves: list[PlanWave] = state["plan"].get("waves", [])
    return [wave for wave in waves if not {grouping.group_of.get(host, "") for host in wave["hosts"]} <= set(failed)]


def is_in_service(known: Kept) -> bool:
    return known["shows"] is not None and not (known["journal"] and known["journal"]["drained"])


def for_the_plays(state: RunState, run_settings: RunSettings, now: float) -> dict[str, t.Any]:
    """What `hosts:` and `serial:` of the plays are made of."""
    return {
        "waves": [wave["hosts"] for wave in _to_run(state, run_settings)],
        # Whatever stopped the run: a host whose event is over belongs back in service.
        "leftovers": [] if run_settings.plan_only or not state["plan"] else leftovers(state),
        "reads": _to_read(state, run_settings, now) if state["to_read"] else [],
    }


def _to_read(state: RunState, run_settings: RunSettings, now: float) -> list[str]:
    """The hosts that are read before the next plan: not those that were read when they returned to service.

    There is always one, as a play without hosts makes no plan.
    """
    gone = set(hosts_taken_away(state))
    hosts = [host for host in state["hosts"] if host not in gone]
    found = [host for host in hosts if not _is_young(state["kept"].get(host), run_settings, now)]
    return found or hosts[:1] or state["hosts"][:1]


def _is_young(known: Kept | None, run_settings: RunSettings, now: float) -> bool:
    limit = run_settings.oldest_reading * SHARE_OF_A_YOUNG_READING
    return known is not None and known["shows"] is not None and 0 <= now - known["seen_at"] < limit


def for_the_actions(state: RunState) -> dict[str, t.Any]:
    """What the actions of a run ask the store for: see store.py."""
    return {
        "run_id": state["run_id"],
        "taken_away": hosts_taken_away(state),
        # What hosts have said before, they have said in this run.
        "has_read": bool(state["plan"]),
    }


def hosts_taken_away(state: RunState) -> list[str]:
    """Return the hosts that were handed over to Azure, which takes them away: the run ignores them."""
    return [host for host, outcome in state["outcomes"].items() if outcome["state"] == "vanished"]


def in_numbers(plan: Plan) -> dict[str, t.Any]:
    """What a plan holds, for later jobs."""
    waves = plan["waves"]
    deadlines = [wave["deadline"] for wave in waves if wave["deadline"]]
    return {
        "to_do": bool(waves or plan["restore_first"]),
        "waves": len(waves),
        "hosts": sum(len(wave["hosts"]) for wave in waves),
        "events": len({event["id"] for wave in waves for event in wave["events"]}),
        "restore_first": len(plan["restore_first"]),
        "drained": plan["restore_first"][:MOST_HOSTS],
        "unknown": len(plan["unknown"]),
        "deadline": deadlines[0] if deadlines else None,
    }


def leftovers(state: RunState) -> list[str]:
    """Return the hosts that a run left drained and whose event is over."""
    # The disk with the journal may be gone; then only other machines remember.
    found = dict.fromkeys([*state["plan"]["restore_first"], *remembered_only(state)])
    return [host for host in found if not _is_taken_care_of(state, host)]


def _is_taken_care_of(state: RunState, host: str) -> bool:
    """Since the plan was made."""
    outcome = state["outcomes"].get(host)
    return outcome is not None and outcome["wave"] == 0 and outcome["number_of_pass"] == state["number_of_pass"]


# A host says for 30 seconds that somebody is at work there, unless it hears from him. Who goes on after that is alive.
LONGEST_WAIT_FOR_THE_DEAD = 45


def return_leftovers(
    state: RunState, variables: HostVars, run_settings: RunSettings, since: float, now: float
) -> tuple[dict[str, run_state.Order], int]:
    """For hosts that an earlier run left drained and that nothing is planned for; and how long to pause for others.

    Whoever died there a moment ago may still count as being at work.
    """
    kept = view.kept_of(variables, variables, now)
    orders: dict[str, run_state.Order] = {}
    busy = []
    for host, known in kept.items():
        if _is_worked_on(known, state["run_id"], now):
            busy.append(host)
        is_clear = (
            is_in_service(known) and not known["journal"] and host not in {one["host"] for one in state["records"]}
        )
        orders[host] = left_as_it_is() if is_clear or host in busy else returned("drained")
        orders[host]["restore_fence"] = leases.owner_only(leases.fence_for(variables[host], [], run_settings))
    pause = rounds.SHORTEST_PAUSE if busy and now - since < LONGEST_WAIT_FOR_THE_DEAD else 0
    return orders, pause


def _is_worked_on(kept: Kept | None, run_id: str, now: float) -> bool:
    journal = kept["journal"] if kept else None
    return journal is not None and journal["owner"] != run_id and journal["worked_on_until"] > now


class Check(t.TypedDict):
    wave: PlanWave | None
    stop: str
    lines: list[str]
    calls: list[run_state.LeaseCall]
    # The hosts of the first round, and those of them that are read before it.
    hosts: list[str]
    reads: list[str]


def check(state: RunState, batch: Sequence[str], run_settings: RunSettings, now: float) -> Check:
    """Whether this batch may begin. `stop` is a sentence, or empty. Nothing in Ansible stops a run by itself."""
    wave = next((wave for wave in state["plan"]["waves"] if set(wave["hosts"]) == set(batch)), None)
    names = ", ".join(batch)
    stop = ""
    grouping = view.grouping_of(state["kept"])
    if wave is None:
        stop = (
            f"The batch {names} is no wave of the plan: a host is unreachable, or the batches were changed from"
            " outside. Nothing more is touched."
        )
    elif len(wave["domains"]) > 1 and not wave["warnings"]:
        stop = f"The batch {names} holds several domains: {', '.join(wave['domains'])}."
    else:
        failed = failures(state, run_settings, grouping)
        groups = {grouping.group_of[host] for host in batch if host in grouping.group_of}
        if groups and groups <= set(failed):
            causes = "; ".join(failed[group] for group in sorted(groups))
            stop = f"Not begun, as an earlier wave went wrong ({causes})."
    hosts = rounds.in_slices(state, batch)
    return {
        "wave": wave,
        "stop": stop,
        "lines": render_start({"wave": wave, "stop": stop}, now),
        "calls": [] if stop else leases.calls_for(state, batch, grouping),
        "hosts": hosts,
        "reads": [] if stop or leases.are_fresh(state, hosts, run_settings, now) else hosts,
    }


def stale(state: RunState, batch: Sequence[str], run_settings: RunSettings, now: float) -> list[str]:
    """Hosts of the groups of this batch that may have drained themselves since they were read.

    The mark that a reading leaves keeps them from it for a while, and no longer.
    """
    group_of = view.grouping_of(state["kept"]).group_of
    groups = {group_of[host] for host in batch if host in group_of}
    seen_off = {*batch, *hosts_taken_away(state)}
    return [
        host
        for host, known in state["kept"].items()
        if known["reflexes"]
        and host not in seen_off
        and group_of.get(host) in groups
        and now - known["seen_at"] > run_settings.reading_holds
    ]
