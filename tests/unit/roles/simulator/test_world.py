# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole fleet, its clock, and what VMs of a delivery scope share: reading, approving, jumping, resetting."""

from __future__ import annotations

import types

import pytest
from helpers.driven_time import WaitsForEver
from helpers.simulator_inside import part
from helpers.simulator_process import ControlError

DAY = 86400
NOTHING = {"DocumentIncarnation": 1, "Events": []}


def add(simulator, vm="web-0", **event):
    return simulator.add_event(resources=[vm], **{"type": "Reboot", **event})["id"]


def state_of(simulator):
    (group,) = simulator.state()["groups"]
    return group["service"], group["incarnation"]


# Reading.


def test_the_first_call_takes_its_time_and_who_calls_meanwhile_waits_for_the_rest(start):
    simulator = start(first_call_seconds=60)
    seen = []
    simulator.time.meanwhile(20, lambda: seen.append((simulator.document("web-1"), simulator.time.passed)))
    assert simulator.document("web-0") == NOTHING
    assert seen == [(NOTHING, 60)]
    simulator.document("web-1")
    assert simulator.time.waits == [60, 40]


def test_the_speed_and_a_jump_of_the_clock_shorten_it(start):
    simulator = start(first_call_seconds=60, speed=8)
    simulator.time.meanwhile(2, lambda: simulator.advance(30))
    simulator.document("web-0")
    assert simulator.time.passed == 2 + (60 - 2 * 8 - 30) / 8


def test_or_who_calls_meanwhile_receives_nothing_where_that_is_set(start):
    simulator = start(first_call_seconds=60, empty_while_switching_on=True)
    seen = []
    simulator.time.meanwhile(59.5, lambda: seen.append(simulator.read("web-1")))
    assert simulator.document("web-0") == NOTHING
    assert [(answer.status, answer.body) for answer in seen] == [(200, b"")]
    assert simulator.time.passed == 60
    for _time in range(2):
        assert simulator.document("web-1") == NOTHING
        simulator.time.go_on(0.5)


def test_what_is_due_during_the_first_call_is_in_its_answer(start):
    simulator = start(first_call_seconds=60)
    event = add(simulator, notice=30)
    assert [one["EventStatus"] for one in simulator.document("web-0")["Events"]] == ["Started"]
    assert simulator.event(event)["started_by"] == "deadline"


# Jumps of the clock: NotBefore of what waits moves, so the number does, once for each group and change.


def test_a_jump_moves_the_number_where_something_waits_and_wakes_whoever_waits(start):
    simulator = start({"vms": [{"name": name} for name in ("a", "b", "c", "d")]})
    for vm in ("a", "b", "c", "d"):
        simulator.document(vm)
    add(simulator, "a", notice=500)
    add(simulator, "b", status="Started", dwell=500)
    add(simulator, "d", after=500)
    before = simulator.world._changed.notified
    assert simulator.advance(10)["simulated_seconds"] == 10
    assert [group["incarnation"] for group in simulator.state()["groups"]] == [3, 2, 1, 1]
    assert simulator.world._changed.notified == before + 1


def test_a_jump_that_changes_the_list_moves_the_number_once_for_each_change(simulator):
    simulator.document("web-0")
    add(simulator, notice=100, dwell=50)
    add(simulator, notice=9000)
    assert state_of(simulator) == ("on", 3)
    for seconds, number in ((100, 4), (50, 5), (1, 6)):
        simulator.advance(seconds)
        assert state_of(simulator) == ("on", number)


def test_what_was_due_before_a_jump_does_not_count_as_its_change(simulator):
    simulator.document("web-0")
    add(simulator, notice=100)
    add(simulator, notice=9000)
    simulator.time.go_on(100)
    simulator.advance(1)
    assert state_of(simulator) == ("on", 5)


# Approving.


@pytest.mark.parametrize(("status", "approved"), [(299, True), (300, False), (404, False)])
def test_or_the_whole_approval_is_refused_where_that_is_set(start, status, approved):
    simulator = start(unknown_event_status=status)
    event = add(simulator)
    assert simulator.approve("web-0", event, "nobody").status == status
    assert simulator.event(event)["approved"] is approved
    assert simulator.log()[-1]["approved"] == ([event] if approved else [])
    assert simulator.approve("web-0", event).status == 200


def test_what_is_planned_or_over_or_of_another_group_is_unknown_and_what_has_started_is_not(start):
    simulator = start({"vms": [{"name": "web-0"}, {"name": "b"}]}, unknown_event_status=404)
    planned, cancelled, finished = add(simulator, after=10), add(simulator), add(simulator, status="Started")
    started, other = add(simulator, status="Started"), add(simulator, "b")
    simulator.cancel(cancelled)
    simulator.finish(finished)
    given = [simulator.approve("web-0", event).status for event in (planned, cancelled, finished, other, started)]
    assert given == [404, 404, 404, 404, 200]


# Changes by hand.


def test_an_id_is_used_once_whatever_its_case(simulator):
    add(simulator, id="abc")
    with pytest.raises(ControlError, match='400: the event: an event with the id "ABC" exists already'):
        add(simulator, id="ABC")
    simulator.cancel("aBc")
    with pytest.raises(ControlError, match="exists already"):
        add(simulator, id="abc")


STATUSES = {
    "Planned": {"after": 10},
    "Scheduled": {},
    "Started": {"status": "Started"},
    "Advisory": {"status": "Advisory"},
    "Finished": {"status": "Started", "dwell": 0},
}
DONE = {
    "cancel": ("Planned or Scheduled or Advisory", "Cancelled", "cancelled"),
    "start": ("Planned or Scheduled", "Started", "started"),
    "finish": ("Started", "Finished", "finished"),
    "approve": ("Scheduled", "Started", "started"),
    "reschedule": ("Scheduled", "Scheduled", "rescheduled"),
}


@pytest.mark.parametrize("action", DONE)
@pytest.mark.parametrize("status", STATUSES)
def test_what_can_be_done_to_an_event(simulator, action, status):
    event = add(simulator, id="E", **STATUSES[status])
    needed, then, change = DONE[action]
    answer = simulator.told("POST", f"/events/{event}/{action}", {"notice": 5} if action == "reschedule" else None)
    if status in needed:
        assert (answer.status, answer.json["status"]) == (200, then)
        assert simulator.changes()[-1]["change"] == change
    else:
        sentence = f"event E is {status}; {action} needs one that is {needed}"
        assert (answer.status, answer.json) == (409, {"error": sentence})
        assert simulator.event(event)["status"] == status


def test_what_is_done_by_hand_is_a_change_of_the_list_and_wakes_whoever_waits(simulator):
    simulator.document("web-0")
    before = simulator.world._changed.notified
    event = add(simulator)
    simulator.call("POST", f"/events/{event}/reschedule", {"notice": 50})
    assert state_of(simulator) == ("on", 3)
    assert simulator.world._changed.notified == before + 2


def test_views_are_up_to_date_whoever_asks(simulator):
    event = add(simulator, notice=10, dwell=10)
    simulator.time.go_on(10)
    assert simulator.changes()[-1]["change"] == "started"
    simulator.time.go_on(10)
    assert simulator.event(event)["status"] == "Finished"
    other = add(simulator, notice=10)
    simulator.time.go_on(10)
    with pytest.raises(ControlError, match="is Started"):
        simulator.cancel(other)


# The thread that lets events go on when nobody asks.


@pytest.mark.parametrize(
    ("speed", "event", "waits"),
    [
        (1, None, [None]),
        (1, {"notice": 90, "dwell": 30}, [90, 30, None]),
        (1, {"notice": 3601, "dwell": 3600}, [3600, 1, 3600, None]),
        (60, {"notice": 90, "dwell": 30}, [1.5, 0.5, None]),
    ],
)
def test_it_waits_from_change_to_change_and_looks_once_an_hour_at_least(start, speed, event, waits):
    simulator = start(speed=speed)
    if event:
        add(simulator, **event)
    with pytest.raises(WaitsForEver):
        simulator.world.run_clock()
    assert simulator.time.waits == waits
    assert [change for _event, change in simulator.heard] == (["created", "started", "finished"] if event else [])


# The beginning.

PLAN = {
    "vms": [{"name": "a"}, {"name": "b"}],
    "events": [
        {"id": "now", "type": "Reboot", "resources": ["a"]},
        {"id": "later", "type": "Freeze", "resources": ["b"], "after": 50},
    ],
}


def test_a_reset_is_the_beginning(start):
    simulator = start(PLAN, impact=True, requests_per_second=1)
    simulator.document("a")
    add(simulator, "b", type="Preempt", status="Started")
    simulator.time.go_on(500)
    simulator.advance(1000)
    simulator.fault(kind="drop")
    simulator.reset()
    assert {event["id"]: event["status"] for event in simulator.events()} == {"now": "Scheduled", "later": "Planned"}
    state = simulator.state()
    assert state["simulated_seconds"] == 0
    assert [(group["service"], group["incarnation"]) for group in state["groups"]] == [("off", 1)] * 2
    assert [vm["impact"] for vm in state["vms"]] == [None, None]
    assert [(change["seq"], change["event"]) for change in simulator.changes()] == [(1, "now")]
    assert (simulator.log(), simulator.call("GET", "/faults")) == ([], [])
    assert [simulator.read("a").status for _time in range(2)] == [200, 429]
    simulator.reset()
    assert simulator.read("a").status == 200
    simulator.time.go_on(50)
    assert [event["status"] for event in simulator.events()] == ["Scheduled", "Scheduled"]


def test_a_mistake_in_an_event_of_the_fleet_file_is_reported_with_its_number(start):
    with pytest.raises(Exception, match=r"^events\[1\]: unknown key"):
        start({"vms": [{"name": "a"}], "events": [{"type": "Reboot", "resources": ["a"]}, {"colour": 1}]})


def test_the_state_holds_all(start):
    simulator = start({"vms": [{"name": "a", "vm_id": "V", "address": "127.0.0.1"}]}, profile="azure", speed=2)
    simulator.time.go_on(3)
    state = simulator.state()
    assert (state["time"], state["simulated_seconds"], state["profile"]) == (1_800_000_003, 6, "azure")
    assert (state["settings"]["speed"], state["settings"]["first_call_seconds"]) == (2, 120)
    assert state["vms"] == [
        {"key": "a", "name": "a", "endpoint": None, "address": "127.0.0.1", "group": "vm:a", "vm_id": "V",
         "impact": None},
    ]  # fmt: skip
    assert state["groups"] == [{"name": "vm:a", "kind": "standalone", "vms": ["a"], "incarnation": 1, "service": "off"}]


# Maintenance of a whole group.

ZONAL = {
    "groups": {"own": {"kind": "flexible_scale_set", "own_events_only": True}, "pool": {"kind": "scale_set"}, "no": {}},
    "vms": [
        *({"name": f"own_{n}", "group": "own"} for n in range(2)),
        *({"name": f"pool_{n}", "group": "pool", "zone": n % 2} for n in range(3)),
    ],
}


def test_maintenance_of_the_fleet_file_begins_anew_with_each_reset(start):
    maintenance = [{"group": group, "type": "Redeploy", "notice": 60, "dwell": 30} for group in ("own", "pool")]
    simulator = start({**ZONAL, "maintenance": maintenance}, domain_pause_seconds=20)
    planned = [["own_0"], ["pool_0"], ["pool_2"]]
    for _time in range(2):
        for seconds, following in ((89, []), (20, [(["own_1"], "Planned"), (["pool_1"], "Planned")])):
            simulator.time.go_on(seconds)
            shown = [(event["resources"], event["status"]) for event in simulator.events()]
            assert [resources for resources, _status in shown[:3]] == planned
            assert shown[3:] == following
        simulator.time.go_on(1)
        assert [event["status"] for event in simulator.events()[3:]] == ["Scheduled"] * 2
        simulator.advance(9000)
        assert {event["status"] for event in simulator.events()} == {"Finished"}
        assert len(simulator.events()) == 5
        simulator.reset()


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"group": "no", "type": "Reboot"}, 'the maintenance: there is no VM in a group "no"'),
        ({"group": "x", "type": "Reboot"}, 'the maintenance: there is no VM in a group "x"'),
        ({"group": "own"}, 'the maintenance: "type" is missing'),
        ({"group": "own", "type": "Reboot", "resources": []}, 'the maintenance: unknown key "resources"; '),
    ],
)
def test_maintenance_that_makes_no_sense(start, body, sentence):
    answer = start(ZONAL).told("POST", "/maintenance", body)
    assert (answer.status, answer.json["error"][: len(sentence)]) == (400, sentence)


# The control interface.


def test_the_index(simulator):
    endpoints = simulator.call("GET", "/")["endpoints"]
    assert (len(endpoints), endpoints[0], endpoints[12]) == (18, "GET /", r"DELETE /faults/(\d+)")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "sentence"),
    [
        ("GET", "/nothing", None, 404, "there is no /nothing; see GET / for what there is"),
        ("GET", "/events/", None, 404, "there is no /events/; see GET / for what there is"),
        ("POST", "/events/a/b/start", None, 404, "there is no /events/a/b/start; see GET / for what there is"),
        ("PUT", "/events", None, 405, "PUT is not possible on /events"),
        ("GET", "/faults/1", None, 405, "GET is not possible on /faults/1"),
        ("POST", "/state", None, 405, "POST is not possible on /state"),
        ("A", "/state", None, 405, "A is not possible on /state"),
        ("ZAP", "/state", None, 405, "ZAP is not possible on /state"),
        ("POST", "/events", "{", 400, "the body is not JSON: Expecting property name"),
        ("POST", "/events", b"\xff", 400, "the body is not JSON: 'utf-8' codec can't decode"),
        ("POST", "/events", "[]", 400, "the event must be an object, not []"),
        ("POST", "/clock", "", 400, 'the body: "advance" is missing'),
        ("POST", "/clock", " ", 400, 'the body: "advance" is missing'),
        ("POST", "/clock", {"advance": -1}, 400, 'the body: "advance" must be a number of seconds, 0 or more, not -1'),
        ("POST", "/clock", {"x": 1}, 400, 'the body: unknown key "x"; known keys are advance'),
        ("POST", "/events/x/reschedule", {}, 400, 'the body: "notice" is missing'),
        ("POST", "/events/x/approve", {"by": "x"}, 400, 'the body: "by" must be one of "portal", "arm", not "x"'),
        ("POST", "/events/x/start", None, 404, 'there is no event "x"'),
        ("POST", "/events/x%20y/start", None, 404, 'there is no event "x y"'),
        ("DELETE", "/faults/9", None, 404, "there is no fault 9"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence_and_no_listener_is_looked_after(
    simulator, method, path, body, status, sentence
):
    answer = simulator.told(method, path, body)
    assert (answer.status, simulator.synced) == (status, 0)
    assert answer.json["error"].startswith(sentence)


@pytest.mark.parametrize(
    ("method", "path", "body", "given"),
    [
        ("GET", "/events", "{", []),
        ("GET", "/changes", None, []),
        ("GET", "/faults", None, []),
        ("GET", "/log", None, []),
        ("DELETE", "/faults", None, {}),
        ("DELETE", "/log", "{", {}),
        ("POST", "/reset", None, {}),
        ("GET", "/clock", None, {"simulated_seconds": 12, "speed": 4, "time": 1_800_000_003}),
        ("POST", "/clock", {"advance": 5}, {"simulated_seconds": 17, "speed": 4, "time": 1_800_000_003}),
    ],
)
def test_what_it_answers_and_that_listeners_are_looked_after_unless_it_was_a_question(start, method, path, body, given):
    simulator = start(speed=4)
    simulator.time.go_on(3)
    answer = simulator.told(method, path, body)
    assert (answer.status, answer.json, simulator.synced) == (200, given, int(method != "GET"))


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
