# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Has the reflexes look when there is news: by a file that a path unit of systemd waits for, or as a child.

This file runs on the managed host: standard library only, Python 3.6 or newer. A watcher keeps it in memory for months:
it imports nothing large.
"""

import json
import os
import sys
import time

from ansible_collections.maintenance.azure.plugins.module_utils._host.files import SharedFile
from ansible_collections.maintenance.azure.plugins.module_utils._host.run_mark import TOLD_BY_REFLEXES
from ansible_collections.maintenance.azure.plugins.module_utils._watch.child import Child

BY_UNIT, BY_CHILD = "unit", "child"
# Reflexes that were killed are started again, as long as there is something that they may have been about.
SECONDS_BETWEEN_REMINDERS = 10


def trigger_beside(status_file):
    """The file that says that there is news. The reflexes remove it before they look."""
    return os.path.join(os.path.dirname(status_file), "reflex")


def told_beside(status_file):
    """What the reflexes tell the watcher for its status."""
    return os.path.join(os.path.dirname(status_file), TOLD_BY_REFLEXES)


class ReflexStarter:
    def __init__(self, settings, program, start=Child, clock=time.monotonic):
        self.by = settings["reflex_by"]
        self.trigger = SharedFile(trigger_beside(settings["status_file"]))
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
