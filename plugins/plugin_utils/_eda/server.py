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
import ssl
from collections.abc import Callable, Mapping

LARGEST_HEAD = 16 * 1024
LARGEST_BODY = 1024 * 1024
LONGEST_REQUEST = 10
MOST_CONNECTIONS = 2000

# Who asks, with which headers and which body -> the status to answer.
Take = Callable[[str, Mapping[str, str], bytes], int]

_logger = logging.getLogger(__name__)


class _Bad(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Server:
    def __init__(self, take: Take, refuse: Callable[[str, str], None]) -> None:
        self._take = take
        self._refuse = refuse
        self._connections = 0

    async def start(self, host: str, port: int, certfile: str | None, keyfile: str | None) -> asyncio.Server:
        context = None
        if certfile:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certfile, keyfile)
        patience = LONGEST_REQUEST if context else None
        return await asyncio.start_server(
            self._serve, host, port, limit=LARGEST_HEAD, ssl=context, ssl_handshake_timeout=patience, backlog=1024
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = str((writer.get_extra_info("peername") or ["?"])[0])
        self._connections += 1
        try:
            status = await asyncio.wait_for(self._answer(peer, reader, writer), LONGEST_REQUEST)
            reason = http.HTTPStatus(status).phrase
            head = f"HTTP/1.1 {status} {reason}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            writer.write(head.encode("ascii"))
            await asyncio.wait_for(writer.drain(), LONGEST_REQUEST)
        except (asyncio.TimeoutError, OSError):
            # Who is too slow for an answer needs none.
            pass
        except Exception:
            _logger.exception("A notice could not be taken")
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        try:
            if self._connections > MOST_CONNECTIONS:
                raise _Bad(503, "too many connections")
            headers = await _head(reader)
            length = _length(headers)
            if headers.get("expect", "").lower() == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return self._take(peer, headers, await reader.readexactly(length))
        except asyncio.IncompleteReadError as error:
            # Who says nothing at all only wanted to know whether somebody is there.
            if error.partial:
                self._refuse(peer, "the request ended early")
            return 400
        except _Bad as error:
            self._refuse(peer, str(error))
            return error.status


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
