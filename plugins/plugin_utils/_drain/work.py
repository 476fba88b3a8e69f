# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left to do for a drain or a restore, from the steps and the journal. Pure."""

from __future__ import annotations

import datetime
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import Step, leaves_nothing

Record: t.TypeAlias = dict[str, t.Any]
# Kind and arguments of a step -> `file` with its tasks, `host` that does its work if that is another one, and
# `by_tasks`: whether other tasks do it, so that the role has to keep the journal for them, and `own_kind`: the user's.
Placed: t.TypeAlias = Callable[[str, Mapping[str, t.Any]], Record]

# The states of a step in which it has left, or may have left, something to undo.
TO_UNDO = ("started", "done", "failed")


def work_to_drain(steps: Sequence[Step], journal: Mapping[str, t.Any], placed: Placed) -> list[Record]:
    """The steps that are left, each with its number in the journal.

    A step that the journal knows, by kind and arguments, keeps its number and what was found before it, and is left
    out if it is done. What the journal knows and the steps no longer have, stays in the journal, to be undone.
    """
    known = [dict(record) for record in journal["steps"]]
    next_number = max((record["number"] for record in known), default=0) + 1
    work: list[Record] = []
    finished: list[int] = []
    for step in steps:
        found = next((one for one in known if (one["kind"], one["arguments"]) == (step.kind, step.arguments)), None)
        if found is not None:
            known.remove(found)
        if found and found["status"] == "done":
            continue
        if found is None:
            found = {"number": next_number, "before": None}
            next_number += 1
        place = placed(step.kind, step.arguments)
        work.append({"number": found["number"], "finished": finished, "final": None, **place})
        work[-1].update(kind=step.kind, arguments=step.arguments, before=found["before"])
        # Who does its work by tasks can't write down that they are done: the next write does.
        finished = [found["number"]] if place["by_tasks"] else []
    if work and not finished:
        work[-1]["final"] = "drained"
    elif work or journal["state"] != "drained":
        work.append(_last_item(finished, "drained"))
    return in_order(work)


def work_to_restore(journal: Mapping[str, t.Any], has_health: bool, placed: Placed) -> list[Record]:
    """What is not undone yet, last first. Steps that left nothing to undo are written off with the last write."""
    work: list[Record] = []
    finished: list[int] = []
    for record in sorted(journal["steps"], key=lambda one: -one["number"]):
        if record["status"] not in TO_UNDO:
            continue
        place = placed(record["kind"], record["arguments"])
        if not place["own_kind"] and leaves_nothing(record["kind"], record["arguments"]):
            finished.append(record["number"])
            continue
        work.append({"finished": [], "final": None, **place})
        work[-1].update({name: record[name] for name in ("number", "kind", "arguments", "before")})
    if has_health or not work or work[-1]["by_tasks"]:
        work.append(_last_item(finished, "closed"))
    else:
        work[-1].update(finished=finished, final="closed")
    return in_order(work)


def _last_item(finished: list[int], final: str) -> Record:
    return {"kind": "journal", "finished": finished, "final": final, "file": "finish.yml"}


def in_order(work: list[Record]) -> list[Record]:
    """The role loops over positions alone.

    Ansible runs an included file on all hosts together only if the items of the loop are equal, and runs it where
    the first host has it in its list. So the list of each host must be a beginning of the list of any other.
    """
    return [{"position": position, **item} for position, item in enumerate(work)]


def nearest_deadline(events: Iterable[Mapping[str, t.Any]]) -> float | None:
    """When the first of the events may start that has not started yet, in seconds since 1970."""
    deadlines = [_epoch(event["not_before"]) for event in events if event.get("not_before")]
    return min(deadlines, default=None)


def _epoch(text: str) -> float:
    return datetime.datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()


def end_of_time(now: float, timeout: float, reserve: float, deadline: float | None) -> float:
    end = now + timeout
    return end if deadline is None else min(end, deadline - reserve)


def told_steps(journal: Mapping[str, t.Any] | None) -> list[Record]:
    """The steps for a result: without their arguments, in which secrets may be."""
    steps = (journal or {}).get("steps", [])
    return [{name: step.get(name) for name in ("number", "kind", "status", "before")} for step in steps]


def with_step(steps: Sequence[Mapping[str, t.Any]], new: Mapping[str, t.Any]) -> list[Record]:
    kept = [dict(step) for step in steps if step["number"] != new["number"]]
    return sorted([*kept, dict(new)], key=lambda step: step["number"])


def with_statuses(steps: Sequence[Mapping[str, t.Any]], numbers: Sequence[int], status: str) -> list[Record]:
    return [{**step, "status": status} if step["number"] in numbers else dict(step) for step in steps]
