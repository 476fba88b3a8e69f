# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From absent to Scheduled to Started to absent, and all the side ways."""

from __future__ import annotations

import email.utils
import re
import time

import pytest
from helpers.simulator_process import ControlError

DAY = 86400


def listed(simulator, vm="web-0"):
    return simulator.document(vm)["Events"]


def only(simulator, vm="web-0"):
    (event,) = listed(simulator, vm)
    return event


def not_before(event):
    return email.utils.parsedate_to_datetime(event["NotBefore"]).timestamp()


def test_nothing_scheduled_is_an_empty_list(simulator):
    assert simulator.document("web-0") == {"DocumentIncarnation": 1, "Events": []}


def test_a_created_event_is_scheduled(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"])
    assert only(simulator)["EventStatus"] == "Scheduled"


def test_an_approved_event_is_started(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    simulator.approve("web-0", event["id"])
    assert only(simulator)["EventStatus"] == "Started"
    assert simulator.event(event["id"])["started_by"] == "approval"


def test_an_event_is_started_when_not_before_has_passed(fast):
    event = fast.add_event(type="Reboot", resources=["web-0"], notice=90)
    assert only(fast)["EventStatus"] == "Scheduled"
    fast.wait_for(event["id"], "Started", 3)
    assert only(fast)["EventStatus"] == "Started"
    assert fast.event(event["id"])["started_by"] == "deadline"


@pytest.mark.parametrize("notice", [20, 61, 77])
def test_an_event_is_never_started_before_not_before_unless_approved(fast, notice):
    event = fast.add_event(type="Reboot", resources=["web-0"], notice=notice)
    announced = not_before(only(fast))
    started = fast.wait_for(event["id"], "Started", 4)["times"]["started"]
    assert announced <= started < announced + 1.5


def test_not_before_passed_does_not_mean_started(fast):
    """Other tenants of the node must approve or time out as well."""
    event = fast.add_event(type="Reboot", resources=["web-0"], notice=0, late=60)
    assert not_before(only(fast)) <= time.time()
    assert only(fast)["EventStatus"] == "Scheduled"
    fast.wait_for(event["id"], "Started", 3)


def test_a_started_event_stays_for_its_dwell_and_is_gone(fast):
    event = fast.add_event(type="Reboot", resources=["web-0"], status="Started", dwell=60)
    assert only(fast)["EventStatus"] == "Started"
    times = fast.wait_for(event["id"], "Finished", 3)["times"]
    assert 0.95 < times["finished"] - times["started"] < 1.5
    assert listed(fast) == []


def test_the_usual_dwell_is_ten_minutes(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"], status="Started")
    simulator.advance(595)
    assert only(simulator)["EventStatus"] == "Started"
    simulator.advance(10)
    assert listed(simulator) == []


def test_a_dwell_of_nothing_is_gone_at_once_and_started_is_never_seen(simulator):
    """[O] Clients do miss the state Started: the incarnation jumps by two."""
    event = simulator.add_event(type="Reboot", resources=["web-0"], dwell=0)
    before = simulator.document("web-0")["DocumentIncarnation"]
    simulator.approve("web-0", event["id"])
    assert simulator.document("web-0") == {"DocumentIncarnation": before + 2, "Events": []}


def test_a_cancelled_event_is_gone(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    simulator.cancel(event["id"])
    assert listed(simulator) == []
    assert simulator.event(event["id"])["status"] == "Cancelled"


def test_a_maintenance_may_be_cancelled_by_itself(simulator):
    event = simulator.add_event(scenario="cancelled_maintenance", resources=["web-0"])
    simulator.advance(475)
    assert only(simulator)["EventStatus"] == "Scheduled"
    simulator.advance(10)
    assert simulator.event(event["id"])["status"] == "Cancelled"


def test_hardware_failure_goes_straight_to_started(simulator):
    event = simulator.add_event(scenario="hardware_failure", resources=["web-0"])
    assert only(simulator)["EventStatus"] == "Started"
    assert simulator.event(event["id"])["started_by"] == "direct"


@pytest.mark.parametrize("kind", ["Reboot", "Redeploy"])
def test_a_user_event_under_automatic_approval_goes_straight_to_started(start, kind):
    simulator = start(
        {"groups": {"web": {"auto_approve": ["Reboot", "Redeploy"]}}, "vms": [{"name": "web-0", "group": "web"}]}
    )
    simulator.add_event(type=kind, source="User", resources=["web-0"])
    simulator.add_event(type=kind, source="Platform", resources=["web-0"])
    assert [event["EventStatus"] for event in listed(simulator)] == ["Started", "Scheduled"]


def test_a_user_event_waits_for_approval_or_not_before_once_the_service_is_on(simulator):
    listed(simulator)
    simulator.add_event(scenario="user_reboot", resources=["web-0"])
    assert only(simulator)["EventStatus"] == "Scheduled"
    simulator.advance(901)
    assert only(simulator)["EventStatus"] == "Started"


def test_a_user_event_may_start_at_once_while_the_service_is_off(start):
    """Only where the fleet file asks for it: a rehearsal usually plans its events before the first call."""
    simulator = start(user_events_wait_when_off=False)
    simulator.add_event(scenario="user_reboot", resources=["web-0"])
    assert only(simulator)["EventStatus"] == "Started"
    simulator.add_event(scenario="user_reboot", resources=["web-1"])
    assert [event["EventStatus"] for event in listed(simulator)] == ["Started", "Scheduled"]


def test_a_user_event_after_a_day_of_silence_may_start_at_once_too(start):
    simulator = start(user_events_wait_when_off=False)
    simulator.document("web-0")
    simulator.advance(DAY + 1)
    assert simulator.add_event(scenario="user_reboot", resources=["web-0"])["status"] == "Started"


def test_a_user_event_waits_if_the_service_was_on_when_it_was_made_whatever_came_later(start):
    simulator = start(user_events_wait_when_off=False)
    simulator.document("web-0")
    event = simulator.add_event(scenario="user_reboot", resources=["web-0"], after=60, notice=9 * DAY)
    simulator.advance(2 * DAY)
    assert simulator.event(event["id"])["status"] == "Scheduled"


def test_a_terminate_event_may_start_at_once_while_the_service_is_off_observed(start):
    """[O] A deletion is immediate where nobody polls, whatever the notice."""
    simulator = start(user_events_wait_when_off=False)
    assert simulator.add_event(scenario="scale_in", resources=["web-0"])["status"] == "Started"
    assert simulator.add_event(type="Reboot", resources=["web-1"])["status"] == "Scheduled"


@pytest.mark.parametrize("notice", [299, 901])
def test_a_terminate_event_has_5_to_15_minutes_of_notice(simulator, notice):
    with pytest.raises(ControlError, match='"notice" of a Terminate event must be 300 to 900 seconds'):
        simulator.add_event(type="Terminate", resources=["web-0"], notice=notice)
    assert simulator.events() == []


@pytest.mark.parametrize("notice", [300, 900])
def test_a_terminate_event_may_have_the_shortest_and_the_longest_notice(simulator, notice):
    assert simulator.add_event(type="Terminate", resources=["web-0"], notice=notice)["notice"] == notice


def test_there_is_no_way_back(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    simulator.start(event["id"])
    for action in (simulator.start, simulator.cancel):
        with pytest.raises(ControlError, match="is Started"):
            action(event["id"])
    simulator.finish(event["id"])
    for action in (simulator.start, simulator.cancel, simulator.finish):
        with pytest.raises(ControlError, match="is Finished"):
            action(event["id"])


def test_the_event_id_is_an_upper_case_guid_and_stable_through_all_states(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    scheduled = only(simulator)["EventId"]
    simulator.approve("web-0", event["id"])
    assert only(simulator)["EventId"] == scheduled == event["id"]
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", scheduled)


def test_not_before_is_rfc_1123_in_gmt(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"], notice=600)
    event = only(simulator)
    form = r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
    assert re.fullmatch(form, event["NotBefore"])
    assert 597 < not_before(event) - time.time() <= 600


def test_not_before_is_empty_once_started(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    simulator.start(event["id"])
    assert only(simulator)["NotBefore"] == ""


@pytest.mark.parametrize(
    ("kind", "notice"), [("Freeze", 900), ("Reboot", 900), ("Redeploy", 600), ("Preempt", 30), ("Terminate", 300)]
)
def test_the_notice_time_of_each_type(simulator, kind, notice):
    simulator.add_event(type=kind, resources=["web-0"])
    assert notice - 3 < not_before(only(simulator)) - time.time() <= notice


def test_a_predicted_failure_is_dated_days_ahead_and_an_approval_brings_it_forward(simulator):
    event = simulator.add_event(scenario="predicted_failure", resources=["web-0"])
    assert not_before(only(simulator)) - time.time() > 4 * DAY
    simulator.approve("web-0", event["id"])
    assert only(simulator)["EventStatus"] == "Started"


def test_a_changed_not_before_shows_as_a_new_incarnation_inferred(simulator):
    """[I] Rescheduling is not a documented state."""
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    before = simulator.document("web-0")
    simulator.call("POST", f"/events/{event['id']}/reschedule", {"notice": 3600})
    after = simulator.document("web-0")
    assert not_before(after["Events"][0]) > not_before(before["Events"][0])
    assert after["DocumentIncarnation"] > before["DocumentIncarnation"]
    assert after["Events"][0]["EventId"] == event["id"]


@pytest.mark.parametrize(
    ("kind", "source", "description"),
    [
        ("Freeze", "Platform", "Host server is undergoing maintenance."),
        ("Reboot", "User", "Virtual machine is going to be restarted as requested by authorized user."),
        ("Redeploy", "User", "Virtual machine is going to be redeployed as requested by authorized user."),
        ("Preempt", "Platform", ""),
    ],
)
def test_the_usual_descriptions(simulator, kind, source, description):
    simulator.add_event(type=kind, source=source, resources=["web-0"])
    event = only(simulator)
    assert (event["Description"], event["EventSource"]) == (description, source)


def test_a_live_migration_is_told_by_its_description_only(simulator):
    simulator.add_event(scenario="live_migration", resources=["web-0"])
    event = only(simulator)
    assert event["EventType"] == "Freeze"
    assert "memory-preserving Live Migration" in event["Description"]
    assert event["DurationInSeconds"] == 5


@pytest.mark.parametrize("kind", ["Reboot", "Redeploy", "Preempt", "Terminate"])
def test_the_duration_is_minus_one_where_it_is_unknown(simulator, kind):
    simulator.add_event(type=kind, resources=["web-0"])
    assert only(simulator)["DurationInSeconds"] == -1


def test_a_duration_may_be_zero(simulator):
    simulator.add_event(type="Freeze", duration=0, resources=["web-0"])
    assert only(simulator)["DurationInSeconds"] == 0


def test_an_event_may_name_several_vms_or_none(simulator):
    simulator.add_event(type="Freeze", resources=["web-0", "web-1"])
    simulator.add_event(type="Freeze", resources=[], group="web")
    assert [event["Resources"] for event in listed(simulator)] == [["web-0", "web-1"], []]


def test_several_events_at_once_live_their_own_lives(simulator):
    first = simulator.add_event(type="Freeze", resources=["web-0"])
    simulator.add_event(type="Reboot", resources=["web-0"])
    simulator.approve("web-0", first["id"])
    assert [event["EventStatus"] for event in listed(simulator)] == ["Started", "Scheduled"]


def test_a_type_that_nobody_knows_yet_is_sent_as_it_is(simulator):
    simulator.add_event(type="Reimage", resources=["web-0"])
    assert only(simulator)["EventType"] == "Reimage"


def test_an_event_may_be_planned_for_later(fast):
    event = fast.add_event(type="Reboot", resources=["web-0"], after=30)
    assert listed(fast) == []
    fast.wait_for(event["id"], "Scheduled", 3)
    assert not_before(only(fast)) - time.time() > 10


# The forms in which NotBefore has been met, and values that no sane service would send.


@pytest.mark.parametrize(
    ("form", "pattern"),
    [("iso", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), ("empty", ""), ("wrong_weekday", r"[A-Z][a-z]{2}, \d\d .* GMT")],
)
def test_not_before_in_odd_forms(simulator, form, pattern):
    simulator.add_event(type="Reboot", resources=["web-0"], not_before_format=form)
    assert re.fullmatch(pattern, only(simulator)["NotBefore"])


def test_a_wrong_weekday_is_wrong_and_the_rest_is_right(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"])
    simulator.add_event(type="Reboot", resources=["web-0"], not_before_format="wrong_weekday")
    right, wrong = (event["NotBefore"] for event in listed(simulator))
    assert right[:3] != wrong[:3]
    assert abs(not_before({"NotBefore": wrong}) - not_before({"NotBefore": right})) < 3


def test_not_before_may_be_missing(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"], not_before_format="missing")
    assert "NotBefore" not in only(simulator)


def test_extra_fields_are_sent_verbatim_and_fields_may_be_left_out(simulator):
    simulator.add_event(
        type="Reboot", resources=["web-0"], omit=["EventSource"], extra={"DurationInSeconds": "7", "New": {"a": None}}
    )
    event = only(simulator)
    assert (event["DurationInSeconds"], event["New"]) == ("7", {"a": None})
    assert "EventSource" not in event
