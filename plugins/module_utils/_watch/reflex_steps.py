# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the user's steps this host does by itself, and what of the event is filled into them. Pure.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import hashlib
import json
import re

# What the controller puts in place of {{ maintenance_event.KEY }}.
MARK_SIGN = "\u2063"
# Letters of both cases, so that a filter such as `lower` is noticed.
MARK = MARK_SIGN + "Event.%s" + MARK_SIGN
# The action of a rule that names none.
TELL = "tell"
# More keys that a rule may have.
FLAGS = ("past_others",)
KEYS = (
    "id",
    "type",
    "status",
    "source",
    "resource_type",
    "not_before",
    "seconds_left",
    "duration_seconds",
    "description",
)


def digest_of_steps(steps):
    """By which a list of steps is known, on the controller as on the host."""
    return hashlib.sha256(json.dumps(steps, sort_keys=True).encode("utf-8")).hexdigest()


def steps_to_do(steps, past_others):
    """The steps that are done here, and texts about those that are left for a run.

    `steps` are those of the user, in order. One that others have to do has `left`, a text about it, and all that come
    after it are left as well: a web server must not stop behind a load balancer that still sends to it.
    """
    mine, left = [], []
    for step in steps:
        if step.get("left"):
            left.append(step["left"])
        elif left and not past_others:
            left.append("step %d (%s) comes after it" % (step["number"], step["kind"]))
        else:
            mine.append(step)
    return mine, left


def to_do(steps, past_others, journal):
    """The same where something was done already: what a run did of others' steps is no longer left for one.

    Steps that are done here have the numbers that the journal knows them by.
    """
    done = [(record["number"], record["kind"]) for record in journal["steps"] if record["status"] == "done"]
    still = [step for step in steps if not (step.get("left") and (step["number"], step["kind"]) in done)]
    mine, left = steps_to_do(still, past_others)
    mine = _numbered(mine, journal["steps"])
    known = [(step["number"], step["kind"]) for step in steps] + [(step["number"], step["kind"]) for step in mine]
    for record in journal["steps"]:
        if record["status"] in ("started", "failed") and (record["number"], record["kind"]) not in known:
            left.append("step %d (%s) was begun by another list of steps" % (record["number"], record["kind"]))
    return mine, left


def _numbered(steps, records):
    """A step is known again by what it does. Where its number is another one's, it gets a new number.

    So it is with a journal of a run that had other steps: none of them is taken for one of these, and each is undone as
    it was done.
    """
    records, found = list(records), []
    numbers = [one["number"] for one in records + list(steps)]
    for step in steps:
        same = [record for record in records if is_same_step(record, step)]
        same.sort(key=lambda record: record["number"] != step["number"])
        number = step["number"]
        if same:
            number = same[0]["number"]
            records.remove(same[0])
        elif any(record["number"] == number for record in records):
            number = max(numbers) + 1
            numbers.append(number)
        found.append(dict(step, number=number))
    return found


def is_same_step(record, step):
    """Whether a step of a journal is this one of a list, whatever event was filled in."""
    return record["kind"] == step["kind"] and _fits(step["arguments"], record["arguments"])


def _fits(meant, done):
    if isinstance(meant, dict) and isinstance(done, dict):
        # How long it may take says nothing about what it does.
        names = [set(one) - {"timeout"} for one in (meant, done)]
        return names[0] == names[1] and all(_fits(meant[name], done[name]) for name in names[0])
    if isinstance(meant, list) and isinstance(done, list):
        return len(meant) == len(done) and all(_fits(*pair) for pair in zip(meant, done))
    if isinstance(meant, str) and MARK_SIGN in meant:
        pattern = ".*".join(re.escape(part) for part in re.split(MARK % "[a-z_]+", meant))
        return re.match("(?s)%s$" % pattern, str(done)) is not None
    return str(meant) == str(done)


def filled_in(step, event):
    """The step as it is done for this event, as the journal keeps it."""
    return {
        "number": step["number"],
        "kind": step["kind"],
        "arguments": filled(step["arguments"], event),
        "before": None,
        "event": event["id"],
    }


def filled(value, event):
    """The same with what is known of this event in the place of marks."""
    if isinstance(value, str):
        for key in KEYS:
            if MARK % key in value:
                value = value.replace(MARK % key, "" if event.get(key) is None else str(event[key]))
        return value
    if isinstance(value, dict):
        return {name: filled(one, event) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(one, event) for one in value]
    return value
