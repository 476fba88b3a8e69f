# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One event: what may be written about it, whom it concerns, and how each api-version shows it."""

from __future__ import annotations

import json
import re
import types

import pytest
from helpers.simulator_inside import inside, part
from hypothesis import given
from hypothesis import strategies as st

Event = part("event").Event
InputError = part("input_checks").InputError
rules = part("event_rules")
QUICK = part("settings").QUICK
SET = types.SimpleNamespace(name="web", group=types.SimpleNamespace(kind="availability_set"), settings=QUICK)
VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
NEWEST = "2024-07-09"
MAINTENANCE = "Host server is undergoing maintenance."
MIGRATION = "Virtual machine is being paused because of a memory-preserving Live Migration operation."
FAILURE = "Virtual machine has encountered a failure."


@pytest.fixture
def clock(driven):
    return part("clock").Clock(1)


def an_event(scope=SET, resources=("web-0",), **spec):
    return Event({"type": "Reboot", **spec}, scope, list(resources))


def scheduled(**spec):
    event = an_event(**spec)
    event.status, event.created_at, event.not_before = "Scheduled", 0.0, 90.0
    return event


def checked(event):
    return rules.checked_event("it", event, QUICK)


def problem(**event):
    with pytest.raises(InputError) as error:
        checked(event)
    return str(error.value)


# What may be written, and what is filled in.

SCENARIOS = {
    "live_migration": {"type": "Freeze", "dwell": 300, "duration": 5, "description": MIGRATION},
    "host_maintenance": {"type": "Freeze", "duration": 9},
    "user_reboot": {"type": "Reboot", "source": "User"},
    "user_redeploy": {"type": "Redeploy", "source": "User", "notice": 900},
    "platform_redeploy": {"type": "Redeploy", "notice": 900},
    "cancelled_maintenance": {"type": "Freeze", "duration": 9, "cancel_after": 480},
    "hardware_failure": {"type": "Reboot", "status": "Started", "description": FAILURE},
    "predicted_failure": {"type": "Redeploy", "notice": 432000},
    "spot_eviction": {"type": "Preempt"},
    "spot_advisory": {"type": "SpotRebalanceRecommendation"},
    "scale_in": {"type": "Terminate"},
}


@pytest.mark.parametrize(("scenario", "added"), SCENARIOS.items())
def test_what_a_scenario_adds(scenario, added):
    assert checked({"scenario": scenario}) == {"scenario": scenario, **added}


def test_what_is_written_beside_a_scenario_wins():
    event = checked({"scenario": "live_migration", "duration": 8, "source": "User"})
    assert (event["type"], event["duration"], event["dwell"], event["source"]) == ("Freeze", 8, 300, "User")


@pytest.mark.parametrize(
    "event",
    [
        *({"type": "Terminate", "notice": notice} for notice in (300, 301, 899, 900)),
        *({"type": kind, "notice": notice} for kind in ("Preempt", "Reboot", "Zap") for notice in (0, 90000)),
        *({"type": "Reboot", "impact_seconds": seconds} for seconds in (0, 600)),
        {"type": "Zap", "impact_seconds": 601, "dwell": 601},
        {"type": "Freeze", "impact_seconds": 20, "dwell": 20},
        {"type": "Freeze", "impact_seconds": 5, "dwell": 20},
    ],
    ids=str,
)
def test_what_may_be_written(event):
    assert checked(event) == event


TOO_LONG = 'it: "impact_seconds" must not be longer than "dwell"'
FOR_GOOD = 'it: "impact_seconds" makes no sense, a VM does not come back from'
NOTICE = 'it: "notice" of a Terminate event must be 300 to 900 seconds, not'


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({"notice": 5}, 'it: "type" (or "scenario") is missing'),
        (
            {"scenario": "x"},
            'it: "scenario" must be one of ' + ", ".join(map(json.dumps, sorted(SCENARIOS))) + ', not "x"',
        ),
        ({"type": ""}, 'it: "type" must be a text of one line that is not empty, not ""'),
        ({"type": "A", "resources": "a"}, 'it: "resources" must be a list of texts, not "a"'),
        ({"type": "A", "duration": 1.5}, 'it: "duration" must be an integer, not 1.5'),
        ({"type": "A", "status": "Over"}, 'it: "status" must be one of "Scheduled", "Started", "Advisory", not "Over"'),
        *(({"type": "Terminate", "notice": n}, f"{NOTICE} {n}") for n in (0, 299, 299.5, 900.5, 901, 90000)),
        *(({"type": "Reboot", "impact_seconds": seconds}, TOO_LONG) for seconds in (600.5, 601)),
        ({"type": "Zap", "impact_seconds": 21, "dwell": 20}, TOO_LONG),
        *(({"type": kind, "impact_seconds": 5}, f"{FOR_GOOD} {kind}") for kind in ("Preempt", "Terminate")),
        *(
            ({"type": "Reboot", word: -1}, f'it: "{word}" must be a number of seconds, 0 or more, not -1')
            for word in ("after", "notice", "late", "approval_delay", "cancel_after", "dwell", "impact_seconds")
        ),
    ],
    ids=str,
)
def test_what_may_not(event, sentence):
    assert problem(**event) == sentence


def test_what_is_filled_in():
    event = an_event()
    assert (event.source, event.dwell, event.late, event.approval_delay) == ("Platform", 600, 0, 0)
    assert (event.after, event.cancel_after, event.first_status, event.status) == (0, None, "Scheduled", "Planned")
    assert (event.approved_at, event.approved_by, event.started_at, event.started_by) == (None,) * 4
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", event.id)
    assert event.id != an_event().id
    assert an_event(status="Started").first_status == "Started"
    event = an_event(id="a", dwell=1, late=2, approval_delay=3, after=4, cancel_after=5, impact_seconds=1)
    assert (event.id, event.dwell, event.late, event.approval_delay) == ("a", 1, 2, 3)
    assert (event.after, event.cancel_after, event.impact) == (4, 5, ("down", 1))


# Whom it concerns.

FLEET = {
    "groups": {"own": {"kind": "standalone"}},
    "vms": [
        {"name": "web-0", "group": "web"}, {"name": "web-1", "key": "second", "group": "web"},
        {"name": "db", "group": "one"}, {"name": "db", "key": "db-two", "group": "two"},
        {"name": "own-0", "group": "own"}, {"name": "own-1", "group": "own"}, {"name": "alone"},
        {"name": "left", "key": "right", "group": "odd"}, {"name": "right", "key": "other", "group": "odd"},
    ],
}  # fmt: skip
UNNAMED = 'name the VMs in "resources", or give a "group"'
UNKNOWN = 'no VM of the fleet is called "%s"; give a "group" to name a VM that nobody plays'
DIFFERENT = "its VMs belong to different delivery groups (%s), and one event belongs to one"


def scope_and_names(spec):
    return part("whose_event").scope_and_names(part("fleet").Fleet(FLEET, "quick"), spec, "it")


@pytest.mark.parametrize(
    ("resources", "group", "scope", "names"),
    [
        (["web-0"], None, "web", ["web-0"]),
        (["second", "web-0"], None, "web", ["web-1", "web-0"]),
        (["alone"], None, "vm:alone", ["alone"]),
        (["own-1"], None, "vm:own-1", ["own-1"]),
        (["own-1"], "own", "vm:own-1", ["own-1"]),
        (["db"], None, "one", ["db"]),
        (["db-two"], None, "two", ["db"]),
        (["db"], "two", "two", ["db"]),
        (["db-two"], "two", "two", ["db"]),
        (["web-1"], "web", "web", ["web-1"]),
        (["stranger", "second"], "web", "web", ["stranger", "web-1"]),
        (["own-0"], "vm:own-0", "vm:own-0", ["own-0"]),
        (["right"], "odd", "odd", ["left"]),
        ([], "web", "web", []),
        (None, "vm:alone", "vm:alone", []),
    ],
)
def test_its_delivery_scope_and_the_names_of_its_vms(resources, group, scope, names):
    given = {"resources": resources, "group": group}
    found, called = scope_and_names({word: value for word, value in given.items() if value is not None})
    assert (found.name, called) == (scope, names)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({}, UNNAMED),
        ({"resources": []}, UNNAMED),
        ({"group": "own"}, UNNAMED),
        ({"resources": ["web-0", "x", "y"]}, UNKNOWN % "x"),
        ({"resources": ["web-1"]}, UNKNOWN % "web-1"),
        ({"resources": ["web-0", "alone"]}, DIFFERENT % "vm:alone, web"),
        ({"resources": ["alone"], "group": "web"}, DIFFERENT % "vm:alone, web"),
        ({"resources": ["own-0", "own-1"], "group": "own"}, DIFFERENT % "vm:own-0, vm:own-1"),
        (
            {"resources": ["web-0"], "group": "x"},
            'there is no group "x"; groups are web, one, two, vm:own-0, vm:own-1, vm:alone, odd',
        ),
    ],
)
def test_an_event_that_concerns_nobody_or_two_groups(spec, sentence):
    with pytest.raises(InputError) as error:
        scope_and_names(spec)
    assert str(error.value) == f"it: {sentence}"


@pytest.mark.parametrize(("approved_at", "cleared_at"), [(None, 90), (0, 0), (10, 10), (95, 90)])
def test_when_it_starts_without_approval_and_stops_to_hold_others_back(approved_at, cleared_at):
    event = scheduled(type="Terminate", late=7)
    event.approved_at = approved_at
    assert (event.start_without_approval(), event.cleared_at()) == (97, cleared_at)


# Its document.


@pytest.mark.parametrize(
    ("form", "in_preview", "later", "started"),
    [
        (None, "2027-01-15T08:01:30Z", "Fri, 15 Jan 2027 08:01:30 GMT", ""),
        ("iso", "2027-01-15T08:01:30Z", "2027-01-15T08:01:30Z", ""),
        ("rfc1123", "Fri, 15 Jan 2027 08:01:30 GMT", "Fri, 15 Jan 2027 08:01:30 GMT", ""),
        ("wrong_weekday", "Sat, 15 Jan 2027 08:01:30 GMT", "Sat, 15 Jan 2027 08:01:30 GMT", ""),
        ("empty", "", "", ""),
        ("missing", None, None, None),
    ],
)
def test_the_forms_of_not_before(clock, form, in_preview, later, started):
    event = scheduled(**({} if form is None else {"not_before_format": form}))
    texts = [event.document(version, clock).get("NotBefore") for version in VERSIONS]
    assert texts == [in_preview] + [later] * 6
    assert ("NotBefore" in event.document("2020-07-01", clock)) is (form != "missing")
    event.status = "Started"
    assert event.document("2020-07-01", clock).get("NotBefore") == started


@pytest.mark.parametrize(
    ("form", "at", "shown"),
    [
        ("rfc1123", 90.25, "Fri, 15 Jan 2027 08:01:30"), ("rfc1123", 90.999, "Fri, 15 Jan 2027 08:01:30"),
        ("wrong_weekday", -28800, "Sat, 15 Jan 2027 00:00:00"), ("wrong_weekday", 0, "Sat, 15 Jan 2027 08:00:00"),
        ("wrong_weekday", 57599, "Sat, 15 Jan 2027 23:59:59"),
    ],
)  # fmt: skip
def test_not_before_is_rounded_down_and_a_wrong_weekday_is_that_of_the_next_day(clock, driven, form, at, shown):
    driven.go_on(at % 1)
    event = scheduled(not_before_format=form)
    event.not_before = float(at)
    assert event.document("2020-07-01", clock)["NotBefore"] == f"{shown} GMT"


def test_fields_may_be_added_changed_and_left_out(clock):
    event = scheduled(extra={"EventId": "other", "New": None}, omit=["Resources", "NotBefore", "ResourceType", "No"])
    assert event.document("2017-08-01", clock) == {
        "EventId": "other", "EventStatus": "Scheduled", "EventType": "Reboot", "New": None,
    }  # fmt: skip


def test_how_the_control_interface_shows_it(clock, driven):
    event = scheduled(id="A", approval_delay=3)
    assert event.inside_view(clock) == {
        "id": "A", "type": "Reboot", "status": "Scheduled", "source": "Platform", "description": MAINTENANCE,
        "duration": -1, "resources": ["web-0"], "group": "web", "notice": 900, "dwell": 600, "impact_seconds": 60,
        "approval_delay": 3, "not_before": driven.time() + 90, "approved": False, "approved_by": None,
        "started_by": None, "times": {},
    }  # fmt: skip
    event.approved_at = 0.0
    assert event.inside_view(clock)["approved"] is True
    assert an_event().inside_view(clock)["not_before"] is None


# When each change of an event comes, to the second, and what is recorded about it.

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
