# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The approval of a reflex: what is looked at right before each try, and what is written down."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure import http as _http
from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds
from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import parse_document
from ansible_collections.maintenance.azure.plugins.module_utils._host.clock import boot_id
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import all_drained, begun, utc_now
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.reflex import Actions, NotDone

OURS = "watcher of h0"


def raw(event_id="E0", name="h0", **more):
    found = {"EventId": event_id, "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": [name]}
    return {**found, "NotBefore": "Mon, 16 Nov 2099 00:00:00 GMT", **more}


def body(number, *events):
    return json.dumps({"DocumentIncarnation": number, "Events": list(events)})


ALONE = body(1, raw())
BESIDE_ANOTHER = body(2, raw(), raw("E1", "h1", EventStatus="Started", NotBefore=""))


class Host:
    """A drained host, and its service: answers GET with `document`, and POST with what is left of `posts`."""

    endpoint = "http://service"

    def __init__(self, folder):
        self.asked, self.told, self.posts, self.document = [], [], [200], ALONE
        self.run_is_there = False
        self.when_asked = lambda _method: None
        settings = {"journal": str(folder / "journal.json"), "name": "h0", "api_version": "2020-07-01"}
        self.actions = Actions(settings, OURS, lambda what, **_more: self.told.append(what), lambda: self.run_is_there)
        self.parsed = parse_document(ALONE)
        journal = begun(None, self.parsed["events"], OURS, boot_id(), utc_now())
        self.actions.journal.change(lambda _none: all_drained(journal, utc_now()))

    def send(self, method, *_more):
        self.asked.append(method)
        self.when_asked(method)
        if method == "GET":
            return _http.Answer(200, {}, self.document.encode(), 0.0)
        answer = self.posts.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return _http.Answer(answer, {}, b"", 0.0)

    def approve(self):
        self.actions.approve(self.parsed["events"][0], self.parsed, "h0", self.endpoint, "2020-07-01")

    def marks(self):
        return [mark["event"] for mark in self.actions.journal.read().get("marks", [])]


@pytest.fixture
def host(tmp_path, monkeypatch):
    found = Host(tmp_path)
    monkeypatch.setattr(_http, "HttpTransport", lambda _endpoint: found)
    monkeypatch.setattr(_imds.Conversation.__init__, "__defaults__", (lambda: 0.0, lambda _seconds: None, lambda: 0.5))
    return found


def test_compare_mark_send(host):
    host.approve()
    assert (host.asked, host.marks()) == (["GET", "POST"], ["E0"])
    assert host.told == ["approval begins", "approved"]


def test_before_each_try_the_document_must_hold_no_event_of_another_vm(host):
    """The service is busy for seconds; meanwhile Azure starts an event of another VM."""
    host.posts = [503, 503, 200]

    def azure_goes_on(method):
        if method == "POST":
            host.document = BESIDE_ANOTHER

    host.when_asked = azure_goes_on
    with pytest.raises(NotDone, match="no longer alone"):
        host.approve()
    assert (host.asked, host.marks()) == (["GET", "POST", "GET"], [])
    assert host.told == ["approval begins", "approval refused"]


def test_a_service_that_was_busy_gets_it_after_another_look(host):
    host.posts = [503, 429, 200]
    host.approve()
    assert (host.asked, host.marks()) == (["GET", "POST"] * 3, ["E0"])
    assert host.told == ["approval begins", "approved"]


def test_a_run_that_comes_while_the_service_is_read_keeps_it_from_being_sent(host):
    def run_comes(_method):
        host.run_is_there = True

    host.when_asked = run_comes
    with pytest.raises(NotDone, match="A run has come"):
        host.approve()
    assert (host.asked, host.marks(), host.told) == (["GET"], [], [])


def test_a_run_that_comes_between_two_tries_does_so_too(host):
    host.posts = [503, 200]

    def run_comes(method):
        host.run_is_there = method == "POST" or host.run_is_there

    host.when_asked = run_comes
    with pytest.raises(NotDone, match="A run has come"):
        host.approve()
    assert (host.asked, host.marks()) == (["GET", "POST", "GET"], [])


def test_what_may_have_arrived_before_stays_marked_when_a_later_one_is_turned_away(host):
    host.posts = [_http.TimedOut(), 400]
    for _try in range(2):
        with pytest.raises(NotDone):
            host.approve()
    assert host.marks() == ["E0"]
    assert host.told == ["approval begins", "approval unclear", "approval begins", "approval refused"]
