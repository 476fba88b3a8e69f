# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom to ask, what comes of it, and what a cache may say about it."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import urllib3
from ansible_collections.maintenance.azure.plugins.module_utils._azure import http as _http
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import Answer, NotAccepted
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory import sources as _sources
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.matching import (
    EndpointQuestion,
    InventoryHost,
    Reading,
    from_cache,
    is_asked_from_within,
    questions,
    to_cache,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.sources import (
    EndpointReader,
    RequestsTransport,
    in_parallel,
    read_facts,
    read_files,
)
from helpers.network import closed_port
from helpers.waiting import PATIENCE
from hypothesis import given
from hypothesis import strategies as st

DOCUMENT = '{"DocumentIncarnation": 3, "Events": []}'
STATUS = {
    "this_host": None,
    "document_incarnation": 1,
    "events": [],
    "pending": False,
    "read_at": "2026-01-02T03:04:05Z",
}


# ---------------------------------------------------------------- whom to ask


def host(name: str, endpoint: str | None = None, group: str | None = None) -> InventoryHost:
    return InventoryHost(name, name, endpoint=endpoint, delivery_group=group)


def test_an_endpoint_that_hosts_share_is_one_question() -> None:
    (question,) = questions([host("a", "http://e"), host("b", "http://e"), host("c")], [])
    assert question.endpoints == {"http://e": ("a", "b")}
    assert not question.with_identity


def test_a_delivery_group_is_one_question_and_its_hosts_are_asked_in_turn() -> None:
    (question,) = questions([host("a", "http://a", "g"), host("b", "http://b", "g")], [])
    assert list(question.endpoints) == ["http://a", "http://b"]
    assert not question.with_identity


def test_who_answers_is_asked_where_it_tells_something_about_one_host() -> None:
    own, listed = questions([host("a", "http://a")], ["http://l", "http://l"])
    assert own.with_identity
    assert listed.with_identity
    assert listed.listed


@pytest.mark.parametrize("endpoint", ["http://169.254.169.254", "http://169.254.1.2:80", "http://[fe80::1]", "auto"])
def test_nobody_asks_a_link_local_address_on_behalf_of_a_host(endpoint: str) -> None:
    assert is_asked_from_within(endpoint)
    assert questions([host("a", endpoint)], []) == []


@given(
    st.lists(st.tuples(st.sampled_from(["http://1", "http://2", "http://3", None]), st.sampled_from(["g", "h", None])))
)
def test_every_host_with_an_endpoint_is_asked_about(drawn: list[tuple[str | None, str | None]]) -> None:
    hosts = [host(f"h{number}", endpoint, group) for number, (endpoint, group) in enumerate(drawn)]
    asked = questions(hosts, [])
    reached = {name for question in asked for carriers in question.endpoints.values() for name in carriers}
    assert reached == {one.name for one in hosts if one.endpoint}
    assert len(asked) <= len({one.delivery_group or one.endpoint for one in hosts if one.endpoint})


# ---------------------------------------------------------------- asking


class Service:
    """Stands for HTTP: what each endpoint answers, and who was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {f"http://{name}": answer for name, answer in answers.items()}
        self.asked: list[str] = []

    def __call__(self, endpoint: str) -> Service:
        transport = Service()
        transport.__dict__.update(self.__dict__, endpoint=endpoint)
        return transport

    def send(self, method: str, target: str, *_more: Any) -> Answer:
        self.asked.append(self.endpoint + ("/instance" if "instance" in target else ""))  # type: ignore[attr-defined]
        answer = self.answers[self.endpoint]  # type: ignore[attr-defined]
        if isinstance(answer, Exception):
            raise answer
        body = '{"name": "vm"}' if "instance" in target else answer
        return Answer(200, {}, body.encode(), time.time())


def reader(service: Service, timeout: float = 0.3, **more: Any) -> EndpointReader:
    return EndpointReader(service, "2020-07-01", timeout, **more)


def test_the_next_of_a_group_is_asked_if_one_fails() -> None:
    service = Service(a="<html>", b=DOCUMENT, c=DOCUMENT)
    chain = EndpointQuestion({"http://a": ("a",), "http://b": ("b",), "http://c": ("c",)}, with_identity=False)
    (answer,), failures = reader(service).read([chain], 4)
    assert not failures
    assert answer.hosts == ("b",)
    assert service.asked == ["http://a", "http://b"]


def test_an_endpoint_of_several_questions_is_read_once() -> None:
    service = Service(a=DOCUMENT)
    asked = [EndpointQuestion({"http://a": (name,)}, with_identity=False) for name in ("x", "y")]
    asked.append(EndpointQuestion({"http://a": ()}, with_identity=True, listed=True))
    readings, _none = reader(service, timeout=5).read(asked, 4)
    assert [one.hosts for one in readings] == [("x",), ("y",), ()]
    assert service.asked == ["http://a", "http://a/instance"]


def test_a_group_is_given_up_after_twice_the_time() -> None:
    # One after the other they would take four minutes.
    service = Service(**{f"e{number}": NotAccepted("refused") for number in range(300)})
    chain = EndpointQuestion({f"http://e{number}": (f"h{number}",) for number in range(300)}, with_identity=False)
    started = time.monotonic()
    readings, (failure,) = reader(service, timeout=0.8).read([chain], 1)
    assert not readings
    assert time.monotonic() - started < 60
    assert len(failure.hosts) == 300
    assert "The time was up before" in failure.text
    assert len(failure.text) < 600


def test_a_failure_says_why_and_for_whom() -> None:
    service = Service(a="[1, 2]", b='{"Events": []}')
    asked = [EndpointQuestion({f"http://{name}": (name,)}, with_identity=False) for name in "ab"]
    _none, failures = reader(service).read([*asked, EndpointQuestion({"https://x": ()}, False, listed=True)], 2)
    assert [failure.hosts for failure in failures] == [("a",), ("b",), ()]
    assert "not a JSON object" in failures[0].text
    assert "no DocumentIncarnation" in failures[1].text
    assert "plain http only" in failures[2].text


def test_events_count_without_the_name_of_who_answered() -> None:
    class Nameless(Service):
        def send(self, method: str, target: str, *more: Any) -> Answer:
            return Answer(400 if "instance" in target else 200, {}, DOCUMENT.encode(), 1.0)

        def __call__(self, endpoint: str) -> Service:
            self.endpoint = endpoint
            return self

    asking = reader(Nameless(), timeout=2)
    (answer,), _none = asking.read([EndpointQuestion({"http://a": ()}, with_identity=True)], 1)
    assert answer.this_host is None
    assert "not the name of the VM" in asking.warnings[0]


def test_no_more_than_the_workers_are_at_work() -> None:
    busy, most, lock, three = [0], [0], threading.Lock(), threading.Barrier(3)

    def task() -> int:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        three.wait(PATIENCE)
        with lock:
            busy[0] -= 1
        return most[0]

    assert len(in_parallel([task] * 21, 3)) == 21
    assert most[0] == 3


def test_a_mistake_in_a_task_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        in_parallel([lambda: 1, lambda: 1 // 0], 2)


# ---------------------------------------------------------------- the cache

EVENT = {
    "id": "E",
    "type": "Reboot",
    "status": "Scheduled",
    "source": None,
    "resource_type": None,
    "resources": ["a"],
    "not_before": "2026-01-02T03:19:05Z",
    "duration_seconds": None,
    "description": "",
}
KEPT = Reading("http://a", 1_800_000_000.0, [EVENT], 4)


def test_a_reading_comes_out_of_the_cache_as_it_went_in() -> None:
    entry = json.loads(json.dumps(to_cache(KEPT, False)))
    assert "seconds_left" not in str(entry)
    assert from_cache("http://a", entry, False, KEPT.read_at + 60, 60) == KEPT


@pytest.mark.parametrize(("age", "lifetime", "there"), [(60, 60, True), (61, 60, False), (10**9, 0, True)])
def test_the_lifetime_counts_from_the_reading(age: int, lifetime: int, there: bool) -> None:
    entry = to_cache(KEPT, False)
    assert (from_cache("http://a", entry, False, KEPT.read_at + age, lifetime) is not None) == there


@pytest.mark.parametrize("entry", [None, [], {}, "x", {"events": 1}, {"events": [], "read_at": "soon"}])
def test_what_is_no_reading_is_not_in_the_cache(entry: Any) -> None:
    assert from_cache("http://a", entry, False, 0, 0) is None


def test_a_reading_without_the_name_is_not_enough_for_who_wants_the_name() -> None:
    assert from_cache("http://a", to_cache(KEPT, False), True, KEPT.read_at, 60) is None
    assert from_cache("http://a", to_cache(KEPT, True), True, KEPT.read_at, 60) is not None


def test_what_the_cache_has_is_not_asked_for_and_not_news() -> None:
    service = Service(a=DOCUMENT, b=DOCUMENT)
    asking = reader(service, timeout=5, known=lambda endpoint, _name: KEPT if endpoint == "http://a" else None)
    asked = [EndpointQuestion({f"http://{name}": (name,)}, with_identity=False) for name in "ab"]
    readings, _none = asking.read(asked, 1)
    assert [one.read_at == KEPT.read_at for one in readings] == [True, False]
    assert service.asked == ["http://b"]
    assert list(asking.fresh) == ["http://b"]


# ---------------------------------------------------------------- files


def test_files_are_documents_or_statuses(tmp_path: Path) -> None:
    (tmp_path / "raw.json").write_text(DOCUMENT)
    (tmp_path / "kept.json").write_text("\ufeff" + json.dumps(STATUS), encoding="utf-8")
    readings, failures = read_files(["*.json", str(tmp_path / "raw.json")], tmp_path)
    assert not failures
    assert {Path(one.origin).name for one in readings} == {"raw.json", "kept.json"}
    by_name = {Path(one.origin).name: one for one in readings}
    assert by_name["kept.json"].read_at == 1767323045
    assert by_name["raw.json"].read_at == (tmp_path / "raw.json").stat().st_mtime


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"<html></html>", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"a": 1}', "neither an event document"),
        (b'{"Events": []}', "no DocumentIncarnation"),
        (b'{"DocumentIncarnation": 1, "Events": {}}', "not a list"),
        (b'{"events": [], "read_at": "soon"}', "no read_at that is a time"),
        (b'{"events": {}}', "no list of events"),
        (b'{"events": [1], "read_at": "2026-01-02T03:04:05Z"}', "is not an object"),
        (b'{"events": [{"id": "x"}], "read_at": "2026-01-02T03:04:05Z"}', "has no type"),
        (b'{"events": [], "this_host": "web", "read_at": "2026-01-02T03:04:05Z"}', "no vm_name"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
    ],
)
def test_a_bad_file_has_its_sentence_and_hides_no_good_one(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "good.json").write_text(DOCUMENT)
    (tmp_path / "bad.json").write_bytes(content)
    readings, (failure,) = read_files(["*.json"], tmp_path)
    assert len(readings) == 1
    assert sentence in failure.text
    assert "bad.json" in failure.text
    assert failure.listed


@pytest.mark.parametrize(("age", "is_read"), [(0, True), (55, True), (65, False), (90000, False)])
def test_the_status_of_a_watcher_counts_for_a_minute(tmp_path: Path, age: int, is_read: bool) -> None:
    status = {**STATUS, "read_at": iso_time(time.time() - age), "watcher": {"version": "1"}}
    (tmp_path / "status.json").write_text(json.dumps(status))
    readings, failures = read_files(["*.json"], tmp_path)
    assert (len(readings), len(failures)) == ((1, 0) if is_read else (0, 1))
    if not is_read:
        assert "watcher that had its last good reading" in failures[0].text


def test_a_pattern_that_matches_nothing_has_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for pattern in ("none-*.json", "folder", "[", "missing.json"):
        readings, (failure,) = read_files([pattern], tmp_path)
        assert not readings
        assert f"{pattern} matches no file" in failure.text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["events", "read_at", "this_host", "id", "type", "status", "resources", "Events"]), x
            )
        ),
    )
)
def test_no_json_breaks_the_reading_of_facts(value: Any) -> None:
    readings, failures = read_facts(["a"], lambda _host: {"maintenance_status": value}, "the cache")
    assert len(readings) + len(failures) == 1


# ---------------------------------------------------------------- facts


def test_facts_that_are_not_there_or_no_good_have_their_sentences() -> None:
    facts = {
        "good": {"maintenance_status": STATUS},
        "unread": {"maintenance_status": None, "maintenance_unread": "no route"},
        "unread too": {"maintenance_status": "", "maintenance_unread": "no route"},
        "bad": {"maintenance_status": {"events": 7}},
        "empty": {},
    }

    def facts_of(name: str) -> Any:
        if name == "broken":
            raise ValueError("corrupt")
        return facts.get(name)

    readings, failures = read_facts([*facts, "none", "broken"], facts_of, "the cache")
    assert [one.hosts for one in readings] == [("good",)]
    assert readings[0].told_by_host
    sentences = {failure.hosts: failure.text for failure in failures}
    assert "no route" in sentences["unread", "unread too"]
    assert "run the playbook maintenance.azure.collect" in sentences["empty", "none"]
    assert "no list of events" in sentences[("bad",)]
    assert "corrupt" in sentences[("broken",)]


# The controller's HTTP, on real sockets: what is sent, what is believed, and when it ends.

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


def send(endpoint: str, seconds: float = 5.0) -> _http.Answer:
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
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", _http.Broken),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", _http.Broken),
        (b"nothing like HTTP\r\n\r\n", _http.Broken),
        (b"", _http.Broken),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (_http.LARGEST_BODY + 1), _http.TooLarge),
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

    with server(drip) as (endpoint, _requests), pytest.raises(_http.TimedOut):
        send(endpoint, seconds=0.4)


def test_a_closed_port_is_not_accepted_and_an_unknown_name_not_resolved() -> None:
    with closed_port() as port, pytest.raises(_http.NotAccepted, match="refused"):
        send(f"http://127.0.0.1:{port}")
    with pytest.raises(_http.NotResolved):
        send("http://no-such-host.invalid")


def test_each_thread_has_one_session_of_its_own() -> None:
    sessions = []

    def twice() -> None:
        sessions.append((_sources._session(), _sources._session()))

    for _number in range(2):
        worker = threading.Thread(target=twice)
        worker.start()
        worker.join()
    assert sessions[0][0] is sessions[0][1]
    assert sessions[0][0] is not sessions[1][0]
    assert not sessions[0][0].trust_env


def test_requests_is_used_as_it_is() -> None:
    session = _sources._session()
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

    before = _sources._session()
    with server(hang) as (endpoint, _requests), pytest.raises(_http.TimedOut):
        send(endpoint, seconds=0.3)
    release.set()
    assert _sources._session() is not before


def test_a_body_that_drips_is_left_when_the_time_is_up() -> None:
    """The thread that reads it ends too: no connection stays behind."""
    ended = threading.Event()

    def drip(peer: socket.socket, _request: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                peer.sendall(b"x" * _sources.PIECE)
                time.sleep(0.02)
        except OSError:
            ended.set()

    with server(drip) as (endpoint, _requests), pytest.raises(_http.TimedOut):
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
        with pytest.raises(_http.NotAccepted, match="no answer to the connection attempt"):
            RequestsTransport(f"http://many.invalid:{port}").send("GET", "/", None, HEADERS, 0.9, 30)
        # One after the other they would take a minute and a half.
        assert time.monotonic() - started < 60
