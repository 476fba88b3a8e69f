# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a VM receives at its metadata address, rule by rule and in their order; the limit; the log."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import types
from unittest import mock

import pytest
from helpers.simulator_inside import a_request, part
from helpers.simulator_process import EVENTS_PATH

EVENTS = f"{EVENTS_PATH}?api-version=2020-07-01"
PREVIEW = f"{EVENTS_PATH}?api-version=2017-03-01"
INSTANCE = "/metadata/instance?api-version=2021-02-01"
VERSIONS = "/metadata/versions"
HEADER = (400, "Bad request. Required metadata header not specified")
TWICE = (400, {"error": "Bad request. Duplicate query parameters are not allowed"})
rules = part("request_rules")


def heard(simulator, path, method="GET", **more):
    answer = simulator.ask("web-0", path, method, **more)
    return answer.status, answer.json.get("error", "").partition(":")[0]


def text(simulator, below):
    answer = simulator.ask("web-0", f"/metadata/instance{below}?api-version=2021-02-01&format=text")
    return answer.body.decode() if answer.status == 200 else answer.status


def refusal(call, *arguments):
    with pytest.raises(rules.RefusedError) as error:
        call(*arguments)
    response = error.value.response
    assert json.loads(response.body)["error"] == str(error.value)
    return response.status, json.loads(response.body)


# Requests.


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("/metadata/scheduledevents", "scheduledevents"), ("/Metadata/ScheduledEvents/", "scheduledevents"),
        ("//metadata//scheduledevents", "scheduledevents"), ("/metadata/%73cheduledevents", "scheduledevents"),
        ("/metadata/versions", "versions"), ("/metadata/instance", "instance"),
        ("/metadata/instance/compute/name", "instance"), ("/metadata/scheduledevents/x", None),
        ("/metadata/versions/x", None), ("/metadata/instances", None), ("/other/instance", None), ("/metadata", None),
        ("/scheduledevents", None), ("", None),
    ],
)  # fmt: skip
def test_which_part_of_the_service_a_path_belongs_to(path, area):
    assert rules.area_of(path) == area


def test_names_of_a_query_are_in_lower_case_and_stand_once_and_values_are_as_they_are():
    assert rules.query_of(a_request("GET", "/x?API-Version=A&b=&C=D%20e&d=A")) == {
        "api-version": "A", "b": "", "c": "D e", "d": "A",
    }  # fmt: skip
    for query in ("a=1&a=2", "a=1&A=1", "b=1&a=1&b=1"):
        assert refusal(rules.query_of, a_request("GET", f"/x?{query}")) == TWICE


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff", b"{", b"7", b"[]", b"{}", b'{"StartRequests": []}', b'{"StartRequests": 7}',
        b'{"StartRequests": [7]}', b'{"StartRequests": [{}]}', b'{"StartRequests": [{"EventId": ""}]}',
        b'{"StartRequests": [{"EventId": 7}]}', b'{"StartRequests": [{"EventId": "A"}, {"EventId": ""}]}',
        b'{"StartRequests": null}', b'{"StartRequests": {}}', b'{"StartRequests": ["A"]}',
    ],
)  # fmt: skip
def test_what_is_no_approval(body):
    assert refusal(rules.start_requests, body) == (400, {"error": "Bad request. The payload is malformed"})


# Answers.


@pytest.mark.parametrize("value", ["true", "TRUE", " true "])
def test_its_case_does_not_matter_and_the_preview_needs_none_for_events_only(simulator, value):
    assert heard(simulator, EVENTS, headers={"metadata": value}) == (200, "")
    assert heard(simulator, PREVIEW, headers={}) == (200, "")
    assert heard(simulator, INSTANCE.replace("2021-02-01", "2017-03-01"), headers={}) == HEADER
    assert heard(simulator, f"{VERSIONS}?api-version=2017-03-01", headers={}) == HEADER


@pytest.mark.parametrize(
    ("form", "leaf", "branch"),
    [
        ("", 400, 200), ("&format=json", 400, 200), ("&format=JSON", 400, 200), ("&format=text", 200, 200),
        ("&format=TEXT", 200, 200), ("&format=", 400, 400), ("&format=x", 400, 400), ("&format=Zext", 400, 400),
    ],
)  # fmt: skip
def test_a_leaf_is_a_text_and_a_branch_is_json_or_a_list_of_what_is_below(simulator, form, leaf, branch):
    name = simulator.ask("web-0", f"/metadata/instance/compute/name?api-version=2021-02-01{form}")
    everything = simulator.ask("web-0", INSTANCE + form)
    assert (name.status, everything.status) == (leaf, branch)
    if leaf == 200:
        assert (name.body, name.headers["content-type"]) == (b"web-0", "text/plain; charset=utf-8")
    elif branch == 200:
        assert list(everything.json) == ["compute", "network"]


@pytest.mark.parametrize(
    ("below", "shown"),
    [
        ("", "compute/\nnetwork/"),
        ("/compute/osProfile", "adminUsername\ncomputerName\ndisablePasswordAuthentication"),
        ("/Compute/OSPROFILE/computername", "web-0"),
        ("/network/interface", "0/"),
        ("/network/interface/0", "ipv4/\nipv6/\nmacAddress"),
        ("/network/interface/0/ipv4/subnet/0/prefix", "16"),
        ("/compute/publicKeys", ""),
        *((f"/network/interface/{place}", 404) for place in ("1", "7", "-1", "x")),
        *((below, 404) for below in ("/compute/name/0", "/compute/nothing", "/nothing")),
    ],
)
def test_what_is_below(simulator, below, shown):
    assert text(simulator, below) == shown


def test_a_list_shows_as_many_as_it_has(start):
    keys = [{"path": "a"}, {"path": "b"}]
    simulator = start({"vms": [{"name": "web-0", "compute": {"publicKeys": keys}}]})
    assert text(simulator, "/compute/publicKeys") == "0/\n1/"
    assert text(simulator, "/compute/publicKeys/1/path") == "b"
    assert text(simulator, "/compute/publicKeys/2") == 404
    assert simulator.ask("web-0", "/metadata/instance/compute/publicKeys?api-version=2021-02-01").json == keys


# So many requests in any one second.


@pytest.fixture
def allowed(driven):
    """A function that returns whether each of so many requests of a VM is allowed, two a second."""
    limit = part("rate_limit").RateLimit(2)
    vms = {name: types.SimpleNamespace(key=name) for name in "ab"}

    def ask(names, reset=False):
        if reset:
            limit.reset()
        return "".join("-+"[not limit.is_exceeded_by(vms[name])] for name in names)

    return ask


def test_so_many_are_allowed_for_each_vm_until_a_reset(allowed):
    assert allowed("aabaabb") == "+++--+-"
    assert allowed("abb", reset=True) == "+++"


@pytest.mark.parametrize("uptime", [0.5, 5000])
def test_a_request_counts_for_one_second_and_one_that_was_turned_away_does_not(allowed, driven, uptime):
    """Also soon after the machine has been started."""
    driven.go_on(uptime - driven.monotonic())
    asked = [(0, "a"), (0.5, "a"), (0.499, "aa"), (0.001, "aa"), (0.5, "aa"), (1.5, "aaa"), (1, "aaa")]
    seen = []
    for seconds, names in asked:
        driven.go_on(seconds)
        seen.append(allowed(names))
    assert seen == ["+", "+", "--", "+-", "+-", "++-", "++-"]


@pytest.mark.parametrize(("most", "expected"), [(0, 400), (1, 1), (300, 300)])
def test_other_limits(driven, most, expected):
    limit = part("rate_limit").RateLimit(most)
    assert [limit.is_exceeded_by(types.SimpleNamespace(key="a")) for _time in range(400)].count(False) == expected


def test_too_many_requests_are_turned_away_unread_and_counted_under_faults_too(start):
    simulator = start(requests_per_second=2)
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="error_500", count=1)
    assert [simulator.read("web-0").status for _time in range(3)] == [500, 200, 429]
    answer = simulator.approve("web-0", event)
    assert (answer.status, answer.json) == (429, {"error": "Too many requests"})
    assert not simulator.event(event)["approved"]
    assert [entry["status"] for entry in simulator.log()] == [500, 200, 429, 429]


# The log.


def test_the_log_holds_each_request_and_its_answer(simulator):
    simulator.ask("web-1", "/nothing?x=1", "POST", b"\xffx", headers={"A": "b"})
    simulator.time.go_on(2)
    simulator.fault(kind="slow", delay=3)
    simulator.read("web-0")
    first, second = simulator.log()
    assert first == {
        "seq": 1, "time": 1_800_000_000, "vm": "web-1", "method": "POST", "path": "/nothing", "query": "x=1",
        "headers": {"A": "b"}, "body": "\ufffdx", "status": 404, "impact": None, "fault": None, "approved": [],
        "violations": [], "answered": 1_800_000_000,
    }  # fmt: skip
    assert (second["seq"], second["time"], second["answered"]) == (2, 1_800_000_002, 1_800_000_005)
    assert (second["fault"], second["status"]) == ("slow", 200)
    simulator.clear_log()
    assert simulator.log() == []
    simulator.read("web-0")
    assert [entry["seq"] for entry in simulator.log()] == [3]


def test_the_log_keeps_so_many_and_who_reads_it_has_a_copy(driven):
    log = part("request_log").RequestLog(longest=3)
    for _time in range(5):
        entry = log.begin(types.SimpleNamespace(key="web-0"), a_request("GET", "/"))
    seen = log.entries()
    assert [entry["seq"] for entry in seen] == [3, 4, 5]
    entry["status"] = 200
    assert (seen[-1]["status"], log.entries()[-1]["status"]) == (None, 200)
    assert part("request_log").RequestLog()._entries.maxlen == 200_000


# One connection, through a real pair of sockets: what is asked, when it ends; and an answer on the wire.

connection_part = part("connection")
messages = part("http_messages")
Response = messages.Response
MEBIBYTE = 1024 * 1024


class Client:
    """A client of a connection that is served in a thread."""

    def __init__(self, answer):
        self.requests = []
        self.answer = answer
        self.socket, self.connection = socket.socketpair()
        self.socket.settimeout(60)
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self):
        # A pair has no port, so no TCP_NODELAY; `serve` closes it all the same.
        with self.connection:
            connection_part.Connection(self.connection, ("peer", 1), self._answered)

    def _answered(self, request, client_is_there):
        self.requests.append(request)
        return self.answer(request, client_is_there) if callable(self.answer) else self.answer

    def says(self, *lines, body=b"", ends=True):
        """Return all that is answered until the connection is closed, by the client unless told otherwise."""
        threading.Thread(target=self._writes, args=(lines, body, ends), daemon=True).start()
        self.thread.start()
        heard = b""
        # It is reset where more was written than read.
        with contextlib.suppress(ConnectionResetError):
            while piece := self.socket.recv(65536):
                heard += piece
        self.thread.join(60)
        assert not self.thread.is_alive()
        return heard

    def _writes(self, lines, body, ends):
        with contextlib.suppress(OSError):
            self.socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            if ends:
                self.socket.shutdown(socket.SHUT_WR)


@pytest.fixture
def client():
    with contextlib.ExitStack() as stack:

        def make(answer=None):
            made = Client(Response(200, b"hello") if answer is None else answer)
            stack.callback(made.socket.close)
            stack.callback(made.connection.close)
            return made

        yield make


def test_requests_are_handed_on_one_after_the_other_with_all_that_they_say(client):
    one = client()
    heard = one.says("POST /a/b?c=d?e HTTP/1.1", "X-Odd: 1", "Content-Length: 3", "", "xyzGET /b HTTP/1.1")
    first, second = one.requests
    assert (first.method, first.path, first.raw_query, first.body) == ("POST", "/a/b", "c=d?e", b"xyz")
    assert first.headers["x-odd"] == "1"
    assert (second.method, second.path, second.raw_query, second.body) == ("GET", "/b", "", b"")
    assert heard.startswith(b"HTTP/1.1 200 OK\r\n")
    assert heard.endswith(b"Content-Length: 5\r\nConnection: keep-alive\r\n\r\nhello")
    assert heard.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("lines", [["GET / HTTP/1.1", "Connection: close"], ["GET / HTTP/1.0"]])
def test_the_client_may_wish_it_to_end(client, lines):
    one = client()
    heard = one.says(*lines, "", "GET /b HTTP/1.1", ends=False)
    assert (len(one.requests), heard.count(b"Connection: close")) == (1, 1)


@pytest.mark.parametrize(("method", "body"), [("HEAD", b""), ("GET", b"hello"), ("AAA", b"hello"), ("ZZZ", b"hello")])
def test_only_to_head_there_is_no_body(client, method, body):
    heard = client().says(f"{method} / HTTP/1.1")
    assert heard.endswith(b"Content-Length: 5\r\nConnection: keep-alive\r\n\r\n" + body)


def test_no_answer_closes_the_connection(client):
    one = client(lambda _request, _there: None)
    assert one.says("GET / HTTP/1.1", "", "GET /b HTTP/1.1", ends=False) == b""
    assert len(one.requests) == 1


@pytest.mark.parametrize(
    "header",
    ["Transfer-Encoding: chunked", "Content-Length: x", "Content-Length: -1", f"Content-Length: {MEBIBYTE + 1}"],
)
def test_a_length_that_is_not_allowed_ends_it(client, header):
    one = client()
    heard = one.says("POST / HTTP/1.1", header, "", "GET /b HTTP/1.1", ends=False)
    assert one.requests == []
    assert heard.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\nConnection: close\r\n" in heard
    assert heard.endswith(b'{"error":"Bad request. The length of the payload is missing or not allowed"}')


def test_a_mebibyte_is_allowed(client):
    one = client()
    one.says("POST / HTTP/1.0", f"Content-Length: {MEBIBYTE}", body=b"x" * MEBIBYTE)
    assert len(one.requests[0].body) == MEBIBYTE


@pytest.mark.parametrize(("length", "asked"), [(65536, 1), (65537, 0)])
def test_a_line_may_be_so_long(client, length, asked):
    one = client()
    one.says("GET /" + "x" * (length - len("GET / HTTP/1.1\r\n")) + " HTTP/1.1")
    assert len(one.requests) == asked


def test_what_is_not_http_is_not_answered_and_does_no_harm(client):
    one = client()
    one.says("\x16\x03\x01 hello")
    assert one.requests == []


def test_whether_the_client_is_there_or_has_left_and_that_the_connection_stays_as_patient(client):
    seen = []

    def answer(_request, is_there):
        seen.append(is_there())
        one.socket.sendall(b"more")
        seen.append(is_there())
        seen.append(one.connection.gettimeout())
        one.socket.close()
        one.connection.recv(4)
        seen.append(is_there())

    one = client(answer)
    one.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    one.thread.start()
    one.thread.join(60)
    assert seen == [True, True, 120, False]


def test_two_minutes_of_silence_end_it(client, monkeypatch):
    assert connection_part.Connection.timeout == 120
    monkeypatch.setattr(connection_part.Connection, "timeout", 0.01)
    one = client()
    one.thread.start()
    one.thread.join(60)
    assert not one.thread.is_alive()


@pytest.fixture
def tcp():
    """The two ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        mine = socket.create_connection(listening.getsockname(), timeout=60)
        its, _peer = listening.accept()
    with mine, its:
        its.setblocking(False)
        yield mine, its


def test_a_connection_over_tcp_answers_at_once_and_is_closed(tcp):
    mine, its = tcp
    delays = []

    def answer(_request, _there):
        delays.append(its.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return Response(200, b"hello")

    mine.sendall(b"GET / HTTP/1.0\r\n\r\n")
    connection_part.serve(its, ("peer", 1), answer)
    assert delays[0]
    assert its.fileno() == -1
    assert mine.makefile("rb").read().endswith(b"hello")


def test_a_client_that_has_left_without_a_word_is_not_there(tcp):
    mine, its = tcp
    seen = []

    def answer(_request, is_there):
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        mine.close()
        seen.append(is_there())

    mine.sendall(b"GET / HTTP/1.0\r\n\r\n")
    connection_part.serve(its, ("peer", 1), answer)
    assert seen == [False]


# An answer on the wire.


def lines(response, keep_alive=True):
    with mock.patch.object(messages.email.utils, "formatdate", return_value="the date") as dated:
        head, _blank, body = response.rendered(keep_alive).partition(b"\r\n\r\n")
    dated.assert_called_once_with(usegmt=True)
    return head.decode("latin-1").split("\r\n"), body


def test_an_answer_line_by_line():
    assert lines(messages.json_response(404, {"a": [1, None], "b": "ü"})) == (
        [
            "HTTP/1.1 404 Not Found",
            "Server: metadata-simulator",
            "Date: the date",
            "Content-Type: application/json; charset=utf-8",
            "Content-Length: 27",
            "Connection: keep-alive",
        ],
        b'{"a":[1,null],"b":"\\u00fc"}',
    )
    assert lines(Response(200), keep_alive=False)[0][-1] == "Connection: close"


def test_headers_of_its_own_win_and_what_no_header_can_hold_does_no_harm():
    response = Response(203, b"x", "text/plain", {"Content-Type": "a/b", "X-Odd": "\u4e2d"})
    assert lines(response) == (
        ["HTTP/1.1 203 Non-Authoritative Information", "Server: metadata-simulator", "Date: the date",
         "Content-Type: a/b", "Content-Length: 1", "Connection: keep-alive", "X-Odd: ?"],
        b"x",
    )  # fmt: skip
    other = response.with_body(b"yy")
    assert (other.status, other.body, other.content_type, other.headers) == (203, b"yy", "text/plain", response.headers)


@pytest.mark.parametrize(("status", "reason"), [(418, "I'm a Teapot"), (299, "Unknown")])
def test_an_unknown_status_has_a_reason_too(status, reason):
    assert lines(Response(status))[0][0] == f"HTTP/1.1 {status} {reason}"
