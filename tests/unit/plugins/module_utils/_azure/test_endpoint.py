# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service from a host: the wire, its patience, versions, leases of DHCP, and what is shown of it."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure import http as _http
from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds
from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import is_as_judged
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import (
    Broken,
    HttpTransport,
    NotAccepted,
    NotResolved,
    TimedOut,
    TooLarge,
    address_of,
)
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import endpoint_of_lease, endpoints_by_dhcp
from ansible_collections.maintenance.azure.plugins.module_utils._host import exchange as _exchange
from helpers.network import closed_port
from helpers.simulator_process import Simulator
from helpers.waiting import PATIENCE
from hypothesis import given
from hypothesis import strategies as st

# A connection that is kept: one for many requests, a new one where the service has closed it, never a wrong answer.

HEADERS = {"Metadata": "true", "Connection": "close"}


def response(body, *fields):
    head = "".join(f"{field}\r\n" for field in ("HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *fields))
    return f"{head}\r\n".encode() + body


@contextlib.contextmanager
def listening(handle):
    """`handle(connection, number of the connection)` is called for each connection, in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        for number in itertools.count():
            try:
                connection, _peer = listener.accept()
            except OSError:
                return
            threading.Thread(target=safely, args=(connection, number), daemon=True).start()

    def safely(connection, number):
        with connection, contextlib.suppress(OSError):
            handle(connection, number)

    threading.Thread(target=serve, daemon=True).start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextlib.contextmanager
def server(answer):
    """`answer(number of the connection, number of the request on it)` gives the bytes, or None to hang up."""
    requests = []

    def handle(connection, number):
        for count in itertools.count():
            request = connection.recv(65536)
            if not request:
                return
            requests.append((number, request.decode()))
            sent = answer(number, count)
            if sent is None:
                return
            connection.sendall(sent)

    with listening(handle) as endpoint:
        yield endpoint, requests


def get(transport, method="GET", body=None):
    return transport.send(method, "/x", body, HEADERS, 2, 2).body


def connections_of(requests):
    return [number for number, _request in requests]


def test_many_requests_take_one_connection():
    with server(lambda _number, count: response(b"%d" % count)) as (endpoint, requests):
        transport = HttpTransport(endpoint, keep=True)
        assert [get(transport) for _time in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
        transport.close()
    assert connections_of(requests) == [0] * 5
    assert "connection: close" not in requests[0][1].lower()


def test_without_keep_each_request_has_its_own_and_says_so():
    with server(lambda _number, _count: response(b"x")) as (endpoint, requests):
        transport = HttpTransport(endpoint)
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
        transport = HttpTransport(endpoint, keep=True)
        assert [get(transport), get(transport)] == [b"x", b"x"]
    assert connections_of(requests) == [0, 1]


def test_one_that_the_service_has_closed_is_made_anew_at_once():
    with server(lambda number, count: response(b"%d" % number) if count == 0 else None) as (endpoint, requests):
        transport = HttpTransport(endpoint, keep=True)
        assert [get(transport), get(transport)] == [b"0", b"1"]
    assert connections_of(requests) == [0, 0, 1]


def test_a_post_is_not_sent_twice_for_that():
    with server(lambda _number, count: response(b"x") if count == 0 else None) as (endpoint, requests):
        transport = HttpTransport(endpoint, keep=True)
        get(transport)
        with pytest.raises(Broken):
            get(transport, "POST", '{"a": "\u00e9"}')
    assert connections_of(requests) == [0, 0]
    assert "Content-Length: 11\r\n" in requests[1][1]


def test_an_answer_that_began_is_never_asked_for_again():
    with server(lambda _number, count: response(b"x") if count == 0 else b"HTTP/1.1 2") as (endpoint, requests):
        transport = HttpTransport(endpoint, keep=True)
        get(transport)
        with pytest.raises(TimedOut):
            get(transport)
    assert connections_of(requests) == [0, 0]


@pytest.mark.parametrize("length", ["-1", "x", "", "1\r\nContent-Length: 2"])
def test_lengths_that_are_none(length):
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nxx".encode()
    with server(lambda _number, _count: answer) as (endpoint, _requests), pytest.raises(Broken):
        get(HttpTransport(endpoint))


def test_chunks_with_what_may_stand_around_them_and_the_next_answer_behind_them():
    chunks = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;name=x\r\nabc\r\n02\r\nde\r\n0\r\nTrailer: y\r\n\r\n"
    )
    with server(lambda _number, count: chunks if count == 0 else response(b"next")) as (endpoint, requests):
        transport = HttpTransport(endpoint, keep=True)
        assert [get(transport), get(transport)] == [b"abcde", b"next"]
    assert connections_of(requests) == [0, 0]


def test_100_continue_is_no_answer():
    with server(lambda _number, _count: b"HTTP/1.1 100 Continue\r\n\r\n" + response(b"x")) as (endpoint, _requests):
        assert get(HttpTransport(endpoint)) == b"x"


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
        get(HttpTransport(endpoint))


def test_an_answer_that_is_too_large_has_said_its_status():
    answer = b"HTTP/1.1 302 Found\r\nContent-Length: 99999999\r\n\r\nxx"
    with server(lambda _number, _count: answer) as (endpoint, _requests), pytest.raises(TooLarge) as problem:
        get(HttpTransport(endpoint))
    assert problem.value.status == 302


@pytest.mark.parametrize("begins", [b"", b"HTTP/1.1 2"], ids=["hangs", "hangs in the middle"])
def test_while_an_answer_is_waited_for_other_things_are_done(begins):
    with server(lambda _number, _count: begins) as (endpoint, _requests):
        transport, breaths = HttpTransport(endpoint), []
        transport.meanwhile = lambda: breaths.append(time.monotonic())
        began = time.monotonic()
        with pytest.raises(TimedOut):
            transport.send("GET", "/x", None, HEADERS, 2, 2.5)
        assert 2.5 <= time.monotonic() - began < PATIENCE
    assert len(breaths) == 2


def test_an_answer_in_drops_does_not_keep_from_that_either():
    def drops(connection, _number):
        connection.recv(65536)
        for drop in response(b"done"):
            connection.sendall(bytes([drop]))
            time.sleep(0.04)

    with listening(drops) as endpoint:
        transport, breaths = HttpTransport(endpoint), []
        transport.meanwhile = lambda: breaths.append(time.monotonic())
        assert transport.send("GET", "/x", None, HEADERS, 2, PATIENCE).body == b"done"
    assert breaths


# Any web server: webhooks, health checks, Patroni.


def test_a_head_has_no_body_though_it_names_a_length():
    with server(lambda _number, _count: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") as (endpoint, requests):
        assert _http.ask(f"{endpoint}/x?y#z", "HEAD").status == 200
    assert requests[0][1].startswith("HEAD /x?y HTTP/1.1\r\n")


@pytest.mark.parametrize("length", ["Content-Length: 9000000", "Transfer-Encoding: chunked", "X: y"])
def test_of_a_large_page_the_beginning_is_read(length):
    def answer(connection, _number):
        connection.recv(65536)
        begins = b"895440\r\n" if "chunked" in length else b""
        connection.sendall(f"HTTP/1.1 200 OK\r\n{length}\r\n\r\n".encode() + begins + b"fine" + b" " * 8_999_996)

    with listening(answer) as endpoint:
        page = _http.ask(endpoint)
    assert (page.status, len(page.body), page.body[:4]) == (200, _http.LARGEST_BODY, b"fine")


@pytest.mark.parametrize(
    ("url", "asked"),
    [("http://far.example/", "POST http://far.example/ "), ("https://far.example/", "CONNECT far.example:443 ")],
)
def test_a_webhook_goes_by_the_proxy_of_the_environment(monkeypatch, url, asked):
    with server(lambda _number, _count: b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as (proxy, requests):
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.replace("://", "://me:s%40cret@"))
        monkeypatch.setenv("no_proxy", "near.example")
        if url.startswith("https"):
            with pytest.raises(NotAccepted, match="the proxy answers 403"):
                _http.ask(url, "POST", "{}", by_proxy=True)
        else:
            assert _http.ask(url, "POST", "{}", by_proxy=True).status == 403
    assert requests[0][1].startswith(asked)
    assert "Proxy-Authorization: Basic bWU6c0BjcmV0\r\n" in requests[0][1]
    with pytest.raises(NotResolved):
        _http.ask("http://near.example/hook", by_proxy=True)


# The transports against servers that misbehave on the wire itself, byte by byte.

pytestmark = pytest.mark.waits

TARGET = _imds.events_target("2020-07-01")
GOOD_BODY = b'{"DocumentIncarnation": 1, "Events": []}'


TRANSPORTS = {"socket": HttpTransport, "kept socket": lambda endpoint: HttpTransport(endpoint, keep=True)}
USED = {}


@pytest.fixture(params=TRANSPORTS, autouse=True)
def _each_transport(request, monkeypatch):
    monkeypatch.setitem(USED, "transport", TRANSPORTS[request.param])


def raw_response(body=GOOD_BODY, head=b"HTTP/1.1 200 OK\r\n", length=None):
    return head + b"Content-Length: %d\r\n\r\n" % (len(body) if length is None else length) + body


@contextlib.contextmanager
def wire_server(answer):
    """Give every connection to `answer`, a function of the connected socket and the request's text."""
    seen = []

    def handle(connection, _number):
        seen.append(connection.recv(65536).decode())
        answer(connection, seen[-1])

    with listening(handle) as endpoint:
        yield endpoint, seen


def drip(data):
    def answer(connection, _request):
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)

    return answer


def read(endpoint, timeout):
    return _imds.read_from([endpoint], "2020-07-01", False, timeout, USED["transport"])


def failure_of(answer, timeout=2):
    with wire_server(answer) as (endpoint, seen):
        started = time.monotonic()
        with pytest.raises(_imds.ImdsError) as failure:
            read(endpoint, timeout)
    return failure.value.kind, time.monotonic() - started, len(seen)


def test_a_good_answer_is_passed_on_as_it_came():
    with wire_server(lambda connection, _request: connection.sendall(raw_response())) as (endpoint, seen):
        answers = read(endpoint, 60)
    assert answers["events"]["body"].encode() == GOOD_BODY
    assert answers["events"]["status"] == 200
    assert abs(answers["events"]["at"] - time.time()) < 60
    assert answers["instance"] is None
    assert seen[0].startswith(f"GET {TARGET} HTTP/1.1\r\n")
    assert "metadata: true" in seen[0].lower()
    assert "x-forwarded-for" not in seen[0].lower()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda connection, _request: time.sleep(10), id="hang"),
        pytest.param(drip(raw_response()[:60]), id="headers drop by drop"),
        pytest.param(drip(b"HTTP/1.1 200 OK\r\n\r\n" + GOOD_BODY), id="body drop by drop"),
        pytest.param(
            lambda connection, request: (connection.sendall(raw_response(length=500)), time.sleep(10)), id="body stops"
        ),
    ],
)
def test_no_server_holds_the_task_longer_than_the_timeout(answer):
    kind, seconds, _requests = failure_of(answer, timeout=2)
    assert kind == "timed_out"
    # The server would end sooner or later, and that is another kind.
    assert seconds > 1.5


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda connection, _request: connection.close(), id="closed"),
        pytest.param(lambda connection, _request: connection.sendall(raw_response(length=500)), id="body cut"),
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
    cut = []

    def at_first(connection, request):
        if not cut:
            cut.append(request)
            answer(connection, request)
        else:
            connection.sendall(raw_response())

    with wire_server(at_first) as (endpoint, seen):
        answers = read(endpoint, 60)
    assert (answers["events"]["body"].encode(), len(seen)) == (GOOD_BODY, 2)


def test_an_endless_body_is_given_up_after_a_mebibyte():
    def answer(connection, _request):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _piece in range(64):
            connection.sendall(b" " * 65536)

    kind, _seconds, requests = failure_of(answer, timeout=60)
    assert (kind, requests) == ("too_large", 1)


def test_bytes_that_are_no_text_are_refused():
    kind, _seconds, _requests = failure_of(
        lambda connection, _request: connection.sendall(raw_response(b'{"a": "\xff\xfe"}'))
    )
    assert kind == "not_text"


def test_a_byte_order_mark_does_not_matter():
    with wire_server(lambda connection, _request: connection.sendall(raw_response(b"\xef\xbb\xbf" + GOOD_BODY))) as (
        endpoint,
        _seen,
    ):
        assert read(endpoint, 60)["events"]["body"].encode() == GOOD_BODY


def test_chunked_answers_are_read():
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD_BODY), GOOD_BODY)
    with wire_server(lambda connection, _request: connection.sendall(chunks)) as (endpoint, _seen):
        assert read(endpoint, 60)["events"]["body"].encode() == GOOD_BODY


def test_a_redirect_is_never_followed():
    with wire_server(lambda connection, _request: connection.sendall(raw_response())) as (elsewhere, visited):
        moved = f"HTTP/1.1 302 Found\r\nLocation: {elsewhere}/\r\nContent-Length: 0\r\n\r\n".encode()
        kind, _seconds, requests = failure_of(lambda connection, _request: connection.sendall(moved))
    assert (kind, requests, visited) == ("redirect", 1, [])


def test_proxies_of_the_environment_are_never_used(monkeypatch):
    with wire_server(lambda connection, _request: connection.sendall(raw_response())) as (proxy, visited):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        with wire_server(lambda connection, _request: connection.sendall(raw_response())) as (endpoint, seen):
            read(endpoint, 60)
    assert (len(seen), visited) == (1, [])


def test_the_first_endpoint_that_is_the_service_is_used(closed_endpoint):
    def something_else(connection, _request):
        connection.sendall(raw_response(b"not the service"))

    def the_service(connection, _request):
        connection.sendall(raw_response())

    with wire_server(something_else) as (other, _seen), wire_server(the_service) as (service, _visited):
        answers = _imds.read_from([closed_endpoint(), other, service], "2020-07-01", False, 20, USED["transport"])
    assert answers["endpoint"] == service


def test_every_endpoint_that_was_tried_is_named_in_the_failure(closed_endpoint):
    nobody, nobody_else = closed_endpoint(), closed_endpoint()
    with pytest.raises(_imds.ImdsError) as failure:
        _imds.read_from([nobody, nobody_else], "2020-07-01", False, 3, USED["transport"])
    assert nobody in str(failure.value)
    assert nobody_else in str(failure.value)


@pytest.fixture
def closed_endpoint():
    with contextlib.ExitStack() as ports:
        yield lambda: f"http://127.0.0.1:{ports.enter_context(closed_port())}"


def test_auto_goes_on_to_the_endpoint_that_dhcp_names(monkeypatch, closed_endpoint):
    with wire_server(lambda connection, _request: connection.sendall(raw_response())) as (discovered, _seen):
        monkeypatch.setattr(_http, "DEFAULT_ENDPOINT", closed_endpoint())
        monkeypatch.setattr(_imds, "endpoints_by_dhcp", lambda: [closed_endpoint(), discovered])
        request = {"endpoints": ["auto"], "api_version": "2020-07-01", "timeout": 20, "with_instance": False}
        assert _exchange.answered(request, False, USED["transport"])["answers"]["endpoint"] == discovered


# When a request is repeated, how fast, and when the conversation ends: on a clock that the test moves.


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.now += seconds


class Script:
    """A transport that answers from a list, its last item for ever, and keeps the times of the requests."""

    endpoint = "http://service"

    def __init__(self, clock, *script, seconds_each=0.0):
        self.clock = clock
        self.script = list(script)
        self.seconds_each = seconds_each
        self.sent_at = []

    def send(self, method, target, body, headers, connect_seconds, seconds):
        assert headers["Metadata"] == "true"
        self.sent_at.append(self.clock.now)
        self.clock.now += min(self.seconds_each, seconds)
        item = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(item, Exception):
            raise item
        return item


def answer(status, body=b"{}", **headers):
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return _http.Answer(status, fields, body, 0.0)


def conversation(*script, timeout=130, seconds_each=0.0, jitter=lambda: 0.5):
    clock = Clock()
    transport = Script(clock, *script, seconds_each=seconds_each)
    talk = _imds.Conversation(transport, timeout, clock=clock, sleep=clock.sleep, jitter=jitter)
    return talk, transport, clock


PASSING = [
    answer(408),
    answer(410),
    answer(429),
    answer(500),
    answer(503),
    answer(200, b""),
    answer(200, b"  \n"),
    _http.NotAccepted("refused"),
    _http.Broken("reset"),
]


@pytest.mark.parametrize("trouble", PASSING, ids=str)
def test_passing_trouble_is_asked_again(trouble):
    talk, transport, _clock = conversation(trouble, trouble, answer(200))
    assert talk.get(TARGET).status == 200
    assert len(transport.sent_at) == 3


@pytest.mark.parametrize(
    ("final", "kind", "part"),
    [
        (answer(400), "rejected", "HTTP 400"),
        (answer(403), "rejected", "HTTP 403"),
        (answer(404), "not_found", "HTTP 404"),
        (answer(405), "rejected", "HTTP 405"),
        (answer(204, b"x"), "rejected", "HTTP 204"),
        (answer(301, location="http://elsewhere"), "redirect", "a redirect to http://elsewhere"),
        (answer(302, location="http://elsewhere"), "redirect", "a redirect to http://elsewhere"),
        (answer(200, b"  <!DOCTYPE html>"), "html", "an HTML page"),
        (answer(200, b"sorry", content_type="text/html"), "html", "an HTML page"),
        (_http.TooLarge(), "too_large", "more than 1048576 bytes"),
        (_http.NotResolved("no such name"), "not_resolved", "no address for that name"),
        (_http.TimedOut(), "timed_out", "a connection, but no answer in time"),
    ],
    ids=str,
)
def test_the_rest_ends_the_conversation_at_once(final, kind, part):
    talk, transport, clock = conversation(final)
    with pytest.raises(_imds.ImdsError, match=part) as failure:
        talk.get(TARGET)
    assert (failure.value.kind, len(transport.sent_at), clock.now) == (kind, 1, 1000.0)
    assert "GET http://service/metadata/scheduledevents" in str(failure.value)


@pytest.mark.parametrize(
    ("trouble", "part"),
    [
        (answer(410), "HTTP 410"),
        (answer(200, b""), "an empty body"),
        (_http.Broken("reset"), "a connection that ended without an answer"),
    ],
    ids=str,
)
def test_trouble_that_does_not_pass_is_said_in_the_end(trouble, part):
    talk, _transport, _clock = conversation(trouble)
    with pytest.raises(_imds.ImdsError, match=part):
        talk.get(TARGET)


def test_instance_metadata_that_is_not_there_yet_is_asked_for_again_a_few_times():
    talk, transport, _clock = conversation(answer(404), answer(404), answer(200))
    assert talk.get(_imds.INSTANCE_TARGET).status == 200
    talk, transport, clock = conversation(answer(404))
    with pytest.raises(_imds.ImdsError, match="404"):
        talk.get(_imds.INSTANCE_TARGET)
    assert len(transport.sent_at) == 1 + _imds.NOT_THERE_YET_TRIES
    assert clock.now < 1010


def test_nobody_at_the_address_costs_fifteen_seconds_not_the_whole_timeout():
    talk, _transport, clock = conversation(_http.NotAccepted("refused"))
    with pytest.raises(_imds.ImdsError, match="Not an Azure VM, or the service is blocked") as failure:
        talk.get(TARGET)
    assert failure.value.kind == "not_accepted"
    assert 10 <= clock.now - 1000 <= 15


def test_a_service_that_was_there_and_restarts_gets_the_whole_timeout():
    talk, _transport, clock = conversation(answer(503), _http.NotAccepted("refused"))
    with pytest.raises(_imds.ImdsError):
        talk.get(TARGET)
    assert 120 <= clock.now - 1000 <= 130


def test_a_410_of_seventy_seconds_is_outlasted():
    clock = Clock()

    class Updating(Script):
        def send(self, *args):
            self.script = [answer(410) if clock.now < 1070 else answer(200)]
            return super().send(*args)

    talk = _imds.Conversation(Updating(clock, None), 130, clock=clock, sleep=clock.sleep)
    assert talk.get(TARGET).status == 200
    assert clock.now < 1080


def test_retry_after_is_honoured():
    talk, transport, _clock = conversation(answer(429, retry_after="7"), answer(200))
    talk.get(TARGET)
    assert transport.sent_at[1] - transport.sent_at[0] == pytest.approx(7)


def test_retry_after_beyond_the_deadline_fails_now_and_says_so():
    talk, transport, clock = conversation(answer(429, retry_after="600"), timeout=30)
    with pytest.raises(_imds.ImdsError, match="asked to wait 600 s, longer than the timeout of 30 s"):
        talk.get(TARGET)
    assert (len(transport.sent_at), clock.now) == (1, 1000.0)


@pytest.mark.parametrize(
    ("value", "seconds"), [("", None), ("3", 3), ("Mon, 01 Jan 2001 00:00:00 GMT", 0), ("soon", None)]
)
def test_forms_of_retry_after(value, seconds):
    assert _imds.retry_after({"retry-after": value} if value else {}) == seconds


@given(
    st.lists(st.sampled_from(PASSING), min_size=1, max_size=30), st.integers(1, 200), st.floats(0, 3), st.floats(0, 1)
)
def test_never_past_the_deadline_and_never_faster_than_the_service_allows(script, timeout, seconds_each, jitter):
    talk, transport, clock = conversation(*script, timeout=timeout, seconds_each=seconds_each, jitter=lambda: jitter)
    with pytest.raises(_imds.ImdsError):
        talk.get(TARGET)
    assert clock.now - 1000 <= timeout + 0.001
    starts = transport.sent_at
    assert all(later - earlier > 1 for earlier, later in zip(starts, starts[5:], strict=False))


def test_where_the_second_after_too_many_ends_at_the_deadline_nothing_more_is_sent():
    talk, _transport, clock = conversation(
        answer(408), answer(429), timeout=140, seconds_each=0.125, jitter=lambda: 0.125
    )
    with pytest.raises(_imds.ImdsError):
        talk.get(TARGET)
    assert clock.now - 1000 <= 140


@given(st.floats(0, 1))
def test_waits_grow_and_stay_bounded(jitter):
    talk, transport, _clock = conversation(answer(503), jitter=lambda: jitter)
    with pytest.raises(_imds.ImdsError):
        talk.get(TARGET)
    gaps = [later - earlier for earlier, later in zip(transport.sent_at, transport.sent_at[1:], strict=False)]
    assert gaps[0] < 1
    assert max(gaps) <= _imds.LONGEST_BACKOFF * 1.25
    assert len(gaps) < 30


@pytest.mark.parametrize("status", [408, 410, 429, 503])
def test_a_post_that_was_turned_away_is_sent_again(status):
    talk, transport, _clock = conversation(answer(status), _http.NotAccepted("refused"), answer(200))
    assert talk.post(TARGET, "{}").status == 200
    assert len(transport.sent_at) == 3


class BusyNeighbour:
    """The service's 5 requests a second, of which somebody else on the VM takes all but one."""

    endpoint = "http://service"

    def __init__(self, clock):
        self.clock = clock
        self.taken_at = float("-inf")
        self.answered = []

    def send(self, method, *_others):
        is_too_many = self.clock.now - self.taken_at < 1.0
        if not is_too_many:
            self.taken_at = self.clock.now
        self.answered.append((method, 429 if is_too_many else 200))
        return answer(self.answered[-1][1])


def test_beside_others_that_ask_often_an_approval_is_not_kept_out_by_the_readings_before_it():
    clock = Clock()
    service = BusyNeighbour(clock)
    talk = _imds.Conversation(service, 20, clock=clock, sleep=clock.sleep, jitter=lambda: 0.5)
    talk.get(TARGET)
    talk.post(TARGET, "{}", before_next_try=lambda: talk.get(TARGET))
    assert service.answered == [("GET", 200), ("POST", 429), ("GET", 200), ("POST", 200)]
    assert clock.now - 1000.0 < 4


@pytest.mark.parametrize(
    "lost", [_http.Broken("reset"), _http.TimedOut(), answer(500), answer(502), answer(504)], ids=str
)
def test_a_post_that_may_have_arrived_is_not_sent_again(lost):
    talk, transport, _clock = conversation(lost)
    with pytest.raises(_imds.ImdsError):
        talk.post(TARGET, "{}")
    assert len(transport.sent_at) == 1


@pytest.mark.parametrize("taken", [answer(200, b""), answer(202), answer(204, b""), answer(200, b"<html>")], ids=str)
def test_any_2xx_takes_a_post(taken):
    talk, _transport, _clock = conversation(taken)
    assert talk.post(TARGET, "{}") is taken


@pytest.mark.parametrize(
    ("endpoint", "result"),
    [
        ("http://169.254.169.254", "http://169.254.169.254"),
        ("http://169.254.169.254/", "http://169.254.169.254"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_endpoints_that_are_right(endpoint, result):
    assert _http.check_endpoint(endpoint) == result


@pytest.mark.parametrize(
    ("endpoint", "part"),
    [
        ("169.254.169.254", "http:// is missing"),
        ("https://169.254.169.254", "plain http only"),
        ("ftp://169.254.169.254", "ftp is not a scheme"),
        ("http://169.254.169.254/metadata", "leave out the path"),
        ("http://169.254.169.254?x=1", "leave out the path"),
        ("http://me:secret@169.254.169.254", "takes no credentials"),
        ("http://169.254.169.254:http", "port is not a number"),
        ("http://169.254.169.254:70000", "port is not a number"),
        ("http://", "must look like"),
        ("http://a b", "must look like"),
        ("", "http:// is missing"),
    ],
)
def test_endpoints_that_are_wrong(endpoint, part):
    with pytest.raises(ValueError, match=part) as complaint:
        _http.check_endpoint(endpoint)
    assert "\n" not in str(complaint.value)


# api_version auto: from the newest that we know down, one more request for each 400.


@pytest.fixture
def cloud():
    """A function that starts a service with these api-versions only; all end with the test."""
    running = []

    def start(*versions):
        running.append(Simulator({"vms": [{"name": "web"}]}, api_versions=list(versions), requests_per_second=0))
        running[-1].add_event(id="A1", type="Reboot", resources=["web"], notice=9000)
        return running[-1]

    yield start
    for simulator in running:
        simulator.stop()


def ask(simulator, api_version="auto", **more):
    request = {"endpoints": [simulator.endpoint("web")], "api_version": api_version, "timeout": 20}
    return _exchange.carried_out({"with_instance": False, **request, **more}, False)


def asked_versions(simulator):
    return [line["query"].partition("=")[2] for line in simulator.log() if line["path"].endswith("/scheduledevents")]


@pytest.mark.parametrize(
    ("there", "requests"),
    [(("2020-07-01", "2017-08-01"), 1), (("2019-08-01",), 2), (("2017-03-01", "2017-08-01"), 6), (("2017-03-01",), 7)],
)
def test_the_newest_version_that_is_there_is_found(cloud, there, requests):
    simulator = cloud(*there)
    answers = ask(simulator)["answers"]
    assert answers["api_version"] == max(there)
    assert json.loads(answers["events"]["body"])["Events"][0]["EventId"] == "A1"
    assert asked_versions(simulator) == sorted(_imds.API_VERSIONS, reverse=True)[:requests]


def test_the_search_keeps_to_four_requests_a_second(cloud):
    simulator = cloud("2017-03-01")
    began = time.monotonic()
    ask(simulator, with_instance=True)
    assert len(simulator.log()) == 8
    # The fifth comes a second after the first, at the earliest.
    assert time.monotonic() - began >= 1


def test_a_version_that_was_given_is_the_only_one_that_is_asked_for(cloud):
    simulator = cloud("2017-08-01")
    failed = ask(simulator, "2020-07-01")
    assert (failed["failed"], failed["kind"], failed["status"]) == (True, "rejected", 400)
    assert asked_versions(simulator) == ["2020-07-01"]
    assert ask(simulator, "2017-08-01")["answers"]["api_version"] == "2017-08-01"


def test_only_400_means_that_a_version_is_not_there(cloud):
    simulator = cloud("2020-07-01")
    simulator.fault(kind="status", status=403)
    assert ask(simulator)["status"] == 403
    assert asked_versions(simulator) == ["2020-07-01"]


def test_where_no_version_is_there_the_failure_says_so(cloud):
    simulator = cloud("2020-07-01")
    simulator.fault(kind="status", status=400, body={"error": "Bad request."})
    failed = ask(simulator)
    assert (failed["kind"], failed["status"]) == ("rejected", 400)
    assert "none of the 7 api-versions" in failed["msg"]
    assert "2020-07-01" in failed["msg"]
    assert len(asked_versions(simulator)) == 7


def test_trouble_that_passes_is_waited_for_at_each_version(cloud):
    simulator = cloud("2019-04-01")
    simulator.fault(kind="error_503", skip=2, count=1)
    assert ask(simulator)["answers"]["api_version"] == "2019-04-01"
    assert asked_versions(simulator) == ["2020-07-01", "2019-08-01", "2019-04-01", "2019-04-01"]


def test_an_approval_is_sent_by_the_version_that_was_found(cloud):
    simulator = cloud("2017-08-01")
    document = ask(simulator)["answers"]["events"]["body"]
    simulator.clear_log()
    approval = {"expected": document, "body": json.dumps({"StartRequests": [{"EventId": "A1"}]})}
    answers = ask(simulator, approval=approval)["answers"]
    assert (answers["sent"], answers["api_version"]) == (True, "2017-08-01")
    (post,) = [line for line in simulator.log() if line["method"] == "POST"]
    assert (post["query"], post["approved"]) == ("api-version=2017-08-01", ["A1"])


# DHCP option 245 in the lease files of the usual clients.

NOW = 1763253305  # 2025-11-16

DHCLIENT_LEASE = """lease {
  interface "eth0";
  fixed-address 10.0.1.4;
  server-name "RDE41D2D9BB18C";
  option subnet-mask 255.255.255.0;
  option dhcp-lease-time 4294967295;
  option routers 10.0.1.1;
  option dhcp-message-type 5;
  option unknown-245 %(octets)s;
  option domain-name "x.internal.cloudapp.net";
  renew 0 2152/07/23 23:27:10;
  rebind 0 2152/07/23 23:27:10;
  expire %(expire)s;
}
"""
NETWORKD_LEASE = """# This is private data. Do not parse.
ADDRESS=10.0.0.69
NETMASK=255.255.255.0
ROUTER=10.0.0.1
SERVER_ADDRESS=168.63.129.16
LIFETIME=4294967295
CLIENTID=ff0406a3a3000201
OPTION_245=a83f8110
"""
OPENBSD_LEASE = """lease {
  fixed-address 10.0.1.4;
  option option-245 a8:3f:81:10;
  expire 0 never;
}
"""


def dhclient(octets="a8:3f:81:10", expire="0 never"):
    return DHCLIENT_LEASE % {"octets": octets, "expire": expire}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (dhclient(), "168.63.129.16"),
        (dhclient(expire="4 2152/06/16 16:58:54"), "168.63.129.16"),
        (dhclient(expire="2 2015/06/16 16:58:54"), None),
        (dhclient(expire="2 2152/13/16 16:58:54"), None),
        (dhclient(expire="2 0000/06/16 16:58:54"), None),
        (dhclient(octets="a:0:0:1"), "10.0.0.1"),
        (dhclient(octets="a8:3f:81"), None),
        (dhclient(octets="a8:3f:81:10:20"), None),
        (dhclient("a:0:0:1") + dhclient("a:0:0:2"), "10.0.0.2"),
        (dhclient("a:0:0:1") + dhclient("a:0:0:2", expire="2 2015/06/16 16:58:54"), "10.0.0.1"),
        (OPENBSD_LEASE, "168.63.129.16"),
        (NETWORKD_LEASE, "168.63.129.16"),
        (NETWORKD_LEASE.replace("a83f8110", "a83f81"), None),
        ('lease {\n  interface "eth0";\n}\n', None),
        ("", None),
    ],
)
def test_the_last_lease_that_is_not_expired_names_the_endpoint(text, address):
    assert endpoint_of_lease(text, NOW) == address


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("var/lib/dhcp/dhclient.eth0.leases", dhclient()),
        ("var/lib/dhclient/dhclient-eth0.leases", dhclient()),
        ("var/lib/dhclient/dhclient-eth0.lease", dhclient()),
        ("var/lib/NetworkManager/dhclient-5fb06bd0-eth0.lease", dhclient()),
        ("var/db/dhclient.leases.hvn0", OPENBSD_LEASE),
        ("run/systemd/netif/leases/2", NETWORKD_LEASE),
    ],
)
def test_every_client_s_lease_file_is_found(tmp_path, path, text):
    lease = tmp_path / path
    lease.parent.mkdir(parents=True)
    lease.write_text(text)
    assert endpoints_by_dhcp(str(tmp_path), NOW) == ["http://168.63.129.16", "http://168.63.129.16:8080"]


def test_no_lease_no_endpoint(tmp_path):
    assert endpoints_by_dhcp(str(tmp_path), NOW) == []


def test_two_clients_that_agree_are_one_address(tmp_path):
    for path, text in (
        ("var/lib/dhcp/dhclient.eth0.leases", dhclient()),
        ("run/systemd/netif/leases/2", NETWORKD_LEASE),
    ):
        lease = tmp_path / path
        lease.parent.mkdir(parents=True)
        lease.write_text(text)
    assert len(endpoints_by_dhcp(str(tmp_path), NOW)) == 2


def test_a_lease_file_of_bytes_is_passed_over(tmp_path):
    lease = tmp_path / "run/systemd/netif/leases/2"
    lease.parent.mkdir(parents=True)
    lease.write_bytes(b"\xff\xfe\x00OPTION_245=\xff")
    assert endpoints_by_dhcp(str(tmp_path), NOW) == []


# What a host compares right before it sends an approval, where its group is busy.

ABOUT = {"EventSource": "Platform", "DurationInSeconds": 5, "Description": "d", "NotBefore": "2026-11-16T00:00:00Z"}
JUDGED = [
    {
        "id": "E1",
        "type": "Reboot",
        "resources": ["vm-1"],
        "source": "Platform",
        "duration_seconds": 5,
        "description": "d",
        "not_before": "2026-11-16T00:00:00Z",
    }
]


def document(*events, **about):
    keys = ("EventId", "EventType", "EventStatus", "Resources")
    told = [{**ABOUT, **dict(zip(keys, event, strict=True)), **about} for event in events]
    return json.dumps({"DocumentIncarnation": 7, "Events": told})


MINE = ("E1", "Reboot", "Scheduled", ["vm-1"])


@pytest.mark.parametrize(
    ("events", "same"),
    [
        ([MINE], True),
        ([("e1", "REBOOT", "Scheduled", ["VM-1"])], True),
        ([MINE, ("E2", "Reboot", "Scheduled", ["vm-2"])], True),
        ([MINE, ("E3", "Reboot", "Started", ["vm-3"])], True),
        ([MINE, ("E2", "Reboot", "Started", ["vm-2"])], False),
        ([("E1", "Reboot", "Started", ["vm-1"])], False),
        ([("E1", "Redeploy", "Scheduled", ["vm-1"])], False),
        ([("E1", "Reboot", "Scheduled", ["vm-1", "vm-2"])], False),
        ([MINE, ("E1", "Reboot", "Scheduled", ["vm-1", "vm-2"])], False),
        ([], False),
    ],
)
def test_what_matters_is_compared(events, same):
    assert is_as_judged(document(*events), JUDGED, ["E3"]) is same


@pytest.mark.parametrize(
    ("about", "same"),
    [
        ({"DurationInSeconds": "5", "NotBefore": "Mon, 16 Nov 2026 00:00:00 GMT", "EventSource": "platform"}, True),
        ({"DurationInSeconds": 9}, False),
        ({"DurationInSeconds": -1}, False),
        ({"Description": "e"}, False),
        ({"EventSource": "User"}, False),
        ({"NotBefore": "2026-11-23T00:00:00Z"}, False),
    ],
)
def test_all_that_a_policy_looks_at_is_compared(about, same):
    assert is_as_judged(document(MINE, **about), JUDGED, []) is same


@pytest.mark.parametrize("text", ["", "[]", '{"Events": 3}', '{"Events": [{"EventId": "E1"}]}'])
def test_what_is_no_document_is_never_the_same(text):
    assert is_as_judged(text, JUDGED, []) is False
