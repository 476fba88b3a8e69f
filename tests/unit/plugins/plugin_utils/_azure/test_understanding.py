# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fields of a document come to mean, and which documents are refused."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._document.events import is_as_judged
from ansible_collections.maintenance.azure.plugins.module_utils._document.shown import (
    NotUnderstood,
    statuses_in,
    visible,
)
from ansible_collections.maintenance.azure.plugins.module_utils._service.imds import document_digest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure import events as _events
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notice import BadNotice, understand
from helpers.properties import assert_generated
from hypothesis import given
from hypothesis import strategies as st

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
