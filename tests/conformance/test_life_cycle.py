# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From absent to Scheduled to Started to absent, the number of the document, and deletions that wait for each other."""

from __future__ import annotations

import email.utils
import re

import pytest

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


def test_the_state_started_may_never_be_seen_observed(simulator):
    """The incarnation jumps by two."""
    event = add(simulator, dwell=0)
    before = incarnation(simulator)
    simulator.approve("web-0", event)
    assert simulator.document("web-0") == {"DocumentIncarnation": before + 2, "Events": []}


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


@pytest.mark.parametrize(
    ("kind", "notice"),
    [("Freeze", 900), ("Reboot", 900), ("Redeploy", 600), ("Preempt", 30), ("Terminate", 300), ("Zap", 900)],
)
def test_the_notice_of_each_type_documented(simulator, kind, notice):
    created = simulator.event(add(simulator, type=kind))["times"]["created"]
    assert not_before(only(simulator)) == pytest.approx(created + notice, abs=60)


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


def test_an_unknown_type_is_sent_as_it_is_inferred(simulator):
    add(simulator, type="Reimage")
    assert only(simulator)["EventType"] == "Reimage"


# Advisories.

ADVISED = {"scenario": "spot_advisory", "resources": ["web-0"]}


def advised(simulator):
    return [(e["EventType"], e["EventStatus"]) for e in simulator.document("web-0", "2024-07-09")["Events"]]


def test_an_advisory_may_come_to_nothing_observed(simulator):
    """Its date is no deadline: it never starts, and goes as it has come."""
    event = simulator.add_event(**ADVISED, notice=30)["id"]
    simulator.advance(31)
    assert advised(simulator) == [("SpotRebalanceRecommendation", "Advisory")]
    simulator.advance(600)
    assert (advised(simulator), simulator.event(event)["status"]) == ([], "Finished")
    assert [change["change"] for change in simulator.changes()] == ["created", "finished"]


def test_a_preempt_may_follow_an_advisory_under_an_id_of_its_own_observed(simulator):
    simulator.add_event(**ADVISED, dwell=40)
    simulator.add_event(scenario="spot_eviction", resources=["web-0"], after=35)
    simulator.advance(36)
    assert advised(simulator) == [("SpotRebalanceRecommendation", "Advisory"), ("Preempt", "Scheduled")]
    simulator.advance(30)
    assert advised(simulator) == [("Preempt", "Started")]


@pytest.mark.parametrize(("form", "shown"), [("empty", ""), ("rfc1123", "GMT"), ("missing", "none")])
def test_the_date_of_an_advisory_may_be_empty_observed(simulator, form, shown):
    simulator.add_event(**ADVISED, not_before_format=form)
    (event,) = simulator.document("web-0", "2024-07-09")["Events"]
    assert event.get("NotBefore", "none")[-len(shown) or None :] == shown


# The times of a platform reboot, and maintenance of a whole group.


def test_a_platform_reboot_takes_25_minutes_and_is_removed_ten_later_documented(start):
    simulator = start({"vms": [{"name": "web-0"}]}, profile="azure", first_call_seconds=0, events_after_seconds=0)
    event = add(simulator)
    simulator.approve("web-0", event)
    for seconds, impact, shown in ((1490, "down", "Started"), (20, None, "Started"), (600, None, "Finished")):
        simulator.advance(seconds)
        assert [vm["impact"] for vm in simulator.state()["vms"]] == [impact]
        assert simulator.event(event)["status"] == shown


def test_a_reboot_by_a_user_is_over_after_ten_minutes_observed(start):
    simulator = start({"vms": [{"name": "web-0"}]}, profile="azure")
    assert simulator.add_event(scenario="user_reboot", resources=["web-0"])["dwell"] == 600


SETS = {
    "groups": {
        "flex": {"kind": "flexible_scale_set", "fault_domains": 3},
        "wide": {"kind": "flexible_scale_set"},
        "pool": {"kind": "scale_set"},
        "web": {"kind": "availability_set"},
    },
    "vms": [{"name": f"{group}_{n}", "group": group} for group in ("flex", "wide", "pool", "web") for n in range(6)],
}


def domains(group, *numbers):
    return [[f"{group}_{n}" for n in domain] for domain in numbers]


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        pytest.param("flex", "Reboot", [(0, 3), (1, 4), (2, 5)], id="fault domains of a Flexible set, documented"),
        pytest.param("flex", "Freeze", [(0, 3), (1, 4), (2, 5)], id="also without a reboot, documented"),
        pytest.param("wide", "Reboot", [(n,) for n in range(6)], id="fault domains that are not shown, inferred"),
        pytest.param(
            "pool", "Reboot", [(0, 5), (1,), (2,), (3,), (4,)], id="update domains of a Uniform set, documented"
        ),
        pytest.param("web", "Reboot", [(0, 5), (1,), (2,), (3,), (4,)], id="those of an availability set, documented"),
        pytest.param("web", "Freeze", [(0, 2, 4), (1, 3, 5)], id="fault domains without a reboot, documented"),
    ],
)
def test_maintenance_goes_by(start, group, kind, expected):
    assert start(SETS).maintain(group=group, type=kind) == domains(group, *expected)


def test_azure_waits_at_least_30_minutes_between_two_domains_documented(start):
    """That they are counted from the end of the last event is inferred."""
    simulator = start(SETS, domain_pause_seconds=1800)
    simulator.maintain(group="flex", type="Freeze", dwell=60, after=10)
    names = []
    for seconds in (11, 960, 1790, 11):
        simulator.advance(seconds)
        names.append(sorted(name for event in listed(simulator, "flex_0") for name in event["Resources"]))
    assert names == [["flex_0", "flex_3"], [], [], ["flex_1", "flex_4"]]
    for event in listed(simulator, "flex_0"):
        simulator.cancel(event["EventId"])
    simulator.advance(1800)
    assert [event["Resources"] for event in listed(simulator, "flex_0")] == [["flex_2"], ["flex_5"]]
    assert incarnation(simulator, "pool_0") == 1


# DocumentIncarnation.


def test_the_incarnation_is_one_for_the_whole_delivery_group_observed(start):
    simulator = start({"vms": [{"name": "a", "group": "g"}, {"name": "b", "group": "g"}, {"name": "alone"}]})
    assert [incarnation(simulator, vm) for vm in ("a", "b", "alone")] == [1, 1, 1]
    add(simulator, "b")
    assert [incarnation(simulator, vm) for vm in ("a", "b", "alone")] == [2, 2, 1]


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
