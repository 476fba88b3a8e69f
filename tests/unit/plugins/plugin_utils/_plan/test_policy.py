# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is decided about an event, and what is said about a policy with a mistake."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.policy import BadPolicy, read_policy, ruling_on
from helpers.default_policy import DEFAULT_POLICY
from hypothesis import given
from hypothesis import strategies as st

A_TIME = "must be a number of seconds, or a text such as 10s, 15m, 36h or 7d"

events = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", "Reimage"]),
        "status": st.sampled_from(["Scheduled", "Started"]),
        "source": st.sampled_from(["Platform", "User", None]),
        "duration_seconds": st.one_of(st.none(), st.integers(0, 40)),
        "seconds_left": st.one_of(st.none(), st.integers(0, 10**6)),
        "description": st.sampled_from(["", "Host server is undergoing maintenance.", "Live  Migration"]),
    }
)
rules = st.fixed_dictionaries(
    {"action": st.sampled_from(["drain", "approve", "ignore"])},
    optional={
        "type": st.sampled_from(["freeze", "Reboot", ["Redeploy", "PREEMPT"], "Reimage"]),
        "source": st.sampled_from(["platform", ["User"], ["User", "Platform"]]),
        "shorter_than": st.sampled_from([0, 10, "10", "1m"]),
        "longer_than": st.sampled_from([0, 10, "5 s"]),
        "duration_known": st.booleans(),
        "description": st.sampled_from(["host SERVER", "live migration"]),
        "due_within": st.sampled_from(["15m", 0, "2d"]),
        "due_after": st.sampled_from(["15m", 0, "2d"]),
    },
)


def action(event, *policy):
    return ruling_on({"type": "Freeze", **event}, read_policy(list(policy)))["action"]


@given(events, st.lists(rules, max_size=5))
def test_the_first_rule_that_matches_decides(event, policy):
    decision = ruling_on(event, read_policy(policy))
    alone = [ruling_on(event, read_policy([rule]))["rule"] == 1 for rule in policy]
    if any(alone):
        first = alone.index(True)
        assert (decision["rule"], decision["action"]) == (first + 1, policy[first]["action"])
    else:
        assert (decision["rule"], decision["action"]) == (None, "drain")
    assert decision["why"]


@given(events)
def test_the_default_approves_a_freeze_known_to_be_short_and_drains_all_else(event):
    short = event["type"] == "Freeze" and event["duration_seconds"] is not None and event["duration_seconds"] < 10
    assert ruling_on(event, read_policy(DEFAULT_POLICY))["action"] == ("approve" if short else "drain")


@given(events, rules)
def test_each_further_condition_only_narrows_a_rule(event, rule):
    if ruling_on(event, read_policy([rule]))["rule"]:
        for key in set(rule) - {"action"}:
            wider = {other: value for other, value in rule.items() if other != key}
            assert ruling_on(event, read_policy([wider]))["rule"] == 1


@pytest.mark.parametrize(
    ("rule", "event", "matches"),
    [
        ({"type": "freeze"}, {}, True),
        ({"type": ["Reboot", "Freeze"]}, {}, True),
        ({"type": "Free"}, {}, False),
        ({"type": "Reimage"}, {"type": "Reimage"}, True),
        ({"source": "User"}, {"source": "User"}, True),
        ({"source": ["User", "Platform"]}, {"source": None}, False),
        ({"shorter_than": 10}, {"duration_seconds": 9}, True),
        ({"shorter_than": 10}, {"duration_seconds": 10}, False),
        ({"shorter_than": 10}, {"duration_seconds": 0}, True),
        ({"shorter_than": 10}, {"duration_seconds": None}, False),
        ({"longer_than": "1m"}, {"duration_seconds": 61}, True),
        ({"longer_than": "1m"}, {"duration_seconds": 60}, False),
        ({"longer_than": "1m"}, {"duration_seconds": None}, False),
        ({"duration_known": False}, {"duration_seconds": None}, True),
        ({"duration_known": False}, {"duration_seconds": 0}, False),
        ({"description": "LIVE migration"}, {"description": "a Live\nMigration here"}, True),
        ({"description": "a.b"}, {"description": "axb"}, False),
        ({"due_within": "15m"}, {"seconds_left": 900}, True),
        ({"due_within": "15m"}, {"seconds_left": 901}, False),
        ({"due_within": "15m"}, {"seconds_left": None}, True),
        ({"due_after": "1d"}, {"seconds_left": 86401}, True),
        ({"due_after": "1d"}, {"seconds_left": 86400}, False),
        ({"due_after": "1d"}, {"seconds_left": None}, False),
    ],
)
def test_conditions(rule, event, matches):
    assert action(event, {**rule, "action": "ignore"}) == ("ignore" if matches else "drain")


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ("drain", "maintenance_policy must be a list of rules, not 'drain'"),
        (
            ["drain"],
            "Rule 1 of maintenance_policy must be a mapping such as {type: Freeze, action: approve}, not 'drain'",
        ),
        (
            [{"action": "drain"}, {"typ": "Freeze", "action": "drain"}],
            (
                "Rule 2 of maintenance_policy has a key that is not known, 'typ'; known are action, name, type, source,"
                " shorter_than, longer_than, duration_known, description, due_within, due_after"
            ),
        ),
        ([{}], "Rule 1 of maintenance_policy needs an action of drain, approve or ignore, but there is none"),
        (
            [{"action": "skip"}],
            "Rule 1 of maintenance_policy needs an action of drain, approve or ignore, not 'skip'",
        ),
        (
            [{"action": ["drain"]}],
            "Rule 1 of maintenance_policy needs an action of drain, approve or ignore, not ['drain']",
        ),
        (
            [{"action": "drain", "source": "Azure"}],
            "Rule 1 of maintenance_policy: source must be Platform or User, or a list of both, not 'Azure'",
        ),
        (
            [{"action": "drain", "type": []}],
            "Rule 1 of maintenance_policy: type must be an event type such as Freeze, or a list of them, not []",
        ),
        (
            [{"action": "drain", "shorter_than": -1}],
            f"Rule 1 of maintenance_policy: shorter_than {A_TIME}, not -1",
        ),
        (
            [{"action": "drain", "due_after": True}],
            f"Rule 1 of maintenance_policy: due_after {A_TIME}, not True",
        ),
        (
            [{"action": "drain", "duration_known": "yes"}],
            "Rule 1 of maintenance_policy: duration_known must be true or false, not 'yes'",
        ),
        (
            [{"action": "drain", "description": " "}],
            "Rule 1 of maintenance_policy: description must be a part of the description's text, not ' '",
        ),
    ],
)
def test_a_mistake_is_said_in_one_sentence(policy, sentence):
    with pytest.raises(BadPolicy) as failure:
        read_policy(policy)
    assert str(failure.value) == sentence


def test_why_is_said_in_words():
    event = {"type": "Freeze", "duration_seconds": 5, "seconds_left": 100, "source": "Platform"}
    assert ruling_on(event, read_policy(DEFAULT_POLICY))["why"] == (
        "rule 1 (a short freeze needs no drain): it is a Freeze, 5 s long, which is shorter than 10 s"
    )
    assert ruling_on({**event, "duration_seconds": 30}, read_policy(DEFAULT_POLICY))["why"] == (
        "rule 2 (all else is drained first), as no rule before it matches"
    )
    assert ruling_on(event, [])["why"] == "no rule matches, and then it is drained first"
