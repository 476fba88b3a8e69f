# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One connection: what is asked, what is answered, when it ends. Through a real pair of sockets."""

from __future__ import annotations

import socket
import struct
import threading

import pytest
from helpers.simulator_inside import part

connection_part = part("connection")
Response = part("http_messages").Response
MEBIBYTE = 1024 * 1024


class Client:
    def __init__(self, answer):
        self.requests = []
        self.there = []
        self.answer = answer
        mine, its = socket.socketpair()
        self.socket = mine
        self.socket.settimeout(5)
        self.connection = its
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self):
        # A pair has no port, so no TCP_NODELAY; `serve` closes it all the same.
        with self.connection:
            connection_part.Connection(self.connection, ("peer", 1), self._answered)

    def _answered(self, request, client_is_there):
        self.requests.append(request)
        self.there.append(client_is_there)
        return self.answer(request, client_is_there) if callable(self.answer) else self.answer

    def says(self, *lines, body=b"", ends=True):
        """All that is answered until the connection is closed, by the client where nobody else does."""
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        if ends:
            self.socket.shutdown(socket.SHUT_WR)
        self.thread.start()
        heard = b""
        while True:
            piece = self.socket.recv(65536)
            if not piece:
                break
            heard += piece
        self.thread.join(5)
        assert not self.thread.is_alive()
        return heard


@pytest.fixture
def client():
    made = []

    def make(answer=None):
        made.append(Client(Response(200, b"hello") if answer is None else answer))
        return made[-1]

    yield make
    for one in made:
        one.socket.close()
        one.connection.close()


def test_a_request_is_handed_on_with_all_that_it_says(client):
    one = client()
    heard = one.says("POST /a/b?c=d?e HTTP/1.1", "X-Odd: 1", "Content-Length: 3", body=b"xyz")
    (request,) = one.requests
    assert (request.method, request.path, request.raw_query, request.body) == ("POST", "/a/b", "c=d?e", b"xyz")
    assert request.headers["x-odd"] == "1"
    assert heard.startswith(b"HTTP/1.1 200 OK\r\n")
    assert heard.endswith(b"Content-Length: 5\r\nConnection: keep-alive\r\n\r\nhello")


def test_without_a_length_there_is_no_body(client):
    one = client()
    one.says("GET / HTTP/1.1")
    assert one.requests[0].body == b""


def test_one_after_the_other(client):
    one = client()
    heard = one.says("POST /a HTTP/1.1", "Content-Length: 1", "", "xGET /b HTTP/1.1")
    assert [(request.path, request.body) for request in one.requests] == [("/a", b"x"), ("/b", b"")]
    assert heard.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("lines", [["GET / HTTP/1.1", "Connection: close"], ["GET / HTTP/1.0"]])
def test_the_client_may_wish_it_to_end(client, lines):
    one = client()
    heard = one.says(*lines, "", "GET /b HTTP/1.1", ends=False)
    assert (len(one.requests), heard.count(b"Connection: close")) == (1, 1)


def test_to_head_there_is_no_body(client):
    heard = client().says("HEAD / HTTP/1.1")
    assert heard.endswith(b"Content-Length: 5\r\nConnection: keep-alive\r\n\r\n")


@pytest.mark.parametrize("method", ["GET", "AAA", "ZZZ"])
def test_to_anything_else_there_is(client, method):
    assert client().says(f"{method} / HTTP/1.1").endswith(b"\r\n\r\nhello")


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
    writer = threading.Thread(target=one.socket.sendall, args=(b"x" * MEBIBYTE,), daemon=True)
    one.socket.sendall(f"POST / HTTP/1.0\r\nContent-Length: {MEBIBYTE}\r\n\r\n".encode())
    writer.start()
    one.thread.start()
    one.thread.join(5)
    assert len(one.requests[0].body) == MEBIBYTE


@pytest.mark.parametrize(("length", "asked"), [(65536, 1), (65537, 0)])
def test_a_line_may_be_so_long(client, length, asked):
    one = client()
    line = "GET /" + "x" * (length - len("GET / HTTP/1.1\r\n")) + " HTTP/1.1"
    writer = threading.Thread(target=one.socket.sendall, args=(f"{line}\r\n\r\n".encode(),), daemon=True)
    writer.start()
    one.thread.start()
    writer.join(5)
    one.socket.shutdown(socket.SHUT_WR)
    one.thread.join(5)
    assert len(one.requests) == asked


def test_what_is_not_http_is_not_answered_and_does_no_harm(client):
    one = client()
    one.says("\x16\x03\x01 hello")
    assert one.requests == []


def test_whether_the_client_is_there(client):
    seen = []

    def answer(_request, is_there):
        seen.append(is_there())
        one.socket.sendall(b"more")
        seen.append(is_there())
        return Response(200)

    one = client(answer)
    one.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    one.thread.start()
    assert one.socket.recv(4)
    one.socket.close()
    one.thread.join(5)
    assert seen == [True, True]


def test_whether_the_client_has_left(client):
    seen = []

    def answer(_request, is_there):
        one.socket.close()
        seen.append(is_there())

    one = client(answer)
    one.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    one.thread.start()
    one.thread.join(5)
    assert seen == [False]


def test_asking_leaves_the_connection_as_patient_as_before(client):
    def answer(_request, is_there):
        is_there()
        timeouts.append(one.connection.gettimeout())
        return Response(200)

    timeouts = []
    one = client(answer)
    one.says("GET / HTTP/1.1")
    assert timeouts == [120]


def test_two_minutes_of_silence_end_it(client):
    assert connection_part.Connection.timeout == 120
    one = client()
    one.connection.settimeout(0.01)
    connection_part.Connection.timeout, before = 0.01, connection_part.Connection.timeout
    try:
        one.thread.start()
        one.thread.join(5)
    finally:
        connection_part.Connection.timeout = before
    assert not one.thread.is_alive()


@pytest.fixture
def tcp():
    """The two ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        mine = socket.create_connection(listening.getsockname(), timeout=5)
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
