# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run from its beginning to its end: begin, plan, check a batch, decide, order, confirm, record, sum up. Pure.

Each takes what the run knows and what its hosts have said since, and returns what is to be done next. The playbooks do
it. Hosts are known by what is in their variables.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.links import HostVars
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.keepers import lease_groups
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import make_plan, with_journal
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan_data import Plan, PlanWave
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.policy import read_policy
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.text import render_plan, render_start
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import read_max_at_once
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.artifact import MOST_HOSTS
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.decide import drain_deadline, may_approve_now
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.first_wave import (
    asked_for_early,
    has_to_be_read,
    is_begun,
    were_told,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.groups import Grouping, warning_about
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.leases import (
    LeaseAnswers,
    approval_notes,
    calls_for,
    drain_notes,
    leases_for,
    mark_of,
    taken_away,
    verdicts_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import Roll
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.orders import (
    drain_states,
    left_as_it_is,
    returned,
    wave_orders,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.outcomes import wave_outcomes
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.records import remembered_only
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.rounds import Round, next_round
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import (
    BAD_STATES,
    STAYS,
    FenceTerms,
    Kept,
    LeaseCall,
    NoteData,
    Order,
    Outcome,
    RunState,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.turns import SHORTEST_PAUSE, in_slices, next_slice
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import (
    events_gone,
    events_seen,
    grouping_of,
    kept_of,
    model_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes
from ansible_collections.maintenance.azure.plugins.plugin_utils._times import iso_time
from ansible_collections.maintenance.azure.plugins.plugin_utils._words import some_of, wrapped

# The states of an outcome in which a host is in service again, or Azure's to take away.
_IN_OTHER_HANDS = ("restored", "passed", "failed", "vanished")
# A host says for 30 seconds that somebody is at work there, unless it hears from him. Who goes on after that is alive.
LONGEST_WAIT_FOR_THE_DEAD = 45


@dataclasses.dataclass(frozen=True)
class Inventory:
    """What is asked of the rest of the inventory, and only where it matters, as it is costly."""

    elsewhere: Callable[[], Mapping[str, Sequence[str]]]
    inventory_of: Callable[[Sequence[str]], HostVars]


class Check(t.TypedDict):
    wave: PlanWave | None
    stop: str
    lines: list[str]
    calls: list[LeaseCall]
    # The hosts of the first round, and those of them that have to be read before it.
    hosts: list[str]
    reads: list[str]
    # The lease was taken with the plan.
    begun: bool
    # Hosts of the same groups that act by themselves, and were read too long ago.
    stale: list[str]


class Decision(t.TypedDict):
    round: Round
    fences: dict[str, FenceTerms]
    calls: list[LeaseCall]


def begin(
    run_id: str,
    now: float,
    hosts: Sequence[str],
    groups: Mapping[str, str],
    lock_hosts: t.Any,
    windows: t.Collection[str] = (),
    services: Mapping[str, str] | None = None,
) -> RunState:
    """`groups`: each host of the inventory, whatever the pattern of the run, and its `maintenance_delivery_group`.

    `windows`: those of them that are Windows hosts. `services`: host -> its service, also of hosts that the run leaves
    out, where that matters.
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
        "seen": {},
        "gone": [],
        "outcomes": {},
        "held": {},
        "stopped": "",
        "not_believed": [],
        "keepers": lease_groups(groups, lock_hosts, windows),
        "lease_of": dict(groups),
        "services": dict(services or {}),
        "notes": [],
        "first_wave": None,
        "records": [],
        "unasked": {},
        "slice": 0,
        "waits_since": None,
    }


def plan(state: RunState, variables: HostVars, wishes: Wishes, inventory: Inventory, now: float) -> RunState:
    """The newest plan of all hosts, and what the readings that it was made from are worth keeping for."""
    made = _made_plan(list(variables), variables, wishes, inventory, now, read_again=False)
    fresh = kept_of(variables, variables, now, state["kept"])
    kept = {**state["kept"], **fresh}
    busy = {host for wave in made["waves"] for host in wave["hosts"]}
    doubtful = [host for host in grouping_of(kept).doubtful if host in busy]
    made["lines"] = render_plan(made)
    if len(doubtful) > 1:
        made["lines"] += wrapped(f"Warning: {warning_about(doubtful)}")
    unmarked = [host for host in variables if kept[host]["reflexes"] and kept[host]["unmarked"]]
    if unmarked:
        made["lines"] += wrapped(
            f"Warning: {some_of(unmarked, 8)} acts by itself, and can't be told that a run is there: this user may not"
            " write beside the watcher's status. Use become, so that only one of them acts."
        )
    planned = [event for wave in made["waves"] for event in wave["events"]] + made["ignored"]
    wrong = [doubt["why"] for doubt in made["not_believed"] if doubt["wrong"]]
    after: RunState = {
        **state,
        "outcomes": _returned_by_others(state["outcomes"], kept, variables),
        "number_of_pass": state["number_of_pass"] + 1,
        "plan": made,
        "kept": kept,
        "seen": events_seen(variables, state["seen"]),
        "gone": _gone(state, fresh),
        "notes": _heard_before(state["notes"], fresh),
        # Events keep what was first planned for them.
        "events": {**{event["id"]: event for event in planned}, **state["events"]},
        # Kept, as the event may be over when the run is: then nobody took care of it.
        "not_believed": list(dict.fromkeys([*state["not_believed"], *wrong])),
    }
    waves = _to_run(after, wishes)
    # What is out comes first, and takes its time.
    first = asked_for_early(after, waves[0], grouping_of(kept), wishes, now) if waves and not leftovers(after) else None
    return {**after, "to_read": bool(waves), "first_wave": first}


def _gone(state: RunState, fresh: Mapping[str, Kept]) -> list[str]:
    """The events that are no longer there, by what hosts have said now."""
    shown = {event for known in fresh.values() for event in known["shows"] or ()}
    return sorted((events_gone(state["kept"], fresh) | set(state["gone"])) - shown)


def _heard_before(notes: Sequence[NoteData], fresh: Mapping[str, Kept]) -> list[NoteData]:
    """Who was read just now was read after this run had heard of these notes."""
    read = {host for host, known in fresh.items() if known["shows"] is not None}
    return [{**note, "heard_before_reading": True} if note["host"] in read else note for note in notes]


def _returned_by_others(
    outcomes: Mapping[str, Outcome], kept: Mapping[str, Kept], seen: Iterable[str]
) -> dict[str, Outcome]:
    """Another run has taken over what this one has left drained, and returned it."""
    found = {host for host in seen if _is_in_service(kept[host]) and outcomes.get(host, {}).get("state") == STAYS}
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


def _made_plan(
    hosts: Sequence[str], variables: HostVars, wishes: Wishes, inventory: Inventory, now: float, read_again: bool
) -> Plan:
    return make_plan(
        hosts,
        variables,
        wishes.policy,
        max_at_once=wishes.max_at_once,
        drained=with_journal(variables),
        uncovered=wishes.uncovered,
        elsewhere=inventory.elsewhere,
        inventory_of=inventory.inventory_of,
        read_again=read_again,
        now=now,
    )


def _is_in_service(known: Kept) -> bool:
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


def _is_worked_on(kept: Kept | None, run_id: str, now: float) -> bool:
    journal = kept["journal"] if kept else None
    return journal is not None and journal["owner"] != run_id and journal["worked_on_until"] > now


def failures(state: RunState, wishes: Wishes, grouping: Grouping) -> dict[str, str]:
    """Group -> what went wrong there in this run. It stops its own group, not the others."""
    if wishes.continue_after_failure:
        return {}
    found: dict[str, list[str]] = {}
    for host, outcome in state["outcomes"].items():
        if outcome["state"] in BAD_STATES:
            why = f"{host}: {outcome.get('error') or outcome['state']}"
            for group in _groups_of(host, state, grouping):
                found.setdefault(group, []).append(why)
    return {group: "; ".join(causes) for group, causes in found.items()}


def _groups_of(host: str, state: RunState, grouping: Grouping) -> set[str]:
    """Its group; of a host that was never read, also that of hosts which one event names together with it."""
    events = [entry["hosts"] for entry in state["events"].values() if host in entry["hosts"]]
    return {grouping.group_of.get(name, "") for name in (host, *(name for named in events for name in named))}


def check(state: RunState, batch: Sequence[str], wishes: Wishes, early: LeaseAnswers, now: float) -> Check:
    """Whether this batch may begin. `stop` is a sentence, or empty. Nothing in Ansible stops a roll by itself.

    `early` is what the lock hosts said right after the plan.
    """
    wave = next((wave for wave in state["plan"]["waves"] if set(wave["hosts"]) == set(batch)), None)
    names = ", ".join(batch)
    stop = ""
    grouping = grouping_of(state["kept"])
    if wave is None:
        stop = (
            f"The batch {names} is no wave of the plan: a host is unreachable, or the batches were changed from"
            " outside. Nothing more is touched."
        )
    elif len(wave["domains"]) > 1 and not wave["warnings"]:
        stop = f"The batch {names} holds several domains: {', '.join(wave['domains'])}."
    else:
        failed = failures(state, wishes, grouping)
        groups = {grouping.group_of[host] for host in batch if host in grouping.group_of}
        if groups and groups <= set(failed):
            causes = "; ".join(failed[group] for group in sorted(groups))
            stop = f"Not begun, as an earlier wave went wrong ({causes})."
    begun = not stop and is_begun(state, batch, wishes, now)
    hosts = in_slices(state, batch)
    return {
        "wave": wave,
        "stop": stop,
        "lines": render_start({"wave": wave, "stop": stop}, now),
        "calls": _taken_for_nothing(state) if stop else calls_for(state, batch, grouping),
        "hosts": hosts,
        "reads": hosts if not begun or has_to_be_read(state, early) else [],
        "begun": begun,
        "stale": [] if stop else stale(state, batch, wishes, now),
    }


def _taken_for_nothing(state: RunState) -> list[LeaseCall]:
    """What is given back of what was taken for a wave that does not begin."""
    first = state["first_wave"]
    noted = [note["host"] for note in first["notes"]] if first else []
    return [{**call, "notes": [], "forget": noted} for call in first["calls"]] if first else []


def stale(state: RunState, batch: Sequence[str], wishes: Wishes, now: float) -> list[str]:
    """Hosts of the groups of this batch that may have drained themselves since they were read.

    The mark that a reading leaves keeps them from it for a while, and no longer.
    """
    group_of = grouping_of(state["kept"]).group_of
    groups = {group_of[host] for host in batch if host in group_of}
    seen_off = {*batch, *vanished(state)}
    return [
        host
        for host, known in state["kept"].items()
        if known["reflexes"]
        and host not in seen_off
        and group_of.get(host) in groups
        and now - known["seen_at"] > wishes.reading_holds
    ]


def decide(
    state: RunState,
    variables: HostVars,
    wishes: Wishes,
    inventory: Inventory,
    answers: LeaseAnswers,
    now: float,
    begun: bool = False,
    read_again: HostVars | None = None,
) -> Decision:
    """What of a batch may go down now, from readings that are younger than the lease, or that nobody came between.

    `read_again` are hosts outside of it whose readings were stale, with what they have said now.
    """
    batch = list(variables)
    made = _made_plan(batch, variables, wishes, inventory, now, read_again=True)
    others = kept_of(read_again or (), read_again or {}, now, state["kept"])
    state["seen"] = events_seen(read_again or {}, state["seen"])
    state["kept"] = {**state["kept"], **others}
    kept = {**state["kept"], **kept_of(batch, variables, now, state["kept"])}
    grouping = grouping_of(kept)
    verdicts = verdicts_of(state, answers, "take", leases_for(batch, grouping))
    unleased = verdicts.unleased(grouping)
    notes_now = verdicts.notes(state["notes"])
    stale = _stale_notes(state, notes_now, kept, set(batch))
    state["notes"] = [note for note in notes_now if note["host"] not in stale]
    roll = _model(state, kept, variables, made, wishes, inventory, now)
    found = next_round(made, batch, roll, unleased, state["unasked"])
    fences = {
        host: _fence(variables[host], found["drain_for"].get(host, []), wishes)
        for host in (*found["drain"], *found["back"])
    }
    notes = drain_notes(found, state["run_id"], now)
    told = begun and state["first_wave"] is not None and were_told(notes, state["first_wave"])
    calls = calls_for(state, batch, grouping, notes, forget=stale) if stale or (notes and not told) else []
    return {"round": found, "fences": fences, "calls": calls}


def _stale_notes(state: RunState, notes: Sequence[NoteData], kept: Mapping[str, Kept], read_now: set[str]) -> list[str]:
    """Hosts in service about which another run has left a note: whoever reads them removes it.

    A host of another batch was read before this run had the lease. A note may be newer than that, unless this run had
    heard of it before. No clock tells: that of the other controller may be wrong, and one's own may be set back.
    """
    remembered = {record["host"] for record in state["records"]}
    found = []
    for note in notes:
        known = kept.get(note["host"])
        if known is None or note["run"] == state["run_id"] or known["journal"] or note["host"] in remembered:
            continue
        fresh = note["host"] in read_now or note.get("heard_before_reading", False)
        if known["shows"] is not None and fresh:
            found.append(note["host"])
    return list(dict.fromkeys(found))


def _model(
    state: RunState,
    kept: Mapping[str, Kept],
    variables: HostVars,
    made: Plan,
    wishes: Wishes,
    inventory: Inventory,
    now: float,
) -> Roll:
    planned = {entry["id"]: entry for wave in made["waves"] for entry in wave["events"]}
    limit = read_max_at_once(wishes.max_at_once, len(state["hosts"]))
    roll = model_of(
        kept,
        variables,
        planned,
        read_policy(wishes.policy),
        state["outcomes"],
        dataclasses.replace(wishes.settings, max_at_once=limit, patience=wishes.patience),
        state["run_id"],
        now,
        notes=state["notes"],
        # What the inventory no longer has is told, and holds nobody up.
        records=[record for record in state["records"] if record["host"] in state["lease_of"]],
        elsewhere=functools.cache(inventory.elsewhere),
        seen=state["seen"],
        gone=_gone(state, {host: kept[host] for host in variables}),
        inventory=state["lease_of"],
    )
    failed = failures(state, wishes, grouping_of(kept))
    return dataclasses.replace(roll, failures=failed, services=state["services"] or None)


def _fence(variables: Mapping[str, t.Any], events: Sequence[str], wishes: Wishes) -> FenceTerms:
    status = variables.get("maintenance_status") or {}
    clock, journal = status.get("host_clock") or {}, status.get("journal") or {}
    return {
        "boot_id": clock.get("boot_id"),
        "seconds": clock.get("seconds"),
        "at_most": wishes.oldest_reading,
        "owner": journal.get("run_id"),
        "events": list(events),
        "may_start": [],
    }


def _owner_only(fence: FenceTerms) -> FenceTerms:
    """For a return to service after the event: however long that took, the host must still be as it was left."""
    return {**fence, "boot_id": None, "seconds": None, "events": []}


def order(
    state: RunState, found: Round, variables: HostVars, wishes: Wishes, inventory: Inventory, now: float
) -> tuple[dict[str, Order], dict[str, str], list[LeaseCall]]:
    """What each host does after the drain; why events may not be approved now; what the keepers are told first."""
    batch = list(variables)
    drains = drain_states(found["drain"], variables)
    kept = {**state["kept"], **kept_of(batch, variables, now, state["kept"])}
    made = _made_plan(batch, variables, wishes, inventory, now, read_again=True)
    grouping = grouping_of(kept)
    roll = _model(state, kept, variables, made, wishes, inventory, now)
    newest = {entry["id"]: entry for wave in made["waves"] for entry in wave["events"]}
    # An event that has started, grown or gone since is taken as it is now.
    entries = [newest.get(entry["id"], entry) for entry in found["events"]]
    held = {}
    for entry in entries:
        if entry["approvable"] and entry["status"] == "Scheduled":
            verdict = may_approve_now(entry["id"], roll)
            if not verdict.allowed and all(drains.get(host) in ("drained", "not_needed") for host in entry["hosts"]):
                held[entry["id"]] = verdict.why
    orders = wave_orders(
        entries,
        batch,
        drains,
        wishes.on_failed_drain,
        later=found["later"],
        stay=found["stay"],
        back=found["back"],
        not_now=held,
        no_time={event.id for event in roll.events if drain_deadline(roll, event) <= now},
    )
    by_id = {entry["id"]: entry for entry in entries}
    started = {event.id for event in roll.events if event.started}
    going = {event for one in orders.values() for event in (*one["approve_drained"], *one["approve_as_is"])}
    may_start = sorted(started | going)
    for host, one in orders.items():
        sent = [*one["approve_drained"], *one["approve_as_is"]]
        one["drains"] = host in found["drain"]
        one["together"] = sorted({name for event in sent for name in by_id[event]["hosts"]} | {host})
        one["marks"] = [mark_of(by_id[event], now) for event in sent]
        one["fence"] = fence = _fence(variables[host], sent, wishes)
        fence["may_start"] = may_start
        # Who is brought back although his event is still there must have been read just now.
        one["restore_fence"] = fence if host in found["back"] else _owner_only(fence)
    notes = approval_notes(
        [by_id[mark["event"]] for one in orders.values() for mark in one["marks"]], state["run_id"], now
    )
    return orders, held, calls_for(state, batch, grouping, notes) if notes else []


def confirm_drain(state: RunState, decision: Decision, answers: LeaseAnswers) -> Decision:
    """Only what a majority of the keepers was told is done."""
    lost = _lost_leases(state, answers, decision["calls"])
    found = decision["round"]
    out = {host for host in (*found["drain"], *found["back"]) if lost(host)} - taken_away(found)
    if not out:
        return decision
    why = lost(min(out))
    gone = [entry["id"] for entry in found["events"] if not out.isdisjoint(entry["hosts"])]
    return {
        **decision,
        "round": {
            **found,
            "events": [entry for entry in found["events"] if entry["id"] not in gone],
            "drain": [host for host in found["drain"] if host not in out],
            "back": [host for host in found["back"] if host not in out],
            "stay": [host for host in found["stay"] if host not in out],
            "later": [*found["later"], *sorted(out)],
            "held": {**found["held"], **dict.fromkeys(gone, why)},
            "again": True,
        },
    }


def _lost_leases(state: RunState, answers: LeaseAnswers, calls: Iterable[LeaseCall]) -> Callable[[str], str]:
    """Host -> why it has to wait, or nothing. `calls` are what the lock hosts were asked."""
    verdicts = verdicts_of(state, answers, "renew", [call["group"] for call in calls])
    grouping = grouping_of(state["kept"])
    if not verdicts.lost:
        return lambda _host: ""
    return lambda host: verdicts.why_lost(host, state, grouping)


def confirm_approval(
    state: RunState, orders: dict[str, Order], answers: LeaseAnswers, calls: Iterable[LeaseCall] = ()
) -> tuple[dict[str, Order], dict[str, str]]:
    """An approval that the keepers were not told of is not sent: its hosts stay drained, and are read again."""
    lost = _lost_leases(state, answers, calls)
    held: dict[str, str] = {}
    for host, one in orders.items():
        why = lost(host)
        sent = [*one["approve_drained"], *one["approve_as_is"]]
        if why and sent:
            held.update(dict.fromkeys(sent, why))
            one["approve_drained"], one["approve_as_is"], one["marks"], one["restore"] = [], [], [], False
            one["wait"] = [event for event in one["wait"] if event not in sent]
            one["acts"] = bool(one["wait"])
            one["stays"] = one["drain"] == "drained"
            one["later"] = not one["stays"] and not one["acts"]
    return orders, held


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
        outcomes = _returned_by_others(outcomes, kept, variables)
    after: RunState = {
        **state,
        "outcomes": outcomes,
        "kept": kept,
        "seen": events_seen(variables, state["seen"]),
        "gone": _gone(state, fresh),
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


def return_leftovers(
    state: RunState, variables: HostVars, wishes: Wishes, since: float, now: float
) -> tuple[dict[str, Order], int]:
    """For hosts that an earlier run left drained and that nothing is planned for; and how long to pause for others.

    Whoever died there a moment ago may still count as being at work.
    """
    kept = kept_of(variables, variables, now)
    orders: dict[str, Order] = {}
    busy = []
    for host, known in kept.items():
        if _is_worked_on(known, state["run_id"], now):
            busy.append(host)
        gone = _is_in_service(known) and not known["journal"] and host not in {one["host"] for one in state["records"]}
        orders[host] = left_as_it_is() if gone or host in busy else returned("drained")
        orders[host]["restore_fence"] = _owner_only(_fence(variables[host], [], wishes))
    pause = SHORTEST_PAUSE if busy and now - since < LONGEST_WAIT_FOR_THE_DEAD else 0
    return orders, pause
