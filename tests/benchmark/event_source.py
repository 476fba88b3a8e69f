# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the event source costs that listens to 2,000 watchers, in peace and in the minute after a restart."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from figures import Figure
from helpers.event_source import PLUGIN, event, iso, status
from helpers.network import free_port
from helpers.watcher_process import resident_kilobytes

WATCHERS, HEARTBEAT, A_GROUP = 2000, 30, 100
SECONDS = int(os.environ.get("EVENT_SOURCE_SECONDS", "60"))
SECRET = "s" * 32


def two_thousand_watchers(folder: Path, _repeats: int) -> list[Figure]:
    """Once: what varies is within the two minutes."""
    args = {"host": "127.0.0.1", "port": free_port(), "secret": SECRET, "state_file": str(folder / "state.json")}
    fleet = _Fleet(args["port"])
    peace = _Phase(args, folder)
    asyncio.run(fleet.speak(HEARTBEAT + 5))
    peace.begin()
    peace.latencies = asyncio.run(fleet.speak(SECONDS))
    peace.end()
    peace.process.kill()
    peace.process.wait()
    # As long as it takes to come back, nobody is heard; then all of them come within one heartbeat.
    asyncio.run(fleet.speak(5))
    restart = _Phase(args, folder)
    restart.begin(since_start=True)
    restart.latencies = asyncio.run(fleet.speak(60))
    restart.end()
    restart.process.kill()
    restart.process.wait()
    told = (folder / "told").read_text(encoding="utf-8").splitlines()
    what = f"event source, {WATCHERS} watchers with a heartbeat of {HEARTBEAT} s"
    figures = []
    for phase, name in ((peace, what), (restart, f"{what}, the minute after a restart")):
        parts = {"seconds": phase.seconds, "notices": len(phase.latencies), "refused": fleet.refused, "told": len(told)}
        slowest = statistics.quantiles(phase.latencies, n=100)[98]
        figures += [
            Figure(f"{name}: share of a core", "10%", 10, [100 * phase.spent / phase.seconds], "%", parts),
            Figure(f"{name}: resident memory", "200 MB", 200, [phase.memory], " MB", parts),
            Figure(f"{name}: p99 until the answer", "100 ms", 100, [1000 * slowest], " ms", parts),
        ]
    return figures


class _Phase:
    """One life of the source, and what it costs from `begin` to `end`."""

    def __init__(self, args: dict[str, Any], folder: Path) -> None:
        self.started = time.monotonic()
        with (folder / "told").open("ab") as told:
            self.process = subprocess.Popen([sys.executable, str(PLUGIN), json.dumps(args)], stdout=told)
        self.latencies: list[float] = []
        self.seconds = self.spent = self.memory = 0.0

    def begin(self, since_start: bool = False) -> None:
        self.began = self.started if since_start else time.monotonic()
        self.spent = 0.0 if since_start else _processor_seconds(self.process.pid)

    def end(self) -> None:
        self.seconds = time.monotonic() - self.began
        self.spent = _processor_seconds(self.process.pid) - self.spent
        self.memory = resident_kilobytes(self.process.pid) / 1024


class _Fleet:
    """Watchers in groups, whose documents hold some events."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.refused = 0
        self.sequence = int(time.time())
        self.bodies: list[tuple[str, bytes, bytes]] = []
        for number in range(WATCHERS):
            group = number // A_GROUP
            name = f"vm-{number}"
            named = [f"vm-{group * A_GROUP + other}" for other in range(5)]
            events = [event(f"E{group}-{one}", tuple(named), 9000) for one in range(3)]
            known = status(*events, vm_name=name, scale_set=f"set-{group}", resource_group="rg", vm_id="0" * 36)
            head, tail = json.dumps({"maintenance": {"host": name, "status": known}}).split('"status"', 1)
            self.bodies.append((name, head.encode(), b'"status"' + tail.encode()))

    async def speak(self, seconds: float) -> list[float]:
        """Each once a heartbeat, evenly. Gives how long each answer took."""
        begins, pause = time.monotonic(), HEARTBEAT / WATCHERS
        speaking: set[asyncio.Task[None]] = set()
        latencies: list[float] = []
        number = 0
        while time.monotonic() - begins < seconds:
            task = asyncio.ensure_future(self._tell(number % WATCHERS, latencies))
            speaking.add(task)
            task.add_done_callback(speaking.discard)
            number += 1
            await asyncio.sleep(max(0.0, begins + number * pause - time.monotonic()))
        await asyncio.gather(*speaking)
        return latencies

    async def _tell(self, number: int, latencies: list[float]) -> None:
        name, head, tail = self.bodies[number]
        self.sequence += 1
        now = time.time()
        body = head + f'"sent_at": "{iso(now)}", "sequence": {self.sequence}, "reason": "heartbeat", '.encode() + tail
        signed = f"{int(now)}.{name}.".encode() + body
        signature = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        request = (
            f"POST / HTTP/1.1\r\nHost: eda\r\nContent-Length: {len(body)}\r\nX-Maintenance-Host: {name}\r\n"
            f"X-Maintenance-Time: {int(now)}\r\nX-Maintenance-Signature: sha256={signature}\r\n\r\n"
        ).encode() + body
        began = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(request)
            answer = await reader.readline()
            writer.close()
        except OSError:
            return
        latencies.append(time.monotonic() - began)
        self.refused += b" 204 " not in answer


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
