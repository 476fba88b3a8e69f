# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do with an event: the first rule of `maintenance_policy` that matches it. Pure; docs/policies.md tells it.

Where no rule matches, the host is drained first: that is never wrong, only slower.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t
from collections.abc import Callable, Mapping, Sequence

ACTIONS = ("drain", "approve", "ignore")

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN = re.compile(r"(\d{1,9})\s*([smhd]?)", re.IGNORECASE)
_SOURCES = ("platform", "user")


class BadPolicy(ValueError):
    """The policy can't be used. The text is for the user and names the rule and the key."""


class Decision(t.TypedDict):
    action: str
    # The number of the rule, from 1; None where none matched.
    rule: int | None
    why: str


class _Condition(t.NamedTuple):
    """One key of a rule: what it asks of an event, and how to say that in words."""

    matches: Callable[[Mapping[str, t.Any]], bool]
    words: Callable[[Mapping[str, t.Any]], str]


@dataclasses.dataclass(frozen=True)
class Rule:
    number: int
    name: str | None
    action: str
    conditions: tuple[_Condition, ...]


def read_policy(policy: t.Any) -> list[Rule]:
    """The rules, checked. Raises BadPolicy."""
    if not isinstance(policy, (list, tuple)):
        raise BadPolicy(f"maintenance_policy must be a list of rules, not {_shown(policy)}")
    return [_rule(raw, number) for number, raw in enumerate(policy, start=1)]


def decide(event: Mapping[str, t.Any], rules: Sequence[Rule]) -> Decision:
    """The first rule that matches decides."""
    for rule in rules:
        if all(condition.matches(event) for condition in rule.conditions):
            return {"action": rule.action, "rule": rule.number, "why": _why(rule, event)}
    return {"action": "drain", "rule": None, "why": "no rule matches, and then it is drained first"}


def _why(rule: Rule, event: Mapping[str, t.Any]) -> str:
    called = f"rule {rule.number} ({rule.name})" if rule.name else f"rule {rule.number}"
    if not rule.conditions:
        return f"{called}, as no rule before it matches"
    return f"{called}: " + ", ".join(condition.words(event) for condition in rule.conditions)


def _rule(raw: t.Any, number: int) -> Rule:
    where = f"Rule {number} of maintenance_policy"
    if not isinstance(raw, Mapping):
        raise BadPolicy(f"{where} must be a mapping such as {{type: Freeze, action: approve}}, not {_shown(raw)}")
    for key in raw:
        if key not in _CONDITIONS and key not in ("name", "action"):
            known = ", ".join(["action", "name", *_CONDITIONS])
            raise BadPolicy(f"{where} has a key that is not known, {_shown(key)}; known are {known}")
    action = raw.get("action")
    if action not in ACTIONS:
        said = f"not {_shown(action)}" if "action" in raw else "but there is none"
        raise BadPolicy(f"{where} needs an action of drain, approve or ignore, {said}")
    conditions = []
    for key, make in _CONDITIONS.items():
        if key in raw:
            try:
                conditions.append(make(raw[key]))
            except ValueError as error:
                raise BadPolicy(f"{where}: {key} {error}, not {_shown(raw[key])}") from None
    name = raw.get("name")
    return Rule(number, None if name is None else str(name), str(action), tuple(conditions))


def _type(value: t.Any) -> _Condition:
    # Azure may send a type tomorrow that is not known today, so that any word will do.
    wanted = _words(value, "must be an event type such as Freeze, or a list of them")
    return _Condition(
        lambda event: str(event.get("type")).casefold() in wanted,
        lambda event: f"it is a {event.get('type')}",
    )


def _source(value: t.Any) -> _Condition:
    complaint = "must be Platform or User, or a list of both"
    wanted = _words(value, complaint)
    if not wanted.issubset(_SOURCES):
        raise ValueError(complaint)
    return _Condition(
        lambda event: str(event.get("source") or "").casefold() in wanted,
        lambda event: f"its source is {event.get('source')}",
    )


def _shorter_than(value: t.Any) -> _Condition:
    limit = _span(value)
    return _Condition(
        lambda event: _known(event, "duration_seconds") and event["duration_seconds"] < limit,
        lambda event: f"{event['duration_seconds']} s long, which is shorter than {value}{_unit_of(value)}",
    )


def _longer_than(value: t.Any) -> _Condition:
    limit = _span(value)
    return _Condition(
        lambda event: _known(event, "duration_seconds") and event["duration_seconds"] > limit,
        lambda event: f"{event['duration_seconds']} s long, which is longer than {value}{_unit_of(value)}",
    )


def _duration_known(value: t.Any) -> _Condition:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return _Condition(
        lambda event: _known(event, "duration_seconds") is value,
        lambda event: f"how long it takes is {'' if value else 'not '}known",
    )


def _description(value: t.Any) -> _Condition:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a part of the description's text")
    part = " ".join(value.split()).casefold()
    return _Condition(
        lambda event: part in " ".join(str(event.get("description") or "").split()).casefold(),
        lambda event: f'its description says "{value}"',
    )


def _due_within(value: t.Any) -> _Condition:
    limit = _span(value)
    return _Condition(
        # What has started or has no date is due.
        lambda event: not _known(event, "seconds_left") or event["seconds_left"] <= limit,
        lambda event: f"it is due within {value}{_unit_of(value)}",
    )


def _due_after(value: t.Any) -> _Condition:
    limit = _span(value)
    return _Condition(
        lambda event: _known(event, "seconds_left") and event["seconds_left"] > limit,
        lambda event: f"it is more than {value}{_unit_of(value)} away",
    )


_CONDITIONS: dict[str, Callable[[t.Any], _Condition]] = {
    "type": _type,
    "source": _source,
    "shorter_than": _shorter_than,
    "longer_than": _longer_than,
    "duration_known": _duration_known,
    "description": _description,
    "due_within": _due_within,
    "due_after": _due_after,
}


def _words(value: t.Any, complaint: str) -> set[str]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, (list, tuple)) or not words:
        raise ValueError(complaint)
    if not all(isinstance(word, str) and word.strip() for word in words):
        raise ValueError(complaint)
    return {word.strip().casefold() for word in words}


def _span(value: t.Any) -> int:
    """Seconds, from a number or from a text such as 10s, 15m, 36h or 7d."""
    found = _SPAN.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    if not found:
        raise ValueError("must be a number of seconds, or a text such as 10s, 15m, 36h or 7d")
    return int(found[1]) * _UNITS[found[2].lower()]


def _unit_of(value: t.Any) -> str:
    return " s" if str(value).strip().isdigit() else ""


def _known(event: Mapping[str, t.Any], key: str) -> bool:
    value = event.get(key)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: t.Any) -> str:
    return repr(value) if len(repr(value)) <= 80 else repr(value)[:77] + "..."
