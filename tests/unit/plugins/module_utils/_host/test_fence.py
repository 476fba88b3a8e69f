# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host refuses; compare, mark, send in one command."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure import http as _http
from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds
from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import understand_document
from ansible_collections.maintenance.azure.plugins.module_utils._host import clock as _clock
from ansible_collections.maintenance.azure.plugins.module_utils._host import exchange as _exchange
from ansible_collections.maintenance.azure.plugins.module_utils._host import journal_command as _journal_command
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import AtWork
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import JournalFile
from ansible_collections.maintenance.azure.plugins.module_utils._host.ownership import Fence, Refused

# What a host refuses: what is old, what is another run's, what is gone, and what is not drained.

MARK = {"event": "E0", "hosts": ["web", "db"], "at": 5.0, "takes_down": True, "vanishing": False}
STEP = {"number": 1, "kind": "command", "arguments": {}, "status": "done"}


@pytest.fixture
def host(tmp_path, proc):
    return HostOfTheTest(tmp_path / "journal.json", proc)


class HostOfTheTest:
    def __init__(self, path, proc):
        self.path, self.proc = path, proc

    def read(self, owner=None, **more):
        """The fence of a run that has read this host just now."""
        return {**_clock.told(), "at_most": 40, "owner": owner, "events": [], **more}

    def do(self, state, run_id="r1", fence=None, **more):
        request = {"path": str(self.path), "state": state, "run_id": run_id, "fence": fence, **more}
        return _journal_command.carried_out(request, False)

    def drain(self, run_id="r1", fence=None):
        done = self.do("begin", run_id, fence, events=[{"id": "E0", "type": "Reboot"}])
        if not done.get("failed"):
            done = self.do("drained", run_id, None, steps=[STEP])
        return done

    def journal(self):
        return JournalFile(self.path).read()


def refused(result):
    assert result.get("failed"), result
    assert result["msg"]
    return result["refused"]


def test_a_drain_right_after_the_reading_is_done(host):
    fence = host.read()
    host.proc.later(39)
    assert host.drain(fence=fence)["journal"]["state"] == "drained"
    assert host.do("read")["journal"]["worked_on_for"] == 30


@pytest.mark.parametrize("later", [41, 3600, -5])
def test_age(host, later):
    fence = host.read()
    host.proc.later(later)
    assert refused(host.drain(fence=fence)) == "age"
    assert refused(host.do("mark", fence=fence, marks=[MARK])) == "age"
    assert not host.path.exists()


def test_age_after_a_boot(host):
    fence = host.read()
    host.proc.set("b2", fence["seconds"] + 1)
    assert refused(host.drain(fence=fence)) == "age"


@pytest.mark.parametrize(
    "fence", [{"boot_id": "b1", "seconds": None}, {"boot_id": None, "seconds": 1000.0}, {"owner": None}]
)
def test_a_time_that_is_not_told_is_too_old(host, fence):
    assert refused(host.drain(fence={"events": [], **fence})) == "age"


def test_a_host_without_proc_is_drained_too(host):
    host.proc.is_not_there()
    fence = host.read()
    assert fence["boot_id"] is None
    assert host.drain(fence=fence)["journal"]["state"] == "drained"
    assert refused(host.drain(fence={**fence, "seconds": fence["seconds"] - 60})) == "age"
    # Its clock was set back.
    assert refused(host.drain(fence={**fence, "seconds": fence["seconds"] + 60})) == "age"


def test_owner(host):
    host.drain("r1")
    fence = host.read(owner=None)
    assert refused(host.drain("r2", fence)) == "owner"
    assert refused(host.do("restore", "r2", fence)) == "owner"
    assert refused(host.do("take_over", "r2", fence)) == "owner"
    assert refused(host.do("mark", "r2", fence, marks=[MARK])) == "owner"
    assert host.journal()["run_id"] == "r1"
    assert host.drain("r2", host.read(owner="r1"))["journal"]["run_id"] == "r2"


def test_a_journal_that_is_gone_has_another_owner(host):
    assert refused(host.drain("r2", host.read(owner="r1"))) == "owner"
    # History 1b: it was this run's own, and another one has returned the host to service.
    assert refused(host.do("mark", "r1", host.read(owner="r1"), marks=[MARK])) == "owner"


def test_within_one_run_nobody_is_refused(host):
    fence = host.read()
    host.drain("r1", fence)
    assert not host.drain("r1", fence).get("failed")
    assert not host.do("mark", "r1", fence, marks=[MARK]).get("failed")
    assert not host.do("restore", "r1", fence).get("failed")


def test_worked_on_until_it_has_lapsed(host):
    host.drain("r1", host.read())
    host.proc.later(20)
    for state in ("begin", "restore", "take_over", "mark", "forget"):
        assert refused(host.do(state, "r2", host.read(owner="r1"), marks=[MARK])) == "worked_on"
    host.proc.later(11)
    assert host.do("read")["journal"]["worked_on_for"] == 0
    assert host.do("take_over", "r2", host.read(owner="r1"))["journal"]["run_id"] == "r2"
    assert host.do("read")["journal"]["worked_on_for"] == 30
    # And the first one can't go on.
    assert "taken over by another run (r2)" in host.do("step", "r1", steps=[STEP])["msg"]


def test_a_takeover_needs_no_fresh_reading_but_the_same_journal(host):
    host.drain("r1")
    assert host.do("take_over", "r2", {"owner": "r1", "seconds": None})["journal"]["run_id"] == "r2"
    assert refused(host.do("restore", "r3", {"owner": "r1", "seconds": None})) == "owner"


def test_without_a_fence_all_is_as_before(host):
    host.drain("r1", host.read())
    assert not host.do("begin", "r2").get("failed")
    assert host.do("mark", "r2", marks=[MARK])["journal"]["run_id"] == "r2"
    host.path.unlink()
    assert host.do("mark", "r2", marks=[MARK])["journal"] is None
    assert not host.path.exists()


def test_roles_that_are_used_alone_do_not_say_that_they_are_at_work(host):
    assert host.drain("r1")["journal"]["worked_on_for"] == 0
    assert [file.name for file in host.path.parent.glob("journal*")] == ["journal.json"]


@pytest.mark.parametrize("state", ["none", "draining", "restoring", "another boot"])
def test_not_drained(host, state):
    if state != "none":
        host.drain("r1")
    if state == "draining":
        host.do("step", "r1", steps=[{**STEP, "status": "started"}])
    elif state == "restoring":
        host.do("restore", "r1")
    elif state == "another boot":
        host.proc.boots()
    owner = None if state == "none" else "r1"
    fence = host.read(owner=owner, drained=True)
    assert refused(host.do("mark", "r1", fence, marks=[MARK])) == "not_drained"
    assert "marks" not in (host.journal() or {})


def test_history_5_a_return_that_was_begun_counts_for_nothing(host):
    host.drain("r0", host.read())
    host.proc.later(60)
    host.do("restore", "r1", host.read(owner="r0"))
    host.proc.later(60)
    # R0 takes it back, and nothing counts as done.
    data = host.do("begin", "r0", host.read(owner="r1"), events=[])["journal"]
    assert (data["state"], data["steps"][0]["status"]) == ("draining", "started")
    assert refused(host.do("mark", "r0", host.read(owner="r0", drained=True), marks=[MARK])) == "not_drained"


def test_marks_alone(host):
    data = host.do("mark", "r1", host.read(), marks=[MARK])["journal"]
    assert (data["state"], data["steps"], data["run_id"]) == ("marked", [], "r1")
    assert data["marks"] == [{**MARK, "again": False}]
    # A drain goes on from there.
    assert host.drain("r1")["journal"]["state"] == "drained"
    assert host.journal()["marks"][0]["event"] == "E0"


def test_a_mark_is_taken_back_only_by_the_command_that_has_set_it(host):
    host.do("mark", "r1", host.read(), marks=[MARK])
    assert host.do("unmark", "r1", marks=[{**MARK, "at": 6.0}])["journal"]["marks"]
    assert host.do("unmark", "r2", marks=[MARK])["journal"]["marks"]
    result = host.do("unmark", "r1", marks=[MARK])
    assert (result["changed"], result["journal"]) == (True, None)
    assert list(host.path.parent.glob("journal*")) == []


def test_a_mark_of_an_earlier_sending_is_not_taken_back(host):
    host.drain("r1")
    host.do("mark", "r1", host.read(owner="r1"), marks=[MARK])
    again = {**MARK, "at": 70.0}
    host.do("mark", "r1", host.read(owner="r1"), marks=[again])
    assert host.do("unmark", "r1", marks=[again])["journal"]["marks"] == [{**again, "again": True}]


def test_a_drained_host_keeps_its_journal_when_a_mark_is_taken_back(host):
    host.drain("r1")
    host.do("mark", "r1", host.read(owner="r1"), marks=[MARK])
    data = host.do("unmark", "r1", marks=[MARK])["journal"]
    assert (data["state"], data["marks"]) == ("drained", [])


def test_history_9_a_journal_with_marks_alone_is_taken_over_and_forgotten(host):
    host.do("mark", "r1", host.read(), marks=[MARK])
    host.proc.later(31)
    assert host.drain("r2", host.read(owner="r1"))["journal"]["state"] == "drained"
    assert refused(host.do("forget", "r2", host.read(owner="r2"))) == "drained"
    assert host.path.exists()


def test_forget(host):
    host.do("mark", "r1", host.read(), marks=[MARK])
    host.proc.later(31)
    assert refused(host.do("forget", "r2", host.read(owner="r3"))) == "owner"
    result = host.do("forget", "r2", host.read(owner="r1"))
    assert (result["changed"], result["journal"]) == (True, None)
    assert list(host.path.parent.glob("journal*")) == []


@pytest.mark.parametrize("state", ["restore", "take_over", "forget", "unmark", "close"])
def test_what_needs_a_journal_makes_none(host, state):
    host.path = host.path.parent / "not there" / "journal.json"
    for fence in (None, host.read()):
        result = host.do(state, "r1", fence)
        assert (result["changed"], result["journal"]) == (False, None)
    assert refused(host.do(state, "r1", host.read(owner="r0"))) == "owner"
    assert not host.path.parent.exists()


def test_a_journal_of_the_former_version_works(host):
    former = {
        "version": 1,
        "state": "drained",
        "events": [{"id": "E0"}],
        "boot_id": "b1",
        "run_id": "old",
        "steps": [{**STEP, "before": None}],
        "marks": [{"event": "E0", "hosts": ["web"], "at": 1.0}],
    }
    host.path.write_text(json.dumps(former))
    host.path.chmod(0o600)
    assert host.do("read")["journal"]["worked_on_for"] == 0
    data = host.do("mark", "r2", host.read(owner="old", drained=True), marks=[MARK])["journal"]
    assert (data["run_id"], data["marks"]) == ("r2", [{**MARK, "again": True}])


def document(*events):
    return json.dumps({"Events": [{"EventId": name, "EventStatus": status} for name, status in events]})


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ([("E0", "Scheduled"), ("E1", "Started")], None),
        ([("e0", "Scheduled")], None),
        ([("E0", "Started")], "gone"),
        ([("E0", "Scheduled"), ("E0", "Started")], "gone"),
        ([("E0", "Started"), ("E0", "Scheduled")], "gone"),
        ([("E1", "Scheduled")], "gone"),
        ([], "gone"),
    ],
)
def test_events(host, events, word):
    fence = Fence(host.read(events=["E0"], scheduled=True), host.path, "r1")
    if word is None:
        fence.check_events(document(*events))
        return
    with pytest.raises(Refused) as error:
        fence.check_events(document(*events))
    assert error.value.word == word


def test_an_event_that_has_started_is_still_there(host):
    Fence(host.read(events=["E0"]), host.path, "r1").check_events(document(("E0", "Started")))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"Events": {}}', '{"Events": [{}]}', "<html>", '{"Events": 3}'])
def test_what_is_no_document_is_not_taken_for_one_without_events(host, text):
    with pytest.raises(Refused) as error:
        Fence(host.read(events=["E0"]), host.path, "r1").check_events(text)
    assert error.value.word == "unread"


def test_who_is_at_work_is_forgotten_with_the_journal(host):
    host.drain("r1", host.read())
    host.do("restore", "r1", host.read(owner="r1"))
    host.do("step", "r1", steps=[{"number": 1, "status": "undone"}])
    assert AtWork(host.path).left("r1") == 30
    assert host.do("close", "r1")["journal"] is None
    assert [file.name for file in host.path.parent.glob("journal*")] == ["journal.last.json"]


# Compare, mark, send, in one command: what is sent is marked, and what is known not to be sent is not.

DOCUMENT = json.dumps({"DocumentIncarnation": 3, "Events": [{"EventId": "E0", "EventStatus": "Scheduled"}]})
SENT_MARK = {"event": "E0", "hosts": ["web"], "at": 5.0}


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
            return _http.Answer(200, {}, self.document.encode(), 0.0)
        answer = self.posts.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return _http.Answer(answer, {}, b"{}", 0.0)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Between two tries no time is lost here; the host's clock goes on with each of them."""
    monkeypatch.setattr(_imds.Conversation.__init__, "__defaults__", (lambda: 0.0, lambda _seconds: None, lambda: 0.5))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.json"


def send(path, service, fence=None, run_id="r1", **approval):
    fence = {**_clock.told(), "owner": None, "events": ["E0"], "scheduled": True, **(fence or {})}
    marking = {"journal": str(path), "run_id": run_id, "fence": fence, "marks": [SENT_MARK]}
    approval = {"expected": DOCUMENT, "body": "{}", "marking": marking, **approval}
    request = {"endpoints": ["http://service"], "api_version": "2020-07-01", "timeout": 130, "approval": approval}
    return _exchange.answered({**request, "with_instance": False}, False, service)


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
    marking = {"journal": str(path), "run_id": "r1", "judged": judged, "marks": [SENT_MARK]}
    fence = {**_clock.told(), "owner": None, "events": ["E0"], "may_start": ["E0"]}
    for duration, sent in ((600, False), (5, True)):
        document["Events"][0]["DurationInSeconds"] = duration
        service = Service(proc, document=json.dumps(document))
        answers = send(path, service, marking={**marking, "fence": fence})["answers"]
        assert (answers["sent"], marks(path)) == (sent, ["E0"] if sent else None)


def test_the_digest_of_a_document_does_as_well(path, proc):
    digest = _imds.document_digest(json.dumps(json.loads(DOCUMENT), indent=3))
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
            raise _http.TimedOut()
        return plain_send(method, *args)

    service.send = hanging
    answers = send(path, service)["answers"]
    assert service.asked == ["GET", "POST", "GET"]
    assert (answers["sent"], answers["problem"]["unclear"]) == (False, False)
    assert marks(path) is None


@pytest.mark.parametrize("answer", [_http.Broken("cut"), _http.TimedOut(), 500])
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
    send(path, Service(proc, posts=[_http.TimedOut()]))
    assert send(path, Service(proc, posts=[400]), {"owner": "r1"})["answers"]["sent"] is False
    assert marks(path) == ["E0"]


def test_a_drained_host_stays_drained(path, proc):
    for state in ("begin", "drained"):
        _journal_command.carried_out({"path": str(path), "state": state, "run_id": "r1"}, False)
    send(path, Service(proc, posts=[400]), {"owner": "r1", "drained": True})
    assert (JournalFile(path).read()["state"], marks(path)) == ("drained", [])


def test_nothing_is_sent_in_check_mode(path, proc):
    service = Service(proc)
    request = {"endpoints": ["x"], "api_version": "2020-07-01", "timeout": 1, "approval": {"marking": {}}}
    assert _exchange.answered(request, True, service)["kind"] == "check_mode"
    assert service.asked == []


def test_a_mark_that_was_set_right_before_is_taken_back_as_well(path, proc):
    """The role writes the marks of all hosts before, the sender's too."""
    fence = {**_clock.told(), "owner": None, "events": []}
    mark = {"path": str(path), "state": "mark", "run_id": "r1", "marks": [SENT_MARK], "fence": fence}
    _journal_command.carried_out(mark, False)
    send(path, Service(proc, posts=[400]), {"owner": "r1"})
    assert marks(path) is None


def test_what_this_host_was_about_to_send_is_not_taken_back_by_another_command(path, proc):
    send(path, Service(proc, posts=[_http.TimedOut()]))
    _journal_command.carried_out({"path": str(path), "state": "unmark", "run_id": "r1", "marks": [SENT_MARK]}, False)
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
