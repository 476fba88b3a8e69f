# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is at work on this host, and until when: a small file beside the journal.

It is one line, "RUN BOOT UNTIL", so that a shell can renew it as well. The run is there as a digest, as a name may hold
anything. After a reboot it says nothing any more. A file that is damaged says nothing either: it keeps nobody out.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import hashlib
import math
import os

from ansible_collections.maintenance.azure.plugins.module_utils._drain import host_clock as _host_clock

# As far ahead as a run may say that it is at work, without a sign of life from it.
SECONDS_AHEAD = 30
ENDING = ".at_work"
NO_BOOT_ID = "-"
LARGEST_FILE = 1000


def digest_of(run_id):
    return hashlib.sha256(str(run_id).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def expanded(path):
    """A path of this host, as the user may write it."""
    return os.path.expanduser(os.path.expandvars(path))


class AtWork:
    def __init__(self, journal_path, clock=_host_clock):
        self.path = os.path.abspath(journal_path) + ENDING
        self.clock = clock

    def left(self, run_id):
        """For how many seconds this run is still at work here."""
        run, boot, until = self._read()
        if not run_id or run != digest_of(run_id) or boot != self._boot():
            return 0.0
        left = until - self.clock.seconds()
        return round(left, 2) if left > 0 else 0.0

    def say(self, run_id, seconds=None):
        """This run is at work here, for so many seconds from now. Returns whether that could be written down."""
        ahead = SECONDS_AHEAD if seconds is None else seconds
        return self._put("%s %s %.2f\n" % (digest_of(run_id), self._boot(), self.clock.seconds() + ahead))

    def _put(self, line):
        fresh = "%s.%d" % (self.path, os.getpid())
        # It need not outlive a crash, as it says nothing after one.
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(fresh, flags, 0o600), "w") as fresh_file:
                fresh_file.write(line)
            os.rename(fresh, self.path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(fresh)
            return False
        return True

    def renew(self, run_id):
        """The same, if this run was the last to say so. Returns whether it was."""
        is_ours = self._read()[0] == digest_of(run_id)
        if is_ours:
            self.say(run_id)
        return is_ours

    def forget(self):
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    def _boot(self):
        return self.clock.boot_id() or NO_BOOT_ID

    def _content(self):
        with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as kept:
            return kept.read(LARGEST_FILE)

    def _read(self):
        try:
            run, boot, until = self._content().decode("ascii").split()
            until = float(until)
            return (run, boot, until) if math.isfinite(until) else ("", "", 0.0)
        except (OSError, ValueError):
            return "", "", 0.0
