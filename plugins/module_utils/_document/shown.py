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
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotUnderstood("What the service answered is no event document") from None
