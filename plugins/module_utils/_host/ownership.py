# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ownership of a host: the lock for one step, the fence of a run, and its heartbeat.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import errno
import fcntl
import os
import signal
import threading
import time

from .._azure import documents, http
from .._azure import imds as _imds
from . import clock as _clock
from . import files
from .clock import seconds
from .journal import JournalError, all_steps_are_done

# The lock for a step ends with the process that holds it, and leaves no file behind.

ENDING = ".step"
SECONDS_BETWEEN_TRIES = 0.05


class StillLocked(JournalError):
    """Somebody else does a step for longer than was waited."""


class StepLock:
    def __init__(self, journal_path):
        self.path = os.path.abspath(journal_path) + ENDING

    @contextlib.contextmanager
    def held(self, seconds):
        """Waits for so long, then raises StillLocked."""
        descriptor = self._locked(time.monotonic() + seconds)
        try:
            yield
        finally:
            # Who waits sees that what it has got is no longer what stands there.
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            os.close(descriptor)

    def _locked(self, ends):
        while True:
            descriptor = self._opened()
            if self._is_ours(descriptor):
                return descriptor
            # Open for as long as it waits, so that whoever looks sees who does.
            try:
                if time.monotonic() >= ends:
                    raise StillLocked("A step is being done on this host by another process, which has not ended")
                time.sleep(SECONDS_BETWEEN_TRIES)
            finally:
                os.close(descriptor)

    def _opened(self):
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError("The lock %s can't be taken: %s" % (self.path, error.strerror)) from None

    def _is_ours(self, descriptor):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES, errno.ENOENT):
                return False
            raise JournalError("The lock %s can't be taken: %s" % (self.path, error.strerror)) from None


# A command brings along what the run knew when it decided: the host's own time at the reading, the owner of the
# journal, and the events that are the reason. The host compares them with its own clock and its own journal.

# Seconds since the reading.
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

    `ask` is the request that asks the service for its document, see exchange.py.
    """

    def __init__(self, given, journal_path, run_id, clock=_clock, at_work=None):
        self.given = given
        self.run_id = run_id
        self.clock = clock
        self.at_work = at_work or files.AtWork(journal_path, clock)

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
            shown = documents.statuses_in(document)
        except documents.NotUnderstood as error:
            raise Refused(UNREAD, "%s, so it is not known whether the event is still there" % error) from None
        for event_id in wanted:
            status = shown.get(event_id.strip().casefold())
            if status is None:
                raise Refused(GONE, "The event %s is no longer shown to this host" % event_id)
            if self.given.get("scheduled") and status.lower() != "scheduled":
                raise Refused(GONE, "The event %s is %s by now, no longer Scheduled" % (event_id, status))


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


# Writing an empty line now and then shows whether somebody still listens. It does no harm: the answer of a command
# stands between marks, and Ansible skips empty lines. Nothing is renewed for a controller that is gone, so that others
# can take over soon.

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
        self._until = self._until or self._renewed + files.SECONDS_AHEAD
        try:
            if self.journal.renew():
                self._until = self._renewed + files.SECONDS_AHEAD
                if self.along:
                    self.along()
        except NotOurs as error:
            self.why = str(error)
        except JournalError:
            # Locked by another process, perhaps: there is time to try again.
            return


# Whoever takes longer is asked by a task of its own, which has time.
SECONDS_TO_LOOK = 5


def check_that_events_are_shown(fence, transport=http.HttpTransport, discovered_endpoints=None):
    """One request, which may take no longer than what the run knows is good for. Returns which document it was."""
    request = dict(fence.given["ask"], timeout=max(1, fence.seconds_left()), with_instance=False)
    try:
        answers = _imds.read(request, transport, discovered_endpoints)
    except _imds.ImdsError as error:
        raise Refused(UNREAD, "It is not known whether the event is still there. %s" % error) from None
    fence.check_events(answers["events"]["body"])
    return documents.incarnation_of(answers["events"]["body"])


def look(request, clock, transport=http.HttpTransport, discovered_endpoints=None):
    """What the service shows now, and the host's time before it was asked; None where it does not answer at once."""
    # The clock first: what is read after it is never taken for newer than it is.
    seconds = clock.told()
    try:
        request = dict(request, timeout=SECONDS_TO_LOOK, with_instance=False)
        answers = _imds.read(request, transport, discovered_endpoints)
    except _imds.ImdsError:
        return None
    return {"clock": seconds, "answers": answers}
