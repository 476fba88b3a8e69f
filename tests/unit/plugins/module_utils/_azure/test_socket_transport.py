# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection that is kept: one for many requests, a new one where the service has closed it, never a wrong answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service.endpoint import address_of
from ansible_collections.maintenance.azure.plugins.module_utils._service.socket_transport import SocketTransport
from ansible_collections.maintenance.azure.plugins.module_utils._service.wire import Broken, TimedOut, TooLarge
from helpers.waiting import PATIENCE

HEADERS = {"Metadata": "true", "Connection": "close"}


def response(body, *fields):
    head = "".join(f"{field}\r\n" for field in ("HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *fields))
    return f"{head}\r\n".encode() + body


@contextlib.contextmanager
def server(answer):
    """`answer(number of the connection, number of the request on it)` gives the bytes, or None to hang up."""
    listener = socket.create_server(("127.0.0.1", 0))
    requests = []

    def serve():
        number = 0
        while True:
            try:
                connection, _peer = listener.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(connection, number), daemon=True).start()
            number += 1

    def handle(connection, number):
        with connection, contextlib.suppress(OSError):
            count = 0
            while True:
                request = connection.recv(65536)
                if not request:
                    return
                requests.append((number, request.decode()))
                sent = answer(number, count)
                if sent is None:
                    return
                connection.sendall(sent)
                count += 1

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
    finally:
        listener.close()


def get(transport, method="GET", body=None):
    return transport.send(method, "/x", body, HEADERS, 2, 2).body


def connections_of(requests):
    return [number for number, _request in requests]


def test_many_requests_take_one_connection():
    with server(lambda _number, count: response(b"%d" % count)) as (endpoint, requests):
        transport = SocketTransport(endpoint, keep=True)
        assert [get(transport) for _time in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
        transport.close()
    assert connections_of(requests) == [0] * 5
    assert "connection: close" not in requests[0][1].lower()


def test_without_keep_each_request_has_its_own_and_says_so():
    with server(lambda _number, _count: response(b"x")) as (endpoint, requests):
        transport = SocketTransport(endpoint)
        assert [get(transport), get(transport)] == [b"x", b"x"]
    assert connections_of(requests) == [0, 1]
    assert "connection: close" in requests[0][1].lower()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(response(b"x", "Connection: close"), id="says close"),
        pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", id="HTTP/1.0"),
        pytest.param(response(b"x") + b"more", id="more than was asked for"),
    ],
)
def test_a_connection_that_can_not_be_kept_is_not(answer):
    with server(lambda _number, _count: answer) as (endpoint, requests):
        transport = SocketTransport(endpoint, keep=True)
        assert [get(transport), get(transport)] == [b"x", b"x"]
    assert connections_of(requests) == [0, 1]


def test_one_that_the_service_has_closed_is_made_anew_at_once():
    with server(lambda number, count: response(b"%d" % number) if count == 0 else None) as (endpoint, requests):
        transport = SocketTransport(endpoint, keep=True)
        assert [get(transport), get(transport)] == [b"0", b"1"]
    assert connections_of(requests) == [0, 0, 1]


def test_a_post_is_not_sent_twice_for_that():
    with server(lambda _number, count: response(b"x") if count == 0 else None) as (endpoint, requests):
        transport = SocketTransport(endpoint, keep=True)
        get(transport)
        with pytest.raises(Broken):
            get(transport, "POST", '{"a": "\u00e9"}')
    assert connections_of(requests) == [0, 0]
    assert "Content-Length: 11\r\n" in requests[1][1]


def test_an_answer_that_began_is_never_asked_for_again():
    with server(lambda _number, count: response(b"x") if count == 0 else b"HTTP/1.1 2") as (endpoint, requests):
        transport = SocketTransport(endpoint, keep=True)
        get(transport)
        with pytest.raises(TimedOut):
            get(transport)
    assert connections_of(requests) == [0, 0]


@pytest.mark.parametrize("length", ["-1", "x", "", "1\r\nContent-Length: 2"])
def test_lengths_that_are_none(length):
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nxx".encode()
    with server(lambda _number, _count: answer) as (endpoint, _requests), pytest.raises(Broken):
        get(SocketTransport(endpoint))


def test_lengths_that_no_document_has():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nxx"
    with server(lambda _number, _count: answer) as (endpoint, _requests), pytest.raises(TooLarge):
        get(SocketTransport(endpoint))


def test_chunks_with_what_may_stand_around_them_and_the_next_answer_behind_them():
    chunks = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;name=x\r\nabc\r\n02\r\nde\r\n0\r\nTrailer: y\r\n\r\n"
    )
    with server(lambda _number, count: chunks if count == 0 else response(b"next")) as (endpoint, requests):
        transport = SocketTransport(endpoint, keep=True)
        assert [get(transport), get(transport)] == [b"abcde", b"next"]
    assert connections_of(requests) == [0, 0]


def test_100_continue_is_no_answer():
    with server(lambda _number, _count: b"HTTP/1.1 100 Continue\r\n\r\n" + response(b"x")) as (endpoint, _requests):
        assert get(SocketTransport(endpoint)) == b"x"


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("http://169.254.169.254", ("169.254.169.254", 80)),
        ("http://127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("http://[::1]", ("::1", 80)),
        ("http://[::1]:8080", ("::1", 8080)),
        ("http://name.example:81", ("name.example", 81)),
        ("http://name.example:", ("name.example", 80)),
    ],
)
def test_addresses(endpoint, address):
    assert address_of(endpoint) == address


@pytest.mark.parametrize("status", ["\u00b2\u00b2\u00b2", "+20", "2_0", "\u00b9\u00b9"])
def test_what_only_looks_like_a_status_is_none(status):
    answer = f"HTTP/1.1 {status} OK\r\nContent-Length: 1\r\n\r\nx".encode("latin-1")
    with server(lambda _number, _count: answer) as (endpoint, _requests), pytest.raises(Broken, match="not HTTP"):
        get(SocketTransport(endpoint))


def test_an_answer_that_is_too_large_has_said_its_status():
    answer = b"HTTP/1.1 302 Found\r\nContent-Length: 99999999\r\n\r\nxx"
    with server(lambda _number, _count: answer) as (endpoint, _requests), pytest.raises(TooLarge) as problem:
        get(SocketTransport(endpoint))
    assert problem.value.status == 302


@pytest.mark.parametrize("begins", [b"", b"HTTP/1.1 2"], ids=["hangs", "hangs in the middle"])
def test_while_an_answer_is_waited_for_other_things_are_done(begins):
    with server(lambda _number, _count: begins) as (endpoint, _requests):
        transport, breaths = SocketTransport(endpoint), []
        transport.meanwhile = lambda: breaths.append(time.monotonic())
        began = time.monotonic()
        with pytest.raises(TimedOut):
            transport.send("GET", "/x", None, HEADERS, 2, 2.5)
        assert 2.5 <= time.monotonic() - began < PATIENCE
    assert len(breaths) == 2


def test_an_answer_in_drops_does_not_keep_from_that_either():
    def drops(connection):
        for drop in response(b"done"):
            connection.sendall(bytes([drop]))
            time.sleep(0.04)

    with dripping(drops) as endpoint:
        transport, breaths = SocketTransport(endpoint), []
        transport.meanwhile = lambda: breaths.append(time.monotonic())
        assert transport.send("GET", "/x", None, HEADERS, 2, PATIENCE).body == b"done"
    assert breaths


@contextlib.contextmanager
def dripping(drops):
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            connection, _peer = listener.accept()
            with connection:
                connection.recv(65536)
                drops(connection)

    threading.Thread(target=serve, daemon=True).start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
