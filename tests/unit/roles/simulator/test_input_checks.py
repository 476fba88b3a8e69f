# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people may write, and the sentence that they get otherwise."""

from __future__ import annotations

import math

import pytest
from helpers.simulator_inside import part

checks = part("input_checks")
NAN, INFINITE = math.nan, math.inf
WORDS = {"a": 1, "b": 2}
# Check -> what it takes, what it does not, and what it says then.
RULES = {
    "a_text": (["x", "two words"], ["", "two\nlines", "\t", 1, None, ["x"]], "a text of one line that is not empty"),
    "any_text": (["", "x", "two\nlines"], [1, None, b"x", ["x"]], "a text"),
    "a_duration": (
        [0, 0.5, 1, 9_999_999_999],
        [-1, -0.1, 1e10, 1e11, NAN, INFINITE, True, "1", None],
        "a number of seconds, 0 or more",
    ),
    "a_positive_number": (
        [0.001, 1, 9_999_999_999],
        [0, 0.0, -1, 1e10, 1e11, NAN, INFINITE, True, "1", None],
        "a number greater than 0",
    ),
    "an_integer": ([-1, 0, 7], [1.0, True, False, "1", None], "an integer"),
    "a_count": ([0, 1, 7], [-1, 1.0, True, "1", None], "an integer, 0 or more"),
    "at_least_one": ([1, 2, 7], [0, -1, 1.0, True, "1", None], "an integer, 1 or more"),
    "a_port": ([0, 1, 80, 65535], [-1, 65536, 80.0, True, "80", None], "a port number, 0 to 65535"),
    "a_status": ([200, 404, 599], [199, 600, 200.0, True, "200", None], "an HTTP status, 200 to 599"),
    "a_boolean": ([True, False], [0, 1, "true", None], "true or false"),
    "an_object": ([{}, WORDS], [[], "x", None], "an object"),
    "a_list": ([[], ["x"], [1]], [{}, (), "x", None], "a list"),
    "texts": ([[], ["x"], ["x", "y"]], [["x", ""], ["", "x"], ["x", 1], "x", {"x": "y"}, None], "a list of texts"),
    "text_object": (
        [{}, {"a": "x", "b": ""}], [{"a": "x", "b": 1}, ["x"], "x", None], "an object whose values are texts",
    ),
    "text_or_number": (["", "x", 0, -5], [1.5, True, None, ["x"]], "a text or an integer"),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_what_fits_and_what_is_said_otherwise(name):
    fitting, others, sentence = RULES[name]
    check = getattr(checks, name)
    assert [check(value) for value in fitting] == [None] * len(fitting)
    assert [check(value) for value in others] == [sentence] * len(others)


def test_anything_is_anything():
    assert [checks.anything(value) for value in (None, 1, "", {}, NAN)] == [None] * 5


def test_one_of_a_few_words():
    check = checks.one_of("on", "off", 3)
    assert (check("on"), check("off"), check(3)) == (None, None, None)
    assert check("of") == check("") == check(None) == check("onoff") == 'one of "on", "off", 3'


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([1, "x"], 'the thing must be an object, not [1, "x"]'),
        ("text", 'the thing must be an object, not "text"'),
        (["x" * 100], 'the thing must be an object, not ["' + "x" * 78),
        ({"name": "x", "colour": 1}, 'the thing: unknown key "colour"; known keys are name, size'),
        ({"name": "x", "colour": None}, 'the thing: unknown key "colour"; known keys are name, size'),
        ({"size": 1}, 'the thing: "name" is missing'),
        ({"name": None}, 'the thing: "name" is missing'),
        ({"name": "x", "size": "big"}, 'the thing: "size" must be a number greater than 0, not "big"'),
        ({"name": "x", "size": "b" * 100}, 'the thing: "size" must be a number greater than 0, not "' + "b" * 79),
    ],
)
def test_the_sentence_names_what_is_wrong_and_is_not_endless(given, sentence):
    rules = {"size": checks.a_positive_number, "name": checks.a_text}
    with pytest.raises(checks.InputError) as error:
        checks.checked("the thing", given, rules, required=["name"])
    assert str(error.value) == sentence


def test_what_is_null_is_not_there():
    rules = {"name": checks.a_text, "size": checks.a_count}
    given = {"name": None, "size": 0}
    assert checks.checked("the thing", given, rules) == {"size": 0}
    assert given == {"name": None, "size": 0}
