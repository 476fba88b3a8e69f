# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers that nobody expects: none ends the watch, and none is taken for "no events"."""

from __future__ import annotations

import errno
import json
import socket
import threading
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service.socket_transport import SocketTransport
from ansible_collections.maintenance.azure.plugins.module_utils._watch import settings as _settings
from ansible_collections.maintenance.azure.plugins.module_utils._watch import watch as _watch
from ansible_collections.maintenance.azure.plugins.module_utils._watch.reader import Reader

EVENT = {
    "EventId": "A1",
    "EventType": "Reboot",
    "EventStatus": "Scheduled",
    "ResourceType": "VirtualMachine",
    "Resources": ["web-0"],
    "NotBefore": "",
    "DurationInSeconds": 5,
}


def document(incarnation, **fields):
    return json.dumps({"DocumentIncarnation": incarnation, "Events": [{**EVENT, **fields}]}).encode()


def http(body, status="200 OK", *fields):
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields))
    return f"{head}\r\n".encode("latin-1") + body


GOOD = http(document(1))
# Deeper than any Python reads: some read thousands.
DEEP = 100_000


class Service:
    """Says to each connection what `says` is at the moment."""

    def __init__(self):
        self.says = GOOD
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _peer = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(self.says)


class Others:
    """In place of reflexes and of those who are told."""

    def __init__(self):
        self.problems = []
        self.turns = 0

    def go_on(self, *_about):
        self.turns += 1
        for problem in self.problems:
            raise problem

    def left_for_a_run(self):
        return []

    def approvals(self):
        return 0


@pytest.fixture
def service():
    found = Service()
    yield found
    found.listener.close()


@pytest.fixture
def watch(tmp_path, service):
    given = {"name": "h", "status_file": str(tmp_path / "status.json"), "journal": str(tmp_path / "journal.json")}
    settings = {**_settings.DEFAULTS, **given, "metrics_file": str(tmp_path / "azure.prom")}
    transport = SocketTransport(f"http://127.0.0.1:{service.listener.getsockname()[1]}")
    found = _watch.Watch(settings, Reader([transport], "2020-07-01", "web-0"), Others(), Others())
    found.look()
    return found


def status_of(watch):
    return json.loads(Path(watch.status_file.path).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(http(b"x", "429 Slow", "Retry-After: \u00b2"), id="a Retry-After that only looks like a number"),
        pytest.param(http(b"x", "503 Busy", "Retry-After: " + 5000 * "9"), id="a Retry-After of 5000 digits"),
        pytest.param(http(b"x", "429 Slow", "Retry-After: Nov Mon, , 1"), id="a Retry-After that is no date"),
        pytest.param(http(b"x", "\u00b2\u00b2\u00b2 X"), id="a status that only looks like a number"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n" + 10 * b"x", id="a length with an underscore"),
        pytest.param(http(b"[" * DEEP), id="nested without end"),
        pytest.param(http(document(2).replace(b'"A1"', b'"A1", "New": ' + b"[" * DEEP + b"]" * DEEP)), id="deep field"),
    ],
)
def test_a_bad_answer_leaves_the_last_good_one(service, watch, answer):
    service.says = answer
    watch.look()
    status = status_of(watch)
    assert [event["id"] for event in status["events"]] == ["A1"]
    assert status["document_incarnation"] == 1
    assert status["watcher"]["problem"]
    watch.reader._not_before = None
    service.says = http(document(3))
    watch.look()
    assert status_of(watch)["document_incarnation"] == 3
    assert status_of(watch)["watcher"]["problem"] is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(document(2).replace(b": 5", b": 1e999"), id="a duration without end"),
        pytest.param(document(2, NotBefore="Mon, 16 Nov 2026 00:00:00 +99999999999999999999"), id="a huge offset"),
        pytest.param(document(2, NotBefore="0001-01-01T00:00:00+23:00"), id="before the first year"),
        pytest.param(document(2, NotBefore="Nov Mon, , " + 70 * "1"), id="no date"),
        pytest.param(document(2, EventType="\ud800"), id="half of a pair of surrogates"),
    ],
)
def test_a_field_that_says_nothing_does_not_keep_back_the_event(service, watch, body):
    service.says = http(body)
    watch.look()
    status = status_of(watch)
    assert status["document_incarnation"] == 2
    assert [event["id"] for event in status["events"]] == ["A1"]
    assert status["watcher"]["problem"] is None
    assert "azure_maintenance_events{" in Path(watch.metrics_file.path).read_text(encoding="utf-8")


def test_what_nobody_has_thought_of_is_a_problem_and_not_the_end(service, watch, monkeypatch, capsys):
    def surprise(_answer):
        raise LookupError("nobody has thought of it")

    monkeypatch.setattr(watch.reader, "_take", surprise)
    watch.look()
    watch.look()
    status = status_of(watch)
    assert [event["id"] for event in status["events"]] == ["A1"]
    assert "nobody has thought of it" in status["watcher"]["problem"]
    assert capsys.readouterr().err.count("nobody has thought of it") == 1


@pytest.mark.parametrize("part", ["notices", "reflexes"])
def test_one_that_can_not_be_started_holds_up_nobody_and_is_told_once(service, watch, capsys, part):
    getattr(watch, part).problems = [OSError(errno.EAGAIN, "Resource temporarily unavailable")]
    service.says = http(document(2))
    watch.look()
    watch.look()
    assert status_of(watch)["document_incarnation"] == 2
    assert watch.notices.turns == watch.reflexes.turns == 3
    assert capsys.readouterr().err.count("Resource temporarily unavailable") == 1


def test_a_log_that_can_not_be_written_is_no_reason_to_end(monkeypatch):
    class Full:
        def write(self, _text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stderr", Full())
    _watch.say("something")
