# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do with an event: the first rule of `maintenance_policy` that matches it. Pure; docs/policies.md tells it.

Where no rule matches, the host is drained first: that is never wrong, only slower.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.module_utils._azure import rules as _rules

ACTIONS = ("drain", "approve", "ignore")
EXAMPLE = "{type: Freeze, action: approve}"

BadPolicy = _rules.BadRules
Rule = _rules.Rule


class Ruling(t.TypedDict):
    action: str
    # The number of the rule, from 1; None where none matched.
    rule: int | None
    why: str


def read_policy(policy: t.Any) -> list[Rule]:
    """The rules, checked. Raises BadPolicy."""
    return _rules.read_rules(policy, "maintenance_policy", ACTIONS, EXAMPLE)


def ruling_on(event: Mapping[str, t.Any], rules: Sequence[Rule]) -> Ruling:
    """The first rule that matches decides."""
    rule = _rules.first_match(event, rules)
    if rule is None:
        return {"action": "drain", "rule": None, "why": "no rule matches, and then it is drained first"}
    return {"action": rule.action, "rule": rule.number, "why": _rules.why(rule, event)}
