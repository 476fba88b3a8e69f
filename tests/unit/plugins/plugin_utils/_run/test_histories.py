# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Histories of runs: those that broke simpler rules, and random ones."""

from __future__ import annotations

import os

import pytest
from helpers.run_world.azure import Script
from helpers.run_world.histories import histories, play
from helpers.run_world.liars import Claim, JournalLie, LeaseLie, Lie, MarkLie
from helpers.run_world.parts import ALL, without
from helpers.run_world.truth import Broken
from helpers.run_world.world import World
from hypothesis import HealthCheck, given, settings

# The histories that broke simpler rules, by their numbers in the model of a run.

TWO = {"h0": "0", "h1": "1"}
FOUR = {"h0": "0", "h1": "1", "h2": "0", "h3": "1"}
DAYS = 200000.0


def both(history, part, broken, too=()):
    """The history holds with all parts, and breaks what the table says without this one.

    `too`: other parts that prevent it as well, and are left out in both. It must hold without these alone.
    """
    history(ALL)
    history(without(*too))
    with pytest.raises(Broken, match=f"^{broken} "):
        history(without(part, *too))


def ends(world, until=6000.0):
    """A last run with everything reachable brings it to an end."""
    world.go(world.clock.now)
    last = world.start_run("last", at=until, patience=4000.0)
    world.clock.go(until + 4000, done=lambda: last.ended_at is not None)
    world.truth.at_the_end()


def never_done_by(world, event_id, at):
    """Progress: the event was approved by then."""
    if not world.azure.events[event_id].approved:
        world.truth.broken("Progress", f"{event_id} was not approved by {at:.0f} s")


def history_1(parts):
    """R0 plans E0 and is stopped. E1 appears, due earlier, and R1 drains h1. R0 wakes and drains h0."""
    events = [Script("E0", ("h0",), notice=3000), Script("E1", ("h1",), appears=20, notice=900, lasts=300)]
    world = World(TWO, events, parts)
    world.accidents["R0", "open h0"] = ("stop", 131)
    world.start_run("R0")
    world.start_run("R1", at=30)
    ends(world)


def test_history_1_a_run_that_slept_over_its_plan():
    both(history_1, "host_is_the_fence", "I2")


def history_1b(parts):
    """h3 is taken over and returned while R0, which drained it, is stopped before the marks."""
    domains = {"h0": "0", "h3": "0", "h1": "1"}
    world = World(domains, [Script("E0", ("h0", "h3"), notice=3000)], parts)
    world.accidents["R0", "before marks E0"] = ("stop", 250)
    world.start_run("R0")
    world.start_run("R1", ["h1", "h3"], at=60).cut_from = {"h0"}
    ends(world)


def test_history_1b_marks_and_a_journal_that_is_gone():
    # The note of the approval would keep R1 from returning h3.
    both(history_1b, "host_is_the_fence", "I1", too=("notes",))


def history_2(parts):
    """R0 plans, is stopped 250 s. R1 has the lease, h1 goes down, R1 lets go while it waits. R0 "renews"."""
    events = [Script("E0", ("h0",), notice=3000), Script("E1", ("h1",), appears=20, notice=900, lasts=900)]
    world = World(TWO, events, parts)
    world.accidents["R0", "before notes"] = ("stop", 250)
    world.start_run("R0", ["h0"])
    world.start_run("R1", ["h1"], at=30)
    ends(world)


def test_history_2_a_lapsed_lease_is_not_renewed():
    # The host would find its reading too old.
    both(history_2, "only_running_leases_are_renewed", "I2", too=("host_is_the_fence",))


def history_3_contact_lost(parts):
    events = [Script("E0", ("h0",), notice=3000), Script("E1", ("h1",), appears=20, notice=900)]
    world = World(TWO, events, parts, shared=False)
    world.accidents["R0", "drained h0"] = ("kill",)
    world.start_run("R0", ["h0"])
    world.balancer.is_asked = False
    world.start_run("R1", at=60).cut_from = {"h0"}
    ends(world)


def history_3_single_vm(parts):
    """The single VM h1 is approved and reboots. Only h1 showed the event, and now it can't be read."""
    events = [Script("E1", ("h1",), notice=900, lasts=300, down_for=250, action="approve"), Script("E0", ("h0",), 50)]
    world = World(TWO, events, parts, shared=False)
    world.start_run("R0", ["h1"], patience=30)
    world.start_run("R1", at=60)
    ends(world)


def history_3_two_patterns(parts):
    """A run on h0, h2 is killed with h0 drained. A run on h1, h3 never looks at h0."""
    events = [Script("E0", ("h0",), notice=3000), Script("E1", ("h1",), appears=20, notice=900)]
    world = World(FOUR, events, parts)
    world.accidents["R0", "drained h0"] = ("kill",)
    world.start_run("R0", ["h0", "h2"])
    world.balancer.is_asked = False
    world.start_run("R1", ["h1", "h3"], at=60)
    ends(world)


@pytest.mark.parametrize("history", [history_3_contact_lost, history_3_single_vm, history_3_two_patterns])
def test_history_3_what_a_run_has_not_read(history):
    both(history, "notes", "I2")


def history_4(parts):
    """R0 opens h0's journal, is stopped. E0 is cancelled, R1 returns h0 and drains h1. R0: "balancer: off h0"."""
    events = [
        Script("E0", ("h0",), notice=3000, cancelled_after=60),
        Script("E1", ("h1",), appears=50, notice=900, lasts=600),
    ]
    world = World(TWO, events, parts)
    world.accidents["R0", "off h0"] = ("stop", 200)
    world.start_run("R0")
    world.start_run("R1", at=30)
    ends(world)


def test_history_4_a_action_on_another_machine_that_comes_late():
    both(history_4, "actions_in_two_commands", "I2")


def history_5(parts):
    """R1 takes h0 over, balancer on, stopped before the journal is closed. R0 takes h0 back, and POSTs."""
    events = [Script("E0", ("h0",), notice=DAYS), Script("E1", ("h1",), appears=25, notice=900, cancelled_after=100)]
    world = World(TWO, events, parts)
    world.accidents["R0", "drained h0"] = ("stop", 130)
    world.accidents["R1", "in rotation h0"] = ("stop", 900)
    world.start_run("R0")
    world.start_run("R1", at=30)
    ends(world)


def test_history_5_a_return_that_was_not_written_down():
    both(history_5, "return_is_written_first", "I1")


def history_6(parts):
    """Redeploy and Reboot of h1 in one round. The Redeploy takes the disk; the Reboot hits h1 in service."""
    events = [
        Script("E0", ("h1",), notice=900, type="Redeploy", starts_after_approval=5, lasts=100),
        Script("E1", ("h1",), notice=1000, starts_after_approval=40, lasts=100),
    ]
    world = World(TWO, events, parts)
    world.start_run("R0", drain_takes={"h1": 60.0})
    ends(world)


def test_history_6_a_round_is_one_drain_and_not_one_approval():
    both(history_6, "one_approval_at_a_time", "I1")


def history_7(parts):
    """Drained for E0, then for E1, a Redeploy that takes the disk. The record must say E1, or h1 stays as it booted.

    The table has "balancer on" here. Rule 2, as it is decided, prevents that in any case: no host that an event under
    way names is returned, whatever it was drained for.
    """
    events = [
        Script("E0", ("h1",), notice=900, lasts=40),
        Script("E1", ("h1",), appears=30, notice=1000, type="Redeploy", lasts=600, starts_after_approval=5),
    ]
    world = World(TWO, events, parts)
    world.accidents["R0", "sent E1"] = ("kill",)
    world.start_run("R0")
    world.start_run("R1", at=250)
    world.go(400)
    if not world.truth.is_drained("h1"):
        world.truth.broken("I3", "h1 booted into service, and E1 is under way")
    ends(world)


def test_history_7_a_record_that_names_an_event_of_the_past():
    both(history_7, "new_event_is_written_first", "I3")


def history_8(parts):
    """R0 marks h2 for an event of h0 and h2, and is killed. Its NotBefore is days ahead."""
    events = [Script("E0", ("h0", "h2"), notice=DAYS), Script("E1", ("h1",), appears=60, notice=2000)]
    world = World(FOUR, events, parts)
    world.accidents["R0", "marked h2"] = ("kill",)
    world.start_run("R0")
    world.start_run("R1", at=90, patience=1900)
    world.go(1900)
    never_done_by(world, "E1", 1900)
    ends(world)


def test_history_8_a_mark_of_an_approval_that_was_never_sent():
    both(history_8, "sent_again", "Progress")


def history_9(parts):
    """A journal that holds only the mark of a Freeze belongs to a dead run."""
    events = [
        Script("E0", ("h0",), notice=DAYS, type="Freeze", action="approve", starts_after_approval=DAYS),
        Script("E1", ("h0",), appears=60, notice=2000),
    ]
    world = World(TWO, events, parts)
    world.accidents["R0", "sent E0"] = ("kill",)
    world.start_run("R0")
    world.start_run("R1", at=90, patience=1900)
    world.go(1900)
    never_done_by(world, "E1", 1900)


def test_history_9_a_journal_with_a_mark_alone():
    both(history_9, "marks_are_taken_over", "Progress")


def history_10(parts):
    """An event of h0 (300 s to drain) and h2 (10 s). R1 finds h2 idle, takes it over and returns it ..."""
    events = [Script("E0", ("h0", "h2"), notice=3000)]
    world = World(FOUR, events, parts)
    takes = {"h0": 300.0, "h2": 10.0}
    world.start_run("R0", drain_takes=takes)
    world.start_run("R1", at=20, drain_takes=takes)
    world.go(420)
    if any("begin_return" in line for line in world.diary):
        world.truth.broken("Progress", "what R0 has drained was returned before it was through")
    never_done_by(world, "E0", 420)
    ends(world)


def test_history_10_a_host_that_waits_for_its_neighbour():
    both(history_10, "worked_on_together", "Progress")


def history_11(parts):
    """The controller is killed in a step of 300 s; the host's own command must not go on renewing."""
    world = World(TWO, [Script("E0", ("h0",), notice=3000)], parts)
    world.start_run("R0", drain_takes={"h0": 300.0})
    world.clock.start(iter_once(world.runs["R0"].kill), after=30)
    run = world.start_run("R1", at=40)
    world.go(400)
    begun = [at for at, host in run.first_acts if host == "h0"]
    if not begun or begun[0] > 30 + 120:
        world.truth.broken("I7", f"R1 begins at {begun}")
    ends(world)


def iter_once(act):
    act()
    return
    yield


def test_history_11_a_controller_that_died_in_a_long_step():
    both(history_11, "renewed_only_while_connected", "I7")


def history_12(parts):
    """Found by this world. E0 was sent and still shows Scheduled. It is sent again, too late: nothing is sent then.

    Were the mark taken back, h0 would count as not under way, and would be returned for E1, which is due earlier.
    """
    events = [
        Script("E0", ("h0",), notice=3000, starts_after_approval=300),
        Script("E1", ("h1",), appears=60, notice=900),
    ]
    world = World(TWO, events, parts)
    world.accidents["R1", "post E0"] = ("slow", 25.0)
    world.accidents["R0", "sent E0"] = ("kill",)
    world.start_run("R0")
    world.start_run("R1", at=50)
    ends(world)


def test_history_12_a_second_sending_that_sends_nothing_leaves_the_mark_of_the_first():
    both(history_12, "only_new_marks_are_taken_back", "I3")


def history_13(parts):
    """R0 reads h0 and h1. Before it takes the lease, R1 has had it and has drained h1. R0 drains h0."""
    for tenths in range(10):
        events = [Script("E0", ("h0",), notice=900), Script("E1", ("h1",), notice=3000, lasts=300)]
        world = World(TWO, events, parts)
        world.balancer.is_asked = False
        world.accidents["R0", "before lease"] = ("stop", 4)
        world.start_run("R0", latency=0.1, quick=True)
        world.start_run("R1", ["h1"], at=tenths / 10, latency=0.05, drain_takes={"h1": 0.2})
        ends(world)


def test_history_13_a_reading_that_is_a_moment_older_than_the_lease():
    both(history_13, "notes_make_a_quick_run_read_again", "I2")


def history_14(parts):
    """R0 has read all for its plan, h1 too, and is stopped. R1 drains h1 for an event of its own, and waits for its end
    without the lease. E1 is over, h1 not yet back. R0 wakes, takes the lease, reads h0 alone, and drains it.
    """
    for seconds in range(20, 60):
        events = [
            Script("E0", ("h0",), notice=9000),
            Script("E1", ("h1",), appears=15, notice=900, lasts=5, down_for=30),
        ]
        world = World(TWO, events, parts, shared=False)
        world.balancer.is_asked = False
        world.accidents["R0", "before lease"] = ("stop", seconds)
        world.start_run("R0", batched=True)
        world.start_run("R1", ["h1"], at=15)
        ends(world)


def test_history_14_a_note_that_is_newer_than_the_reading_of_another_batch():
    both(history_14, "young_notes_count", "I2")


def test_history_15_a_preempt_that_is_cancelled_while_its_host_is_being_drained():
    """No note tells R1 of h1: what a Preempt has drained is not counted until the run that did it has returned it."""
    events = [Script("P", ("h1",), type="Preempt", notice=300, cancelled_after=20), Script("E0", ("h0",), notice=900)]
    world = World(TWO, events)
    world.start_run("R0", ["h1"], drain_takes={"h1": 150.0})
    world.start_run("R1", ["h0"], at=90)
    world.go(140)
    assert world.azure.events["E0"].approved
    assert world.truth.is_disturbed("h1")
    ends(world)


# How far a statement reaches.


def history_l1(parts):
    """R0, on h0 and h2, has drained h2 and sent E0. R1, on h1 and h3, could read h2, and ignores the note."""
    events = [Script("E0", ("h2",), notice=3000, starts_after_approval=300), Script("E1", ("h1",), 20, notice=900)]
    world = World(FOUR, events, parts)
    world.balancer.is_asked = False
    world.start_run("R0", ["h0", "h2"])
    world.start_run("R1", ["h1", "h3"], at=60)
    ends(world)


def test_history_l1_a_note_about_a_host_that_could_be_read():
    both(history_l1, "noted_hosts_are_read", "I2")


def history_l2(parts):
    """R0 can't reach h2, so the notes are on h0 and h1. E0 is sent, and h0 loses its disk, with mark and notes."""
    events = [Script("E0", ("h0",), notice=3000, starts_after_approval=300), Script("E1", ("h1",), 20, notice=900)]
    world = World({**TWO, "h2": "2"}, events, parts, lock_hosts={"set": ("h0", "h1", "h2")})
    world.balancer.is_asked = False
    world.start_run("R0", ["h0"]).cut_from = {"h2"}
    world.clock.start(world.loses_disk("h0"), after=71)
    world.start_run("R1", ["h1"], at=96)
    world.go(300)


def test_history_l2_a_note_that_one_lock_host_has():
    both(history_l2, "one_note_is_enough", "I2")


EVIL = {**TWO, "evil": "2"}


def history_l3(parts):
    """evil's reading says that E2 names it too, and its journal marks E2, while h0 is drained for E1."""
    lie = Lie(since=60, claims=(Claim("E2", ("h1", "evil")),), journal=JournalLie(marks=(MarkLie("E2", ("evil",)),)))
    events = [Script("E1", ("h0",), notice=900, lasts=300), Script("E2", ("h1",), notice=3000)]
    world = World(EVIL, events, parts, lies={"evil": [lie]})
    world.start_run("R0")
    world.go(300)


def test_history_l3_a_mark_of_a_host_that_only_its_own_word_makes_one_of_the_event():
    # The lease and rule 1 would keep h1 in service.
    both(history_l3, "a_mark_counts_by_the_own_account", "I2", too=("sent_events_need_the_lease",))


def history_l4(parts):
    """E1 really names h1 and evil, which marks it. R1 drains h0; R0, without the lease, drains h1 at once."""
    lie = Lie(since=60, journal=JournalLie(marks=(MarkLie("E1", ("h1", "evil")),)))
    events = [Script("E2", ("h0",), notice=900, lasts=300), Script("E1", ("h1", "evil"), notice=3000)]
    world = World(EVIL, events, parts, lies={"evil": [lie]})
    world.start_run("R1", ["h0"])
    world.start_run("R0", ["h1", "evil"], at=58)
    world.go(300)


def test_history_l4_a_host_of_an_event_that_is_said_to_be_sent():
    both(history_l4, "sent_events_need_the_lease", "I2")


def history_l5(parts):
    """k0 grants to both. R0 holds k0 and k1, R1 holds k2 and k0, and both open journals."""
    events = [Script("E0", ("h0",), notice=900), Script("E1", ("h1",), notice=900)]
    world = World(TWO, events, parts, lies={"k0": [Lie(lease=LeaseLie(grants=True))]})
    world.accidents["R0", "before notes"] = ("stop", 12)
    world.start_run("R0", ["h0"]).cut_from = {"k2"}
    world.start_run("R1", ["h1"], at=9)
    ends(world)


def test_history_l5_a_lock_host_that_grants_to_everybody():
    both(history_l5, "a_refusal_outweighs", "I2")


def history_l6(parts):
    """R0 holds h0 and h1, as it can't reach h2, and is stopped. h0 loses its disk, and grants the lease to R1."""
    events = [Script("E1", ("h1",), notice=900), Script("E2", ("h2",), notice=900)]
    world = World({**TWO, "h2": "2"}, events, parts, lock_hosts={"set": ("h0", "h1", "h2")})
    world.accidents["R0", "open h1"] = ("stop", 30)
    world.start_run("R0", ["h1"]).cut_from = {"h2"}
    world.clock.start(world.loses_disk("h0"), after=16)
    world.start_run("R1", ["h2"], at=27)
    ends(world)


def test_history_l6_a_lock_host_with_a_new_disk():
    # h1 refuses.
    both(history_l6, "new_lock_hosts_grant_nothing", "I2", too=("a_refusal_outweighs",))


def test_an_event_of_two_domains_that_is_cancelled_during_its_first_steps():
    """No rule can prevent it: the hosts have compared, and the balancer takes the second one out a moment later."""
    events = [Script("E0", ("h0", "h1"), notice=120, cancelled_after=66)]
    world = World(TWO, events)
    world.start_run("R0", at=58, drain_takes={"h0": 4.0, "h1": 4.0})
    ends(world)


def test_an_event_that_azure_starts_by_itself_during_the_first_steps_of_another_domain():
    """Nor this: h1 has compared at 167.5 s, E1 starts at 168 s, and the balancer takes h1 out a moment later."""
    events = [
        Script("E0", ("h0",), notice=120),
        Script("E1", ("h0",), appears=48, notice=120),
        Script("E2", ("h1",), notice=300),
    ]
    world = World(FOUR, events)
    world.start_run("R0", ["h1", "h3"], at=82, drain_takes=dict.fromkeys(FOUR, 4.0), patience=900.0)
    ends(world)


# Random histories: I1, I2, I3 and I7 hold at every step, and every history ends.

# More of them, for a run of its own: RUN_HISTORIES=20000.
COUNT = int(os.environ.get("RUN_HISTORIES", "400"))


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
def test_the_invariants_hold_in_every_history_and_every_history_ends(history):
    play(history)
