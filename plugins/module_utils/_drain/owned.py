# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal in the hands of one run. Behind a fence it also says that this run is at work here.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib

from ansible_collections.maintenance.azure.plugins.module_utils._drain.fence import WORKED_ON, Fence, Refused
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalError
from ansible_collections.maintenance.azure.plugins.module_utils._drain.step_lock import StepLock, StillLocked

# A run comes again when it has read the host anew; a role that is used by itself has this one try.
SECONDS_FOR_THE_STEP = 600
SECONDS_FOR_THE_STEP_IN_A_RUN = 20


class NotOurs(JournalError):
    """Another run has the journal by now."""


class OwnedJournal:
    """`fence` is what the run knew when it decided, or None: then nobody is refused, and nothing is said."""

    def __init__(self, journal, run_id, fence=None):
        self.journal = journal
        self.path = journal.path
        self.run_id = run_id
        self.at_work = journal.here.at_work(journal.path)
        self.fence = Fence(fence, journal.path, run_id, journal.here.clock, self.at_work) if fence else None

    def asks_for_events(self):
        return bool(self.fence and self.fence.given.get("events"))

    def read(self):
        return self.journal.read()

    def check_that_there_is_none(self):
        """For what needs a journal, where none is there: nothing is made for it, but the run may have known one."""
        if self.fence:
            self.fence.check(None, may_be_old=True)

    def check_that_it_was_lost(self, steps):
        """For a return to service, where the run has seen a journal with these steps and there is none any more.

        Another run may have returned the host. Where nobody has, the disk was lost: what other machines remember is
        still to be undone.
        """
        last = self.journal.last() or {}
        same = bool(steps) and [step.get("started_at") for step in last.get("steps") or []] == [
            step.get("started_at") for step in steps
        ]
        if self.fence and same and last.get("run_id") != self.run_id:
            self.fence.check(None, may_be_old=True)

    def with_who_is_at_work(self, data):
        """What the journal holds, and for how long its owner is still at work here."""
        return data and dict(data, worked_on_for=self.at_work.left(data.get("run_id")))

    def take(self, function, may_be_old=False):
        """A change that makes the journal this run's own, if the fence allows it."""

        def checked(data):
            if self.fence:
                self.fence.check(data, may_be_old)
            data = function(data)
            return data and dict(data, run_id=self.run_id)

        with self._when_nobody_does_a_step():
            # Without a fence each function says for itself whose the journal is.
            return self.journal.change(checked if self.fence else function, then=self._say)

    @contextlib.contextmanager
    def _when_nobody_does_a_step(self):
        """What another one has begun comes to its end before the journal is taken over."""
        data = None if self.journal.predict_only else self.journal.read()
        if data is None or data.get("run_id") == self.run_id:
            yield
            return
        seconds = SECONDS_FOR_THE_STEP_IN_A_RUN if self.fence else SECONDS_FOR_THE_STEP
        try:
            with StepLock(self.path).held(seconds):
                yield
        except StillLocked as error:
            raise Refused(WORKED_ON, "%s: it is the run %s" % (error, data.get("run_id"))) from None

    def change(self, function):
        """A change by the run that has the journal."""
        return self.journal.change(function, self.run_id, then=self._say)

    def change_if_ours(self, function):
        """The same, where another run's journal is no error but left alone."""
        return self.journal.change(
            lambda data: function(data) if data and data.get("run_id") == self.run_id else None, then=self._say
        )

    def renew(self, seconds=None):
        """Say that this run is at work here, if there still is a journal. Raises NotOurs where it is another's."""
        with self.journal.file.locked():
            data = self.journal.read()
            if data is None:
                return False
            if data.get("run_id") != self.run_id:
                raise NotOurs("Another run has taken this host over")
            return self.at_work.say(self.run_id, seconds)

    def close(self):
        return self.journal.close(self.run_id)

    def _say(self, data):
        if data and self.fence:
            self.at_work.say(self.run_id)
