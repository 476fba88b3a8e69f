# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work on a host: which steps are done, and which are undone."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from .._common.text import seconds_of
from .kinds import DONE_BY_TASKS, SPECS, Identity, Step, leaves_nothing, numbered

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


def work_to_drain(steps: Known, journal: Mapping[str, t.Any], known_as: KnownAs, placed: Placed) -> list[StepData]:
    """The steps that are left, each with its number in the journal.

    A step that the journal knows keeps its number and what was found before it, and is left out if it is done. What the
    journal knows and the steps no longer have, stays in the journal, to be undone.
    """
    known = _with_identities(journal, known_as)
    next_number = max((record["number"] for record, _identity in known), default=0) + 1
    work: list[StepData] = []
    finished: list[int] = []
    for step, identity in steps:
        found = _taken(known, identity)
        if found and found["status"] == "done":
            continue
        if found is None:
            found = {"number": next_number, "before": None}
            next_number += 1
        place = placed(step.kind, step.arguments)
        work.append({"number": found["number"], "finished": finished, "final": None, **place})
        work[-1].update(kind=step.kind, arguments=step.arguments, before=found["before"], acts_on=identity)
        # Who does its work by tasks can't write down that they are done: the next write does.
        finished = [found["number"]] if place["by_tasks"] else []
    if work and not finished:
        work[-1]["final"] = "drained"
    elif work or journal["state"] != "drained":
        work.append(_last_item(finished, "drained"))
    return in_order(work)


def work_to_restore(
    journal: Mapping[str, t.Any],
    steps_for: Callable[[StepData | None], Known],
    known_as: KnownAs,
    from_journal: Callable[[StepData], Step | None],
    has_health: bool,
    placed: Placed,
) -> tuple[list[StepData], list[StepData]]:
    """What is not undone yet, last first, and what can't be undone: steps that the user's steps no longer have.

    The journal says which steps were done and what was found before. What is done about them comes from the user's
    steps: `steps_for` gives them, resolved for the event that the journal kept. A step that they no longer have is
    undone only if `from_journal` finds it fit for that: on the host itself, and checked. Steps that left nothing to
    undo are written off with the last write.
    """
    work: list[StepData] = []
    finished: list[int] = []
    left_over: list[StepData] = []
    users: dict[str, list[tuple[Step, Identity]]] = {}
    for record, identity in reversed(_with_identities(journal, known_as)):
        if record["status"] not in TO_UNDO:
            continue
        event = event_of(record, journal)
        mine = users.setdefault(str(record.get("event")), list(steps_for(event)))
        users_step = next((step for step, known in mine if known == identity), None)
        # What a host has done to itself is undone as it was done, whatever has become of the list since.
        as_done = from_journal(record) if users_step is None or is_of_a_list(journal) else None
        step = as_done or users_step
        if step is None:
            left_over.append({"number": record["number"], "acts_on": identity})
            continue
        place = placed(step.kind, step.arguments)
        if not place["own_kind"] and leaves_nothing(step.kind, step.arguments):
            finished.append(record["number"])
            continue
        work.append({"finished": [], "final": None, **place, "number": record["number"], "before": record["before"]})
        work[-1].update(kind=step.kind, arguments=step.arguments, acts_on=identity, event=event)
    if left_over:
        work.append(_last_item(finished, "left"))
    elif has_health or not work or work[-1]["by_tasks"]:
        work.append(_last_item(finished, "closed"))
    else:
        work[-1].update(finished=finished, final="closed")
    return in_order(work), left_over


def is_of_a_list(journal: Mapping[str, t.Any]) -> bool:
    """Whether reflexes have begun it, with a list of steps that they were given."""
    return bool(journal.get("steps_digest"))


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
    identities = numbered(known_as(record["kind"], record["arguments"]) for record in records)
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
    seconds = seconds_of(str(not_before))
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


# A journal that reflexes began says so by the digest of their list. Its steps stand in it as they were in that list,
# with the event filled in: written down before each was begun. So it is the journal from which they are undone, and
# the list itself, which is kept on the host, is needed only by reflexes that go on.

# How long a step may take says nothing about what it does.
_OF_NO_MATTER = ("timeout",)


def no_longer_meant(
    journal: Mapping[str, t.Any], steps_for: Callable[[StepData | None], Known], placed: Placed
) -> list[StepData]:
    """The steps of the journal from the first on that the user's list no longer has in that place, as it was done.

    What comes before it is as the list of today has it. What comes after it is undone as well, so that everything is
    done in the order of today. `steps_for` gives today's steps for an event of the journal.
    """
    if not is_of_a_list(journal):
        return []
    records = sorted((dict(one) for one in journal["steps"] if one["status"] in TO_UNDO), key=lambda one: one["number"])
    place = 0
    for number, record in enumerate(records):
        if not _matters(record["kind"], record["arguments"], placed):
            continue
        steps = [step for step, _identity in steps_for(event_of(record, journal))]
        meant = [step for step in steps if _matters(step.kind, step.arguments, placed)]
        if place >= len(meant) or not _is_same(record, meant[place].kind, meant[place].arguments):
            return records[number:]
        place += 1
    return []


def _matters(kind: str, arguments: Mapping[str, t.Any], placed: Placed) -> bool:
    """Whether it is the host's own, and leaves something behind. Others' steps are left out by reflexes."""
    if kind == "log" or kind not in SPECS or kind in DONE_BY_TASKS or leaves_nothing(kind, arguments):
        return False
    place = placed(kind, arguments)
    return not (place["own_kind"] or place["by_tasks"])


def _is_same(record: StepData, kind: str, arguments: Mapping[str, t.Any]) -> bool:
    return bool(record["kind"] == kind and _as_texts(record["arguments"]) == _as_texts(arguments))


def _as_texts(value: t.Any) -> t.Any:
    """What is done, whatever way it is written: a host fills in texts where a template gives numbers."""
    if isinstance(value, Mapping):
        return {str(name): _as_texts(one) for name, one in value.items() if name not in _OF_NO_MATTER}
    if isinstance(value, (list, tuple)):
        return [_as_texts(one) for one in value]
    return str(value)
