# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who acts when: actors are generators that yield the seconds until they act again."""

from __future__ import annotations

import heapq


class Clockwork:
    def __init__(self):
        self.now = 0.0
        self._queue = []
        self._count = 0

    def start(self, actor, run=None, after=0.0):
        """`run`: whose process this is. It dies and sleeps with it."""
        self._count += 1
        heapq.heappush(self._queue, (self.now + after, self._count, actor, run))

    def go(self, until, done=lambda: False):
        while self._queue and self._queue[0][0] <= until and not done():
            at, number, actor, run = heapq.heappop(self._queue)
            self.now = max(self.now, at)
            if run is not None and run.killed_at is not None:
                continue
            if run is not None and run.stopped_until > self.now:
                heapq.heappush(self._queue, (run.stopped_until, number, actor, run))
                continue
            try:
                seconds = next(actor)
            except StopIteration:
                continue
            self.start(actor, run, seconds)
        if not done():
            self.now = max(self.now, until)
