# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that select events by their fields.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections
import re
from collections.abc import Mapping

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN = re.compile(r"(\d{1,9})\s*([smhd]?)", re.IGNORECASE)
_SOURCES = ("platform", "user")

# `number` counts from 1. `flags` are further keys that a list of rules allows, each true or false.
Rule = collections.namedtuple("Rule", "number name action conditions flags")
# One key of a rule: its test of an event, and its description in words.
_Condition = collections.namedtuple("_Condition", "matches words")


class BadRules(ValueError):
    """Raised for rules that can't be used. The text is for the user and names the rule and the key."""


def read_rules(rules, variable, actions, example, flags=(), default=None):
    """Parse the rules of a variable, or raise BadRules. `default` is the action of a rule without one."""
    if not isinstance(rules, (list, tuple)):
        raise BadRules("%s must be a list of rules, not %s" % (variable, _shown(rules)))
    return [
        _rule(raw, number, "Rule %d of %s" % (number, variable), actions, example, flags, default)
        for number, raw in enumerate(rules, start=1)
    ]


def first_match(event, rules):
    """Return the first rule that matches, or None."""
    for rule in rules:
        if all(condition.matches(event) for condition in rule.conditions):
            return rule
    return None


def why(rule, event):
    """Describe in words why the rule matches the event."""
    called = "rule %d (%s)" % (rule.number, rule.name) if rule.name else "rule %d" % rule.number
    if not rule.conditions:
        return "%s, as no rule before it matches" % called
    return "%s: %s" % (called, ", ".join(condition.words(event) for condition in rule.conditions))


def _rule(raw, number, where, actions, example, flags, default):
    if not isinstance(raw, Mapping):
        raise BadRules("%s must be a mapping such as %s, not %s" % (where, example, _shown(raw)))
    for key in raw:
        if key not in CONDITIONS and key not in ("name", "action") and key not in flags:
            known = ", ".join(["action", "name"] + list(flags) + list(CONDITIONS))
            raise BadRules("%s has a key that is not known, %s; known are %s" % (where, _shown(key), known))
    action = raw.get("action", default)
    if action not in actions:
        said = "not %s" % _shown(action) if "action" in raw else "but there is none"
        wanted = "%s or %s" % (", ".join(actions[:-1]), actions[-1])
        raise BadRules("%s needs an action of %s, %s" % (where, wanted, said))
    conditions = []
    for key, make in CONDITIONS.items():
        if key in raw:
            try:
                conditions.append(make(raw[key]))
            except ValueError as error:
                raise BadRules("%s: %s %s, not %s" % (where, key, error, _shown(raw[key]))) from None
    set_flags = {flag: raw.get(flag, False) for flag in flags}
    for flag, value in set_flags.items():
        if not isinstance(value, bool):
            raise BadRules("%s: %s must be true or false, not %s" % (where, flag, _shown(value)))
    name = raw.get("name")
    return Rule(number, None if name is None else str(name), str(action), tuple(conditions), set_flags)


def _type(value):
    # Any word is accepted, because Azure may add types.
    wanted = _words(value, "must be an event type such as Freeze, or a list of them")
    return _Condition(
        lambda event: str(event.get("type")).casefold() in wanted, lambda event: "it is a %s" % event.get("type")
    )


def _source(value):
    complaint = "must be Platform or User, or a list of both"
    wanted = _words(value, complaint)
    if not wanted.issubset(_SOURCES):
        raise ValueError(complaint)
    return _Condition(
        lambda event: str(event.get("source") or "").casefold() in wanted,
        lambda event: "its source is %s" % event.get("source"),
    )


def _shorter_than(value):
    limit = span(value)
    return _Condition(
        lambda event: _known(event, "duration_seconds") and event["duration_seconds"] < limit,
        lambda event: "%s s long, which is shorter than %s%s" % (event["duration_seconds"], value, _unit_of(value)),
    )


def _longer_than(value):
    limit = span(value)
    return _Condition(
        lambda event: _known(event, "duration_seconds") and event["duration_seconds"] > limit,
        lambda event: "%s s long, which is longer than %s%s" % (event["duration_seconds"], value, _unit_of(value)),
    )


def _duration_known(value):
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return _Condition(
        lambda event: _known(event, "duration_seconds") is value,
        lambda event: "how long it takes is %sknown" % ("" if value else "not "),
    )


def _description(value):
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a part of the description's text")
    part = " ".join(value.split()).casefold()
    return _Condition(
        lambda event: part in " ".join(str(event.get("description") or "").split()).casefold(),
        lambda event: 'its description says "%s"' % value,
    )


def _due_within(value):
    limit = span(value)
    return _Condition(
        # Events that have started or have no date are due.
        lambda event: not _known(event, "seconds_left") or event["seconds_left"] <= limit,
        lambda event: "it is due within %s%s" % (value, _unit_of(value)),
    )


def _due_after(value):
    limit = span(value)
    return _Condition(
        lambda event: _known(event, "seconds_left") and event["seconds_left"] > limit,
        lambda event: "it is more than %s%s away" % (value, _unit_of(value)),
    )


CONDITIONS = collections.OrderedDict(
    (
        ("type", _type),
        ("source", _source),
        ("shorter_than", _shorter_than),
        ("longer_than", _longer_than),
        ("duration_known", _duration_known),
        ("description", _description),
        ("due_within", _due_within),
        ("due_after", _due_after),
    )
)


def _words(value, complaint):
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, (list, tuple)) or not words:
        raise ValueError(complaint)
    if not all(isinstance(word, str) and word.strip() for word in words):
        raise ValueError(complaint)
    return {word.strip().casefold() for word in words}


def span(value):
    """Convert a number, or a text such as 10s, 15m, 36h or 7d, to seconds."""
    found = _SPAN.fullmatch(str(value).strip())
    if not found:
        raise ValueError("must be a number of seconds, or a text such as 10s, 15m, 36h or 7d")
    return int(found.group(1)) * _UNITS[found.group(2).lower()]


def _unit_of(value):
    return " s" if str(value).strip().isdigit() else ""


def _known(event, key):
    value = event.get(key)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value):
    return repr(value) if len(repr(value)) <= 80 else repr(value)[:77] + "..."
