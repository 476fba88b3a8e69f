# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of a policy that never decide: what they match is taken by rules before them, or can't be at all. Pure."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.module_utils._azure.rules import span
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import TYPE_SINCE
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import in_words, some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import (
    BadPolicy,
    Rule,
    read_policy,
    ruling_on,
)

_DURATIONS = ("shorter_than", "longer_than")
_DUES = ("due_within", "due_after")


def about_policy(policy: t.Any) -> list[Finding]:
    try:
        rules = read_policy(policy)
    except BadPolicy as error:
        return [bad("plan", "policy", str(error), "docs/policies.md has all keys")]
    found = [_about_types(raw, number) for number, raw in enumerate(policy, start=1)]
    found += [_about_rule(rules, policy, rule) for rule in rules]
    told = [finding for finding in found if finding]
    return told or [good("plan", "policy", f"{len(rules)} rules, and each can decide")]


def _about_types(raw: Mapping[str, t.Any], number: int) -> Finding | None:
    unknown = [
        word for word in _words(raw.get("type")) if word.casefold() not in {name.casefold() for name in TYPE_SINCE}
    ]
    if not unknown:
        return None
    do = f"Azure sends {', '.join(TYPE_SINCE)}: correct it, unless a new type has come up"
    return doubtful("plan", "policy", f"rule {number} is for the type {in_words(unknown)}, which is not known", do)


def _about_rule(rules: Sequence[Rule], policy: Sequence[Mapping[str, t.Any]], rule: Rule) -> Finding | None:
    raw = policy[rule.number - 1]
    matched = False
    instead: dict[int, None] = {}
    for event in _representatives(policy, raw):
        if not all(condition.matches(event) for condition in rule.conditions):
            continue
        matched = True
        decision = ruling_on(event, rules)
        if decision["rule"] == rule.number:
            return None
        instead[decision["rule"] or 0] = None
    called = f"rule {rule.number} ({rule.name})" if rule.name else f"rule {rule.number}"
    if not matched:
        return doubtful("plan", "policy", f"{called} can never match: its conditions exclude each other", "Correct it")
    others = [f"rule {number}" for number in sorted(instead)]
    taken = f"{others[0]} before it takes" if len(others) == 1 else f"{some_of(others, 3)} before it take"
    do = "Put it further up, or take it out"
    return doubtful("plan", "policy", f"{called} can never match: {taken} all that it is for", do)


def _representatives(policy: Sequence[Mapping[str, t.Any]], raw: Mapping[str, t.Any]) -> t.Iterator[dict[str, t.Any]]:
    """Events that stand for all that this rule could be asked about: on and beside each limit of any rule."""
    types = _words(raw.get("type")) or [
        *TYPE_SINCE,
        *(word for rule in policy for word in _words(rule.get("type"))),
        "?",
    ]
    sources: list[str | None] = [*_words(raw.get("source"))] or ["Platform", "User", None]
    durations = [None, *_beside(policy, _DURATIONS)]
    dues = [None, *_beside(policy, _DUES)]
    # No more is said than the rule asks for: a rule before it that asks for less matches that too.
    description = str(raw.get("description") or "")
    for kind, source, duration, due in itertools.product(types, sources, durations, dues):
        event = {"type": kind, "source": source, "duration_seconds": duration, "seconds_left": due}
        yield {**event, "description": description}


def _beside(policy: Sequence[Mapping[str, t.Any]], names: Sequence[str]) -> list[int]:
    limits = {span(rule[name]) for rule in policy for name in names if name in rule}
    return sorted({0} | {limit + near for limit in limits for near in (-1, 0, 1) if limit + near >= 0})


def _words(value: t.Any) -> list[str]:
    if value is None:
        return []
    return [str(word).strip() for word in ([value] if isinstance(value, str) else value)]
