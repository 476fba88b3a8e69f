# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of the simulated world."""

import time


class Clock:
    """Simulated seconds since the start, and their place on the wall clock."""

    def __init__(self, speed):
        self.speed = float(speed)
        self.reset()

    def reset(self):
        self._origin = time.time()
        self._advanced = 0.0

    def now(self):
        return (time.time() - self._origin) * self.speed + self._advanced

    def wall(self, simulated):
        return self._origin + (simulated - self._advanced) / self.speed

    def real_seconds_until(self, simulated):
        return max(0.0, self.wall(simulated) - time.time())

    def advance(self, seconds):
        self._advanced += seconds
