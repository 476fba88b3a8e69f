# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service's habits: switched on by the first call, off after a day, five requests a second."""

from __future__ import annotations

import threading
import time

import pytest
from helpers.simulator_process import Simulator

DAY = 86400


def timed(call, *arguments, **more):
    begin = time.monotonic()
    return call(*arguments, **more), time.monotonic() - begin


def test_the_first_call_takes_long_and_the_next_does_not(start):
    simulator = start(speed=100, first_call_seconds=60)
    assert timed(simulator.document, "web-0")[1] >= 0.55
    assert timed(simulator.document, "web-1")[1] < 0.3


def test_a_call_of_another_vm_meanwhile_waits_for_the_first(start):
    simulator = start(speed=100, first_call_seconds=60)
    first = threading.Thread(target=simulator.document, args=("web-0",))
    first.start()
    time.sleep(0.2)
    duration = timed(simulator.document, "web-1")[1]
    first.join()
    assert 0.2 < duration < 0.55


def test_a_client_that_gives_up_has_switched_the_service_on_all_the_same(start):
    simulator = start(speed=100, first_call_seconds=60)
    with pytest.raises(TimeoutError):
        simulator.read("web-0", timeout=0.2)
    assert simulator.state()["groups"][0]["service"] == "switching on"
    time.sleep(0.6)
    assert timed(simulator.document, "web-0")[1] < 0.3


def test_the_first_call_is_fast_unless_asked_otherwise(simulator):
    assert timed(simulator.document, "web-0")[1] < 0.3


def test_events_show_some_time_after_the_service_was_switched_on(start):
    simulator = start(speed=1000, events_after_seconds=300)
    simulator.add_event(type="Reboot", resources=["web-0"], notice=DAY)
    empty = simulator.document("web-0")
    assert empty["Events"] == []
    time.sleep(0.4)
    shown = simulator.document("web-0")
    assert len(shown["Events"]) == 1
    assert shown["DocumentIncarnation"] != empty["DocumentIncarnation"]


def test_the_service_is_off_before_the_first_call(simulator):
    assert simulator.state()["groups"][0]["service"] == "off"


def test_an_approval_does_not_switch_the_service_on_inferred(simulator):
    """[I] The documentation speaks of the first call that reads."""
    simulator.approve("web-0", "some-id")
    assert simulator.state()["groups"][0]["service"] == "off"


def test_the_service_is_off_after_24_hours_without_a_request(simulator):
    simulator.document("web-0")
    simulator.advance(DAY - 60)
    assert simulator.state()["groups"][0]["service"] == "on"
    simulator.advance(61)
    assert simulator.state()["groups"][0]["service"] == "off"


def test_any_request_for_events_within_24_hours_keeps_it_on(simulator):
    simulator.document("web-0")
    for _time in range(3):
        simulator.advance(DAY - 60)
        simulator.document("web-1")
    assert simulator.state()["groups"][0]["service"] == "on"


def test_an_approval_alone_keeps_it_on(simulator):
    simulator.document("web-0")
    for _time in range(2):
        simulator.advance(DAY - 60)
        simulator.approve("web-1", "some-id")
    assert simulator.state()["groups"][0]["service"] == "on"


def test_calls_meanwhile_may_be_answered_with_an_empty_body_observed(start):
    """[O] Four projects have met 200 without a body while the service was being switched on."""
    simulator = start(speed=100, first_call_seconds=60, empty_while_switching_on=True)
    first = threading.Thread(target=simulator.document, args=("web-0",))
    first.start()
    time.sleep(0.2)
    (answer, duration), again = timed(simulator.read, "web-1"), simulator.read("web-0")
    first.join()
    assert [(each.status, each.body) for each in (answer, again)] == [(200, b"")] * 2
    assert duration < 0.3
    assert simulator.document("web-1")["Events"] == []


def test_the_first_call_after_24_hours_is_slow_again(start):
    simulator = start(speed=1000, first_call_seconds=500)
    simulator.document("web-0")
    simulator.advance(DAY)
    assert timed(simulator.document, "web-0")[1] > 0.4


@pytest.mark.parametrize("profile", ["azure", "quick"])
def test_more_than_five_requests_a_second_are_too_many(profile):
    """With no setting: five is the default."""
    with Simulator(profile=profile, arguments=["--first-call-seconds", "0"]) as simulator:
        assert [simulator.read("a").status for _time in range(7)] == [200] * 5 + [429] * 2


def test_the_limit_can_be_set(start):
    simulator = start(requests_per_second=3)
    assert [simulator.read("web-0").status for _time in range(4)] == [200] * 3 + [429]


def test_the_limit_is_for_all_kinds_of_requests_together(start):
    simulator = start(requests_per_second=5)
    for _time in range(3):
        simulator.read("web-0")
    for _time in range(2):
        simulator.ask("web-0", "/metadata/versions")
    assert simulator.read("web-0").status == 429


def test_the_limit_is_per_vm(start):
    simulator = start(requests_per_second=5)
    for _time in range(6):
        last = simulator.read("web-0").status
    assert (last, simulator.read("web-1").status) == (429, 200)


def test_after_a_second_requests_are_answered_again(start):
    simulator = start(requests_per_second=5)
    for _time in range(6):
        simulator.read("web-0")
    time.sleep(1.05)
    assert simulator.read("web-0").status == 200


def test_the_limit_is_in_real_seconds_whatever_the_speed(start):
    simulator = start(requests_per_second=5, speed=1000)
    assert [simulator.read("web-0").status for _time in range(6)][-1] == 429


def test_too_many_approvals_are_turned_away_unread(start):
    simulator = start(requests_per_second=1)
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.read("web-0")
    assert simulator.approve("web-0", event).status == 429
    assert not simulator.event(event)["approved"]


def test_fifteen_minutes_pass_in_fifteen_seconds_at_speed_60(start):
    """Here at speed 900, in one second; NotBefore is on the real clock, DurationInSeconds stays as announced."""
    simulator = start(speed=900)
    begin = time.time()
    event = simulator.add_event(type="Freeze", resources=["web-0"], duration=30)
    assert event["not_before"] - begin == pytest.approx(1, abs=0.2)
    assert simulator.document("web-0")["Events"][0]["DurationInSeconds"] == 30
    assert simulator.wait_for(event["id"], "Started", 3)["times"]["started"] - begin == pytest.approx(1, abs=0.3)
