# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work on a host: which steps are done, and which are undone."""

from __future__ import annotations

import dataclasses
import itertools
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from .._common import text
from . import kinds
from .kinds import Identity, Step, leaves_nothing

StepData: t.TypeAlias = dict[str, t.Any]
# Kind and arguments of a step -> `file` with its tasks, `from_record`, with those that undo it by what another machine
# remembers, `host` that does its work if that is another one, `by_tasks`: whether other tasks do it, so that the role
# has to keep the journal for them, and `own_kind`: the user's.
Placed: t.TypeAlias = Callable[[str, Mapping[str, t.Any]], StepData]

# Kind and arguments of a step -> by what it is known again.
KnownAs: t.TypeAlias = Callable[[str, Mapping[str, t.Any]], Identity]

# The states of a step in which it has left, or may have left, something to undo.
TO_UNDO = ("started", "done", "failed")


# Steps, and by what each of them is known again.
Known: t.TypeAlias = Sequence[tuple[Step, Identity]]


@dataclasses.dataclass(frozen=True)
class TodaysList:
    """The user's steps as they are today, and how a journal is compared with them.

    `steps_for` resolves them for an event that the journal kept. `from_journal` is the step as the journal has it, or
    None where only the user's steps may say what is done: on other machines, and by tasks.
    """

    steps_for: Callable[[StepData | None], Known]
    known_as: KnownAs
    from_journal: Callable[[StepData], Step | None]
    to_drain: Placed
    to_restore: Placed


# The undo rule: what was done on a host for an earlier list of steps is undone with today's step of the same kind in
# the same place, else with what the journal holds. Where a kind names what it acts on, such as a server of a backend,
# a step that names something else is another one: what was found before is of no use to it.


@dataclasses.dataclass(frozen=True)
class Begun:
    """A step of a journal that has to be undone one day.

    `list` is today's list for its event, and `place` where it is in that list. `undo` undoes it; None where nobody
    knows how.
    """

    record: StepData
    identity: Identity
    event: StepData | None
    list: Known
    place: int | None
    undo: Step | None
    leaves_nothing: bool

    @property
    def number(self) -> int:
        return int(self.record["number"])

    def item(self, today: TodaysList) -> StepData:
        step = t.cast("Step", self.undo)
        item = {"finished": [], "final": None, **today.to_restore(step.kind, step.arguments), "number": self.number}
        item.update(kind=step.kind, arguments=step.arguments, acts_on=self.identity)
        return {**item, "before": self.record["before"], "event": self.event}


def begun_steps(journal: Mapping[str, t.Any], today: TodaysList) -> list[Begun]:
    pairs = _with_identities(journal, today.known_as)
    identities = [identity for _record, identity in pairs]
    lists: dict[str, Known] = {}
    found = []
    for record, identity in pairs:
        if record["status"] not in TO_UNDO or record.get("changed_nothing"):
            continue
        event = event_of(record, journal)
        key = str(record.get("event"))
        if key not in lists:
            lists[key] = today.steps_for(event)
        place = next((place for place, (_step, known) in enumerate(lists[key]) if known == identity), None)
        if place is not None:
            undo: Step | None = lists[key][place][0]
        else:
            undo = _in_its_place(record, identity, lists[key], identities, today) or today.from_journal(record)
        nothing = undo is not None and _leaves_nothing(undo, today)
        found.append(Begun(record, identity, event, lists[key], place, undo, nothing))
    return found


def _in_its_place(
    record: StepData, identity: Identity, steps: Known, identities: Sequence[Identity], today: TodaysList
) -> Step | None:
    """Today's step of the same kind in the same place, if it is not one of the journal itself and undoes something."""
    if not 0 < record["number"] <= len(steps):
        return None
    step, known = steps[record["number"] - 1]
    if known["kind"] != identity["kind"] or known in identities or _leaves_nothing(step, today):
        return None
    is_own = today.to_restore(step.kind, step.arguments)["own_kind"]
    return step if is_own or kinds.is_known_by_what_it_does(step.kind, step.arguments) else None


def _leaves_nothing(step: Step, today: TodaysList) -> bool:
    return not today.to_restore(step.kind, step.arguments)["own_kind"] and leaves_nothing(step.kind, step.arguments)


def of_an_earlier_list(begun: Sequence[Begun], today: TodaysList) -> Sequence[Begun]:
    """The steps of the journal from the first on that is not in its place in today's list.

    What comes after it is undone as well, so that everything is done in the order of today. A step that nobody can
    undo stays where it is, and one that leaves nothing is in nobody's way.
    """
    numbers = {one.number for one in begun}
    reached: dict[str, int] = {}
    for number, one in enumerate(begun):
        if one.undo is None or one.leaves_nothing:
            continue
        if one.place is None:
            return begun[number:]
        first = reached.get(str(one.record.get("event")), 0)
        before = [other.identity for other in begun[:number]]
        skipped = [
            place
            for place, (step, known) in enumerate(one.list[first : one.place], start=first)
            if known not in before and not _leaves_nothing(step, today)
        ]
        # A host that drains itself leaves out what others have to do: it has no such numbers.
        left_out = one.number == one.place + 1 and not {place + 1 for place in skipped} & numbers
        if one.place < first or (skipped and not left_out):
            return begun[number:]
        reached[str(one.record.get("event"))] = one.place + 1
    return []


def work_to_drain(
    steps: Known, journal: Mapping[str, t.Any], today: TodaysList
) -> tuple[list[StepData], list[StepData]]:
    """What is left to do, and what was begun for an earlier list and can't be undone.

    What an earlier list has left is undone first, last step first. A step that the journal knows keeps its number and
    what was found before it, and is left out if it is done.
    """
    undone, dropped, left_over = _to_undo_first(journal, today)
    work: list[StepData] = [{**one.item(today), "direction": "restore"} for one in reversed(undone)]
    if dropped:
        work.append({**_last_item(dropped, "undone"), "direction": "restore", "final": None})
    gone = {one.number for one in undone} | set(dropped)
    known = [
        (record, identity)
        for record, identity in _with_identities(journal, today.known_as)
        if record["number"] not in gone and record["status"] in TO_UNDO and not record.get("changed_nothing")
    ]
    taken = {record["number"] for record, _identity in known}
    finished: list[int] = []
    to_do = last = 0
    for place, (step, identity) in enumerate(steps, start=1):
        found = _taken(known, identity)
        if found is None:
            # Its place, and after what comes before it: a return goes by the numbers.
            number = next(one for one in itertools.count(max(place, last + 1)) if one not in taken)
            taken.add(number)
            found = {"number": number, "before": None, "status": None}
        if not _leaves_nothing(step, today):
            last = max(last, found["number"])
        if found["status"] == "done":
            continue
        placed = today.to_drain(step.kind, step.arguments)
        work.append({"number": found["number"], "finished": finished, "final": None, **placed})
        work[-1].update(kind=step.kind, arguments=step.arguments, before=found["before"], acts_on=identity)
        # Who does its work by tasks can't write down that they are done: the next write does.
        finished = [found["number"]] if placed["by_tasks"] else []
        to_do += 1
    if to_do and not finished:
        work[-1]["final"] = "drained"
    elif work or journal["state"] != "drained":
        work.append(_last_item(finished, "drained"))
    return in_order(work), left_over


def _to_undo_first(journal: Mapping[str, t.Any], today: TodaysList) -> tuple[list[Begun], list[int], list[StepData]]:
    """What is undone before a drain, the numbers of what is forgotten, and what was begun and nobody can undo."""
    # Where an approval may have been sent the event may begin at any moment: what is drained stays so.
    stays = bool(journal.get("marks"))
    begun = begun_steps(journal, today)
    undone = [
        one
        for one in of_an_earlier_list(begun, today)
        if one.undo is not None and not one.leaves_nothing and not (stays and one.record["status"] == "done")
    ]
    removed = [one for one in begun if one.place is None]
    dropped = [one.number for one in removed if one.leaves_nothing]
    left_over = [_told(one) for one in removed if one.undo is None and one.record["status"] != "done"]
    return undone, dropped, left_over


def work_to_restore(
    journal: Mapping[str, t.Any], today: TodaysList, has_health: bool
) -> tuple[list[StepData], list[StepData]]:
    """What is not undone yet, last first, and what can't be undone: steps that the user's steps no longer have.

    The journal says which steps were done and what was found before. What is done about them comes from the user's
    steps, see begun_steps. Steps that left nothing to undo are written off with the last write.
    """
    begun = begun_steps(journal, today)
    finished = [one.number for one in reversed(begun) if one.leaves_nothing]
    left_over = [_told(one) for one in reversed(begun) if one.undo is None]
    work = [one.item(today) for one in reversed(begun) if one.undo is not None and not one.leaves_nothing]
    if left_over:
        work.append(_last_item(finished, "left"))
    elif has_health or not work or work[-1]["by_tasks"]:
        work.append(_last_item(finished, "closed"))
    else:
        work[-1].update(finished=finished, final="closed")
    return in_order(work), left_over


def _told(one: Begun) -> StepData:
    return {"number": one.number, "acts_on": one.identity}


def with_health_by_tasks(
    work: list[StepData], checks: Sequence[StepData], placed: Callable[[StepData], StepData]
) -> list[StepData]:
    """The work of a restore where tasks check the health, right before the journal is closed."""
    if not work or work[-1]["final"] != "closed" or work[-1]["kind"] != "journal":
        return work
    items = [
        {"kind": "health", "finished": [], "final": None, "by_tasks": True, "check": check, **placed(check)}
        for check in checks
    ]
    whole = [*work[:-1], *items, work[-1]]
    return [{**item, "position": position} for position, item in enumerate(whole)]


def work_from_records(steps: Known, placed: Placed) -> list[StepData]:
    """For a host whose journal is gone: what other machines may still remember, last first."""
    work = []
    for number, (step, identity) in reversed(list(enumerate(steps, start=1))):
        place = placed(step.kind, step.arguments)
        if place["own_kind"] or not place.get("from_record"):
            continue
        work.append({"finished": [], "final": None, **place, "file": place["from_record"], "number": number})
        work[-1].update(
            kind=step.kind, arguments=step.arguments, acts_on=identity, before=None, event=NO_EVENT, remembered=True
        )
    return in_order(work)


def event_of(record: StepData, journal: Mapping[str, t.Any]) -> StepData | None:
    """The event that a step of the journal was resolved for."""
    found = [event for event in journal.get("events", []) if record.get("event") in (None, event.get("id"))]
    return found[0] if found else None


def _with_identities(journal: Mapping[str, t.Any], known_as: KnownAs) -> list[tuple[StepData, Identity]]:
    records = sorted((dict(record) for record in journal["steps"]), key=lambda one: one["number"])
    identities = kinds.numbered(known_as(record["kind"], record["arguments"]) for record in records)
    return list(zip(records, identities, strict=True))


def _taken(known: list[tuple[StepData, Identity]], identity: Identity) -> StepData | None:
    found = next((pair for pair in known if pair[1] == identity), None)
    if found is None:
        return None
    known.remove(found)
    return found[0]


def _last_item(finished: list[int], final: str) -> StepData:
    half = "drain" if final == "drained" else "restore"
    return {"kind": "journal", "finished": finished, "final": final, "file": f"{half}/finish.yml"}


def in_order(work: list[StepData]) -> list[StepData]:
    """The role loops over positions alone.

    Ansible runs an included file on all hosts together only if the items of the loop are equal, and runs it where
    the first host has it in its list. So the list of each host must be a beginning of the list of any other.
    """
    return [{"position": position, **item} for position, item in enumerate(work)]


# For steps that are tried, or undone, without an event: all of its fields are empty.
NO_EVENT: StepData = {
    "id": "",
    "type": "",
    "status": "",
    "source": "",
    "resource_type": "",
    "resources": [],
    "not_before": "",
    "seconds_left": 0,
    "duration_seconds": 0,
    "description": "",
    "affects_this_host": False,
}


def nearest_event(events: Sequence[StepData]) -> StepData:
    """`maintenance_event`: the one with the nearest deadline, else the first."""
    dated = sorted((event for event in events if event.get("not_before")), key=lambda event: str(event["not_before"]))
    return next(iter([*dated, *events]), NO_EVENT)


def nearest_deadline(events: Iterable[Mapping[str, t.Any]]) -> float | None:
    """When the first of the events may start that has not started yet, in seconds since 1970."""
    deadlines = [_deadline(event["not_before"]) for event in events if event.get("not_before")]
    return min(deadlines, default=None)


def _deadline(not_before: t.Any) -> float:
    seconds = text.seconds_of(str(not_before))
    if seconds is None:
        raise ValueError(f"not_before of an event is no time: {not_before!r}")
    return seconds


def end_of_time(now: float, timeout: float, reserve: float, deadline: float | None) -> float:
    end = now + timeout
    return end if deadline is None else min(end, deadline - reserve)


def told_steps(journal: Mapping[str, t.Any] | None) -> list[StepData]:
    """The steps for a result: without their arguments, in which secrets may be."""
    steps = (journal or {}).get("steps", [])
    return [{name: step.get(name) for name in ("number", "kind", "status", "before")} for step in steps]


def with_step(steps: Sequence[Mapping[str, t.Any]], new: Mapping[str, t.Any]) -> list[StepData]:
    kept = [dict(step) for step in steps if step["number"] != new["number"]]
    return sorted([*kept, dict(new)], key=lambda step: step["number"])


def with_statuses(steps: Sequence[Mapping[str, t.Any]], numbers: Sequence[int], status: str) -> list[StepData]:
    return [{**step, "status": status} if step["number"] in numbers else dict(step) for step in steps]
