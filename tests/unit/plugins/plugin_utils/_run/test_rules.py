# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of a run, case by case and for every state: what may go down, be approved and come back."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import rules as _rules
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.model import (
    Event,
    GroupState,
    Host,
    Journal,
    Mark,
    Move,
    Note,
    Record,
    Run,
    Settings,
    Verdict,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.rules import (
    at_least,
    group_states,
    what_may_go_down_now,
)
from helpers.properties import assert_generated
from helpers.run_cases import NOW, WEB, drained, freeze, reasons, reboot, rounds, run, seen_by, started, told
from hypothesis import given, settings
from hypothesis import strategies as st


def may_approve_now(event_id, state):
    return _rules.may_approve_now(event_id, state, [host.name for host in state.hosts])


# What may go down now, case by case. The numbers of rules are those of the model of a run.

# What was seen to break, by the numbers of that list.


def test_case_1_a_freeze_of_all_domains_glues_nothing_together():
    events = [freeze("F", *WEB), reboot("R0", "web0"), reboot("R1", "web1"), reboot("R2", "web2")]
    assert [(hosts, approve) for _kind, hosts, approve in rounds(run(WEB, events))] == [
        (("web0", "web1", "web2"), "F"),
        (("web0",), "R0"),
    ]


def test_case_3_it_goes_on_if_it_is_the_next_anyway():
    left = Host("web0", "set", "0", journal=drained("R0", owner="dead"))
    (move, *_others) = what_may_go_down_now(run({**WEB, "web0": left}, [reboot("R0", "web0"), reboot("R1", "web1")]))
    assert (move.kind, move.hosts, move.approve, move.take_over) == ("round", ("web0",), "R0", ("web0",))


def test_an_event_of_the_same_id_in_another_group_decides_nothing_here():
    """It is due earlier, so that its group comes first. Of the hosts that are asked about, the group counts."""
    liar = Host("db0", "other", "0", shows=("R0",), named_with={"R0": ("db0",)})
    ready = Host("web0", "set", "0", shows=("R0",), named_with={"R0": ("web0",)}, journal=drained("R0"))
    claimed = Event("R0", "Reboot", "Started", None, ("db0",), group="other")
    real = Event("R0", "Reboot", "Scheduled", NOW + 900, ("web0",), group="set")
    state = Run("me", NOW, (liar, ready), (claimed, real), may_act_on=frozenset({"db0", "web0"}))
    assert _rules.may_approve_now("R0", state, ["web0"]) == Verdict(True)
    assert _rules.may_approve_now("R0", state, ["db0"]) == Verdict(False, "Event R0 has started already")


def test_what_a_host_says_of_others_takes_no_place_of_other_groups():
    """The limit counts all groups together. Of its own group db0 says that it is down, and nothing else says so."""
    liar, neighbour = Host("db0", "other", "0", shows=("X",)), Host("db1", "other", "1")
    ready = Host("web0", "set", "0", shows=("R0",), named_with={"R0": ("web0",)})
    claimed = Event("X", "Reboot", "Started", None, ("db1",), group="other")
    real = Event("R0", "Reboot", "Scheduled", NOW + 5000, ("web0",), group="set")
    more = {"settings": Settings(max_at_once=1), "may_act_on": frozenset({"db0", "db1", "web0"})}
    state = Run("me", NOW, (liar, neighbour, ready), (claimed, real), **more)
    assert rounds(state) == [("round", ("web0",), "R0")]
    neighbour = dataclasses.replace(neighbour, shows=("X",), named_with={"X": ("db1",)})
    assert rounds(dataclasses.replace(state, hosts=(liar, neighbour, ready))) == []


def test_case_4_a_reading_of_another_group_holds_nobody_up():
    liar = Host("db0", "other", "0", shows=("R9",))
    hosts = {**WEB, "db0": liar}
    honest = {name: Host(name, "set", domain, shows=("R1",)) for name, domain in WEB.items()}
    state = run({**hosts, **honest}, [started("R9", "web0"), reboot("R1", "web1")])
    assert rounds(state) == [("round", ("web1",), "R1")]


def test_case_5_it_is_drained_again_with_the_lease_while_its_event_is_under_way():
    record = Record("lb1", "web0", ("R0",), ("Redeploy",), "dead")
    (move,) = what_may_go_down_now(run(WEB, [started("R0", "web0", type="Redeploy")], records=(record,)))
    assert (move.kind, move.hosts, move.needs_lease) == ("drain", ("web0",), True)


# Rule by rule.


def test_rule_1_groups_go_side_by_side_and_a_failure_stops_its_own():
    hosts = {"a0": Host("a0", "a", "0", shows=("A",)), "b0": Host("b0", "b", "0", shows=("B",))}
    events = [reboot("A", "a0"), reboot("B", "b0")]
    assert len(rounds(run(hosts, events))) == 2
    state = run(hosts, events, failures={"a": "a0: no connection"})
    assert rounds(state) == [("round", ("b0",), "B")]


def test_rule_3_while_a_redeploy_is_due_first_not_even_a_freeze_is_approved():
    redeploy = reboot("A", "web0", due=NOW + 5000, type="Redeploy", action="ignore")
    events = [redeploy, freeze("F", "web0", due=NOW + 6000)]
    assert not may_approve_now("F", run(WEB, events)).allowed
    assert rounds(run(WEB, events)) == []


@pytest.mark.parametrize(("left", "moves"), [(5000, ["return", "hold"]), (100, ["hold"])])
def test_rule_4_what_is_drained_when_another_domain_starts(left, moves):
    ready = Host("web1", "set", "1", journal=drained("R1"))
    state = run({**WEB, "web1": ready}, [started("R0", "web0"), reboot("R1", "web1", due=NOW + left)])
    assert [move.kind for move in what_may_go_down_now(state)] == moves


def test_rule_4_preempt_is_drained_at_once_without_a_lease():
    state = run(WEB, [started("R0", "web0"), reboot("P", "web1", due=NOW + 20, type="Preempt")])
    move = what_may_go_down_now(state)[0]
    assert (move.kind, move.hosts, move.needs_lease) == ("drain", ("web1",), False)


def test_rule_5_min_in_service_waits_for_what_may_come_and_says_what_never_can():
    sick = Host("web1", "set", "1", healthy=False)
    events = [reboot("R0", "web0")]
    state = run({**WEB, "web1": sick}, events, settings=Settings(min_in_service=2))
    (move,) = what_may_go_down_now(state)
    assert (move.kind, move.never) == ("hold", False)
    assert move.why == "1 hosts would be in service, and maintenance_min_in_service is 2"
    (move,) = what_may_go_down_now(run(WEB, events, settings=Settings(min_in_service=3)))
    assert move.never
    assert rounds(run(WEB, events, settings=Settings(min_in_service=2)))


def test_rule_5_hosts_that_a_run_leaves_out_are_of_the_service_and_do_not_count_as_in_service():
    services = dict.fromkeys((*WEB, "web3", "web4", "web5"), "")
    for least, goes in ((2, True), ("33%", True), ("50%", False), (3, False)):
        state = run(WEB, [reboot("R0", "web0")], settings=Settings(min_in_service=least), services=services)
        assert bool(rounds(state)) is goes
        assert [move.never for move in what_may_go_down_now(state)] == [not goes]


def test_rule_5_max_at_once_counts_what_is_down():
    events = [reboot(f"R{number}", f"h{number}") for number in range(3)]
    hosts = dict.fromkeys(("h0", "h1", "h2"), "0")
    assert len(rounds(run(hosts, events, settings=Settings(max_at_once=2)))) == 2
    busy = Host("h9", "set", "0", journal=drained("R9", owner="other", worked_on_until=NOW + 20))
    assert len(rounds(run({**hosts, "h9": busy}, events, settings=Settings(max_at_once=2)))) == 1


@pytest.mark.parametrize("go_on", [False, True])
def test_rule_6_what_can_not_be_returned_keeps_the_others_unless_told_otherwise(go_on):
    stuck = Host("web0", "set", "0", journal=drained("R0"), stuck="nginx does not start", shows=("R1",))
    state = run({**WEB, "web0": stuck}, [reboot("R1", "web1")], settings=Settings(continue_after_failure=go_on))
    assert bool(rounds(state)) is go_on
    assert "web0 can't be returned: nginx does not start" in reasons(state)


def test_a_note_counts_for_a_host_that_was_not_read():
    unread = Host("web0", "set", "0", read=False)
    events = [reboot("R1", "web1")]
    note = Note("web0", ("R0",), "Reboot", "dead")
    assert rounds(run({**WEB, "web0": unread}, events, notes=(note,), act=["web1"])) == []
    assert rounds(run({**WEB, "web0": unread}, events, act=["web1"]))
    assert rounds(run(WEB, events, notes=(note,)))
    assert rounds(run({**WEB, "web0": unread}, events, notes=(dataclasses.replace(note, type="Preempt"),)))


@pytest.mark.parametrize(
    ("journal", "allowed"),
    [
        (drained("R0"), True),
        (None, False),
        (drained("R0", owner="other"), False),
        (drained("R0", finished=False), False),
        (drained("R0", returning=True), False),
        (drained("R9"), False),
    ],
)
def test_an_approval_needs_a_whole_drain_by_this_run(journal, allowed):
    state = run({**WEB, "web0": Host("web0", "set", "0", journal=journal)}, [reboot("R0", "web0")])
    assert may_approve_now("R0", state).allowed is allowed


def test_a_vm_that_was_taken_away_after_its_approval_is_not_waited_for():
    mark = Mark("P", ("web1",), NOW - 60, takes_away=True)
    lost = Host("web1", "set", "1", read=False, journal=Journal("me", ("P",), ("Preempt",), True, True, marks=(mark,)))
    assert told(run({**WEB, "web1": lost}, [reboot("R0", "web0")])) == [("round", ("web0",), "R0")]


# What a run is told to do now, and what it is told about what it does not do: one rule a test.

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
    return [move.group for move in what_may_go_down_now(run(hosts, [first, second]))]


def test_the_most_urgent_group_is_first():
    assert two_groups(reboot("A", "a0", due=NOW + 5000), reboot("B", "b0", due=NOW + 4000)) == ["b", "a"]
    assert two_groups(reboot("B", "a0", due=NOW + 4000), reboot("A", "b0", due=NOW + 5000)) == ["a", "b"]


def test_groups_that_are_as_urgent_go_by_their_names():
    assert two_groups(reboot("B", "a0"), reboot("A", "b0")) == ["a", "b"]


def test_what_the_policy_ignores_makes_no_group_urgent():
    hosts = {"a0": Host("a0", "a", "0", shows=("A",)), "b0": Host("b0", "b", "0", shows=("I", "B"))}
    events = [reboot("A", "a0", due=NOW + 5000), reboot("B", "b0", due=NOW + 6000)]
    ignored = reboot("I", "b0", due=NOW + 4000, action="ignore")
    assert [move.group for move in what_may_go_down_now(run(hosts, [*events, ignored]))] == ["a", "b"]


# What may be approved.


def test_what_is_gone_or_has_started_is_not_approved():
    assert may_approve_now("E", run(WEB)) == Verdict(False, "Event E is over")
    assert may_approve_now("E", run(WEB, [started("E", "web0")])) == Verdict(False, "Event E has started already")


# Until when something is held back.


@pytest.mark.parametrize("left", [0, 100, DEADLINE - 1, DEADLINE])
def test_a_hold_has_no_end_after_the_deadline(left):
    held = one(run(WEB, [started("R0", "web0"), reboot("R1", "web1", due=NOW + left)]), "hold")
    assert held.until is None


@pytest.mark.parametrize(("due", "until"), [(5000.0, NOW + 20), (DEADLINE + 5, NOW + 5), (100.0, NOW + 20)])
def test_a_hold_ends_with_whatever_comes_first(due, until):
    busy = Host("web0", "set", "0", journal=Journal("other", ("R0",), worked_on_until=NOW + 20))
    held = one(run({**WEB, "web0": busy}, [reboot("R0", "web0", due=NOW + due)]), "hold")
    assert held.until == until
    assert held.why == "Run other is at work on web0"


def test_only_a_hold_for_want_of_hosts_in_service_says_so_and_only_it_may_be_for_ever():
    under_way = one(run(WEB, [started("R0", "web0"), reboot("R1", "web1")]), "hold")
    out = Host("web0", "set", "0", journal=drained("R0"), stuck="broken")
    behind = moves(run({**WEB, "web0": out}, [reboot("R1", "web1")]), "hold")
    uncovered = one(run(WEB, [reboot("R0", "web0", outside=("x",))]), "hold")
    assert [(held.short_of_service, held.never) for held in (under_way, *behind, uncovered)] == [(False, False)] * 4


# At once.


def test_a_vm_that_is_taken_away_is_left_alone_where_the_policy_says_so():
    preempts = [reboot("P1", "web1", type="Preempt", action="ignore"), reboot("P2", "web2", type="Preempt")]
    drain = one(run(WEB, preempts), "drain")
    assert (drain.hosts, drain.why) == (("web2",), "Preempt P2 takes the VM away")


def test_what_an_event_that_was_sent_names_later_is_drained_with_the_lease():
    ready = Host("web0", "set", "0", journal=drained("R0", marks=(Mark("R0", ("web0",), NOW),)))
    drain = one(run({**WEB, "web0": ready}, [reboot("R0", "web0", "web1")]), "drain")
    assert (drain.hosts, drain.why, drain.needs_lease) == (("web1",), "R0 was sent", True)


# What is waited for.


def test_an_approval_that_takes_nothing_down_is_waited_for():
    sent = Host("web0", "set", "0", journal=Journal("me", marks=(Mark("F", ("web0",), NOW, takes_down=False),)))
    finish = one(run({**WEB, "web0": sent}, [freeze("F", "web0")]), "finish")
    assert (finish.hosts, finish.events, finish.why) == (("web0",), ("F",), "F is under way")


def test_each_host_is_waited_for_whatever_becomes_of_the_others():
    hosts = {
        # In service, then one that comes back, one whose event is sent again, and one that is waited for.
        "h0": "0",
        "h1": Host("h1", "set", "0", journal=drained("GONE")),
        "h2": Host("h2", "set", "0", journal=drained("E2", marks=(Mark("E2", ("h2",), NOW - 90),))),
        "h3": Host("h3", "set", "0", journal=drained("E3", marks=(Mark("E3", ("h3",), NOW),))),
    }
    assert told(run(hosts, [reboot("E2", "h2"), reboot("E3", "h3")])) == [
        ("finish", ("h3",), ""),
        ("return", ("h1",), ""),
        ("round", ("h2",), "E2"),
    ]


@pytest.mark.parametrize(("age", "kind"), [(59, "finish"), (60, "round")])
def test_a_minute_after_it_was_sent_an_approval_is_sent_again(age, kind):
    left = Host("web0", "set", "0", journal=drained("R0", marks=(Mark("R0", ("web0",), NOW - age),)))
    (move,) = what_may_go_down_now(run({"web0": left}, [reboot("R0", "web0")]))
    assert move.kind == kind


def test_while_an_approval_is_sent_again_the_other_domains_wait():
    left = Host("web0", "set", "0", journal=drained("R0", marks=(Mark("R0", ("web0",), NOW - 90),)))
    state = run({**WEB, "web0": left}, [reboot("R0", "web0"), reboot("R1", "web1")])
    assert rounds(state) == [("round", ("web0",), "R0")]


# What comes back.


def test_who_is_next_anyway_stays_and_the_others_come_back():
    hosts = {name: Host(name, "set", "0", journal=drained(event)) for name, event in (("h0", "E0"), ("h1", "GONE"))}
    assert told(run(hosts, [reboot("E0", "h0")])) == [("return", ("h1",), ""), ("round", ("h0",), "E0")]


@pytest.mark.parametrize(("event", "needs_lease"), [(reboot, True), (freeze, False)])
def test_the_lease_is_needed_to_bring_back_a_host_that_something_will_take_down(event, needs_lease):
    ready = Host("web1", "set", "1", journal=drained("E1"))
    state = run({**WEB, "web1": ready}, [started("R0", "web0"), event("E1", "web1", due=NOW + 5000)])
    assert one(state, "return").needs_lease is needs_lease


def test_what_comes_back_was_drained_for_all_that_journal_and_records_say():
    left = Host("web0", "set", "0", journal=drained("A", "B"))
    record = Record("lb1", "web0", ("B", "C"), ("Reboot", "Reboot"), "me")
    assert one(run({"web0": left}, records=(record,)), "return").events == ("A", "B", "C")


def test_who_is_in_service_is_not_told_to_be_stuck():
    sound = Host("web0", "set", "0", stuck="nginx does not start")
    assert told(run({"web0": sound})) == []


def test_what_another_run_returns_is_waited_for():
    busy = Host("web0", "set", "0", journal=drained("GONE", owner="other", worked_on_until=NOW + 20))
    held = one(run({**WEB, "web0": busy}), "hold")
    assert (held.hosts, held.why, held.until) == (("web0",), "Run other is at work on web0", NOW + 20)


def test_nothing_begins_before_what_is_out_is_back_and_that_needs_no_lease():
    left = Host("web0", "set", "0", journal=drained("R0", owner="dead"))
    again = Host("web1", "set", "1", journal=Journal("dead", ("R1",)))
    state = run({**WEB, "web0": left, "web1": again}, [reboot("R0", "web0"), reboot("R1", "web1", due=NOW + 900)])
    held = next(move for move in moves(state, "hold") if move.hosts == ("web1",))
    assert held.why == "First web0 must be back in service"
    assert (held.needs_lease, held.approve, held.take_over) == (False, "", ())


def test_a_host_is_not_worked_on_because_a_third_run_works_on_its_neighbour():
    idle = Host("h0", "set", "0", journal=drained("E", owner="dead"))
    for owner in ("another", "zealous"):
        busy = Host("h2", "set", "0", journal=drained("F", "E", owner=owner, worked_on_until=NOW + 20))
        state = run({"h0": idle, "h2": busy}, [reboot("E", "h0")])
        assert rounds(state) == [("round", ("h0",), "E")]


@pytest.mark.parametrize(("action", "returned"), [("drain", []), ("approve", ["web1"]), ("ignore", ["web1"])])
def test_who_waits_for_the_end_of_its_vm_is_not_brought_back(action, returned):
    """It can't be approved yet, as another domain is down."""
    lost = Host("web1", "set", "1", journal=Journal("me", ("P", "R"), ("Preempt", "Reboot"), True, True))
    events = [started("R0", "web0"), reboot("P", "web1", due=NOW + 5000, type="Preempt", action=action)]
    state = run({**WEB, "web1": lost}, events)
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
    named = {mark.event: ("web0",) for mark in journal.marks} if journal else {}
    away = Host("web0", "set", "0", read=False, named_with=named, journal=journal)
    expected = [(("web0",), "web0 is down and can't be read")] if is_awaited else []
    assert [(move.hosts, move.why) for move in what_may_go_down_now(run({**WEB, "web0": away}))] == expected
    assert told(run({**WEB, "web0": away}, act=["web1"])) == []


# Rounds.


def test_a_round_needs_the_lease_and_says_what_is_drained_for():
    move = one(run(WEB, [reboot("R0", "web0")]), "round")
    assert (move.needs_lease, move.events, move.approve) == (True, ("R0",), "R0")


# At the deadline.


@pytest.mark.parametrize(
    ("left", "overlap", "kind"),
    [(1, "proceed", "hold"), (0, "proceed", "drain"), (-1, "proceed", "drain"), (-1, "wait", "hold")],
)
def test_a_drain_begins_so_early_that_it_can_end_where_domains_may_overlap(left, overlap, kind):
    events = [started("R0", "web0"), reboot("R1", "web1", due=NOW + DEADLINE + left)]
    (move,) = what_may_go_down_now(run(WEB, events, settings=Settings(overlap=overlap)))
    assert (move.kind, move.hosts, move.approve, move.needs_lease) == (kind, ("web1",), "", kind == "drain")


def test_what_needs_no_drain_gets_none_at_its_deadline():
    events = [started("R0", "web0"), reboot("R1", "web1", due=NOW + 100, action="approve")]
    assert [kind for kind, _hosts, _id in told(run(WEB, events, settings=Settings(overlap="proceed")))] == ["hold"]


@pytest.mark.parametrize(("overlap", "kind"), [("wait", "hold"), ("proceed", "drain")])
def test_at_the_deadline_hosts_in_service_are_given_up_only_where_the_user_says_so(overlap, kind):
    settings = Settings(overlap=overlap, min_in_service=3)
    (move,) = what_may_go_down_now(run(WEB, [reboot("R0", "web0", due=NOW + 100)], settings=settings))
    assert move.kind == kind


@pytest.mark.parametrize(("overlap", "kind"), [("wait", "hold"), ("proceed", "drain")])
def test_at_the_deadline_the_order_of_the_document_is_left_only_where_the_user_says_so(overlap, kind):
    events = [reboot("A", outside=("x",), due=NOW + 90), reboot("B", "web1", due=NOW + 100)]
    (move,) = what_may_go_down_now(run(WEB, events, settings=Settings(overlap=overlap)))
    assert (move.kind, move.hosts) == (kind, ("web1",))


def test_who_is_drained_once_more_at_the_deadline_keeps_the_other_domains_waiting():
    """web2 is down, so that web3 of the same domain could go; but now web0 is drained as well."""
    hosts = {"web0": Host("web0", "set", "0", journal=drained("GONE")), "web2": "2", "web3": "2"}
    events = [started("R2", "web2"), reboot("R0", "web0", due=NOW + 100), reboot("R3", "web3")]
    state = run(hosts, events, settings=Settings(overlap="proceed"))
    assert one(state, "drain").hosts == ("web0",)
    assert rounds(state) == []
    assert rounds(run({"web2": "2", "web3": "2"}, [events[0], events[2]])) == [("round", ("web3",), "R3")]


@pytest.mark.parametrize("overlap", ["wait", "proceed"])
def test_at_the_deadline_too_nothing_is_drained_beside_a_domain_that_is_out(overlap):
    out = Host("web1", "set", "1", journal=drained("OLD"), stuck="nginx does not start")
    blind = Host("web2", "set", "2", shows=("OLD",))
    events = [reboot("R0", "web0", "web2", due=NOW + 100)]
    state = run({**WEB, "web1": out, "web2": blind}, events, settings=Settings(overlap=overlap))
    assert {move.kind for move in what_may_go_down_now(state)} == {"hold"}


# Who speaks for a VM.


def test_where_the_user_allows_outside_only_hosts_are_missed():
    blind = Host("web1", "set", "1", shows=("other",))
    events = [reboot("R0", "web0", "web1", outside=("x",))]
    state = run({**WEB, "web1": blind}, events, settings=Settings(uncovered="allow"))
    assert reasons(state) == ["Nobody speaks in this run for web1, which event R0 names"]
    assert rounds(run(WEB, events, settings=Settings(uncovered="allow"))) == [("round", ("web0", "web1"), "R0")]


def test_a_record_alone_is_taken_back_by_whoever_reads_it():
    record = Record("lb1", "web0", ("R0",), ("Reboot",), "dead")
    move = one(run(WEB, records=(record,)), "return")
    assert (move.hosts, move.events, move.why) == (("web0",), ("R0",), "Its event is over, or is not the next")


# Several events of one host.


@pytest.mark.parametrize(("first", "second"), [("A", "B"), ("B", "A")])
def test_of_the_events_of_a_host_the_one_that_is_due_first_comes_first(first, second):
    events = [reboot(second, "web0", due=NOW + 6000), reboot(first, "web0", due=NOW + 5000)]
    state = run({"web0": Host("web0", "set", "0", journal=drained("A", "B"))}, events)
    assert may_approve_now(first, state) == Verdict(True)
    assert may_approve_now(second, state).why == (f"Event {first}, which names web0 too, comes before event {second}")


def test_while_an_event_of_a_host_is_under_way_no_other_of_it_is_approved():
    events = [reboot("A", "web0"), started("Z", "web0")]
    state = run({"web0": Host("web0", "set", "0", journal=drained("A", "Z"))}, events)
    assert may_approve_now("A", state) == Verdict(False, "Event Z, which names web0 too, comes before event A")


@pytest.mark.parametrize("kind", ["Freeze", "Reboot", "Preempt", "Terminate"])
def test_what_the_policy_ignores_holds_up_no_other_event_of_its_host(kind):
    events = [reboot("I", "web0", due=NOW + 5000, type=kind, action="ignore"), freeze("F", "web0", due=NOW + 6000)]
    assert may_approve_now("F", run(WEB, events)) == Verdict(True)


def test_what_can_not_be_approved_holds_up_no_other_event_of_its_host():
    events = [reboot("A", "web0", "web1", due=NOW + 5000), reboot("B", "web0", due=NOW + 6000)]
    state = run({**WEB, "web1": Host("web1", "set", "1", shows=("B",))}, events)
    assert rounds(state) == [("round", ("web0",), "B")]


def test_what_is_under_way_elsewhere_is_named():
    events = [started("R0", "web0"), started("R2", "web2"), reboot("R1", "web1")]
    held = one(run(WEB, events), "hold")
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
    state = run(hosts, [event], settings=Settings(max_at_once=limit))
    assert bool(rounds(state)) is goes
    if not goes:
        held = [move for move in moves(state, "hold") if move.events]
        assert [move.why for move in held] == [f"{down} hosts are down already, and maintenance_max_at_once is {limit}"]
        assert held[0].short_of_service


def test_what_takes_nothing_down_is_not_counted():
    busy = Host("d0", "set", "0", journal=drained("OLD", owner="x", worked_on_until=NOW + 9))
    state = run({"d0": busy, "h0": "0"}, [freeze("F", "h0")], settings=Settings(max_at_once=1, min_in_service=2))
    assert rounds(state) == [("round", ("h0",), "F")]


def test_what_is_taken_away_is_not_counted():
    busy = Host("d0", "set", "0", journal=drained("OLD", owner="x", worked_on_until=NOW + 9))
    lost = Host("h0", "set", "0", journal=Journal("me", ("P",), ("Preempt",), True, True))
    events = [reboot("P", "h0", type="Preempt")]
    state = run({"d0": busy, "h0": lost}, events, settings=Settings(max_at_once=1, min_in_service=2))
    assert rounds(state) == [("round", ("h0",), "P")]


# How many in service.


@pytest.mark.parametrize(
    ("least", "goes"), [(0, True), (1, True), (2, True), (3, False), ("66%", True), ("67%", False)]
)
def test_so_many_stay_in_service(least, goes):
    state = run(WEB, [reboot("R0", "web0")], settings=Settings(min_in_service=least))
    assert bool(rounds(state)) is goes


@pytest.mark.parametrize(
    ("share", "count", "number"), [("50%", 2, 1), ("100%", 200, 200), (" 1 % ", 3, 1), (" 4 ", 9, 4), (None, 3, 0)]
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
        state = run(hosts, [reboot("E", name)], settings=Settings(min_in_service=1))
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
        state = run(hosts, [reboot("E", "h0")], act=["h0", "h1"], settings=Settings(min_in_service=least))
        assert bool(rounds(state)) is goes


def test_who_goes_down_in_the_same_wave_is_not_in_service():
    hosts = dict.fromkeys(("h0", "h1", "h2"), "0")
    events = [reboot(f"E{number}", f"h{number}") for number in range(3)]
    assert len(rounds(run(hosts, events, settings=Settings(min_in_service=1)))) == 2


# Rules that could be broken without any test noticing, until `make mutants` showed it.

AT = 1000.0
LATER = AT + 3600.0
SOON = AT + 100.0


def event_of(event_id, *hosts, due=LATER, kind="Reboot", **more):
    return Event(event_id, kind, "Scheduled", due, hosts, **more)


def journal_of(*events, types=("Reboot",), **more):
    return Journal("me", events, types, True, True, **more)


def state_of(hosts, events, **more):
    ids = tuple(one.id for one in events)
    made = [dataclasses.replace(host, shows=ids if host.read else ()) for host in hosts]
    return Run("me", AT, *seen_by(made, events), may_act_on=frozenset(host.name for host in hosts), **more)


def moves_of(state, kind):
    return [(move.hosts, move.approve) for move in what_may_go_down_now(state) if move.kind == kind]


def group_of(state):
    return GroupState(state, "set", state.hosts)


def test_a_mark_in_a_note_of_a_host_that_was_not_read_is_under_way():
    away = Host("web0", "set", "0", read=False)
    events = [event_of("R0", "web0"), event_of("R1", "web1")]
    note = Note("web0", ("R0",), "Reboot", "other", Mark("R0", ("web0",), AT))
    marked = group_of(state_of([away, Host("web1", "set", "1")], events, notes=(note,)))
    assert (set(marked.marks), set(marked.noted_marks)) == (set(), {"R0"})
    assert marked.is_under_way(events[0])
    assert moves_of(marked.run, "drain") == []
    unmarked = group_of(
        state_of([away, Host("web1", "set", "1")], events, notes=(dataclasses.replace(note, mark=None),))
    )
    assert not unmarked.is_under_way(events[0])
    # Two lock hosts would remember it: it was never written by majority.
    for lacking, is_out in ((("k1",), True), (("k1", "k2"), False)):
        lacked = group_of(state_of([away], events, notes=(dataclasses.replace(note, lacking=lacking),)))
        assert (lacked.is_out(away), lacked.is_under_way(events[0])) == (is_out, is_out)


def test_the_newest_mark_of_an_event_counts_in_whatever_order():
    old, new = Mark("R0", ("web0",), AT - 60), Mark("R0", ("web0", "web1"), AT)
    for first, second in ((old, new), (new, old)):
        hosts = [
            Host("web0", "set", "0", journal=journal_of("R0", marks=(first,))),
            Host("web1", "set", "0", journal=journal_of("R0", marks=(second,))),
        ]
        assert group_of(state_of(hosts, [event_of("R0", "web0", "web1")])).marks["R0"] == new


@pytest.mark.parametrize(
    ("types", "read", "is_out"),
    [
        (("Reboot",), True, True),
        (("Reboot",), False, True),
        # It was cancelled: the host is only drained.
        (("Preempt",), True, True),
        (("Preempt",), False, False),
        (("Preempt", "Reboot"), True, True),
        (("Preempt", "Reboot"), False, False),
        ((), False, True),
    ],
)
def test_what_is_drained_for_a_vm_that_is_taken_away_holds_nobody_up(types, read, is_out):
    host = Host("web0", "set", "0", read=read, journal=journal_of("R0", types=types))
    assert group_of(state_of([host], [])).is_out(host) is is_out


def test_what_is_drained_for_a_preempt_holds_nobody_up_while_it_is_shown():
    host = Host("web0", "set", "0", shows=("R0",), journal=journal_of("R0", types=("Preempt",)))
    assert not group_of(state_of([host], [event_of("R0", "web0", kind="Preempt")])).is_out(host)


def test_a_host_that_stays_drained_keeps_the_other_domains_waiting():
    """Its event can't be approved, as it names somebody whom nobody speaks for, and there is no time for a return."""
    hosts = [Host("web0", "set", "0", journal=journal_of("R0")), Host("web1", "set", "1")]
    state = state_of(hosts, [event_of("R0", "web0", "ghost", due=SOON), event_of("R1", "web1")])
    assert moves_of(state, "round") == []
    assert (("web1",), "") in moves_of(state, "hold")


@pytest.mark.parametrize("overlap", ["wait", "proceed"])
def test_what_another_run_works_on_is_not_drained_at_its_deadline_either(overlap):
    other = Journal("other", ("R0",), ("Reboot",), True, False, worked_on_until=AT + 20)
    state = state_of(
        [Host("web0", "set", "0", journal=other)],
        [event_of("R0", "web0", due=SOON)],
        settings=Settings(overlap=overlap),
    )
    assert [move.kind for move in what_may_go_down_now(state) if move.kind in ("round", "drain")] == []


def test_a_round_is_drained_for_what_is_drained_alone():
    short = event_of("F0", "web0", due=LATER + 1, kind="Freeze", action="approve")
    left = event_of("I0", "web0", due=LATER + 2, action="ignore")
    state = state_of([Host("web0", "set", "0")], [event_of("R0", "web0"), short, left])
    (first,) = [move for move in what_may_go_down_now(state) if move.approve == "R0"]
    assert first.events == ("R0",)


@pytest.mark.parametrize("overlap", ["wait", "proceed"])
def test_after_a_failure_nothing_of_its_group_is_drained_at_its_deadline_either(overlap):
    state = state_of(
        [Host("web0", "set", "0")],
        [event_of("R0", "web0", due=SOON)],
        settings=Settings(overlap=overlap),
        failures={"set": "web9 could not be returned"},
    )
    assert [move.kind for move in what_may_go_down_now(state)] == ["hold"]


@pytest.mark.parametrize(("left", "is_worked_on"), [(-1, False), (0, False), (1, True)])
def test_another_run_works_there_until_its_time_is_over_and_no_longer(left, is_worked_on):
    """A host that says nothing of it has 0 seconds left."""
    journal = Journal("other", ("R0",), ("Reboot",), True, True, worked_on_until=AT + left)
    host = Host("web0", "set", "0", journal=journal)
    assert group_of(state_of([host], [event_of("R0", "web0")])).is_worked_on(host) is is_worked_on


def test_a_mark_of_an_event_that_is_gone_hides_no_other():
    marks = (Mark("GONE", ("web0",), AT), Mark("R0", ("web0",), AT))
    state = group_of(
        state_of([Host("web0", "set", "0", journal=journal_of("R0", marks=marks))], [event_of("R0", "web0")])
    )
    assert set(state.marks) == {"R0"}


@pytest.mark.parametrize("takes_down", [True, False])
def test_what_nobody_shows_any_more_is_down_if_its_mark_says_so(takes_down):
    mark = Mark("R0", ("web0",), AT, takes_down=takes_down)
    journal, named = Journal("me", marks=(mark,)), {"R0": ("web0",)}
    away = Host("web0", "set", "0", read=False, named_with=named, journal=journal)
    state = group_of(state_of([away, Host("web1", "set", "1")], []))
    assert state.taken_by_events == ({"web0": "R0"} if takes_down else {})


def test_what_the_policy_ignores_is_never_approved():
    ignored = state_of([Host("web0", "set", "0")], [event_of("R0", "web0", action="ignore")])
    assert may_approve_now("R0", ignored) == Verdict(False, "The policy ignores event R0")


@pytest.mark.parametrize(("action", "returned"), [("drain", []), ("ignore", [(("web0",), "")])])
def test_who_is_drained_for_a_vm_that_is_taken_away_is_not_brought_back(action, returned):
    host = Host("web0", "set", "0", journal=journal_of("R0", "P", types=("Reboot", "Preempt")))
    state = state_of([host], [event_of("P", "web0", kind="Preempt", action=action)])
    assert moves_of(state, "return") == returned


@pytest.mark.parametrize(("least", "never"), [(2, False), (3, False), (4, True)])
def test_what_may_still_be_met_is_not_given_up(least, never):
    """Three others stay, of which one was read: more may come."""
    hosts = [Host(f"web{number}", "set", "0", read=number < 2) for number in range(4)]
    state = state_of(hosts, [event_of("R0", "web0")], settings=Settings(min_in_service=least))
    (held,) = [move for move in what_may_go_down_now(state) if move.kind == "hold" and move.events]
    assert (held.never, held.short_of_service) == (never, True)


def test_hosts_of_the_same_domain_are_not_in_the_way():
    hosts = [Host("web0", "set", "0"), Host("web1", "set", "0"), Host("web2", "set", "1")]
    state = group_of(state_of(hosts, []))
    assert state.in_the_way(["web0"], ["web1", "web2"]) == ["web2"]
    # What one event takes down in two domains goes alone.
    assert state.in_the_way(["web0", "web2"], ["web1"]) == ["web1"]
    assert not state.in_the_way(["web0"], ["web1"])


def test_a_journal_without_events_is_worked_on_as_long_as_it_says():
    """No other host has the same events, as there are none."""
    journal = Journal("other", drained=True, worked_on_until=AT + 5)
    rest = Journal("other", drained=True, worked_on_until=AT + 50)
    state = group_of(state_of([Host("web0", "set", "0", journal=journal), Host("web1", "set", "0", journal=rest)], []))
    assert state.worked_on_until(state.hosts["web0"]) == AT + 5


# What must hold of every decision.

NAMES = tuple(f"h{number}" for number in range(8))


@st.composite
def runs(draw):
    # Where little stands in the way, more may go down: without these there would hardly be any round to look at.
    calm = draw(st.booleans())
    events = []
    for number in range(draw(st.integers(0, 5))):
        # Hosts of even and of odd number are two groups, and no event names hosts of both.
        ours = NAMES[draw(st.integers(0, 1)) :: 2]
        named = draw(st.lists(st.sampled_from(ours), min_size=1, max_size=3, unique=True))
        started = draw(st.booleans()) and draw(st.booleans())
        events.append(
            Event(
                f"E{number}",
                draw(st.sampled_from(["Reboot", "Redeploy", "Freeze", "Preempt"])),
                "Started" if started else "Scheduled",
                None if started else 1000.0 + draw(st.sampled_from([50, 500, 5000])),
                tuple(named),
                outside=() if calm else draw(st.sampled_from([(), (), (), ("x",)])),
                action=draw(st.sampled_from(["drain", "drain", "approve", "ignore"])),
            )
        )
    hosts = []
    for number, name in enumerate(NAMES):
        group = ("even", "odd")[number % 2]
        shown = tuple(event.id for event in events if int(event.hosts[0][1:]) % 2 == number % 2)
        journal = None
        if draw(st.integers(0, 3)) == 0:
            for_events = tuple(draw(st.lists(st.sampled_from(["E0", "E1", "E9"]), min_size=1, max_size=2, unique=True)))
            journal = Journal(
                owner=draw(st.sampled_from(["me", "other"])),
                events=for_events,
                types=("Reboot",),
                drained=draw(st.booleans()),
                finished=draw(st.booleans()),
                marks=tuple(Mark(event, (name,), 1000.0 - draw(st.integers(0, 100))) for event in for_events[1:]),
                worked_on_until=draw(st.sampled_from([900.0, 1020.0])),
            )
        domain = draw(st.sampled_from(["0", "0", "0", "0", "1"] if calm else ["0", "1", "2"]))
        read = calm or draw(st.integers(0, 5)) > 0
        hosts.append(Host(name, group, domain, read=read, shows=shown, journal=journal))
    made, seen = seen_by(hosts, events)
    return Run(
        run="me",
        now=1000.0,
        hosts=made,
        events=seen,
        settings=Settings(
            overlap=draw(st.sampled_from(["wait", "proceed"])), max_at_once=draw(st.sampled_from([None, 1, 2, 3]))
        ),
        may_act_on=frozenset(NAMES if calm else draw(st.sets(st.sampled_from(NAMES)))),
    )


def domains_of(run, names):
    by_name = {host.name: host.domain for host in run.hosts}
    return {by_name.get(name, f"VM {name}") for name in names}


@settings(max_examples=150, deadline=None)
@given(runs())
def test_what_goes_down_is_one_domain_or_one_event(run):
    moves = what_may_go_down_now(run)
    events = {event.id: event for event in run.events}
    for state in group_states(run):
        rounds = [move for move in moves if move.kind == "round" and move.group == state.name]
        for move in rounds:
            event = events[move.approve]
            assert not event.started
            assert event.action != "ignore"
            assert not event.outside
            others = (state.down | {name for other in rounds for name in other.hosts if other.events}) - set(
                event.hosts
            )
            if event.takes_down and others:
                assert len(domains_of(run, {*event.hosts, *others})) == 1


def test_rounds_beside_hosts_that_are_down_are_among_the_examples():
    def has_one(run):
        rounds = [move for move in what_may_go_down_now(run) if move.kind == "round"]
        down = {state.name: state.down for state in group_states(run)}
        return any(down[move.group] - set(move.hosts) for move in rounds)

    assert_generated(runs(), has_one)


@settings(max_examples=150, deadline=None)
@given(runs())
def test_a_host_is_told_one_thing_and_never_returned_from_under_an_event(run):
    moves = what_may_go_down_now(run)
    states = {state.name: state for state in group_states(run)}
    doing = [(name, move.kind) for move in moves if move.kind in ("return", "drain", "forget") for name in move.hosts]
    returned = {name for name, kind in doing if kind == "return"}
    assert returned.isdisjoint(name for name, kind in doing if kind != "return")
    rounds = {name for move in moves if move.kind == "round" and move.events for name in move.hosts}
    assert rounds.isdisjoint(name for name, kind in doing if kind != "forget")
    for move in moves:
        assert run.may_act_on.issuperset(move.hosts)
        if move.kind == "return":
            assert all(name not in states[move.group].taken_by_events for name in move.hosts)
        if move.kind == "hold":
            assert move.why
            assert not move.needs_lease


def test_a_thousand_hosts_are_decided_in_a_moment():
    hosts = tuple(Host(f"h{n}", "set", str(n % 5), shows=tuple(f"E{n}" for n in range(1000))) for n in range(1000))
    events = tuple(Event(f"E{n}", "Reboot", "Scheduled", 5000.0, (f"h{n}",)) for n in range(1000))
    run = Run("me", 0.0, *seen_by(hosts, events), may_act_on=frozenset(host.name for host in hosts))
    moves = what_may_go_down_now(run)
    assert len([move for move in moves if move.kind == "round"]) == 200


# The words of the model that are properties of its data.


@pytest.mark.parametrize(
    ("kind", "action", "takes_down"),
    [
        ("Freeze", "approve", False),
        ("Freeze", "drain", True),
        ("Freeze", "ignore", True),
        ("Freeze", "", True),
        ("Reboot", "approve", True),
        ("A", "approve", True),
    ],
)
def test_only_a_freeze_that_is_approved_without_a_drain_takes_nothing_down(kind, action, takes_down):
    assert Event("E", kind, "Scheduled", None, (), action=action).takes_down is takes_down


@pytest.mark.parametrize(("status", "started"), [("Started", True), ("Scheduled", False), ("Zzz", False)])
def test_only_started_has_started(status, started):
    assert Event("E", "Reboot", status, None, ()).started is started


@pytest.mark.parametrize(
    ("kind", "takes_away"), [("Preempt", True), ("Terminate", True), ("Reboot", False), ("Freeze", False)]
)
def test_what_takes_the_vm_away(kind, takes_away):
    assert Event("E", kind, "Scheduled", None, ()).takes_away is takes_away


def test_the_place_in_the_document_is_the_date_and_then_the_id():
    first = Event("b", "Reboot", "Scheduled", 5.0, ())
    assert first.position == (5.0, "b")
    assert Event("A", "Reboot", "Scheduled", 5.0, ()).position == (5.0, "a")
    now = float("-inf")
    assert Event("C", "Reboot", "Scheduled", None, ()).position == (now, "c")
    assert Event("D", "Reboot", "Started", 5.0, ()).position == (now, "d")


def test_what_is_assumed_where_nothing_is_said():
    settings = Settings()
    assert (settings.overlap, settings.min_in_service, settings.max_at_once) == ("wait", None, None)
    assert (settings.drain_timeout, settings.reserve, settings.resend_after) == (300.0, 60.0, 60.0)
    assert (settings.continue_after_failure, settings.uncovered) == (False, "refuse")
    journal = Journal("x")
    assert (journal.drained, journal.finished, journal.returning) == (False, False, False)
    assert journal.worked_on_until == float("-inf")
    host = Host("a", "set", "0")
    assert (host.read, host.healthy, host.stuck) == (True, True, "")
    move = Move("hold", "set", ())
    assert (move.needs_lease, move.never, move.short_of_service, move.until) == (False, False, False, None)
    mark = Mark("E", (), 0.0)
    assert (mark.takes_down, mark.takes_away) == (True, False)
