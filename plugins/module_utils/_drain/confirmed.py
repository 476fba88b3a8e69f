# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Approvals that have come to something: after it was sent, a reading shows the event as Started, or no more. Pure.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._document.times import iso

CONFIRMED = "approval confirmed"
GONE = "gone"
EFFECTS = ("Started", GONE)


def effects_of_marks(journal, statuses, at, incarnation):
    """Event id -> {shown, at, incarnation}, of those that the journal has marks of, by one good reading.

    `statuses` is what it shows: event id in lower case -> status.
    """
    found = {}
    for mark in journal.get("marks") or ():
        shown = statuses.get(_key(mark["event"]), GONE)
        if shown in EFFECTS:
            found[mark["event"]] = {"shown": shown, "at": at, "incarnation": incarnation}
    return found


def newly_confirmed(journal, effects):
    """What the record is to say of each approval that was sent from this host and that nobody has told of yet."""
    seen = {_key(event_id): effect for event_id, effect in effects.items()}
    found = []
    for mark in journal.get("marks") or ():
        effect = seen.get(_key(mark["event"]))
        if effect and mark.get("sent_from_here") and not mark.get("confirmed"):
            details = {"event": mark["event"], "shown": effect.get("shown"), "seen_at": effect.get("at")}
            details.update(incarnation=effect.get("incarnation"), sent_at=_time(mark.get("at")))
            found.append(details)
    return found


def with_confirmed(journal, told):
    """The journal in which they are told of."""
    known = {_key(details["event"]) for details in told}
    marks = [dict(mark, confirmed=True) if _key(mark["event"]) in known else mark for mark in journal.get("marks", [])]
    return dict(journal, marks=marks) if known else journal


def _key(event_id):
    return event_id.strip().casefold()


def _time(seconds):
    try:
        # None would be now.
        return None if seconds is None else iso(seconds)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
