# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One connection, through a real pair of sockets: what is asked, when it ends; and an answer on the wire."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from unittest import mock

import pytest
from helpers.simulator_inside import part

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
