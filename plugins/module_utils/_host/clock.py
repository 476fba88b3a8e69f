# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of the host, and its time since boot.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections
import io
import time

BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
UPTIME_FILE = "/proc/uptime"


def boot_id():
    """Return Linux's id of this boot, or None on other systems."""
    try:
        with open(BOOT_ID_FILE) as boot_id_file:
            return boot_id_file.read().strip() or None
    except OSError:
        return None


def seconds():
    """Return the seconds since boot, sleep included, or the wall clock where the system has no such time."""
    try:
        with open(UPTIME_FILE) as uptime_file:
            return float(uptime_file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return time.time()


def told():
    return {"boot_id": boot_id(), "seconds": seconds()}


BOOT_ID = "/proc/sys/kernel/random/boot_id"
UPTIME = "/proc/uptime"

# `uptime` counts from the boot that `boot_id` names, "" where that is unknown. `wall` is for people, and may jump.
Moment = collections.namedtuple("Moment", ("boot_id", "uptime", "wall"))


def now():
    try:
        return Moment(_line_of(BOOT_ID), float(_line_of(UPTIME).split()[0]), time.time())
    except (OSError, ValueError, IndexError):
        # Not Linux: this clock also counts from the boot.
        return Moment("", time.monotonic(), time.time())


def _line_of(path):
    with io.open(path, encoding="ascii") as lines:
        return lines.readline().strip()
