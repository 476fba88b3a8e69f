# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run is told to do now, and what it is told about what it does not do: one rule a test."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.decide import (
    at_least,
    may_approve_now,
    what_may_go_down_now,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    Host,
    Journal,
    Mark,
    Record,
    Settings,
    Verdict,
)
from helpers.run_cases import NOW, WEB, drained, freeze, reasons, reboot, roll, rounds, started, told

# When a drain must begin at the latest: `drain_timeout` plus reserve before the event is due.
DEADLINE = 360.0


def moves(state, kind):
    return [move for move in what_may_go_down_now(state) if move.kind == kind]


def one(state, kind):
    (move,) = moves(state, kind)
    return move


# Which group is first.


def two_groups(first, second):
    hosts = {"a0": Host("a0", "a", "0", shows=(first.id,)), "b0": Host("b0", "b", "0", shows=(second.id,))}
    return [move.group for move in what_may_go_down_now(roll(hosts, [first, second]))]


def test_the_most_urgent_group_is_first():
    assert two_groups(reboot("A", "a0", due=NOW + 5000), reboot("B", "b0", due=NOW + 4000)) == ["b", "a"]
    assert two_groups(reboot("B", "a0", due=NOW + 4000), reboot("A", "b0", due=NOW + 5000)) == ["a", "b"]


def test_groups_that_are_as_urgent_go_by_their_names():
    assert two_groups(reboot("B", "a0"), reboot("A", "b0")) == ["a", "b"]


def test_what_the_policy_ignores_makes_no_group_urgent():
    hosts = {"a0": Host("a0", "a", "0", shows=("A",)), "b0": Host("b0", "b", "0", shows=("I", "B"))}
    events = [reboot("A", "a0", due=NOW + 5000), reboot("B", "b0", due=NOW + 6000)]
    ignored = reboot("I", "b0", due=NOW + 4000, action="ignore")
    assert [move.group for move in what_may_go_down_now(roll(hosts, [*events, ignored]))] == ["a", "b"]


# What may be approved.


def test_what_is_gone_or_has_started_is_not_approved():
    assert may_approve_now("E", roll(WEB)) == Verdict(False, "Event E is over")
    assert may_approve_now("E", roll(WEB, [started("E", "web0")])) == Verdict(False, "Event E has started already")


# Until when something is held back.


def test_a_hold_ends_with_the_deadline_of_the_drain():
    held = one(roll(WEB, [started("R0", "web0"), reboot("R1", "web1", due=NOW + 5000)]), "hold")
    assert held.until == NOW + 5000 - DEADLINE


@pytest.mark.parametrize("left", [0, 100, DEADLINE - 1, DEADLINE])
def test_a_hold_has_no_end_after_the_deadline(left):
    held = one(roll(WEB, [started("R0", "web0"), reboot("R1", "web1", due=NOW + left)]), "hold")
    assert held.until is None


@pytest.mark.parametrize(("due", "until"), [(5000.0, NOW + 20), (DEADLINE + 5, NOW + 5), (100.0, NOW + 20)])
def test_a_hold_ends_with_whatever_comes_first(due, until):
    busy = Host("web0", "set", "0", journal=Journal("other", ("R0",), worked_on_until=NOW + 20))
    held = one(roll({**WEB, "web0": busy}, [reboot("R0", "web0", due=NOW + due)]), "hold")
    assert held.until == until
    assert held.why == "Run other is at work on web0"


def test_only_a_hold_for_want_of_hosts_in_service_says_so_and_only_it_may_be_for_ever():
    under_way = one(roll(WEB, [started("R0", "web0"), reboot("R1", "web1")]), "hold")
    out = Host("web0", "set", "0", journal=drained("R0"), stuck="broken")
    behind = moves(roll({**WEB, "web0": out}, [reboot("R1", "web1")]), "hold")
    uncovered = one(roll(WEB, [reboot("R0", "web0", strangers=("x",))]), "hold")
    assert [(held.short_of_service, held.never) for held in (under_way, *behind, uncovered)] == [(False, False)] * 4


def test_a_hold_names_who_is_in_the_way():
    held = one(roll(WEB, [started("R0", "web0"), reboot("R1", "web1")]), "hold")
    assert held.in_the_way == ("web0",)


# At once.


def test_a_vm_that_vanishes_is_left_alone_where_the_policy_says_so():
    preempts = [reboot("P1", "web1", type="Preempt", action="ignore"), reboot("P2", "web2", type="Preempt")]
    drain = one(roll(WEB, preempts), "drain")
    assert (drain.hosts, drain.why) == (("web2",), "Preempt P2 takes the VM away")


def test_what_was_sent_is_the_reason_for_a_drain_at_once():
    ready = Host("web0", "set", "0", journal=drained("R0", marks=(Mark("R0", ("web0",), NOW),)))
    drain = one(roll({**WEB, "web0": ready}, [reboot("R0", "web0", "web1")]), "drain")
    assert (drain.hosts, drain.why) == (("web1",), "R0 was sent")


# What is waited for.


def test_an_approval_that_takes_nothing_down_is_waited_for():
    sent = Host("web0", "set", "0", journal=Journal("me", marks=(Mark("F", ("web0",), NOW, takes_down=False),)))
    finish = one(roll({**WEB, "web0": sent}, [freeze("F", "web0")]), "finish")
    assert (finish.hosts, finish.events, finish.why) == (("web0",), ("F",), "F is under way")


def test_each_host_is_waited_for_whatever_becomes_of_the_others():
    hosts = {
        # In service, then one that comes back, one whose event is sent again, and one that is waited for.
        "h0": "0",
        "h1": Host("h1", "set", "0", journal=drained("GONE")),
        "h2": Host("h2", "set", "0", journal=drained("E2", marks=(Mark("E2", ("h2",), NOW - 90),))),
        "h3": Host("h3", "set", "0", journal=drained("E3", marks=(Mark("E3", ("h3",), NOW),))),
    }
    assert told(roll(hosts, [reboot("E2", "h2"), reboot("E3", "h3")])) == [
        ("finish", ("h3",), ""),
        ("return", ("h1",), ""),
        ("round", ("h2",), "E2"),
    ]


@pytest.mark.parametrize(("age", "kind"), [(59, "finish"), (60, "round")])
def test_a_minute_after_it_was_sent_an_approval_is_sent_again(age, kind):
    left = Host("web0", "set", "0", journal=drained("R0", marks=(Mark("R0", ("web0",), NOW - age),)))
    (move,) = what_may_go_down_now(roll({"web0": left}, [reboot("R0", "web0")]))
    assert move.kind == kind


def test_while_an_approval_is_sent_again_the_other_domains_wait():
    left = Host("web0", "set", "0", journal=drained("R0", marks=(Mark("R0", ("web0",), NOW - 90),)))
    state = roll({**WEB, "web0": left}, [reboot("R0", "web0"), reboot("R1", "web1")])
    assert rounds(state) == [("round", ("web0",), "R0")]


# What comes back.


def test_who_is_next_anyway_stays_and_the_others_come_back():
    hosts = {name: Host(name, "set", "0", journal=drained(event)) for name, event in (("h0", "E0"), ("h1", "GONE"))}
    assert told(roll(hosts, [reboot("E0", "h0")])) == [("return", ("h1",), ""), ("round", ("h0",), "E0")]


@pytest.mark.parametrize(("event", "needs_lease"), [(reboot, True), (freeze, False)])
def test_the_lease_is_needed_to_bring_back_a_host_that_something_will_take_down(event, needs_lease):
    ready = Host("web1", "set", "1", journal=drained("E1"))
    state = roll({**WEB, "web1": ready}, [started("R0", "web0"), event("E1", "web1", due=NOW + 5000)])
    assert one(state, "return").needs_lease is needs_lease


def test_what_comes_back_was_drained_for_all_that_journal_and_records_say():
    left = Host("web0", "set", "0", journal=drained("A", "B"))
    record = Record("lb1", "web0", ("B", "C"), ("Reboot", "Reboot"), "me")
    assert one(roll({"web0": left}, records=(record,)), "return").events == ("A", "B", "C")


def test_who_is_in_service_is_not_told_to_be_stuck():
    sound = Host("web0", "set", "0", stuck="nginx does not start")
    assert told(roll({"web0": sound})) == []


def test_what_another_run_returns_is_waited_for():
    busy = Host("web0", "set", "0", journal=drained("GONE", owner="other", worked_on_until=NOW + 20))
    held = one(roll({**WEB, "web0": busy}), "hold")
    assert (held.hosts, held.why, held.until) == (("web0",), "Run other is at work on web0", NOW + 20)


def test_nothing_begins_before_what_is_out_is_back_and_that_needs_no_lease():
    left = Host("web0", "set", "0", journal=drained("R0", owner="dead"))
    again = Host("web1", "set", "1", journal=Journal("dead", ("R1",)))
    state = roll({**WEB, "web0": left, "web1": again}, [reboot("R0", "web0"), reboot("R1", "web1", due=NOW + 900)])
    held = next(move for move in moves(state, "hold") if move.hosts == ("web1",))
    assert held.why == "First web0 must be back in service"
    assert (held.needs_lease, held.approve, held.take_over) == (False, "", ())


def test_a_host_is_not_worked_on_because_a_third_run_works_on_its_neighbour():
    idle = Host("h0", "set", "0", journal=drained("E", owner="dead"))
    for owner in ("another", "zealous"):
        busy = Host("h2", "set", "0", journal=drained("F", "E", owner=owner, worked_on_until=NOW + 20))
        state = roll({"h0": idle, "h2": busy}, [reboot("E", "h0")])
        assert rounds(state) == [("round", ("h0",), "E")]


@pytest.mark.parametrize(("action", "returned"), [("drain", []), ("approve", ["web1"]), ("ignore", ["web1"])])
def test_who_waits_for_the_end_of_its_vm_is_not_brought_back(action, returned):
    """It can't be approved yet, as another domain is down."""
    lost = Host("web1", "set", "1", journal=Journal("me", ("P", "R"), ("Preempt", "Reboot"), True, True))
    events = [started("R0", "web0"), reboot("P", "web1", due=NOW + 5000, type="Preempt", action=action)]
    state = roll({**WEB, "web1": lost}, events)
    assert [name for move in moves(state, "return") for name in move.hosts] == returned


@pytest.mark.parametrize(
    ("journal", "is_awaited"),
    [
        (None, False),
        (drained("OLD"), True),
        (Journal("me", marks=(Mark("F", ("web0",), NOW, takes_down=False),)), True),
        (drained("R0", marks=(Mark("R0", ("web0",), NOW),)), True),
    ],
)
def test_who_can_not_be_read_is_waited_for_if_it_is_down_or_something_was_sent(journal, is_awaited):
    away = Host("web0", "set", "0", read=False, journal=journal)
    expected = [(("web0",), "web0 is down and can't be read")] if is_awaited else []
    assert [(move.hosts, move.why) for move in what_may_go_down_now(roll({**WEB, "web0": away}))] == expected
    assert told(roll({**WEB, "web0": away}, act=["web1"])) == []


# Rounds.


def test_a_round_needs_the_lease_and_says_what_is_drained_for():
    move = one(roll(WEB, [reboot("R0", "web0")]), "round")
    assert (move.needs_lease, move.events, move.approve) == (True, ("R0",), "R0")


def test_what_is_approved_without_a_drain_is_drained_for_nothing():
    events = [reboot("R0", "web0", action="approve"), reboot("R9", "web0", due=NOW + 9000)]
    move = next(move for move in moves(roll(WEB, events), "round") if move.approve == "R0")
    assert move.events == ()


# At the deadline.


@pytest.mark.parametrize(("left", "kind"), [(DEADLINE + 1, "hold"), (DEADLINE, "drain"), (DEADLINE - 1, "drain")])
def test_a_drain_begins_so_early_that_it_can_end(left, kind):
    events = [started("R0", "web0"), reboot("R1", "web1", due=NOW + left)]
    (move,) = what_may_go_down_now(roll(WEB, events, settings=Settings(overlap="proceed")))
    assert (move.kind, move.needs_lease) == (kind, kind == "drain")


def test_what_needs_no_drain_gets_none_at_its_deadline():
    events = [started("R0", "web0"), reboot("R1", "web1", due=NOW + 100, action="approve")]
    assert [kind for kind, _hosts, _id in told(roll(WEB, events, settings=Settings(overlap="proceed")))] == ["hold"]


@pytest.mark.parametrize(("overlap", "kind"), [("wait", "hold"), ("proceed", "drain")])
def test_at_the_deadline_hosts_in_service_are_given_up_only_where_the_user_says_so(overlap, kind):
    settings = Settings(overlap=overlap, min_in_service=3)
    (move,) = what_may_go_down_now(roll(WEB, [reboot("R0", "web0", due=NOW + 100)], settings=settings))
    assert move.kind == kind


@pytest.mark.parametrize(("overlap", "kind"), [("wait", "hold"), ("proceed", "drain")])
def test_at_the_deadline_the_order_of_the_document_is_left_only_where_the_user_says_so(overlap, kind):
    events = [reboot("A", strangers=("x",), due=NOW + 90), reboot("B", "web1", due=NOW + 100)]
    (move,) = what_may_go_down_now(roll(WEB, events, settings=Settings(overlap=overlap)))
    assert (move.kind, move.hosts) == (kind, ("web1",))


def test_who_is_drained_once_more_at_the_deadline_keeps_the_other_domains_waiting():
    """web2 is down, so that web3 of the same domain could go; but now web0 is drained as well."""
    hosts = {"web0": Host("web0", "set", "0", journal=drained("GONE")), "web2": "2", "web3": "2"}
    events = [started("R2", "web2"), reboot("R0", "web0", due=NOW + 100), reboot("R3", "web3")]
    state = roll(hosts, events, settings=Settings(overlap="proceed"))
    assert one(state, "drain").hosts == ("web0",)
    assert rounds(state) == []
    assert rounds(roll({"web2": "2", "web3": "2"}, [events[0], events[2]])) == [("round", ("web3",), "R3")]


@pytest.mark.parametrize("overlap", ["wait", "proceed"])
def test_at_the_deadline_too_nothing_is_drained_beside_a_domain_that_is_out(overlap):
    out = Host("web1", "set", "1", journal=drained("OLD"), stuck="nginx does not start")
    blind = Host("web2", "set", "2", shows=("OLD",))
    events = [reboot("R0", "web0", "web2", due=NOW + 100)]
    state = roll({**WEB, "web1": out, "web2": blind}, events, settings=Settings(overlap=overlap))
    assert {move.kind for move in what_may_go_down_now(state)} == {"hold"}


# Who speaks for a VM.


def test_where_the_user_allows_strangers_only_hosts_are_missed():
    blind = Host("web1", "set", "1", shows=("other",))
    events = [reboot("R0", "web0", "web1", strangers=("x",))]
    state = roll({**WEB, "web1": blind}, events, settings=Settings(uncovered="allow"))
    assert reasons(state) == ["Nobody speaks in this run for web1, which event R0 names"]
    assert rounds(roll(WEB, events, settings=Settings(uncovered="allow"))) == [("round", ("web0", "web1"), "R0")]


def test_a_record_alone_is_taken_back_by_whoever_reads_it():
    record = Record("lb1", "web0", ("R0",), ("Reboot",), "dead")
    move = one(roll(WEB, records=(record,)), "return")
    assert (move.hosts, move.events, move.why) == (("web0",), ("R0",), "Its event is over, or is not the next")


# Several events of one host.


@pytest.mark.parametrize(("first", "second"), [("A", "B"), ("B", "A")])
def test_of_the_events_of_a_host_the_one_that_is_due_first_comes_first(first, second):
    events = [reboot(second, "web0", due=NOW + 6000), reboot(first, "web0", due=NOW + 5000)]
    state = roll({"web0": Host("web0", "set", "0", journal=drained("A", "B"))}, events)
    assert may_approve_now(first, state) == Verdict(True)
    assert may_approve_now(second, state).why == (f"Event {first}, which names web0 too, comes before event {second}")


def test_while_an_event_of_a_host_is_under_way_no_other_of_it_is_approved():
    events = [reboot("A", "web0"), started("Z", "web0")]
    state = roll({"web0": Host("web0", "set", "0", journal=drained("A", "Z"))}, events)
    assert may_approve_now("A", state) == Verdict(False, "Event Z, which names web0 too, comes before event A")


@pytest.mark.parametrize("kind", ["Freeze", "Reboot", "Preempt", "Terminate"])
def test_what_the_policy_ignores_holds_up_no_other_event_of_its_host(kind):
    events = [reboot("I", "web0", due=NOW + 5000, type=kind, action="ignore"), freeze("F", "web0", due=NOW + 6000)]
    assert may_approve_now("F", roll(WEB, events)) == Verdict(True)


def test_what_can_not_be_approved_holds_up_no_other_event_of_its_host():
    events = [reboot("A", "web0", "web1", due=NOW + 5000), reboot("B", "web0", due=NOW + 6000)]
    state = roll({**WEB, "web1": Host("web1", "set", "1", shows=("B",))}, events)
    assert rounds(state) == [("round", ("web0",), "B")]


def test_what_is_under_way_elsewhere_is_named():
    events = [started("R0", "web0"), started("R2", "web2"), reboot("R1", "web1")]
    held = one(roll(WEB, events), "hold")
    assert held.why == "Event R0 is under way for web0, web2, of another domain"
    assert held.in_the_way == ("web0", "web2")


# How many at once.


@pytest.mark.parametrize(
    ("down", "size", "limit", "goes"),
    [
        (0, 1, 1, True),
        (1, 1, 1, False),
        (1, 1, 2, True),
        (1, 1, 3, True),
        (2, 1, 3, True),
        (2, 1, 2, False),
        (1, 2, 2, False),
        (1, 2, 3, True),
        (2, 2, 3, False),
        # One event can't be parted: it goes alone, however large.
        (0, 3, 1, True),
        (1, 3, None, True),
    ],
)
def test_so_many_may_be_down_at_once(down, size, limit, goes):
    busy = [Host(f"d{n}", "set", "0", journal=drained("OLD", owner="x", worked_on_until=NOW + 9)) for n in range(down)]
    hosts = {**{host.name: host for host in busy}, **{f"h{number}": "0" for number in range(size)}}
    event = reboot("E", *[f"h{number}" for number in range(size)])
    state = roll(hosts, [event], settings=Settings(max_at_once=limit))
    assert bool(rounds(state)) is goes
    if not goes:
        held = [move for move in moves(state, "hold") if move.events]
        assert [move.why for move in held] == [f"{down} hosts are down already, and maintenance_max_at_once is {limit}"]
        assert held[0].short_of_service


def test_what_takes_nothing_down_is_not_counted():
    busy = Host("d0", "set", "0", journal=drained("OLD", owner="x", worked_on_until=NOW + 9))
    state = roll({"d0": busy, "h0": "0"}, [freeze("F", "h0")], settings=Settings(max_at_once=1, min_in_service=2))
    assert rounds(state) == [("round", ("h0",), "F")]


def test_what_is_lost_anyway_is_not_counted():
    busy = Host("d0", "set", "0", journal=drained("OLD", owner="x", worked_on_until=NOW + 9))
    lost = Host("h0", "set", "0", journal=Journal("me", ("P",), ("Preempt",), True, True))
    events = [reboot("P", "h0", type="Preempt")]
    state = roll({"d0": busy, "h0": lost}, events, settings=Settings(max_at_once=1, min_in_service=2))
    assert rounds(state) == [("round", ("h0",), "P")]


# How many in service.


@pytest.mark.parametrize(
    ("least", "goes"), [(0, True), (1, True), (2, True), (3, False), ("66%", True), ("67%", False)]
)
def test_so_many_stay_in_service(least, goes):
    state = roll(WEB, [reboot("R0", "web0")], settings=Settings(min_in_service=least))
    assert bool(rounds(state)) is goes


@pytest.mark.parametrize(
    ("share", "count", "number"), [("50%", 2, 1), ("100%", 200, 200), (" 1 % ", 3, 1), (" 4 ", 9, 4)]
)
def test_a_share_of_the_hosts_is_rounded_up(share, count, number):
    assert at_least(share, count) == number


def test_each_service_counts_its_own_hosts():
    hosts = {
        "a0": Host("a0", "set", "0", service="a"),
        "a1": Host("a1", "set", "0", service="a"),
        "b0": Host("b0", "set", "0", service="b"),
    }
    for name, goes in (("a0", True), ("b0", False)):
        state = roll(hosts, [reboot("E", name)], settings=Settings(min_in_service=1))
        assert bool(rounds(state)) is goes
    assert reasons(state) == ["0 hosts of b would be in service, and maintenance_min_in_service is 1"]


@pytest.mark.parametrize(
    "lacking",
    [
        {"read": False},
        {"healthy": False},
        {"journal": Journal("me", ("P",), ("Preempt",), True, True)},
        {"journal": drained("OLD", owner="x", worked_on_until=NOW + 9)},
    ],
)
def test_who_is_unread_unhealthy_or_drained_is_not_in_service(lacking):
    hosts = {"h0": "0", "h1": "0", "h2": Host("h2", "set", "0", **lacking)}
    for least, goes in ((1, True), (2, False)):
        state = roll(hosts, [reboot("E", "h0")], act=["h0", "h1"], settings=Settings(min_in_service=least))
        assert bool(rounds(state)) is goes


def test_who_goes_down_in_the_same_wave_is_not_in_service():
    hosts = dict.fromkeys(("h0", "h1", "h2"), "0")
    events = [reboot(f"E{number}", f"h{number}") for number in range(3)]
    assert len(rounds(roll(hosts, events, settings=Settings(min_in_service=1)))) == 2
