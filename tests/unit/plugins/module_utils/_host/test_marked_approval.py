# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare, mark, send, in one command: what is sent is marked, and what is known not to be sent is not."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._document.events import understand_document
from ansible_collections.maintenance.azure.plugins.module_utils._drain import host_clock, journal_order
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalFile
from ansible_collections.maintenance.azure.plugins.module_utils._service import exchange, imds, patience, wire

DOCUMENT = json.dumps({"DocumentIncarnation": 3, "Events": [{"EventId": "E0", "EventStatus": "Scheduled"}]})
MARK = {"event": "E0", "hosts": ["web"], "at": 5.0}


class Service:
    """A transport: answers GET with the document, and POST with what the test says, while the host's time goes on."""

    endpoint = "http://service"

    def __init__(self, proc, posts=(200,), document=DOCUMENT, seconds_to_read=0, seconds_to_post=0):
        self.proc, self.posts, self.document = proc, list(posts), document
        self.seconds = {"GET": seconds_to_read, "POST": seconds_to_post}
        self.asked = []

    def __call__(self, _endpoint):
        return self

    def send(self, method, _target, _body, _headers, _connect_seconds, _seconds):
        self.asked.append(method)
        self.proc.later(self.seconds[method])
        if method == "GET":
            return wire.Answer(200, {}, self.document.encode(), 0.0)
        answer = self.posts.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return wire.Answer(answer, {}, b"{}", 0.0)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Between two tries no time is lost here; the host's clock goes on with each of them."""
    monkeypatch.setattr(
        patience.Conversation.__init__, "__defaults__", (lambda: 0.0, lambda _seconds: None, lambda: 0.5)
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.json"


def send(path, service, fence=None, run_id="r1", **approval):
    fence = {**host_clock.told(), "owner": None, "events": ["E0"], "scheduled": True, **(fence or {})}
    marking = {"journal": str(path), "run_id": run_id, "fence": fence, "marks": [MARK]}
    approval = {"expected": DOCUMENT, "body": "{}", "marking": marking, **approval}
    request = {"endpoints": ["http://service"], "api_version": "2020-07-01", "timeout": 130, "approval": approval}
    return exchange.carried_out({**request, "with_instance": False}, False, transport=service)


def marks(path):
    data = JournalFile(path).read()
    return None if data is None else [mark["event"] for mark in data["marks"]]


def test_it_is_marked_and_sent(path, proc):
    seen = []
    service = Service(proc)
    plain_send = service.send
    service.send = lambda *args: (seen.append((args[0], marks(path))), plain_send(*args))[1]
    assert send(path, service)["answers"]["sent"] is True
    assert seen == [("GET", None), ("POST", ["E0"])]
    assert marks(path) == ["E0"]


def test_what_the_policy_has_seen_is_compared_on_the_host_before_it_is_sent(path, proc):
    event = {"EventId": "E0", "EventType": "Freeze", "EventStatus": "Scheduled", "Resources": ["web"]}
    document = {"DocumentIncarnation": 3, "Events": [{**event, "DurationInSeconds": 5}]}
    judged = understand_document(document)["events"]
    marking = {"journal": str(path), "run_id": "r1", "judged": judged, "marks": [MARK]}
    fence = {**host_clock.told(), "owner": None, "events": ["E0"], "may_start": ["E0"]}
    for duration, sent in ((600, False), (5, True)):
        document["Events"][0]["DurationInSeconds"] = duration
        service = Service(proc, document=json.dumps(document))
        answers = send(path, service, marking={**marking, "fence": fence})["answers"]
        assert (answers["sent"], marks(path)) == (sent, ["E0"] if sent else None)


def test_the_digest_of_a_document_does_as_well(path, proc):
    digest = imds.document_digest(json.dumps(json.loads(DOCUMENT), indent=3))
    assert send(path, Service(proc), expected="", expected_sha256=digest)["answers"]["sent"] is True
    assert send(path, Service(proc), expected="", expected_sha256="0" * 64)["answers"]["sent"] is False


def test_another_document_is_not_approved_and_not_marked(path, proc):
    service = Service(proc, document=DOCUMENT.replace("3", "4"))
    assert send(path, service)["answers"]["sent"] is False
    assert (service.asked, marks(path)) == (["GET"], None)


@pytest.mark.parametrize(
    ("fence", "word"),
    [
        ({"seconds": 900.0}, "age"),
        ({"owner": "r2"}, "owner"),
        ({"drained": True}, "not_drained"),
        ({"events": ["E1"]}, "gone"),
    ],
)
def test_the_fence_refuses(path, proc, fence, word):
    service = Service(proc)
    result = send(path, service, fence)
    assert (result["failed"], result["refused"]) == (True, word)
    assert (service.asked, marks(path)) == (["GET"], None)


def test_a_reading_that_takes_long_makes_it_too_old(path, proc):
    service = Service(proc, seconds_to_read=45)
    assert send(path, service)["refused"] == "age"
    assert service.asked == ["GET"]


def test_a_reading_that_takes_25_seconds_leaves_no_time_to_send(path, proc):
    service = Service(proc, seconds_to_read=25)
    answers = send(path, service)["answers"]
    assert (answers["sent"], answers["problem"]["unclear"]) == (False, False)
    assert "too late" in answers["problem"]["message"]
    assert (service.asked, marks(path)) == (["GET"], None)


def test_no_try_begins_after_20_seconds(path, proc):
    service = Service(proc, posts=[503] * 20, seconds_to_post=6)
    answers = send(path, service)["answers"]
    # They begin at 0, 6, 12 and 18 s, each after a reading of its own.
    assert service.asked == ["GET", "POST"] * 4 + ["GET"]
    assert (answers["sent"], answers["problem"]["unclear"]) == (False, False)
    assert marks(path) is None


class ChangingService(Service):
    """Another document from the first POST on."""

    def send(self, method, *args):
        answer = super().send(method, *args)
        if method == "POST":
            self.document = DOCUMENT.replace("3", "4")
        return answer


def test_what_was_turned_away_is_compared_again_before_the_next_try(path, proc):
    service = ChangingService(proc, posts=[503, 200])
    answers = send(path, service)["answers"]
    assert service.asked == ["GET", "POST", "GET"]
    assert (answers["sent"], answers["problem"]) == (False, None)
    # What the controller judges next.
    assert '"DocumentIncarnation": 4' in answers["events"]["body"]
    assert marks(path) is None


def test_what_is_turned_away_and_as_it_was_is_sent_again_under_the_same_mark(path, proc):
    service = Service(proc, posts=[503, 429, 200])
    assert send(path, service)["answers"]["sent"] is True
    assert service.asked == ["GET", "POST"] * 3
    assert marks(path) == ["E0"]


def test_what_can_not_be_compared_again_is_known_not_to_be_sent(path, proc):
    service = Service(proc, posts=[503, 200])
    plain_send = service.send

    def hanging(method, *args):
        if service.asked == ["GET", "POST"]:
            service.asked.append(method)
            raise wire.TimedOut()
        return plain_send(method, *args)

    service.send = hanging
    answers = send(path, service)["answers"]
    assert service.asked == ["GET", "POST", "GET"]
    assert (answers["sent"], answers["problem"]["unclear"]) == (False, False)
    assert marks(path) is None


@pytest.mark.parametrize("answer", [wire.Broken("cut"), wire.TimedOut(), 500])
def test_what_may_have_arrived_stays_marked(path, proc, answer):
    answers = send(path, Service(proc, posts=[answer]))["answers"]
    assert (answers["sent"], answers["problem"]["unclear"]) == (False, True)
    assert marks(path) == ["E0"]


@pytest.mark.parametrize("answer", [400, 404])
def test_what_was_turned_away_leaves_no_mark(path, proc, answer):
    answers = send(path, Service(proc, posts=[answer]))["answers"]
    assert (answers["sent"], answers["problem"]["unclear"]) == (False, False)
    assert marks(path) is None


def test_what_an_earlier_command_has_marked_stays(path, proc):
    send(path, Service(proc, posts=[wire.TimedOut()]))
    assert send(path, Service(proc, posts=[400]), {"owner": "r1"})["answers"]["sent"] is False
    assert marks(path) == ["E0"]


def test_a_drained_host_stays_drained(path, proc):
    for state in ("begin", "drained"):
        journal_order.carried_out({"path": str(path), "state": state, "run_id": "r1"}, False)
    send(path, Service(proc, posts=[400]), {"owner": "r1", "drained": True})
    assert (JournalFile(path).read()["state"], marks(path)) == ("drained", [])


def test_nothing_is_sent_in_check_mode(path, proc):
    service = Service(proc)
    request = {"endpoints": ["x"], "api_version": "2020-07-01", "timeout": 1, "approval": {"marking": {}}}
    assert exchange.carried_out(request, True, transport=service)["kind"] == "check_mode"
    assert service.asked == []


def test_a_mark_that_was_set_right_before_is_taken_back_as_well(path, proc):
    """The role writes the marks of all hosts before, the sender's too."""
    fence = {**host_clock.told(), "owner": None, "events": []}
    mark = {"path": str(path), "state": "mark", "run_id": "r1", "marks": [MARK], "fence": fence}
    journal_order.carried_out(mark, False)
    send(path, Service(proc, posts=[400]), {"owner": "r1"})
    assert marks(path) is None


def test_what_this_host_was_about_to_send_is_not_taken_back_by_another_command(path, proc):
    send(path, Service(proc, posts=[wire.TimedOut()]))
    journal_order.carried_out({"path": str(path), "state": "unmark", "run_id": "r1", "marks": [MARK]}, False)
    assert marks(path) == ["E0"]


def test_a_journal_that_is_gone_meanwhile_is_told(path, proc):
    service = Service(proc, posts=[400])
    plain_send = service.send

    def damaging(method, *args):
        if method == "POST":
            path.write_text("nonsense")
        return plain_send(method, *args)

    service.send = damaging
    assert "can't be understood" in send(path, service)["msg"]
