# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""As long as the controller hears this command, the host is worked on; a command that is alone comes to an end.

An empty line now and then tells whether somebody still listens: the answer of a command stands between marks, and
Ansible passes over empty lines. Nothing is renewed for a controller that is gone, so that others can take over soon.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import os
import signal
import threading

from ansible_collections.maintenance.azure.plugins.module_utils._drain.at_work import SECONDS_AHEAD
from ansible_collections.maintenance.azure.plugins.module_utils._drain.host_clock import seconds
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalError
from ansible_collections.maintenance.azure.plugins.module_utils._drain.owned import NotOurs

# Through ssh it takes several lines until the first that fails.
SECONDS_BETWEEN_SIGNS = 3
SECONDS_BETWEEN_RENEWALS = 10
# What still runs is killed so long before others may take over.
SECONDS_TO_END = 5
STANDARD_OUTPUT = 1


class Contact:
    """`with Contact(owned journal):` around what takes long. `along` is called whenever it is renewed."""

    def __init__(self, journal, output=STANDARD_OUTPUT, clock=seconds, along=None):
        self.journal = journal
        self.along = along
        self.output = output
        self.clock = clock
        self.why = ""
        self._until = None
        self._renewed = None
        self._hang_up = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        # A terminal that goes away would end this command, and leave alone what it has started. Not ignored: that would
        # be so for what it starts as well.
        self._hang_up = signal.signal(signal.SIGHUP, lambda *_about: None)
        self._renew()
        self._thread.start()
        return self

    def __exit__(self, *_about):
        # The answer comes next, and nothing may get in between.
        self._over.set()
        self._thread.join()
        signal.signal(signal.SIGHUP, self._hang_up)

    def is_lost(self):
        return bool(self.why)

    def is_to_end_now(self):
        """Whether others may take over before long."""
        return self.is_lost() and self.clock() >= self._until - SECONDS_TO_END

    def _run(self):
        while not self._over.wait(SECONDS_BETWEEN_SIGNS) and not self.is_lost():
            try:
                os.write(self.output, b"\n")
            except OSError:
                self.why = "The controller can't be reached any more"
                return
            if self.clock() - self._renewed >= SECONDS_BETWEEN_RENEWALS:
                self._renew()
            if not self.is_lost() and self.clock() >= self._until - SECONDS_TO_END:
                self.why = "It could not be written down any more that this host is worked on"

    def _renew(self):
        self._renewed = self.clock()
        self._until = self._until or self._renewed + SECONDS_AHEAD
        try:
            if self.journal.renew():
                self._until = self._renewed + SECONDS_AHEAD
                if self.along:
                    self.along()
        except NotOurs as error:
            self.why = str(error)
        except JournalError:
            # Locked by another process, perhaps: there is time to try again.
            return
