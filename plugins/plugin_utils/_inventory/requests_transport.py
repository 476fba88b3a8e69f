# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP to the metadata service through `requests`, for code that runs on the controller.

Says how one request went in the words of `wire.py`; when to ask again is decided in `patience.py`.
"""

from __future__ import annotations

import functools
import queue
import socket
import threading
import time
import typing as t
from urllib.parse import urlsplit

from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import (
    LARGEST_BODY,
    Answer,
    Broken,
    NotAccepted,
    NotResolved,
    TimedOut,
    TooLarge,
)

try:
    import requests
    import urllib3
except ImportError as error:
    REQUESTS_ERROR: ImportError | None = error
else:
    REQUESTS_ERROR = None

# Bytes of a body between two looks at the clock.
PIECE = 4096
# A connection attempt ends before the deadline, or it would not be known whether there was a connection.
_SHARE_FOR_CONNECTING = 0.9

# A session is not made for two threads at once.
_own = threading.local()


def _session() -> requests.Session:
    if not hasattr(_own, "session"):
        session = requests.Session()
        # Neither proxies nor .netrc: the service must not be asked through anybody else.
        session.trust_env = False
        session.headers.clear()
        _own.session = session
    return _own.session


class RequestsTransport:
    """One request to one endpoint: no proxy, no redirect, a limit to the body, a hard deadline."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def send(
        self,
        method: str,
        target: str,
        body: str | None,
        headers: dict[str, str],
        connect_seconds: float,
        seconds: float,
    ) -> Answer:
        request = functools.partial(
            _session().request,
            method,
            self.endpoint + target,
            data=body,
            headers={**headers, "Accept-Encoding": "identity"},
            # requests gives every address of a name this time; all of them together shall not take more.
            timeout=(min(connect_seconds, seconds * _SHARE_FOR_CONNECTING) / self._addresses(), seconds),
            allow_redirects=False,
            stream=True,
        )
        try:
            return _within(seconds, functools.partial(_exchange, request, time.monotonic() + seconds))
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as problem:
            raise _in_our_words(problem) from None

    def _addresses(self) -> int:
        # requests hides in nested exceptions, which change with its version, that a name has no address.
        parts = urlsplit(self.endpoint)
        try:
            return len(socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM))
        except (socket.gaierror, UnicodeError) as problem:
            raise NotResolved(str(problem)) from None


def _within(seconds: float, exchange: t.Callable[[], Answer]) -> Answer:
    """What the exchange gives or raises, or TimedOut.

    A time-out of requests starts again with every byte, and headers can't be read in pieces: they are read in a thread
    that is waited for only so long. One whose headers drip on stays behind, and ends with the program at the latest.
    """
    outcomes: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcomes.put(exchange())
        except BaseException as problem:  # noqa: BLE001 - it is raised again where it can be seen
            outcomes.put(problem)

    threading.Thread(target=work, daemon=True).start()
    try:
        outcome = outcomes.get(timeout=seconds)
    except queue.Empty:
        # The thread may still be busy with it.
        del _own.session
        raise TimedOut() from None
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _exchange(request: t.Callable[[], requests.Response], deadline: float) -> Answer:
    with request() as response:
        content = b""
        for piece in response.raw.stream(PIECE, decode_content=False):
            content += piece
            if len(content) > LARGEST_BODY:
                raise TooLarge()
            if time.monotonic() > deadline:
                raise TimedOut()
        # What was promised and did not come.
        if response.raw.length_remaining:
            raise Broken("the body ended early")
        fields = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, fields, content, time.time())


def _in_our_words(problem: Exception) -> Exception:
    causes = _causes(problem)
    if isinstance(problem, requests.ConnectTimeout):
        return NotAccepted("no answer to the connection attempt")
    if any(isinstance(cause, urllib3.exceptions.NewConnectionError) for cause in causes):
        return NotAccepted(_in_words(causes[-1]))
    if isinstance(problem, (requests.Timeout, urllib3.exceptions.TimeoutError, socket.timeout)):
        return TimedOut()
    return Broken(_in_words(causes[-1]))


def _causes(problem: BaseException) -> list[BaseException]:
    """The problem and what it is nested around, the innermost last."""
    causes = [problem]
    while True:
        inner = (getattr(causes[-1], "reason", None), causes[-1].__cause__, causes[-1].__context__)
        nested = [cause for cause in inner if isinstance(cause, BaseException) and cause not in causes]
        if not nested:
            return causes
        causes.append(nested[0])


def _in_words(cause: BaseException) -> str:
    """In the operating system's words, where it has any."""
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
