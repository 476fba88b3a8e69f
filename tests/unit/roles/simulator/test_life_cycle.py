# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When each change comes, to the second, and what is told about it."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import inside
from hypothesis import given
from hypothesis import strategies as st

DAY = 86400
POOL = {
    "groups": {"pool": {"kind": "scale_set"}, "other": {"kind": "scale_set"}},
    "vms": [{"name": f"{group}_{n}", "group": group} for group in ("pool", "other") for n in range(2)],
}


def add(simulator, vm="web-0", **event):
    return simulator.add_event(resources=[vm], **{"type": "Reboot", **event})["id"]


def status(simulator, event_id):
    return simulator.event(event_id)["status"]


def moments(simulator, event_id):
    """When each change was, in real seconds since the beginning."""
    return {change: at - 1_800_000_000 for change, at in simulator.event(event_id)["times"].items()}


def watched(simulator, event_id, until, step=1):
    """The last second of each status."""
    last = {}
    while simulator.time.passed < until:
        last[status(simulator, event_id)] = simulator.time.passed
        simulator.time.go_on(step)
    return last


def test_created_started_and_finished_to_the_second(simulator):
    event = add(simulator, notice=90, dwell=30)
    assert watched(simulator, event, 200) == {"Scheduled": 89, "Started": 119, "Finished": 199}
    assert moments(simulator, event) == {"created": 0, "started": 90, "finished": 120}


def test_planned_for_later(simulator):
    simulator.time.go_on(5)
    event = add(simulator, after=10, notice=20, dwell=0)
    assert watched(simulator, event, 60) == {"Planned": 14, "Scheduled": 34, "Finished": 59}


def test_late(simulator):
    event = add(simulator, notice=90, late=7, dwell=0)
    assert watched(simulator, event, 120) == {"Scheduled": 96, "Finished": 119}


def test_cancelled_by_itself(simulator):
    event = add(simulator, notice=90, cancel_after=40)
    assert watched(simulator, event, 120) == {"Scheduled": 39, "Cancelled": 119}


def test_cancelled_in_the_second_before_it_would_start(simulator):
    simulator.time.go_on(100)
    assert watched(simulator, add(simulator, notice=90, cancel_after=89), 300)["Scheduled"] == 188


@pytest.mark.parametrize("cancel_after", [90, 91, 500])
def test_what_would_be_cancelled_when_it_starts_or_later_is_not(simulator, cancel_after):
    event = add(simulator, notice=90, cancel_after=cancel_after, dwell=1000)
    simulator.time.go_on(600)
    assert status(simulator, event) == "Started"


def test_an_approval_before_forestalls_the_cancellation(simulator):
    event = add(simulator, notice=90, cancel_after=50, approval_delay=20)
    simulator.time.go_on(29)
    simulator.approve("web-0", event)
    assert watched(simulator, event, 60) == {"Scheduled": 48, "Started": 59}


def test_an_approval_counts_from_its_delay_on(simulator):
    event = add(simulator, notice=900, approval_delay=45)
    simulator.time.go_on(10)
    simulator.approve("web-0", event)
    assert watched(simulator, event, 60) == {"Scheduled": 54, "Started": 59}
    assert simulator.event(event)["started_by"] == "approval"
    assert moments(simulator, event) == {"created": 0, "approved": 10, "started": 55}


def test_the_deadline_comes_before_a_long_delay(simulator):
    event = add(simulator, notice=30, approval_delay=45)
    simulator.approve("web-0", event)
    assert watched(simulator, event, 60) == {"Scheduled": 29, "Started": 59}
    assert simulator.event(event)["started_by"] == "deadline"


def test_a_start_at_the_deadline_is_by_the_deadline(simulator):
    event = add(simulator, notice=30, approval_delay=30)
    simulator.approve("web-0", event)
    simulator.time.go_on(30)
    assert simulator.event(event)["started_by"] == "deadline"


def test_an_approval_is_not_undone_by_a_second(simulator):
    event = add(simulator, approval_delay=100)
    simulator.approve("web-0", event)
    simulator.time.go_on(50)
    simulator.approve("web-1", event)
    assert simulator.event(event)["approved_by"] == "web-0"
    assert [entry["approved"] for entry in simulator.log()] == [[event], []]
    assert watched(simulator, event, 120) == {"Scheduled": 99, "Started": 119}


def test_what_has_started_is_not_approved_any_more(simulator):
    event = add(simulator, status="Started")
    simulator.approve("web-0", event)
    assert not simulator.event(event)["approved"]


def test_at_another_speed(start):
    simulator = start(speed=60)
    event = add(simulator, notice=90, dwell=30)
    assert watched(simulator, event, 3, step=0.25) == {"Scheduled": 1.25, "Started": 1.75, "Finished": 2.75}


def test_what_was_due_long_ago_is_told_in_the_order_of_its_time(simulator):
    slow = add(simulator, id="slow", notice=100, dwell=200)
    quick = add(simulator, id="quick", notice=150, dwell=20)
    simulator.time.go_on(1000)
    told = [(change["event"], change["change"]) for change in simulator.changes()]
    assert told[2:] == [(slow, "started"), (quick, "started"), (quick, "finished"), (slow, "finished")]


def test_what_is_due_together_comes_in_the_order_in_which_it_was_made(simulator):
    for name in ("b", "a", "c"):
        add(simulator, id=name, notice=100)
    simulator.time.go_on(100)
    assert [change["event"] for change in simulator.changes()[3:]] == ["b", "a", "c"]


def test_an_event_that_starts_late_dwells_from_when_it_was_due(simulator):
    event = add(simulator, notice=100, dwell=50)
    simulator.advance(149)
    assert status(simulator, event) == "Started"
    simulator.advance(1)
    assert status(simulator, event) == "Finished"


def test_an_event_made_while_others_were_overdue_begins_now(simulator):
    """What is due in the past of the last look is settled at that look, never before it."""
    simulator.time.go_on(100)
    event = add(simulator, notice=10)
    assert moments(simulator, event) == {"created": 100}
    assert watched(simulator, event, 120) == {"Scheduled": 109, "Started": 119}


def test_rescheduled_to_the_past_it_starts_at_once(simulator):
    event = add(simulator, notice=100)
    simulator.time.go_on(50)
    simulator.call("POST", f"/events/{event}/reschedule", {"notice": 0})
    assert status(simulator, event) == "Started"


def test_rescheduled(simulator):
    event = add(simulator, notice=100)
    simulator.time.go_on(50)
    told = simulator.call("POST", f"/events/{event}/reschedule", {"notice": 70})
    assert told["not_before"] == simulator.time.time() + 70
    assert watched(simulator, event, 200) == {"Scheduled": 119, "Started": 199}


@pytest.mark.parametrize(("later", "notice"), [(0, 3600), (0, 299), (0, 901), (100, 199), (100, 801)])
def test_a_terminate_can_not_be_rescheduled_beyond_what_a_scale_set_allows(simulator, later, notice):
    event = add(simulator, type="Terminate")
    simulator.time.go_on(later)
    told = simulator.told("POST", f"/events/{event}/reschedule", {"notice": notice})
    assert told.status == 400
    assert told.json["error"].endswith(f"of a Terminate event must be 300 to 900 seconds, not {later + notice}")
    assert [change["change"] for change in simulator.changes()] == ["created"]
    assert simulator.event(event)["not_before"] == simulator.time.time() - later + 300


@pytest.mark.parametrize(("later", "notice"), [(0, 300), (0, 900), (100, 200), (100, 800)])
def test_a_terminate_is_rescheduled_within_that(simulator, later, notice):
    event = add(simulator, type="Terminate")
    simulator.time.go_on(later)
    told = simulator.call("POST", f"/events/{event}/reschedule", {"notice": notice})
    assert told["not_before"] == simulator.time.time() + notice


def test_started_by_hand_it_dwells_from_now(simulator):
    event = add(simulator, notice=100, dwell=10)
    simulator.time.go_on(50)
    assert simulator.start(event)["started_by"] == "direct"
    assert [change["change"] for change in simulator.changes()] == ["created", "started"]
    assert watched(simulator, event, 70) == {"Started": 59, "Finished": 69}


def test_what_is_planned_is_made_and_started_by_hand(simulator):
    event = add(simulator, after=100, dwell=10)
    simulator.time.go_on(50)
    assert simulator.start(event)["started_by"] == "direct"
    assert [change["change"] for change in simulator.changes()] == ["created", "started"]
    assert watched(simulator, event, 70) == {"Started": 59, "Finished": 69}


def test_what_is_planned_can_be_cancelled_and_never_shows(simulator):
    event = add(simulator, after=100)
    simulator.cancel(event)
    simulator.time.go_on(200)
    assert [change["change"] for change in simulator.changes()] == ["cancelled"]
    assert simulator.document("web-0")["Events"] == []


def test_each_change_is_told_once_with_all_about_it(simulator):
    simulator.document("web-0")
    event = add(simulator, id="A", notice=90, approval_delay=5)
    simulator.time.go_on(2)
    simulator.approve("web-1", event)
    simulator.time.go_on(8)
    common = {"event": "A", "type": "Reboot", "group": "web", "resources": ["web-0"]}
    assert simulator.changes() == [
        {**common, "seq": 1, "time": 1_800_000_000, "change": "created", "cause": None, "vm": None, "incarnation": 2},
        {**common, "seq": 2, "time": 1_800_000_002, "change": "approved", "cause": None, "vm": "web-1",
         "incarnation": 2},
        {**common, "seq": 3, "time": 1_800_000_010, "change": "started", "cause": "approval", "vm": None,
         "incarnation": 3},
    ]  # fmt: skip
    assert simulator.heard == [("A", "created"), ("A", "approved"), ("A", "started")]


def test_what_goes_straight_to_started_is_one_change_of_the_list(simulator):
    simulator.document("web-0")
    add(simulator, status="Started")
    told = [(change["change"], change["cause"], change["incarnation"]) for change in simulator.changes()]
    assert told == [("created", None, 2), ("started", "direct", 2)]
    assert simulator.document("web-0")["DocumentIncarnation"] == 2


def test_the_cause_of_an_approval_elsewhere_is_who_approved(simulator):
    event = add(simulator)
    simulator.approve_elsewhere(event, by="arm")
    told = [(change["change"], change["cause"], change["vm"]) for change in simulator.changes()]
    assert told == [("created", None, None), ("approved", "arm", None), ("started", "approval", None)]


# Who waits for nobody.

AUTO = {
    "groups": {"web": {"auto_approve": ["Reboot", "Freeze"]}},
    "vms": [{"name": "web-0", "group": "web"}, {"name": "alone"}],
}


@pytest.mark.parametrize(
    ("vm", "kind", "source", "expected"),
    [
        ("web-0", "Reboot", "User", "Started"),
        ("web-0", "Freeze", "User", "Started"),
        ("web-0", "Redeploy", "User", "Scheduled"),
        ("web-0", "Reboot", "Platform", "Scheduled"),
        ("web-0", "Reboot", "Zebra", "Scheduled"),
        ("alone", "Reboot", "User", "Scheduled"),
    ],
)
def test_automatic_approval_is_for_events_of_users_of_these_types(start, vm, kind, source, expected):
    simulator = start(AUTO)
    assert status(simulator, add(simulator, vm, type=kind, source=source)) == expected


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        ("Reboot", "User", "Started"),
        ("Terminate", "Platform", "Started"),
        ("Terminate", "User", "Started"),
        ("Reboot", "Platform", "Scheduled"),
        ("Zap", "Platform", "Scheduled"),
        ("Reboot", "Aunt", "Scheduled"),
        ("Reboot", "Zebra", "Scheduled"),
    ],
)
def test_while_the_service_is_off_users_and_deletions_wait_for_nobody(start, kind, source, expected):
    simulator = start(user_events_wait_when_off=False)
    assert status(simulator, add(simulator, type=kind, source=source)) == expected
    simulator.document("web-0")
    assert status(simulator, add(simulator, type=kind, source=source)) == "Scheduled"
    simulator.time.go_on(DAY)
    assert status(simulator, add(simulator, type=kind, source=source)) == expected


def test_they_wait_where_that_is_set(simulator):
    assert status(simulator, add(simulator, source="User")) == "Scheduled"


# Terminate: whose deletion is approved waits for those that are pending.


def test_an_approved_deletion_waits_until_the_last_pending_one_is_due(start):
    simulator = start(POOL)
    first = add(simulator, "pool_0", type="Terminate", notice=300)
    second = add(simulator, "pool_1", type="Terminate", notice=900)
    simulator.approve("pool_0", second)
    assert watched(simulator, second, 400) == {"Scheduled": 299, "Started": 399}
    assert moments(simulator, first)["started"] == moments(simulator, second)["started"] == 300


def test_an_approved_deletion_starts_when_the_last_is_approved(start):
    simulator = start(POOL)
    ids = [add(simulator, "pool_0", type="Terminate", notice=900) for _time in range(3)]
    for number, event in enumerate(ids):
        assert [status(simulator, other) for other in ids] == ["Scheduled"] * 3
        simulator.approve("pool_0", event)
        simulator.time.go_on(10 * number)
    assert [moments(simulator, event)["started"] for event in ids] == [10, 10, 10]


def test_an_approved_deletion_waits_for_its_own_delay_too(start):
    simulator = start(POOL)
    event = add(simulator, "pool_0", type="Terminate", notice=900, approval_delay=40)
    simulator.approve("pool_0", event)
    assert watched(simulator, event, 60) == {"Scheduled": 39, "Started": 59}


def test_it_waits_for_no_other_type_no_other_group_and_nothing_that_is_not_scheduled(start):
    simulator = start(POOL)
    for kind in ("Reboot", "Preempt", "Zap"):
        add(simulator, "pool_1", type=kind, notice=900)
    add(simulator, "other_0", type="Terminate", notice=900)
    add(simulator, "pool_1", type="Terminate", after=1000)
    event = add(simulator, "pool_0", type="Terminate", notice=900)
    simulator.approve("pool_0", event)
    assert status(simulator, event) == "Started"


def test_it_does_not_wait_for_one_that_has_started(start):
    simulator = start(POOL)
    add(simulator, "pool_1", type="Terminate", status="Started", notice=900, dwell=900)
    event = add(simulator, "pool_0", type="Terminate", notice=900)
    simulator.approve("pool_0", event)
    assert status(simulator, event) == "Started"


@pytest.mark.parametrize("kind", ["Reboot", "Preempt", "Zap"])
def test_other_types_do_not_wait_for_a_deletion(start, kind):
    simulator = start(POOL)
    add(simulator, "pool_1", type="Terminate", notice=900)
    event = add(simulator, "pool_0", type=kind, notice=900)
    simulator.approve("pool_0", event)
    assert status(simulator, event) == "Started"


# Whatever the order of things.

EVENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["Freeze", "Reboot", "Preempt", "Terminate"]),
            "after": st.integers(0, 50),
            "late": st.integers(0, 20),
            "cancel_after": st.integers(0, 400),
            "dwell": st.integers(0, 60),
            "approval_delay": st.integers(0, 30),
        },
    ),
    min_size=1,
    max_size=5,
)
STEPS = st.lists(st.tuples(st.integers(1, 120), st.integers(0, 4)), max_size=6)
ORDER = ["Planned", "Scheduled", "Started", "Finished"]


@given(EVENTS, STEPS)
def test_nothing_goes_back_and_nothing_starts_before_its_time_without_approval(events, steps):
    with inside({"vms": [{"name": "web-0"}]}) as simulator:
        ids = [add(simulator, id=str(number), **event) for number, event in enumerate(events)]
        before = dict.fromkeys(ids, "Planned")
        for seconds, number in steps:
            simulator.time.go_on(seconds)
            simulator.approve("web-0", str(number))
            for event in simulator.events():
                now, earlier = event["status"], before[event["id"]]
                assert now == earlier or now == "Cancelled" or ORDER.index(now) > ORDER.index(earlier)
                if now in ("Started", "Finished"):
                    early = event["times"]["started"] < event["not_before"]
                    assert event["started_by"] == "approval" or not early
                    assert event["approved"] or event["started_by"] == "deadline"
                before[event["id"]] = now
        listed = {event["EventId"] for event in simulator.document("web-0")["Events"]}
        assert listed == {event["id"] for event in simulator.events() if event["status"] in ("Scheduled", "Started")}
