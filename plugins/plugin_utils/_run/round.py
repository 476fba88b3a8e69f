# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round of a wave: decision to drain, decision to approve, and its record."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from .._azure.vms import HostVars
from . import leases, model, rounds, run_state, view
from .groups import Grouping
from .leases import LeaseAnswers
from .model import RunSettings
from .orders import drain_states, wave_orders, wave_outcomes
from .rounds import Round
from .rules import drain_deadline, may_approve_now
from .run import returned_by_others, stale
from .run_state import LeaseCall, NoteData, Order, RunState


class Decision(t.TypedDict):
    round: Round
    fences: dict[str, run_state.FenceTerms]
    calls: list[LeaseCall]
    # Hosts outside of the batch that have to be read first, and then it is decided again.
    others: list[str]


def decide(
    state: RunState,
    variables: HostVars,
    run_settings: RunSettings,
    inventory: view.Inventory,
    answers: LeaseAnswers,
    now: float,
    read_again: HostVars | None = None,
) -> Decision:
    """What of a batch may go down now, from readings that are younger than the lease, or that nobody came between.

    `read_again` are hosts outside of it that had to be read first, with what they have said now.
    """
    batch = list(variables)
    made = view.newest_plan(batch, variables, run_settings, inventory, now, read_again=True)
    others = view.kept_of(read_again or (), read_again or {}, now, state["kept"])
    # The state keeps what it had of them, so that the next plan sees what they show no more.
    seen: RunState = {**state, "kept": {**state["kept"], **others}}
    fresh = view.kept_of(batch, variables, now, seen["kept"])
    kept = {**seen["kept"], **fresh}
    grouping = view.grouping_of(kept)
    verdicts = leases.verdicts_of(state, answers, "take", now, leases.leases_for(batch, grouping))
    state["refusals"] = verdicts.refusals(state["refusals"])
    unleased = verdicts.unleased(grouping)
    notes = verdicts.notes(state["notes"])
    unread = [] if read_again is not None else _others_to_read(state, notes, batch, grouping, run_settings, now)
    settled = _settled_notes(state, notes, {**fresh, **others})
    state["notes"] = [note for note in notes if note["host"] not in settled]
    seen["notes"] = state["notes"]
    run = view.model_of_batch(seen, kept, variables, made, run_settings, inventory, now, read_now=list(others))
    found = rounds.next_round(made, batch, run, unleased, state["unasked"])
    fences = {
        host: leases.fence_for(variables[host], found["drain_for"].get(host, []), run_settings)
        for host in (*found["drain"], *found["back"])
    }
    told = leases.drain_notes(found, state["run_id"], now)
    calls = leases.calls_for(seen, batch, grouping, told, forget=settled) if settled or told else []
    return {"round": found, "fences": fences, "calls": calls, "others": unread}


def read_first(
    state: RunState, batch: Sequence[str], run_settings: RunSettings, answers: LeaseAnswers, now: float
) -> list[str] | None:
    """None if the readings of a batch will do although they are older than its lease; else whom to read along."""
    if leases.are_fresh(state, batch, run_settings, now) and not leases.may_have_changed(state, batch, answers, now):
        return None
    grouping = view.grouping_of(state["kept"])
    notes = leases.verdicts_of(state, answers, "take", now, leases.leases_for(batch, grouping)).notes(state["notes"])
    return _others_to_read(state, notes, batch, grouping, run_settings, now)


def _others_to_read(
    state: RunState,
    notes: Sequence[NoteData],
    batch: Sequence[str],
    grouping: Grouping,
    run_settings: RunSettings,
    now: float,
) -> list[str]:
    """Hosts of the groups of this batch that are not in it and may have changed since they were read.

    Another run has noted that it is about to act on them, or they act by themselves. About whoever can be read its own
    reading is the truth, made while this run has the lease.
    """
    groups = {grouping.group_of[host] for host in batch if host in grouping.group_of}
    noted = [note["host"] for note in notes if note["run"] != state["run_id"] and note["host"] in state["lease_of"]]
    found = [host for host in noted if grouping.group_of.get(host) in (*groups, None)]
    return [host for host in dict.fromkeys([*stale(state, batch, run_settings, now), *found]) if host not in set(batch)]


def _settled_notes(state: RunState, notes: Sequence[NoteData], read_now: Mapping[str, run_state.Kept]) -> list[str]:
    """Hosts in service about which another run has left a note: whoever reads them removes it.

    Not of a host that has booted since the note was written: it may have lost its journal, with the mark of an event
    that it still shows.
    """
    remembered = {record["host"] for record in state["records"]}
    settled: dict[str, None] = {}
    kept: set[str] = set()
    for note in notes:
        known = read_now.get(note["host"])
        if known is None or note["run"] == state["run_id"]:
            continue
        in_service = known["shows"] is not None and not known["journal"] and note["host"] not in remembered
        if in_service and not _may_have_lost(known, note):
            settled[note["host"]] = None
        else:
            kept.add(note["host"])
    return [host for host in settled if host not in kept]


def _may_have_lost(known: run_state.Kept, note: NoteData) -> bool:
    """Whether the host may have lost the mark that the note holds, by the rule of model.py."""
    booted_since = known["booted_at"] is not None and known["booted_at"] > note["at"]
    is_shown = note["mark"] is not None and note["mark"]["event"] in known["named_in"]
    return booted_since and is_shown and len(note.get("lacking", ())) < model.LOCK_HOSTS_THAT_OUTWEIGH_A_NOTE


def confirm_drain(state: RunState, decision: Decision, answers: LeaseAnswers, now: float) -> Decision:
    """Only what a majority of the lock hosts was told is done."""
    lost = leases.lost_leases(state, answers, decision["calls"], now)
    found = decision["round"]
    out = {host for host in (*found["drain"], *found["back"]) if lost(host)} - leases.taken_away(found)
    if not out:
        return decision
    why = lost(min(out))
    dropped = [entry["id"] for entry in found["events"] if not out.isdisjoint(entry["hosts"])]
    return {
        **decision,
        "round": {
            **found,
            "events": [entry for entry in found["events"] if entry["id"] not in dropped],
            "drain": [host for host in found["drain"] if host not in out],
            "back": [host for host in found["back"] if host not in out],
            "stay": [host for host in found["stay"] if host not in out],
            "later": [*found["later"], *sorted(out)],
            "held": {**found["held"], **dict.fromkeys(dropped, why)},
            "again": True,
        },
    }


def order(
    state: RunState, found: Round, variables: HostVars, run_settings: RunSettings, inventory: view.Inventory, now: float
) -> tuple[dict[str, Order], dict[str, str], list[LeaseCall]]:
    """What each host does after the drain; why events may not be approved now; what the lock hosts are told first."""
    batch = list(variables)
    drains = drain_states(found["drain"], variables)
    kept = {**state["kept"], **view.kept_of(batch, variables, now, state["kept"])}
    made = view.newest_plan(batch, variables, run_settings, inventory, now, read_again=True)
    grouping = view.grouping_of(kept)
    run = view.model_of_batch(state, kept, variables, made, run_settings, inventory, now)
    newest = {entry["id"]: entry for wave in made["waves"] for entry in wave["events"]}
    # An event that has started, grown or ended since is taken as it is now.
    entries = [newest.get(entry["id"], entry) for entry in found["events"]]
    held = {}
    for entry in entries:
        if entry["approvable"] and entry["status"] == "Scheduled":
            verdict = may_approve_now(entry["id"], run, entry["hosts"])
            if not verdict.allowed and all(drains.get(host) in ("drained", "not_needed") for host in entry["hosts"]):
                held[entry["id"]] = verdict.why
    orders = wave_orders(
        entries,
        batch,
        drains,
        run_settings.on_failed_drain,
        later=found["later"],
        stay=found["stay"],
        back=found["back"],
        not_now=held,
        no_time={event.id for event in run.events if drain_deadline(run, event) <= now},
    )
    by_id = {entry["id"]: entry for entry in entries}
    started = {event.id for event in run.events if event.started}
    going = {event for one in orders.values() for event in (*one["approve_drained"], *one["approve_as_is"])}
    may_start = sorted(started | going)
    for host, one in orders.items():
        sent = [*one["approve_drained"], *one["approve_as_is"]]
        one["drains"] = host in found["drain"]
        one["together"] = sorted({name for event in sent for name in by_id[event]["hosts"]} | {host})
        one["marks"] = [leases.mark_of(by_id[event], now) for event in sent]
        one["fence"] = fence = leases.fence_for(variables[host], sent, run_settings)
        fence["may_start"] = may_start
        # A host that returns to service although its event is still shown must have been read just now.
        one["restore_fence"] = fence if host in found["back"] else leases.owner_only(fence)
    notes = leases.approval_notes(
        [by_id[mark["event"]] for one in orders.values() for mark in one["marks"]], state["run_id"], now
    )
    return orders, held, leases.calls_for(state, batch, grouping, notes) if notes else []


def confirm_approval(
    state: RunState, orders: dict[str, Order], answers: LeaseAnswers, calls: Iterable[LeaseCall], now: float
) -> tuple[dict[str, Order], dict[str, str]]:
    """An approval that the lock hosts were not told of is not sent: its hosts stay drained, and are read again."""
    lost = leases.lost_leases(state, answers, calls, now)
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


# The states of an outcome in which a host is in service again, or Azure's to take away.
_IN_OTHER_HANDS = ("restored", "passed", "failed", "vanished")


def record(
    state: RunState, orders: Mapping[str, Order], found: Round | None, variables: HostVars, wave: int, now: float
) -> tuple[RunState, list[LeaseCall], bool]:
    """What became of the hosts of a round, whose notes are of no use any more, and whether others have written them."""
    unsent = _not_sent(orders, variables)
    others = _left_to_others(orders, variables)
    outcomes = wave_outcomes(orders, variables, wave, state["number_of_pass"], state["outcomes"])
    fresh = view.kept_of(variables, variables, now, state["kept"])
    kept = {**state["kept"], **fresh}
    for host, one in orders.items():
        if not one["later"] and outcomes[host]["state"] in _IN_OTHER_HANDS:
            # It was read before this run brought it back, or saw it off. What is read later counts again.
            kept[host] = {**kept[host], "journal": None}
    back = [host for host in orders if outcomes.get(host, {}).get("state") in ("restored", "passed", "vanished")]
    # What this run has told the lock hosts itself is not among what they have told it.
    noted = {note["host"] for note in state["notes"]} | {host for host in orders if orders[host]["drains"]}
    noted |= {host for one in orders.values() for mark in one["marks"] for host in mark["hosts"]}
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
        "not_shown": view.not_shown_now(state, fresh),
        "held": {**state["held"], **(found["held"] if found else {})},
        "notes": [note for note in state["notes"] if note["host"] not in back],
        "records": [one for one in state["records"] if outcomes.get(one["host"], {}).get("state") != "restored"],
        "waits_since": (state["waits_since"] or now) if waits else None,
        "slice": rounds.next_slice(state["slice"], orders, variables),
    }
    taken_over = {host for host in back if _owner_of(variables[host]) not in ("", state["run_id"])}
    taken_over |= {note["host"] for note in state["notes"] if note["run"] != state["run_id"] and note["host"] in back}
    forget = [host for host in back if host in noted or host in taken_over]
    calls = leases.calls_for(state, list(variables), view.grouping_of(kept), forget=forget) if forget else []
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
