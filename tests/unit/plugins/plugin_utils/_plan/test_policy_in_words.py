# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said about a rule, key by key, and the keys that only one list of rules knows."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._document.rules import BadRules, read_rules
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.policy import read_policy, ruling_on

EVENT = {
    "type": "Freeze",
    "source": "Platform",
    "duration_seconds": 5,
    "seconds_left": 100,
    "description": "Live migration",
}


def why(rule, **event):
    return ruling_on({**EVENT, **event}, read_policy([{**rule, "action": "drain"}]))["why"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"type": "freeze"}, "it is a Freeze"),
        ({"source": "platform"}, "its source is Platform"),
        ({"shorter_than": 10}, "5 s long, which is shorter than 10 s"),
        ({"shorter_than": "10m"}, "5 s long, which is shorter than 10m"),
        ({"longer_than": 4}, "5 s long, which is longer than 4 s"),
        ({"duration_known": True}, "how long it takes is known"),
        ({"description": "live"}, 'its description says "live"'),
        ({"due_within": "1h"}, "it is due within 1h"),
        ({"due_after": 60}, "it is more than 60 s away"),
    ],
)
def test_why_a_rule_matches(rule, words):
    assert why(rule) == f"rule 1: {words}"
    assert why({**rule, "name": "mine"}) == f"rule 1 (mine): {words}"


def test_why_a_rule_matches_what_is_not_known():
    assert why({"duration_known": False}, duration_seconds=None) == "rule 1: how long it takes is not known"


def test_the_rule_is_called_by_its_number():
    policy = read_policy([{"type": "Reboot", "action": "ignore"}, {"action": "drain"}])
    assert ruling_on(EVENT, policy)["why"] == "rule 2, as no rule before it matches"


def rules_with_flags(**rule):
    return read_rules(
        [{"action": "tell", **rule}], "watch_reflex", ("tell", "drain"), "{action: tell}", ("loud", "late")
    )


def test_a_flag_is_false_until_it_is_set():
    assert rules_with_flags()[0].flags == {"loud": False, "late": False}
    assert rules_with_flags(late=True)[0].flags == {"loud": False, "late": True}


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_a_flag_is_true_or_false(value):
    with pytest.raises(BadRules) as error:
        rules_with_flags(late=value)
    assert str(error.value) == f"Rule 1 of watch_reflex: late must be true or false, not {value!r}"


def test_a_flag_is_known_to_its_own_list_only():
    with pytest.raises(BadRules, match="has a key that is not known, 'late'"):
        read_policy([{"action": "drain", "late": True}])
    with pytest.raises(BadRules, match="known are action, name, loud, late, type,"):
        rules_with_flags(other=True)
