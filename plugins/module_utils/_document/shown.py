# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which events a document shows, and how far they are. All that a host itself has to understand of one.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json


class NotUnderstood(Exception):
    """It is no event document. It is never taken for one without events."""


def statuses_in(text):
    """Event id in lower case -> its status. Of one that is there twice Started counts, as there is no way back."""
    try:
        events = json.loads(text)["Events"]
        if not isinstance(events, list):
            raise ValueError(events)
        found = {}
        for event in events:
            event_id, status = event["EventId"].strip().casefold(), event["EventStatus"].strip()
            if found.get(event_id) != "Started":
                found[event_id] = status
        return found
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotUnderstood("What the service answered is no event document") from None


def incarnation_of(text):
    """Which document it is, or None."""
    try:
        found = json.loads(text)["DocumentIncarnation"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if isinstance(found, int) else None


def is_as_judged(text, judged, may_have_started):
    """Whether these events are still what they were, and nothing has started but what may have.

    In a large group the document changes all the time, as others of the same wave are approved. `judged` are the
    events, each {id, type, resources}; `may_have_started` the ids of those that had started, or that the wave starts.
    """
    try:
        statuses = statuses_in(text)
        allowed = {event_id.strip().casefold() for event_id in may_have_started}
        if any(status == "Started" and event_id not in allowed for event_id, status in statuses.items()):
            return False
        shown = {}
        for event in json.loads(text)["Events"]:
            names = sorted(str(name).strip().casefold() for name in event["Resources"])
            shown.setdefault(event["EventId"].strip().casefold(), []).append(
                (event["EventType"].strip().casefold(), names)
            )
        for event in judged:
            names = sorted(str(name).strip().casefold() for name in event["resources"])
            if shown.get(event["id"].strip().casefold()) != [(event["type"].casefold(), names)]:
                return False
            if statuses[event["id"].strip().casefold()] != "Scheduled":
                return False
        return True
    except (NotUnderstood, KeyError, TypeError, AttributeError):
        return False
