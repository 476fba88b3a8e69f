# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From absent to Scheduled to Started to absent, the number of the document, and deletions that wait for each other."""

from __future__ import annotations

import email.utils
import re

import pytest
from helpers.simulator_process import ControlError

DAY = 86400
POOL = {"groups": {"pool": {"kind": "scale_set"}}, "vms": [{"name": f"pool_{n}", "group": "pool"} for n in range(2)]}


def add(simulator, vm="web-0", **event):
    return simulator.add_event(resources=[vm], **{"type": "Reboot", **event})["id"]


def listed(simulator, vm="web-0"):
    return simulator.document(vm)["Events"]


def only(simulator, vm="web-0"):
    (event,) = listed(simulator, vm)
    return event


def statuses(simulator, vm="web-0"):
    return {event["Resources"][0]: event["EventStatus"] for event in listed(simulator, vm)}


def incarnation(simulator, vm="web-0"):
    return simulator.document(vm)["DocumentIncarnation"]


def not_before(event):
    return email.utils.parsedate_to_datetime(event["NotBefore"]).timestamp()


def test_nothing_scheduled_is_an_empty_list_documented(simulator):
    assert simulator.document("web-0") == {"DocumentIncarnation": 1, "Events": []}


def test_an_event_is_scheduled_then_started_then_absent_under_one_id_documented(simulator):
    event = add(simulator)
    assert (only(simulator)["EventId"], only(simulator)["EventStatus"]) == (event, "Scheduled")
    simulator.approve("web-0", event)
    assert (only(simulator)["EventId"], only(simulator)["EventStatus"]) == (event, "Started")
    assert only(simulator)["NotBefore"] == ""
    simulator.advance(500)
    assert only(simulator)["EventStatus"] == "Started"
    simulator.advance(101)
    assert listed(simulator) == []


def test_the_event_id_is_an_upper_case_guid_observed(simulator):
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", add(simulator))


def test_without_approval_an_event_starts_at_not_before_and_not_earlier_documented(simulator):
    event = add(simulator, notice=900)
    simulator.advance(800)
    assert only(simulator)["EventStatus"] == "Scheduled"
    simulator.advance(101)
    assert only(simulator)["EventStatus"] == "Started"
    assert simulator.event(event)["started_by"] == "deadline"


def test_not_before_passed_does_not_mean_started_documented(simulator):
    """Other tenants of the node must approve or time out as well."""
    event = add(simulator, notice=0, late=600)
    assert not_before(only(simulator)) <= simulator.event(event)["times"]["created"]
    assert only(simulator)["EventStatus"] == "Scheduled"


def test_the_state_started_may_never_be_seen_observed(simulator):
    """The incarnation jumps by two."""
    event = add(simulator, dwell=0)
    before = incarnation(simulator)
    simulator.approve("web-0", event)
    assert simulator.document("web-0") == {"DocumentIncarnation": before + 2, "Events": []}


def test_a_cancelled_event_is_absent_documented(simulator):
    simulator.cancel(add(simulator))
    assert listed(simulator) == []


def test_there_is_no_way_back_documented(simulator):
    event = add(simulator)
    simulator.start(event)
    for action in (simulator.start, simulator.cancel):
        with pytest.raises(ControlError, match="is Started"):
            action(event)
    simulator.finish(event)
    for action in (simulator.start, simulator.cancel, simulator.finish):
        with pytest.raises(ControlError, match="is Finished"):
            action(event)


def test_hardware_failure_goes_straight_to_started_documented(simulator):
    simulator.add_event(scenario="hardware_failure", resources=["web-0"])
    assert only(simulator)["EventStatus"] == "Started"


def test_a_user_event_under_automatic_approval_goes_straight_to_started_documented(start):
    vms = [{"name": "web-0", "group": "web"}]
    simulator = start({"groups": {"web": {"auto_approve": ["Reboot", "Redeploy"]}}, "vms": vms})
    for kind in ("Reboot", "Redeploy"):
        views = [simulator.add_event(type=kind, source=s, resources=["web-0"]) for s in ("User", "Platform")]
        assert [view["status"] for view in views] == ["Started", "Scheduled"]


def test_a_user_event_waits_for_approval_or_not_before_once_the_service_is_on_documented(start):
    simulator = start(user_events_wait_when_off=False)
    assert simulator.add_event(scenario="user_reboot", resources=["web-0"])["status"] == "Started"
    listed(simulator)
    assert simulator.add_event(scenario="user_reboot", resources=["web-0"])["status"] == "Scheduled"


def test_a_deletion_is_immediate_while_nobody_polls_whatever_its_notice_observed(start):
    simulator = start(user_events_wait_when_off=False)
    assert simulator.add_event(scenario="scale_in", resources=["web-0"])["status"] == "Started"
    assert simulator.add_event(type="Reboot", resources=["web-1"])["status"] == "Scheduled"


def test_a_terminate_event_has_5_to_15_minutes_of_notice_documented(simulator):
    for notice in (299, 901):
        with pytest.raises(ControlError, match='"notice" of a Terminate event must be 300 to 900 seconds'):
            add(simulator, type="Terminate", notice=notice)
    for notice in (300, 900):
        add(simulator, type="Terminate", notice=notice)
    assert len(listed(simulator)) == 2


@pytest.mark.parametrize(
    ("kind", "notice"),
    [("Freeze", 900), ("Reboot", 900), ("Redeploy", 600), ("Preempt", 30), ("Terminate", 300), ("Zap", 900)],
)
def test_the_notice_of_each_type_documented(simulator, kind, notice):
    created = simulator.event(add(simulator, type=kind))["times"]["created"]
    assert not_before(only(simulator)) == pytest.approx(created + notice, abs=60)


def test_a_predicted_failure_is_days_ahead_and_an_approval_brings_it_forward_documented(simulator):
    event = simulator.add_event(scenario="predicted_failure", resources=["web-0"])
    assert not_before(only(simulator)) - event["times"]["created"] > 4 * DAY
    simulator.approve("web-0", event["id"])
    assert only(simulator)["EventStatus"] == "Started"


def test_a_changed_not_before_shows_as_a_new_incarnation_inferred(simulator):
    """Rescheduling is not a documented state."""
    event = add(simulator)
    before = simulator.document("web-0")
    simulator.call("POST", f"/events/{event}/reschedule", {"notice": 3600})
    after = simulator.document("web-0")
    assert not_before(after["Events"][0]) > not_before(before["Events"][0])
    assert after["DocumentIncarnation"] > before["DocumentIncarnation"]
    assert after["Events"][0]["EventId"] == event


LIVE_MIGRATION = "Virtual machine is being paused because of a memory-preserving Live Migration operation."
FAILURE = "Virtual machine has encountered a failure."
RESTARTED = "Virtual machine is going to be restarted as requested by authorized user."
REDEPLOYED = "Virtual machine is going to be redeployed as requested by authorized user."


@pytest.mark.parametrize(
    ("event", "description", "source", "duration"),
    [
        pytest.param({"type": "Freeze"}, "Host server is undergoing maintenance.", "Platform", 5, id="documented"),
        pytest.param({"scenario": "live_migration"}, LIVE_MIGRATION, "Platform", 5, id="live migration, documented"),
        pytest.param({"scenario": "user_reboot"}, RESTARTED, "User", -1, id="restart by a user, documented"),
        pytest.param({"scenario": "user_redeploy"}, REDEPLOYED, "User", -1, id="redeployment by a user, observed"),
        pytest.param({"type": "Preempt"}, "", "Platform", -1, id="Spot, observed"),
        pytest.param({"type": "Redeploy"}, FAILURE, "Platform", -1, id="a VM that has failed, observed"),
        pytest.param(
            {"type": "Freeze", "duration": 0, "description": "x"}, "x", "Platform", 0, id="no interruption, documented"
        ),
    ],
)
def test_what_an_event_says(simulator, event, description, source, duration):
    simulator.add_event(resources=["web-0"], **event)
    shown = only(simulator)
    assert (shown["Description"], shown["EventSource"], shown["DurationInSeconds"]) == (description, source, duration)


def test_an_event_may_name_several_vms_or_none_observed(simulator):
    simulator.add_event(type="Freeze", resources=["web-0", "web-1"])
    simulator.add_event(type="Freeze", resources=[], group="web")
    assert [event["Resources"] for event in listed(simulator)] == [["web-0", "web-1"], []]


def test_several_events_at_once_live_their_own_lives_documented(simulator):
    add(simulator, "web-1")
    simulator.approve("web-0", add(simulator, type="Freeze"))
    assert statuses(simulator) == {"web-1": "Scheduled", "web-0": "Started"}


def test_an_unknown_type_is_sent_as_it_is_inferred(simulator):
    add(simulator, type="Reimage")
    assert only(simulator)["EventType"] == "Reimage"


@pytest.mark.parametrize(
    ("form", "pattern"),
    [("iso", r"\d{4}-.*T.*Z"), ("empty", ""), ("wrong_weekday", r"\w{3}, .* GMT"), ("missing", "no")],
)
def test_odd_forms_of_not_before_observed(simulator, form, pattern):
    add(simulator, not_before_format=form)
    assert re.fullmatch(pattern, only(simulator).get("NotBefore", "no"))


# DocumentIncarnation.


def test_the_incarnation_grows_with_each_change_of_the_list_documented(simulator):
    seen = [incarnation(simulator)]
    event = add(simulator)
    seen.append(incarnation(simulator))
    simulator.start(event)
    seen.append(incarnation(simulator))
    simulator.finish(event)
    assert [*seen, incarnation(simulator)] == [1, 2, 3, 4]


def test_the_same_incarnation_is_the_same_content_documented(simulator):
    event = add(simulator, approval_delay=600)
    first = simulator.document("web-0")
    simulator.approve("web-0", event)
    assert simulator.document("web-0") == first


def test_the_incarnation_is_one_for_the_whole_delivery_group_observed(start):
    simulator = start({"vms": [{"name": "a", "group": "g"}, {"name": "b", "group": "g"}, {"name": "alone"}]})
    assert [incarnation(simulator, vm) for vm in ("a", "b", "alone")] == [1, 1, 1]
    add(simulator, "b")
    assert [incarnation(simulator, vm) for vm in ("a", "b", "alone")] == [2, 2, 1]


def test_the_incarnation_starts_again_after_24_hours_of_silence_observed(simulator):
    """The resource agent azure-events-az deletes its stored value for this reason."""
    incarnation(simulator)
    for _time in range(3):
        simulator.cancel(add(simulator))
    assert incarnation(simulator) == 7
    simulator.advance(DAY + 1)
    assert incarnation(simulator) == 1


# Terminate: a VM whose deletion is approved waits for those that are pending.


@pytest.fixture
def deletions(start):
    """A function that starts a scale set with two deletions of such notice, the second approved."""

    def begin(*notices):
        pool = start(POOL)
        ids = [add(pool, f"pool_{n}", type="Terminate", notice=notice) for n, notice in enumerate(notices)]
        pool.approve("pool_1", ids[1])
        return pool, ids[0]

    return begin


def test_an_approved_terminate_waits_until_the_pending_one_is_approved_documented(deletions):
    pool, pending = deletions(300, 300)
    assert statuses(pool, "pool_0") == {"pool_0": "Scheduled", "pool_1": "Scheduled"}
    pool.approve("pool_0", pending)
    assert statuses(pool, "pool_0") == {"pool_0": "Started", "pool_1": "Started"}


def test_an_approved_terminate_waits_until_the_pending_one_has_timed_out_documented(deletions):
    pool, _pending = deletions(300, 900)
    pool.advance(301)
    assert statuses(pool, "pool_0") == {"pool_0": "Started", "pool_1": "Started"}


def test_an_approved_terminate_waits_until_the_pending_one_is_cancelled_inferred(deletions):
    pool, pending = deletions(300, 300)
    pool.cancel(pending)
    assert statuses(pool, "pool_0") == {"pool_1": "Started"}


def test_an_approved_terminate_waits_until_its_own_not_before_at_the_latest_inferred(deletions):
    pool, _pending = deletions(900, 300)
    pool.advance(301)
    assert statuses(pool, "pool_0") == {"pool_0": "Scheduled", "pool_1": "Started"}
