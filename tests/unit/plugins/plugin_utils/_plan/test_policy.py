# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is decided about an event, what is said about it, and what about a policy with a mistake."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure.rules import BadRules, read_rules
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import BadPolicy, read_policy, ruling_on
from helpers.default_policy import DEFAULT_POLICY
from hypothesis import given
from hypothesis import strategies as st

# What is decided about an event, and what is said about a policy with a mistake.

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
        ({"description": "LIVE migration"}, {"description": "a Live\nMigration here"}, True),
        ({"description": "a.b"}, {"description": "axb"}, False),
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
        ([{"action": "skip"}], "Rule 1 of maintenance_policy needs an action of drain, approve or ignore, not 'skip'"),
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
        ([{"action": "drain", "shorter_than": -1}], f"Rule 1 of maintenance_policy: shorter_than {A_TIME}, not -1"),
        ([{"action": "drain", "due_after": True}], f"Rule 1 of maintenance_policy: due_after {A_TIME}, not True"),
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


# What is said about a rule, key by key, and the keys that only one list of rules knows.

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


# Events on a limit and beside it, for each key of a rule: what `make mutants` has shown to be untested.

UNITS = [("7", 7), ("7s", 7), ("7 S", 7), ("2m", 120), ("2h", 7200), ("2d", 172800), (7, 7)]


def matches(event, **rule):
    return ruling_on({"type": "Freeze", **event}, read_policy([{**rule, "action": "ignore"}]))["rule"] == 1


@pytest.mark.parametrize(("span", "seconds"), UNITS)
def test_a_limit_is_so_many_seconds(span, seconds):
    for key, field, fits in (
        ("shorter_than", "duration_seconds", (True, False, False)),
        ("longer_than", "duration_seconds", (False, False, True)),
        ("due_within", "seconds_left", (True, True, False)),
        ("due_after", "seconds_left", (False, False, True)),
    ):
        found = tuple(matches({field: seconds + near}, **{key: span}) for near in (-1, 0, 1))
        assert found == fits, key


@pytest.mark.parametrize(
    ("key", "field", "fits"),
    [
        ("shorter_than", "duration_seconds", False),
        ("longer_than", "duration_seconds", False),
        # What has no date is due.
        ("due_within", "seconds_left", True),
        ("due_after", "seconds_left", False),
    ],
)
@pytest.mark.parametrize("unknown", [{}, None, True, "5"])
def test_what_is_not_known(key, field, fits, unknown):
    event = {} if unknown == {} else {field: unknown}
    assert matches(event, **{key: 0 if key in ("longer_than", "due_after") else 10}) is fits


@pytest.mark.parametrize("wanted", [True, False])
def test_whether_the_duration_is_known(wanted):
    assert matches({"duration_seconds": 0}, duration_known=wanted) is wanted
    assert matches({"duration_seconds": 5}, duration_known=wanted) is wanted
    assert matches({"duration_seconds": None}, duration_known=wanted) is not wanted
    assert matches({}, duration_known=wanted) is not wanted


@pytest.mark.parametrize("key", ["type", "source"])
@pytest.mark.parametrize("words", [[1], ["User", 1], [""], ["  "], [None], [], {}, 1, ""])
def test_words_that_are_none(key, words):
    with pytest.raises(BadPolicy, match=f"Rule 1 of maintenance_policy: {key} must be"):
        read_policy([{key: words, "action": "drain"}])


@pytest.mark.parametrize("span", [True, "-1", -1, "1w", "", None, "1h30m", "1.5", "1234567890"])
def test_spans_that_are_none(span):
    with pytest.raises(BadPolicy, match="must be a number of seconds"):
        read_policy([{"shorter_than": span, "action": "drain"}])


def test_a_mistake_that_is_long_is_shown_in_part():
    for length, shown in ((78, "x" * 78), (79, "x" * 76 + "...")):
        with pytest.raises(BadPolicy) as error:
            read_policy([{"action": "x" * length}])
        assert f"not '{shown}" in str(error.value)
