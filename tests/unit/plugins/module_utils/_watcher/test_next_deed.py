# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes next on a host with an open journal, case by case."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._document.rules import read_rules
from ansible_collections.maintenance.azure.plugins.module_utils._document.times import iso
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import begun, recorded
from ansible_collections.maintenance.azure.plugins.module_utils._watch.decide import (
    ACTIONS,
    NO_RUN,
    RunMark,
    approvable_events,
    decide_reflex,
)
from ansible_collections.maintenance.azure.plugins.module_utils._watch.next_deed import (
    APPROVE,
    DRAIN,
    RETURN,
    SECONDS_GONE,
    TAKE_BACK,
    WAIT,
    Situation,
    next_deed,
)
from ansible_collections.maintenance.azure.plugins.module_utils._watch.reflex_steps import FLAGS
from ansible_collections.maintenance.azure.plugins.module_utils._watch.sightings import Sightings

NOW = 1_763_253_305.0
OURS, BOOT = "watcher of h0", "this boot"
RULES = [{"type": ["Preempt", "Terminate"], "action": "drain", "past_others": True}, {"action": "drain_and_approve"}]
LEFT = ["step 2 (load_balancer) is done on lb1"]
HOLDS = RunMark(True, True)
LONG = SECONDS_GONE + 1


def event(event_id="E0", kind="Reboot", due=9000, names=("h0",), **more):
    found = {"id": event_id, "type": kind, "status": "Scheduled", "resources": list(names)}
    return {**found, "not_before": iso(NOW + due), "source": None, "duration_seconds": None, "description": "", **more}


def journal(*events, run=OURS, state="drained", steps=("done",), boot=BOOT, **more):
    data = begun(None, list(events), run, boot, "then")
    records = [{"number": number, "kind": "command", "status": status} for number, status in enumerate(steps, start=1)]
    data = recorded(data, records, "then")
    ids = [one["id"].lower() for one in events]
    return {**data, "state": state, "approve": ids, "left": [], "steps_digest": "d" * 64, **more}


def deed(data, *shown, run=NO_RUN, gone=None, ended=None, worked_on=False, rules=None):
    document = {"document_incarnation": 7, "events": list(shown)}
    sightings = Sightings()
    for number, events in ((6, []), (7, list(shown))):
        sightings.note({"document_incarnation": number, "events": events}, "h0", NOW - 1000)
    rules = read_rules(RULES if rules is None else rules, "watch_reflex", ACTIONS, "", FLAGS)
    reflex = decide_reflex(document, "h0", sightings, rules, NOW, 60, run)
    approvable = approvable_events(document, "h0", rules, NOW)
    found = next_deed(Situation(data, document, "h0", reflex, run, OURS, BOOT, NOW, gone, ended, worked_on, approvable))
    return found.do, found.event and found.event["id"]


REBOOT, PREEMPT = event("E0"), event("P0", "Preempt")
PARTIAL = journal(REBOOT, state="draining", left=LEFT, own_steps_done=True)


@pytest.mark.parametrize(
    "data",
    [
        journal(REBOOT, state="draining", left=LEFT, steps=("done", "started")),
        journal(REBOOT, state="draining", left=LEFT, steps=("done", "failed")),
        journal(REBOOT, state="draining", left=LEFT, steps=("done",)),
        journal(REBOOT, state="draining", left=LEFT, steps=()),
        {**PARTIAL, "boot_id": "another"},
    ],
    ids=["killed in a step", "a step failed", "killed between two", "killed before the first", "rebooted"],
)
def test_a_drain_with_something_for_others_goes_on_until_its_own_part_is_done(data):
    assert deed(data, REBOOT) == (DRAIN, "E0")


def test_when_its_own_part_is_done_the_rest_is_for_a_run():
    assert deed(PARTIAL, REBOOT) == (WAIT, None)


@pytest.mark.parametrize(
    ("data", "more"),
    [
        (PARTIAL, {}),
        (journal(REBOOT, state="draining"), {"run": HOLDS}),
        (journal(REBOOT), {"run": HOLDS}),
        (journal(REBOOT, state="restoring"), {}),
        (journal(REBOOT, state="draining", run="r7"), {"ended": 9999}),
        (journal(REBOOT, run="r7", steps_digest=""), {"run": HOLDS, "ended": -50}),
        (journal(REBOOT, state="marked", run="r7", steps=()), {"ended": 5}),
        (journal(state="draining", run="by hand"), {}),
    ],
    ids=[
        "done in part",
        "under the mark of a run",
        "drained, under the mark of a run",
        "on its way back",
        "of a dead run",
        "of a run that is not at work",
        "a mark alone",
        "half drained by hand",
    ],
)
def test_what_takes_the_vm_away_is_drained_for_at_once_beside_any_open_journal(data, more):
    assert deed(data, REBOOT, PREEMPT, **more) == (DRAIN, "P0")
    assert deed(data, PREEMPT, gone=10, **more) == (DRAIN, "P0")


def test_a_run_that_is_at_work_is_not_disturbed():
    assert deed(journal(REBOOT, run="r7"), REBOOT, PREEMPT, worked_on=True) == (WAIT, None)


def test_once_in_the_journal_it_is_brought_to_its_end_before_all_else():
    data = journal(REBOOT, PREEMPT, state="draining", steps=("done", "started"))
    assert deed(data, REBOOT, PREEMPT, run=HOLDS) == (DRAIN, "P0")
    assert deed({**data, "state": "restoring"}, REBOOT, PREEMPT) == (DRAIN, "P0")


def test_who_is_to_leave_again_at_once_is_not_returned_in_between():
    assert deed(journal(REBOOT), PREEMPT) == (DRAIN, "P0")
    assert deed(journal(REBOOT), event("E1")) == (DRAIN, "E1")
    taken_over = journal(REBOOT, run="r7")
    assert deed(taken_over, event("E1"), gone=LONG, ended=LONG) == (DRAIN, "E1")
    # One whose turn has not come yet is no reason to stay out.
    assert deed(journal(REBOOT), event("E1"), event("E2", names=("h1",), due=1)) == (RETURN, None)


def test_what_a_run_took_over_is_taken_back():
    assert deed(journal(REBOOT, run="r7"), gone=LONG, ended=LONG) == (TAKE_BACK, None)
    assert deed(journal(REBOOT, run="r7"), gone=LONG, ended=LONG - 10) == (WAIT, None)


@pytest.mark.parametrize(
    "data",
    [journal(run="by hand", steps_digest=""), journal(REBOOT, run="r7", steps_digest=""), journal(run="r7")],
    ids=["drained by hand", "drained by a run", "without an event"],
)
def test_what_was_never_ours_is_not_returned(data):
    assert deed(data, gone=LONG, ended=LONG) == (WAIT, None)
    assert deed(data, gone=LONG) == (WAIT, None)


def test_a_host_that_is_drained_by_hand_stays_so():
    """Nothing is left to do for a Preempt, and after it nobody but who drained it says when it returns."""
    assert deed(journal(run="by hand", steps_digest=""), PREEMPT) == (WAIT, None)


def test_it_is_approved_as_it_was_drained_for():
    assert deed(journal(REBOOT), REBOOT) == (APPROVE, "E0")


@pytest.mark.parametrize(
    "now",
    [
        event(kind="Redeploy"),
        event(due=9060),
        event(names=("h0", "h1")),
        event(status="Started", not_before=None),
    ],
    ids=["another type", "another date", "more names", "started"],
)
def test_what_has_changed_since_is_not_approved(now):
    assert deed(journal(REBOOT), now) == (WAIT, None)


def test_what_the_rules_no_longer_approve_is_not_approved():
    assert deed(journal(REBOOT), REBOOT, rules=[{"action": "drain"}]) == (WAIT, None)
    assert deed(journal(REBOOT), REBOOT, rules=[{"action": "tell"}]) == (WAIT, None)


@pytest.mark.parametrize("approve", [[], ["e1"], None, True])
def test_only_what_was_to_be_approved_when_it_began_is_approved(approve):
    assert deed(journal(REBOOT, approve=approve), REBOOT) == (WAIT, None)


def test_while_a_run_is_there_nothing_is_approved():
    assert deed(journal(REBOOT), REBOOT, run=HOLDS) == (WAIT, None)
