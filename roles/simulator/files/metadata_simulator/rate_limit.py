# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""So many requests a second."""

import collections
import threading
import time


class RateLimit:
    """So many requests in any one second, counted per VM; those that were turned away do not count."""

    def __init__(self, per_second):
        self.per_second = per_second
        self._recent = {}
        self._lock = threading.Lock()

    def reset(self):
        with self._lock:
            self._recent.clear()

    def is_exceeded_by(self, vm):
        if not self.per_second:
            return False
        now = time.monotonic()
        with self._lock:
            recent = self._recent.setdefault(vm.key, collections.deque())
            while recent and now - recent[0] >= 1.0:
                recent.popleft()
            if len(recent) >= self.per_second:
                return True
            recent.append(now)
            return False
