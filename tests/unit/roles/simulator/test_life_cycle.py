# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When each change of an event comes, to the second, and what is recorded about it."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import inside
from hypothesis import given
from hypothesis import strategies as st

POOL = {
    "groups": {"pool": {"kind": "scale_set"}, "other": {"kind": "scale_set"}},
    "vms": [{"name": f"{group}_{n}", "group": group} for group in ("pool", "other") for n in range(2)],
}


@pytest.fixture
def pool(start):
    return start(POOL)


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


@pytest.mark.parametrize(
    ("event", "expected", "by"),
    [
        ({"notice": 90, "dwell": 30}, {"Scheduled": 94, "Started": 124, "Finished": 199}, "deadline"),
        ({"notice": 20, "after": 10, "dwell": 0}, {"Planned": 14, "Scheduled": 34, "Finished": 199}, "deadline"),
        ({"notice": 90, "late": 7, "dwell": 0}, {"Scheduled": 101, "Finished": 199}, "deadline"),
        ({"notice": 90, "cancel_after": 40}, {"Scheduled": 44, "Cancelled": 199}, None),
        ({"notice": 90, "cancel_after": 89}, {"Scheduled": 93, "Cancelled": 199}, None),
        ({"notice": 90, "cancel_after": 90}, {"Scheduled": 94, "Started": 199}, "deadline"),
        ({"notice": 90, "cancel_after": 91}, {"Scheduled": 94, "Started": 199}, "deadline"),
    ],
)
def test_what_nobody_approves(simulator, event, expected, by):
    simulator.time.go_on(5)
    event_id = add(simulator, **event)
    assert watched(simulator, event_id, 200) == expected
    assert simulator.event(event_id)["started_by"] == by


@pytest.mark.parametrize(
    ("event", "expected", "by"),
    [
        ({"notice": 900, "approval_delay": 45}, {"Scheduled": 54, "Started": 99}, "approval"),
        ({"notice": 900, "approval_delay": 0}, {"Scheduled": 9, "Started": 99}, "approval"),
        ({"notice": 90, "cancel_after": 50, "approval_delay": 20}, {"Scheduled": 29, "Started": 99}, "approval"),
        ({"notice": 30, "approval_delay": 45}, {"Scheduled": 29, "Started": 99}, "deadline"),
        ({"notice": 30, "approval_delay": 20}, {"Scheduled": 29, "Started": 99}, "deadline"),
        ({"notice": 900, "approval_delay": 40, "type": "Terminate"}, {"Scheduled": 49, "Started": 99}, "approval"),
    ],
)
def test_what_is_approved_after_ten_seconds(simulator, event, expected, by):
    event_id = add(simulator, **event)
    last = watched(simulator, event_id, 10)
    assert simulator.approve("web-0", event_id).status == 200
    assert {**last, **watched(simulator, event_id, 100)} == expected
    assert simulator.event(event_id)["started_by"] == by
    assert moments(simulator, event_id)["approved"] == 10


def test_at_another_speed(start):
    simulator = start(speed=60)
    event = add(simulator, notice=90, dwell=30)
    assert watched(simulator, event, 3, step=0.25) == {"Scheduled": 1.25, "Started": 1.75, "Finished": 2.75}


def test_what_was_due_long_ago_is_recorded_in_the_order_of_its_time_and_then_of_its_making(simulator):
    slow = add(simulator, id="slow", notice=100, dwell=200)
    quick = add(simulator, id="quick", notice=150, dwell=20)
    for name in ("b", "a", "c"):
        add(simulator, id=name, notice=400)
    simulator.time.go_on(500)
    recorded = [(change["event"], change["change"]) for change in simulator.changes()][5:]
    assert recorded[:4] == [(slow, "started"), (quick, "started"), (quick, "finished"), (slow, "finished")]
    assert recorded[4:] == [("b", "started"), ("a", "started"), ("c", "started")]


# Changes by hand.


def test_rescheduled(simulator):
    event = add(simulator, notice=100)
    simulator.time.go_on(50)
    view = simulator.call("POST", f"/events/{event}/reschedule", {"notice": 70})
    assert view["not_before"] == simulator.time.time() + 70
    assert watched(simulator, event, 119) == {"Scheduled": 118}
    simulator.call("POST", f"/events/{event}/reschedule", {"notice": 0})
    assert status(simulator, event) == "Started"


@pytest.mark.parametrize(
    ("later", "notice", "is_allowed"),
    [
        (0, 299, False), (0, 300, True), (0, 900, True), (0, 901, False), (0, 3600, False),
        (100, 199, False), (100, 200, True), (100, 800, True), (100, 801, False),
    ],
)  # fmt: skip
def test_a_terminate_is_rescheduled_within_what_a_scale_set_allows(simulator, later, notice, is_allowed):
    event = add(simulator, type="Terminate")
    simulator.time.go_on(later)
    answer = simulator.told("POST", f"/events/{event}/reschedule", {"notice": notice})
    if is_allowed:
        assert answer.json["not_before"] == simulator.time.time() + notice
        return
    assert answer.status == 400
    assert answer.json["error"].endswith(f"of a Terminate event must be 300 to 900 seconds, not {later + notice}")
    assert [change["change"] for change in simulator.changes()] == ["created"]
    assert simulator.event(event)["not_before"] == simulator.time.time() - later + 300


@pytest.mark.parametrize("planned", [{"notice": 100}, {"after": 100}])
def test_started_by_hand_it_dwells_from_now(simulator, planned):
    event = add(simulator, dwell=10, **planned)
    simulator.time.go_on(50)
    assert simulator.start(event)["started_by"] == "direct"
    assert [change["change"] for change in simulator.changes()] == ["created", "started"]
    assert watched(simulator, event, 70) == {"Started": 59, "Finished": 69}


def test_what_is_planned_can_be_cancelled_and_never_shows(simulator):
    simulator.cancel(add(simulator, after=100))
    simulator.time.go_on(200)
    assert [change["change"] for change in simulator.changes()] == ["cancelled"]
    assert simulator.document("web-0")["Events"] == []


# What is recorded.


def test_each_change_is_recorded_once_with_all_about_it(simulator):
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
    recorded = [(change["change"], change["cause"], change["incarnation"]) for change in simulator.changes()]
    assert recorded == [("created", None, 2), ("started", "direct", 2)]
    assert simulator.document("web-0")["DocumentIncarnation"] == 2


@pytest.mark.parametrize(("body", "by"), [({}, "portal"), ({"by": "arm"}, "arm")])
def test_the_cause_of_an_approval_elsewhere_is_who_approved(simulator, body, by):
    event = add(simulator)
    assert simulator.approve_elsewhere(event, **body)["approved_by"] == by
    recorded = [(change["change"], change["cause"], change["vm"]) for change in simulator.changes()]
    assert recorded == [("created", None, None), ("approved", by, None), ("started", "approval", None)]
    assert simulator.state()["groups"][0]["service"] == "off"


# Approved deletions wait for those that are pending.


def test_it_waits_for_no_other_type_no_other_group_and_nothing_that_is_not_scheduled_and_no_other_for_it(pool):
    others = [add(pool, "pool_1", type=kind, notice=900) for kind in ("Reboot", "Preempt", "Zap")]
    add(pool, "other_0", type="Terminate", notice=900)
    add(pool, "pool_1", type="Terminate", after=1000)
    add(pool, "pool_1", type="Terminate", status="Started", notice=900, dwell=900)
    event = add(pool, "pool_0", type="Terminate", notice=900)
    pool.approve("pool_0", event)
    assert status(pool, event) == "Started"
    add(pool, "pool_0", type="Terminate", notice=900)
    pool.approve("pool_0", *others)
    assert [status(pool, other) for other in others] == ["Started"] * 3


# Whatever happens.

LIMITS = {"after": 50, "late": 20, "cancel_after": 400, "dwell": 60, "approval_delay": 30}
SPEC = {word: st.integers(0, most) for word, most in LIMITS.items()}
SPEC["type"] = st.sampled_from(["Freeze", "Reboot", "Preempt", "Terminate"])
EVENTS = st.lists(st.fixed_dictionaries({}, optional=SPEC), min_size=1, max_size=5)
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
