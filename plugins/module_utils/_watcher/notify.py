# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signed notices to webhooks.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import hashlib
import hmac
import json
import os
import re
import signal
import ssl
import time
from urllib.parse import urlsplit

from .._azure.documents import iso
from .._azure.http import Broken, NotAccepted, NotResolved, SocketTransport, TimedOut, TooLarge
from .._host.run_mark import path_beside
from .protocol import ended_for


def signature(secret, at, name, body):
    """The HMAC-SHA256 over time, host and body (bytes), with dots between them."""
    signed = ("%d.%s." % (at, name)).encode("utf-8") + body
    return hmac.new(secret.encode("utf-8"), signed, hashlib.sha256).hexdigest()


# How OpenSSL finds the certificate of one CA without reading those of all others.
_HASHED_NAME = re.compile(r"[0-9a-f]{8}\.[0-9]+")


class _NotTrusted(NotAccepted):
    """None of the CAs that were looked at vouches for the receiver."""


class TlsTransport(SocketTransport):
    USUAL_PORT = 443

    def __init__(self, endpoint, ca_file=None):
        super(TlsTransport, self).__init__(endpoint)
        self.ca_file = ca_file

    def _connected(self, connect_seconds):
        folder = None if self.ca_file else folder_by_hash()
        if folder:
            # The system's bundle takes 25 ms to read; in its folder OpenSSL looks for the one CA that is needed.
            try:
                return self._secured(connect_seconds, capath=folder)
            except _NotTrusted:
                # It may be in the bundle all the same.
                pass
        return self._secured(connect_seconds, cafile=self.ca_file)

    def _secured(self, connect_seconds, **trusted):
        connection = super(TlsTransport, self)._connected(connect_seconds)
        try:
            context = ssl.create_default_context(**trusted)
            return context.wrap_socket(connection, server_hostname=self.host)
        except (OSError, ValueError) as error:
            connection.close()
            is_about_trust = getattr(error, "reason", None) == "CERTIFICATE_VERIFY_FAILED"
            problem = _NotTrusted if is_about_trust else NotAccepted
            raise problem("TLS: %s" % (getattr(error, "strerror", None) or error)) from None


def folder_by_hash():
    """The system's folder of CAs, if one of them can be found there by itself. None where a file was named for all."""
    paths = ssl.get_default_verify_paths()
    if os.environ.get(paths.openssl_cafile_env) or not paths.capath:
        return None
    try:
        return paths.capath if any(map(_HASHED_NAME.fullmatch, os.listdir(paths.capath))) else None
    except OSError:
        return None


SECONDS = 10


class NotTold(Exception):
    """The text is for the log."""


def notice_of(name, sequence, reason, status, now, run_until=None):
    """The body of a notice. `status` is None before the first good reading; `run_until` while no run is at work."""
    about = {"host": name, "sent_at": iso(now), "sequence": sequence, "reason": reason, "status": status}
    if run_until is not None:
        about["run_until"] = iso(run_until)
    return json.dumps({"maintenance": about})


def headers_of(address, name, body, now):
    headers = {str(key): str(value) for key, value in (address.get("headers") or {}).items()}
    headers.update({"Content-Type": "application/json", "Connection": "close"})
    headers.update({"X-Maintenance-Host": name, "X-Maintenance-Time": str(int(now))})
    if address.get("secret"):
        signed = signature(address["secret"], int(now), name, body.encode("utf-8"))
        headers["X-Maintenance-Signature"] = "sha256=" + signed
    return headers


def send(address, name, body, now):
    """Raises NotTold for all but a 2xx. Redirects are not followed: the receiver is the one that was named."""
    parts = urlsplit(address["url"])
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    try:
        transport = _transport(parts, address.get("ca_file"))
        status = transport.send("POST", target, body, headers_of(address, name, body, now), SECONDS, SECONDS).status
    except (NotResolved, NotAccepted, Broken) as problem:
        raise NotTold(str(problem)) from None
    except TimedOut:
        raise NotTold("no answer in %d s" % SECONDS) from None
    except TooLarge as problem:
        # What else it says is of no interest.
        status = problem.status
    if not 200 <= status <= 299:
        raise NotTold("it answered %d" % status)


def _transport(parts, ca_file):
    host = "[%s]" % parts.hostname if ":" in parts.hostname else parts.hostname
    if parts.scheme == "http":
        return SocketTransport("http://%s:%d" % (host, parts.port or 80))
    # It costs 20 ms, which an address without TLS need not pay.

    return TlsTransport("https://%s:%d" % (host, parts.port or 443), ca_file)


def main(settings, number, reason, sequence, say):
    """The exit code: 0 only if the receiver has it."""
    # Names that take their time to be looked up are no matter of a socket.
    signal.alarm(2 * SECONDS)
    address, now = settings["notify"][number], time.time()
    try:
        with open(settings["status_file"], "rb") as status_file:
            status = json.loads(status_file.read().decode("utf-8"))
    except (OSError, ValueError):
        status = None
    ended = ended_for(path_beside(settings["status_file"]), now)
    run_until = now - ended if ended is not None and ended < 0 else None
    try:
        send(address, settings["name"], notice_of(settings["name"], sequence, reason, status, now, run_until), now)
    except NotTold as error:
        say("%s could not be told: %s" % (address["url"].partition("?")[0], error))
        return 1
    return 0
