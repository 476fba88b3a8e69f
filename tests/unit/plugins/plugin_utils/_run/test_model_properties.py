# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold of every decision."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.decide import group_states, what_may_go_down_now
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    Event,
    Host,
    Journal,
    Mark,
    Roll,
    Settings,
)
from helpers.properties import assert_generated
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = tuple(f"h{number}" for number in range(8))


@st.composite
def rolls(draw):
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
                strangers=() if calm else draw(st.sampled_from([(), (), (), ("x",)])),
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
    return Roll(
        run="me",
        now=1000.0,
        hosts=tuple(hosts),
        events=tuple(events),
        settings=Settings(
            overlap=draw(st.sampled_from(["wait", "proceed"])), max_at_once=draw(st.sampled_from([None, 1, 2, 3]))
        ),
        may_act_on=frozenset(NAMES if calm else draw(st.sets(st.sampled_from(NAMES)))),
    )


def domains_of(roll, names):
    by_name = {host.name: host.domain for host in roll.hosts}
    return {by_name.get(name, f"VM {name}") for name in names}


@settings(max_examples=150, deadline=None)
@given(rolls())
def test_what_goes_down_is_one_domain_or_one_event(roll):
    moves = what_may_go_down_now(roll)
    events = {event.id: event for event in roll.events}
    for state in group_states(roll):
        rounds = [move for move in moves if move.kind == "round" and move.group == state.name]
        for move in rounds:
            event = events[move.approve]
            assert not event.started
            assert event.action != "ignore"
            assert not event.strangers
            others = (state.down | {name for other in rounds for name in other.hosts if other.events}) - set(
                event.hosts
            )
            if event.takes_down and others:
                assert len(domains_of(roll, {*event.hosts, *others})) == 1


def test_rounds_beside_hosts_that_are_down_are_among_the_examples():
    def has_one(roll):
        rounds = [move for move in what_may_go_down_now(roll) if move.kind == "round"]
        down = {state.name: state.down for state in group_states(roll)}
        return any(down[move.group] - set(move.hosts) for move in rounds)

    assert_generated(rolls(), has_one)


@settings(max_examples=150, deadline=None)
@given(rolls())
def test_a_host_is_told_one_thing_and_never_returned_from_under_an_event(roll):
    moves = what_may_go_down_now(roll)
    states = {state.name: state for state in group_states(roll)}
    doing = [(name, move.kind) for move in moves if move.kind in ("return", "drain", "forget") for name in move.hosts]
    returned = {name for name, kind in doing if kind == "return"}
    assert returned.isdisjoint(name for name, kind in doing if kind != "return")
    rounds = {name for move in moves if move.kind == "round" and move.events for name in move.hosts}
    assert rounds.isdisjoint(name for name, kind in doing if kind != "forget")
    for move in moves:
        assert roll.may_act_on.issuperset(move.hosts)
        if move.kind == "return":
            assert all(name not in states[move.group].taken_by_events for name in move.hosts)
        if move.kind == "hold":
            assert move.why
            assert not move.needs_lease


def test_a_thousand_hosts_are_decided_in_a_moment():
    hosts = tuple(Host(f"h{n}", "set", str(n % 5), shows=tuple(f"E{n}" for n in range(1000))) for n in range(1000))
    events = tuple(Event(f"E{n}", "Reboot", "Scheduled", 5000.0, (f"h{n}",)) for n in range(1000))
    roll = Roll("me", 0.0, hosts, events, may_act_on=frozenset(host.name for host in hosts))
    moves = what_may_go_down_now(roll)
    assert len([move for move in moves if move.kind == "round"]) == 200
