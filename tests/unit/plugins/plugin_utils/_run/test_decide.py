# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may go down now, case by case. The numbers of rules are those of the model of a roll."""

from __future__ import annotations

import dataclasses

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
    Note,
    Record,
    Settings,
)
from helpers.run_cases import NOW, WEB, drained, freeze, reasons, reboot, roll, rounds, started, told

# What was seen to break, by the numbers of that list.


def test_case_1_a_freeze_of_all_domains_glues_nothing_together():
    events = [freeze("F", *WEB), reboot("R0", "web0"), reboot("R1", "web1"), reboot("R2", "web2")]
    assert [(hosts, approve) for _kind, hosts, approve in rounds(roll(WEB, events))] == [
        (("web0", "web1", "web2"), "F"),
        (("web0",), "R0"),
    ]


def test_case_1_a_chain_of_events_is_taken_link_by_link():
    events = [reboot("A", "web0", "web1", due=NOW + 5000), reboot("B", "web1", "web2", due=NOW + 6000)]
    assert rounds(roll(WEB, events)) == [("round", ("web0", "web1"), "A")]


def test_case_3_what_a_killed_run_left_drained_is_brought_back_before_something_more_urgent():
    left = Host("web0", "set", "0", journal=drained("R0", owner="dead"))
    events = [reboot("R0", "web0"), reboot("R1", "web1", due=NOW + 900)]
    state = roll({**WEB, "web0": left}, events)
    assert ("return", ("web0",), "") in told(state)
    assert rounds(state) == []
    assert "First web0 must be back in service" in reasons(state)


def test_case_3_it_goes_on_if_it_is_the_next_anyway():
    left = Host("web0", "set", "0", journal=drained("R0", owner="dead"))
    (move, *_others) = what_may_go_down_now(roll({**WEB, "web0": left}, [reboot("R0", "web0"), reboot("R1", "web1")]))
    assert (move.kind, move.hosts, move.approve, move.take_over) == ("round", ("web0",), "R0", ("web0",))


def test_case_3_killed_right_after_the_post_it_is_waited_for_and_not_brought_back():
    mark = Mark("R0", ("web0",), NOW - 10)
    left = Host("web0", "set", "0", journal=drained("R0", owner="dead", marks=(mark,)))
    state = roll({**WEB, "web0": left}, [reboot("R0", "web0"), reboot("R1", "web1", due=NOW + 900)])
    assert told(state) == [("hold", ("web1",), ""), ("finish", ("web0",), "")] or told(state) == [
        ("finish", ("web0",), ""),
        ("hold", ("web1",), ""),
    ]


def test_case_4_nothing_is_approved_while_another_domain_is_down_and_can_not_be_read():
    gone = Host("web0", "set", "0", read=False)
    ready = Host("web1", "set", "1", journal=drained("R1"))
    events = [started("R0", "web0"), reboot("R1", "web1")]
    state = roll({**WEB, "web0": gone, "web1": ready}, events)
    assert rounds(state) == []
    verdict = may_approve_now("R1", state)
    assert not verdict.allowed
    assert verdict.why == "Event R0 is under way for web0, of another domain"


def test_case_4_a_reading_of_another_group_holds_nobody_up():
    liar = Host("db0", "other", "0", shows=("R9",))
    hosts = {**WEB, "db0": liar}
    honest = {name: Host(name, "set", domain, shows=("R1",)) for name, domain in WEB.items()}
    state = roll({**hosts, **honest}, [started("R9", "web0"), reboot("R1", "web1")])
    assert rounds(state) == [("round", ("web1",), "R1")]


def test_case_5_a_record_without_a_journal_is_out_and_is_returned():
    record = Record("lb1", "web0", ("R0",), ("Redeploy",), "dead")
    state = roll(WEB, [reboot("R1", "web1")], records=(record,))
    assert ("return", ("web0",), "") in told(state)
    assert rounds(state) == []


def test_case_5_it_is_drained_again_at_once_while_its_event_is_under_way():
    record = Record("lb1", "web0", ("R0",), ("Redeploy",), "dead")
    (move,) = what_may_go_down_now(roll(WEB, [started("R0", "web0", type="Redeploy")], records=(record,)))
    assert (move.kind, move.hosts, move.needs_lease) == ("drain", ("web0",), False)


def test_case_7_the_one_host_that_can_be_read_is_returned():
    state = roll({"a": Host("a", "set", "0", journal=drained("E")), "b": Host("b", "set", "1", read=False)})
    (move,) = what_may_go_down_now(state)
    assert (move.kind, move.hosts, move.needs_lease) == ("return", ("a",), False)


# Rule by rule.


def test_rule_1_hosts_of_one_domain_go_together_and_those_of_others_wait():
    events = [reboot(f"R{number}", f"h{number}") for number in range(4)]
    state = roll({"h0": "0", "h1": "1", "h2": "0", "h3": "1"}, events)
    assert [hosts for _kind, hosts, _approve in rounds(state)] == [("h0",), ("h2",)]


def test_rule_1_groups_go_side_by_side_and_a_failure_stops_its_own():
    hosts = {"a0": Host("a0", "a", "0", shows=("A",)), "b0": Host("b0", "b", "0", shows=("B",))}
    events = [reboot("A", "a0"), reboot("B", "b0")]
    assert len(rounds(roll(hosts, events))) == 2
    state = roll(hosts, events, failures={"a": "a0: no connection"})
    assert rounds(state) == [("round", ("b0",), "B")]


def test_rule_2_a_host_whose_event_is_gone_needs_no_lease_to_come_back():
    (move,) = what_may_go_down_now(roll({"web0": Host("web0", "set", "0", journal=drained("R0"))}))
    assert (move.kind, move.needs_lease) == ("return", False)


def test_rule_3_events_of_the_same_hosts_are_one_drain_and_one_approval():
    events = [reboot("A", "web0", due=NOW + 5000), reboot("B", "web0", due=NOW + 6000)]
    ready = Host("web0", "set", "0", journal=drained("A", "B"))
    state = roll({**WEB, "web0": ready}, events)
    moves = [move for move in what_may_go_down_now(state) if move.kind == "round"]
    assert [(move.events, move.approve) for move in moves] == [(("A", "B"), "A")]
    assert may_approve_now("A", state).allowed
    assert may_approve_now("B", state).why == "Event A, which names web0 too, comes before event B"


def test_rule_3_while_a_redeploy_is_due_first_not_even_a_freeze_is_approved():
    redeploy = reboot("A", "web0", due=NOW + 5000, type="Redeploy", action="ignore")
    events = [redeploy, freeze("F", "web0", due=NOW + 6000)]
    assert not may_approve_now("F", roll(WEB, events)).allowed
    assert rounds(roll(WEB, events)) == []


@pytest.mark.parametrize(
    ("left", "overlap", "kind"), [(5000, "proceed", "hold"), (100, "proceed", "drain"), (100, "wait", "hold")]
)
def test_rule_4_overlap(left, overlap, kind):
    state = roll(WEB, [started("R0", "web0"), reboot("R1", "web1", due=NOW + left)], settings=Settings(overlap=overlap))
    (move,) = what_may_go_down_now(state)
    assert (move.kind, move.hosts, move.approve) == (kind, ("web1",), "")


@pytest.mark.parametrize(("left", "moves"), [(5000, ["return", "hold"]), (100, ["hold"])])
def test_rule_4_what_is_drained_when_another_domain_starts(left, moves):
    ready = Host("web1", "set", "1", journal=drained("R1"))
    state = roll({**WEB, "web1": ready}, [started("R0", "web0"), reboot("R1", "web1", due=NOW + left)])
    assert [move.kind for move in what_may_go_down_now(state)] == moves


def test_rule_4_preempt_is_drained_at_once_without_a_lease():
    state = roll(WEB, [started("R0", "web0"), reboot("P", "web1", due=NOW + 20, type="Preempt")])
    move = what_may_go_down_now(state)[0]
    assert (move.kind, move.hosts, move.needs_lease) == ("drain", ("web1",), False)


def test_rule_4_what_vanishes_keeps_nobody_waiting():
    lost = Host("web1", "set", "1", journal=Journal("me", ("P",), ("Preempt",), True, True), shows=("R0",))
    unread = dataclasses.replace(lost, read=False)
    assert rounds(roll({**WEB, "web1": unread}, [reboot("R0", "web0")])) == [("round", ("web0",), "R0")]
    # It was cancelled, and the host can be returned: until then it is a domain that is down.
    assert rounds(roll({**WEB, "web1": lost}, [reboot("R0", "web0")])) == []


def test_rule_5_min_in_service_waits_for_what_may_come_and_says_what_never_can():
    sick = Host("web1", "set", "1", healthy=False)
    events = [reboot("R0", "web0")]
    state = roll({**WEB, "web1": sick}, events, settings=Settings(min_in_service=2))
    (move,) = what_may_go_down_now(state)
    assert (move.kind, move.never) == ("hold", False)
    assert move.why == "1 hosts would be in service, and maintenance_min_in_service is 2"
    (move,) = what_may_go_down_now(roll(WEB, events, settings=Settings(min_in_service=3)))
    assert move.never
    assert rounds(roll(WEB, events, settings=Settings(min_in_service=2)))


def test_rule_5_hosts_that_a_run_leaves_out_are_of_the_service_and_do_not_count_as_in_service():
    services = dict.fromkeys((*WEB, "web3", "web4", "web5"), "")
    for least, goes in ((2, True), ("33%", True), ("50%", False), (3, False)):
        state = roll(WEB, [reboot("R0", "web0")], settings=Settings(min_in_service=least), services=services)
        assert bool(rounds(state)) is goes
        assert [move.never for move in what_may_go_down_now(state)] == [not goes]


def test_rule_5_a_share_is_rounded_up():
    assert (at_least("50%", 3), at_least("2", 3), at_least(None, 3)) == (2, 2, 0)


def test_rule_5_max_at_once_counts_what_is_down():
    events = [reboot(f"R{number}", f"h{number}") for number in range(3)]
    hosts = dict.fromkeys(("h0", "h1", "h2"), "0")
    assert len(rounds(roll(hosts, events, settings=Settings(max_at_once=2)))) == 2
    busy = Host("h9", "set", "0", journal=drained("R9", owner="other", worked_on_until=NOW + 20))
    assert len(rounds(roll({**hosts, "h9": busy}, events, settings=Settings(max_at_once=2)))) == 1


@pytest.mark.parametrize("go_on", [False, True])
def test_rule_6_what_can_not_be_returned_keeps_the_others_unless_told_otherwise(go_on):
    stuck = Host("web0", "set", "0", journal=drained("R0"), stuck="nginx does not start", shows=("R1",))
    state = roll({**WEB, "web0": stuck}, [reboot("R1", "web1")], settings=Settings(continue_after_failure=go_on))
    assert bool(rounds(state)) is go_on
    assert "web0 can't be returned: nginx does not start" in reasons(state)


def test_rule_7_an_uncovered_event_is_drained_late_and_not_approved():
    for left, kind in ((5000, "hold"), (100, "drain")):
        event = reboot("R0", "web0", due=NOW + left, strangers=("x",))
        (move,) = what_may_go_down_now(roll(WEB, [event]))
        assert (move.kind, move.hosts, move.approve) == (kind, ("web0",), "")
        assert "Nobody speaks in this run for x, which event R0 names" in move.why


def test_a_named_host_that_does_not_show_the_event_covers_nothing():
    blind = Host("web1", "set", "1", shows=("other",))
    state = roll({**WEB, "web1": blind}, [reboot("R0", "web0", "web1")])
    assert rounds(state) == []
    assert reasons(state) == ["Nobody speaks in this run for web1, which event R0 names"]


def test_8_a_marked_event_is_sent_again_after_a_minute():
    for age, kind in ((30, "finish"), (90, "round")):
        mark = Mark("R0", ("web0",), NOW - age)
        left = Host("web0", "set", "0", journal=drained("R0", owner="dead", marks=(mark,)))
        (move,) = what_may_go_down_now(roll({**WEB, "web0": left}, [reboot("R0", "web0")]))
        assert move.kind == kind


def test_8_a_host_that_a_sent_event_names_later_is_drained_at_once():
    mark = Mark("R0", ("web0",), NOW - 5)
    left = Host("web0", "set", "0", journal=drained("R0", marks=(mark,)))
    move = what_may_go_down_now(roll({**WEB, "web0": left}, [reboot("R0", "web0", "web1")]))[0]
    assert (move.kind, move.hosts, move.needs_lease) == ("drain", ("web1",), False)


def test_9_a_journal_with_nothing_in_it_is_forgotten():
    empty = Host("web0", "set", "0", journal=Journal("dead", marks=(Mark("F", ("web0",), NOW - 500),)))
    assert told(roll({**WEB, "web0": empty})) == [("forget", ("web0",), "")]


def test_10_a_host_is_worked_on_as_long_as_its_neighbour_is():
    idle = Host("h0", "set", "0", journal=drained("E", owner="other"))
    busy = Host("h2", "set", "0", journal=drained("E", owner="other", finished=False, worked_on_until=NOW + 20))
    moves = what_may_go_down_now(roll({"h0": idle, "h2": busy}, [reboot("E", "h0", "h2")]))
    assert {move.kind for move in moves} == {"hold"}
    assert moves[0].until == NOW + 20


def test_a_note_counts_for_a_host_that_was_not_read():
    unread = Host("web0", "set", "0", read=False)
    events = [reboot("R1", "web1")]
    note = Note("web0", ("R0",), "Reboot", "dead")
    assert rounds(roll({**WEB, "web0": unread}, events, notes=(note,), act=["web1"])) == []
    assert rounds(roll({**WEB, "web0": unread}, events, act=["web1"]))
    assert rounds(roll(WEB, events, notes=(note,)))
    assert rounds(roll({**WEB, "web0": unread}, events, notes=(dataclasses.replace(note, type="Preempt"),)))


def test_the_order_of_the_document_where_another_run_may_have_a_vm():
    events = [reboot("A", strangers=("x",), due=NOW + 4000), reboot("B", "web1", due=NOW + 5000)]
    state = roll(WEB, events)
    assert reasons(state) == ["Event A comes first, and another run may have x"]
    assert rounds(roll(WEB, [dataclasses.replace(events[0], not_before=NOW + 6000), events[1]]))
    late = [dataclasses.replace(event, not_before=NOW + 100 + event.order[0] / 1e6) for event in events]
    assert [kind for kind, _hosts, _why in told(roll(WEB, late, settings=Settings(overlap="proceed")))] == ["drain"]


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
    state = roll({**WEB, "web0": Host("web0", "set", "0", journal=journal)}, [reboot("R0", "web0")])
    assert may_approve_now("R0", state).allowed is allowed


def test_a_vm_that_vanished_after_its_approval_is_not_waited_for():
    mark = Mark("P", ("web1",), NOW - 60, vanishing=True)
    lost = Host("web1", "set", "1", read=False, journal=Journal("me", ("P",), ("Preempt",), True, True, marks=(mark,)))
    assert told(roll({**WEB, "web1": lost}, [reboot("R0", "web0")])) == [("round", ("web0",), "R0")]
