# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watch itself: read, keep the status up to date, have others told. One thread, no end of its own.

This file runs on the managed host: standard library only, Python 3.6 or newer. A watcher keeps it in memory for months:
it imports nothing large.
"""

import json
import os
import sys
import time

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import (
    build_status,
    iso,
    types_never_shown,
)
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import SharedFile
from ansible_collections.maintenance.azure.plugins.module_utils._watch.metrics import metrics_text
from ansible_collections.maintenance.azure.plugins.module_utils._watch.version import VERSION

SECONDS_BETWEEN_STATUSES = 10


class Watch:
    def __init__(self, settings, reader, notices, reflexes, clock=time.monotonic, sleep=time.sleep):
        self.settings = settings
        self.reader = reader
        self.notices = notices
        self.reflexes = reflexes
        self.clock = clock
        self.sleep = sleep
        self.status_file = SharedFile(settings["status_file"])
        self.metrics_file = SharedFile(settings["metrics_file"]) if settings["metrics_file"] else None
        self._written_at = None
        self._said = None
        self._told = None
        self._told_version = None
        self._failed = set()
        reader.while_waiting(self._go_on)

    def run(self):
        """Until somebody ends it. The status goes with it: one that nobody keeps up to date says nothing."""
        # One that was killed may have left it behind.
        self.status_file.remove()
        next_at = self.clock()
        try:
            while True:
                self.look()
                # The call was slow, or the VM stood still: what was missed is not made up for.
                interval, now = self.settings["interval"], self.clock()
                next_at = max(next_at + interval, now + interval / 2.0)
                self.sleep(next_at - now)
        finally:
            self.status_file.remove()
            if self.metrics_file:
                self.metrics_file.remove()
            self.notices.stop()
            self.reader.close()

    def look(self):
        """One reading, and what follows from it."""
        is_new = self.reader.read()
        self._say_what_changed()
        self._go_on(is_new)

    def _go_on(self, is_new=False):
        """All but the reading, also while one takes its time. Nothing in here ends the watch, or the rest of it."""
        condition = self.condition()
        if self.reader.document is not None:
            # First of all: seconds count.
            is_pending = condition["drained"] or bool(self.reader.document["events"])
            self._try("The reflexes could not be started", lambda: self.reflexes.go_on(is_new, is_pending))
        self._try("The status could not be written", lambda: self._keep_up_to_date(is_new, condition))
        self._try("Notices could not be sent", lambda: self.notices.go_on(is_new))

    def _try(self, complaint, deed):
        """A full disk or a table of processes that is full pass. It is said once, and not with each try."""
        try:
            deed()
        except Exception as error:  # noqa: BLE001 - whatever it is, the watch goes on
            if complaint not in self._failed:
                self._failed.add(complaint)
                reason = getattr(error, "strerror", None) or "%s: %s" % (type(error).__name__, error)
                say("%s: %s" % (complaint, reason))
        else:
            self._failed.discard(complaint)

    def _keep_up_to_date(self, is_new, condition):
        what_is_said = (condition, self.reader.knows_who())
        is_due = self._written_at is None or self.clock() - self._written_at >= SECONDS_BETWEEN_STATUSES
        if is_new or is_due or what_is_said != self._said:
            self._write(condition)
            self._said, self._written_at = what_is_said, self.clock()

    def condition(self):
        """What the status says of the watcher itself."""
        reader = self.reader
        return {
            "version": VERSION,
            "failing_since": None if reader.failing_since is None else iso(reader.failing_since),
            "problem": reader.problem,
            "drained": os.path.exists(self.settings["journal"]),
            "left_for_a_run": self.reflexes.left_for_a_run(),
        }

    def _write(self, condition):
        reader, status = self.reader, None
        if reader.document is not None:
            status = build_status(reader.document, reader.identity, reader.read_at, reader.vm_name)
            status["watcher"] = condition
            self._replace(self.status_file, json.dumps(status) + "\n")
        if self.metrics_file:
            events = status and status["events"]
            approvals = self.reflexes.approvals()
            text = metrics_text(events, reader.read_at, reader.failures, condition["drained"], approvals)
            self._replace(self.metrics_file, text)

    @staticmethod
    def _replace(shared, text):
        try:
            shared.write(text)
        except OSError as error:
            # A full disk passes; who reads the old file sees by its age that it is no longer kept.
            say("%s could not be written: %s" % (shared.path, error.strerror or error))

    def _say_what_changed(self):
        """In the log once, and not with each reading."""
        kind = None if self.reader.problem is None else self.reader.problem.split(" got ")[-1][:60]
        if kind is None and self._told_version != self.reader.api_version:
            self._told_version = self.reader.api_version
            hidden = types_never_shown(self._told_version)
            if hidden:
                say("api-version %s never shows %s events" % (self._told_version, " and ".join(hidden)))
        if kind == self._told:
            return
        if self.reader.problem:
            say("No good reading: %s" % self.reader.problem)
        else:
            say("Readings are good again")
        self._told = kind


def say(sentence):
    try:
        sys.stderr.write(" ".join(sentence.split()) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        # Nobody listens any more, or the disk of the log is full: no reason to end.
        return
