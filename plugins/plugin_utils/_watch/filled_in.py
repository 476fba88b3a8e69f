# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host that fills in `maintenance_event` by itself does the steps that the user means. Pure.

A host knows no templates. So the steps are resolved with marks in place of what is not known yet, which the host
replaces. Where a text that leads to a step looks at the event, as a condition does (event_uses.py finds them), or marks
come to another step than the template itself would for an event of some kind, the host can't do it.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.module_utils._watcher.decide import KEYS, MARK, MARK_SIGN, filled
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.kinds import Step
from ansible_collections.maintenance.azure.plugins.plugin_utils._watch.settings import BadWatch

Whereabouts: t.TypeAlias = tuple[t.Any, ...]
Resolve: t.TypeAlias = Callable[[Mapping[str, t.Any]], Sequence[Step]]
_LISTS = {"resources": True}
MARKS: dict[str, t.Any] = {
    key: [MARK % key] if key in _LISTS else MARK % key for key in (*KEYS, *_LISTS, "affects_this_host")
}
_TYPES = ("Reboot", "Redeploy", "Freeze", "Preempt", "Terminate")
# In the place of a text that looks at the event.
LOOKED = MARK_SIGN + "Looked" + MARK_SIGN
_ANY_MARK = re.compile(f"{MARK_SIGN}[^{MARK_SIGN}]*{MARK_SIGN}")


def events_to_try() -> list[dict[str, t.Any]]:
    """Of every kind, and as different from each other as events are."""
    found = []
    for number, kind in enumerate(_TYPES):
        for started in (False, True):
            found.append(
                {
                    "id": f"{number}{int(started)}0E8FB1-0000-4000-8000-000000000000",
                    "type": kind,
                    "status": "Started" if started else "Scheduled",
                    "source": ("Platform", "User")[(number + started) % 2],
                    "resource_type": "VirtualMachine",
                    "resources": [f"vm-{one}" for one in range(1 + (number + started) % 3)],
                    "not_before": "" if started else f"2026-11-16T0{number}:35:05Z",
                    "seconds_left": 0 if started else (30, 300, 900, 86400, 600)[number],
                    "duration_seconds": (0, 5, 9, 600, -1)[(number + started) % 5],
                    "description": ("", "Virtual machine is being paused")[(number // 2 + started) % 2],
                    "affects_this_host": True,
                }
            )
    return found


def worded(item: t.Any) -> t.Any:
    """The step with a word in the place of marks that does as a name and as a number, to see whose it is."""
    return with_texts(item, lambda text: _ANY_MARK.sub("1", text))


def check_that_nothing_looks(items: t.Any, is_of_others: Callable[[t.Any], bool]) -> None:
    """`items` are the user's steps with LOOKED in them. Raises BadWatch with the number of the first that has it."""
    if not isinstance(items, list):
        raise BadWatch(
            "drain_steps as a whole depend on maintenance_event, which a host that acts by itself can't decide"
        )
    for number, item in enumerate(items, start=1):
        for path, text in texts_in(item):
            if LOOKED in text and not is_of_others(item):
                raise _bad(number, str(path[0]) if path else "it", path[1:])


def check_that_the_host_can(steps: Sequence[Step], resolve: Resolve, mine: Sequence[int]) -> None:
    """`steps` are those of the user with MARKS; `mine` are the numbers of the steps that the host does. Raises BadWatch
    with the number of the step.
    """
    for number in mine:
        step = steps[number - 1]
        for path, text in texts_in(step.arguments):
            if MARK_SIGN in text and not _is_filled_in_on_the_host(step.kind, path, text):
                raise _bad(number, step.kind, path)
    for event in events_to_try():
        for_event = resolve(event)
        if len(for_event) != len(steps):
            raise BadWatch(
                f"drain_steps are {len(for_event)} steps for a {event['type']}, and {len(steps)} for another event:"
                " a host that acts by itself can't decide that"
            )
        for number in mine:
            step, wanted = steps[number - 1], for_event[number - 1]
            if step.kind != wanted.kind or _texts(filled(step.arguments, event)) != _texts(wanted.arguments):
                raise _bad(number, step.kind, ())


def _bad(number: int, kind: str, path: Sequence[t.Any]) -> BadWatch:
    where = f": {'.'.join(map(str, path))}" if path else ""
    return BadWatch(
        f"drain_steps, step {number}: {kind}{where} uses maintenance_event in a way"
        " that a host can't fill in by itself. That is done in log.message, and where"
        " {{ maintenance_event.KEY }} is a whole word of a command that is given as a list"
    )


def _is_filled_in_on_the_host(kind: str, path: Sequence[t.Any], text: str) -> bool:
    marks = [MARK % key for key in KEYS]
    if kind == "log" and path in (("message",), ("restore_message",)):
        for mark in marks:
            text = text.replace(mark, "")
        return MARK_SIGN not in text
    # A word of a list: the last part of the path is its place.
    return isinstance(path[-1], int) and text in marks and kind in ("command", "checkpoint", "failover")


def _texts(value: t.Any) -> list[tuple[Whereabouts, str]]:
    return list(texts_in(value, every=True))


def texts_in(
    value: t.Any, path: tuple[t.Any, ...] = (), every: bool = False
) -> Iterable[tuple[tuple[t.Any, ...], str]]:
    """Each text and where it is; with `every`, numbers and the like as texts, too."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from texts_in(one, (*path, name), every)
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from texts_in(one, (*path, number), every)
    elif every or isinstance(value, str):
        yield path, str(value)


def with_texts(value: t.Any, put: Callable[[str], t.Any]) -> t.Any:
    """The same with each text replaced. One that stays is the same object: Ansible knows by it where it is from."""
    if isinstance(value, Mapping):
        return {name: with_texts(one, put) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_texts(one, put) for one in value]
    return put(value) if isinstance(value, str) else value
