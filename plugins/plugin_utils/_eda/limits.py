# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of what comes in is taken: so many notices of a host, and no signature twice. Pure."""

from __future__ import annotations

import collections
import dataclasses


@dataclasses.dataclass
class Allowance:
    """So many at once, and so many a second in the long run, for each key. What is not used up is forgotten."""

    at_once: float
    a_second: float
    _left: dict[object, tuple[float, float]] = dataclasses.field(default_factory=dict)
    _cleared_at: float = 0.0

    def has(self, key: object, now: float) -> bool:
        """Whether one would be taken."""
        return self._left_of(key, now) >= 1

    def takes(self, key: object, now: float) -> bool:
        if now - self._cleared_at > self.at_once / self.a_second:
            self._clear(now)
        left = self._left_of(key, now)
        self._left[key] = (left - 1, now) if left >= 1 else (left, now)
        return left >= 1

    def _left_of(self, key: object, now: float) -> float:
        left, at = self._left.get(key, (self.at_once, now))
        return min(self.at_once, left + (now - at) * self.a_second)

    def _clear(self, now: float) -> None:
        self._cleared_at = now
        full_after = self.at_once / self.a_second
        self._left = {key: (left, at) for key, (left, at) in self._left.items() if now - at < full_after}


class SeenSignatures:
    """Each may be used once, for as long as its time is within the window."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._order: collections.deque[tuple[float, str]] = collections.deque()

    def is_new(self, signature: str, good_until: float, now: float) -> bool:
        # Roughly in the order of their times: one that came early waits for those before it, and does no harm.
        while self._order and self._order[0][0] < now:
            self._seen.discard(self._order.popleft()[1])
        if signature in self._seen:
            return False
        self._seen.add(signature)
        self._order.append((good_until, signature))
        return True
