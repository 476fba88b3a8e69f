# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reflexes of a host: a program of its own, started when the watcher has news, gone when nothing is left to do.

It believes nothing that the watcher says: it reads the service itself. The watcher's word is only when.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import errno
import fcntl
import json
import os
import time

from ansible_collections.maintenance.azure.plugins.module_utils._azure.rules import BadRules, read_rules
from ansible_collections.maintenance.azure.plugins.module_utils._host import audit as _audit
from ansible_collections.maintenance.azure.plugins.module_utils._host import clock as _clock
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import AtWork, KeptFile, SharedFile
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import JournalError
from ansible_collections.maintenance.azure.plugins.module_utils._host.run_mark import owner_name, path_beside
from ansible_collections.maintenance.azure.plugins.module_utils._watch import decide as _decide
from ansible_collections.maintenance.azure.plugins.module_utils._watch import next_deed as _next
from ansible_collections.maintenance.azure.plugins.module_utils._watch import run_mark as _run_mark
from ansible_collections.maintenance.azure.plugins.module_utils._watch.deeds import Deeds, NotDone
from ansible_collections.maintenance.azure.plugins.module_utils._watch.reflex_starter import told_beside, trigger_beside
from ansible_collections.maintenance.azure.plugins.module_utils._watch.reflex_steps import FLAGS, TELL, steps_to_do
from ansible_collections.maintenance.azure.plugins.module_utils._watch.settings import SHORTEST_INTERVAL
from ansible_collections.maintenance.azure.plugins.module_utils._watch.sightings import Sightings

# Without news the service is read so often while there is something to wait for.
SECONDS_BETWEEN_READINGS = 10
SECONDS_BETWEEN_LOOKS = 0.1
# What has failed is tried again.
SECONDS_AFTER_FAILURE = 15
# How they end where their settings have changed: they begin anew with the new ones.
AGAIN = "again"
VARIABLE = "watch_reflex"
EXAMPLE = "{type: Preempt, action: drain}"


class Reflexes:
    """`has_new_settings` is asked before each deed: what the user no longer wants is not done any more."""

    def __init__(self, settings, reader, say, has_new_settings=lambda: False):
        self.settings = settings
        self.has_new_settings = has_new_settings
        self.say = say
        self.rules = read_rules(settings["reflex"], VARIABLE, _decide.ACTIONS, EXAMPLE, FLAGS, TELL)
        self.ours = owner_name(settings["name"])
        self.deeds = Deeds(settings, self.ours, self.tell, lambda: _run_mark.read_run_mark(self.mark).holds)
        self.reader = reader
        memory = os.path.join(os.path.dirname(os.path.abspath(settings["journal"])), "reflex_memory.json")
        self.memory = KeptFile(memory, "memory of the reflexes", "drain_journal", JournalError)
        self.trigger = trigger_beside(settings["status_file"])
        self.mark = path_beside(settings["status_file"])
        self.told = SharedFile(told_beside(settings["status_file"]))
        self.approvals = 0
        self._next_reading = 0.0
        self._told = None

    def run(self):
        """Until there is nothing left to do, or AGAIN. One at a time: a second one leaves it to the first."""
        self.memory.make_folder()
        with _alone(os.path.join(self.memory.folder, "reflex.lock")) as is_alone:
            if not is_alone:
                return 0
            kept = self._kept()
            sightings, gone = Sightings(kept.get("sightings")), kept.get("gone")
            self.approvals = kept["approvals"] if kept else 0
            while True:
                heeds_news = self._take_trigger()
                self._keep_pace()
                pause, is_over = SECONDS_BETWEEN_READINGS, False
                self.reader.read()
                if self.has_new_settings():
                    return AGAIN
                if self.reader.problem is None and self.reader.knows_who():
                    pause, is_over, gone = self._act(sightings, gone)
                else:
                    pause = 1
                if is_over and not os.path.lexists(self.trigger):
                    return 0
                if not heeds_news:
                    # Where it ends, it would be started again at once.
                    self._wait(SECONDS_BETWEEN_READINGS if is_over else pause, heeds_news)
                elif not is_over:
                    self._wait(pause)

    def _act(self, sightings, gone):
        """Seconds until the next look, whether there is nothing left to do, and since when events are gone."""
        document, now = self.reader.document, time.time()
        vm_name = self.reader.vm_name or self.reader.identity["vm_name"]
        if sightings.note(document, vm_name, now):
            self._keep(sightings, gone)
        try:
            journal = self.deeds.journal.read()
        except JournalError as error:
            self.say(str(error))
            return SECONDS_AFTER_FAILURE, False, gone
        gone = self._since_when_gone(journal, document, gone, sightings)
        run = _run_mark.read_run_mark(self.mark, now)
        reflex = _decide.decide_reflex(document, vm_name, sightings, self.rules, now, self.settings["latest"], run)
        deed = _next.next_deed(
            _next.Situation(
                journal,
                document,
                vm_name,
                reflex,
                run,
                self.ours,
                _clock.boot_id(),
                now,
                None if gone is None else _clock.seconds() - gone["seconds"],
                _run_mark.ended_for(self.mark, now),
                bool(journal and AtWork(self.deeds.journal.path).left(journal.get("run_id"))),
                _decide.approvable_events(document, vm_name, self.rules, now),
            )
        )
        if journal and (journal.get("run_id") == self.ours or deed.do == _next.TAKE_BACK):
            # What can't be written down now is told with the next reading.
            with contextlib.suppress(JournalError):
                self.deeds.tell_confirmed(journal, document, self.reader.read_at)
        if self._tell_what_is_left(journal, reflex) and journal is None and deed.do == _next.DRAIN:
            # Not even the first step can be done here.
            return SECONDS_BETWEEN_READINGS, False, gone
        if deed.do == _next.END:
            return 0, True, gone
        if deed.do == _next.WAIT:
            soon = SECONDS_BETWEEN_READINGS if deed.look_again_in is None else deed.look_again_in
            return max(0.2, min(SECONDS_BETWEEN_READINGS, soon)), False, gone
        try:
            self._do(deed, reflex, journal, document, vm_name)
        except (NotDone, JournalError) as error:
            self.say(str(error))
            return SECONDS_AFTER_FAILURE, False, gone
        return 0, False, gone

    def _do(self, deed, reflex, journal, document, vm_name):
        if deed.do == _next.DRAIN:
            self.deeds.drain(deed.event, reflex, owner=(journal or {}).get("run_id"))
        elif deed.do == _next.APPROVE:
            endpoint, version = self.reader.transports[0].endpoint, self.reader.api_version
            self.deeds.approve(deed.event, document, vm_name, endpoint, version)
            self.approvals += 1
        else:
            self.deeds.give_back(take_over=deed.do == _next.TAKE_BACK)

    def _since_when_gone(self, journal, document, gone, sightings):
        boot = _clock.boot_id()
        if journal is None or _next.shown_events(journal, document):
            fresh = None
        elif gone is not None and gone.get("boot_id") == boot:
            return gone
        else:
            fresh = {"boot_id": boot, "seconds": _clock.seconds()}
        if fresh != gone:
            self._keep(sightings, fresh)
        return fresh

    def _tell_what_is_left(self, journal, reflex):
        """What a run has to do, as texts."""
        left = list((journal or {}).get("left") or [])
        if journal is None and reflex.event:
            mine, others = steps_to_do(self.settings["steps"], reflex.past_others)
            left = [] if mine else others
        told = {"left_for_a_run": left, "approvals": self.approvals}
        if told != self._told:
            with contextlib.suppress(OSError):
                self.told.write(json.dumps(told) + "\n")
            self._told = told
        return left

    def tell(self, what, **details):
        if self.reader.document is not None:
            details.setdefault("incarnation", self.reader.document["document_incarnation"])
        details = dict(details, by=self.ours, host=self.settings["name"])
        _audit.write(self.settings["audit_file"], what, time.time(), **details)
        self.say("%s: %s" % (what, json.dumps(details, sort_keys=True)))

    def _wait(self, seconds, heeds_news=True):
        """For that long, or until there is news."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not (heeds_news and os.path.lexists(self.trigger)):
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def _take_trigger(self):
        """Whether it is gone. What the watcher puts there and nobody can take away is no news."""
        for take in (os.unlink, os.rmdir):
            with contextlib.suppress(OSError):
                take(self.trigger)
        return not os.path.lexists(self.trigger)

    def _keep_pace(self):
        """Whatever the watcher says: the service allows 5 requests a second for a whole VM."""
        now = time.monotonic()
        if self._next_reading > now:
            time.sleep(self._next_reading - now)
        self._next_reading = time.monotonic() + SHORTEST_INTERVAL

    def _kept(self):
        """What was kept, as far as it can be believed. Without it nothing is known of what came first."""
        try:
            data = json.loads((self.memory.read() or b"{}").decode("utf-8"))
        except (ValueError, RecursionError, JournalError):
            return {}
        data = data if isinstance(data, dict) else {}
        gone, approvals = data.get("gone"), data.get("approvals")
        if not isinstance(gone, dict) or not isinstance(gone.get("seconds"), (int, float)):
            data["gone"] = None
        data["approvals"] = approvals if isinstance(approvals, int) and approvals >= 0 else 0
        return data

    def _keep(self, sightings, gone):
        self.memory.write({"sightings": sightings.data(), "gone": gone, "approvals": self.approvals})


@contextlib.contextmanager
def _alone(path):
    """Whether no other one is at work here."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield _locked(descriptor)
    finally:
        os.close(descriptor)


def _locked(descriptor):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def main(settings, reader, say, has_new_settings):
    """The exit code, or AGAIN."""
    try:
        return Reflexes(settings, reader, say, has_new_settings).run()
    except (BadRules, JournalError) as error:
        say(str(error))
        return 1


def give_back(settings, reader, say):
    """Return the host to service whatever the document says: the watcher is going to be removed."""
    try:
        Reflexes(settings, reader, say).deeds.give_back()
    except (BadRules, JournalError, NotDone) as error:
        say(str(error))
        return 1
    return 0
