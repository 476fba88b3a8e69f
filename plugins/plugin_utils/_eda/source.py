# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The event source: server, endpoints and the state file."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import http
import importlib.metadata
import json
import logging
import os
import re
import socket
import ssl
import threading
import time
import typing as t
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from ...module_utils._azure import imds
from .._azure import events as azure
from .._common.text import printable
from . import notices
from .ledger import Door, Ledger, take_up, to_keep
from .notices import Notice
from .told import Now

API_VERSION = "2020-07-01"
# The first call ever may take two minutes.
TIMEOUT = 130

_logger = logging.getLogger(__name__)


class EndpointReadings:
    """One endpoint, read again and again. `hear` takes each good reading, as a notice, and what its VM is called.

    A host is known by its endpoint, as VMs of two groups may have one name, and as a VM that never answered has none.
    """

    def __init__(self, endpoint: str, interval: float, hear: t.Callable[[Notice, str], object]) -> None:
        self.endpoint = endpoint
        self.interval = interval
        self._hear = hear
        self._sequence = 0
        self._identity: dict[str, str | None] | None = None
        self._problem: str | None = None

    async def run(self) -> None:
        while True:
            began = asyncio.get_running_loop().time()
            try:
                self._hear(await _in_a_thread(self._read), self.called)
                self._say(None)
            except (imds.ImdsError, azure.BadReading) as error:
                # It is not heard of, and told as silent by and by: never as one without events.
                self._say(str(error))
            spent = asyncio.get_running_loop().time() - began
            await asyncio.sleep(max(self.interval / 2, self.interval - spent))

    def _read(self) -> Notice:
        request = {
            "endpoints": [self.endpoint],
            "api_version": API_VERSION,
            "with_instance": self._identity is None,
            "timeout": TIMEOUT,
        }
        answer = imds.read(request)
        document = azure.parse_document(answer["events"]["body"])
        if answer["instance"] is not None:
            self._identity = azure.parse_identity(answer["instance"]["body"])
        read_at = answer["events"]["at"]
        known = azure.known_of_status(azure.build_status(document, self._identity, read_at))
        self._sequence += 1
        return Notice(self.endpoint, read_at, self._sequence, known)

    @property
    def group(self) -> str:
        return notices.name_after(self._address)

    @property
    def called(self) -> str:
        """As its VM is, else the address."""
        name = (self._identity or {}).get("vm_name")
        return str(name) if notices.is_name(name) else self._address

    @property
    def _address(self) -> str:
        return notices.without_odd_signs(self.endpoint.partition("://")[2]) or "endpoint"

    def _say(self, problem: str | None) -> None:
        """In the log once, and not with each reading."""
        if (problem is None) != (self._problem is None):
            _logger.warning("%s: %s", self.endpoint, problem or "readings are good again")
        self._problem = problem


async def _in_a_thread(read_once: t.Callable[[], Notice]) -> Notice:
    """Not by the loop's own threads: nobody could leave before an endpoint that hangs has used up its time."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Notice] = loop.create_future()

    def settle(notice: Notice | None, error: Exception | None) -> None:
        if outcome.done():
            return
        if notice is not None:
            outcome.set_result(notice)
        else:
            outcome.set_exception(error or RuntimeError())

    def work() -> None:
        notice, error = None, None
        try:
            notice = read_once()
        except Exception as problem:  # noqa: BLE001 - it is raised again where it is waited for
            error = problem
        # The loop may be gone by then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, notice, error)

    threading.Thread(target=work, daemon=True).start()
    return await outcome


# By hand, as the source is open to a whole network: no request is kept for longer than it may take, whatever it says.

LARGEST_HEAD = 16 * 1024
# A hundred events, each of which names a hundred VMs by names of forty letters. A usual status has 2 KiB.
LARGEST_BODY = 512 * 1024
LONGEST_REQUEST = 10
# A fleet behind one address has a handful of connections at a time, as each lasts for milliseconds.
MOST_CONNECTIONS = 1000
MOST_CONNECTIONS_OF_ONE = 500
# What requests that are not complete yet may take in all, and those from one address.
MOST_BYTES = 32 * 1024 * 1024
MOST_BYTES_OF_ONE = 8 * 1024 * 1024
# The rest is kept for addresses from which a notice was taken: where there is a secret, they know it. One that was not
# seen before has to have a single notice taken to get there.
MOST_CONNECTIONS_OF_UNKNOWN, MOST_CONNECTIONS_OF_ONE_UNKNOWN = 500, 100
MOST_BYTES_OF_UNKNOWN, MOST_BYTES_OF_ONE_UNKNOWN = 16 * 1024 * 1024, 4 * 1024 * 1024
MOST_KNOWN = 10_000
# What the machine takes from a connection before anybody has looked at it.
UNSEEN_BYTES = 16 * 1024

# Who asks, with which headers and which body -> the status to answer.
Take = Callable[[str, Mapping[str, str], bytes], int]


class _Held:
    """How much is held at a time, in all and for each address."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self.most = most
        self.most_of_one = most_of_one
        self._all = 0
        self._of: dict[str, int] = {}

    def add(self, peer: str, number: int) -> bool:
        """Whether that is still allowed; it counts in any case, until `release`."""
        self._all += number
        self._of[peer] = self._of.get(peer, 0) + number
        return self._all <= self.most and self._of[peer] <= self.most_of_one

    def release(self, peer: str, number: int) -> None:
        self._all -= number
        left = self._of.pop(peer, 0) - number
        if left:
            self._of[peer] = left


class _Shares:
    """Room for all addresses, with a share for the unknown ones. `is_unknown` says which kind an address is."""

    def __init__(self, all_peers: _Held, unknown: _Held) -> None:
        self._all_peers = all_peers
        self._unknown = unknown

    def add(self, peer: str, number: int, is_unknown: bool) -> bool:
        has_share = self._unknown.add(peer, number) if is_unknown else True
        return self._all_peers.add(peer, number) and has_share

    def release(self, peer: str, number: int, is_unknown: bool) -> None:
        self._all_peers.release(peer, number)
        if is_unknown:
            self._unknown.release(peer, number)


class _Bad(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Server:
    def __init__(self, take: Take, refuse: Callable[[str, str], None]) -> None:
        self._take = take
        self._refuse = refuse
        self._connections = _Shares(
            _Held(MOST_CONNECTIONS, MOST_CONNECTIONS_OF_ONE),
            _Held(MOST_CONNECTIONS_OF_UNKNOWN, MOST_CONNECTIONS_OF_ONE_UNKNOWN),
        )
        self._bytes = _Shares(
            _Held(MOST_BYTES, MOST_BYTES_OF_ONE), _Held(MOST_BYTES_OF_UNKNOWN, MOST_BYTES_OF_ONE_UNKNOWN)
        )
        # Addresses from which a notice was taken, that of the newest last.
        self._known: dict[str, None] = {}

    async def start(self, host: str, port: int, certfile: str | None, keyfile: str | None) -> asyncio.Server:
        context = None
        if certfile:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certfile, keyfile)
        patience = LONGEST_REQUEST if context else None
        server = await asyncio.start_server(
            self._serve,
            host,
            port,
            limit=LARGEST_HEAD,
            ssl=context,
            ssl_handshake_timeout=patience,
            backlog=1024,
            start_serving=False,
        )
        for listener in server.sockets:
            # Each connection takes it over.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNSEEN_BYTES)
        await server.start_serving()
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = str((writer.get_extra_info("peername") or ["?"])[0])
        is_unknown = peer not in self._known
        has_room = self._connections.add(peer, 1, is_unknown)
        if not has_room:
            # Who is turned away takes nobody's place.
            self._connections.release(peer, 1, is_unknown)
        try:
            if has_room:
                status = await asyncio.wait_for(self._answer(peer, reader, writer), LONGEST_REQUEST)
            else:
                self._refuse(peer, "too many connections")
                status = 503
            reason = http.HTTPStatus(status).phrase
            head = f"HTTP/1.1 {status} {reason}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            writer.write(head.encode("ascii"))
            await asyncio.wait_for(writer.drain(), LONGEST_REQUEST)
        except (asyncio.TimeoutError, OSError):
            # Who is too slow for an answer needs none.
            pass
        finally:
            if has_room:
                self._connections.release(peer, 1, is_unknown)
            writer.close()

    async def _answer(self, peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        try:
            headers = await _head(reader)
            length = _length(headers)
            if headers.get("expect", "").lower() == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            status = self._take(peer, headers, await self._body(peer, reader, length))
            if status < http.HTTPStatus.MULTIPLE_CHOICES:
                self._get_to_know(peer)
            return status
        except asyncio.IncompleteReadError as error:
            # Who says nothing at all only wanted to know whether somebody is there.
            if error.partial:
                self._refuse(peer, "the request ended early")
            return 400
        except _Bad as error:
            self._refuse(peer, str(error))
            return error.status
        except OSError:
            raise
        except Exception as error:
            self._refuse(peer, f"it could not be taken: {error!r}")
            _logger.debug("A notice could not be taken", exc_info=True)
            return 500

    def _get_to_know(self, peer: str) -> None:
        self._known.pop(peer, None)
        self._known[peer] = None
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]

    async def _body(self, peer: str, reader: asyncio.StreamReader, length: int) -> bytes:
        parts: list[bytes] = []
        held = 0
        is_unknown = peer not in self._known
        try:
            while held < length:
                part = await reader.read(min(LARGEST_HEAD, length - held))
                if not part:
                    raise _Bad(400, "the request ended early")
                held += len(part)
                parts.append(part)
                if not self._bytes.add(peer, len(part), is_unknown):
                    raise _Bad(503, "too much of what is not complete yet")
            return b"".join(parts)
        finally:
            self._bytes.release(peer, held, is_unknown)


async def _head(reader: asyncio.StreamReader) -> dict[str, str]:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise _Bad(431, f"the headers are larger than {LARGEST_HEAD} bytes") from None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _Bad(400, "it is not HTTP")
    if words[0] != "POST":
        raise _Bad(405, "it is not a POST")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        # One that is there twice could be read in two ways.
        if not colon or not name or name != name.strip() or name.lower() in headers:
            raise _Bad(400, "its headers are damaged")
        headers[name.lower()] = value.strip()
    return headers


def _length(headers: Mapping[str, str]) -> int:
    text = headers.get("content-length", "")
    if "transfer-encoding" in headers or not text.isascii() or not text.isdigit():
        raise _Bad(411, "it does not say how long it is (Content-Length)")
    length = int(text[:20])
    if length > LARGEST_BODY:
        raise _Bad(413, f"it is larger than {LARGEST_BODY} bytes")
    return length


SECONDS_BETWEEN_WRITES = 2
# What changes with each notice, whose time and sequence, may be so old.
SECONDS_BETWEEN_ALL = 30


class StateFile:
    def __init__(self, path: str, ledger: Ledger) -> None:
        self.path = Path(path).expanduser()
        self.ledger = ledger
        self._written_changes = -1
        self._written_at = float("-inf")

    def load(self, now: Now, endpoints: tuple[str, ...] = ()) -> None:
        """Where there is none this is the first start. One that can't be read is told in the log."""
        try:
            take_up(self.ledger, json.loads(self.path.read_text(encoding="utf-8")), now, endpoints)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            _logger.warning("%s can't be used, so that no host is known yet: %s", self.path, error)

    async def write_if_due(self, now: Now) -> None:
        age = now.steady - self._written_at
        has_changed = self.ledger.changes != self._written_changes
        if age >= SECONDS_BETWEEN_ALL or (has_changed and age >= SECONDS_BETWEEN_WRITES):
            await self.write(now)

    async def write(self, now: Now) -> None:
        self._written_at, self._written_changes = now.steady, self.ledger.changes
        data = json.dumps(to_keep(self.ledger))
        # A disk may take its time, and notices must not wait for it.
        await asyncio.get_running_loop().run_in_executor(None, self._replace, data)

    def _replace(self, data: str) -> None:
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Only its owner reads who is in the fleet.
            with contextlib.suppress(FileNotFoundError):
                fresh.unlink()
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as state_file:
                state_file.write(data)
                state_file.flush()
                os.fsync(state_file.fileno())
            fresh.replace(self.path)
        except OSError as error:
            _logger.warning("%s could not be written: %s", self.path, error.strerror or error)


# `lock`, by which a group has one run at a time, came with it.
OLDEST_RULEBOOK = (1, 2, 0)
# Lines in the log about what was refused, for each sender.
LINES_AT_ONCE, LINES_A_SECOND = 5, 0.1


class Queue(t.Protocol):
    async def put(self, event: dict[str, t.Any]) -> None: ...


class Source:
    def __init__(self, queue: Queue, arguments: notices.SourceArguments) -> None:
        self.queue = queue
        self.arguments = arguments
        self.ledger = Ledger(arguments.settle, arguments.remind, arguments.silent_after, arguments.max_skew)
        self.door = Door(arguments, self.ledger)
        self.state_file = StateFile(arguments.state_file, self.ledger) if arguments.state_file else None
        self._lines = notices.Allowance(LINES_AT_ONCE, LINES_A_SECOND)
        self._heard = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        if self.state_file:
            self.state_file.load(_now(), self.arguments.endpoints)
        self.door.open(_now())
        readings = [EndpointReadings(one, self.arguments.interval, self._hear) for one in self.arguments.endpoints]
        for one in readings:
            self.ledger.expect(one.endpoint, _now(), one.group, one.called)
        work = [self._tell(), *(one.run() for one in readings)]
        if self.arguments.listens:
            work.append(self._listen())
        tasks = [asyncio.ensure_future(one) for one in work]
        try:
            # The first that ends has failed: a source that no longer hears must not look like one that does.
            done, _others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self.state_file:
                with contextlib.suppress(asyncio.CancelledError):
                    await self.state_file.write(_now())

    async def _listen(self) -> None:
        given = self.arguments
        server = await Server(self._take, self._refuse).start(given.host, given.port, given.certfile, given.keyfile)
        addresses = ", ".join(str(socket.getsockname()[1]) for socket in server.sockets)
        _logger.info("Listening on %s, port %s", given.host, addresses)
        async with server:
            await server.serve_forever()

    def _take(self, peer: str, headers: Mapping[str, str], body: bytes) -> int:
        refused = self.door.let_in(peer, headers, body, _now())
        self._heard.set()
        if refused:
            self._refuse(peer, refused.why)
            return refused.status
        return 204

    def _refuse(self, peer: str, why: str) -> None:
        if self._lines.takes(peer, time.monotonic()):
            _logger.warning("Refused a notice from %s: %s", printable(peer), printable(why))

    def _hear(self, notice: Notice, called: str) -> None:
        self.ledger.hear(notice, _now())
        self.ledger.call(notice.host, called)
        self._heard.set()

    async def _tell(self) -> None:
        """The rules may take their time: what is told is decided when they take it."""
        while True:
            self._heard.clear()
            due = self.ledger.due(_now())
            while self.ledger.complaints:
                self._refuse("the rules", self.ledger.complaints.pop())
            for event in due:
                at = datetime.datetime.now(datetime.timezone.utc)
                event["meta"].update(uuid=str(uuid.uuid4()), received_at=at.isoformat().replace("+00:00", "Z"))
                await self.queue.put(event)
            if self.state_file:
                await self.state_file.write_if_due(_now())
            await self._wait(self.ledger.next_due(_now()))

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._heard.wait(), seconds)
            # What is heard in the same moment is told together, and a fleet does not have all looked at for each word.
            await asyncio.sleep(min(seconds, 0.1))


async def run_source(queue: Queue, given: Mapping[str, t.Any]) -> None:
    """What `main` of the plugin does. Raises BadArguments."""
    check_rulebook(_version_of_rulebook())
    await Source(queue, notices.arguments_of(given)).run()


def check_rulebook(version: str | None) -> None:
    """None where the source is run by something else."""
    if version is not None and tuple(int(part) for part in re.findall(r"\d+", version)[:3]) < OLDEST_RULEBOOK:
        needed = ".".join(map(str, OLDEST_RULEBOOK))
        raise notices.BadArguments(f"this event source needs ansible-rulebook {needed} or newer, not {version}")


def _version_of_rulebook() -> str | None:
    try:
        return importlib.metadata.version("ansible-rulebook")
    except importlib.metadata.PackageNotFoundError:
        return None


def _now() -> Now:
    return Now(time.time(), time.monotonic())
