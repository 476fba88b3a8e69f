# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events on a limit and beside it, for each key of a rule: what `make mutants` has shown to be untested."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.policy import BadPolicy, read_policy, ruling_on

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
