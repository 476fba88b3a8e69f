# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is told, when, and by whom: each notice is a short-lived child, so that no receiver can hold up the watch.

A notice is the whole status, and the child takes it from the status file: what it sends is the newest there is. So one
that is lost is made good by the next, and nothing has to be kept.

This file runs on the managed host: standard library only, Python 3.6 or newer. A watcher keeps it in memory for months:
it imports nothing large.
"""

import sys
import time

from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import chance
from ansible_collections.maintenance.azure.plugins.module_utils._watch.child import Child

# No child lives longer, whatever its receiver does.
LONGEST_CHILD = 30


class Notices:
    """`program` is what a child runs, with the settings at `path`."""

    def __init__(self, settings, path, program, clock=time.monotonic, start=Child):
        now = clock()
        self.clock = clock
        # It grows across restarts as well, as there is at most one notice a second.
        self._sequence = int(time.time())
        self._command = [sys.executable, "-I", "-S", program, "--notify", path]
        self._start = start
        self._addresses = [_Address(number, settings["heartbeat"], now) for number in range(len(settings["notify"]))]

    def go_on(self, is_new):
        """What there is to do now; never waits. `is_new`: the document has changed."""
        now = self.clock()
        for address in self._addresses:
            address.note_end(now)
            reason = address.reason_to_tell(now, is_new)
            if reason:
                self._sequence += 1
                words = [str(address.number), reason, str(self._sequence)]
                try:
                    address.has_begun(self._start(self._command + words), now)
                except OSError:
                    # There are too many processes, or too little memory: as if the receiver had not been there.
                    address.could_not_begin(reason, now)

    def stop(self):
        for address in self._addresses:
            address.kill()


class _Address:
    """One receiver, and the one notice that is on its way to it."""

    def __init__(self, number, heartbeat, now):
        self.number = number
        self.heartbeat = heartbeat
        # A fleet that was started at once does not speak at once.
        self.next_at = now + chance() * heartbeat
        self.has_failed = False
        self.pending = None
        self.child = None
        self.child_began = None
        self.child_reason = None

    def reason_to_tell(self, now, is_new):
        """Why a notice is to be sent now, or None."""
        if is_new:
            self.pending = "changed"
        if self.child:
            if now - self.child_began > LONGEST_CHILD:
                self.kill()
                self._failed(now)
            return None
        if now >= self.next_at:
            return self.pending or "heartbeat"
        # After a failure the pause is kept: the receivers of a large fleet come back slowly.
        return self.pending if not self.has_failed else None

    def has_begun(self, child, now):
        self.child, self.child_began, self.child_reason, self.pending = child, now, self.pending or "heartbeat", None

    def could_not_begin(self, reason, now):
        self.child_reason = reason
        self._failed(now)

    def note_end(self, now):
        code = self.child.exit_code() if self.child else None
        if code is None:
            return
        self.child = None
        if code == 0:
            self.has_failed = False
            self.next_at = now + self.heartbeat
        else:
            self._failed(now)

    def _failed(self, now):
        if self.child_reason == "changed":
            self.pending = "changed"
        self.has_failed = True
        self.next_at = now + chance() * self.heartbeat

    def kill(self):
        if self.child:
            self.child.kill()
            self.child = None
