# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host has done to itself by a list of steps that the user has changed since. Pure.

A journal that reflexes began says so by the digest of their list. Its steps stand in it as they were in that list, with
the event filled in: written down before each was begun. So it is the journal from which they are undone, and the list
itself, which is kept on the host, is needed only by reflexes that go on.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import DONE_BY_TASKS, SPECS, leaves_nothing
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.work import (
    TO_UNDO,
    Known,
    Placed,
    StepData,
    event_of,
    is_of_a_list,
)

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
    return bool(record["kind"] == kind and _deed(record["arguments"]) == _deed(arguments))


def _deed(value: t.Any) -> t.Any:
    """What is done, whatever way it is written: a host fills in texts where a template gives numbers."""
    if isinstance(value, Mapping):
        return {str(name): _deed(one) for name, one in value.items() if name not in _OF_NO_MATTER}
    if isinstance(value, (list, tuple)):
        return [_deed(one) for one in value]
    return str(value)
