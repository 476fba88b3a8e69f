# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes next on this host: from its journal, the document, and what is to be begun. Pure.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import VANISHING_TYPES, canonical_id
from ansible_collections.maintenance.azure.plugins.module_utils._watch.decide import may_be_approved
from ansible_collections.maintenance.azure.plugins.module_utils._watch.journal_words import (
    has_done_its_part,
    has_event,
    has_in,
    of_journal,
)

# What a journal has for a while after its VM was to vanish, or after a run that never came back.
SECONDS_GONE = 5 * 60
# A marked approval that shows no effect for so long is sent again.
SECONDS_TO_START = 60

DRAIN, APPROVE, RETURN, TAKE_BACK, WAIT, END = "drain", "approve", "return", "take back", "wait", "end"
Deed = collections.namedtuple("Deed", "do event look_again_in")


class Situation:
    """`ours` is by whom our journals are; `gone_for` seconds since the journal's last event was seen, or None.

    `approvable` are the ids of the events that the rules of today have approved.
    """

    def __init__(
        self, journal, document, vm_name, reflex, run, ours, boot, now, gone_for, mark_ended_for, worked_on, approvable
    ):
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
        self.approvable = approvable


def next_deed(it):
    if it.journal is None:
        if it.reflex.event:
            return Deed(DRAIN, it.reflex.event, None)
        if it.reflex.look_again_in is not None:
            return Deed(WAIT, None, it.reflex.look_again_in)
        return Deed(END, None, None)
    shown = shown_events(it.journal, it.document)
    leaves_for = _to_leave_for(it)
    if it.journal.get("run_id") != it.ours:
        return _with_a_runs_journal(it, shown, leaves_for)
    if leaves_for:
        return Deed(DRAIN, leaves_for, None)
    # What is done goes by the more urgent event, which gives way to nobody.
    urgent = next((event for event in shown if event["type"] in VANISHING_TYPES), None)
    if it.run.holds and not urgent:
        # It takes over what is here, or lets go.
        return Deed(WAIT, None, 1)
    if it.journal.get("returned"):
        # All that is left of it is for a run, which does not keep the host from being drained anew.
        return Deed(DRAIN, it.reflex.event, None) if it.reflex.event else Deed(WAIT, None, it.reflex.look_again_in)
    if not shown:
        # Who is to leave again at once stays out.
        return Deed(DRAIN, it.reflex.event, None) if it.reflex.event else _when_it_is_over(it)
    if it.journal["state"] == "restoring" and not urgent:
        # Somebody has begun to undo it: that is brought to an end first.
        return Deed(RETURN, None, None)
    if not has_done_its_part(it.journal, it.boot):
        return Deed(DRAIN, urgent or shown[0], None)
    return _approval(it, shown) if it.journal["state"] == "drained" else Deed(WAIT, None, None)


def _to_leave_for(it):
    """The event that takes this VM away and that the journal does not know yet, or None."""
    event = it.reflex.event
    is_one = event and event["type"] in VANISHING_TYPES and not has_event(it.journal, event)
    return event if is_one else None


def shown_events(journal, document):
    """The events of the document that the journal is about."""
    wanted = [canonical_id(str(event.get("id", ""))) for event in journal["events"]]
    return [event for event in document["events"] if canonical_id(event["id"]) in wanted]


def _when_it_is_over(it):
    vanishes = any(event.get("type") in VANISHING_TYPES for event in it.journal["events"])
    if vanishes and it.journal.get("boot_id") == it.boot and (it.gone_for or 0) < SECONDS_GONE:
        return Deed(WAIT, None, SECONDS_GONE - (it.gone_for or 0))
    return Deed(RETURN, None, None)


def _with_a_runs_journal(it, shown, leaves_for):
    if it.worked_on:
        return Deed(WAIT, None, 1 if leaves_for else None)
    if leaves_for and not _is_drained_by_hand(it):
        # Nobody waits for a VM that is taken away, and the run that began this is not at work.
        return Deed(DRAIN, leaves_for, None)
    if it.journal["state"] == "marked" or shown or not _was_ours(it.journal):
        return Deed(WAIT, None, None)
    # The mark does not outlive a reboot.
    since = (it.gone_for or 0) if it.mark_ended_for is None else it.mark_ended_for
    if since < SECONDS_GONE:
        return Deed(WAIT, None, SECONDS_GONE - since)
    return Deed(DRAIN, it.reflex.event, None) if it.reflex.event else Deed(TAKE_BACK, None, None)


def _is_drained_by_hand(it):
    """Somebody has drained it without an event, for as long as he likes: nothing is left to do, or to be undone."""
    return not it.journal["events"] and has_done_its_part(it.journal, it.boot)


def _was_ours(journal):
    """Whether a run has taken over what the reflexes began. What a run began itself, it or the next one returns."""
    return bool(journal["events"] and journal.get("steps_digest"))


def _approval(it, shown):
    if it.run.holds:
        return Deed(WAIT, None, None)
    for event in shown:
        event_id = canonical_id(event["id"])
        if event_id not in it.approvable or not has_in(it.journal, "approve", event):
            continue
        # As it was when the host was drained for it.
        if not may_be_approved(it.document, of_journal(it.journal, event), it.vm_name):
            continue
        marks = [mark["at"] for mark in it.journal.get("marks", []) if canonical_id(mark["event"]) == event_id]
        age = it.now - max(marks or [0])
        if 0 <= age < SECONDS_TO_START:
            return Deed(WAIT, None, SECONDS_TO_START - age)
        return Deed(APPROVE, event, None)
    return Deed(WAIT, None, None)
