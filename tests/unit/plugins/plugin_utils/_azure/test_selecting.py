# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of scheduled_event_info."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure import events as _events
from hypothesis import given
from hypothesis import strategies as st

NOW = 1763253305.0

events = st.builds(
    lambda number, kind, status, source, names, due: {
        "EventId": f"id-{number}",
        "EventType": kind,
        "EventStatus": status,
        "EventSource": source,
        "Resources": names,
        "NotBefore": "" if due is None else _events.iso_time(NOW + due),
    },
    st.integers(0, 10**6),
    st.sampled_from([*_events.TYPE_SINCE, "Reimage"]),
    st.sampled_from(["Scheduled", "Started"]),
    st.sampled_from(["Platform", "User", ""]),
    st.lists(st.sampled_from(["web-0", "web-1", "web-2"]), max_size=3),
    st.one_of(st.none(), st.integers(-100, 1000)),
)
statuses = st.lists(events, max_size=6).map(
    lambda raw: _events.build_status(
        _events.parse_document(json.dumps({"DocumentIncarnation": 1, "Events": raw})), None, NOW, "web-1"
    )
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "affecting": st.sampled_from(["any", "this_host"]),
        "types": st.lists(st.sampled_from(list(_events.TYPE_SINCE))),
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


@given(statuses, filters, filters)
def test_filters_combine_as_and(status, one, other):
    merged = {**one, **other}
    if set(one) & set(other):
        return
    both = _events.select(status, **merged)
    assert both["events"] == _events.select(_events.select(status, **one), **other)["events"]


@given(statuses, filters)
def test_pending_speaks_of_the_events_that_came_back(status, wanted):
    kept = _events.select(status, **wanted)
    assert kept["pending"] == any(event["status"] == "Scheduled" for event in kept["events"])


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


@pytest.mark.parametrize(("left", "is_kept"), [(None, True), (-5, True), (59, True), (60, True), (61, False)])
def test_what_is_due_in_time_or_has_no_time_passes(left, is_kept):
    kept = _events.select({"events": [one(seconds_left=left)]}, within=60)["events"]
    assert bool(kept) is is_kept


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
