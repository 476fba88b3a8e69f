# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch and the counter that the VMs of a delivery scope share."""

from __future__ import annotations

import types

import pytest
from helpers.simulator_inside import part

DAY = 86400
SETTINGS = {
    "first_call_seconds": 120,
    "events_after_seconds": 180,
    "off_after_seconds": DAY,
    "reset_incarnation": True,
}
LISTED = types.SimpleNamespace(is_listed=lambda: True)
PLANNED = types.SimpleNamespace(is_listed=lambda: False)


def a_scope(**settings):
    return part("delivery_scope").Scope("web", None, {**SETTINGS, **settings})


@pytest.fixture
def scope():
    return a_scope()


@pytest.fixture
def at_once():
    """Of one that is on after its first call without delay."""
    scope = a_scope(first_call_seconds=0, events_after_seconds=0)
    scope.note_request(0, switches_on=True)
    scope.update_switch(0)
    return scope


def test_the_first_request_that_reads_switches_it_on(scope):
    assert scope.service_state(0) == "off"
    assert scope.note_request(1000, switches_on=True)
    assert not scope.note_request(1001, switches_on=True)
    assert (scope.ready_at, scope.visible_at) == (1120, 1300)


def test_an_approval_does_not(scope):
    assert not scope.note_request(1000, switches_on=False)
    assert scope.service_state(1000) == "off"
    assert scope.note_request(1001, switches_on=True)


def test_it_is_on_once_events_show(scope):
    scope.note_request(1000, switches_on=True)
    assert [scope.service_state(now) for now in (1000, 1299, 1300, 1301)] == ["switching on"] * 2 + ["on"] * 2


def test_events_show_from_the_second_on_and_under_another_number(scope):
    scope.events.append(LISTED)
    scope.note_request(0, switches_on=True)
    scope.update_switch(299)
    assert (scope.revealed, scope.incarnation) == (False, 1)
    scope.update_switch(300)
    assert (scope.revealed, scope.incarnation) == (True, 2)
    scope.update_switch(301)
    assert (scope.revealed, scope.incarnation) == (True, 2)


def test_events_show_also_where_nobody_has_looked_at_that_second(scope):
    scope.note_request(0, switches_on=True)
    scope.update_switch(1000)
    assert scope.revealed


@pytest.mark.parametrize("events", [[], [PLANNED]])
def test_the_number_stays_where_nothing_has_shown(scope, events):
    scope.events += events
    scope.note_request(0, switches_on=True)
    scope.update_switch(300)
    assert (scope.revealed, scope.incarnation) == (True, 1)


def test_one_event_of_several_that_shows_is_enough(scope):
    scope.events += [PLANNED, LISTED]
    scope.note_request(0, switches_on=True)
    scope.update_switch(300)
    assert scope.incarnation == 2


@pytest.mark.parametrize("now", [0, 0.25])
def test_the_number_stays_where_nobody_has_seen_the_empty_list(now):
    scope = a_scope(events_after_seconds=0)
    scope.events.append(LISTED)
    scope.note_request(now, switches_on=True)
    scope.update_switch(now + 120)
    assert (scope.revealed, scope.incarnation) == (True, 1)


def test_a_day_of_silence_switches_it_off_to_the_second(at_once):
    at_once.note_request(50, switches_on=True)
    at_once.incarnation = 7
    at_once.update_switch(DAY + 49)
    assert (at_once.switched_on, at_once.revealed, at_once.incarnation) == (True, True, 7)
    at_once.update_switch(DAY + 50)
    assert (at_once.switched_on, at_once.revealed, at_once.incarnation) == (False, False, 1)
    assert at_once.service_state(DAY + 50) == "off"


def test_any_request_keeps_it_on(at_once):
    at_once.note_request(DAY - 1, switches_on=False)
    at_once.update_switch(2 * DAY - 2)
    assert at_once.switched_on
    at_once.update_switch(2 * DAY - 1)
    assert not at_once.switched_on


def test_the_request_that_comes_too_late_switches_it_on_anew(at_once):
    assert at_once.note_request(DAY, switches_on=True)


def test_the_number_may_go_on_all_the_same():
    scope = a_scope(reset_incarnation=False)
    scope.note_request(0, switches_on=True)
    scope.incarnation = 7
    scope.update_switch(DAY)
    assert (scope.switched_on, scope.incarnation) == (False, 7)


@pytest.mark.parametrize(("after", "is_on"), [(0, True), (1, False)])
def test_it_may_be_told_never_to_switch_off(after, is_on):
    scope = a_scope(off_after_seconds=after)
    scope.note_request(0, switches_on=True)
    scope.update_switch(9 * DAY)
    assert scope.switched_on is is_on


def test_what_is_off_does_not_come_to_show_events(scope):
    scope.update_switch(9 * DAY)
    assert not scope.revealed


def test_a_change_counts_where_events_show(at_once):
    at_once.count_a_change(10)
    at_once.count_a_change(10)
    assert at_once.incarnation == 3


def test_a_change_does_not_count_before_unless_the_number_is_never_reset(scope):
    scope.count_a_change(10)
    assert scope.incarnation == 1
    other = a_scope(reset_incarnation=False)
    other.count_a_change(10)
    assert other.incarnation == 2


def test_a_change_after_a_day_of_silence_finds_the_service_off(at_once):
    at_once.incarnation = 7
    at_once.count_a_change(DAY)
    assert (at_once.switched_on, at_once.incarnation) == (False, 1)


def test_a_reset_is_a_new_scope(at_once):
    at_once.events.append(LISTED)
    at_once.gone.add("web-0")
    at_once.incarnation = 7
    at_once.last_request = 99.0
    at_once.reset()
    assert vars(at_once) == vars(a_scope(first_call_seconds=0, events_after_seconds=0))
    assert at_once.service_state(0) == "off"


def test_a_new_scope(scope):
    assert (scope.incarnation, scope.switched_on, scope.revealed, scope.events, scope.gone) == (
        1,
        False,
        False,
        [],
        set(),
    )
    assert (scope.ready_at, scope.visible_at, scope.last_request) == (0, 0, 0)


@pytest.mark.parametrize(
    ("group", "kind"), [(None, "standalone"), (types.SimpleNamespace(kind="scale_set"), "scale_set")]
)
def test_how_the_control_interface_shows_it(group, kind):
    scope = part("delivery_scope").Scope("web", group, SETTINGS)
    scope.vms.append(types.SimpleNamespace(key="web-0"))
    assert scope.inside_view(0) == {
        "name": "web",
        "kind": kind,
        "vms": ["web-0"],
        "incarnation": 1,
        "service": "off",
    }
