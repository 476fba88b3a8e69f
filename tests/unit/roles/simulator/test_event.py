# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One event: what it is unless told otherwise, and how each api-version shows it."""

from __future__ import annotations

import re
import types

import pytest
from helpers.simulator_inside import part

Event = part("event").Event
SET = types.SimpleNamespace(name="web", group=types.SimpleNamespace(kind="availability_set"))
ALONE = types.SimpleNamespace(name="vm:web-0", group=None)
SERVICE = types.SimpleNamespace(name="roles", group=types.SimpleNamespace(kind="cloud_service"))
VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
# 2027-01-15 08:00:00 UTC is when the driven time begins.
MAINTENANCE = "Host server is undergoing maintenance."


@pytest.fixture
def clock(driven):
    return part("clock").Clock(1)


def an_event(scope=SET, resources=("web-0",), **spec):
    return Event({"type": "Reboot", **spec}, scope, list(resources))


def scheduled(**spec):
    event = an_event(**spec)
    event.status, event.created_at, event.not_before = "Scheduled", 0.0, 90.0
    return event


@pytest.mark.parametrize(
    ("kind", "notice"),
    [
        ("Freeze", 900),
        ("Reboot", 900),
        ("Redeploy", 600),
        ("Preempt", 30),
        ("Terminate", 300),
        ("Zap", 900),
        ("A", 900),
    ],
)
def test_the_notice_of_each_type(kind, notice):
    assert an_event(type=kind).notice == notice
    assert an_event(type=kind, notice=0).notice == 0


@pytest.mark.parametrize(
    ("kind", "duration"), [("Freeze", 5), ("Evict", -1), ("Reboot", -1), ("Preempt", -1), ("A", -1)]
)
def test_the_duration_of_each_type(kind, duration):
    assert an_event(type=kind).duration == duration
    assert an_event(type=kind, duration=0).duration == 0


@pytest.mark.parametrize(
    ("kind", "source", "description"),
    [
        ("Freeze", "Platform", MAINTENANCE),
        ("Reboot", "Platform", MAINTENANCE),
        ("Redeploy", "Platform", "Virtual machine has encountered a failure."),
        ("Reboot", "User", "Virtual machine is going to be restarted as requested by authorized user."),
        ("Redeploy", "User", "Virtual machine is going to be redeployed as requested by authorized user."),
        ("Preempt", "Platform", ""),
        ("Freeze", "User", ""),
    ],
)
def test_the_description_of_each_type_and_source(kind, source, description):
    assert an_event(type=kind, source=source).description == description
    assert an_event(type=kind, source=source, description="x").description == "x"


def test_what_an_event_is_unless_told_otherwise():
    event = an_event()
    assert (event.source, event.dwell, event.late, event.approval_delay) == ("Platform", 600, 0, 0)
    assert (event.after, event.cancel_after, event.straight_to_started, event.status) == (0, None, False, "Planned")
    assert (event.approved_at, event.approved_by, event.started_at, event.started_by) == (None,) * 4
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", event.id)
    assert event.id != an_event().id


def test_what_is_told():
    event = an_event(id="a", dwell=1, late=2, approval_delay=3, after=4, cancel_after=5, impact_seconds=1)
    assert (event.id, event.dwell, event.late, event.approval_delay) == ("a", 1, 2, 3)
    assert (event.after, event.cancel_after, event.impact) == (4, 5, ("down", 1))


@pytest.mark.parametrize(("status", "direct"), [("Started", True), ("Scheduled", False), (None, False)])
def test_it_may_go_straight_to_started(status, direct):
    assert an_event(status=status).straight_to_started is direct


@pytest.mark.parametrize(
    ("status", "is_listed"),
    [("Planned", False), ("Scheduled", True), ("Started", True), ("Finished", False), ("Cancelled", False)],
)
def test_when_it_is_in_the_list(status, is_listed):
    event = an_event()
    event.status = status
    assert event.is_listed() is is_listed
    assert event.is_shown_to("2020-07-01") is is_listed


@pytest.mark.parametrize(
    ("kind", "since"), [("Freeze", 0), ("Reboot", 0), ("Preempt", 2), ("Terminate", 3), ("Zap", 0), ("A", 0)]
)
def test_the_first_version_that_shows_a_type(kind, since):
    event = scheduled(type=kind)
    assert [version for version in VERSIONS if event.is_shown_to(version)] == VERSIONS[since:]


def test_it_starts_without_approval_at_not_before_or_later():
    event = scheduled(late=7)
    assert event.start_without_approval() == 97


@pytest.mark.parametrize(("approved_at", "cleared_at"), [(None, 90), (0, 0), (10, 10), (95, 90)])
def test_when_it_stops_to_hold_others_back(approved_at, cleared_at):
    event = scheduled(type="Terminate")
    event.approved_at = approved_at
    assert event.cleared_at() == cleared_at


def test_whom_it_strikes_and_how_long():
    event = scheduled(impact_seconds=20)
    web, other = types.SimpleNamespace(name="web-0"), types.SimpleNamespace(name="web-1")
    assert not event.strikes(web, 0)
    event.status, event.started_at = "Started", 100.0
    assert event.impact_ends() == 120
    assert [event.strikes(web, now) for now in (100, 119, 120, 121)] == [True, True, False, False]
    assert not event.strikes(other, 100)
    event.status = "Finished"
    assert not event.strikes(web, 100)


def test_what_is_gone_for_good_is_not_struck_for_a_time():
    event = scheduled(type="Preempt")
    event.status, event.started_at = "Started", 100.0
    assert not event.strikes(types.SimpleNamespace(name="web-0"), 100)


def test_the_document_of_the_newest_version(clock):
    document = scheduled(id="A", duration=7).document("2020-07-01", clock)
    assert list(document.items()) == [
        ("EventId", "A"),
        ("EventStatus", "Scheduled"),
        ("EventType", "Reboot"),
        ("ResourceType", "VirtualMachine"),
        ("Resources", ["web-0"]),
        ("NotBefore", "Fri, 15 Jan 2027 08:01:30 GMT"),
        ("Description", MAINTENANCE),
        ("EventSource", "Platform"),
        ("DurationInSeconds", 7),
    ]


@pytest.mark.parametrize(("version", "fields"), list(zip(VERSIONS, [6, 6, 6, 6, 7, 8, 9], strict=True)))
def test_so_many_fields_of_each_version(clock, version, fields):
    assert len(scheduled().document(version, clock)) == fields


@pytest.mark.parametrize(("scope", "name"), [(SET, "_web-0"), (ALONE, "_web-0"), (SERVICE, "web-0")])
def test_names_in_the_preview(clock, scope, name):
    event = scheduled(scope=scope)
    assert event.document("2017-03-01", clock)["Resources"] == [name]
    assert [event.document(version, clock)["Resources"] for version in VERSIONS[1:]] == [["web-0"]] * 6


@pytest.mark.parametrize("kind", ["scale_set", "standalone", "availability_set"])
def test_names_in_the_preview_of_other_groups(clock, kind):
    scope = types.SimpleNamespace(name="x", group=types.SimpleNamespace(kind=kind))
    assert scheduled(scope=scope).document("2017-03-01", clock)["Resources"] == ["_web-0"]


@pytest.mark.parametrize(
    ("form", "in_preview", "later"),
    [
        (None, "2027-01-15T08:01:30Z", "Fri, 15 Jan 2027 08:01:30 GMT"),
        ("iso", "2027-01-15T08:01:30Z", "2027-01-15T08:01:30Z"),
        ("rfc1123", "Fri, 15 Jan 2027 08:01:30 GMT", "Fri, 15 Jan 2027 08:01:30 GMT"),
        ("wrong_weekday", "Sat, 15 Jan 2027 08:01:30 GMT", "Sat, 15 Jan 2027 08:01:30 GMT"),
        ("empty", "", ""),
        ("missing", None, None),
    ],
)
def test_the_forms_of_not_before(clock, form, in_preview, later):
    event = scheduled(**({} if form is None else {"not_before_format": form}))
    texts = [event.document(version, clock).get("NotBefore") for version in VERSIONS]
    assert texts == [in_preview] + [later] * 6
    assert ("NotBefore" in event.document("2020-07-01", clock)) is (form != "missing")


@pytest.mark.parametrize("begins", [0.0, 0.25, 0.999])
def test_not_before_is_rounded_down(clock, driven, begins):
    driven.go_on(begins)
    event = scheduled()
    event.not_before = 90.0 + begins
    assert event.document("2020-07-01", clock)["NotBefore"] == "Fri, 15 Jan 2027 08:01:30 GMT"


@pytest.mark.parametrize(("since_eight", "shown"), [(-28800, "00:00:00"), (0, "08:00:00"), (57599, "23:59:59")])
def test_a_wrong_weekday_is_that_of_the_next_day_at_any_hour(clock, since_eight, shown):
    event = scheduled(not_before_format="wrong_weekday")
    event.not_before = float(since_eight)
    assert event.document("2020-07-01", clock)["NotBefore"] == f"Sat, 15 Jan 2027 {shown} GMT"


@pytest.mark.parametrize(("form", "shown"), [(None, ""), ("iso", ""), ("wrong_weekday", ""), ("missing", None)])
def test_not_before_of_what_has_started(clock, form, shown):
    event = scheduled(**({} if form is None else {"not_before_format": form}))
    event.status = "Started"
    assert event.document("2020-07-01", clock).get("NotBefore") == shown


def test_fields_may_be_added_changed_and_left_out(clock):
    event = scheduled(extra={"EventId": "other", "New": None}, omit=["Resources", "NotBefore", "Nothing"])
    document = event.document("2017-08-01", clock)
    assert document == {
        "EventId": "other",
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "New": None,
    }


def test_how_the_control_interface_shows_it(clock, driven):
    event = scheduled(id="A", approval_delay=3)
    assert event.inside_view(clock) == {
        "id": "A",
        "type": "Reboot",
        "status": "Scheduled",
        "source": "Platform",
        "description": MAINTENANCE,
        "duration": -1,
        "resources": ["web-0"],
        "group": "web",
        "notice": 900,
        "dwell": 600,
        "impact_seconds": 60,
        "approval_delay": 3,
        "not_before": driven.time() + 90,
        "approved": False,
        "approved_by": None,
        "started_by": None,
        "times": {},
    }
    event.approved_at = 0.0
    assert event.inside_view(clock)["approved"] is True


def test_what_is_planned_has_no_not_before_yet(clock):
    assert an_event().inside_view(clock)["not_before"] is None
