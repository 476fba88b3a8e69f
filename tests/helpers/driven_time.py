# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time and threads that a test drives: nothing waits, and all that passes is what the test or a wait lets pass."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

MOST_WAITS = 1000


class WaitsForEver(Exception):
    """Nobody would come who ends this wait."""


class DrivenTime:
    """Stands for the modules `time` and `threading` of who uses them."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.waits: list[float | None] = []
        self._planned: list[tuple[float, Callable[[], object]]] = []
        self.Lock = threading.Lock
        self.RLock = threading.RLock
        self.gmtime = time.gmtime
        self.strftime = time.strftime

    def time(self) -> float:
        return 1_800_000_000.0 + self.passed

    def monotonic(self) -> float:
        return 5000.0 + self.passed

    def go_on(self, seconds: float) -> None:
        self.passed += seconds

    def meanwhile(self, seconds: float, action: Callable[[], object]) -> None:
        """What somebody else does so many seconds from now, if a wait lets them pass."""
        self._planned.append((self.passed + seconds, action))

    def wait(self, seconds: float | None) -> None:
        """So many seconds pass, or fewer where somebody does something meanwhile."""
        self.waits.append(seconds)
        ends = None if seconds is None else self.passed + seconds
        if self._planned and (ends is None or self._planned[0][0] < ends):
            self.passed, action = self._planned.pop(0)
            action()
        elif ends is None or len(self.waits) > MOST_WAITS:
            raise WaitsForEver
        else:
            self.passed = ends

    def Condition(self, _lock: Any) -> DrivenCondition:  # noqa: N802
        return DrivenCondition(self)

    def Event(self) -> DrivenEvent:  # noqa: N802
        return DrivenEvent(self)


class DrivenCondition:
    def __init__(self, driven: DrivenTime) -> None:
        self._driven = driven
        self.notified = 0

    def __enter__(self) -> DrivenCondition:
        return self

    def __exit__(self, *_about: object) -> None:
        pass

    def wait(self, seconds: float | None) -> None:
        self._driven.wait(seconds)

    def notify_all(self) -> None:
        self.notified += 1


class DrivenEvent:
    def __init__(self, driven: DrivenTime) -> None:
        self._driven = driven
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True

    def wait(self, seconds: float | None) -> None:
        if not self._is_set:
            self._driven.wait(seconds)
