# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host may say: every key by name, with its type. All else is dropped, whatever way it came.

A host may be broken into. What it answers becomes a result of Ansible's only through here, so that it makes no facts,
no variables, no hosts and no groups, and decides about nobody's connections. Pure.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable, Collection, Mapping

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import visible
from ansible_collections.maintenance.azure.plugins.module_utils._host.ownership import WORDS

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
    return str(visible(text(value)[:LONGEST_MESSAGE]))


def words(value: t.Any) -> str:
    """The same, as long as it is."""
    return str(visible(text(value)))


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
