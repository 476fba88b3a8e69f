# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The least of HTTP/1.1 that a watcher needs: one POST for each connection, of limited size, in limited time.

By hand, as the source is open to a whole network: no request is kept for longer than it may take, whatever it says.
"""

from __future__ import annotations

import asyncio
import http
import logging
import socket
import ssl
from collections.abc import Callable, Mapping

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
MOST_CONNECTIONS_OF_STRANGERS, MOST_CONNECTIONS_OF_A_STRANGER = 500, 100
MOST_BYTES_OF_STRANGERS, MOST_BYTES_OF_A_STRANGER = 16 * 1024 * 1024, 4 * 1024 * 1024
MOST_KNOWN = 10_000
# What the machine takes from a connection before anybody has looked at it.
UNSEEN_BYTES = 16 * 1024

# Who asks, with which headers and which body -> the status to answer.
Take = Callable[[str, Mapping[str, str], bytes], int]

_logger = logging.getLogger(__name__)


class _Held:
    """How much is held at a time, in all and for each address."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self.most = most
        self.most_of_one = most_of_one
        self._all = 0
        self._of: dict[str, int] = {}

    def add(self, peer: str, number: int) -> bool:
        """Whether that is still allowed; it counts in any case, until `give_back`."""
        self._all += number
        self._of[peer] = self._of.get(peer, 0) + number
        return self._all <= self.most and self._of[peer] <= self.most_of_one

    def give_back(self, peer: str, number: int) -> None:
        self._all -= number
        left = self._of.pop(peer, 0) - number
        if left:
            self._of[peer] = left


class _Shares:
    """Room for all, of which strangers get a share. Who is a stranger is told when something is added."""

    def __init__(self, all_peers: _Held, strangers: _Held) -> None:
        self._all_peers = all_peers
        self._strangers = strangers

    def add(self, peer: str, number: int, is_stranger: bool) -> bool:
        has_share = self._strangers.add(peer, number) if is_stranger else True
        return self._all_peers.add(peer, number) and has_share

    def give_back(self, peer: str, number: int, is_stranger: bool) -> None:
        self._all_peers.give_back(peer, number)
        if is_stranger:
            self._strangers.give_back(peer, number)


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
            _Held(MOST_CONNECTIONS_OF_STRANGERS, MOST_CONNECTIONS_OF_A_STRANGER),
        )
        self._bytes = _Shares(
            _Held(MOST_BYTES, MOST_BYTES_OF_ONE), _Held(MOST_BYTES_OF_STRANGERS, MOST_BYTES_OF_A_STRANGER)
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
        is_stranger = peer not in self._known
        has_room = self._connections.add(peer, 1, is_stranger)
        if not has_room:
            # Who is turned away takes nobody's place.
            self._connections.give_back(peer, 1, is_stranger)
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
                self._connections.give_back(peer, 1, is_stranger)
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
        is_stranger = peer not in self._known
        try:
            while held < length:
                part = await reader.read(min(LARGEST_HEAD, length - held))
                if not part:
                    raise _Bad(400, "the request ended early")
                held += len(part)
                parts.append(part)
                if not self._bytes.add(peer, len(part), is_stranger):
                    raise _Bad(503, "too much of what is not complete yet")
            return b"".join(parts)
        finally:
            self._bytes.give_back(peer, held, is_stranger)


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
