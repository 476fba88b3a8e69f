# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signed notices to webhooks.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import hashlib
import hmac
import json
import signal
import time

from .._azure import documents, http
from .._host import run_mark
from .protocol import ended_for


def signature(secret, at, name, body):
    """The HMAC-SHA256 over time, host and body (bytes), with dots between them."""
    signed = ("%d.%s." % (at, name)).encode("utf-8") + body
    return hmac.new(secret.encode("utf-8"), signed, hashlib.sha256).hexdigest()


SECONDS = 10


class NotTold(Exception):
    """The text is for the log."""


def notice_of(name, sequence, reason, status, now, run_until=None):
    """The body of a notice. `status` is None before the first good reading; `run_until` while no run is at work."""
    about = {"host": name, "sent_at": documents.iso(now), "sequence": sequence, "reason": reason, "status": status}
    if run_until is not None:
        about["run_until"] = documents.iso(run_until)
    return json.dumps({"maintenance": about})


def headers_of(address, name, body, now):
    headers = {str(key): str(value) for key, value in (address.get("headers") or {}).items()}
    headers["Content-Type"] = "application/json"
    headers.update({"X-Maintenance-Host": name, "X-Maintenance-Time": str(int(now))})
    if address.get("secret"):
        signed = signature(address["secret"], int(now), name, body.encode("utf-8"))
        headers["X-Maintenance-Signature"] = "sha256=" + signed
    return headers


def send(address, name, body, now):
    """Raises NotTold for all but a 2xx. Redirects are not followed: the receiver is the one that was named."""
    headers = headers_of(address, name, body, now)
    try:
        status = http.ask(address["url"], "POST", body, headers, SECONDS, ca_file=address.get("ca_file")).status
    except (http.NotResolved, http.NotAccepted, http.Broken) as problem:
        raise NotTold(str(problem)) from None
    except http.TimedOut:
        raise NotTold("no answer in %d s" % SECONDS) from None
    if not 200 <= status <= 299:
        raise NotTold("it answered %d" % status)


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
    ended = ended_for(run_mark.path_beside(settings["status_file"]), now)
    run_until = now - ended if ended is not None and ended < 0 else None
    try:
        send(address, settings["name"], notice_of(settings["name"], sequence, reason, status, now, run_until), now)
    except NotTold as error:
        say("%s could not be told: %s" % (address["url"].partition("?")[0], error))
        return 1
    return 0
