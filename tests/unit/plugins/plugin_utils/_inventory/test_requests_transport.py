# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's HTTP, on real sockets: what is sent, what is believed, and when it ends."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import requests
import urllib3
from ansible_collections.maintenance.azure.plugins.module_utils._service import wire as _wire
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory import requests_transport as transport
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.requests_transport import RequestsTransport
from helpers.network import closed_port
from helpers.waiting import PATIENCE

HEADERS = {"Metadata": "true", "Connection": "close"}


@contextlib.contextmanager
def server(talk: Callable[[socket.socket, bytes], None]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that says what `talk` says to each request, and the requests that came."""
    requests: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                peer, _address = listener.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError):
                requests.append(peer.recv(65536))
                talk(peer, requests[-1])

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
    finally:
        listener.close()


def answers(text: bytes) -> Callable[[socket.socket, bytes], None]:
    return lambda peer, _request: peer.sendall(text)


def send(endpoint: str, seconds: float = 5.0) -> _wire.Answer:
    return RequestsTransport(endpoint).send("GET", "/metadata/x?api-version=1", None, HEADERS, 2.0, seconds)


def test_a_request_is_as_small_as_the_service_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with server(answers(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Y: z\r\n\r\nok")) as (endpoint, requests):
        answer = send(endpoint)
    assert (answer.status, answer.body, answer.headers["x-y"]) == (200, b"ok", "z")
    assert abs(answer.at - time.time()) < 60
    (request,) = requests
    assert request.startswith(b"GET /metadata/x?api-version=1 HTTP/1.1\r\n")
    assert b"\r\nMetadata: true\r\n" in request
    assert b"X-Forwarded-For" not in request


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with server(answers(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")) as (
        endpoint,
        requests,
    ):
        assert send(endpoint).status == 302
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", _wire.Broken),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", _wire.Broken),
        (b"nothing like HTTP\r\n\r\n", _wire.Broken),
        (b"", _wire.Broken),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (_wire.LARGEST_BODY + 1), _wire.TooLarge),
    ],
)
def test_half_an_answer_is_none(text: bytes, problem: type[Exception]) -> None:
    with server(answers(text)) as (endpoint, _requests), pytest.raises(problem):
        send(endpoint)


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_a_drop_at_a_time_does_not_move_the_deadline(start: bytes) -> None:
    def drip(peer: socket.socket, _request: bytes) -> None:
        peer.sendall(start)
        for _time in range(100):
            time.sleep(0.05)
            peer.sendall(b" " if start else b"")

    with server(drip) as (endpoint, _requests), pytest.raises(_wire.TimedOut):
        send(endpoint, seconds=0.4)


def test_a_closed_port_is_not_accepted_and_an_unknown_name_not_resolved() -> None:
    with closed_port() as port, pytest.raises(_wire.NotAccepted, match="refused"):
        send(f"http://127.0.0.1:{port}")
    with pytest.raises(_wire.NotResolved):
        send("http://no-such-host.invalid")


def test_each_thread_has_one_session_of_its_own() -> None:
    sessions = []

    def twice() -> None:
        sessions.append((transport._session(), transport._session()))

    for _number in range(2):
        worker = threading.Thread(target=twice)
        worker.start()
        worker.join()
    assert sessions[0][0] is sessions[0][1]
    assert sessions[0][0] is not sessions[1][0]
    assert not sessions[0][0].trust_env


def test_requests_is_used_as_it_is() -> None:
    session = transport._session()
    adapter = session.get_adapter("http://127.0.0.1")
    assert (session.__class__, adapter.__class__) == (requests.Session, requests.adapters.HTTPAdapter)
    assert (
        adapter.poolmanager.connection_from_url("http://127.0.0.1").ConnectionCls is urllib3.connection.HTTPConnection
    )


def test_a_session_that_is_still_busy_is_left_behind() -> None:
    """Nobody can end a request whose headers drip. It must not meet the next one in its session."""
    release = threading.Event()

    def hang(peer: socket.socket, _request: bytes) -> None:
        while not release.is_set():
            peer.sendall(b"H")
            time.sleep(0.05)

    before = transport._session()
    with server(hang) as (endpoint, _requests), pytest.raises(_wire.TimedOut):
        send(endpoint, seconds=0.3)
    release.set()
    assert transport._session() is not before


def test_a_body_that_drips_is_left_when_the_time_is_up() -> None:
    """The thread that reads it ends too: no connection stays behind."""
    ended = threading.Event()

    def drip(peer: socket.socket, _request: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                peer.sendall(b"x" * transport.PIECE)
                time.sleep(0.02)
        except OSError:
            ended.set()

    with server(drip) as (endpoint, _requests), pytest.raises(_wire.TimedOut):
        send(endpoint, seconds=0.3)
    assert ended.wait(PATIENCE)


@contextlib.contextmanager
def full_house(*addresses: str) -> Iterator[int]:
    """A port where, on each address, nobody answers a connection attempt: the queue is full and nobody accepts."""
    with contextlib.ExitStack() as stack:
        port = 0
        for address in addresses:
            listener = stack.enter_context(socket.socket())
            listener.bind((address, port))
            listener.listen(0)
            port = listener.getsockname()[1]
            for _guest in range(2):
                guest = stack.enter_context(socket.socket())
                guest.setblocking(False)
                guest.connect_ex((address, port))
        yield port


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses, and there is one loopback address")
def test_a_name_with_many_silent_addresses_takes_no_longer_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = tuple(f"127.0.0.{number}" for number in range(1, 101))
    with full_house(*addresses) as port:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_names, **_options: found)
        started = time.monotonic()
        with pytest.raises(_wire.NotAccepted, match="no answer to the connection attempt"):
            RequestsTransport(f"http://many.invalid:{port}").send("GET", "/", None, HEADERS, 0.9, 30)
        # One after the other they would take a minute and a half.
        assert time.monotonic() - started < 60
