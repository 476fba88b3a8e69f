# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was read to what a decision is made from: hosts and events of the model. Pure.

The hosts of a batch were read just now. Of the others a run keeps what it saw last, in a few plain values, as their
variables are costly to ask for.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.links import (
    NOW,
    HostVars,
    events_of,
    moment,
    was_read,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_names import this_host_of, vm_name_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan_data import PlanEntry
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.policy import Rule, ruling_on
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.groups import (
    THE_REST,
    Grouping,
    Place,
    group_hosts,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    Event,
    Host,
    Journal,
    Mark,
    Note,
    Record,
    Roll,
    Settings,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import (
    EventKept,
    JournalKept,
    Kept,
    NoteData,
    Outcome,
    RecordData,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._times import seconds_of

# What a run keeps of a host that it has read.

_OF_THE_VM = ("update_domain", "zone", "scale_set", "placement_group")
_OF_AN_EVENT = ("source", "description", "not_before", "seconds_left", "duration_seconds")


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
        kept["reflexes"], kept["unmarked"] = before["reflexes"], before["unmarked"]
    return kept


def events_seen(readings: HostVars, before: Mapping[str, EventKept] | None = None) -> dict[str, EventKept]:
    """The events that these hosts show, and those that were seen before."""
    found: dict[str, EventKept] = {}
    for variables in readings.values():
        for raw in events_of(variables.get("maintenance_status")):
            event_id = str(raw.get("id"))
            # There is no way back from Started.
            if event_id not in found or raw.get("status") == "Started":
                found[event_id] = _event_kept(event_id, raw)
    return {**(before or {}), **found}


def _event_kept(event_id: str, raw: Mapping[str, t.Any]) -> EventKept:
    more = {name: raw.get(name) for name in _OF_AN_EVENT}
    names = [str(name) for name in raw.get("resources") or ()]
    kept = {"id": event_id, "type": str(raw.get("type")), "status": str(raw.get("status")), "resources": names, **more}
    return t.cast(EventKept, kept)


def events_gone(before: Mapping[str, Kept], fresh: Mapping[str, Kept]) -> set[str]:
    """What a host has shown and does not show any more, and nobody who was read with it does."""
    shown = {event for known in fresh.values() for event in known["shows"] or ()}
    missing = {
        event
        for host, known in fresh.items()
        if known["shows"] is not None and host in before
        for event in before[host]["shows"] or ()
    }
    return missing - shown


def grouping_of(kept: Mapping[str, Kept]) -> Grouping:
    return group_hosts(_place(host, known) for host, known in kept.items())


def _kept(host: str, variables: Mapping[str, t.Any], now: float) -> Kept:
    this_host = this_host_of(variables)
    status = variables.get("maintenance_status")
    journal = status.get("journal") if isinstance(status, dict) else None
    place = {name: _text(this_host.get(name)) for name in _OF_THE_VM}
    place.update(delivery_group=_text(variables.get("maintenance_delivery_group")))
    place.update(domain=_text(variables.get("maintenance_domain")))
    return {
        "vm": canonical_name(vm_name_of(host, variables)),
        "place": place,
        "shows": [str(event.get("id")) for event in events_of(status)] if was_read(variables) else None,
        "showed": [],
        "journal": _journal_kept(journal, now) if isinstance(journal, dict) else None,
        "service": _text(variables.get("maintenance_service")),
        # By the time at which it was read: those who were read first have waited for the last one.
        "seen_at": min(now, seconds_of((status or {}).get("read_at")) or now) if isinstance(status, dict) else now,
        "reflexes": _run_mark(status).get("reflexes") is True,
        "unmarked": _run_mark(status).get("left") is False,
    }


def _run_mark(status: t.Any) -> Mapping[str, t.Any]:
    told = status.get("run_mark") if isinstance(status, dict) else None
    return told if isinstance(told, dict) else {}


def _journal_kept(journal: Mapping[str, t.Any], now: float) -> JournalKept:
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
    planned: Mapping[str, PlanEntry],
    rules: Sequence[Rule],
    outcomes: Mapping[str, Outcome],
    settings: Settings,
    run_id: str,
    now: float,
    notes: Sequence[NoteData] = (),
    records: Sequence[RecordData] = (),
    elsewhere: Callable[[], Mapping[str, Sequence[str]]] = dict,
    seen: Mapping[str, EventKept] | None = None,
    gone: Iterable[str] = (),
    inventory: Mapping[str, str] | None = None,
) -> Roll:
    """`readings`: the variables of the hosts that were read just now, whose documents tell the events of the group.

    `planned` are the entries of their plan by event: it knows which of two VMs of one name an event means. `elsewhere`
    tells the hosts of the inventory that are not of this run, by VM name; it is costly. `seen` are the events that
    hosts have shown so far, as a single VM shows its own alone; `gone` those of them that are no longer there.
    `inventory`: each host of it, and its `maintenance_delivery_group`.
    """
    seen_last = [pair for outcome in outcomes.values() for pair in outcome.get("outcomes", {}).items()]
    over = {event for event, told in seen_last if told == "gone"}
    grouping = grouping_of(kept)
    by_vm: dict[str, list[str]] = {}
    for host, known in kept.items():
        by_vm.setdefault(known["vm"], []).append(host)
    events: dict[str, Event] = {}
    for variables in readings.values():
        for raw in events_of(variables.get("maintenance_status")):
            event_id = str(raw.get("id"))
            # There is no way back from Started.
            if event_id not in over and (event_id not in events or raw.get("status") == "Started"):
                named = _named(raw, kept, by_vm, elsewhere)
                events[event_id] = _event(raw, planned.get(event_id), named, rules)
    for event_id in _shown_by_others(kept, readings) - {*events, *over, *gone}:
        if known_event := (seen or {}).get(event_id):
            named = _named(known_event, kept, by_vm, elsewhere)
            # Of its own events a host that was read just now tells itself.
            if not any(name in readings and kept[name]["shows"] is not None for name in named[0]):
                events[event_id] = _event(known_event, None, named, rules)
    # A note that another run has written since such a host was read: what was seen of it may not be so any more.
    noted = {note["host"] for note in notes if note["run"] != run_id} - readings.keys()
    hosts = [_host(host, known, grouping, outcomes.get(host), over, host in noted) for host, known in kept.items()]
    spoken_of = {note["host"] for note in notes} | {record["host"] for record in records}
    return Roll(
        run=run_id,
        now=now,
        hosts=(*hosts, *_never_read(spoken_of, kept, grouping, inventory or {})),
        events=tuple(events.values()),
        notes=tuple(_note(note) for note in notes),
        records=tuple(
            Record(kept["machine"], kept["host"], tuple(kept["events"]), tuple(kept["types"]), kept["run"])
            for kept in records
        ),
        settings=settings,
        may_act_on=frozenset(readings),
    )


def _shown_by_others(kept: Mapping[str, Kept], readings: HostVars) -> set[str]:
    """The events that hosts have shown which were not read just now."""
    lists = [_shown_last(known) for host, known in kept.items() if host not in readings or known["shows"] is None]
    # Nearly all of them are one and the same list.
    return {event for shown in {id(shown): shown for shown in lists}.values() for event in shown}


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
        lease = inventory[name] or THE_REST if name in inventory else None
        for group in grouping.groups:
            if grouping.group_of.get(name) != group.name and (lease is None or lease in group.leases):
                domain = grouping.domain_of.get(name, f"host {name}")
                found.append(Host(name=name, group=group.name, domain=domain, read=False))
    return found


def _has_company(known: Kept) -> bool:
    """Something tells which group it is of, if only that it was read and shows nothing in common with others."""
    place = known["place"]
    return known["shows"] is not None or bool(known["showed"] or place["delivery_group"] or place["placement_group"])


def _note(note: NoteData) -> Note:
    mark = note["mark"]
    return Note(note["host"], tuple(note["events"]), note["type"], note["run"], _mark(mark) if mark else None)


def _mark(mark: Mapping[str, t.Any]) -> Mark:
    return Mark(
        event=str(mark["event"]),
        hosts=tuple(mark["hosts"]),
        at=float(mark["at"]),
        takes_down=bool(mark.get("takes_down", True)),
        vanishing=bool(mark.get("vanishing", False)),
    )


def _place(host: str, known: Kept) -> Place:
    shown = (*(known["shows"] or ()), *known["showed"])
    return Place(host=host, events=None if known["shows"] is None and not shown else shown, **known["place"])


def _host(name: str, known: Kept, grouping: Grouping, outcome: Outcome | None, over: set[str], is_noted: bool) -> Host:
    journal = known["journal"]
    state = (outcome or {}).get("state")
    return Host(
        name=name,
        group=grouping.group_of[name],
        domain=grouping.domain_of[name],
        read=known["shows"] is not None and not is_noted,
        shows=tuple(event for event in _shown_last(known) if event not in over),
        journal=Journal(
            owner=journal["owner"],
            events=tuple(journal["events"]),
            types=tuple(journal["types"]),
            drained=journal["drained"],
            finished=journal["finished"],
            returning=journal["returning"],
            marks=tuple(_mark(mark) for mark in journal["marks"]),
            worked_on_until=float(journal["worked_on_until"]),
        )
        if journal
        else None,
        stuck=str((outcome or {}).get("error") or "its return to service failed") if state == "left_drained" else "",
        healthy=state not in ("failed", "left_drained"),
        service=known["service"],
    )


def _event(
    raw: Mapping[str, t.Any],
    planned: PlanEntry | None,
    named: tuple[list[str], list[str]],
    rules: Sequence[Rule],
) -> Event:
    due = moment(raw.get("not_before"))
    hosts, strangers = named
    if planned:
        # The plan does not believe an event of everybody whom it names.
        others = [host for host in hosts if host in planned["not_in_run"]]
        hosts = [*planned["hosts"], *others]
        strangers = planned["uncovered"] if len(planned["uncovered"]) != len(others) else []
    action = planned["action"] if planned else ruling_on(raw, rules)["action"]
    return Event(
        id=str(raw.get("id")),
        type=str(raw.get("type")),
        status=str(raw.get("status")),
        not_before=None if due == NOW else due,
        hosts=tuple(hosts),
        strangers=tuple(strangers),
        action=action,
    )


def _named(
    raw: Mapping[str, t.Any],
    kept: Mapping[str, Kept],
    by_vm: Mapping[str, list[str]],
    elsewhere: Callable[[], Mapping[str, Sequence[str]]],
) -> tuple[list[str], list[str]]:
    """The hosts that an event of others names, and the names that are no host, or not known to be which."""
    hosts: list[str] = []
    strangers: list[str] = []
    for written in raw.get("resources") or ():
        called = by_vm.get(canonical_name(str(written)), [])
        found = [host for host in called if str(raw.get("id")) in (kept[host]["shows"] or ())] or called
        if not called:
            found = list(elsewhere().get(canonical_name(str(written)), ()))
        if len(found) == 1:
            hosts += found
        else:
            strangers.append(str(written))
    return hosts, strangers


def _text(value: t.Any) -> str:
    return "" if value is None or isinstance(value, bool) else str(value).strip()
