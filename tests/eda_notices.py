# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notices as a watcher sends them, to an event source. Standard library only."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import json
import ssl
import time
from typing import Any


def event(
    event_id: str = "A", resources: tuple[str, ...] = ("web-0",), left: float = 900, **changes: Any
) -> dict[str, Any]:
    """An event as a status has it."""
    return {
        "id": event_id,
        "type": "Reboot",
        "status": "Scheduled",
        "source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": list(resources),
        "not_before": iso(time.time() + left),
        "duration_seconds": 5,
        "description": "Host server is undergoing maintenance.",
        **changes,
    }


def status(
    *events: dict[str, Any], vm_name: str | None = None, drained: bool = False, **identity: Any
) -> dict[str, Any]:
    return {
        "this_host": {"vm_name": vm_name, **identity} if vm_name else None,
        "document_incarnation": 1,
        "events": list(events),
        "read_at": iso(time.time()),
        "watcher": {"drained": drained},
    }


class Watchers:
    """Speaks for hosts, each notice newer than those before."""

    def __init__(self, port: int, secret: str | None = "s", tls: ssl.SSLContext | None = None) -> None:
        self.port = port
        self.secret = secret
        self.tls = tls
        self.sequence = 0

    def tell(self, host: str, known: dict[str, Any] | None, **how: Any) -> int:
        """The status that was answered."""
        self.sequence += 1
        return self.post(*self.notice(host, known, self.sequence, **how))

    def notice(
        self,
        host: str,
        known: dict[str, Any] | None,
        sequence: int,
        at: float | None = None,
        secret: str | None = None,
        **about: Any,
    ) -> tuple[bytes, dict[str, str]]:
        at = time.time() if at is None else at
        content = {
            "host": host,
            "sent_at": iso(at),
            "sequence": sequence,
            "reason": "changed",
            "status": known,
            **about,
        }
        body = json.dumps({"maintenance": content}).encode()
        headers = {"Content-Type": "application/json", "Connection": "close"}
        headers.update({"X-Maintenance-Host": host, "X-Maintenance-Time": str(int(at))})
        if key := secret or self.secret:
            signed = f"{int(at)}.{host}.".encode() + body
            headers["X-Maintenance-Signature"] = "sha256=" + hmac.new(key.encode(), signed, hashlib.sha256).hexdigest()
        return body, headers

    def post(self, body: bytes, headers: dict[str, str], method: str = "POST") -> int:
        made = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        more = {"context": self.tls} if self.tls else {}
        connection = made("127.0.0.1", self.port, timeout=15, **more)
        try:
            # Who is refused at once may be answered, and cut off, before the last byte is sent.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, "/", body, headers)
            return connection.getresponse().status
        finally:
            connection.close()


def iso(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
