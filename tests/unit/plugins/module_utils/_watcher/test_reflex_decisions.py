# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host does by itself: the decision, what comes next with an open journal, and which steps are done."""

from __future__ import annotations

import dataclasses
import random

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import iso
from ansible_collections.maintenance.azure.plugins.module_utils._azure.rules import BadRules, read_rules
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import begun, recorded
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.decide import (
    ACTIONS,
    APPROVE,
    DRAIN,
    FLAGS,
    MARK,
    NO_RUN,
    RETURN,
    SECONDS_OVER,
    SECONDS_TO_COME_BACK,
    TAKE_BACK,
    TELL,
    WAIT,
    RunMark,
    Sightings,
    Situation,
    approvable_events,
    decide_reflex,
    filled_in,
    is_same_step,
    may_be_approved,
    next_action,
    to_do,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._watch.settings import reacts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# What a host does by itself: case by case, and many watchers on one document under which I2 must hold.

NOW = 1_763_253_305.0
LATEST = 60


def rules(*raw):
    return read_rules(raw or [{"action": "drain_and_approve"}], "watch_reflex", ACTIONS, "", flags=("past_others",))


def test_a_rule_without_an_action_only_tells():
    (rule,) = read_rules([{"type": "Freeze"}], "watch_reflex", ACTIONS, "", FLAGS, TELL)
    assert rule.action == "tell"
    assert not reacts([{"type": "Freeze"}, {"action": "tell"}])
    assert reacts([{"type": "Freeze"}, {"action": "drain"}])
    with pytest.raises(BadRules, match="needs an action"):
        read_rules([{"action": None}], "watch_reflex", ACTIONS, "", FLAGS, TELL)


def event(event_id, *names, due=900, kind="Reboot", status="Scheduled"):
    return {
        "id": event_id,
        "type": kind,
        "status": status,
        "source": "Platform",
        "resources": list(names),
        "not_before": None if status == "Started" or due is None else iso(NOW + due),
        "duration_seconds": None,
        "description": "",
    }


def document(incarnation, *events):
    return {"document_incarnation": incarnation, "events": list(events)}


def decision(*documents, vm="h0", now=NOW, rule_list=None, run=NO_RUN):
    """What is decided after these documents were read one after the other."""
    sightings = Sightings()
    for number, one in enumerate(documents):
        sightings.note(one, vm, NOW - 1000 + number)
    return decide_reflex(documents[-1], vm, sightings, rule_list or rules(), now, LATEST, run)


EMPTY = document(1)


def test_alone_it_is_drained_and_may_be_approved():
    found = decision(EMPTY, document(2, event("E0", "h0")))
    assert (found.event["id"], found.late, found.approve) == ("E0", False, True)


def test_what_names_others_alone_is_not_ours():
    assert decision(EMPTY, document(2, event("E1", "h1"))).event is None


@pytest.mark.parametrize(("action", "drains"), [("tell", False), ("drain", True), ("drain_and_approve", True)])
def test_the_rule_decides(action, drains):
    found = decision(EMPTY, document(2, event("E0", "H0")), rule_list=rules({"action": action}))
    assert bool(found.event) is drains
    assert found.approve is (action == "drain_and_approve")


def test_without_a_rule_that_matches_nothing_is_done():
    assert (
        decision(EMPTY, document(2, event("E0", "h0")), rule_list=rules({"type": "Freeze", "action": "drain"})).event
        is None
    )


def test_the_one_that_came_first_goes_first_also_if_it_is_due_later():
    """By the date alone both would be down: h0 drains for what is due in 900 s, then comes one that is due in 600 s."""
    first, second = event("E0", "h0", due=900), event("E1", "h1", due=600)
    documents = [EMPTY, document(2, first), document(3, first, second)]
    assert decision(*documents, vm="h0").event["id"] == "E0"
    assert decision(*documents, vm="h1").event is None


def test_what_came_at_once_goes_by_date_and_then_by_id():
    soon, later = event("E1", "h1", due=600), event("E0", "h0", due=900)
    documents = [EMPTY, document(2, later, soon)]
    assert decision(*documents, vm="h0").event is None
    assert decision(*documents, vm="h1").event["id"] == "E1"
    documents = [EMPTY, document(2, event("B", "h1"), event("A", "h0"))]
    assert decision(*documents, vm="h0").event["id"] == "A"
    assert decision(*documents, vm="h1").event is None


def test_who_has_missed_a_document_does_not_know_and_waits():
    """Another may have seen E0 alone, and drain for it."""
    first, second = event("E0", "h0", due=900), event("E1", "h1", due=600)
    assert decision(EMPTY, document(3, first, second), vm="h1").event is None


@pytest.mark.parametrize("vm", ["h0", "h1"])
def test_who_has_not_seen_them_come_waits(vm):
    assert decision(document(7, event("E0", "h0"), event("E1", "h1")), vm=vm).event is None


def test_what_has_started_is_first():
    running, mine = event("E1", "h1", status="Started"), event("E0", "h0")
    assert decision(EMPTY, document(2, mine), document(3, mine, running)).event is None


@pytest.mark.parametrize(("left", "drains"), [(LATEST + 1, False), (LATEST, True), (0, True), (-30, True)])
def test_at_the_latest_it_is_drained_all_the_same_and_never_approved(left, drains):
    both = document(7, event("E0", "h0"), event("E1", "h1"))
    found = decision(both, now=NOW + 900 - left)
    assert bool(found.event) is drains
    if drains:
        assert (found.late, found.approve) == (True, False)
    else:
        assert found.look_again_in == left - LATEST


@pytest.mark.parametrize("others", ["h1", "h2"])
def test_what_has_no_date_that_is_understood_waits_its_turn(others):
    """Nobody knows when its last moment is. If that were now, all hosts would go down at once."""
    names = ["h0", "h1", "h2"]
    documents = [EMPTY, document(2, *(event(f"E{name}", name, due=None) for name in names))]
    begun = [name for name in names if decision(*documents, vm=name).event]
    assert begun == ["h0"]
    assert decision(EMPTY, document(2, event("E0", others, due=None)), vm=others).event["id"] == "E0"
    waiting = decision(*documents, vm=others, now=NOW + 1e6)
    assert (waiting.event, waiting.look_again_in) == (None, None)


@pytest.mark.parametrize("kind", ["Preempt", "Terminate"])
def test_what_is_taken_away_waits_for_nobody(kind):
    both = document(7, event("E0", "h0", kind=kind), event("E1", "h1", status="Started"))
    assert decision(both, run=RunMark(True, True)).event["id"] == "E0"


def test_a_run_comes_first():
    alone = document(2, event("E0", "h0"))
    assert decision(EMPTY, alone, run=RunMark(True, True)).event is None
    assert decision(EMPTY, alone, now=NOW + 880, run=RunMark(True, True)).event is None
    assert decision(EMPTY, alone, run=RunMark(False, True)).event["id"] == "E0"


def test_after_a_run_it_begins_only_alone_or_at_the_latest():
    first, second = event("E0", "h0"), event("E1", "h1")
    documents = [EMPTY, document(2, first), document(3, first, second)]
    assert decision(*documents, run=RunMark(False, True)).event is None
    late = decision(*documents, now=NOW + 850, run=RunMark(False, True))
    assert (late.event["id"], late.late) == ("E0", True)


def test_the_host_of_an_event_that_is_over_gets_time_to_come_back():
    other, mine = event("E1", "h1"), event("E0", "h0")
    sightings = Sightings()
    for number, (one, at) in enumerate([(EMPTY, 0), (document(2, other), 1), (document(3, other, mine), 2)]):
        sightings.note(one, "h0", NOW + at + number * 0)
    last = document(4, mine)
    sightings.note(last, "h0", NOW + 10)
    waiting = decide_reflex(last, "h0", sightings, rules(), NOW + 12, LATEST)
    assert waiting.event is None
    assert waiting.look_again_in == SECONDS_TO_COME_BACK - 2
    assert decide_reflex(last, "h0", sightings, rules(), NOW + 10 + SECONDS_TO_COME_BACK, LATEST).event["id"] == "E0"


def test_events_that_name_the_same_vms_are_no_rivals():
    documents = [document(7, event("E0", "h0"), event("F0", "h0", due=300))]
    assert decision(*documents).event["id"] == "F0"
    assert decision(document(7, event("E0", "h0", "h1"), event("F1", "h1"))).event["id"] == "E0"


def test_past_others_is_the_rules_word():
    found = decision(
        EMPTY,
        document(2, event("E0", "h0", kind="Preempt")),
        rule_list=rules({"type": "Preempt", "action": "drain", "past_others": True}),
    )
    assert found.past_others


@pytest.mark.parametrize("kept", [None, {}, [], {"generation": 1}, {"generation": 1, "seen": {"a": 1}}, "x"])
def test_a_memory_that_is_damaged_is_none(kept):
    assert Sightings(kept).generation == 0


@pytest.mark.parametrize(
    ("shown", "may"),
    [
        ([event("E0", "h0")], True),
        ([event("e0", "H0")], False),
        ([event("E0", "h0", due=901)], False),
        ([event("E0", "h0", "h1")], False),
        ([event("E0", "h0", status="Started")], False),
        ([event("E0", "h0"), event("E1", "h1")], False),
        ([event("E0", "h0"), event("E1", "h1", status="Started")], False),
        ([event("E0", "h0"), event("F0", "h0")], True),
        ([], False),
    ],
)
def test_the_document_right_before_the_approval(shown, may):
    assert may_be_approved(document(9, *shown), event("E0", "h0"), "h0") is may


def test_what_azure_has_started_is_not_taken_down_by_us_however_long_others_are_gone():
    """Found by the histories below: h3 had not looked for 36 s when the event of h0 had begun by itself."""
    mine = event("E3", "h0", status="Started")
    documents = [document(2, event("E1", "h3", status="Started"), mine), document(3, mine)]
    for later in (1, SECONDS_TO_COME_BACK, 900):
        found = decision(EMPTY, *documents, now=NOW - 998 + later)
        assert (found.event["id"], found.late, found.approve) == ("E3", True, False)


# ---------------------------------------------------------------- many watchers, one document


@dataclasses.dataclass
class Plan:
    """An event of a history: when it comes, for whom, when it is due, and when it is gone if nobody hurries it."""

    comes: int
    names: tuple[str, ...]
    notice: int
    lasts: int
    kind: str = "Reboot"
    is_dated: bool = True


HOSTS = ["h0", "h1", "h2", "h3"]
plans = st.lists(
    st.builds(
        Plan,
        comes=st.integers(0, 40),
        names=st.sets(st.sampled_from(HOSTS), min_size=1, max_size=2).map(lambda names: tuple(sorted(names))),
        notice=st.integers(30, 300),
        lasts=st.integers(1, 30),
        kind=st.sampled_from(["Reboot", "Reboot", "Freeze", "Redeploy", "Preempt"]),
        is_dated=st.sampled_from([True, True, True, False]),
    ),
    min_size=1,
    max_size=5,
)


class World:
    """The document as it changes, and the hosts that look at it when they like. Drains and returns take no time."""

    def __init__(self, plans):
        self.plans = plans
        self.shown: dict[int, str] = {}
        self.ends: dict[int, int] = {}
        self.over: set[int] = set()
        self.incarnation = 1
        self.watchers = {host: Sightings() for host in HOSTS}
        # Host -> the event that it is drained for, and whether it is one that counts.
        self.down: dict[str, tuple[int, bool]] = {}
        self.clock = 0

    def step(self):
        self.clock += 1
        before = dict(self.shown)
        for number, plan in enumerate(self.plans):
            if number in self.over:
                continue
            if number not in self.shown and self.clock >= plan.comes:
                self.shown[number] = "Scheduled"
            if self.shown.get(number) == "Scheduled" and self.clock >= plan.comes + plan.notice:
                self.start(number)
            if number in self.ends and self.clock >= self.ends[number]:
                del self.shown[number]
                self.over.add(number)
        if self.shown != before:
            self.incarnation += 1

    def start(self, number):
        self.shown[number] = "Started"
        self.ends[number] = self.clock + self.plans[number].lasts

    def document(self):
        return document(self.incarnation, *(self.event(number) for number in self.shown))

    def event(self, number):
        plan = self.plans[number]
        due = plan.comes + plan.notice if plan.is_dated else None
        return event(f"E{number}", *plan.names, due=due, kind=plan.kind, status=self.shown[number])

    def look(self, host):
        now, shown = NOW + self.clock, self.document()
        sightings = self.watchers[host]
        sightings.note(shown, host, now)
        if host in self.down:
            if self.down[host][0] not in self.shown:
                del self.down[host]
            else:
                self.approve(host, shown)
                return
        found = decide_reflex(shown, host, sightings, rules(), now, LATEST)
        if found.event:
            number = int(found.event["id"][1:])
            counts = not found.late and found.event["type"] != "Preempt"
            if found.late:
                # Out of turn goes only what Azure takes down anyway, and soon.
                plan = self.plans[number]
                left = plan.comes + plan.notice - self.clock
                assert self.shown[number] == "Started" or (plan.is_dated and left <= LATEST)
            self.down[host] = (number, counts)
            if found.approve:
                self.approve(host, shown)

    def approve(self, host, shown):
        number, counts = self.down[host]
        if counts and self.shown.get(number) == "Scheduled" and may_be_approved(shown, self.event(number), host):
            self.start(number)
            self.incarnation += 1

    def forget(self, host):
        """A lost disk, or a watcher that was not there."""
        self.watchers[host] = Sightings()

    def check(self):
        """I2: no two hosts are down by our hand, but those that one single event names.

        It is one that is there, or that one of them is still drained for: not any of the history.
        """
        down = {host for host, (_number, counts) in self.down.items() if counts}
        by_now = set(self.shown) | {number for number, _counts in self.down.values()}
        named = [set(self.plans[number].names) for number in by_now]
        assert len(down) <= 1 or any(down <= names for names in named), (self.clock, self.down, self.shown)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=300)
@given(plans, st.integers(0, 2**32))
def test_many_watchers_on_one_document_never_take_down_two(plans, seed):
    world, chance = World(plans), random.Random(seed)
    gaps = dict.fromkeys(HOSTS, 0)
    is_awake_again = dict.fromkeys(HOSTS, False)
    for _second in range(420):
        world.step()
        for host in chance.sample(HOSTS, len(HOSTS)):
            if gaps[host] > 0:
                gaps[host] -= 1
                continue
            # Readings fail, a VM stands still, a watcher is started anew, a disk is lost. Not for longer than others
            # leave a host to come back, which is all that they can do for one that they can't ask.
            accident = 0 if is_awake_again[host] else chance.choice([0] * 8 + [1, 2, 5, 20, -1])
            is_awake_again[host] = accident > 0
            if accident < 0 and host not in world.down:
                world.forget(host)
            elif accident > 0:
                gaps[host] = accident
                continue
            world.look(host)
            world.check()
        if len(world.over) == len(plans) and not world.down:
            return
    raise AssertionError(f"all hosts are in service at the end, but not {world.down}")


# What comes next on a host with an open journal, case by case.

OURS, BOOT = "watcher of h0", "this boot"
RULES = [{"type": ["Preempt", "Terminate"], "action": "drain", "past_others": True}, {"action": "drain_and_approve"}]
LEFT = ["step 2 (load_balancer) is done on lb1"]
HOLDS = RunMark(True, True)
LONG = SECONDS_OVER + 1


def shown_event(event_id="E0", kind="Reboot", due=9000, names=("h0",), **more):
    found = {"id": event_id, "type": kind, "status": "Scheduled", "resources": list(names)}
    return {**found, "not_before": iso(NOW + due), "source": None, "duration_seconds": None, "description": "", **more}


def journal(*events, run=OURS, state="drained", steps=("done",), boot=BOOT, **more):
    data = begun(None, list(events), run, boot, "then")
    records = [{"number": number, "kind": "command", "status": status} for number, status in enumerate(steps, start=1)]
    data = recorded(data, records, "then")
    ids = [one["id"].lower() for one in events]
    return {**data, "state": state, "approve": ids, "left": [], "steps_digest": "d" * 64, **more}


def decided(data, *shown, run=NO_RUN, gone=None, ended=None, worked_on=False, rules=None):
    document = {"document_incarnation": 7, "events": list(shown)}
    sightings = Sightings()
    for number, events in ((6, []), (7, list(shown))):
        sightings.note({"document_incarnation": number, "events": events}, "h0", NOW - 1000)
    rules = read_rules(RULES if rules is None else rules, "watch_reflex", ACTIONS, "", FLAGS)
    reflex = decide_reflex(document, "h0", sightings, rules, NOW, 60, run)
    approvable = approvable_events(document, "h0", rules, NOW)
    found = next_action(
        Situation(data, document, "h0", reflex, run, OURS, BOOT, NOW, gone, ended, worked_on, approvable)
    )
    return found.do, found.event and found.event["id"]


REBOOT, PREEMPT = shown_event("E0"), shown_event("P0", "Preempt")
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
    assert decided(data, REBOOT) == (DRAIN, "E0")


def test_when_its_own_part_is_done_the_rest_is_for_a_run():
    assert decided(PARTIAL, REBOOT) == (WAIT, None)


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
    assert decided(data, REBOOT, PREEMPT, **more) == (DRAIN, "P0")
    assert decided(data, PREEMPT, gone=10, **more) == (DRAIN, "P0")


def test_a_run_that_is_at_work_is_not_disturbed():
    assert decided(journal(REBOOT, run="r7"), REBOOT, PREEMPT, worked_on=True) == (WAIT, None)


def test_once_in_the_journal_it_is_brought_to_its_end_before_all_else():
    data = journal(REBOOT, PREEMPT, state="draining", steps=("done", "started"))
    assert decided(data, REBOOT, PREEMPT, run=HOLDS) == (DRAIN, "P0")
    assert decided({**data, "state": "restoring"}, REBOOT, PREEMPT) == (DRAIN, "P0")


def test_who_is_to_leave_again_at_once_is_not_returned_in_between():
    assert decided(journal(REBOOT), PREEMPT) == (DRAIN, "P0")
    assert decided(journal(REBOOT), shown_event("E1")) == (DRAIN, "E1")
    taken_over = journal(REBOOT, run="r7")
    assert decided(taken_over, shown_event("E1"), gone=LONG, ended=LONG) == (DRAIN, "E1")
    # One whose turn has not come yet is no reason to stay out.
    assert decided(journal(REBOOT), shown_event("E1"), shown_event("E2", names=("h1",), due=1)) == (RETURN, None)


def test_what_a_run_took_over_is_taken_back():
    assert decided(journal(REBOOT, run="r7"), gone=LONG, ended=LONG) == (TAKE_BACK, None)
    assert decided(journal(REBOOT, run="r7"), gone=LONG, ended=LONG - 10) == (WAIT, None)


@pytest.mark.parametrize(
    "data",
    [journal(run="by hand", steps_digest=""), journal(REBOOT, run="r7", steps_digest=""), journal(run="r7")],
    ids=["drained by hand", "drained by a run", "without an event"],
)
def test_what_was_never_ours_is_not_returned(data):
    assert decided(data, gone=LONG, ended=LONG) == (WAIT, None)
    assert decided(data, gone=LONG) == (WAIT, None)


def test_a_host_that_is_drained_by_hand_stays_so():
    """Nothing is left to do for a Preempt, and after it nobody but who drained it says when it returns."""
    assert decided(journal(run="by hand", steps_digest=""), PREEMPT) == (WAIT, None)


def test_it_is_approved_as_it_was_drained_for():
    assert decided(journal(REBOOT), REBOOT) == (APPROVE, "E0")


@pytest.mark.parametrize(
    "now",
    [
        shown_event(kind="Redeploy"),
        shown_event(due=9060),
        shown_event(names=("h0", "h1")),
        shown_event(status="Started", not_before=None),
    ],
    ids=["another type", "another date", "more names", "started"],
)
def test_what_has_changed_since_is_not_approved(now):
    assert decided(journal(REBOOT), now) == (WAIT, None)


def test_what_the_rules_no_longer_approve_is_not_approved():
    assert decided(journal(REBOOT), REBOOT, rules=[{"action": "drain"}]) == (WAIT, None)
    assert decided(journal(REBOOT), REBOOT, rules=[{"action": "tell"}]) == (WAIT, None)


@pytest.mark.parametrize("approve", [[], ["e1"], None, True])
def test_only_what_was_to_be_approved_when_it_began_is_approved(approve):
    assert decided(journal(REBOOT, approve=approve), REBOOT) == (WAIT, None)


def test_while_a_run_is_there_nothing_is_approved():
    assert decided(journal(REBOOT), REBOOT, run=HOLDS) == (WAIT, None)


# Which steps a reflex does where a journal is there already, and by which numbers.


def command(number, *words, **more):
    return {"number": number, "kind": "command", "arguments": {"drain": list(words), **more}}


def record(step, status="done", **more):
    return {**filled_in(step, {"id": "E0", "type": "Reboot", **more}), "status": status}


BALANCER = {"number": 2, "kind": "load_balancer", "left": "step 2 (load_balancer) is done on lb1"}
LIST = [command(1, "a"), BALANCER, command(3, "c")]


def found(steps, records, past_others=False):
    mine, left = to_do(steps, past_others, {"steps": records})
    return [step["number"] for step in mine], left


def test_without_a_journal_it_stops_before_what_is_for_others():
    assert found(LIST, []) == ([1], [BALANCER["left"], "step 3 (command) comes after it"])
    assert found(LIST, [], past_others=True) == ([1, 3], [BALANCER["left"]])


def test_what_a_run_has_done_elsewhere_is_left_for_nobody():
    balancer = {"number": 2, "kind": "load_balancer", "arguments": {}, "status": "done"}
    assert found(LIST, [record(LIST[0]), balancer]) == ([1, 3], [])
    assert found(LIST, [record(LIST[0]), {**balancer, "status": "started"}])[1][0] == BALANCER["left"]


def test_a_step_is_known_again_by_what_it_does():
    other = command(1, "x")
    assert found([command(1, "a"), command(2, "b")], [record(other)]) == ([3, 2], [])
    assert found([command(1, "a"), command(2, "x")], [record(other)]) == ([3, 1], [])
    # The next time it finds itself.
    again = [record(other), {**record(command(1, "a")), "number": 3}]
    assert found([command(1, "a"), command(2, "b")], again) == ([3, 2], [])


def test_two_that_do_the_same_are_two():
    twice = [command(1, "a"), command(2, "a")]
    assert found(twice, [record(twice[0])]) == ([1, 2], [])
    assert found(twice, [record(one) for one in twice]) == ([1, 2], [])


def test_what_another_list_has_begun_is_left():
    assert found([command(1, "a")], [record(command(7, "x"), "failed")]) == (
        [1],
        ["step 7 (command) was begun by another list of steps"],
    )


def test_whatever_was_filled_in_of_an_event():
    step = command(1, "say", "now " + MARK % "type" + ", in " + MARK % "seconds_left")
    assert is_same_step(record(step, seconds_left=30), step)
    assert is_same_step(record(step, type="two\nlines"), step)
    assert not is_same_step(record(command(1, "say", "later Reboot, in 3")), step)
    assert is_same_step({**record(command(1, "a", timeout=5))}, command(1, "a", timeout=9))
    assert not is_same_step(record(command(1, "a")), command(1, "a", "b"))
    assert is_same_step(record(command(1, "7")), command(1, 7))
