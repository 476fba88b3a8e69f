# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what people write, in the fleet file, the options and the control interface."""

import json
import math
import string

ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class InputError(Exception):
    """Something a person wrote cannot be used; the text is one sentence for that person."""


def same_name(one, other):
    """Equal but for the case of ASCII letters, the only ones that names in Azure have."""
    return one.translate(ASCII_LOWER) == other.translate(ASCII_LOWER)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def a_text(value):
    return None if isinstance(value, str) and value and value.isprintable() else "a text of one line that is not empty"


def any_text(value):
    return None if isinstance(value, str) else "a text"


def a_duration(value):
    return None if is_number(value) and 0 <= value < 1e10 else "a number of seconds, 0 or more"


def a_positive_number(value):
    return None if is_number(value) and 0 < value < 1e10 else "a number greater than 0"


def an_integer(value):
    return None if isinstance(value, int) and not isinstance(value, bool) else "an integer"


def a_count(value):
    return None if an_integer(value) is None and value >= 0 else "an integer, 0 or more"


def at_least_one(value):
    return None if an_integer(value) is None and value >= 1 else "an integer, 1 or more"


def a_port(value):
    return None if an_integer(value) is None and 0 <= value <= 65535 else "a port number, 0 to 65535"


def a_status(value):
    return None if an_integer(value) is None and 200 <= value <= 599 else "an HTTP status, 200 to 599"


def a_boolean(value):
    return None if isinstance(value, bool) else "true or false"


def an_object(value):
    return None if isinstance(value, dict) else "an object"


def a_list(value):
    return None if isinstance(value, list) else "a list"


def texts(value):
    return None if isinstance(value, list) and all(a_text(item) is None for item in value) else "a list of texts"


def text_object(value):
    fits = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return None if fits else "an object whose values are texts"


def text_or_number(value):
    return None if isinstance(value, str) or an_integer(value) is None else "a text or an integer"


def anything(_dummy):
    return None


def one_of(*choices):
    def check(value):
        return None if value in choices else "one of " + ", ".join(json.dumps(choice) for choice in choices)

    return check


def checked(what, given, rules, required=()):
    """A copy of the object `given` without its nulls, or InputError with a sentence that names the offending key."""
    if not isinstance(given, dict):
        raise InputError("%s must be an object, not %s" % (what, json.dumps(given)[:80]))
    for key in given:
        if key not in rules:
            known = ", ".join(sorted(rules))
            raise InputError("%s: unknown key %s; known keys are %s" % (what, json.dumps(key), known))
    kept = {key: value for key, value in given.items() if value is not None}
    for key in required:
        if key not in kept:
            raise InputError("%s: %s is missing" % (what, json.dumps(key)))
    for key, value in kept.items():
        wanted = rules[key](value)
        if wanted:
            raise InputError("%s: %s must be %s, not %s" % (what, json.dumps(key), wanted, json.dumps(value)[:80]))
    return kept
