# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of hosts: what of them is let through."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable, Collection, Mapping

from ...module_utils._azure import documents, imds
from ...module_utils._host import journal
from ...module_utils._host.ownership import WORDS

# A host may be broken into. What it answers becomes a result of Ansible's only through here, so that it makes no facts,
# no variables, no hosts and no groups, and decides about nobody's connections. Pure.

# Takes a value and returns it, or raises Unexpected.
Shape: t.TypeAlias = Callable[[t.Any], t.Any]

LONGEST_TEXT = 8 * 1024 * 1024
LONGEST_MESSAGE = 4000
DEEPEST_DATA = 20


class Unexpected(ValueError):
    """The answer is not of the shape that was asked for. The text goes on after a name, as in `.events is no list`."""


def text(value: t.Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise Unexpected(" is no text")
    # A plain one: what ansible-core 2.19 and newer tie to a text is not for a host to say.
    return str.__str__(value)


def message(value: t.Any) -> str:
    """A text for a person: on one line, without what a terminal obeys, and cut, as nobody reads more."""
    return str(documents.visible(text(value)[:LONGEST_MESSAGE]))


def words(value: t.Any) -> str:
    """The same, as long as it is."""
    return str(documents.visible(text(value)))


def flag(value: t.Any) -> bool:
    if not isinstance(value, bool):
        raise Unexpected(" is neither true nor false")
    return bool(value)


def whole(value: t.Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 2**53:
        raise Unexpected(" is no whole number")
    return int(value)


def number(value: t.Any) -> float:
    try:
        is_number = not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        # A whole number of hundreds of digits.
        is_number = False
    if not is_number:
        raise Unexpected(" is no number")
    return int(value) if isinstance(value, int) else float(value)


def data(value: t.Any, depth: int = DEEPEST_DATA) -> t.Any:
    """Anything that JSON can say, not nested without end: only what goes back to the host that said it."""
    if depth == 0:
        raise Unexpected(" is nested too deeply")
    if isinstance(value, Mapping):
        return {text(name): data(one, depth - 1) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [data(one, depth - 1) for one in value]
    if value is None or isinstance(value, bool):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return text(value)
    return number(value)


def mapping(value: t.Any) -> dict[str, t.Any]:
    if not isinstance(value, Mapping):
        raise Unexpected(" is no mapping")
    return t.cast("dict[str, t.Any]", data(value))


def one_of(words: Collection[str]) -> Shape:
    def check(value: t.Any) -> t.Any:
        if not isinstance(value, str) or value not in words:
            raise Unexpected(f" is none of {', '.join(words)}")
        return str.__str__(value)

    return check


def maybe(shape: Shape) -> Shape:
    """That, or nothing."""
    return lambda value: None if value is None else shape(value)


def list_of(shape: Shape) -> Shape:
    def check(value: t.Any) -> t.Any:
        if not isinstance(value, (list, tuple)):
            raise Unexpected(" is no list")
        return [_inside(f"[{place}]", shape, one) for place, one in enumerate(value)]

    return check


def keyed(needed: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """A mapping with these keys. Others are dropped; an optional one that is missing stays so."""

    def check(value: t.Any) -> t.Any:
        if not isinstance(value, Mapping):
            raise Unexpected(" is no mapping")
        for name in needed:
            if name not in value:
                raise Unexpected(f" has no {name}")
        shapes = {**needed, **(optional or {})}
        return {name: _inside(f".{name}", shape, value[name]) for name, shape in shapes.items() if name in value}

    return check


def _inside(place: str, shape: Shape, value: t.Any) -> t.Any:
    try:
        return shape(value)
    except Unexpected as error:
        raise Unexpected(f"{place}{error}") from None


# What a host half says where it could not do what it was asked for.
_FAILURE = keyed(
    {"failed": flag, "msg": message},
    {
        "changed": flag,
        "kind": maybe(message),
        "status": maybe(whole),
        "health": list_of(mapping),
        # The host is the fence and does nothing: why, in one word.
        "refused": one_of(WORDS),
        # Where a module did not live to answer, Ansible says what it heard instead.
        "rc": maybe(whole),
        "module_stdout": message,
        "module_stderr": message,
    },
)


def checked(answer: t.Any, good: Shape) -> dict[str, t.Any]:
    """The answer of a host half, key by key: a good one of this shape, or a failure that says so."""
    try:
        if not isinstance(answer, Mapping):
            raise Unexpected(" is no mapping")
        if answer.get("failed"):
            return t.cast("dict[str, t.Any]", _FAILURE({"msg": "The host gave no reason", **answer, "failed": True}))
        return t.cast("dict[str, t.Any]", good(answer))
    except Unexpected as error:
        return {
            "failed": True,
            "changed": False,
            "kind": "unexpected",
            "msg": f"The host answered something else than it was asked for: its answer{error}."
            " Nothing of it was used. Look at what runs on this host as python3 and curl",
        }


_SHORT = maybe(message)

# The host's own time. It goes back to the host that told it, and nowhere else.
CLOCK = keyed({"boot_id": _SHORT, "seconds": maybe(number)})

# What the metadata service said, as it came. Its headers and the host's clock are of no use here.
_SERVICE_ANSWER = keyed({"status": whole, "body": text})
_READ = {"endpoint": message, "events": _SERVICE_ANSWER, "instance": maybe(_SERVICE_ANSWER)}
_RUN_MARK = keyed({"reflexes": flag, "left": flag})
EXCHANGE = keyed(
    {
        "answers": keyed(
            _READ,
            {
                "api_version": one_of(imds.API_VERSIONS),
                "sent": flag,
                "problem": maybe(keyed({"message": message, "unclear": flag})),
            },
        )
    },
)

# An event as `maintenance_status` has it, out of a journal.
_EVENT = keyed(
    {},
    {
        "id": message,
        "type": message,
        "status": message,
        "source": _SHORT,
        "resource_type": _SHORT,
        "resources": list_of(message),
        "not_before": _SHORT,
        "seconds_left": maybe(number),
        "duration_seconds": maybe(number),
        "description": maybe(words),
        "affects_this_host": maybe(flag),
    },
)
_JOURNAL_STEP = keyed(
    {
        "number": whole,
        "kind": message,
        "arguments": mapping,
        "before": maybe(mapping),
        "status": one_of(journal.STATUSES),
    },
    {"started_at": _SHORT, "ended_at": _SHORT, "error": message, "event": _SHORT, "changed_nothing": flag},
)
_JOURNAL = keyed(
    {"state": one_of((*journal.STATES, "restored")), "events": list_of(_EVENT), "steps": list_of(_JOURNAL_STEP)},
    {
        "version": whole,
        "run_id": _SHORT,
        "boot_id": _SHORT,
        "started_at": _SHORT,
        "drained_at": _SHORT,
        "restored_at": _SHORT,
        "marks": list_of(
            keyed(
                {"event": message, "hosts": list_of(message), "at": number},
                {"takes_down": flag, "vanishing": flag, "again": flag},
            )
        ),
        "worked_on_for": number,
        "steps_digest": _SHORT,
    },
)
JOURNAL = keyed(
    {"changed": flag, "journal": maybe(_JOURNAL), "boot_id": _SHORT, "now": message}, {"clock": maybe(CLOCK)}
)

# A reading of a run. What is wrong with the answer of the service does not hide the journal, nor the other way round.
HOST_STATE = keyed(
    {
        "reading": lambda value: checked(value, EXCHANGE),
        "kept": lambda value: checked(value, keyed({"journal": maybe(_JOURNAL)})),
        "clock": CLOCK,
        "run_mark": maybe(_RUN_MARK),
    }
)

_RECORD = keyed(
    {
        "host": message,
        "vm": message,
        "types": list_of(message),
        "events": list_of(message),
        "run_id": message,
        "at": message,
        "path": message,
    }
)
RECORDS = keyed({"changed": flag, "records": list_of(_RECORD), "unreadable": list_of(message)})

_HEALTH = keyed({"check": mapping, "ok": flag, "said": message})
_ONE_STEP = {
    "changed": flag,
    "before": maybe(mapping),
    "found": flag,
    "done": list_of(message),
    "remarks": list_of(message),
    "state": maybe(one_of((*journal.STATES, "restored"))),
    "drained_at": _SHORT,
    "restored_at": _SHORT,
    "boot_id": _SHORT,
    "now": message,
    "step": keyed(
        {"number": whole, "kind": message, "status": one_of(journal.STATUSES), "before": maybe(mapping)},
        {"seconds": number},
    ),
    "health": list_of(_HEALTH),
}
# Of several steps, the last may have failed.
_RESULT = keyed({"changed": flag}, {**_ONE_STEP, "failed": flag, "msg": message})
# A reading that a drain has brought along.
_LOOK = keyed(
    {
        "clock": CLOCK,
        "answers": keyed(_READ, {"api_version": one_of(imds.API_VERSIONS)}),
        "run_mark": maybe(_RUN_MARK),
        "journal": maybe(_JOURNAL),
    }
)
STEP = keyed(
    {"changed": flag},
    {**_ONE_STEP, "results": list_of(_RESULT), "journal": maybe(_JOURNAL), "look": maybe(_LOOK)},
)

# What a Windows host says of one action, see _windows_host.ps1.
_ACTION = keyed(
    {},
    {
        "problem": _SHORT,
        "said": _SHORT,
        "answer": text,
        "body_sha256": _SHORT,
        "content": maybe(text),
        "sha256": _SHORT,
        "replaced": flag,
        "count": maybe(whole),
        "uptime": number,
    },
)
ACTIONS = keyed({"results": list_of(_ACTION)})

_OWNER = keyed(
    {
        "run_id": message,
        "controller": message,
        "host": message,
        "pid": whole,
        "process_start": message,
        "user": message,
        "note": message,
        "taken_at": message,
    },
    {"seconds_left": whole, "reason": one_of(("dead", "expired"))},
)
# What a run is about to do to a host. What a lock host is given has the same shape as what it gives.
NOTE = keyed(
    {
        "host": message,
        "events": list_of(message),
        "type": message,
        "run": message,
        "at": number,
        "mark": maybe(
            keyed(
                {
                    "event": message,
                    "hosts": list_of(message),
                    "at": number,
                    "takes_down": flag,
                    "vanishing": flag,
                }
            )
        ),
    }
)
LEASE = keyed(
    {
        "held": flag,
        "changed": flag,
        "renewed": flag,
        "holder": maybe(_OWNER),
        "took_over_from": maybe(_OWNER),
        "notes": list_of(NOTE),
        "remembers": number,
        "too_new_for": maybe(number),
    },
)
