# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reflexes write into a journal beside what runs write, and how it is read. Pure.

`approve` and `past_others` are the ids of the events for which the rules said so when the drain for them began; `left`
are texts about what others have to do, and with `own_steps_done` that is all there is to do.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import canonical_id


def of_journal(journal, event):
    """The event as it was when the host was drained for it, or None."""
    known = [one for one in (journal or {}).get("events") or () if _id_of(one) == _id_of(event)]
    return known[0] if known else None


def has_event(journal, event):
    return of_journal(journal, event) is not None


def has_in(journal, key, event):
    """Whether that list of the journal has this event."""
    listed = (journal or {}).get(key)
    return isinstance(listed, list) and _id_of(event) in listed


def put_in(journal, key, event, is_in):
    listed = journal.get(key)
    others = [one for one in listed if one != _id_of(event)] if isinstance(listed, list) else []
    journal[key] = others + [_id_of(event)] * is_in


def has_done_its_part(journal, boot):
    """Whether every step that this host can do is done, since it was booted."""
    if journal.get("boot_id") != boot:
        return False
    return journal["state"] == "drained" or (journal["state"] == "draining" and bool(journal.get("own_steps_done")))


def _id_of(event):
    return canonical_id(str(event.get("id", "")))
