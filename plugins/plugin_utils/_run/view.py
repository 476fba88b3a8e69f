# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The view of a run on its hosts: from readings to the model."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from .._azure import events as azure
from .._azure import vms
from .._azure.vms import HostVars
from .._common import text
from .._plan import plan, waves
from . import groups, model, run_state
from .groups import Grouping
from .model import Host, Run
from .run_state import Kept

# The hosts of a batch were read just now. Of the others a run keeps what it saw last, in a few plain values, as their
# variables are costly to ask for.

_OF_THE_VM = ("update_domain", "zone", "scale_set", "placement_group")
_OF_AN_EVENT = ("source", "description", "not_before", "duration_seconds")


def kept_of(
    hosts: Iterable[str], host_vars: HostVars, now: float, before: Mapping[str, Kept] | None = None
) -> dict[str, Kept]:
    """Host -> what is worth keeping of its variables and its reading. `before`: what was known until now."""
    known = before or {}
    return {host: _with_the_past(_kept(host, host_vars.get(host) or {}, now), known.get(host)) for host in hosts}


def _with_the_past(fresh: Kept, before: Kept | None) -> Kept:
    """Who can't be read any more is where it was, and has the journal that was seen there."""
    if before is None:
        return fresh
    if before["shows"] == fresh["shows"] and not before["showed"]:
        return fresh
    now = set(fresh["shows"] or ())
    shown = [event for event in (*(before["shows"] or ()), *before["showed"]) if event not in now]
    kept: Kept = {**fresh, "showed": shown}
    if fresh["shows"] is None:
        kept["place"] = {name: value or before["place"][name] for name, value in fresh["place"].items()}
        kept["journal"] = before["journal"]
        kept["accounts"], kept["named_in"] = before["accounts"], before["named_in"]
        kept["reflexes"], kept["unmarked"] = before["reflexes"], before["unmarked"]
    return kept


def _account_kept(raw: Mapping[str, t.Any]) -> run_state.EventKept:
    more = {name: raw.get(name) for name in _OF_AN_EVENT}
    names = [str(name) for name in raw.get("resources") or ()]
    account = {"id": str(raw.get("id")), "type": str(raw.get("type")), "status": str(raw.get("status"))}
    return t.cast(run_state.EventKept, {**account, "resources": names, **more})


def events_not_shown(before: Mapping[str, Kept], fresh: Mapping[str, Kept]) -> set[tuple[str, str]]:
    """What a host has shown and does not show any more, and nobody of its declared group who was read with it does."""
    shown = shown_by_group(fresh)
    missing = {
        (known["place"]["delivery_group"], event)
        for host, known in fresh.items()
        if known["shows"] is not None and host in before
        for event in before[host]["shows"] or ()
    }
    return missing - shown


def shown_by_group(known: Mapping[str, Kept]) -> set[tuple[str, str]]:
    return {(one["place"]["delivery_group"], event) for one in known.values() for event in one["shows"] or ()}


def grouping_of(kept: Mapping[str, Kept]) -> Grouping:
    return groups.group_hosts(_place(host, known) for host, known in kept.items())


def _kept(host: str, variables: Mapping[str, t.Any], now: float) -> Kept:
    this_host = vms.this_host_of(variables)
    status = variables.get("maintenance_status")
    journal = status.get("journal") if isinstance(status, dict) else None
    vm = azure.canonical_name(vms.vm_name_of(host, variables))
    events = vms.events_of(status) if vms.was_read(variables) else []
    seen_at = _seen_at(status, now)
    place = {name: _text(this_host.get(name)) for name in _OF_THE_VM}
    place.update(delivery_group=_text(variables.get("maintenance_delivery_group")))
    place.update(domain=_text(variables.get("maintenance_domain")))
    return {
        "vm": vm,
        "place": place,
        "shows": [str(event.get("id")) for event in events] if vms.was_read(variables) else None,
        "showed": [],
        "accounts": [_account_kept(event) for event in events],
        "named_in": [str(event.get("id")) for event in events if _names(event, vm)],
        "journal": _journal_kept(journal, now) if isinstance(journal, dict) else None,
        "service": _text(variables.get("maintenance_service")),
        "seen_at": seen_at,
        "booted_at": _booted_at(status, seen_at),
        "reflexes": _run_mark(status).get("reflexes") is True,
        "unmarked": _run_mark(status).get("left") is False,
    }


def _names(event: Mapping[str, t.Any], vm: str) -> bool:
    told = event.get("affects_this_host")
    return (
        told
        if isinstance(told, bool)
        else vm in {azure.canonical_name(str(name)) for name in event.get("resources") or ()}
    )


def _seen_at(status: t.Any, now: float) -> float:
    """When a host was read: those who were read first have waited for the last one."""
    return min(now, text.seconds_of(status.get("read_at")) or now) if isinstance(status, dict) else now


def _booted_at(status: t.Any, seen_at: float) -> float | None:
    clock = status.get("host_clock") if isinstance(status, dict) else None
    seconds = clock.get("seconds") if isinstance(clock, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    return seen_at - seconds


def _run_mark(status: t.Any) -> Mapping[str, t.Any]:
    told = status.get("run_mark") if isinstance(status, dict) else None
    return told if isinstance(told, dict) else {}


def _journal_kept(journal: Mapping[str, t.Any], now: float) -> run_state.JournalKept:
    events = [event for event in journal.get("events") or () if isinstance(event, dict)]
    left = [step for step in journal.get("steps") or () if step.get("status") in ("started", "done", "failed")]
    return {
        "owner": str(journal.get("run_id") or ""),
        "events": [str(event.get("id")) for event in events],
        "types": [str(event.get("type")) for event in events],
        # A drain without steps takes nothing away, and is over when its event is.
        "drained": bool(left) or journal.get("state") == "drained",
        "finished": journal.get("state") == "drained",
        "returning": journal.get("state") == "restoring",
        "marks": list(journal.get("marks") or ()),
        # The host counts by its own clock, and tells how long it is.
        "worked_on_until": now + float(journal.get("worked_on_for") or 0),
    }


def model_of(
    kept: Mapping[str, Kept],
    readings: HostVars,
    planned: Iterable[plan.PlanEntry],
    rules: Sequence[plan.Rule],
    outcomes: Mapping[str, run_state.Outcome],
    settings: model.Settings,
    run_id: str,
    now: float,
    notes: Sequence[run_state.NoteData] = (),
    records: Sequence[run_state.RecordData] = (),
    elsewhere: Callable[[], Mapping[str, Sequence[str]]] = dict,
    not_shown: Iterable[Sequence[str]] = (),
    inventory: Mapping[str, str] | None = None,
    refused: t.Container[str] = (),
    read_now: Iterable[str] = (),
) -> Run:
    """`readings`: the variables of the hosts that were read just now, and that this run may act on.

    `planned` are the entries of their plan: it knows which of two VMs of one name an event means. `elsewhere` tells the
    hosts of the inventory that are not of this run, by VM name; it is costly. `not_shown`: declared groups, and their
    events that are no longer shown. `inventory`: each host of it, and its `maintenance_delivery_group`. `refused`:
    hosts that are not the VMs that they claim to be; no event names them. `read_now`: hosts outside of the batch that
    were read with it.
    """
    over = {
        (kept[host]["place"]["delivery_group"], event)
        for host, outcome in outcomes.items()
        if host in kept
        for event, told in outcome.get("outcomes", {}).items()
        if told == "gone"
    }
    grouping = grouping_of(kept)
    by_vm: dict[str, list[str]] = {}
    for host, known in kept.items():
        if host not in refused:
            by_vm.setdefault(known["vm"], []).append(host)
    names = _Names(kept, by_vm, elsewhere)
    fresh = {*readings, *read_now}
    # A note that another run has written since such a host was read: what was seen of it may not be so any more.
    noted = {note["host"] for note in notes if note["run"] != run_id} - fresh
    named_in: dict[str, list[str]] = {
        host: [] if host in refused else known["named_in"] for host, known in kept.items()
    }
    hosts = [
        _host(host, known, named_in[host], names, grouping, outcomes.get(host), over, host in noted, now)
        for host, known in kept.items()
    ]
    spoken_of = {note["host"] for note in notes} | {record["host"] for record in records}
    return Run(
        run=run_id,
        now=now,
        hosts=(*hosts, *_never_read(spoken_of, kept, grouping, inventory or {})),
        events=tuple(
            _events(kept, named_in, fresh, grouping, over, set(map(tuple, not_shown)), planned, rules, names, now)
        ),
        notes=tuple(_note(note, now) for note in notes),
        records=tuple(
            model.Record(kept["machine"], kept["host"], tuple(kept["events"]), tuple(kept["types"]), kept["run"])
            for kept in records
        ),
        settings=settings,
        may_act_on=frozenset(readings),
    )


class _Names:
    """The hosts that an event of others names, and the names that are no host, or not known to be which."""

    def __init__(
        self,
        kept: Mapping[str, Kept],
        by_vm: Mapping[str, list[str]],
        elsewhere: Callable[[], Mapping[str, Sequence[str]]],
    ) -> None:
        self.kept, self.by_vm, self.elsewhere = kept, by_vm, elsewhere
        # Nearly all hosts of a group show the same list.
        self._known: dict[tuple[str, tuple[str, ...]], tuple[list[str], list[str]]] = {}

    def of(self, event: Mapping[str, t.Any]) -> tuple[list[str], list[str]]:
        key = (str(event["id"]), tuple(event["resources"]))
        if key not in self._known:
            self._known[key] = self._found(*key)
        return self._known[key]

    def _found(self, event_id: str, resources: Sequence[str]) -> tuple[list[str], list[str]]:
        hosts: list[str] = []
        outside: list[str] = []
        for written in resources:
            name = azure.canonical_name(written)
            called = self.by_vm.get(name, [])
            found = [host for host in called if event_id in (self.kept[host]["shows"] or ())] or called
            if not called:
                found = list(self.elsewhere().get(name, ()))
            if len(found) == 1:
                hosts += found
            else:
                outside.append(written)
        return hosts, outside


def _events(
    kept: Mapping[str, Kept],
    named_in: Mapping[str, Sequence[str]],
    fresh: t.Container[str],
    grouping: Grouping,
    over: set[tuple[str, str]],
    not_shown: set[tuple[str, ...]],
    planned: Iterable[plan.PlanEntry],
    rules: Sequence[plan.Rule],
    names: _Names,
    now: float,
) -> Iterable[model.Event]:
    """The events of each group, merged from what its own hosts show: no host speaks for another group."""
    accounts: dict[tuple[str, str], dict[t.Any, azure.Account]] = {}
    by_own_account: dict[tuple[str, str], list[str]] = {}
    shown_now: set[tuple[str, str]] = set()
    declared: dict[str, str] = {}
    for host, known in kept.items():
        group, named = grouping.group_of[host], set(named_in[host])
        declared[group] = known["place"]["delivery_group"]
        for account in known["accounts"]:
            key = (group, account["id"])
            by_named = account["id"] in named
            said = (by_named, *map(str, account.values()))
            accounts.setdefault(key, {}).setdefault(said, azure.Account(by_named, account))
            if by_named:
                by_own_account.setdefault(key, []).append(host)
            if host in fresh and known["shows"] is not None:
                shown_now.add(key)
    entries = {(grouping.group_of.get(host), entry["id"]): entry for entry in planned for host in entry["hosts"]}
    for (group, event_id), found in accounts.items():
        scoped = (declared[group], event_id)
        if scoped in over or ((group, event_id) not in shown_now and scoped in not_shown):
            continue
        told = azure.merged(
            found.values(), lambda account: plan.how_careful(account, rules, _seconds_left(account, now))
        )
        hosts, outside = names.of(told)
        # Of its own events a host that was read just now tells itself.
        if (group, event_id) not in shown_now and any(
            name in fresh and kept[name]["shows"] is not None for name in hosts if name in kept
        ):
            continue
        entry = entries.get((group, event_id))
        if entry:
            # The plan does not trust an event of everybody whom it names.
            others = [host for host in hosts if host in entry["not_in_run"]]
            # In another batch there may be a host that says so itself.
            themselves = by_own_account.get((group, event_id), [])
            hosts = list(dict.fromkeys([*entry["hosts"], *others, *themselves]))
            outside = entry["uncovered"] if len(entry["uncovered"]) != len(others) else []
        due = vms.moment(told["not_before"])
        yield model.Event(
            id=event_id,
            type=str(told["type"]),
            status=str(told["status"]),
            not_before=None if due == vms.NOW else due,
            hosts=tuple(hosts),
            outside=tuple(outside),
            action=entry["action"]
            if entry
            else plan.ruling_on({**told, "seconds_left": _seconds_left(told, now)}, rules)["action"],
            group=group,
        )


def _seconds_left(event: Mapping[str, t.Any], now: float) -> int | None:
    due = vms.moment(event.get("not_before"))
    return None if due == vms.NOW or event.get("status") == "Started" else max(0, int(due - now))


def _shown_last(known: Kept) -> list[str]:
    return known["showed"] if known["shows"] is None else known["shows"]


def _never_read(
    names: Iterable[str], kept: Mapping[str, Kept], grouping: Grouping, inventory: Mapping[str, str]
) -> list[Host]:
    """Hosts that may be drained, say notes of another run or records, and of which this one has seen nothing.

    They may be of any group, unless the inventory tells which.
    """
    found = []
    for name in sorted(name for name in names if name not in kept or not _has_company(kept[name])):
        lease = inventory[name] or groups.THE_REST if name in inventory else None
        for group in grouping.groups:
            if grouping.group_of.get(name) != group.name and (lease is None or lease == group.lease):
                domain = grouping.domain_of.get(name, f"host {name}")
                found.append(Host(name=name, group=group.name, domain=domain, read=False))
    return found


def _has_company(known: Kept) -> bool:
    """Something tells which group it is of, if only that it was read and shows nothing in common with others."""
    place = known["place"]
    return known["shows"] is not None or bool(known["showed"] or place["delivery_group"] or place["placement_group"])


def _note(note: run_state.NoteData, now: float) -> model.Note:
    mark = note["mark"]
    return model.Note(
        note["host"],
        tuple(note["events"]),
        note["type"],
        note["run"],
        _mark({**mark, "at": note["at"]}, now) if mark else None,
        at=min(now, float(note["at"])),
        lacking=tuple(note.get("lacking", ())),
    )


def _mark(mark: Mapping[str, t.Any], now: float) -> model.Mark:
    return model.Mark(
        event=str(mark["event"]),
        hosts=tuple(mark["hosts"]),
        at=min(now, float(mark["at"])),
        takes_down=bool(mark.get("takes_down", True)),
        takes_away=bool(mark.get("vanishing", False)),
    )


def _place(host: str, known: Kept) -> groups.Place:
    shown = (*(known["shows"] or ()), *known["showed"])
    return groups.Place(host=host, events=None if known["shows"] is None and not shown else shown, **known["place"])


def _host(
    name: str,
    known: Kept,
    named_in: Sequence[str],
    names: _Names,
    grouping: Grouping,
    outcome: run_state.Outcome | None,
    over: set[tuple[str, str]],
    is_noted: bool,
    now: float,
) -> Host:
    journal = known["journal"]
    state = (outcome or {}).get("state")
    over_here = {event for group, event in over if group == known["place"]["delivery_group"]}
    own = [account for account in known["accounts"] if account["id"] in named_in and account["id"] not in over_here]
    return Host(
        name=name,
        group=grouping.group_of[name],
        domain=grouping.domain_of[name],
        read=known["shows"] is not None and not is_noted,
        shows=tuple(event for event in _shown_last(known) if event not in over_here),
        named_with={account["id"]: (name, *names.of(account)[0]) for account in own},
        booted_at=known["booted_at"],
        journal=model.Journal(
            owner=journal["owner"],
            events=tuple(journal["events"]),
            types=tuple(journal["types"]),
            drained=journal["drained"],
            finished=journal["finished"],
            returning=journal["returning"],
            marks=tuple(_mark(mark, now) for mark in journal["marks"]),
            worked_on_until=float(journal["worked_on_until"]),
        )
        if journal
        else None,
        stuck=str((outcome or {}).get("error") or "its return to service failed") if state == "left_drained" else "",
        healthy=state not in ("failed", "left_drained"),
        service=known["service"],
    )


def _text(value: t.Any) -> str:
    return "" if value is None or isinstance(value, bool) else str(value).strip()


@dataclasses.dataclass(frozen=True)
class Inventory:
    """What is asked of the rest of the inventory, and only where it matters, as it is costly."""

    elsewhere: Callable[[], Mapping[str, Sequence[str]]]
    names: Callable[[], vms.InventoryNames]


def newest_plan(
    hosts: Sequence[str],
    variables: HostVars,
    run_settings: model.RunSettings,
    inventory: Inventory,
    now: float,
    read_again: bool,
) -> plan.Plan:
    return plan.make_plan(
        hosts,
        variables,
        run_settings.policy,
        max_at_once=run_settings.max_at_once,
        drained=plan.with_journal(variables),
        uncovered=run_settings.uncovered,
        elsewhere=inventory.elsewhere,
        names=inventory.names,
        read_again=read_again,
        now=now,
    )


def model_of_batch(
    state: run_state.RunState,
    kept: Mapping[str, Kept],
    variables: HostVars,
    made: plan.Plan,
    run_settings: model.RunSettings,
    inventory: Inventory,
    now: float,
    read_now: Collection[str] = (),
) -> Run:
    """`read_now`: hosts outside of the batch that were read with it."""
    planned = [entry for wave in made["waves"] for entry in wave["events"]]
    limit = waves.read_max_at_once(run_settings.max_at_once, len(state["hosts"]))
    run = model_of(
        kept,
        variables,
        planned,
        plan.read_policy(run_settings.policy),
        state["outcomes"],
        dataclasses.replace(run_settings.settings, max_at_once=limit, patience=run_settings.patience),
        state["run_id"],
        now,
        notes=state["notes"],
        records=state["records"],
        elsewhere=functools.cache(inventory.elsewhere),
        not_shown=not_shown_now(state, {host: kept[host] for host in (*variables, *read_now)}),
        inventory=state["lease_of"],
        refused={*state["refused"], *made["refused_hosts"]},
        read_now=read_now,
    )
    failed = groups.failures(state, run_settings, grouping_of(kept))
    return dataclasses.replace(run, failures=failed, services=state["services"] or None)


def not_shown_now(state: run_state.RunState, fresh: Mapping[str, Kept]) -> list[list[str]]:
    """Declared groups and their events that are no longer shown, by what hosts have said now."""
    before = {(one[0], one[1]) for one in state["not_shown"]}
    return sorted(map(list, (events_not_shown(state["kept"], fresh) | before) - shown_by_group(fresh)))
