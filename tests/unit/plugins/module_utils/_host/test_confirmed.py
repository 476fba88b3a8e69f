# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An approval that has come to something is told once, by the host that has sent it, along with its return."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain import confirmed as _confirmed
from ansible_collections.maintenance.azure.plugins.module_utils._drain import host_clock, step_order
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import (
    JournalFile,
    begun,
    marked,
    recorded,
    utc_now,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.effects import effects_seen

STARTED = {"shown": "Started", "at": "2026-11-16T00:20:40Z", "incarnation": 8}
MARKS = [{"event": "E0", "hosts": ["web", "db"], "at": 5.0}, {"event": "E1", "hosts": ["web"], "at": 7.0}]


class Web:
    """A host that a run has drained, and from which it has sent the approval of E0 but not that of E1."""

    def __init__(self, folder):
        self.journal, self.record = JournalFile(str(folder / "journal.json")), folder / "audit.jsonl"
        step = {"number": 1, "kind": "command", "arguments": {"restore": ["true"]}, "status": "done"}
        self.journal.change(lambda data: begun(data, [{"id": "E0"}], "r1", host_clock.boot_id(), utc_now()))
        self.journal.change(lambda data: recorded(data, [step], utc_now()))
        self.journal.change(lambda data: marked(marked(data, MARKS[:1], about_to_send=True), MARKS[1:]))

    def give_back(self, effects, check_mode=False, fails=False):
        command = "false" if fails else "true"
        step = {"number": 1, "kind": "command", "arguments": {"restore": [command]}, "before": {}}
        order = {
            "perform": "steps",
            "direction": "restore",
            "timeout": 30,
            "journal": self.journal.path,
            "run_id": "r1",
            "orders": [{"perform": "step", "step": step, "finished": [], "final": "closed"}],
            "audit": {"file": str(self.record), "run_id": "r1", "host": "web"},
            "open": {"expected": (self.journal.read() or {}).get("steps"), "fence": None, "effects": effects},
        }
        return step_order.carried_out(order, check_mode)

    def told(self):
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [line for line in map(json.loads, lines) if line["what"] == "approval confirmed"]


@pytest.fixture
def web(tmp_path, proc):
    return Web(tmp_path)


def test_it_is_told_before_the_host_is_in_service(web):
    web.give_back({"e0 ": STARTED, "E1": STARTED, "E9": STARTED})
    (line,) = web.told()
    assert (line["event"], line["shown"], line["seen_at"]) == ("E0", "Started", "2026-11-16T00:20:40Z")
    assert (line["incarnation"], line["sent_at"], line["by"]) == (8, "1970-01-01T00:00:05Z", "run r1")
    assert [json.loads(one)["what"] for one in web.record.read_text().splitlines()] == [
        "approval confirmed",
        "returned to service",
    ]


def test_it_is_told_once_also_where_the_return_is_tried_again(web):
    assert web.give_back({"E0": STARTED}, fails=True)["results"][-1]["failed"]
    assert len(web.told()) == 1
    web.give_back({"E0": {**STARTED, "shown": "gone"}})
    assert len(web.told()) == 1
    assert web.journal.read() is None


@pytest.mark.parametrize("effects", [None, {}, {"E1": STARTED}])
def test_nothing_is_told_of_what_was_not_seen_or_not_sent_from_here(web, effects):
    web.give_back(effects)
    assert web.told() == []


def test_nothing_is_told_in_check_mode(web):
    web.give_back({"E0": STARTED}, check_mode=True)
    assert web.told() == []
    assert not any(mark.get("confirmed") for mark in web.journal.read()["marks"])


def test_one_that_another_host_sends_again_was_sent_from_here_all_the_same(web):
    web.journal.change(lambda data: marked(data, [{**MARKS[0], "at": 90.0}]))
    web.give_back({"E0": STARTED})
    assert [line["sent_at"] for line in web.told()] == ["1970-01-01T00:01:30Z"]


@pytest.mark.parametrize("at", ["soon", None, 1e300, float("nan")])
def test_a_mark_that_is_damaged_has_no_time(web, at):
    data = web.journal.read()
    data["marks"][0]["at"] = at
    (told,) = _confirmed.newly_confirmed(data, {"E0": STARTED})
    assert told["sent_at"] is None


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([{"id": "e0", "status": "Started"}, {"id": "E1", "status": "Scheduled"}], {"E0": "Started"}),
        ([{"id": "E1", "status": "Scheduled"}], {"E0": "gone"}),
        ([], {"E0": "gone", "E1": "gone"}),
        ([{"id": "E0", "status": "Scheduled"}, {"id": "E1", "status": "Scheduled"}], {}),
    ],
)
def test_what_an_earlier_run_has_sent_is_confirmed_by_a_reading(events, shown):
    status = {"journal": {"marks": MARKS}, "events": events, "read_at": "now", "document_incarnation": 4}
    seen = effects_seen(None, status)
    assert {event: one["shown"] for event, one in seen.items()} == shown
    assert all((one["at"], one["incarnation"]) == ("now", 4) for one in seen.values())


def test_what_was_waited_for_goes_before_a_reading():
    status = {"journal": {"marks": MARKS}, "events": [], "read_at": "now", "document_incarnation": 4}
    assert effects_seen({"effects": {"E0": STARTED}}, status)["E0"] == STARTED


@pytest.mark.parametrize("status", [None, "x", {}, {"journal": None}, {"journal": {"marks": MARKS}}, {"events": []}])
def test_without_a_good_reading_nothing_is_confirmed(status):
    assert effects_seen({"effects": None}, status) == {}
