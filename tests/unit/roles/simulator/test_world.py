# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole fleet: reading, approving, jumping, resetting; and the waits, without waiting."""

from __future__ import annotations

import pytest
from helpers.driven_time import WaitsForEver
from helpers.simulator_process import ControlError

DAY = 86400


def add(simulator, vm="web-0", **event):
    return simulator.add_event(resources=[vm], **{"type": "Reboot", **event})["id"]


def state_of(simulator):
    (group,) = simulator.state()["groups"]
    return group["service"], group["incarnation"]


def test_the_first_call_takes_its_time_and_the_second_none(start):
    simulator = start(first_call_seconds=60)
    assert simulator.document("web-0") == {"DocumentIncarnation": 1, "Events": []}
    assert simulator.time.passed == 60
    simulator.document("web-1")
    assert simulator.time.waits == [60]


def test_the_speed_shortens_it(start):
    simulator = start(first_call_seconds=60, speed=8)
    simulator.document("web-0")
    assert simulator.time.passed == 7.5


def test_who_calls_meanwhile_waits_for_the_rest(start):
    simulator = start(first_call_seconds=60)
    seen = []
    simulator.time.meanwhile(20, lambda: seen.append((simulator.document("web-1"), simulator.time.passed)))
    simulator.document("web-0")
    assert seen == [({"DocumentIncarnation": 1, "Events": []}, 60)]
    assert simulator.time.waits == [60, 40]


def test_or_hears_nothing_where_that_is_set(start):
    simulator = start(first_call_seconds=60, empty_while_switching_on=True)
    seen = []
    simulator.time.meanwhile(59.5, lambda: seen.append(simulator.read("web-1")))
    assert simulator.document("web-0") == {"DocumentIncarnation": 1, "Events": []}
    assert [(answer.status, answer.body) for answer in seen] == [(200, b"")]
    assert simulator.time.passed == 60
    for _time in range(2):
        assert simulator.document("web-1") == {"DocumentIncarnation": 1, "Events": []}
        simulator.time.go_on(0.5)


def test_a_jump_of_the_clock_ends_the_first_call(start):
    simulator = start(first_call_seconds=60)
    simulator.time.meanwhile(10, lambda: simulator.advance(30))
    simulator.document("web-0")
    assert simulator.time.passed == 30


def test_what_is_due_during_the_first_call_is_in_its_answer(start):
    simulator = start(first_call_seconds=60)
    event = add(simulator, notice=30)
    assert [one["EventStatus"] for one in simulator.document("web-0")["Events"]] == ["Started"]
    assert simulator.event(event)["started_by"] == "deadline"


def test_events_show_later_still(start):
    simulator = start(first_call_seconds=60, events_after_seconds=100)
    add(simulator)
    assert simulator.document("web-0") == {"DocumentIncarnation": 1, "Events": []}
    assert state_of(simulator) == ("switching on", 1)
    simulator.time.go_on(99.5)
    assert simulator.document("web-0")["Events"] == []
    simulator.time.go_on(0.5)
    assert state_of(simulator) == ("on", 2)
    document = simulator.document("web-0")
    assert (document["DocumentIncarnation"], len(document["Events"])) == (2, 1)


def test_a_version_does_not_see_types_that_it_does_not_know(simulator):
    for kind in ("Reboot", "Preempt", "Terminate"):
        add(simulator, type=kind, notice=400)
    seen = [
        len(simulator.document("web-0", version)["Events"]) for version in ("2017-08-01", "2017-11-01", "2019-01-01")
    ]
    assert seen == [1, 2, 3]


def test_asking_for_the_state_shows_that_the_service_went_off(simulator):
    simulator.document("web-0")
    simulator.time.go_on(DAY - 1)
    assert state_of(simulator) == ("on", 1)
    simulator.time.go_on(1)
    assert state_of(simulator) == ("off", 1)


def test_a_jump_moves_the_number_where_something_waits(simulator):
    simulator.document("web-0")
    assert simulator.advance(5)["simulated_seconds"] == 5
    assert state_of(simulator) == ("on", 1)
    add(simulator)
    assert state_of(simulator) == ("on", 2)
    simulator.advance(5)
    assert state_of(simulator) == ("on", 3)


def test_a_jump_moves_nothing_where_events_are_only_planned_or_have_started(simulator):
    simulator.document("web-0")
    add(simulator, after=100)
    simulator.advance(5)
    assert state_of(simulator) == ("on", 1)
    add(simulator, status="Started")
    simulator.advance(5)
    assert state_of(simulator) == ("on", 2)


def test_a_jump_that_changes_the_list_moves_the_number_once_for_each_change(simulator):
    simulator.document("web-0")
    add(simulator, notice=100, dwell=50)
    add(simulator, notice=9000)
    assert state_of(simulator) == ("on", 3)
    simulator.advance(100)
    assert state_of(simulator) == ("on", 4)
    simulator.advance(50)
    assert state_of(simulator) == ("on", 5)
    simulator.advance(1)
    assert state_of(simulator) == ("on", 6)


def test_what_was_due_before_a_jump_does_not_count_as_its_change(simulator):
    simulator.document("web-0")
    add(simulator, notice=100)
    add(simulator, notice=9000)
    simulator.time.go_on(100)
    simulator.advance(1)
    assert state_of(simulator) == ("on", 5)


def test_a_jump_moves_only_the_groups_where_something_waits(start):
    simulator = start({"vms": [{"name": name} for name in ("a", "b", "c")]})
    for vm in ("a", "b", "c"):
        simulator.document(vm)
    add(simulator, "a", notice=500)
    add(simulator, "b", status="Started", dwell=500)
    simulator.advance(10)
    assert [group["incarnation"] for group in simulator.state()["groups"]] == [3, 2, 1]


def test_a_jump_wakes_whoever_waits(simulator):
    before = simulator.world._changed.notified
    simulator.advance(10)
    assert simulator.world._changed.notified == before + 1


# Approving.


def test_several_events_at_once_whatever_their_case(simulator):
    first, second = add(simulator, id="Abc"), add(simulator, id="Def")
    assert simulator.approve("web-1", "aBC", "DEF").status == 200
    assert [event["status"] for event in simulator.events()] == ["Started", "Started"]
    assert [entry["approved"] for entry in simulator.log()] == [[first, second]]


def test_an_unknown_event_does_no_harm_to_the_others(simulator):
    event = add(simulator)
    assert simulator.approve("web-0", "nobody", event).status == 200
    assert simulator.event(event)["approved"]


@pytest.mark.parametrize(("status", "approved"), [(200, True), (299, True), (300, False), (404, False)])
def test_or_the_whole_approval_is_refused_where_that_is_set(start, status, approved):
    simulator = start(unknown_event_status=status)
    event = add(simulator)
    assert simulator.approve("web-0", event, "nobody").status == status
    assert simulator.event(event)["approved"] is approved
    assert simulator.log()[-1]["approved"] == ([event] if approved else [])
    assert simulator.approve("web-0", event).status == 200


@pytest.mark.parametrize("action", ["cancel", "finish"])
def test_what_is_over_is_unknown(start, action):
    simulator = start(unknown_event_status=404)
    event = add(simulator, **({"status": "Started"} if action == "finish" else {}))
    getattr(simulator, action)(event)
    assert simulator.approve("web-0", event).status == 404


def test_what_is_planned_is_unknown_and_what_has_started_is_not(start):
    simulator = start(unknown_event_status=404)
    assert simulator.approve("web-0", add(simulator, after=10)).status == 404
    assert simulator.approve("web-0", add(simulator, status="Started")).status == 200


def test_events_of_other_groups_are_unknown(start):
    simulator = start({"vms": [{"name": "a"}, {"name": "b"}]}, unknown_event_status=404)
    assert simulator.approve("b", add(simulator, "a")).status == 404


def test_an_approval_keeps_the_service_on_and_does_not_switch_it_on(simulator):
    simulator.approve("web-0", "x")
    assert state_of(simulator)[0] == "off"
    simulator.document("web-0")
    simulator.time.go_on(DAY - 1)
    simulator.approve("web-0", "x")
    simulator.time.go_on(DAY - 1)
    assert state_of(simulator)[0] == "on"


# Changes by hand.


def test_an_id_is_used_once_whatever_its_case(simulator):
    add(simulator, id="abc")
    with pytest.raises(ControlError, match='400: the event: an event with the id "ABC" exists already'):
        add(simulator, id="ABC")
    simulator.cancel("aBc")
    with pytest.raises(ControlError, match="exists already"):
        add(simulator, id="abc")


def test_there_is_no_such_event(simulator):
    with pytest.raises(ControlError, match='404: there is no event "nobody"'):
        simulator.cancel("nobody")


STATUSES = {
    "Planned": {"after": 10},
    "Scheduled": {},
    "Started": {"status": "Started"},
    "Finished": {"status": "Started", "dwell": 0},
}
NEEDS = {
    "cancel": ["Planned", "Scheduled"],
    "start": ["Planned", "Scheduled"],
    "finish": ["Started"],
    "approve": ["Scheduled"],
    "reschedule": ["Scheduled"],
}


@pytest.mark.parametrize("action", NEEDS)
@pytest.mark.parametrize("status", STATUSES)
def test_what_can_be_done_to_an_event(simulator, action, status):
    event = add(simulator, id="E", **STATUSES[status])
    told = simulator.told("POST", f"/events/{event}/{action}", {"notice": 5} if action == "reschedule" else None)
    if status in NEEDS[action]:
        assert told.status == 200
    else:
        words = " or ".join(NEEDS[action])
        assert (told.status, told.json) == (
            409,
            {"error": f"event E is {status}; {action} needs one that is {words}"},
        )
        assert simulator.event(event)["status"] == status


@pytest.mark.parametrize(
    ("action", "status", "change"),
    [
        ("cancel", "Cancelled", "cancelled"),
        ("start", "Started", "started"),
        ("approve", "Started", "started"),
        ("reschedule", "Scheduled", "rescheduled"),
    ],
)
def test_what_it_does(simulator, action, status, change):
    event = add(simulator)
    told = simulator.call("POST", f"/events/{event}/{action}", {"notice": 50} if action == "reschedule" else None)
    assert told["status"] == status
    assert simulator.changes()[-1]["change"] == change


def test_rescheduled_is_a_change_of_the_list(simulator):
    simulator.document("web-0")
    event = add(simulator)
    simulator.call("POST", f"/events/{event}/reschedule", {"notice": 50})
    assert state_of(simulator) == ("on", 3)


def test_what_is_done_by_hand_wakes_whoever_waits(simulator):
    before = simulator.world._changed.notified
    event = add(simulator)
    simulator.start(event)
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


def rounds(simulator):
    simulator.time.waits.clear()
    with pytest.raises(WaitsForEver):
        simulator.world.run_clock()
    return simulator.time.waits


def test_without_events_it_waits_until_it_is_woken(simulator):
    assert rounds(simulator) == [None]


def test_it_waits_from_change_to_change(simulator):
    event = add(simulator, notice=90, dwell=30)
    assert rounds(simulator) == [90, 30, None]
    assert simulator.heard == [(event, "created"), (event, "started"), (event, "finished")]


def test_it_looks_once_an_hour_at_least(simulator):
    add(simulator, notice=3601, dwell=3600)
    assert rounds(simulator) == [3600, 1, 3600, None]


def test_the_speed_counts(start):
    simulator = start(speed=60)
    add(simulator, notice=90, dwell=30)
    assert rounds(simulator) == [1.5, 0.5, None]


# The beginning.

PLAN = {
    "vms": [{"name": "a"}, {"name": "b"}],
    "events": [
        {"id": "now", "type": "Reboot", "resources": ["a"]},
        {"id": "later", "type": "Freeze", "resources": ["b"], "after": 50},
    ],
}


def test_a_reset_is_the_beginning(start):
    simulator = start(PLAN, impact=True)
    simulator.document("a")
    add(simulator, "b", type="Preempt", status="Started")
    simulator.time.go_on(500)
    simulator.advance(1000)
    simulator.fault(kind="drop")
    simulator.clear_faults()
    simulator.reset()
    assert [(event["id"], event["status"]) for event in simulator.events()] == [
        ("now", "Scheduled"),
        ("later", "Planned"),
    ]
    state = simulator.state()
    assert state["simulated_seconds"] == 0
    assert [(group["service"], group["incarnation"]) for group in state["groups"]] == [("off", 1)] * 2
    assert [vm["impact"] for vm in state["vms"]] == [None, None]
    assert [(change["seq"], change["event"]) for change in simulator.changes()] == [(1, "now")]
    assert (simulator.log(), simulator.call("GET", "/faults")) == ([], [])
    simulator.time.go_on(50)
    assert [event["status"] for event in simulator.events()] == ["Scheduled", "Scheduled"]


def test_a_mistake_in_an_event_of_the_fleet_file_is_told_with_its_number(start):
    with pytest.raises(Exception, match=r"^events\[1\]: unknown key"):
        start({"vms": [{"name": "a"}], "events": [{"type": "Reboot", "resources": ["a"]}, {"colour": 1}]})


def test_the_state_tells_all(start):
    simulator = start({"vms": [{"name": "a", "vm_id": "V", "address": "127.0.0.1"}]}, profile="azure", speed=2)
    simulator.time.go_on(3)
    state = simulator.state()
    assert {name: state[name] for name in ("time", "simulated_seconds", "profile")} == {
        "time": 1_800_000_003,
        "simulated_seconds": 6,
        "profile": "azure",
    }
    assert (state["settings"]["speed"], state["settings"]["first_call_seconds"]) == (2, 120)
    assert state["vms"] == [
        {
            "key": "a",
            "name": "a",
            "endpoint": None,
            "address": "127.0.0.1",
            "group": "vm:a",
            "vm_id": "V",
            "impact": None,
        }
    ]
    assert state["groups"] == [{"name": "vm:a", "kind": "standalone", "vms": ["a"], "incarnation": 1, "service": "off"}]
