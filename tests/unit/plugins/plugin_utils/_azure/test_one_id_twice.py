# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same event id twice in one document: nobody whom it names is forgotten."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    canonical_id,
    canonical_name,
    known_of_status,
    understand_document,
)
from hypothesis import given
from hypothesis import strategies as st

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


def understood(*events):
    return understand_document({"DocumentIncarnation": 1, "Events": list(events)})["events"]


def test_all_vms_of_both_count():
    (event,) = understood(raw("AB", ["web-0", "web-1"]), raw("ab", ["WEB-1", "web-2"]))
    assert (event["id"], event["resources"]) == ("AB", ["web-0", "web-1", "web-2"])


def test_started_wins_and_else_the_earlier_time():
    late, early = "Mon, 16 Nov 2026 00:15:00 GMT", "Mon, 16 Nov 2026 00:05:00 GMT"
    (event,) = understood(raw("A", ["a"], due=late), raw("A", ["a"], due=early))
    assert event["not_before"] == "2026-11-16T00:05:00Z"
    (event,) = understood(raw("A", ["a"], due=early), raw("A", ["b"], status="Started", due=""))
    assert (event["status"], event["not_before"], event["resources"]) == ("Started", None, ["a", "b"])
    (event,) = understood(raw("A", ["a"], due=""), raw("A", ["a"], due=early))
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
    events = understood(*document)
    assert len({canonical_id(event["id"]) for event in events}) == len(events)
    for one in document:
        (event,) = [event for event in events if canonical_id(event["id"]) == canonical_id(one["EventId"])]
        names = [canonical_name(name) for name in event["resources"]]
        assert {canonical_name(name) for name in one["Resources"]} <= set(names)
        assert one["EventStatus"] != "Started" or event["status"] == "Started"
    kept = known_of_status({"events": [*events, *events], "read_at": "2026-11-16T00:00:00Z"})["events"]
    assert [event["id"] for event in kept] == [event["id"] for event in events]
