# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host is the fence: a command that comes too late, or to a host that is another run's by now, does nothing.

What the run knew when it decided comes along: the host's own time at the reading, whose the journal was, and the events
that are the reason. This host compares, by its own clock and its own journal.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import NotUnderstood, statuses_in
from ansible_collections.maintenance.azure.plugins.module_utils._drain import host_clock as _host_clock
from ansible_collections.maintenance.azure.plugins.module_utils._drain.at_work import AtWork
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalError, all_steps_are_done

AT_MOST = 40
# What a result says in one word.
AGE, OWNER, WORKED_ON, GONE, NOT_DRAINED, UNREAD, DRAINED = WORDS = (
    "age",
    "owner",
    "worked_on",
    "gone",
    "not_drained",
    "unread",
    "drained",
)
# Clocks of hosts without a time since boot may be set back a little.
SECONDS_BACK = 1


class Refused(JournalError):
    """The host does nothing. `word` says why for the program."""

    def __init__(self, word, message):
        super(Refused, self).__init__(message)
        self.word = word


class Fence:
    """`given` is what the run knew: {boot_id, seconds, at_most, owner, events, scheduled, drained, ask}.

    `ask` is the request that asks the service for its document, see ask.py.
    """

    def __init__(self, given, journal_path, run_id, clock=_host_clock, at_work=None):
        self.given = given
        self.run_id = run_id
        self.clock = clock
        self.at_work = at_work or AtWork(journal_path, clock)

    def check(self, data, may_be_old=False):
        """Raise Refused where the journal, or the time, is another one than the run knew."""
        if not may_be_old or self.given.get("seconds") is not None:
            self.check_age()
        self._check_owner(data)
        if self.given.get("drained"):
            self._check_drained(data)

    def check_age(self):
        given, boot = self.given, self.clock.boot_id()
        if given.get("boot_id") != boot:
            raise Refused(AGE, "This host was booted since the run has read it, so the run has to read it again")
        at_most = given.get("at_most") or AT_MOST
        age = None if given.get("seconds") is None else self.clock.seconds() - given["seconds"]
        if age is None or not -SECONDS_BACK <= age <= at_most:
            how_long = "at a time that is not known" if age is None else "%g s ago" % round(age, 1)
            raise Refused(
                AGE,
                "The run has read this host %s by its own clock, and at most %g s are allowed: it has to read it again"
                % (how_long, at_most),
            )

    def seconds_left(self):
        """Until what the run knows is too old."""
        self.check_age()
        return (self.given.get("at_most") or AT_MOST) - (self.clock.seconds() - self.given["seconds"])

    def _check_owner(self, data):
        owner, expected = (data or {}).get("run_id") or "", self.given.get("owner") or ""
        if data is not None and owner == self.run_id:
            return
        if owner != expected:
            now = "there is none" if data is None else "it is of the run %s" % (owner or "without a name")
            raise Refused(
                OWNER,
                "When this host was read its journal was %s; now %s"
                % ("of the run %s" % expected if expected else "not there", now),
            )
        left = self.at_work.left(owner)
        if left:
            raise Refused(
                WORKED_ON,
                "The run %s is at work on this host, for another %d s unless it goes on" % (owner, round(left)),
            )

    def _check_drained(self, data):
        if data is None:
            raise Refused(NOT_DRAINED, "This host is not drained: there is no journal")
        if data["state"] != "drained" or not all_steps_are_done(data):
            raise Refused(NOT_DRAINED, "This host is not drained: its journal says %s" % data["state"])
        if data["boot_id"] != self.clock.boot_id():
            # Systemd has started again what was stopped.
            raise Refused(NOT_DRAINED, "This host was drained before it was booted, so it has to be drained again")

    def check_events(self, document):
        """That what is the reason is still there, says the document that this host is shown."""
        wanted = self.given.get("events") or []
        if not wanted:
            return
        try:
            shown = statuses_in(document)
        except NotUnderstood as error:
            raise Refused(UNREAD, "%s, so it is not known whether the event is still there" % error) from None
        for event_id in wanted:
            status = shown.get(event_id.strip().casefold())
            if status is None:
                raise Refused(GONE, "The event %s is no longer shown to this host" % event_id)
            if self.given.get("scheduled") and status.lower() != "scheduled":
                raise Refused(GONE, "The event %s is %s by now, no longer Scheduled" % (event_id, status))
