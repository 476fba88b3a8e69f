# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that could be broken without any test noticing, until `make mutants` showed it."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.decide import (
    may_approve_now,
    what_may_go_down_now,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    Event,
    Host,
    Journal,
    Mark,
    Note,
    Roll,
    Settings,
    Verdict,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.state import GroupState

NOW = 1000.0
LATER = NOW + 3600.0
SOON = NOW + 100.0


def event(event_id, *hosts, due=LATER, kind="Reboot", **more):
    return Event(event_id, kind, "Scheduled", due, hosts, **more)


def drained(*events, types=("Reboot",), **more):
    return Journal("me", events, types, True, True, **more)


def roll(hosts, events, **more):
    ids = tuple(one.id for one in events)
    made = tuple(dataclasses.replace(host, shows=ids if host.read else ()) for host in hosts)
    return Roll("me", NOW, made, tuple(events), may_act_on=frozenset(host.name for host in hosts), **more)


def moves(state, kind):
    return [(move.hosts, move.approve) for move in what_may_go_down_now(state) if move.kind == kind]


def group(state):
    return GroupState(state, "set", state.hosts)


def test_a_mark_in_a_note_of_a_host_that_was_not_read_is_under_way():
    away = Host("web0", "set", "0", read=False)
    events = [event("R0", "web0"), event("R1", "web1")]
    note = Note("web0", ("R0",), "Reboot", "other", Mark("R0", ("web0",), NOW))
    marked = group(roll([away, Host("web1", "set", "1")], events, notes=(note,)))
    assert set(marked.marks) == {"R0"}
    assert marked.is_under_way(events[0])
    unmarked = group(roll([away, Host("web1", "set", "1")], events, notes=(dataclasses.replace(note, mark=None),)))
    assert not unmarked.is_under_way(events[0])


def test_the_newest_mark_of_an_event_counts_in_whatever_order():
    old, new = Mark("R0", ("web0",), NOW - 60), Mark("R0", ("web0", "web1"), NOW)
    for first, second in ((old, new), (new, old)):
        hosts = [
            Host("web0", "set", "0", journal=drained("R0", marks=(first,))),
            Host("web1", "set", "0", journal=drained("R0", marks=(second,))),
        ]
        assert group(roll(hosts, [event("R0", "web0", "web1")])).marks["R0"] == new


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
def test_what_is_drained_for_a_vm_that_vanishes_holds_nobody_up(types, read, is_out):
    host = Host("web0", "set", "0", read=read, journal=drained("R0", types=types))
    assert group(roll([host], [])).is_out(host) is is_out


def test_what_is_drained_for_a_preempt_holds_nobody_up_while_it_is_shown():
    host = Host("web0", "set", "0", shows=("R0",), journal=drained("R0", types=("Preempt",)))
    assert not group(roll([host], [event("R0", "web0", kind="Preempt")])).is_out(host)


def test_a_host_that_stays_drained_keeps_the_other_domains_waiting():
    """Its event can't be approved, as it names somebody whom nobody speaks for, and there is no time for a return."""
    hosts = [Host("web0", "set", "0", journal=drained("R0")), Host("web1", "set", "1")]
    state = roll(hosts, [event("R0", "web0", "ghost", due=SOON), event("R1", "web1")])
    assert moves(state, "round") == []
    assert (("web1",), "") in moves(state, "hold")


@pytest.mark.parametrize("overlap", ["wait", "proceed"])
def test_what_another_run_works_on_is_not_drained_at_its_deadline_either(overlap):
    other = Journal("other", ("R0",), ("Reboot",), True, False, worked_on_until=NOW + 20)
    state = roll(
        [Host("web0", "set", "0", journal=other)], [event("R0", "web0", due=SOON)], settings=Settings(overlap=overlap)
    )
    assert [move.kind for move in what_may_go_down_now(state) if move.kind in ("round", "drain")] == []


def test_a_round_is_drained_for_what_is_drained_alone():
    short = event("F0", "web0", due=LATER + 1, kind="Freeze", action="approve")
    left = event("I0", "web0", due=LATER + 2, action="ignore")
    state = roll([Host("web0", "set", "0")], [event("R0", "web0"), short, left])
    (first,) = [move for move in what_may_go_down_now(state) if move.approve == "R0"]
    assert first.events == ("R0",)


@pytest.mark.parametrize("overlap", ["wait", "proceed"])
def test_after_a_failure_nothing_of_its_group_is_drained_at_its_deadline_either(overlap):
    state = roll(
        [Host("web0", "set", "0")],
        [event("R0", "web0", due=SOON)],
        settings=Settings(overlap=overlap),
        failures={"set": "web9 could not be returned"},
    )
    assert [move.kind for move in what_may_go_down_now(state)] == ["hold"]


@pytest.mark.parametrize(("left", "is_worked_on"), [(-1, False), (0, False), (1, True)])
def test_another_run_works_there_until_its_time_is_over_and_no_longer(left, is_worked_on):
    """A host that says nothing of it has 0 seconds left."""
    journal = Journal("other", ("R0",), ("Reboot",), True, True, worked_on_until=NOW + left)
    host = Host("web0", "set", "0", journal=journal)
    assert group(roll([host], [event("R0", "web0")])).is_worked_on(host) is is_worked_on


def test_a_mark_of_an_event_that_is_gone_hides_no_other():
    marks = (Mark("GONE", ("web0",), NOW), Mark("R0", ("web0",), NOW))
    state = group(roll([Host("web0", "set", "0", journal=drained("R0", marks=marks))], [event("R0", "web0")]))
    assert set(state.marks) == {"R0"}


@pytest.mark.parametrize("takes_down", [True, False])
def test_what_nobody_shows_any_more_is_down_if_its_mark_says_so(takes_down):
    mark = Mark("R0", ("web0",), NOW, takes_down=takes_down)
    away = Host("web0", "set", "0", read=False, journal=Journal("me", marks=(mark,)))
    state = group(roll([away, Host("web1", "set", "1")], []))
    assert state.taken_by_events == ({"web0": "R0"} if takes_down else {})


def test_what_the_policy_ignores_is_never_approved():
    ignored = roll([Host("web0", "set", "0")], [event("R0", "web0", action="ignore")])
    assert may_approve_now("R0", ignored) == Verdict(False, "The policy ignores event R0")


@pytest.mark.parametrize(("action", "returned"), [("drain", []), ("ignore", [(("web0",), "")])])
def test_who_is_drained_for_a_vm_that_vanishes_is_not_brought_back(action, returned):
    host = Host("web0", "set", "0", journal=drained("R0", "P", types=("Reboot", "Preempt")))
    state = roll([host], [event("P", "web0", kind="Preempt", action=action)])
    assert moves(state, "return") == returned


@pytest.mark.parametrize(("least", "never"), [(2, False), (3, False), (4, True)])
def test_what_may_still_be_met_is_not_given_up(least, never):
    """Three others stay, of which one was read: more may come."""
    hosts = [Host(f"web{number}", "set", "0", read=number < 2) for number in range(4)]
    state = roll(hosts, [event("R0", "web0")], settings=Settings(min_in_service=least))
    (held,) = [move for move in what_may_go_down_now(state) if move.kind == "hold" and move.events]
    assert (held.never, held.short_of_service) == (never, True)


def test_hosts_of_the_same_domain_are_not_in_the_way():
    hosts = [Host("web0", "set", "0"), Host("web1", "set", "0"), Host("web2", "set", "1")]
    state = group(roll(hosts, []))
    assert state.in_the_way(["web0"], ["web1", "web2"]) == ["web2"]
    # What one event takes down in two domains goes alone.
    assert state.in_the_way(["web0", "web2"], ["web1"]) == ["web1"]
    assert not state.in_the_way(["web0"], ["web1"])


def test_a_journal_without_events_is_worked_on_as_long_as_it_says():
    """No other host has the same events, as there are none."""
    journal = Journal("other", drained=True, worked_on_until=NOW + 5)
    rest = Journal("other", drained=True, worked_on_until=NOW + 50)
    state = group(roll([Host("web0", "set", "0", journal=journal), Host("web1", "set", "0", journal=rest)], []))
    assert state.worked_on_until(state.hosts["web0"]) == NOW + 5
