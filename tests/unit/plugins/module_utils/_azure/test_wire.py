# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The transports against servers that misbehave on the wire itself, byte by byte."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service import dhcp_leases as _leases
from ansible_collections.maintenance.azure.plugins.module_utils._service import endpoint as _endpoint
from ansible_collections.maintenance.azure.plugins.module_utils._service import exchange as _exchange
from ansible_collections.maintenance.azure.plugins.module_utils._service import imds as _imds
from ansible_collections.maintenance.azure.plugins.module_utils._service import patience as _patience
from ansible_collections.maintenance.azure.plugins.module_utils._service import targets as _targets
from ansible_collections.maintenance.azure.plugins.module_utils._service.http_transport import HttpTransport
from ansible_collections.maintenance.azure.plugins.module_utils._service.socket_transport import SocketTransport
from helpers.network import closed_port

pytestmark = pytest.mark.waits

TARGET = _targets.events_target("2020-07-01")
GOOD_BODY = b'{"DocumentIncarnation": 1, "Events": []}'


TRANSPORTS = {
    "http.client": HttpTransport,
    "socket": SocketTransport,
    "kept socket": lambda endpoint: SocketTransport(endpoint, keep=True),
}
USED = {}


@pytest.fixture(params=TRANSPORTS, autouse=True)
def _each_transport(request, monkeypatch):
    monkeypatch.setitem(USED, "transport", TRANSPORTS[request.param])


def response(body=GOOD_BODY, head=b"HTTP/1.1 200 OK\r\n", length=None):
    return head + b"Content-Length: %d\r\n\r\n" % (len(body) if length is None else length) + body


@contextlib.contextmanager
def server(answer):
    """Give every connection to `answer`, a function of the connected socket and the request's text."""
    listener = socket.create_server(("127.0.0.1", 0))
    seen = []

    def serve():
        while True:
            try:
                connection, _peer = listener.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection):
        with connection, contextlib.suppress(OSError):
            request = connection.recv(65536).decode()
            seen.append(request)
            answer(connection, request)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
    finally:
        listener.close()


def drip(data):
    def answer(connection, _request):
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)

    return answer


def read(endpoint, timeout):
    return _imds.read_from([endpoint], "2020-07-01", False, timeout, USED["transport"])


def failure_of(answer, timeout=2):
    with server(answer) as (endpoint, seen):
        started = time.monotonic()
        with pytest.raises(_patience.ImdsError) as failure:
            read(endpoint, timeout)
    return failure.value.kind, time.monotonic() - started, len(seen)


def test_a_good_answer_is_passed_on_as_it_came():
    with server(lambda connection, _request: connection.sendall(response())) as (endpoint, seen):
        answers = read(endpoint, 5)
    assert answers["events"]["body"].encode() == GOOD_BODY
    assert answers["events"]["status"] == 200
    assert abs(answers["events"]["at"] - time.time()) < 5
    assert answers["instance"] is None
    assert seen[0].startswith(f"GET {TARGET} HTTP/1.1\r\n")
    assert "metadata: true" in seen[0].lower()
    assert "x-forwarded-for" not in seen[0].lower()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda connection, _request: time.sleep(10), id="hang"),
        pytest.param(drip(response()[:60]), id="headers drop by drop"),
        pytest.param(drip(b"HTTP/1.1 200 OK\r\n\r\n" + GOOD_BODY), id="body drop by drop"),
        pytest.param(
            lambda connection, request: (connection.sendall(response(length=500)), time.sleep(10)), id="body stops"
        ),
    ],
)
def test_no_server_holds_the_task_longer_than_the_timeout(answer):
    kind, seconds, _requests = failure_of(answer, timeout=2)
    assert kind == "timed_out"
    assert 1.5 < seconds < 3


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda connection, _request: connection.close(), id="closed"),
        pytest.param(lambda connection, _request: connection.sendall(response(length=500)), id="body cut"),
        pytest.param(lambda connection, _request: connection.sendall(b"HTTP/1.1 200 OK\r\nConte"), id="headers cut"),
        pytest.param(lambda connection, _request: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n"), id="not HTTP"),
        pytest.param(
            lambda connection, _request: connection.sendall(
                b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"Doc'
            ),
            id="chunks cut",
        ),
    ],
)
def test_a_cut_connection_is_tried_again_and_never_an_answer(answer):
    kind, _seconds, requests = failure_of(answer, timeout=2)
    # On a busy machine the time may be over while the last try is under way.
    assert kind in ("broken", "busy", "timed_out")
    assert requests >= 2


def test_an_endless_body_is_given_up_after_a_mebibyte():
    def answer(connection, _request):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _piece in range(64):
            connection.sendall(b" " * 65536)

    kind, seconds, requests = failure_of(answer, timeout=10)
    assert (kind, requests) == ("too_large", 1)
    assert seconds < 5


def test_bytes_that_are_no_text_are_refused():
    kind, _seconds, _requests = failure_of(
        lambda connection, _request: connection.sendall(response(b'{"a": "\xff\xfe"}'))
    )
    assert kind == "not_text"


def test_a_byte_order_mark_does_not_matter():
    with server(lambda connection, _request: connection.sendall(response(b"\xef\xbb\xbf" + GOOD_BODY))) as (
        endpoint,
        _seen,
    ):
        assert read(endpoint, 5)["events"]["body"].encode() == GOOD_BODY


def test_chunked_answers_are_read():
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD_BODY), GOOD_BODY)
    with server(lambda connection, _request: connection.sendall(chunks)) as (endpoint, _seen):
        assert read(endpoint, 5)["events"]["body"].encode() == GOOD_BODY


def test_a_redirect_is_never_followed():
    with server(lambda connection, _request: connection.sendall(response())) as (elsewhere, visited):
        moved = f"HTTP/1.1 302 Found\r\nLocation: {elsewhere}/\r\nContent-Length: 0\r\n\r\n".encode()
        kind, _seconds, requests = failure_of(lambda connection, _request: connection.sendall(moved))
    assert (kind, requests, visited) == ("redirect", 1, [])


def test_proxies_of_the_environment_are_never_used(monkeypatch):
    with server(lambda connection, _request: connection.sendall(response())) as (proxy, visited):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        with server(lambda connection, _request: connection.sendall(response())) as (endpoint, seen):
            read(endpoint, 5)
    assert (len(seen), visited) == (1, [])


def test_the_first_endpoint_that_is_the_service_is_used(closed_endpoint):
    def something_else(connection, _request):
        connection.sendall(response(b"not the service"))

    def the_service(connection, _request):
        connection.sendall(response())

    with server(something_else) as (other, _seen), server(the_service) as (service, _visited):
        answers = _imds.read_from([closed_endpoint(), other, service], "2020-07-01", False, 20, USED["transport"])
    assert answers["endpoint"] == service


def test_every_endpoint_that_was_tried_is_named_in_the_failure(closed_endpoint):
    nobody, nobody_else = closed_endpoint(), closed_endpoint()
    with pytest.raises(_patience.ImdsError) as failure:
        _imds.read_from([nobody, nobody_else], "2020-07-01", False, 3, USED["transport"])
    assert nobody in str(failure.value)
    assert nobody_else in str(failure.value)


@pytest.fixture
def closed_endpoint():
    with contextlib.ExitStack() as ports:
        yield lambda: f"http://127.0.0.1:{ports.enter_context(closed_port())}"


def test_auto_goes_on_to_the_endpoint_that_dhcp_names(monkeypatch, closed_endpoint):
    with server(lambda connection, _request: connection.sendall(response())) as (discovered, _seen):
        monkeypatch.setattr(_endpoint, "DEFAULT_ENDPOINT", closed_endpoint())
        monkeypatch.setattr(_leases, "discovered_endpoints", lambda: [closed_endpoint(), discovered])
        request = {"endpoints": ["auto"], "api_version": "2020-07-01", "timeout": 20, "with_instance": False}
        assert _exchange.carried_out(request, False, USED["transport"])["answers"]["endpoint"] == discovered
