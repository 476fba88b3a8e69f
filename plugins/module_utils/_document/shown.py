# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse a document, and find which events it shows and how far they are: all that a host has to understand of one.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import re

# One answer must not keep a run busy for the others. A group has a thousand VMs at most, and as many events.
LARGEST_DOCUMENT = 1024 * 1024
MOST_PARTS = 10000
MOST_VALUES = 100000
DEEPEST_PART = 20
# Reading a whole number takes the square of its length on Pythons without a limit of their own.
LONGEST_NUMBER = 1000

# What a terminal obeys or hides: control characters, also those above 127, what turns the direction of the text round,
# what takes no room, line ends of Unicode, and halves of pairs. By code, as each Python knows other letters.
_OBEYED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)


def visible(text):
    r"""The text on one line and with nothing in it that a terminal obeys: that is written as in `\x1b`."""
    return _OBEYED.sub(lambda found: ascii(found.group(0))[1:-1], text)


def visible_in(value, depth=DEEPEST_PART):
    """The same for all texts in data. What is deeper than any document is left out."""
    if isinstance(value, (dict, list)) and not depth:
        return None
    if isinstance(value, dict):
        return {visible_in(key): visible_in(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [visible_in(one, depth - 1) for one in value]
    return visible(value) if isinstance(value, str) else value


class BadJson(ValueError):
    """The text could be read in two ways, or is more than any document. Says what is wrong, to go on after a name."""


def json_of(text, largest=LARGEST_DOCUMENT, most_parts=MOST_PARTS, most_values=MOST_VALUES, deepest=DEEPEST_PART):
    """Parse what a service or a host answered. Raises ValueError, and BadJson where it is JSON but not to be trusted.

    The size is looked at before anything is parsed.
    """
    if len(text) > largest:
        raise BadJson("is larger than %d characters" % largest)
    if text.count("{") + text.count("[") > most_parts or text.count(",") > most_values:
        raise BadJson("has more than %d parts or %d values" % (most_parts, most_values))
    try:
        data = json.loads(text, object_pairs_hook=_each_key_once, parse_int=_whole)
    except RecursionError:
        raise BadJson("is nested too deeply") from None
    _check_depth(data, deepest)
    return data


def _each_key_once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set()
        twice = next(key for key, _value in pairs if key in seen or seen.add(key))
        raise BadJson("has the key %r twice, so that it could be read in two ways" % twice[:60])
    return found


def _whole(digits):
    if len(digits) > LONGEST_NUMBER:
        raise BadJson("holds a number of more than %d digits" % LONGEST_NUMBER)
    return int(digits)


def _check_depth(data, deepest):
    parts = [data]
    for _depth in range(deepest):
        inside = []
        for part in parts:
            inside.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
        parts = [part for part in inside if isinstance(part, (dict, list))]
        if not parts:
            return
    raise BadJson("is nested too deeply")


class NotUnderstood(Exception):
    """It is no event document. It is never taken for one without events."""


def statuses_in(text):
    """Event id in lower case -> its status. Of one that is there twice Started counts, as there is no way back."""
    try:
        events = json_of(text)["Events"]
        if not isinstance(events, list):
            raise ValueError(events)
        found = {}
        for event in events:
            event_id, status = event["EventId"].strip().casefold(), event["EventStatus"].strip()
            if found.get(event_id) != "Started":
                found[event_id] = status
        return found
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotUnderstood("What the service answered is no event document") from None


def incarnation_of(text):
    """Which document it is, or None."""
    try:
        found = json_of(text)["DocumentIncarnation"]
    except (ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, int) else None
