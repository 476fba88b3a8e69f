# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark that a run leaves on a host which it has read: until when the run comes first.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import math
import os
import stat
import time

from ansible_collections.maintenance.azure.plugins.module_utils._host.run_mark import SECONDS_OF_A_MARK
from ansible_collections.maintenance.azure.plugins.module_utils._watch.decide import NO_RUN, RunMark

SECONDS_RECENT = 30 * 60
LARGEST_FILE = 10000


def read_run_mark(path, now=None):
    """What it says by now. One that is damaged holds nobody back: it is no run's."""
    now = time.time() if now is None else now
    ended = ended_for(path, now)
    return NO_RUN if ended is None else RunMark(ended < 0, ended < SECONDS_RECENT)


def ended_for(path, now):
    """Seconds since it has expired, below 0 while it holds; None where there is none."""
    try:
        content, left_at = _content(path, now)
        until = json.loads(content.decode("utf-8"))["until"]
        if isinstance(until, bool) or not isinstance(until, (int, float)) or not math.isfinite(until):
            return None
        # Not further ahead than it can have been left, whatever somebody wrote there.
        return now - min(until, left_at + SECONDS_OF_A_MARK)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _content(path, now):
    """Its bytes, and when it was left. The folder is the watcher's, whose word counts for nothing: a run is root."""
    # Neither is a link followed nor a pipe waited for.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as mark:
        about = os.fstat(mark.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_uid not in (0, os.geteuid()):
            raise ValueError("%s is no mark of a run" % path)
        return mark.read(LARGEST_FILE), _left_at(mark, about.st_mtime, now)


def _left_at(mark, date, now):
    """Where the clock was set back since, it counts from the first look: it is dated anew, for all that look later."""
    if date <= now:
        return date
    try:
        os.utime(mark.fileno(), (now, now))
    except OSError:
        # The watcher's own user, who only tells of it. He can't know when its time is over.
        if date > now + SECONDS_OF_A_MARK:
            raise ValueError("The mark is dated in the future") from None
    return now
