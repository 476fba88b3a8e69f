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
import runpy
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from free_port import free_port
from patience import wait_until

ROOT = Path(__file__).resolve().parent.parent
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
            self._wait(self._is_listening, "nobody listens")
        return self

    def _is_listening(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def __exit__(self, *_about: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._loop and self._task and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(10)
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
