# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs `main(queue, args)` of the event source as ansible-rulebook does, and shows what the rules are told.

with RunningSource(port=..., secret="s") as source:
    source.wait_for(lambda told: told["state"] == "pending")
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import http.client
import json
import runpy
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from helpers import ROOT
from helpers.network import free_port, listens
from helpers.waiting import PATIENCE, wait_until

COLLECTION = ROOT / ".build" / "ansible_collections" / "maintenance" / "azure"
PLUGIN = COLLECTION / "extensions" / "eda" / "plugins" / "event_source" / "scheduled_events.py"


class RunningSource:
    def __init__(self, **args: Any) -> None:
        self.args = {"host": "127.0.0.1", "port": free_port(), **args}
        self.told: list[dict[str, Any]] = []
        self.problem: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def port(self) -> int:
        return int(self.args["port"])

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as problem:  # noqa: BLE001 - it is looked at by the test
            self.problem = problem

    async def _main(self) -> None:
        main = runpy.run_path(str(PLUGIN))["main"]
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(main(self, self.args))
        await self._task

    async def put(self, event: dict[str, Any]) -> None:
        """As a queue of ansible-rulebook takes it."""
        self.told.append(event)

    def __enter__(self) -> RunningSource:
        self._thread.start()
        if "endpoints" not in self.args:
            self._wait(lambda: listens(self.port), "nobody listens")
        return self

    def __exit__(self, *_about: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._loop and self._task and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def wait_for(self, question: Callable[[dict[str, Any]], Any], after: int = 0) -> dict[str, Any]:
        """The first of all that was told, from number `after` on, of which the question is true."""
        found: list[dict[str, Any]] = []

        def look() -> bool:
            found.extend(one["maintenance"] for one in self.told[after:] if question(one["maintenance"]))
            return bool(found)

        self._wait(look, "was not told")
        return found[0]

    def _wait(self, question: Callable[[], bool], complaint: str) -> None:
        def now_or_never() -> bool:
            assert self.problem is None, self.problem
            return question()

        wait_until(now_or_never, lambda: f"{complaint}: {self.told}")


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
        connection = made("127.0.0.1", self.port, timeout=PATIENCE, **more)
        try:
            # Who is refused at once may be answered, and cut off, before the last byte is sent.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, "/", body, headers)
            return connection.getresponse().status
        finally:
            connection.close()


def iso(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
