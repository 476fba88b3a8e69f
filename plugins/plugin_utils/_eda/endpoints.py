# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleets without watchers: the source reads endpoints by itself, and hears what they say as it hears a notice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import typing as t

from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import ImdsError, read
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    BadReading,
    build_status,
    known_of_status,
    parse_document,
    parse_identity,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.group_names import name_after, without_odd_signs
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notice import Notice, is_name

API_VERSION = "2020-07-01"
# The first call ever may take two minutes.
TIMEOUT = 130

_logger = logging.getLogger(__name__)


class EndpointReadings:
    """One endpoint, read again and again. `hear` takes each good reading, as a notice, and what its VM is called.

    A host is known by its endpoint, as VMs of two groups may have one name, and as a VM that never answered has none.
    """

    def __init__(self, endpoint: str, interval: float, hear: t.Callable[[Notice, str], object]) -> None:
        self.endpoint = endpoint
        self.interval = interval
        self._hear = hear
        self._sequence = 0
        self._identity: dict[str, str | None] | None = None
        self._problem: str | None = None

    async def run(self) -> None:
        while True:
            began = asyncio.get_running_loop().time()
            try:
                self._hear(await _in_a_thread(self._read), self.called)
                self._say(None)
            except (ImdsError, BadReading) as error:
                # It is not heard of, and told as silent by and by: never as one without events.
                self._say(str(error))
            spent = asyncio.get_running_loop().time() - began
            await asyncio.sleep(max(self.interval / 2, self.interval - spent))

    def _read(self) -> Notice:
        request = {
            "endpoints": [self.endpoint],
            "api_version": API_VERSION,
            "with_instance": self._identity is None,
            "timeout": TIMEOUT,
        }
        answer = read(request)
        document = parse_document(answer["events"]["body"])
        if answer["instance"] is not None:
            self._identity = parse_identity(answer["instance"]["body"])
        read_at = answer["events"]["at"]
        known = known_of_status(build_status(document, self._identity, read_at))
        self._sequence += 1
        return Notice(self.endpoint, read_at, self._sequence, known)

    @property
    def group(self) -> str:
        return name_after(self._address)

    @property
    def called(self) -> str:
        """As its VM is, else the address."""
        name = (self._identity or {}).get("vm_name")
        return str(name) if is_name(name) else self._address

    @property
    def _address(self) -> str:
        return without_odd_signs(self.endpoint.partition("://")[2]) or "endpoint"

    def _say(self, problem: str | None) -> None:
        """In the log once, and not with each reading."""
        if (problem is None) != (self._problem is None):
            _logger.warning("%s: %s", self.endpoint, problem or "readings are good again")
        self._problem = problem


async def _in_a_thread(read_once: t.Callable[[], Notice]) -> Notice:
    """Not by the loop's own threads: nobody could leave before an endpoint that hangs has used up its time."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Notice] = loop.create_future()

    def settle(notice: Notice | None, error: Exception | None) -> None:
        if outcome.done():
            return
        if notice is not None:
            outcome.set_result(notice)
        else:
            outcome.set_exception(error or RuntimeError())

    def work() -> None:
        notice, error = None, None
        try:
            notice = read_once()
        except Exception as problem:  # noqa: BLE001 - it is raised again where it is waited for
            error = problem
        # The loop may be gone by then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, notice, error)

    threading.Thread(target=work, daemon=True).start()
    return await outcome
