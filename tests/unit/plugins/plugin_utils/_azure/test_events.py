# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of the service: how they are understood, kept and selected."""

from __future__ import annotations

import json
import pathlib
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import (
    NotUnderstood,
    is_as_judged,
    statuses_in,
    visible,
)
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import document_digest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure import events as _events
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    build_status,
    canonical_id,
    canonical_name,
    known_of_status,
    parse_document,
    understand_document,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notices import BadNotice, understand
from helpers.properties import assert_generated
from hypothesis import given
from hypothesis import strategies as st

# What the fields of a document come to mean, and which documents are refused.

NOW = 1763253305.0
NOTICE = json.dumps(
    {"maintenance": {"host": "web-0", "sent_at": "2026-11-16T00:00:00Z", "sequence": 1, "status": None}}
)


def raw_event(**changes):
    event = {
        "EventId": "A1",
        "EventType": "Reboot",
        "EventStatus": "Scheduled",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-0"],
        "NotBefore": "Mon, 19 Sep 2016 18:29:47 GMT",
        "Description": "words",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
    }
    event.update(changes)
    return {key: value for key, value in event.items() if value is not ...}


def understood(vm_name="web-0", **changes):
    document = json.dumps({"DocumentIncarnation": 1, "Events": [raw_event(**changes)]})
    status = _events.build_status(_events.parse_document(document), None, NOW, vm_name)
    return status["events"][0]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Mon, 19 Sep 2016 18:29:47 GMT", "2016-09-19T18:29:47Z"),
        ("Sat, 19 Sep 2016 18:29:47 GMT", "2016-09-19T18:29:47Z"),
        ("19 Sep 2016 18:29:47 GMT", "2016-09-19T18:29:47Z"),
        ("Monday, 19-Sep-16 18:29:47 GMT", "2016-09-19T18:29:47Z"),
        ("Mon, 19 Sep 2016 20:29:47 +0200", "2016-09-19T18:29:47Z"),
        ("2016-09-19T18:29:47Z", "2016-09-19T18:29:47Z"),
        ("2016-09-19T18:29:47.2675752Z", "2016-09-19T18:29:47Z"),
        ("2016-09-19T20:29:47+02:00", "2016-09-19T18:29:47Z"),
        ("2016-09-19T13:29:47-0500", "2016-09-19T18:29:47Z"),
        ("2016-09-19 18:29:47", "2016-09-19T18:29:47Z"),
        ("", None),
        (None, None),
        (..., None),
    ],
)
def test_every_form_of_not_before(text, meaning):
    event = understood(NotBefore=text)
    assert event["not_before"] == meaning
    assert "other_fields" not in event


@pytest.mark.parametrize("text", ["soon", "2016-13-19T18:29:47Z", "2016-02-31T00:00:00Z", "99999999999", 12])
def test_a_time_that_is_no_time_is_kept_aside_and_warned_about(text):
    event = understood(NotBefore=text)
    assert event["not_before"] is None
    assert event["seconds_left"] is None
    assert event["other_fields"]["NotBefore"] == text
    assert "A1" in _events.warnings_about({"events": [event]})[0]


@given(st.integers(min_value=0, max_value=4102444800))
def test_every_moment_survives_both_notations(moment):
    parts = time.gmtime(moment)
    expected = time.strftime("%Y-%m-%dT%H:%M:%SZ", parts)
    assert understood(NotBefore=time.strftime("Mon, %d %b %Y %H:%M:%S GMT", parts))["not_before"] == expected
    assert understood(NotBefore=expected)["not_before"] == expected
    assert understood(NotBefore=expected)["seconds_left"] == max(0, moment - int(NOW))


def test_a_started_event_has_no_deadline_even_if_azure_sends_one():
    assert understood(EventStatus="Started")["not_before"] is None


@pytest.mark.parametrize(
    ("sent", "meaning"),
    [
        (5, 5),
        ("5", 5),
        (0, 0),
        ("0", 0),
        (-1, None),
        ("-1", None),
        (None, None),
        (..., None),
        ("x", None),
        (float("inf"), None),
        (float("nan"), None),
    ],
)
def test_duration(sent, meaning):
    assert understood(DurationInSeconds=sent)["duration_seconds"] == meaning


@pytest.mark.parametrize(("sent", "meaning"), [(7, 7), ("7", 7), ("abc123", "abc123"), (-1, -1)])
def test_incarnation_as_number_or_text(sent, meaning):
    document = _events.parse_document(json.dumps({"DocumentIncarnation": sent, "Events": []}))
    assert document["document_incarnation"] == meaning


def test_unknown_types_states_and_fields_are_kept():
    event = understood(EventType="Reimage", EventStatus="Paused", Impact={"score": 3})
    assert (event["type"], event["status"]) == ("Reimage", "Paused")
    assert event["other_fields"] == {"Impact": {"score": 3}}


@given(st.text())
def test_a_text_of_azure_has_nothing_that_a_terminal_obeys_whatever_way_it_comes(word):
    odd = f"A{word}\x1b]0;x\x07\n\x9b\u202e"
    seen = f"A{visible(word)}\\x1b]0;x\\x07\\n\\x9b\\u202e"
    keys = ("EventId", "EventType", "Description", "EventSource", "ResourceType", "NotBefore")
    event = understood(**dict.fromkeys(keys, odd), Resources=[odd], New={odd: [odd]})
    assert (event["id"], event["description"], event["source"], event["resource_type"]) == (seen,) * 4
    assert (event["type"], event["resources"]) == (seen, [seen])
    assert event["other_fields"] == {"New": {seen: [seen]}, "NotBefore": seen}
    assert visible(seen) == seen
    document = json.dumps({"events": [{**event, "id": odd, "description": odd}], "read_at": "2026-11-16T00:00:00Z"})
    assert _events.parse_saved(document, NOW)["events"][0]["description"] == seen
    assert _events.parse_identity(json.dumps({"name": odd, "location": odd}))["location"] == seen


def test_known_words_get_their_usual_case():
    event = understood(EventType="reboot", EventStatus="SCHEDULED", EventSource="user")
    assert (event["type"], event["status"], event["source"]) == ("Reboot", "Scheduled", "User")


@pytest.mark.parametrize("vm_name", ["web-0", "WEB-0", "_web-0", "Web-0"])
def test_names_match_regardless_of_case_and_of_the_old_underscore(vm_name):
    assert understood(vm_name, Resources=["_Web-0"])["affects_this_host"] is True


@pytest.mark.parametrize("vm_name", ["web-00", "web-", "eb-0", "web-0.example.com", "__web-0"])
def test_names_match_whole(vm_name):
    assert understood(vm_name)["affects_this_host"] is False


def test_the_underscore_of_the_oldest_version_is_removed_once():
    assert understood(Resources=["_web_0", "web_1"])["resources"] == ["web_0", "web_1"]


def test_a_host_whose_name_is_not_known_is_not_guessed_at():
    assert understood(None)["affects_this_host"] is None


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("", "not JSON"),
        ('{"DocumentIncarnation": 1, "Ev', "not JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "no DocumentIncarnation and no Events"),
        ('{"Events": []}', "no DocumentIncarnation"),
        ('{"DocumentIncarnation": 1}', "no Events"),
        ('{"DocumentIncarnation": 1, "Events": null}', "not a list"),
        ('{"DocumentIncarnation": 1, "Events": {}}', "not a list"),
        ('{"DocumentIncarnation": true, "Events": []}', "not a number"),
        ('{"DocumentIncarnation": null, "Events": []}', "not a number"),
        ('{"DocumentIncarnation": 1, "Events": ["x"]}', "Event number 1 is not an object"),
    ],
)
def test_a_document_of_another_shape_is_refused(body, part):
    with pytest.raises(_events.BadReading, match=part):
        _events.parse_document(body)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"EventId": ...}, "Event number 1 has no EventId"),
        ({"EventId": ""}, "Event number 1 has no EventId"),
        ({"EventId": 7}, "Event number 1 has no EventId"),
        ({"EventType": ...}, "Event A1 has no EventType"),
        ({"EventStatus": ""}, "Event A1 has no EventStatus"),
        ({"Resources": ...}, "Resources of event A1"),
        ({"Resources": "web-0"}, "Resources of event A1"),
        ({"Resources": [1]}, "Resources of event A1"),
        ({"Resources": {"web-0": 1}}, "Resources of event A1"),
    ],
)
def test_an_event_that_cannot_be_understood_is_named(changes, part):
    with pytest.raises(_events.BadReading, match=part):
        understood(**changes)


def test_a_document_with_more_events_than_a_group_can_have_is_refused():
    with pytest.raises(_events.BadReading, match="has 1001 events, more than 1000"):
        _events.parse_document(json.dumps({"DocumentIncarnation": 1, "Events": [0] * 1001}))


@pytest.mark.parametrize(
    ("events", "part"),
    [
        ('[{"EventId": "E1", "Resources": []}], "Events": []', "the key 'Events' twice"),
        ('[], "DocumentIncarnation": 1', "the key 'DocumentIncarnation' twice"),
        ('[{"Resources": ["web-0"], "Resources": []}]', "the key 'Resources' twice"),
        ('[], "X": {"Y": [{"Z": 1, "Z": 1}]}', "the key 'Z' twice"),
        ('[], "X": ' + "[" * 30 + "]" * 30, "nested too deeply"),
        ("[" * 4500 + "]" * 4500, "nested too deeply"),
        ('[], "X": [' + "[]," * 20000 + "[]]", "more than 10000 parts"),
        ('[], "X": [' + "1," * 200000 + "1]", "100000 values"),
        ('[], "X": "' + "x" * 1100000 + '"', "larger than 1048576"),
        ('[], "X": ' + "1" * 5000, "more than 1000 digits"),
    ],
    ids=("Events", "incarnation", "event", "inner", "30 deep", "4500 deep", "parts", "values", "size", "digits"),
)
def test_what_can_be_read_in_two_ways_or_is_too_much_is_refused_by_all_who_read_it(events, part):
    body = '{"DocumentIncarnation": 1, "Events": ' + events + "}"
    with pytest.raises(_events.BadReading, match=part):
        _events.parse_document(body)
    with pytest.raises(_events.BadReading, match=r"the key|too|than"):
        _events.parse_identity('{"name": "web-0", "X": ' + body + "}")
    with pytest.raises(NotUnderstood):
        statuses_in(body)
    assert not is_as_judged(body, [], [])
    with pytest.raises(ValueError, match=part):
        document_digest(body)
    with pytest.raises(BadNotice):
        understand(NOTICE.replace("null", body).encode(), "web-0")
    if "larger" not in part:
        with pytest.raises(_events.BadReading, match=part):
            _events.parse_saved(body, NOW)


NOT_EVENTS = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just({}) | st.lists(st.just({}))
DOCUMENTS = st.fixed_dictionaries(
    {}, optional={"DocumentIncarnation": st.integers() | st.text(max_size=5), "Events": NOT_EVENTS | st.just([])}
)
TEXTS = st.text(max_size=200) | DOCUMENTS.map(json.dumps)


def parsed(text):
    try:
        return _events.parse_document(text)
    except _events.BadReading:
        return None


@given(TEXTS)
def test_no_text_ever_passes_for_an_empty_document(text):
    if parsed(text) is not None:
        assert json.loads(text)["Events"] == []
        assert parsed(text)["events"] == []


def test_empty_documents_are_among_the_examples():
    assert_generated(TEXTS, parsed)


def test_identity_has_text_or_null():
    identity = _events.parse_identity(
        json.dumps({"name": "web_3", "vmId": "5c08", "zone": "", "platformUpdateDomain": "0", "vmScaleSetName": "web"})
    )
    assert identity == {
        "vm_name": "web_3",
        "vm_id": "5c08",
        "resource_id": None,
        "resource_group": None,
        "subscription_id": None,
        "location": None,
        "zone": None,
        "update_domain": "0",
        "fault_domain": None,
        "scale_set": "web",
        "placement_group": None,
    }


@pytest.mark.parametrize("body", ['{"name": ""}', "{}"])
def test_an_identity_without_a_name_is_none(body):
    assert _events.parse_identity(body) is None


# The same event id twice in one document: nobody whom it names is forgotten.

JINJA_HEADER = "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'id') ]]"


def raw(event_id, resources, status="Scheduled", due="Mon, 16 Nov 2026 00:15:00 GMT"):
    return {
        "EventId": event_id,
        "EventType": "Reboot",
        "EventStatus": status,
        "Resources": list(resources),
        "NotBefore": due,
        "Description": JINJA_HEADER,
    }


def understood_twice(*events):
    return understand_document({"DocumentIncarnation": 1, "Events": list(events)})["events"]


def test_all_vms_of_both_count():
    (event,) = understood_twice(raw("AB", ["web-0", "web-1"]), raw("ab", ["WEB-1", "web-2"]))
    assert (event["id"], event["resources"]) == ("AB", ["web-0", "web-1", "web-2"])


def test_started_wins_and_else_the_earlier_time():
    late, early = "Mon, 16 Nov 2026 00:15:00 GMT", "Mon, 16 Nov 2026 00:05:00 GMT"
    (event,) = understood_twice(raw("A", ["a"], due=late), raw("A", ["a"], due=early))
    assert event["not_before"] == "2026-11-16T00:05:00Z"
    (event,) = understood_twice(raw("A", ["a"], due=early), raw("A", ["b"], status="Started", due=""))
    assert (event["status"], event["not_before"], event["resources"]) == ("Started", None, ["a", "b"])
    (event,) = understood_twice(raw("A", ["a"], due=""), raw("A", ["a"], due=early))
    assert event["not_before"] is None


documents = st.lists(
    st.builds(
        raw,
        st.sampled_from(["A", "a", "B"]),
        st.lists(st.sampled_from(["x", "X", "_x", "y", "z"])),
        st.sampled_from(["Scheduled", "Started"]),
    )
)


@given(documents)
def test_each_id_once_and_no_name_lost(document):
    events = understood_twice(*document)
    assert len({canonical_id(event["id"]) for event in events}) == len(events)
    for one in document:
        (event,) = [event for event in events if canonical_id(event["id"]) == canonical_id(one["EventId"])]
        names = [canonical_name(name) for name in event["resources"]]
        assert {canonical_name(name) for name in one["Resources"]} <= set(names)
        assert one["EventStatus"] != "Started" or event["status"] == "Started"
    kept = known_of_status({"events": [*events, *events], "read_at": "2026-11-16T00:00:00Z"})["events"]
    assert [event["id"] for event in kept] == [event["id"] for event in events]


# Every document that somebody recorded or published is understood, each to the letter.

RECORDED = json.loads(pathlib.Path(__file__).with_name("recorded_documents.json").read_text())
READ_AT = 1650000000.0  # 2022-04-15T05:20:00Z


def understood_recording(name, vm_name="nobody"):
    return [build_status(parse_document(json.dumps(doc)), None, READ_AT, vm_name) for doc in RECORDED[name]]


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_every_event_is_kept_with_its_id_and_resources(name):
    for raw, status in zip(RECORDED[name], understood_recording(name), strict=True):
        assert [event["id"] for event in status["events"]] == [event["EventId"] for event in raw["Events"]]
        assert [event["resources"] for event in status["events"]] == [event["Resources"] for event in raw["Events"]]
        assert [event["type"] for event in status["events"]] == [event["EventType"] for event in raw["Events"]]


def test_live_migration_from_scheduled_to_gone():
    empty, scheduled, started, gone = understood_recording("live_migration", "westno_1")
    assert (empty["events"], gone["events"]) == ([], [])
    assert (empty["pending"], scheduled["pending"], started["pending"]) == (False, True, False)
    assert [status["document_incarnation"] for status in (empty, scheduled, started, gone)] == [1, 2, 3, 4]
    assert scheduled["events"][0] == {
        "id": "C7061BAC-AFDC-4513-B24B-AA5F13A16123",
        "type": "Freeze",
        "status": "Scheduled",
        "source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": ["WestNO_0", "WestNO_1"],
        "not_before": "2022-04-11T22:26:58Z",
        "seconds_left": 0,
        "duration_seconds": 5,
        "description": "Virtual machine is being paused because of a memory-preserving Live Migration operation.",
        "affects_this_host": True,
    }
    assert started["events"][0]["not_before"] is None
    assert started["events"][0]["seconds_left"] is None


def test_wrong_weekdays_empty_resources_and_a_missing_not_before():
    (status,) = understood_recording("several_odd")
    assert [event["not_before"] for event in status["events"]] == [
        "2019-09-19T18:29:47Z",
        "2019-09-19T18:29:47Z",
        "2018-07-01T19:31:29Z",
        None,
    ]
    assert [len(event["resources"]) for event in status["events"]] == [0, 2, 2, 2]


# What was read before and is taken up again: checked, as anything may be in there.

SAVED_AT = 1_800_000_000
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
        "read_at": SAVED_AT,
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
    assert _events.parse_saved(saved, SAVED_AT + silence)["read_at"] == SAVED_AT


@pytest.mark.parametrize("silence", [60.5, 61, 4 * SAVED_AT])
def test_after_that_it_says_nothing_any_more(silence):
    saved = json.dumps({**STATUS, "watcher": {}})
    assert problem(_events.parse_saved, saved, SAVED_AT + silence) == (
        f"It is the status of a watcher that had its last good reading {silence:.0f} s ago, and after 60 s it says"
        " nothing any more"
    )


def test_what_nobody_watches_is_taken_at_any_age():
    assert _events.parse_saved(json.dumps(STATUS), SAVED_AT + 86400)["read_at"] == SAVED_AT


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


@pytest.mark.parametrize("name", ["Reimage", "", None, ["Preempt"]])
def test_a_type_that_nobody_knows_is_handled_like_a_reboot(name):
    assert _events.event_type(name)[2:] == _events.event_type("Reboot")[2:]
    assert not _events.takes_away({"type": name})


# The filters of scheduled_event_info.

SELECTED_AT = 1763253305.0

events = st.builds(
    lambda number, kind, status, source, names, due: {
        "EventId": f"id-{number}",
        "EventType": kind,
        "EventStatus": status,
        "EventSource": source,
        "Resources": names,
        "NotBefore": "" if due is None else _events.iso_time(SELECTED_AT + due),
    },
    st.integers(0, 10**6),
    st.sampled_from([*_events.EVENT_TYPES, "Reimage"]),
    st.sampled_from(["Scheduled", "Started"]),
    st.sampled_from(["Platform", "User", ""]),
    st.lists(st.sampled_from(["web-0", "web-1", "web-2"]), max_size=3),
    st.one_of(st.none(), st.integers(-100, 1000)),
)
statuses = st.lists(events, max_size=6).map(
    lambda raw: _events.build_status(
        _events.parse_document(json.dumps({"DocumentIncarnation": 1, "Events": raw})), None, SELECTED_AT, "web-1"
    )
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "affecting": st.sampled_from(["any", "this_host"]),
        "types": st.lists(st.sampled_from(list(_events.EVENT_TYPES))),
        "statuses": st.lists(st.sampled_from(["Scheduled", "Started"])),
        "sources": st.lists(st.sampled_from(["Platform", "User"])),
        "within": st.integers(0, 1000),
    },
)


@given(statuses, filters)
def test_filters_only_take_away_and_keep_the_order(status, wanted):
    kept = _events.select(status, **wanted)["events"]
    remaining = iter(status["events"])
    assert all(any(event is candidate for candidate in remaining) for event in kept)


@given(statuses)
def test_only_what_names_this_host_where_that_is_asked_for(status):
    kept = _events.select(status, affecting="this_host")["events"]
    assert kept == [event for event in status["events"] if "web-1" in event["resources"]]
    assert _events.select(status, affecting="any")["events"] == status["events"]


def one(**changes):
    told = {"id": "E", "type": "Reboot", "status": "Scheduled", "source": "Platform", "seconds_left": 60}
    return {**told, "affects_this_host": True, **changes}


@pytest.mark.parametrize(
    ("wanted", "other"),
    [
        ({"affecting": "this_host"}, {"affects_this_host": False}),
        ({"types": ["Reboot", "Freeze"]}, {"type": "Redeploy"}),
        ({"statuses": ["Scheduled"]}, {"status": "Started"}),
        ({"sources": ["Platform"]}, {"source": "User"}),
        ({"within": 60}, {"seconds_left": 61}),
    ],
)
def test_each_filter_takes_away_what_does_not_pass(wanted, other):
    status = {"events": [one(), one(**other)], "read_at": "t"}
    everything = {"types": ["Reboot"], "statuses": ["Scheduled"], "sources": ["Platform"], "within": 1000}
    for more in ({}, {key: value for key, value in everything.items() if key not in (*wanted, *other)}):
        kept = _events.select(status, **{**more, **wanted})
        assert (kept["events"], kept["read_at"]) == ([one()], "t")
    assert _events.select(status)["events"] == status["events"]


@pytest.mark.parametrize(
    ("told", "pending"), [("Scheduled", True), ("Started", False), ("Cancelled", False), ("X", False)]
)
def test_pending_is_what_is_scheduled_and_nothing_else(told, pending):
    assert _events.select({"events": [{"status": told}]})["pending"] is pending


@given(statuses, st.integers(0, 1000))
def test_what_has_started_or_has_no_known_time_counts_as_due(status, within):
    kept = _events.select(status, within=within)["events"]
    for event in status["events"]:
        due = event["seconds_left"]
        assert (event in kept) == (event["status"] == "Started" or due is None or due <= within)


@pytest.mark.parametrize(
    ("api_version", "types", "sources", "part"),
    [
        ("2017-08-01", ["Preempt"], None, "never shows Preempt"),
        ("2017-11-01", ["Reboot", "Terminate"], None, "never shows Terminate"),
        ("2019-04-01", None, ["User"], "does not tell an event's source"),
        ("2017-03-01", ["Freeze"], None, None),
        ("2019-08-01", ["Terminate"], ["User"], None),
        ("2020-07-01", ["Terminate"], ["User"], None),
    ],
)
def test_a_filter_that_cannot_match_is_said(api_version, types, sources, part):
    complaint = _events.complaint_about_filters(api_version, types, sources)
    assert (complaint is None) if part is None else (part in complaint)


@pytest.mark.parametrize(
    ("api_version", "part"),
    [
        ("2017-03-01", "never shows Preempt and Terminate events"),
        (
            "2017-08-01",
            "answers api-version 2017-08-01 and no newer one, which never shows Preempt and Terminate events",
        ),
        ("2017-11-01", "never shows Terminate events"),
        ("2019-01-01", None),
        ("2020-07-01", None),
    ],
)
def test_the_types_that_a_version_hides_are_named(api_version, part):
    warning = _events.warning_about_version(api_version)
    assert warning is None if part is None else part in warning
