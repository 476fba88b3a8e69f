# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One event: what may be written about it, whom it concerns, and how each api-version shows it."""

from __future__ import annotations

import json
import re
import types

import pytest
from helpers.simulator_inside import part

Event = part("event").Event
InputError = part("input_checks").InputError
rules = part("event_rules")
SET = types.SimpleNamespace(name="web", group=types.SimpleNamespace(kind="availability_set"))
VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
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


def problem(**event):
    with pytest.raises(InputError) as error:
        rules.checked_event("it", event)
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
    "scale_in": {"type": "Terminate"},
}


@pytest.mark.parametrize(("scenario", "added"), SCENARIOS.items())
def test_what_a_scenario_adds(scenario, added):
    assert rules.checked_event("it", {"scenario": scenario}) == {"scenario": scenario, **added}


def test_what_is_written_beside_a_scenario_wins():
    event = rules.checked_event("it", {"scenario": "live_migration", "duration": 8, "source": "User"})
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
    assert rules.checked_event("it", event) == event


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
        ({"type": "A", "status": "Over"}, 'it: "status" must be one of "Scheduled", "Started", not "Over"'),
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
    assert (event.after, event.cancel_after, event.straight_to_started, event.status) == (0, None, False, "Planned")
    assert (event.approved_at, event.approved_by, event.started_at, event.started_by) == (None,) * 4
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", event.id)
    assert event.id != an_event().id
    assert [an_event(status=status).straight_to_started for status in ("Started", "Scheduled", None)] == [
        True, False, False,
    ]  # fmt: skip
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
