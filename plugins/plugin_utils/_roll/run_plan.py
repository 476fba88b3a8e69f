# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The beginning of a run, its newest plan, and what the plays are made of. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import (
    HostVars,
    KnownVms,
    of_one_short_name,
    this_hosts_of,
    with_told_scopes,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time, some_of, wrapped
from ansible_collections.maintenance.azure.plugins.plugin_utils._lease.lease import lease_groups
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import Plan, PlanWave
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.text import render_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.artifact import MOST_HOSTS
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.batch_model import (
    Inventory,
    gone_now,
    newest_plan,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.first_wave import asked_for_early
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.group_failures import failures
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.groups import warning_about
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.records import remembered_only
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import (
    STAYS,
    Kept,
    Outcome,
    RunState,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import grouping_of, kept_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes


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
        "gone": [],
        "outcomes": {},
        "held": {},
        "stopped": "",
        "not_believed": [],
        "keepers": lease_groups(groups, lock_hosts, windows),
        "lease_of": dict(groups),
        "vms": {host: list(entry) for host, entry in (vms or {}).items()},
        "services": dict(services or {}),
        "refused": [],
        "notes": [],
        "refusals": {},
        "first_wave": None,
        "records": [],
        "foreign_records": [],
        "unasked": {},
        "slice": 0,
        "waits_since": None,
    }


def plan(state: RunState, variables: HostVars, wishes: Wishes, inventory: Inventory, now: float) -> RunState:
    """The newest plan of all hosts, and what the readings that it was made from are worth keeping for."""
    made = newest_plan(list(variables), variables, wishes, inventory, now, read_again=False)
    fresh = kept_of(variables, variables, now, state["kept"])
    kept = {**state["kept"], **fresh}
    busy = {host for wave in made["waves"] for host in wave["hosts"]}
    doubtful = [host for host in grouping_of(kept).doubtful if host in busy]
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
        "gone": gone_now(state, fresh),
        "refused": made["refused_hosts"],
        # Events keep what was first planned for them.
        "events": {**{event["id"]: event for event in planned}, **state["events"]},
        # Kept, as the event may be over when the run is: then nobody took care of it.
        "not_believed": list(dict.fromkeys([*state["not_believed"], *wrong])),
    }
    waves = _to_run(after, wishes)
    # What is out comes first, and takes its time.
    first = asked_for_early(after, waves[0], grouping_of(kept), wishes, now) if waves and not leftovers(after) else None
    return {**after, "to_read": bool(waves), "first_wave": first}


def returned_by_others(
    outcomes: Mapping[str, Outcome], kept: Mapping[str, Kept], seen: Iterable[str]
) -> dict[str, Outcome]:
    """Another run has taken over what this one has left drained, and returned it."""
    found = {host for host in seen if is_in_service(kept[host]) and outcomes.get(host, {}).get("state") == STAYS}
    return {host: {**one, "state": "restored"} if host in found else one for host, one in outcomes.items()}


def _to_run(state: RunState, wishes: Wishes) -> list[PlanWave]:
    """The waves that may begin: a failure stops those of its own group."""
    # With nothing but a plan asked for, the plan is the output.
    if wishes.plan_only:
        return []
    grouping = grouping_of(state["kept"])
    failed = failures(state, wishes, grouping)
    waves: list[PlanWave] = state["plan"].get("waves", [])
    return [wave for wave in waves if not {grouping.group_of.get(host, "") for host in wave["hosts"]} <= set(failed)]


def is_in_service(known: Kept) -> bool:
    return known["shows"] is not None and not (known["journal"] and known["journal"]["drained"])


def for_the_plays(state: RunState, wishes: Wishes) -> dict[str, t.Any]:
    """What `hosts:` and `serial:` of the plays are made of."""
    return {
        "run_id": state["run_id"],
        "waves": [wave["hosts"] for wave in _to_run(state, wishes)],
        # Whatever stopped the roll: a host whose event is gone belongs back in service.
        "leftovers": [] if wishes.plan_only or not state["plan"] else leftovers(state),
        "to_read": state["to_read"],
        "vanished": vanished(state),
        # What hosts have said before, they have said in this run.
        "has_read": bool(state["plan"]),
    }


def vanished(state: RunState) -> list[str]:
    """What was handed over to Azure to be taken away is nobody's business any more."""
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
    """Hosts that a run left drained, and whose event is gone."""
    # The disk with the journal may be gone; then only other machines remember.
    found = dict.fromkeys([*state["plan"]["restore_first"], *remembered_only(state)])
    return [host for host in found if not _is_taken_care_of(state, host)]


def _is_taken_care_of(state: RunState, host: str) -> bool:
    """Since the plan was made."""
    outcome = state["outcomes"].get(host)
    return outcome is not None and outcome["wave"] == 0 and outcome["number_of_pass"] == state["number_of_pass"]
