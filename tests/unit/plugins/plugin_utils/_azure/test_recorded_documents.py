# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every document that somebody recorded or published is understood, each to the letter."""

from __future__ import annotations

import json
import pathlib

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import build_status, parse_document

RECORDED = json.loads(pathlib.Path(__file__).with_name("recorded_documents.json").read_text())
READ_AT = 1650000000.0  # 2022-04-15T05:20:00Z


def understood(name, vm_name="nobody"):
    return [build_status(parse_document(json.dumps(doc)), None, READ_AT, vm_name) for doc in RECORDED[name]]


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_every_event_is_kept_with_its_id_and_resources(name):
    for raw, status in zip(RECORDED[name], understood(name), strict=True):
        assert [event["id"] for event in status["events"]] == [event["EventId"] for event in raw["Events"]]
        assert [event["resources"] for event in status["events"]] == [event["Resources"] for event in raw["Events"]]
        assert [event["type"] for event in status["events"]] == [event["EventType"] for event in raw["Events"]]


def test_live_migration_from_scheduled_to_gone():
    empty, scheduled, started, gone = understood("live_migration", "westno_1")
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


def test_durations_of_started_freezes():
    assert [status["events"][0]["duration_seconds"] for status in understood("freeze_started_durations")] == [30, 6, 6]


def test_fields_that_an_old_version_leaves_out_are_null():
    (status,) = understood("freeze_old_schema")
    event = status["events"][0]
    assert (event["source"], event["duration_seconds"], event["description"]) == (None, None, "")
    assert event["not_before"] == "2019-09-26T15:15:21Z"


def test_unknown_duration_is_null():
    for name in ("user_redeploy", "preempt"):
        for status in understood(name):
            assert status["events"][0]["duration_seconds"] is None


def test_odd_types_of_a_fixture_are_taken_as_they_are():
    (status,) = understood("terminate_odd_types")
    assert status["document_incarnation"] == "abc123"
    assert status["events"][0]["not_before"] == "2017-07-02T00:00:00Z"


def test_wrong_weekdays_empty_resources_and_a_missing_not_before():
    (status,) = understood("several_odd")
    assert [event["not_before"] for event in status["events"]] == [
        "2019-09-19T18:29:47Z",
        "2019-09-19T18:29:47Z",
        "2018-07-01T19:31:29Z",
        None,
    ]
    assert [len(event["resources"]) for event in status["events"]] == [0, 2, 2, 2]
