# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the moment that an event is shown until the first step of a reflex begins, at an interval of one second."""

from __future__ import annotations

import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figures import Figure
from helpers.simulator_process import Simulator
from helpers.watcher_process import Watcher
from watcher import PYTHON

EVENTS = int(os.environ.get("REFLEX_EVENTS", "100"))


def until_the_first_step(folder: Path, _repeats: int) -> list[Figure]:
    """Each event comes at a moment of its own within the second."""
    diary = folder / "diary"
    note = ["sh", "-c", f"date +%s.%N >>{diary}"]
    steps = [{"number": 1, "kind": "command", "arguments": {"drain": note}}]
    reflex = {"reflex": [{"action": "drain"}], "steps": steps}
    seconds: list[float] = []
    with Simulator({"vms": [{"name": "a"}]}, requests_per_second=0) as simulator:
        watcher = Watcher(folder, simulator.endpoint("a"), python=PYTHON, interval=1, reflex=reflex)
        with watcher:
            watcher.wait_for(lambda status: status["this_host"])
            _wait((folder / "reflex_memory.json").exists)
            # One that has only just begun to watch can't know what went before.
            time.sleep(31)
            for number in range(EVENTS):
                time.sleep(2 + random.random())
                shown = time.time()
                simulator.add_event(id=f"E{number}", type="Reboot", resources=["a"], notice=9000)
                _wait(lambda count=number: len(_lines(diary)) > count)
                seconds.append(float(_lines(diary)[number]) - shown)
                time.sleep(1.2)
                simulator.cancel(f"E{number}")
                _wait(lambda: not watcher.journal.exists())
            for pid in watcher.reflex_pids():
                os.kill(pid, signal.SIGKILL)
    parts: dict[str, Any] = {"seconds": seconds, "median": statistics.median(seconds)}
    p95 = sorted(seconds)[max(0, round(0.95 * len(seconds)) - 1)]
    note_of = f"{EVENTS} events, the median is {statistics.median(seconds):.2f} s"
    return [Figure("publication to the first step of a reflex, p95", "1.2 s", 1.2, [p95], " s", parts, note_of)]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def _wait(question: Callable[[], Any]) -> None:
    ends = time.monotonic() + 30
    while not question():
        if time.monotonic() > ends:
            sys.exit("it did not happen, so this measures something else")
        time.sleep(0.02)
