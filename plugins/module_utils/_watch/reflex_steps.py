# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the user's steps this host does by itself, and what of the event is filled into them. Pure.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import hashlib
import json

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
