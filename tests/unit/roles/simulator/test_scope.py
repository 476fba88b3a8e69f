# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated clock; and the switch and the counter that the VMs of a delivery scope share."""

from __future__ import annotations

import types

import pytest
from helpers.simulator_inside import part

DAY = 86400
TIMES = {"first_call_seconds": 120, "events_after_seconds": 180, "off_after_seconds": DAY}
LISTED = types.SimpleNamespace(is_listed=lambda: True)
PLANNED = types.SimpleNamespace(is_listed=lambda: False)


@pytest.fixture
def clock(driven):
    return part("clock").Clock(4)


def a_scope(**settings):
    return part("delivery_scope").Scope("web", None, {**TIMES, "reset_incarnation": True, **settings})


@pytest.fixture
def scope():
    return a_scope()


@pytest.fixture
def at_once():
    """A scope that is on after its first call without delay."""
    scope = a_scope(first_call_seconds=0, events_after_seconds=0)
    scope.note_request(0, switches_on=True)
    scope.update_switch(0)
    return scope


def test_the_clock_goes_at_its_speed_and_jumps_add_up(clock, driven):
    assert clock.now() == 0
    driven.go_on(6.5)
    assert clock.now() == 26
    clock.advance(100)
    clock.advance(30)
    driven.go_on(1)
    assert clock.now() == 30 + 130
    assert repr(part("clock").Clock(1).speed) == "1.0"


def test_a_simulated_time_has_its_place_on_the_wall_clock_and_a_jump_brings_it_nearer(clock, driven):
    driven.go_on(3)
    assert [clock.wall(at) - driven.time() for at in (clock.now(), 12 + 40)] == [0, 10]
    clock.advance(40)
    assert [clock.wall(at) - driven.time() for at in (clock.now(), 12 + 40 + 20)] == [0, 5]


def test_the_real_seconds_until_a_simulated_time(clock, driven):
    assert clock.real_seconds_until(40) == 10
    driven.go_on(4)
    clock.advance(8)
    assert [clock.real_seconds_until(at) for at in (0, 24, 26, 40)] == [0, 0, 0.5, 4]


def test_a_reset_of_the_clock_forgets_the_jumps_and_the_wall_clock_may_be_set_back(clock, driven):
    driven.go_on(5)
    clock.advance(7)
    clock.reset()
    assert (clock.now(), clock.wall(4)) == (0, driven.time() + 1)
    driven.go_on(-3)
    assert clock.now() == -12


def test_the_first_request_that_reads_switches_it_on(scope):
    assert not scope.note_request(999, switches_on=False)
    assert scope.service_state(999) == "off"
    assert scope.note_request(1000, switches_on=True)
    assert not scope.note_request(1001, switches_on=True)
    assert (scope.ready_at, scope.visible_at) == (1120, 1300)
    assert [scope.service_state(now) for now in (1000, 1299, 1300, 1301)] == ["switching on"] * 2 + ["on"] * 2


@pytest.mark.parametrize(("events", "number"), [([], 1), ([PLANNED], 1), ([LISTED], 2), ([PLANNED, LISTED], 2)])
def test_events_show_from_the_second_on_and_under_another_number(scope, events, number):
    scope.events += events
    scope.note_request(0, switches_on=True)
    scope.update_switch(299)
    assert (scope.revealed, scope.incarnation) == (False, 1)
    for now in (300, 301):
        scope.update_switch(now)
        assert (scope.revealed, scope.incarnation) == (True, number)


def test_events_show_also_where_nobody_has_looked_at_that_second_but_never_while_it_is_off(scope):
    scope.update_switch(9 * DAY)
    assert not scope.revealed
    scope.note_request(9 * DAY, switches_on=True)
    scope.update_switch(9 * DAY + 1000)
    assert scope.revealed


@pytest.mark.parametrize("now", [0, 0.25])
def test_the_number_stays_where_nobody_has_seen_the_empty_list(now):
    scope = a_scope(events_after_seconds=0)
    scope.events.append(LISTED)
    scope.note_request(now, switches_on=True)
    scope.update_switch(now + 120)
    assert (scope.revealed, scope.incarnation) == (True, 1)


def test_a_day_of_silence_switches_it_off_to_the_second(at_once):
    at_once.note_request(49, switches_on=True)
    at_once.note_request(50, switches_on=False)
    at_once.incarnation = 7
    at_once.update_switch(DAY + 49)
    assert (at_once.switched_on, at_once.revealed, at_once.incarnation) == (True, True, 7)
    at_once.update_switch(DAY + 50)
    assert (at_once.switched_on, at_once.revealed, at_once.incarnation) == (False, False, 1)
    assert at_once.service_state(DAY + 50) == "off"


def test_a_request_or_a_change_after_a_day_of_silence_finds_it_off(at_once):
    at_once.incarnation = 7
    at_once.count_a_change(DAY)
    assert (at_once.switched_on, at_once.incarnation) == (False, 1)
    assert at_once.note_request(DAY, switches_on=True)
    assert at_once.note_request(2 * DAY, switches_on=True)


@pytest.mark.parametrize(
    ("settings", "is_on", "number"),
    [
        ({"reset_incarnation": False}, False, 7),
        ({"off_after_seconds": 0}, True, 7),
        ({"off_after_seconds": 1}, False, 1),
    ],
)
def test_the_number_may_go_on_all_the_same_and_the_service_may_stay_on_for_ever(settings, is_on, number):
    scope = a_scope(events_after_seconds=0, **settings)
    scope.note_request(0, switches_on=True)
    scope.incarnation = 7
    scope.update_switch(DAY)
    assert (scope.switched_on, scope.incarnation) == (is_on, number)


def test_a_change_counts_where_events_show_or_where_the_number_is_never_reset(scope, at_once):
    never_reset = a_scope(reset_incarnation=False)
    for one in (scope, at_once, never_reset):
        one.count_a_change(10)
        one.count_a_change(10)
    assert [one.incarnation for one in (scope, at_once, never_reset)] == [1, 3, 3]


def test_a_reset_is_a_new_scope(at_once):
    at_once.events.append(LISTED)
    at_once.gone.add("web-0")
    at_once.incarnation = 7
    at_once.last_request = 99.0
    at_once.reset()
    assert vars(at_once) == vars(a_scope(first_call_seconds=0, events_after_seconds=0))
    assert at_once.inside_view(0) == {
        "name": "web", "kind": "standalone", "vms": [], "incarnation": 1, "service": "off",
    }  # fmt: skip
    assert (at_once.revealed, at_once.events, at_once.gone) == (False, [], set())
    assert (at_once.ready_at, at_once.visible_at, at_once.last_request) == (0, 0, 0)
