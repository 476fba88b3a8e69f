# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that never decide are found, and no others."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.policy_rules import about_policy
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.policy import read_policy, ruling_on
from helpers.default_policy import DEFAULT_POLICY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ALL_ELSE = {"action": "drain"}


def told(*policy):
    return [(finding.verdict, finding.seen) for finding in about_policy(list(policy))]


def test_the_policy_that_comes_along_is_good():
    assert told(*DEFAULT_POLICY) == [("good", "2 rules, and each can decide")]


@pytest.mark.parametrize(
    "policy",
    [
        [ALL_ELSE, {"type": "Freeze", "action": "approve"}],
        [{"type": ["Freeze", "Reboot"], "action": "drain"}, {"type": "Freeze", "shorter_than": 5, "action": "approve"}],
        [{"shorter_than": "10m", "action": "approve"}, {"shorter_than": 599, "action": "drain"}, ALL_ELSE],
        [{"description": "migration", "action": "ignore"}, {"description": "Live Migration", "action": "drain"}],
        [{"due_within": "1h", "action": "drain"}, {"due_after": "1h", "action": "ignore"}, ALL_ELSE],
        [{"source": ["User", "Platform"], "action": "drain"}, {"source": "user", "action": "approve"}],
    ],
)
def test_a_rule_that_others_leave_nothing_to_is_told(policy):
    found = [seen for verdict, seen in told(*policy) if verdict == "doubtful"]
    assert len(found) == 1
    assert found[0].startswith("rule ")
    assert "before it take" in found[0]


@pytest.mark.parametrize(
    "rule",
    [
        {"shorter_than": 5, "longer_than": 5},
        {"shorter_than": 5, "duration_known": False},
        {"due_within": 60, "due_after": "1m"},
        {"shorter_than": 0},
    ],
)
def test_a_rule_that_excludes_itself_is_told(rule):
    assert "its conditions exclude each other" in told({**rule, "action": "approve"}, ALL_ELSE)[0][1]


def test_a_rule_for_the_rest_of_what_another_takes_is_good():
    policy = [{"type": "Freeze", "shorter_than": 10, "action": "approve"}, {"type": "Freeze", "action": "drain"}]
    assert [verdict for verdict, _seen in told(*policy, ALL_ELSE)] == ["good"]


def test_a_type_that_is_not_known_is_doubtful():
    ((verdict, seen),) = told({"type": ["Freeze", "Reeboot"], "action": "drain"}, ALL_ELSE)
    assert verdict == "doubtful"
    assert "Reeboot" in seen


def test_a_policy_that_can_not_be_read_is_bad():
    ((verdict, seen),) = told({"typ": "Freeze", "action": "drain"})
    assert verdict == "bad"
    assert "typ" in seen


WORDS = st.sampled_from(["Freeze", "Reboot", "Preempt"])
RULES = st.fixed_dictionaries(
    {"action": st.sampled_from(["drain", "approve", "ignore"])},
    optional={
        "type": WORDS | st.lists(WORDS, min_size=1, max_size=2),
        "source": st.sampled_from(["User", "Platform"]),
        "shorter_than": st.integers(0, 4),
        "longer_than": st.integers(0, 4),
        "duration_known": st.booleans(),
        "description": st.sampled_from(["host", "the host server", "live"]),
        "due_within": st.integers(0, 4),
        "due_after": st.integers(0, 4),
    },
)
EVENTS = st.fixed_dictionaries(
    {
        "type": WORDS | st.just("Redeploy"),
        "source": st.sampled_from(["User", "Platform", None]),
        "duration_seconds": st.none() | st.integers(0, 6),
        "seconds_left": st.none() | st.integers(0, 6),
        "description": st.sampled_from(["", "host", "the host server", "live", "live the host server"]),
    }
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RULES, min_size=1, max_size=4), st.lists(EVENTS, min_size=1, max_size=30))
def test_no_event_is_decided_by_a_rule_that_is_said_to_be_dead(policy, events):
    dead = {int(finding.seen.split()[1]) for finding in about_policy(policy) if "can never match" in finding.seen}
    rules = read_policy(policy)
    assert not dead & {ruling_on(event, rules)["rule"] for event in events}
