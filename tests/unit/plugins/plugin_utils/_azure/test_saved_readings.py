# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was read before and is taken up again: checked, as anything may be in there."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure import events as _events

READ_AT = 1_800_000_000
EVENT = {"id": "A", "type": "Reboot", "status": "Scheduled", "resources": ["web-0"]}
STATUS = {"events": [EVENT], "read_at": "2027-01-15T08:00:00Z", "document_incarnation": 3}


def problem(call, *arguments):
    with pytest.raises(_events.BadReading) as error:
        call(*arguments)
    return str(error.value)


def of_events(*events):
    return problem(_events.known_of_status, {**STATUS, "events": list(events)})


def test_a_status_is_known_as_it_was():
    assert _events.parse_saved(json.dumps(STATUS), 0) == {
        "this_host": None,
        "document_incarnation": 3,
        "events": [
            {
                "id": "A",
                "type": "Reboot",
                "status": "Scheduled",
                "source": None,
                "resource_type": None,
                "resources": ["web-0"],
                "not_before": None,
                "duration_seconds": None,
                "description": "",
            }
        ],
        "read_at": READ_AT,
    }


def test_other_fields_are_kept_where_they_are_an_object():
    events = [{**EVENT, "other_fields": {"x": 1}}, {**EVENT, "id": "B", "other_fields": [1]}]
    first, second = _events.known_of_status({**STATUS, "events": events})["events"]
    assert (first["other_fields"], "other_fields" in second) == ({"x": 1}, False)


@pytest.mark.parametrize(
    ("text", "known"), [("2027-01-15T08:00:00+00:00", "2027-01-15T08:00:00Z"), ("some day", None), (7, None)]
)
def test_a_time_is_written_as_we_write_it(text, known):
    (event,) = _events.known_of_status({**STATUS, "events": [{**EVENT, "not_before": text}]})["events"]
    assert event["not_before"] == known


@pytest.mark.parametrize("silence", [0, 59, 60])
def test_a_watcher_may_be_silent_for_a_minute(silence):
    saved = json.dumps({**STATUS, "watcher": {}})
    assert _events.parse_saved(saved, READ_AT + silence)["read_at"] == READ_AT


@pytest.mark.parametrize("silence", [60.5, 61, 4 * READ_AT])
def test_after_that_it_says_nothing_any_more(silence):
    saved = json.dumps({**STATUS, "watcher": {}})
    assert problem(_events.parse_saved, saved, READ_AT + silence) == (
        f"It is the status of a watcher that had its last good reading {silence:.0f} s ago, and after 60 s it says"
        " nothing any more"
    )


def test_what_nobody_watches_is_taken_at_any_age():
    assert _events.parse_saved(json.dumps(STATUS), READ_AT + 86400)["read_at"] == READ_AT


@pytest.mark.parametrize("body", [{"Events": [], "DocumentIncarnation": 1}, {"Events": []}])
def test_a_document_does_not_say_when_it_was_read(body):
    known = _events.parse_saved(json.dumps({"DocumentIncarnation": 1, **body}), 0)
    assert (known["read_at"], known["events"], known["this_host"]) == (None, [], None)


LONG = "x" * 500


@pytest.mark.parametrize(
    ("data", "sentence", "shown"),
    [
        ({"events": 7, "x": LONG}, "The maintenance_status has no list of events: ", 120),
        ([LONG], "The maintenance_status has no list of events: ", 120),
        ({**STATUS, "this_host": {"x": LONG}}, "this_host in the maintenance_status has no vm_name: ", 120),
        ({**STATUS, "this_host": LONG}, "this_host in the maintenance_status has no vm_name: ", 120),
    ],
)
def test_a_status_that_is_none_is_told_and_not_endlessly(data, sentence, shown):
    told = problem(_events.known_of_status, data)
    assert told.startswith(sentence)
    assert len(told) == len(sentence) + shown


def test_a_reading_of_another_shape():
    sentence = (
        "The saved reading is neither an event document (DocumentIncarnation, Events) nor a maintenance_status"
        " (events, read_at): {'x': '"
    )
    assert problem(_events.parse_saved, json.dumps({"x": LONG}), 0) == sentence + "x" * 113


def test_a_time_of_reading_that_is_none():
    told = problem(_events.known_of_status, {**STATUS, "read_at": LONG})
    assert told == f"The maintenance_status has no read_at that is a time: {'x' * 60!r}"


@pytest.mark.parametrize("position", [1, 2, 3])
def test_an_event_that_is_none_is_told_by_its_number(position):
    events = [EVENT] * (position - 1)
    sentence = f"Event number {position} of the maintenance_status is not an object: "
    assert of_events(*events, [LONG]) == sentence + "['" + "x" * 118
    for key in ("id", "type", "status"):
        for value in (None, "", " ", 7):
            told = of_events(*events, {**EVENT, key: value, "x": LONG})
            sentence = f"Event number {position} of the maintenance_status has no {key}: "
            assert told.startswith(sentence)
            assert len(told) == len(sentence) + 200


@pytest.mark.parametrize("resources", ["web-0" + LONG, ["web-0", 7, LONG], {"web-0": LONG}])
def test_resources_that_are_no_names(resources):
    told = of_events({**EVENT, "resources": resources})
    sentence = "resources of event A is not a list of VM names: "
    assert told == sentence + str(resources)[:120]


@pytest.mark.parametrize(
    ("resource_id", "found"),
    [
        ("/subscriptions/S/resourceGroups/R/providers/Microsoft.Compute/virtualMachines/web-0", ("S", "R")),
        ("/SUBSCRIPTIONS/S/resourcegroups/R/", ("S", "R")),
        ("subscriptions/S/resourceGroups/R/providers", ("S", "R")),
        ("/resourceGroups/R/subscriptions/S", ("S", "R")),
        ("/subscriptions/S", ("S", None)),
        ("/x/subscriptions/S/resourceGroups", (None, None)),
        ("/subscriptions", (None, None)),
        ("", (None, None)),
    ],
)
def test_what_a_resource_id_names(resource_id, found):
    assert _events.parse_resource_id(resource_id) == found
