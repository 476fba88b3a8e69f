# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP from a host: addresses, errors, and the client for the metadata service, webhooks and other web servers.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections
import contextlib
import os
import re
import socket
import time

DEFAULT_ENDPOINT = "http://169.254.169.254"


def address_of(endpoint):
    """Return host and port of a checked endpoint."""
    # By hand, as urllib.parse is as large as the rest of the code that a watcher keeps in memory.
    place = endpoint.partition("://")[2].rstrip("/").rpartition("@")[2]
    host, colon, port = place.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = place, ""
    return host.strip("[]"), int(port or _usual_port(endpoint))


def _usual_port(endpoint):
    return 443 if endpoint.startswith("https:") else 80


def check_endpoint(endpoint):
    """Return the endpoint without a trailing slash, or raise ValueError with a sentence for the user."""
    from urllib.parse import urlsplit

    complaint = "endpoint must look like %s (http://ADDRESS or http://ADDRESS:PORT), not %r" % (
        DEFAULT_ENDPOINT,
        endpoint,
    )
    if "://" not in endpoint:
        raise ValueError("%s: the http:// is missing" % complaint)
    parts = urlsplit(endpoint)
    if parts.scheme == "https":
        raise ValueError("%s: the metadata service speaks plain http only" % complaint)
    if parts.scheme != "http":
        raise ValueError("%s: %s is not a scheme that the metadata service speaks" % (complaint, parts.scheme))
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("%s: leave out the path, it is added for you" % complaint)
    if parts.username is not None or parts.password is not None:
        raise ValueError("%s: the metadata service takes no credentials" % complaint)
    try:
        port = parts.port
    except ValueError:
        raise ValueError("%s: the port is not a number from 1 to 65535" % complaint) from None
    if not parts.hostname or any(c.isspace() for c in endpoint) or port == 0:
        raise ValueError(complaint)
    return endpoint.rstrip("/")


# A transport serves one endpoint. Its `send(method, target, body, headers, connect_seconds, seconds)` makes one request
# without redirects, limits the body, and has a deadline that no server can extend.

LARGEST_BODY = 1024 * 1024

Answer = collections.namedtuple("Answer", "status headers body at")

# int() also accepts signs, underscores and digits of other scripts; isdigit() accepts what int() rejects.
_DIGITS = {10: frozenset("0123456789"), 16: frozenset("0123456789abcdefABCDEF")}
# Longer numbers are not seconds or bytes, and newer Pythons reject thousands of digits.
LONGEST_NUMBER = 18


def number_in(text, base=10):
    """Parse a number from a header, or return None."""
    text = text.strip()
    if not text or len(text) > LONGEST_NUMBER or not _DIGITS[base].issuperset(text):
        return None
    return int(text, base)


class NotResolved(Exception):
    """The endpoint's name has no address."""


class NotAccepted(Exception):
    """No connection was made, so nothing was sent."""


class _NotTrusted(NotAccepted):
    """No CA that was searched has signed the server's certificate."""


class Broken(Exception):
    """The connection ended without a whole answer: the request may have arrived."""


class TimedOut(Exception):
    """The connection was made, but no whole answer arrived in time."""


class TooLarge(Exception):
    """The body is larger than any event document. `body` is its beginning, `status` the answer's status."""

    def __init__(self, body=b"", status=None):
        super(TooLarge, self).__init__()
        self.body = body
        self.status = status


LARGEST_HEAD = 64 * 1024
PIECE = 64 * 1024
# How often `meanwhile` is called during the wait for an answer.
SECONDS_BETWEEN_BREATHS = 1.0


class Stale(Broken):
    """A kept connection ended before the first byte of the answer: the service had closed it earlier."""


class HttpTransport:
    """HTTP client for one endpoint.

    `keep` reuses the connection where the service allows it; `ca_file` and `validate_certs` are for https; `proxy` is a
    URL. `meanwhile` is called about once a second during the wait for an answer, and must not raise.
    """

    def __init__(self, endpoint, keep=False, ca_file=None, validate_certs=True, proxy=None):
        self.endpoint = endpoint
        self.keep = keep
        self.ca_file = ca_file
        self.validate_certs = validate_certs
        self.proxy = proxy
        self.host, self.port = address_of(endpoint)
        self.meanwhile = None
        self._kept = None

    def send(self, method, target, body, headers, connect_seconds, seconds):
        deadline = time.monotonic() + seconds
        request = self._request(method, target, body, headers)
        kept, self._kept = self._kept, None
        if kept:
            try:
                return self._exchange(kept, request, deadline, is_kept=True)
            except Stale as problem:
                # The request may have been processed, so it is not sent twice.
                if method != "GET":
                    raise Broken(str(problem)) from None
        return self._exchange(self._connected(connect_seconds), request, deadline)

    def close(self):
        if self._kept:
            self._kept.close()
            self._kept = None

    def _request(self, method, target, body, headers):
        if self.keep:
            headers = {name: value for name, value in headers.items() if name != "Connection"}
        if self.proxy and not self._is_secure():
            headers = dict(headers, **_login_of(self.proxy))
            target = self.endpoint + target
        return request_bytes(self.endpoint, method, target, body, headers)

    def _is_secure(self):
        return self.endpoint.startswith("https:")

    def _connected(self, connect_seconds):
        if not self._is_secure():
            return self._opened(connect_seconds)
        folder = folder_by_hash() if self.validate_certs and not self.ca_file else None
        if folder:
            # The system's bundle takes 25 ms to read; from its folder OpenSSL reads only the CA that it needs.
            try:
                return self._secured(connect_seconds, capath=folder)
            except _NotTrusted:
                # The CA may be in the bundle only.
                pass
        return self._secured(connect_seconds, cafile=self.ca_file)

    def _opened(self, connect_seconds):
        try:
            address = address_of(self.proxy) if self.proxy else (self.host, self.port)
            connection = socket.create_connection(address, connect_seconds)
            # A request is sent in one piece, so a delay gains nothing.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except (socket.gaierror, UnicodeError) as error:
            raise NotResolved(str(error)) from None
        except socket.timeout:
            raise NotAccepted("no answer to the connection attempt") from None
        except OSError as error:
            raise NotAccepted(error.strerror or str(error)) from None

    def _secured(self, connect_seconds, **trusted):
        # Imported late: it takes 20 ms, which plain http need not pay.
        import ssl

        connection = self._opened(connect_seconds)
        try:
            if self.proxy:
                self._tunnel(connection, time.monotonic() + connect_seconds)
            context = ssl.create_default_context(**trusted)
            if not self.validate_certs:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            return context.wrap_socket(connection, server_hostname=self.host)
        except (OSError, ValueError, Broken) as error:
            connection.close()
            is_about_trust = getattr(error, "reason", None) == "CERTIFICATE_VERIFY_FAILED"
            problem = _NotTrusted if is_about_trust else NotAccepted
            raise problem("TLS: %s" % (getattr(error, "strerror", None) or error)) from None

    def _tunnel(self, connection, deadline):
        there = "%s:%d" % ("[%s]" % self.host if ":" in self.host else self.host, self.port)
        connection.sendall(request_bytes("http://" + there, "CONNECT", there, None, _login_of(self.proxy)))
        head = _Incoming(connection, deadline).until(b"\r\n\r\n", LARGEST_HEAD, "headers without an end")
        status = _head(head.decode("latin-1"))[1]
        if not 200 <= status <= 299:
            raise Broken("the proxy answers %d" % status)

    def _exchange(self, connection, request, deadline, is_kept=False):
        incoming = _Incoming(connection, deadline, self.meanwhile)
        may_keep = False
        try:
            connection.settimeout(_left(deadline))
            connection.sendall(request)
            status, fields, content, may_keep = _answer(incoming, request.startswith(b"HEAD "))
            return Answer(status, fields, content, time.time())
        except socket.timeout:
            raise TimedOut() from None
        except (OSError, Broken) as error:
            if is_kept and not incoming.has_begun:
                raise Stale(str(error)) from None
            raise Broken(str(error) or type(error).__name__) from None
        finally:
            if may_keep and self.keep:
                self._kept = connection
            else:
                connection.close()


def request_bytes(endpoint, method, target, body, headers):
    """Serialize a request."""
    host, port = address_of(endpoint)
    host = "[%s]" % host if ":" in host else host
    fields = {"Host": host if port == _usual_port(endpoint) else "%s:%d" % (host, port), "Accept-Encoding": "identity"}
    given = {name.lower() for name in headers}
    fields = {name: value for name, value in fields.items() if name.lower() not in given}
    fields.update(headers)
    content = b"" if body is None else body.encode("utf-8")
    if body is not None:
        fields["Content-Length"] = len(content)
    head = "".join("%s: %s\r\n" % field for field in fields.items())
    return ("%s %s HTTP/1.1\r\n%s\r\n" % (method, target, head)).encode("utf-8") + content


def answer_in(content, at):
    """Parse an answer from all of its bytes, or raise Broken where it is not whole."""
    incoming = _Incoming(None, None)
    incoming.waiting = content
    incoming.more = lambda: False
    status, fields, body, _may_keep = _answer(incoming)
    return Answer(status, fields, body, at)


class _Incoming:
    """The bytes of one answer as they arrive, until a deadline."""

    def __init__(self, connection, deadline, meanwhile=None):
        self.connection = connection
        self.deadline = deadline
        self.meanwhile = meanwhile
        self.next_breath = time.monotonic() + SECONDS_BETWEEN_BREATHS if meanwhile else deadline
        self.waiting = b""
        self.has_begun = False

    def more(self):
        """Receive a piece; return False at the end of the connection."""
        piece = self._next_piece()
        self.has_begun = self.has_begun or bool(piece)
        self.waiting += piece
        return bool(piece)

    def _next_piece(self):
        while True:
            left = _left(self.deadline)
            if self.meanwhile and time.monotonic() >= self.next_breath:
                self.meanwhile()
                self.next_breath = time.monotonic() + SECONDS_BETWEEN_BREATHS
                left = _left(self.deadline)
            self.connection.settimeout(min(left, SECONDS_BETWEEN_BREATHS) if self.meanwhile else left)
            try:
                return self.connection.recv(PIECE)
            except socket.timeout:
                # Either `meanwhile` is due, or _left() raises.
                continue

    def until(self, end, at_most, complaint):
        """Return the bytes before `end`."""
        while end not in self.waiting:
            if len(self.waiting) > at_most:
                raise Broken(complaint)
            if not self.more():
                raise Broken("the answer ended early")
        found, self.waiting = self.waiting.split(end, 1)
        return found

    def exactly(self, length):
        while len(self.waiting) < length:
            if not self.more():
                raise Broken("the body ended early")
        found, self.waiting = self.waiting[:length], self.waiting[length:]
        return found

    def rest(self):
        while len(self.waiting) <= LARGEST_BODY:
            if not self.more():
                return self.waiting
        raise TooLarge(self.beginning())

    def beginning(self):
        """Return the part of a body that is too large which arrives in time, up to the limit."""
        with contextlib.suppress(OSError):
            while len(self.waiting) < LARGEST_BODY and self.more():
                pass
        return self.waiting[:LARGEST_BODY]


def _left(deadline):
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout()
    return left


def _answer(incoming, is_head=False):
    """Return status, fields, body, and whether the connection can be reused."""
    while True:
        head = incoming.until(b"\r\n\r\n", LARGEST_HEAD, "headers without an end")
        version, status, fields = _head(head.decode("latin-1"))
        # 100 Continue and similar only announce an answer.
        if status >= 200:
            break
    closes = version != "HTTP/1.1" or "close" in fields.get("connection", "").lower()
    try:
        content, may_follow = (b"", True) if is_head else _body(incoming, status, fields)
    except TooLarge as problem:
        problem.status = status
        raise
    return status, fields, content, may_follow and not closes


def _body(incoming, status, fields):
    """Return the body, and whether its end is certain, so that another answer may follow it."""
    if status in (204, 304):
        return b"", True
    if "chunked" in fields.get("transfer-encoding", "").lower():
        return _chunks(incoming), True
    if "content-length" not in fields:
        return incoming.rest(), False
    length = _number(fields["content-length"], 10)
    if length > LARGEST_BODY:
        raise TooLarge(incoming.beginning())
    content = incoming.exactly(length)
    # Surplus bytes would be taken for the answer to the next request.
    return content, not incoming.waiting


def _head(text):
    lines = text.split("\r\n")
    words = lines[0].split(None, 2)
    status = number_in(words[1]) if len(words) > 1 and len(words[1]) == 3 else None
    if status is None or not words[0].startswith("HTTP/1."):
        raise Broken("not HTTP: %r" % lines[0][:80])
    fields = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if colon and name == "content-length" and fields.get(name, value.strip()) != value.strip():
            raise Broken("two lengths of one body")
        if colon:
            fields[name] = value.strip()
    return words[0], status, fields


def _chunks(incoming):
    content = b""
    while True:
        size = _number(
            incoming.until(b"\r\n", LARGEST_HEAD, "a chunk without a length").split(b";")[0].decode("latin-1"), 16
        )
        if len(content) + size > LARGEST_BODY:
            raise TooLarge((content + incoming.beginning())[:LARGEST_BODY])
        if size == 0:
            # Skip trailing headers, up to an empty line.
            while incoming.until(b"\r\n", LARGEST_HEAD, "headers without an end"):
                pass
            return content
        content += incoming.exactly(size)
        incoming.until(b"\r\n", 2, "a chunk longer than it says")


def _number(text, base):
    number = number_in(text, base)
    if number is None:
        raise Broken("no length: %r" % text[:40])
    return number


# The names by which OpenSSL finds the certificate of one CA without reading all others.
_HASHED_NAME = re.compile(r"[0-9a-f]{8}\.[0-9]+")


def folder_by_hash():
    """Return the system's folder of CAs if it is indexed by hash; None where the environment names a CA file."""
    import ssl

    paths = ssl.get_default_verify_paths()
    if os.environ.get(paths.openssl_cafile_env) or not paths.capath:
        return None
    try:
        return paths.capath if any(map(_HASHED_NAME.fullmatch, os.listdir(paths.capath))) else None
    except OSError:
        return None


def _login_of(proxy):
    """Build the header for a proxy with credentials in its URL."""
    login = proxy.partition("://")[2].rpartition("@")[0]
    if not login:
        return {}
    import base64
    from urllib.parse import unquote

    return {"Proxy-Authorization": "Basic " + base64.b64encode(unquote(login).encode("utf-8")).decode("ascii")}


def _proxy_of_environment(parts):
    """Return the URL of the proxy that the environment sets for an address, or None."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    import urllib.request

    found = urllib.request.getproxies_environment()
    proxy = found.get(parts.scheme) or found.get("all")
    if not proxy or urllib.request.proxy_bypass_environment(parts.netloc.rpartition("@")[2], found):
        return None
    return proxy.rstrip("/") if "://" in proxy else "http://" + proxy.rstrip("/")


def ask(url, method="GET", body=None, headers=None, seconds=10, by_proxy=False, ca_file=None, validate_certs=True):
    """Return the answer of a web server, whatever its status. A body that is too large is cut.

    Redirects are not followed, so that only the named server is used. `by_proxy` uses a proxy of the environment.
    """
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    host = "[%s]" % parts.hostname if ":" in parts.hostname else parts.hostname
    endpoint = "%s://%s" % (parts.scheme, host if parts.port is None else "%s:%d" % (host, parts.port))
    proxy = _proxy_of_environment(parts) if by_proxy else None
    transport = HttpTransport(endpoint, ca_file=ca_file, validate_certs=validate_certs, proxy=proxy)
    given = {str(name): str(value) for name, value in (headers or {}).items()}
    fields = {name: value for name, value in given.items() if name.lower() not in ("connection", "content-length")}
    fields["Connection"] = "close"
    if "user-agent" not in {name.lower() for name in fields}:
        fields["User-Agent"] = "azure-maintenance"
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    try:
        return transport.send(method, target, body, fields, seconds, seconds)
    except TooLarge as problem:
        return Answer(problem.status, {}, problem.body, time.time())
