# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the watcher and a run tell each other: settings, and the mark of a run.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import math
import os
import stat
import time

from .._azure import http
from .._host import run_mark
from . import decide

# Name -> default. One without a default has to be there.
DEFAULTS = {
    "name": None,
    "endpoint": http.DEFAULT_ENDPOINT,
    "api_version": "2020-07-01",
    "vm_name": None,
    "interval": 1,
    "heartbeat": 30,
    "status_file": "/run/azure-maintenance/status.json",
    "journal": "/var/lib/azure-maintenance/journal.json",
    "notify": [],
    "metrics_file": None,
    # How reflexes are started: not at all, by a unit of systemd, or as a child with these settings.
    "reflex_by": None,
    "reflex_settings": None,
}
# What the reflexes need beyond that, in a file that only root reads.
REFLEX_DEFAULTS = {
    "reflex": [],
    "latest": 60,
    "steps": [],
    "steps_digest": "",
    "timeout": 600,
    "audit_file": None,
}
_NUMBERS = ("interval", "heartbeat")
# The service allows 5 requests a second for a whole VM.
SHORTEST_INTERVAL = 0.25


class BadSettings(Exception):
    """The text is for the user."""


def read_reflex_settings(path):
    return read_settings(path, dict(DEFAULTS, **REFLEX_DEFAULTS))


def read_settings(path, defaults=None):
    """What the file says, with the defaults for what it does not say. Raises BadSettings."""
    try:
        with open(path, "rb") as settings_file:
            given = json.loads(settings_file.read().decode("utf-8"))
    except OSError as error:
        raise BadSettings("%s can't be read: %s" % (path, error.strerror or error)) from None
    except ValueError as error:
        raise BadSettings("%s is not JSON: %s" % (path, error)) from None
    if not isinstance(given, dict):
        raise BadSettings("%s is not a JSON object" % path)
    settings = dict(defaults or DEFAULTS, **given)
    if not isinstance(settings["name"], str) or not settings["name"]:
        raise BadSettings("%s does not say what this host is called (name)" % path)
    if any(ord(character) < 32 for character in settings["name"]):
        raise BadSettings("name in %s can't be part of a header: %r" % (path, settings["name"]))
    for key in _NUMBERS:
        number = settings[key]
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not number > 0:
            raise BadSettings("%s in %s must be a number of seconds, not %r" % (key, path, number))
    settings["interval"] = max(settings["interval"], SHORTEST_INTERVAL)
    if not isinstance(settings["notify"], list) or not all(
        isinstance(one, dict) and isinstance(one.get("url"), str) for one in settings["notify"]
    ):
        raise BadSettings("notify in %s must be a list of addresses, each with a url" % path)
    return settings


SECONDS_RECENT = 30 * 60
LARGEST_FILE = 10000


def read_run_mark(path, now=None):
    """What it says by now. One that is damaged holds nobody back: it is no run's."""
    now = time.time() if now is None else now
    ended = ended_for(path, now)
    return decide.NO_RUN if ended is None else decide.RunMark(ended < 0, ended < SECONDS_RECENT)


def ended_for(path, now):
    """Seconds since it has expired, below 0 while it holds; None where there is none."""
    try:
        content, left_at = _content(path, now)
        until = json.loads(content.decode("utf-8"))["until"]
        if isinstance(until, bool) or not isinstance(until, (int, float)) or not math.isfinite(until):
            return None
        # Not further ahead than it can have been left, whatever somebody wrote there.
        return now - min(until, left_at + run_mark.SECONDS_OF_A_MARK)
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
        if date > now + run_mark.SECONDS_OF_A_MARK:
            raise ValueError("The mark is dated in the future") from None
    return now
