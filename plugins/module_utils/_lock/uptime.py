# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What time it is on a lock host, by a clock that nobody can set.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections
import io
import time

BOOT_ID = "/proc/sys/kernel/random/boot_id"
UPTIME = "/proc/uptime"

# The seconds of `uptime` count from the boot that `boot_id` names; it is "" where the system does not tell.
# `wall` is for people, and may jump.
Moment = collections.namedtuple("Moment", ("boot_id", "uptime", "wall"))


def now():
    try:
        return Moment(_line_of(BOOT_ID), float(_line_of(UPTIME).split()[0]), time.time())
    except (OSError, ValueError, IndexError):
        # Not Linux. There this clock counts from the boot, too.
        return Moment("", time.monotonic(), time.time())


def _line_of(path):
    with io.open(path, encoding="ascii") as lines:
        return lines.readline().strip()
