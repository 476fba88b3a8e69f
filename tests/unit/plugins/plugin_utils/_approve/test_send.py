# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An approval alone and in a run: what one host writes down, sends and waits for, and who sends."""

from __future__ import annotations

import threading
import time

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve import send as _send
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.judge import judge_events, unmarked_hosts
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.order import MARKED, ApproveOrder
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.send import Approver, Election
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import build_status, understand_document
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.service import (
    DocumentReading,
    RefusedByHost,
    Sent,
)
from helpers.approval_model import raw_event

# What one host is told to write down, to send and to wait for, alone and in a run.

FENCE = {"age": 5}
SERVICE = {"endpoint": "http://e", "timeout": 130}


def mark(event, *hosts):
    return {"event": event, "hosts": list(hosts), "at": 1.0}


def order(**changes):
    usual = {
        "host": "a",
        "ids": ["E"],
        "undrained_ids": [],
        "wait_ids": ["E"],
        "drained": ["a", "b"],
        "marks": [],
        "run_id": "r",
        "journal": "/j",
        "uncovered": "refuse",
        "wait_timeout": 900,
        "fence": None,
        "service": SERVICE,
    }
    return ApproveOrder(**{**usual, **changes})


@pytest.mark.parametrize(
    ("marks", "fence", "alone"),
    [
        ([mark("E", "a")], FENCE, True),
        ([mark("E", "a"), mark("F", "a")], FENCE, True),
        ([mark("E", "a", "b")], FENCE, False),
        ([mark("E", "b")], FENCE, False),
        ([], FENCE, False),
        ([mark("E", "a")], None, False),
        ([mark("E", "a")], {}, False),
    ],
)
def test_alone_is_who_is_the_only_host_of_all_its_events_in_a_run(marks, fence, alone):
    assert order(marks=marks, fence=fence).is_alone is alone


@pytest.mark.parametrize(
    ("marks", "ids", "fence", "state"),
    [
        ([mark("E", "a")], ["E"], None, "mark"),
        ([mark("E", "a")], [], FENCE, "mark"),
        ([mark("E", "a")], ["E"], FENCE, "mark"),
        # Nothing is drained for it, and no run has it: there is no journal to write to.
        ([mark("E", "a")], [], None, "read"),
        ([], ["E"], FENCE, "read"),
        ([], [], None, "read"),
    ],
)
def test_what_may_start_is_written_down(marks, ids, fence, state):
    options = order(marks=marks, ids=ids, fence=fence).mark_options()
    assert options["state"] == state
    assert {name: options[name] for name in ("path", "marks", "run_id", *SERVICE)} == {
        "path": "/j",
        "marks": marks,
        "run_id": "r",
        **SERVICE,
    }
    assert ("fence" in options) == (fence is not None)


@pytest.mark.parametrize(
    ("marks", "ids", "fence"),
    [
        # Who sends all of them asks the service for itself right before.
        ([mark("E", "a", "b")], ["E"], {**FENCE, "drained": True, "events": []}),
        ([mark("E", "a", "b")], [], {**FENCE, "drained": False, "events": []}),
        ([mark("E", "b", "a")], ["E"], {**FENCE, "drained": True}),
        ([mark("E", "a"), mark("F", "b", "a")], ["E"], {**FENCE, "drained": True}),
        ([], ["E"], {**FENCE, "drained": True}),
    ],
)
def test_in_a_run_the_host_compares_before_it_marks(marks, ids, fence):
    assert order(marks=marks, ids=ids, fence=FENCE).mark_options()["fence"] == fence


def test_outside_of_a_run_all_hosts_look_at_the_journals_of_the_others():
    assert order().parts() == [
        {
            "event_ids": ["E"],
            "drained": ["a", "b"],
            "uncovered": "refuse",
            "wait_timeout": 900,
            "journal": "/j",
            "run_id": "r",
            "reading": False,
            "journals": MARKED,
            **SERVICE,
        }
    ]


def test_what_needs_no_drain_is_another_part_and_asks_no_journal():
    first, second = order(undrained_ids=["F"]).parts()
    assert (first["event_ids"], first["journals"]) == (["E"], MARKED)
    assert second["event_ids"] == ["F"]
    assert "journals" not in second
    assert [part["event_ids"] for part in order(ids=[], undrained_ids=["F"]).parts()] == [["F"]]
    assert order(ids=[]).parts() == []


def test_in_a_run_with_others_each_part_brings_its_own_marks():
    marks = [mark("E", "a", "b"), mark("F", "a")]
    drained, undrained = order(undrained_ids=["F"], marks=marks, fence=FENCE).parts()
    assert drained["marks"] == marks[:1]
    assert drained["fence"] == {**FENCE, "drained": True, "events": ["E"]}
    assert undrained["marks"] == marks[1:]
    assert undrained["fence"] == {**FENCE, "drained": False, "events": ["F"]}
    for part in (drained, undrained):
        assert (part["marks_in"], part["reading"]) == (MARKED, True)
    assert (drained["journals"], "journals" in undrained) == (MARKED, False)


def test_who_is_alone_in_a_run_looks_at_nobody_else():
    (part,) = order(marks=[mark("E", "a")], fence=FENCE).parts()
    assert "journals" not in part
    assert "marks_in" not in part
    assert part["marks"] == [mark("E", "a")]


def test_unsent_is_what_nobody_has_sent_and_what_has_not_begun():
    marks = [mark(event, "a") for event in ("A", "B", "C", "D")]
    sent = [{"leaders": {"A": "b"}, "already_started": ["B"]}, {"gone": ["C"], "leaders": None}, {}]
    assert order(marks=marks, fence=FENCE).unsent(sent) == ["D"]
    assert order(marks=marks, fence=FENCE).unsent([]) == ["A", "B", "C", "D"]
    assert order(marks=marks).unsent([]) == []


def test_what_was_not_sent_is_not_waited_for():
    assert order(wait_ids=["E", "F"]).wait_options(["F"], None) == {"event_ids": ["E"], "wait_timeout": 900, **SERVICE}
    assert order().wait_options([], "vm-1") == {"event_ids": ["E"], "wait_timeout": 900, "vm_name": "vm-1", **SERVICE}
    assert order(fence=FENCE).wait_options([], "") == {
        "event_ids": ["E"],
        "wait_timeout": 900,
        "journal": "/j",
        "run_id": "r",
        **SERVICE,
    }


# An approval in a run: who sends was said before, all hosts are marked, and the host may refuse.

MARK = {"event": "A", "hosts": ["web", "db"], "at": 5.0}


def reading(name="web", *raw):
    document = understand_document({"DocumentIncarnation": 1, "Events": list(raw or [raw_event("A", ["web", "db"])])})
    return DocumentReading(build_status(document, {"vm_name": name}, 0.0), "{}", name)


class Service:
    def __init__(self, answer):
        self.answer, self.sent, self.read_again = answer, [], 0

    def read(self, _seconds=None):
        self.read_again += 1
        return reading()

    def approve(self, _decided_on, event_ids):
        self.sent.append(event_ids)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def approver(folder, host, service, **more):
    options = {
        "service": service,
        "election": Election(folder, prediction=False),
        "sender": host,
        "task": "t",
        "wanted": ["A"],
        "drained": lambda _reading: ["web", "db"],
        "others": lambda: {"web": "web", "db": "db"},
        "timeout": 30,
        "decided_on": reading(host),
        "first_sender": {"a": "web"},
        "in_a_run": True,
    }
    return Approver(**{**options, **more})


def test_the_first_host_of_the_event_sends_whoever_comes_first(tmp_path, monkeypatch):
    monkeypatch.setattr(_send, "SECONDS_TO_LET_THE_FIRST_GO_FIRST", 300)
    services = {host: Service(Sent(reading(host), sent=True)) for host in ("db", "web")}
    results = {}

    def go(host, after):
        time.sleep(after)
        results[host] = approver(tmp_path, host, services[host]).run()

    threads = [threading.Thread(target=go, args=pair) for pair in (("db", 0), ("web", 0.5))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (services["web"].sent, services["db"].sent) == ([["A"]], [])
    assert results["db"].leaders == results["web"].leaders == {"A": "web"}
    # What was read before is judged: nobody was asked again.
    assert services["web"].read_again == services["db"].read_again == 0


def test_a_first_host_that_does_not_come_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(_send, "SECONDS_TO_LET_THE_FIRST_GO_FIRST", 0.3)
    service = Service(Sent(reading("db"), sent=True))
    assert approver(tmp_path, "db", service).run().approved == ["A"]


def test_what_the_host_refuses_is_told_and_not_unclear(tmp_path):
    service = Service(RefusedByHost("age", "too old"))
    approval = approver(tmp_path, "web", service, others=dict).run()
    assert (approval.refused_by_host, approval.approved) == ("age", [])
    assert "too old" in approval.problems[0]
    record = Election(tmp_path, prediction=False).record("A")
    assert (record.sent_by, record.unclear) == (None, None)


def test_another_event_that_has_started_since_ends_it(tmp_path):
    started = raw_event("B", ["db"], status="Started")
    now = reading("web", raw_event("A", ["web", "db"]), started)
    service = Service(Sent(now))
    approval = approver(tmp_path, "web", service, others=dict).run()
    assert (approval.refused_by_host, service.sent) == ("changed", [["A"]])
    assert "B has started since" in approval.problems[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"DurationInSeconds": 600}, "duration_seconds of A has changed from 5 to 600"),
        ({"Description": "longer"}, "description of A has changed from '' to 'longer'"),
        ({"EventSource": "User"}, "source of A has changed"),
        ({"NotBefore": "2026-11-16T00:00:00Z"}, "not_before of A has changed"),
        ({"EventType": "Redeploy"}, "type of A has changed from 'Freeze' to 'Redeploy'"),
    ],
)
def test_an_event_that_has_changed_since_the_policy_looked_is_not_sent_again(tmp_path, monkeypatch, change, words):
    """A Freeze that was short when it was decided to approve it without a drain."""
    monkeypatch.setattr(_send, "SECONDS_BETWEEN_READINGS", 0)
    event = {**raw_event("A", ["web", "db"]), "EventType": "Freeze", "DurationInSeconds": 5, "Description": ""}
    service = Service(Sent(reading("web", {**event, **change})))
    more = {"decided_on": reading("web", event), "others": dict}
    approval = approver(tmp_path, "web", service, **more).run()
    assert (approval.refused_by_host, approval.approved, len(service.sent)) == ("changed", [], 1)
    assert words in approval.problems[0]


@pytest.mark.parametrize(
    ("result", "missing"),
    [
        ({"journal": {"run_id": "r1", "marks": [{"event": "a"}]}}, []),
        ({"journal": {"run_id": "r2", "marks": [{"event": "A"}]}}, ["db"]),
        ({"journal": {"run_id": "r1", "marks": [{"event": "B"}]}}, ["db"]),
        ({"journal": {"run_id": "r0", "marks": [{"event": "A"}]}}, ["db"]),
        ({"journal": {"run_id": "r1", "marks": [{"event": "0"}]}}, ["db"]),
        ({"journal": {"run_id": "r1", "marks": [{"event": "B"}, {"event": "a"}]}}, []),
        ({"journal": {"run_id": None, "marks": [{"event": "A"}]}}, ["db"]),
        ({"journal": {"run_id": "r1"}}, ["db"]),
        ({"journal": None}, ["db"]),
        ({"failed": True, "journal": {"run_id": "r1", "marks": [{"event": "A"}]}}, ["db"]),
        ({"unreachable": True}, ["db"]),
        (None, ["db"]),
    ],
)
def test_all_other_hosts_must_be_marked(result, missing):
    found = unmarked_hosts([MARK], "web", {"db": result}, "r1")
    assert found == {"a": missing}
    judgement = judge_events(reading().status["events"], ["A"], "web", ["web", "db"], unmarked=found)
    assert bool(judgement.refused) == bool(missing)
    assert bool(judge_events(reading().status["events"], ["A"], "web", [], True, unmarked=found).refused) == bool(
        missing
    )


def test_what_is_decided_on_again_is_sent_again(tmp_path):
    """An event that still shows Scheduled a minute after its approval was sent: that may have been lost."""
    service = Service(Sent(reading(), sent=True))
    now = time.time()
    assert approver(tmp_path, "web", service, decided_at={"a": now - 1}).run().approved == ["A"]
    assert approver(tmp_path, "web", service, decided_at={"a": now - 1}).run().approved == []
    assert approver(tmp_path, "web", service, decided_at={"a": now + 60}).run().approved == ["A"]
    assert len(service.sent) == 2
