# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From notices to what the rules are told, by a clock that the test drives."""

from __future__ import annotations

import itertools
import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.ledger import Ledger, take_up, to_keep
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notices import Notice
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.told import Now
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EPOCH = 1_800_000_000.0
SETTLE, REMIND, SILENT_AFTER, HEARTBEAT = 2, 60, 90, 30
FAR = 86400


class Play:
    """A ledger, its clock, and all that it has told: (second, maintenance)."""

    def __init__(self, kept=None, step=1.0, second=0.0):
        # Between two looks, while nothing is about to be due.
        self.step = step
        self.second = second
        self.sequence = 0
        self.ledger = Ledger(SETTLE, REMIND, SILENT_AFTER, 300)
        self.told = []
        if kept is not None:
            take_up(self.ledger, json.loads(json.dumps(kept)), self.now)

    @property
    def now(self):
        return Now(EPOCH + self.second, 5000 + self.second)

    def hear(self, host, events, drained=False, run_until=None, vm_name=None, second=None, **more):
        """`second`: of the clock of the host; `read` and `sequence` are those of the notice, `address` its sender's."""
        self.sequence += 1
        address, sequence = more.pop("address", ""), more.pop("sequence", self.sequence)
        at = EPOCH + (self.second if second is None else second)
        read_at = EPOCH + more.pop("read", at - EPOCH)
        this_host = {"vm_name": vm_name or host, **more}
        known = None if events is None else {"this_host": this_host, "events": events, "read_at": read_at}
        run_until = None if run_until is None else EPOCH + run_until
        notice = Notice(host, at, sequence, known, drained=drained, run_until=run_until)
        return self.ledger.hear(notice, self.now, address)

    def pass_time(self, seconds):
        ends = self.second + seconds
        self.look()
        while self.second < ends:
            nothing_for = self.ledger.next_due(self.now)
            self.second = min(ends, self.second + max(0.05, self.step if nothing_for == 1 else nothing_for))
            self.look()

    def look(self):
        self.told += [(self.second, one["maintenance"]) for one in self.ledger.due(self.now)]

    def with_heartbeats(self, seconds, *words):
        """The same words again and again, as watchers do it."""
        for _beat in range(int(seconds // HEARTBEAT)):
            for host, events, more in words:
                self.hear(host, events, **more)
            self.pass_time(HEARTBEAT)
        self.pass_time(seconds % HEARTBEAT)

    def states(self, of=None):
        return [told["state"] for _second, told in self.told if of is None or told["hosts"] == [of]]

    def times(self, state):
        return [second for second, told in self.told if told["state"] == state]


def event(event_id="A", resources=("a", "b"), due=900.0, status="Scheduled"):
    return {
        "id": event_id,
        "type": "Reboot",
        "status": status,
        "source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": list(resources),
        "not_before": None if due is None or status == "Started" else iso_time(EPOCH + due),
        "duration_seconds": None,
        "description": "",
    }


def test_a_clock_that_was_ahead_makes_nothing_look_late_that_comes_after_it():
    play = Play()
    play.hear("a", [], second=250, read=250)
    play.pass_time(10)
    assert play.hear("a", [event(due=FAR)])
    play.with_heartbeats(130, ("a", [event(due=FAR)], {}))
    assert play.states() == ["pending", "pending", "pending"]


def test_a_reading_of_a_day_to_come_mutes_nobody_also_after_a_restart():
    play = Play()
    play.hear("a", [], read=1e9)
    play.pass_time(10)
    kept = to_keep(play.ledger)
    # As an earlier version has kept it.
    kept["hosts"]["a"]["read_at"] = EPOCH + 1e9
    kept["hosts"]["a"]["newest"] = [EPOCH + 299, 1]
    again = Play(kept, second=play.second)
    for one in (play, again):
        one.sequence = 5
        one.with_heartbeats(100, ("a", [event(due=FAR)], {}))
        assert one.states() == ["pending", "pending"]


def test_an_older_reading_says_what_there_is_and_not_what_there_is_no_longer():
    play = Play()
    play.hear("a", [event("A", due=FAR)], read=0)
    play.pass_time(5)
    play.hear("a", [event("B", due=FAR)], read=-10)
    play.pass_time(5)
    assert [told["event"]["id"] for _second, told in play.told] == ["A", "B"]
    play.hear("a", [], read=0)
    play.pass_time(5)
    assert play.states() == ["pending", "pending", "over", "over"]


def test_who_speaks_is_not_silent_though_its_clock_was_set_back():
    play = Play()
    play.hear("a", [])
    for _beat in range(5):
        play.pass_time(HEARTBEAT)
        assert not play.hear("a", [], second=play.second - 250)
    assert play.states() == []


def test_what_is_taken_back_before_it_was_told_is_told_once():
    play = Play()
    play.hear("a", [event(due=FAR)])
    play.pass_time(0.5)
    play.hear("a", [])
    play.pass_time(10)
    assert play.states() == ["pending", "over"]
    play = Play()
    play.hear("a", [event(due=FAR)])
    play.pass_time(0.5)
    play.hear("a", [event(status="Started")])
    play.pass_time(100)
    assert play.states() == ["pending", "started", "silent"]


def test_one_that_is_planned_again_under_the_same_id_is_over_when_nobody_says_so_any_more():
    play = Play()
    for _time in range(3):
        play.hear("a", [event(due=FAR)])
        play.pass_time(10)
        play.hear("a", [])
        play.pass_time(10)
    assert play.states() == ["pending", "over", "pending"]
    play.with_heartbeats(120, ("a", [], {}))
    assert play.states() == ["pending", "over", "pending", "pending", "over"]
    assert not play.ledger.events


def test_one_host_starts_so_many_runs_and_the_others_do_not_wait_for_it():
    play = Play()
    play.hear("liar", [event(f"L{number}", ("liar",), due=FAR) for number in range(150)])
    play.hear("honest", [event("A", ("honest",), due=FAR)])
    play.pass_time(3)
    assert play.states("honest") == ["pending"]
    assert len(play.states("liar")) == 20
    play.with_heartbeats(
        600,
        ("liar", [event(f"L{number}", ("liar",), due=FAR) for number in range(150)], {}),
        ("honest", [event("A", ("honest",), due=FAR)], {}),
    )
    assert len(play.states("honest")) == 11
    assert len(play.states("liar")) <= 20 + 5 * 11


def test_hosts_that_are_invented_take_up_no_more_than_their_room(monkeypatch):
    monkeypatch.setattr(f"{Ledger.__module__}.MOST_HOSTS", 10)
    play = Play()
    play.hear("honest", [event("A", ("honest",), due=FAR)])
    for number in range(9):
        assert play.ledger.has_room_for(f"x{number}")
        play.hear(f"x{number}", [])
    assert not play.ledger.has_room_for("y")
    assert play.ledger.has_room_for("x3")
    play.with_heartbeats(120, ("honest", [event("A", ("honest",), due=FAR)], {}))
    # One that is silent makes room; who has something to tell of does not.
    for number in range(9):
        assert play.ledger.has_room_for(f"y{number}")
        play.hear(f"y{number}", [])
    assert set(play.ledger.hosts) == {"honest", *(f"y{number}" for number in range(9))}


def test_many_that_are_silent_at_once_are_told_by_and_by_those_first_that_are_known_for_longest():
    play = Play()
    play.hear("honest", [])
    for number in range(300):
        play.hear(f"x{number}", [])
    play.pass_time(SILENT_AFTER + 1)
    assert play.told[0][1]["hosts"] == ["honest"]
    assert 100 <= len(play.told) <= 105
    play.pass_time(150)
    assert len(play.told) == 301


@pytest.mark.parametrize(
    ("due", "after"), [(FAR, 2), (900, 2), (20, 2), (10, 1), (5, 0.5), (0, 0), (-50, 0), (None, 2)]
)
def test_it_settles_for_two_seconds_and_never_longer_than_a_tenth_of_the_time_left(due, after):
    play = Play()
    play.hear("a", [event(due=due)])
    play.pass_time(5)
    assert [second for second, _told in play.told] == [pytest.approx(after, abs=0.06)]


def test_who_speaks_while_it_settles_is_in_it_and_who_comes_later_makes_it_grow():
    play = Play()
    play.hear("a", [event(resources=("a", "b", "c"))])
    play.pass_time(1)
    play.hear("b", [event(resources=("a", "b", "c"))])
    play.pass_time(5)
    play.hear("c", [event(resources=("a", "b", "c"))])
    play.pass_time(5)
    assert [(told["hosts"], told["unwatched"], told["attempt"]) for _second, told in play.told] == [
        (["a", "b"], ["c"], 1),
        (["a", "b", "c"], [], 2),
    ]


def test_reminders_come_every_minute_until_the_date():
    play = Play()
    play.with_heartbeats(600, ("a", [event(due=400)], {}))
    assert play.times("pending") == pytest.approx([2, 62, 122, 182, 242, 302, 362], abs=1.5)
    assert [told["attempt"] for _second, told in play.told] == list(range(1, 8))


def test_a_run_at_work_is_waited_for_but_not_near_the_date():
    play = Play()
    for _beat in range(30):
        play.hear("a", [event(due=900)], run_until=play.second + 80)
        play.pass_time(HEARTBEAT)
    # At 2 s, then every five minutes, as it may be a lie, and every minute in the last three before the date.
    assert play.times("pending") == pytest.approx([2, 302, 602, 721, 781, 841], abs=2)


def test_a_run_counts_as_at_work_by_the_word_of_the_hosts_that_it_is_about():
    play = Play()
    for _beat in range(11):
        play.hear("liar", [event(resources=("a", "liar"), due=FAR)], run_until=play.second + 80, scale_set="x")
        play.hear("a", [event(resources=("a",), due=FAR)], scale_set="x")
        play.pass_time(HEARTBEAT)
    # Another of the group: every other reminder; one of no event at all, none.
    assert play.times("pending") == pytest.approx([2, 122, 242], abs=2)
    play = Play()
    for _beat in range(5):
        play.hear("liar", [], run_until=play.second + 80, scale_set="x")
        play.hear("a", [event(resources=("a",), due=FAR)], scale_set="x")
        play.pass_time(HEARTBEAT)
    assert play.times("pending") == pytest.approx([2, 62, 122], abs=2)


def test_a_run_that_died_is_waited_for_until_its_mark_lapses():
    play = Play()
    play.hear("a", [event(due=FAR)], run_until=80)
    play.pass_time(HEARTBEAT)
    play.with_heartbeats(200, ("a", [event(due=FAR)], {}))
    assert play.times("pending")[:2] == pytest.approx([2, 62], abs=1.5)
    play = Play()
    play.hear("a", [event(due=FAR)], run_until=80)
    play.pass_time(85)
    assert play.times("pending") == pytest.approx([2, 80], abs=1.5)


def test_hosts_that_are_drained_for_no_event_are_told_every_minute_until_they_are_returned():
    play = Play()
    play.with_heartbeats(190, ("a", [event(resources=("c",), due=FAR)], {"drained": True}))
    over = [(second, told) for second, told in play.told if told["state"] == "over"]
    assert [second for second, _told in over] == pytest.approx([60, 120, 180], abs=1.5)
    assert all(told["drained"] and told["hosts"] == ["a"] and told["event"] is None for _second, told in over)
    play.told.clear()
    play.with_heartbeats(200, ("a", [event(due=FAR)], {"drained": True}))
    assert "over" not in play.states()


def test_the_first_that_says_so_is_believed_that_it_starts_and_a_lie_does_not_end_the_reminders():
    play = Play()
    play.hear("a", [event(due=FAR)])
    play.hear("b", [event(due=FAR)])
    play.pass_time(3)
    play.hear("b", [event(status="Started")])
    play.with_heartbeats(130, ("a", [event(due=FAR)], {}), ("b", [event(status="Started")], {}))
    assert play.states() == ["pending", "started", "pending", "pending"]
    play.told.clear()
    play.with_heartbeats(130, ("a", [event(status="Started")], {}), ("b", [event(status="Started")], {}))
    assert play.states() == ["started"]


def test_two_groups_may_have_vms_of_one_name():
    play = Play()
    play.hear("east-a", [event("A", ("vm",))], vm_name="vm")
    play.hear("west-a", [event("B", ("vm",))], vm_name="vm")
    play.pass_time(3)
    assert {told["event"]["id"]: told["hosts"] for _second, told in play.told} == {"A": ["east-a"], "B": ["west-a"]}


def test_a_group_has_the_name_that_azure_gives_it_or_that_of_the_first_to_tell_of_its_events():
    play = Play()
    play.hear("a", [], scale_set="set-web")
    play.hear("b", [event("B")], placement_group="{{ b }}")
    play.hear("c", [event("C", ("c", "d"))])
    play.hear("d", [event("C", ("c", "d"))])
    play.hear("e", [])
    groups = {name: host.group for name, host in play.ledger.hosts.items()}
    assert groups == {"a": "set-web", "b": "b", "c": "group-of-c", "d": "group-of-c", "e": "group-of-e"}
    play.hear("e", [event("C", ("c", "d"))])
    assert play.ledger.hosts["e"].group == "group-of-c"
    play.hear("e", [])
    assert play.ledger.hosts["e"].group == "group-of-c"


def test_one_that_is_gone_for_a_day_is_forgotten_and_its_events_with_it():
    play = Play()
    play.hear("a", [event(due=None)])
    play.pass_time(5)
    play.second += 24 * 3600
    play.pass_time(5)
    assert play.states()[-1] == "over"
    assert not play.ledger.hosts
    assert not play.ledger.events


def test_odd_clocks_are_told_once_each():
    play = Play()
    odd = Notice("a", EPOCH - 5000, 1)
    for _time in range(3):
        play.ledger.hear_odd_clock(odd, play.now)
        play.pass_time(1)
    play.hear("a", [])
    play.pass_time(1)
    # Somebody sends what he once heard.
    play.ledger.hear_odd_clock(odd, play.now)
    play.pass_time(1)
    assert play.states() == ["silent", "back"]


def test_what_was_recorded_and_is_sent_again_later_is_no_odd_clock():
    play, recorded = Play(), []
    for _beat in range(40):
        recorded.append(Notice("a", EPOCH + play.second, play.sequence + 1))
        play.hear("a", [], drained=True)
        play.pass_time(HEARTBEAT / 2)
        if play.second > 320:
            play.ledger.hear_odd_clock(recorded.pop(0), play.now)
        play.pass_time(HEARTBEAT / 2)
    assert set(play.states()) == {"over"}
    assert len(play.times("over")) in (19, 20)


def test_a_host_that_was_drained_when_it_fell_silent_is_told_ever_more_seldom():
    """Nobody says whether it was returned."""
    play = Play(step=5)
    play.hear("a", [], drained=True)
    play.pass_time(4000)
    assert play.times("silent") == pytest.approx([SILENT_AFTER], abs=6)
    assert play.times("over") == pytest.approx([60, 120, 240, 480, 960, 1920, 3840], abs=60)
    play.hear("a", [], drained=True)
    play.told.clear()
    play.with_heartbeats(130, ("a", [], {"drained": True}))
    # At once, as it was due, and every minute from then on.
    assert len(play.times("over")) == 3


@pytest.mark.parametrize("others", [True, False])
def test_one_that_went_down_with_its_event_is_not_missed_while_it_may_be_rebooting(others):
    play = Play(step=5)
    play.hear("a", [event(status="Started")], drained=True)
    play.hear("b", [event(status="Started")])
    for _beat in range(24):
        play.pass_time(HEARTBEAT)
        if others:
            play.hear("b", [event(status="Started")])
    assert "over" not in play.states()
    for _beat in range(30):
        play.pass_time(HEARTBEAT)
        if others:
            play.hear("b", [event(status="Started")])
    assert ("over" in play.states()) is not others
    if others:
        play.hear("b", [])
        play.pass_time(100)
        assert [told["hosts"] for _second, told in play.told if told["drained"]] == [["a"]]


IDS, HOSTS = ("A", "B", "C"), ("a", "b", "c", "d")
documents = st.lists(
    st.builds(
        event,
        st.sampled_from(IDS),
        st.lists(st.sampled_from(HOSTS), min_size=1, max_size=3, unique=True),
        st.sampled_from([-100.0, 5.0, 300.0, float(FAR), None]),
        st.sampled_from(["Scheduled", "Started"]),
    ),
    max_size=3,
    unique_by=lambda one: one["id"],
)
words = st.tuples(
    st.sampled_from(HOSTS),
    st.none() | documents,
    st.fixed_dictionaries(
        {"drained": st.booleans(), "run_until": st.sampled_from([None, 0.0, 1e9])},
        optional={"vm_name": st.sampled_from(HOSTS), "scale_set": st.sampled_from(["x", "y"])},
    ),
    st.floats(0, 200),
)
histories = st.lists(words, max_size=25)
many = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def played(history, play=None):
    play = play or Play(step=7)
    for host, events, more, pause in history:
        play.hear(host, events, **more)
        play.pass_time(pause)
    return play


def about_a(play, since):
    return [(second, told) for second, told in play.told[since:] if told["event"] and told["event"]["id"] == "A"]


@many
@given(histories, st.integers(0, 3))
def test_no_lie_of_another_ends_the_reminders_of_an_event(history, every):
    """An honest host tells of its event; all others say whatever they like, also about this event, and go on so."""
    play = Play(step=7)
    mine = event("A", ("honest",), due=FAR)

    def both(host, events, more, pause):
        play.hear("honest", [mine])
        play.hear(host, events, **more)
        for _beat in range(int(pause // HEARTBEAT)):
            play.pass_time(HEARTBEAT)
            play.hear("honest", [mine])
        play.pass_time(pause % HEARTBEAT)

    for word in history:
        both(*word)
    both("honest", [mine], {}, SETTLE + 1)
    began, before, number = play.second, len(play.told), 0
    while play.second < began + 400:
        host, events, more, _pause = history[number % len(history)] if history else ("honest", [mine], {}, 0)
        both(host, events, more, 7 * every + 5)
        number += 1
    pending = [second for second, told in about_a(play, before) if told["state"] == "pending"]
    assert "over" not in [told["state"] for _second, told in about_a(play, before)]
    # Every minute; while somebody says that a run is at work every two, and every five if others say that it names him.
    longest = 300 if any(word[2]["run_until"] for word in history) else REMIND
    ends = [began, *pending, play.second]
    assert max(later - sooner for sooner, later in itertools.pairwise(ends)) <= longest + 16
    assert all("honest" in told["hosts"] for _second, told in about_a(play, before))


lies = st.lists(
    st.tuples(
        st.none() | st.just([]) | documents,
        st.sampled_from([-200.0, 0.0, 250.0, 1e9]),
        st.sampled_from([-200.0, 0.0, 1e9]),
        st.sampled_from([0, 2**50]),
    ),
    min_size=1,
    max_size=4,
)


@many
@given(lies, st.sampled_from([0.5, 1, 3, 11]), st.sampled_from([0, -20, -200, 200]))
def test_who_has_the_secret_of_the_fleet_does_not_end_the_events_of_another_host(words, every, clock):
    """Somebody else speaks as that host again and again: another date, another reading, nothing, a later clock."""
    play, mine = Play(), event("A", ("honest",), due=FAR)
    play.hear("honest", [], address="its own", second=clock)
    play.pass_time(5)
    number = 0
    while play.second < 400:
        if number * every % HEARTBEAT < every:
            play.hear("honest", [mine], address="its own", second=play.second + clock)
        events, ahead, read, sequence = words[number % len(words)]
        # What is further ahead than the window is refused at the door.
        second = play.second + min(ahead, 299)
        play.hear("honest", events, address="other", second=second, read=read, sequence=sequence or play.sequence)
        play.pass_time(every)
        number += 1
    pending = [second for second, told in about_a(play, 0) if told["state"] == "pending"]
    assert pending[0] <= 5 + SETTLE + HEARTBEAT + 1
    ends = [*pending, 400]
    assert max(later - sooner for sooner, later in itertools.pairwise(ends)) <= REMIND + HEARTBEAT + 2


@many
@given(histories)
def test_over_is_told_only_when_all_that_told_of_it_no_longer_do(history):
    play, telling = Play(step=7), {}
    for host, events, more, pause in history:
        play.hear(host, events, **more)
        if events is not None:
            for one in IDS:
                telling.setdefault(one, set()).discard(host)
            for one in events:
                telling[one["id"]].add(host)
        before = len(play.told)
        play.pass_time(pause)
        for _second, told in play.told[before:]:
            if told["state"] == "over" and not told["drained"]:
                assert not telling[told["event"]["id"]]
    known = {one.id.upper() for one in play.ledger.events.values() if one.told_by}
    assert {one for one, hosts in telling.items() if hosts} == known


@many
@given(histories)
def test_what_is_told_is_never_a_repetition(history):
    play = played(history)
    last = {}
    for second, told in play.told:
        if told["event"] is None or told["state"] == "over":
            if told["event"]:
                last.pop(told["event"]["id"], None)
            continue
        content = (told["state"], told["hosts"], told["unwatched"], told["deadline"])
        before = last.get(told["event"]["id"])
        if before and before[1] == content:
            assert told["state"] == "pending"
            assert second - before[0] >= REMIND - 0.001
        last[told["event"]["id"]] = (second, content)


@many
@given(histories)
def test_silent_and_back_take_turns(history):
    play = played(history)
    for host in HOSTS:
        about = [state for state in play.states(host) if state in ("silent", "back")]
        assert about == [("silent", "back")[number % 2] for number in range(len(about))]


@many
@given(histories, histories)
def test_a_restart_loses_nobody_and_nothing(before, after):
    first = played(before)
    kept = to_keep(first.ledger)
    second = Play(kept, step=7, second=first.second)
    assert json.dumps(to_keep(second.ledger)) == json.dumps(kept)
    second.sequence = first.sequence
    # Each says again what it said last: all that is to come is told, with a higher number than before.
    attempts = {one.id: one.attempt for one in second.ledger.events.values()}
    for host in list(second.ledger.hosts.values()):
        mine = [one.last for one in first.ledger.events.values() if host.name in one.told_by]
        second.hear(host.name, mine, vm_name=host.vm_name)
    second.pass_time(5)
    told = {one["event"]["id"]: one for _second, one in second.told if one["state"] == "pending"}
    for one in second.ledger.events.values():
        if one.told_by and any(known["status"] != "Started" for known in one.told_by.values()):
            assert told[one.last["id"]]["attempt"] > attempts[one.id]
    played(after, second)


@many
@given(histories)
def test_an_old_notice_changes_nothing(history):
    play = played(history)
    if not play.ledger.hosts:
        return
    host = next(iter(play.ledger.hosts))
    before = to_keep(play.ledger)
    assert not play.hear(host, [event("Z")], second=-1)
    assert to_keep(play.ledger) == before
