# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The event source at work: listens, reads, and tells the rules what the ledger says is due."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import importlib.metadata
import logging
import re
import time
import typing as t
import uuid
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import printable
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.arguments import (
    BadArguments,
    SourceArguments,
    arguments_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.door import Door
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.endpoints import EndpointReadings
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.heard import Now
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.ledger import Ledger
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.limits import Allowance
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notice import Notice
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.server import Server
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.state_file import StateFile

# `lock`, by which a group has one run at a time, came with it.
OLDEST_RULEBOOK = (1, 2, 0)
# Lines in the log about what was refused, for each sender.
LINES_AT_ONCE, LINES_A_SECOND = 5, 0.1

_logger = logging.getLogger(__name__)


class Queue(t.Protocol):
    async def put(self, event: dict[str, t.Any]) -> None: ...


class Source:
    def __init__(self, queue: Queue, arguments: SourceArguments) -> None:
        self.queue = queue
        self.arguments = arguments
        self.ledger = Ledger(arguments.settle, arguments.remind, arguments.silent_after, arguments.max_skew)
        self.door = Door(arguments, self.ledger)
        self.state_file = StateFile(arguments.state_file, self.ledger) if arguments.state_file else None
        self._lines = Allowance(LINES_AT_ONCE, LINES_A_SECOND)
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
    await Source(queue, arguments_of(given)).run()


def check_rulebook(version: str | None) -> None:
    """None where the source is run by something else."""
    if version is not None and tuple(int(part) for part in re.findall(r"\d+", version)[:3]) < OLDEST_RULEBOOK:
        needed = ".".join(map(str, OLDEST_RULEBOOK))
        raise BadArguments(f"this event source needs ansible-rulebook {needed} or newer, not {version}")


def _version_of_rulebook() -> str | None:
    try:
        return importlib.metadata.version("ansible-rulebook")
    except importlib.metadata.PackageNotFoundError:
        return None


def _now() -> Now:
    return Now(time.time(), time.monotonic())
