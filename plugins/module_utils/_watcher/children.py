# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child processes of the watcher, for notices and for reflexes.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import os
import signal
import sys
import time

from .._azure import imds
from .._host import files, run_mark


class Child:
    """A process of our own. By hand, as the module subprocess is as large as the rest of the watcher."""

    def __init__(self, command):
        self.pid = os.fork()
        if self.pid == 0:
            _become(command)

    def exit_code(self):
        """None while it runs."""
        try:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
        except OSError:
            return 127
        if not ended:
            return None
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128

    def kill(self):
        """Only one whose end was not yet seen: until then nobody else has its number."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except OSError:
            return


def _become(command):
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.execv(command[0], command)  # noqa: S606 - there is nothing that a shell could do
    finally:
        os._exit(127)


# A notice is the whole status, which the child reads from the status file, so it always sends the newest. The next
# notice makes up for a lost one, and nothing has to be kept.

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
        self.next_at = now + imds.chance() * heartbeat
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
        self.next_at = now + imds.chance() * self.heartbeat

    def kill(self):
        if self.child:
            self.child.kill()
            self.child = None


BY_UNIT, BY_CHILD = "unit", "child"
# Reflexes that were killed are started again, as long as there is something that they may have been about.
SECONDS_BETWEEN_REMINDERS = 10


def trigger_beside(status_file):
    """The file that says that there is news. The reflexes remove it before they look."""
    return os.path.join(os.path.dirname(status_file), "reflex")


def told_beside(status_file):
    """What the reflexes tell the watcher for its status."""
    return os.path.join(os.path.dirname(status_file), run_mark.TOLD_BY_REFLEXES)


class ReflexStarter:
    def __init__(self, settings, program, start=Child, clock=time.monotonic):
        self.by = settings["reflex_by"]
        self.trigger = files.SharedFile(trigger_beside(settings["status_file"]))
        self.told = told_beside(settings["status_file"])
        self._command = [sys.executable, "-I", "-S", program, "--reflex", settings["reflex_settings"]]
        self._start = start
        self._child = None
        self._clock = clock
        self._next_at = None
        self._read = [], 0
        self._read_of = None

    def go_on(self, is_new, is_pending):
        """`is_new`: the document has changed; `is_pending`: it holds an event, or this host is drained.

        A watcher that has just started is news in itself, as after a reboot.
        """
        if not self.by:
            return
        now = self._clock()
        if is_new or self._next_at is None or (is_pending and now >= self._next_at):
            self.trigger.write("")
            self._next_at = now + SECONDS_BETWEEN_REMINDERS
        if self.by == BY_CHILD:
            if self._child and self._child.exit_code() is not None:
                self._child = None
            if self._child is None and os.path.exists(self.trigger.path):
                self._child = self._start(self._command)

    def left_for_a_run(self):
        return self._told()[0]

    def approvals(self):
        """How many approvals were sent from here."""
        return self._told()[1]

    def _told(self):
        try:
            changed = os.stat(self.told).st_mtime
            if changed != self._read_of:
                with open(self.told, "rb") as told:
                    data = json.loads(told.read(100000).decode("utf-8"))
                self._read = [str(text) for text in data["left_for_a_run"]], int(data["approvals"])
                self._read_of = changed
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return [], 0
        return self._read
