# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of others are kept once for a run, and come back with every reading that has shown them."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import BadReading, build_status
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.documents import (
    OTHERS_IN,
    Documents,
    own_events,
)


def body_of(*names, status="Scheduled"):
    events = [
        {"EventId": f"E-{name}", "EventType": "Reboot", "EventStatus": status, "Resources": [name]} for name in names
    ]
    return json.dumps({"DocumentIncarnation": 7, "Events": events})


def reading(documents, body, vm_name):
    digest, document = documents.once(body)
    return {**build_status(own_events(document, vm_name), None, 0.0, vm_name), OTHERS_IN: digest}


def test_a_reading_holds_its_own_events_and_is_whole_again(tmp_path):
    status = reading(Documents(tmp_path), body_of("web-0", "web-1", "WEB-1"), "Web-1")
    assert [event["id"] for event in status["events"]] == ["E-web-1"]
    whole = Documents(tmp_path).whole(status, 0.0)
    assert {event["id"]: event["affects_this_host"] for event in whole["events"]} == {"E-web-0": False, "E-web-1": True}
    assert whole["document_incarnation"] == 7


def test_the_events_of_others_are_the_same_objects_for_all(tmp_path):
    body = body_of(*(f"web-{number}" for number in range(50)))
    statuses = [reading(Documents(tmp_path), body, f"web-{number}") for number in range(50)]
    assert len(list((tmp_path / "azure-documents").iterdir())) == 1
    documents = Documents(tmp_path)
    lists = [documents.whole(status, 0.0)["events"] for status in statuses]
    assert lists[0][49] is lists[1][49]
    assert [event["id"] for event in lists[3]] == [event["id"] for event in lists[4]]


def test_without_its_document_a_reading_is_none(tmp_path):
    """A bad reading is never taken for "no events": the others could be anything."""
    status = reading(Documents(tmp_path), body_of("web-0", "web-1"), "web-0")
    assert "events" not in Documents(tmp_path / "elsewhere").whole(status, 0.0)
    (tmp_path / "azure-documents" / status[OTHERS_IN]).write_text("{")
    assert "events" not in Documents(tmp_path).whole(status, 0.0)


def test_a_reading_that_holds_everything_stays_as_it_is(tmp_path):
    status = {"events": [], "read_at": "x"}
    assert Documents(tmp_path).whole(status, 0.0) == status


@pytest.mark.parametrize("body", ["", "no JSON", "[]", '{"Events": []}', '{"DocumentIncarnation": 1, "Events": [{}]}'])
def test_what_can_not_be_understood_is_not_kept(tmp_path, body):
    documents = Documents(tmp_path)
    for _twice in range(2):
        with pytest.raises(BadReading):
            documents.once(body)
    assert not (tmp_path / "azure-documents").exists()
