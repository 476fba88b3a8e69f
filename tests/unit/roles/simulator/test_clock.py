# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated seconds, and their place on the wall clock."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import part


@pytest.fixture
def clock(driven):
    return part("clock").Clock(4)


def test_it_begins_at_nothing(clock):
    assert clock.now() == 0


def test_it_goes_as_many_times_as_fast_as_its_speed(clock, driven):
    driven.go_on(6)
    assert clock.now() == 24
    driven.go_on(0.5)
    assert clock.now() == 26


def test_the_speed_may_be_a_whole_number(driven):
    assert repr(part("clock").Clock(1).speed) == "1.0"


def test_a_jump_takes_no_time_and_jumps_add_up(clock, driven):
    driven.go_on(2)
    clock.advance(100)
    clock.advance(30)
    assert clock.now() == 8 + 130
    driven.go_on(1)
    assert clock.now() == 12 + 130


def test_a_simulated_time_is_that_many_seconds_from_now_at_this_speed(clock, driven):
    driven.go_on(3)
    assert clock.wall(clock.now()) == driven.time()
    assert clock.wall(12 + 40) == driven.time() + 10


def test_a_jump_brings_the_future_nearer_on_the_wall_clock(clock, driven):
    driven.go_on(3)
    clock.advance(40)
    assert clock.wall(clock.now()) == driven.time()
    assert clock.wall(12 + 40 + 20) == driven.time() + 5


def test_how_long_it_is_until_then(clock, driven):
    assert clock.real_seconds_until(40) == 10
    driven.go_on(4)
    assert clock.real_seconds_until(40) == 6
    clock.advance(8)
    assert clock.real_seconds_until(40) == 4


def test_what_has_passed_is_not_waited_for(clock, driven):
    driven.go_on(20)
    assert clock.real_seconds_until(40) == 0
    assert clock.real_seconds_until(80) == 0
    assert clock.real_seconds_until(82) == 0.5


def test_a_reset_begins_anew_and_forgets_the_jumps(clock, driven):
    driven.go_on(5)
    clock.advance(7)
    clock.reset()
    assert clock.now() == 0
    assert clock.wall(4) == driven.time() + 1


def test_a_wall_clock_that_is_set_back_takes_the_simulated_time_with_it(clock, driven):
    driven.go_on(-3)
    assert clock.now() == -12
