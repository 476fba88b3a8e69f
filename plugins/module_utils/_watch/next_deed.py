# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes next on this host: from its journal, the document, and what is to be begun. Pure.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections

from ansible_collections.maintenance.azure.plugins.module_utils._document.events import VANISHING_TYPES, canonical_id
from ansible_collections.maintenance.azure.plugins.module_utils._watch.decide import may_be_approved

# What a journal has for a while after its VM was to vanish, or after a run that never came back.
SECONDS_GONE = 5 * 60
# A marked approval that shows no effect for so long is sent again.
SECONDS_TO_START = 60

DRAIN, APPROVE, RETURN, TAKE_BACK, WAIT, END = "drain", "approve", "return", "take back", "wait", "end"
Deed = collections.namedtuple("Deed", "do event look_again_in")


class Situation:
    """`ours` is by whom our journals are; `gone_for` seconds since the journal's last event was seen, or None."""

    def __init__(self, journal, document, vm_name, reflex, run, ours, boot, now, gone_for, mark_ended_for, worked_on):
        self.journal = journal
        self.document = document
        self.vm_name = vm_name
        self.reflex = reflex
        self.run = run
        self.ours = ours
        self.boot = boot
        self.now = now
        self.gone_for = gone_for
        self.mark_ended_for = mark_ended_for
        self.worked_on = worked_on


def next_deed(it):
    if it.journal is None:
        if it.reflex.event:
            return Deed(DRAIN, it.reflex.event, None)
        if it.reflex.look_again_in is not None:
            return Deed(WAIT, None, it.reflex.look_again_in)
        return Deed(END, None, None)
    shown = shown_events(it.journal, it.document)
    if it.journal.get("run_id") != it.ours:
        return _with_a_runs_journal(it, shown)
    if it.run.holds and not any(event["type"] in VANISHING_TYPES for event in shown):
        # It takes over what is here, or lets go.
        return Deed(WAIT, None, 1)
    if it.journal.get("returned"):
        # All that is left of it is for a run, which does not keep the host from being drained anew.
        return Deed(DRAIN, it.reflex.event, None) if it.reflex.event else Deed(WAIT, None, it.reflex.look_again_in)
    if not shown:
        return _when_it_is_over(it)
    if it.journal["state"] == "restoring":
        # Somebody has begun to undo it: that is brought to an end first.
        return Deed(RETURN, None, None)
    if it.journal["state"] != "drained" or it.journal.get("boot_id") != it.boot:
        return Deed(WAIT, None, None) if it.journal.get("left") else Deed(DRAIN, shown[0], None)
    return _approval(it, shown)


def shown_events(journal, document):
    """The events of the document that the journal is about."""
    wanted = [canonical_id(str(event.get("id", ""))) for event in journal["events"]]
    return [event for event in document["events"] if canonical_id(event["id"]) in wanted]


def _when_it_is_over(it):
    vanishes = any(event.get("type") in VANISHING_TYPES for event in it.journal["events"])
    if vanishes and it.journal.get("boot_id") == it.boot and (it.gone_for or 0) < SECONDS_GONE:
        return Deed(WAIT, None, SECONDS_GONE - (it.gone_for or 0))
    return Deed(RETURN, None, None)


def _with_a_runs_journal(it, shown):
    if it.journal["state"] == "marked" or shown or it.worked_on:
        return Deed(WAIT, None, None)
    # The mark does not outlive a reboot.
    since = (it.gone_for or 0) if it.mark_ended_for is None else it.mark_ended_for
    if since < SECONDS_GONE:
        return Deed(WAIT, None, SECONDS_GONE - since)
    return Deed(TAKE_BACK, None, None)


def _approval(it, shown):
    if it.journal.get("late") or not it.journal.get("approve") or it.run.holds:
        return Deed(WAIT, None, None)
    for event in shown:
        if event["status"] != "Scheduled" or not may_be_approved(it.document, event, it.vm_name):
            continue
        event_id = canonical_id(event["id"])
        marks = [mark["at"] for mark in it.journal.get("marks", []) if canonical_id(mark["event"]) == event_id]
        age = it.now - max(marks or [0])
        if 0 <= age < SECONDS_TO_START:
            return Deed(WAIT, None, SECONDS_TO_START - age)
        return Deed(APPROVE, event, None)
    return Deed(WAIT, None, None)
