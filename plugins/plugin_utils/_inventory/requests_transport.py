# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP to the metadata service through `requests`, for code that runs on the controller.

Says how one request went in the words of `_imds`; when to ask again is decided there.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import typing as t
from urllib.parse import urlsplit

from ansible_collections.maintenance.azure.plugins.module_utils._service.imds import (
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
    from requests.adapters import HTTPAdapter
    from urllib3.connection import HTTPConnection
    from urllib3.connectionpool import HTTPConnectionPool
except ImportError as error:
    REQUESTS_ERROR: ImportError | None = error
    HTTPAdapter = HTTPConnection = HTTPConnectionPool = object  # type: ignore[assignment,misc]
else:
    REQUESTS_ERROR = None

# What belongs to one thread: its session, and the socket of the request that it has under way.
_own = threading.local()


class _Connection(HTTPConnection):
    """Tells its thread which socket it opened, so that a deadline can end it."""

    def connect(self) -> None:
        super().connect()
        _own.socket = self.sock


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: t.Any, **kwargs: t.Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool}


def _session() -> requests.Session:
    if not hasattr(_own, "session"):
        session = requests.Session()
        # Neither proxies nor .netrc: the service must not be asked through anybody else.
        session.trust_env = False
        session.headers.clear()
        session.mount("http://", _Adapter(max_retries=0))
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
        self._resolve()
        _own.socket = None
        with _Deadline(seconds) as deadline:
            try:
                answer = self._exchange(method, target, body, headers, connect_seconds, seconds)
            except Broken:
                if not deadline.passed:
                    raise
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as problem:
                raise self._in_our_words(problem, deadline) from None
        # A body without a length looks whole when the deadline has cut it short.
        if deadline.passed:
            raise TimedOut()
        return answer

    def _resolve(self) -> None:
        # requests hides in nested exceptions, which change with its version, that a name has no address.
        parts = urlsplit(self.endpoint)
        try:
            socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as problem:
            raise NotResolved(str(problem)) from None

    def _exchange(
        self,
        method: str,
        target: str,
        body: str | None,
        headers: dict[str, str],
        connect_seconds: float,
        seconds: float,
    ) -> Answer:
        with _session().request(
            method,
            self.endpoint + target,
            data=body,
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=(connect_seconds, seconds),
            allow_redirects=False,
            stream=True,
        ) as response:
            content = response.raw.read(LARGEST_BODY + 1, decode_content=False)
            if len(content) > LARGEST_BODY:
                raise TooLarge()
            # What was promised and did not come.
            if response.raw.length_remaining:
                raise Broken("the body ended early")
            fields = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status_code, fields, content, time.time())

    @staticmethod
    def _in_our_words(problem: Exception, deadline: _Deadline) -> Exception:
        if _own.socket is None:
            silent = isinstance(problem, requests.ConnectTimeout)
            return NotAccepted("no answer to the connection attempt" if silent else _cause(problem))
        if deadline.passed or isinstance(problem, (requests.Timeout, urllib3.exceptions.TimeoutError, socket.timeout)):
            return TimedOut()
        return Broken(_cause(problem))


class _Deadline:
    """Ends the thread's connection when its time is up. A time-out of requests starts again with every byte."""

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._owner = _own.__dict__
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_about: object) -> None:
        self._timer.cancel()

    def _pass(self) -> None:
        self.passed = True
        under_way = self._owner.get("socket")
        if under_way is not None:
            with contextlib.suppress(OSError):
                under_way.shutdown(socket.SHUT_RDWR)


def _cause(problem: BaseException) -> str:
    """The innermost of nested exceptions, in the operating system's words where it has any."""
    seen = set()
    while id(problem) not in seen:
        seen.add(id(problem))
        inner = problem.__cause__ or problem.__context__
        nested = [value for value in (getattr(problem, "reason", None), inner) if isinstance(value, BaseException)]
        if not nested:
            break
        problem = nested[0]
    return getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
