# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reflexes: the host drains itself where no run comes.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import errno
import fcntl
import json
import os
import threading
import time

from .._azure import documents, http, imds
from .._azure.rules import BadRules, read_rules
from .._host import audit as _audit
from .._host import clock as _clock
from .._host import files, run_mark
from .._host.clock import boot_id
from .._host.journal import (
    JournalError,
    JournalFile,
    begun,
    has_to_be_undone,
    marked,
    that_can_be_taken_back,
    unmarked,
    utc_now,
)
from .._host.ownership import OwnedJournal
from .._steps import machine
from .._steps.kind import is_known, kind_of
from .._steps.runner import StepRunner
from . import children
from . import decide as _decide
from . import protocol as _protocol
from .protocol import SHORTEST_INTERVAL

SECONDS_BETWEEN_RENEWALS = 10
SECONDS_TO_APPROVE = 20


class NotDone(Exception):
    """The text is for the audit entry. It is tried again later."""


class Actions:
    """`ours` is the name by which the journal knows the reflexes of this host."""

    def __init__(self, settings, ours, tell, run_is_there=lambda: False):
        self.settings = settings
        self.ours = ours
        # Asked between two steps: a run takes over from there.
        self.run_is_there = run_is_there
        # tell(what, **details) writes an audit entry.
        self.tell = tell
        self.journal = JournalFile(settings["journal"])
        self.owned = OwnedJournal(self.journal, ours)

    def drain(self, event, reflex, owner=None):
        """Steps in order. Raises NotDone where one fails; what was done before it stays in the journal.

        `owner` is the run whose journal is taken over for it, if it is still that one's.
        """
        before = self._of_us_or(owner, self.journal.read())
        self._undo_an_earlier_list()
        steps, digest = self.settings["steps"], self.settings["steps_digest"]
        is_new = not _decide.has_event(before, event)
        # As it was decided when it began.
        approve = reflex.approve if is_new else _decide.has_in(before, "approve", event)
        past_others = reflex.past_others if is_new else _decide.has_in(before, "past_others", event)

        def begin(data):
            data = begun(self._of_us_or(owner, data), [event], self.ours, boot_id(), utc_now())
            _decide.put_in(data, "approve", event, approve)
            _decide.put_in(data, "past_others", event, past_others)
            mine, data["left"] = _decide.to_do(steps, past_others, data)
            if not mine:
                why = "; ".join(data["left"] or ["there is none"])
                raise NotDone("no step can be done by this host itself: %s" % why)
            if any(step["number"] not in _done_in(data) for step in mine):
                # Whoever goes on after us must not trust that it is.
                data.update(state="draining", drained_at=None)
            data["steps_digest"] = digest
            for key in ("returned", "own_steps_done"):
                data.pop(key, None)
            return data

        # What is being done there comes to its end first.
        data = self.owned.take(begin)
        if is_new:
            self.tell("drain begins", event=event["id"], why=reflex.why)
        mine, left = _decide.to_do(steps, past_others, data)
        done = _done_in(data)
        with self._at_work():
            for step in mine:
                if step["number"] not in done:
                    self._give_way(event)
                    self._step("drain", _decide.filled_in(step, event))
            if left:
                self.journal.change(lambda data: data and dict(data, own_steps_done=True), self.ours)
            else:
                self._runner().finish((), "drained", (), self.settings["timeout"])
        self.tell("drained" if not left else "drained in part", event=event["id"], left=left)

    def _of_us_or(self, owner, data):
        if data is not None and data.get("run_id") not in (self.ours, owner):
            raise JournalError("The journal is by now that of a run")
        return data

    def _undo_an_earlier_list(self):
        """Return a host that is half drained by another list of steps: it is drained anew by that of today."""
        data, digest = self.journal.read(), self.settings["steps_digest"]
        begun_with = (data or {}).get("steps_digest") or digest
        # A host that is drained stays so, as its event may begin at any moment.
        if begun_with != digest and not _decide.has_done_its_part(data, boot_id()):
            self.tell("steps have changed", list=digest, list_before=begun_with)
            self.return_to_service(take_over=True)

    def _undone_by(self, step, journal):
        """Today's step of the same kind in the same place, else the step as it was done, see _steps/work.py."""
        today = next((one for one in self.settings["steps"] if one["number"] == step["number"]), {})
        events = [event for event in journal["events"] if event.get("id") == step.get("event")]
        if today.get("left") or today.get("kind") != step["kind"] or not events:
            return step
        kind, arguments = kind_of(today["kind"], today["arguments"])
        is_another = any(_decide.is_same_step(one, today) for one in journal["steps"])
        if is_another or not kind.known_by or kind.leaves_nothing(arguments):
            return step
        return dict(_decide.filled_in(today, events[0]), before=step["before"])

    def _give_way(self, event):
        if not documents.takes_away(event) and self.run_is_there():
            raise NotDone("a run has come to this host, which takes over what was begun")

    def tell_confirmed(self, journal, document, read_at):
        """Of the approvals that were sent from here, also by a run, those that this reading shows to have arrived."""
        statuses = {documents.canonical_id(event["id"]): event["status"] for event in document["events"]}
        effects = documents.effects_of_marks(
            journal, statuses, documents.iso(read_at), document["document_incarnation"]
        )
        confirmed = documents.newly_confirmed(journal, effects)
        if confirmed:
            self.journal.change(lambda data: data and documents.with_confirmed(data, confirmed), journal.get("run_id"))
            for details in confirmed:
                self.tell(documents.CONFIRMED, **details)

    def return_to_service(self, take_over=False):
        """Undo, last first, what the journal says was done here. What was done elsewhere is left for a run."""
        before = self.journal.read()
        if before is None:
            return
        owner = before.get("run_id")

        def restoring(data):
            if data is None or data.get("run_id") != owner or (owner != self.ours and not take_over):
                raise JournalError("The journal is by now that of another run")
            return dict(data, state="restoring", run_id=self.ours)

        # What is being done there comes to its end first.
        data = self.owned.take(restoring)
        to_undo = [step for step in data["steps"] if has_to_be_undone(step)]
        elsewhere = [step for step in to_undo if self._is_for_others(step)]
        with self._at_work():
            for step in reversed(to_undo):
                if step not in elsewhere:
                    self._step("restore", self._undone_by(step, data))
            if elsewhere:
                self._leave(elsewhere)
                return
            self.journal.close(self.ours)
        self.tell("returned to service", events=[event.get("id") for event in data["events"]], taken_from=owner)

    def _leave(self, steps):
        texts = ["step %d (%s) is to be undone" % (step["number"], step["kind"]) for step in steps]
        self.journal.change(lambda data: data and dict(data, left=texts, returned=True), self.ours)
        self.tell("returned to service in part", left=texts)

    def _is_for_others(self, step):
        """Whether this host can't undo it by itself: it is another machine's, or needs a controller."""
        inner = [one for one in step["arguments"].values() if isinstance(one, dict)]
        here = (None, "", self.settings["name"])
        return not is_known(step["kind"]) or any(one.get("host") not in here for one in inner)

    def approve(self, event, document, vm_name, endpoint, version):
        """Compare, write it down, send: in this order. Raises NotDone where it was not sent."""
        # It costs 50 ms, which the first step need not wait for.
        from .._azure import imds as _imds

        mark = {"event": event["id"], "at": time.time(), "hosts": [self.settings["name"]]}
        has_begun, to_take_back = [], []

        def to_mark(data):
            if data is None or data["state"] != "drained":
                raise JournalError("This host is not drained any more")
            # It may have come while the service was read, or while it was busy.
            if self.run_is_there():
                raise JournalError("A run has come to this host")
            if not has_begun:
                to_take_back.extend(that_can_be_taken_back(data, [mark]))
            return marked(data, [mark], about_to_send=True)

        def about_to_send(_text):
            self.journal.change(to_mark, self.ours)
            if not has_begun:
                self.tell("approval begins", event=event["id"], incarnation=document["document_incarnation"])
            has_begun.append(True)

        def refused(why):
            if has_begun:
                self.owned.change_if_ours(lambda data: unmarked(data, to_take_back))
                self.tell("approval refused", event=event["id"])
            return NotDone("%s was not approved: %s" % (event["id"], why))

        try:
            answer = _imds.approve(
                endpoint,
                version,
                None,
                documents.approval_body([event["id"]], version, document["document_incarnation"]),
                SECONDS_TO_APPROVE,
                http.HttpTransport,
                about_to_send=about_to_send,
                is_expected=lambda text: _decide.may_be_approved(documents.parse_document(text), event, vm_name),
            )
        except (imds.ImdsError, JournalError, ValueError) as error:
            raise refused(error) from None
        problem = answer["problem"]
        if answer["sent"]:
            self.tell("approved", event=event["id"])
        elif problem is None:
            raise refused("it is no longer as it was, or no longer alone")
        elif problem["unclear"]:
            self.tell("approval unclear", event=event["id"])
            raise NotDone(problem["message"])
        else:
            raise refused(problem["message"])

    def _step(self, direction, step):
        try:
            getattr(self._runner(), direction)(step, self.settings["timeout"])
        except (machine.StepError, JournalError) as error:
            self.tell("step failed", step=step["number"], kind=step["kind"], direction=direction, error=str(error))
            raise NotDone("step %d (%s) failed: %s" % (step["number"], step["kind"], error)) from None
        self.tell("step done", step=step["number"], kind=step["kind"], direction=direction)

    def _runner(self):
        return StepRunner(self.settings["journal"], self.ours)

    @contextlib.contextmanager
    def _at_work(self):
        """Says beside the journal that this host is worked on, so that a run waits for the end of it."""
        over = threading.Event()

        def renew():
            while True:
                with contextlib.suppress(JournalError):
                    self.owned.renew()
                if over.wait(SECONDS_BETWEEN_RENEWALS):
                    return

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            files.AtWork(self.settings["journal"]).forget()


def _done_in(journal):
    """The numbers of the steps that are done."""
    return [step["number"] for step in journal["steps"] if step["status"] == "done"]


# The watcher only decides when to look. Whatever is acted on comes from a reading of the service made here.

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
    """`has_new_settings` is asked before each action: what the user no longer wants is not done any more."""

    def __init__(self, settings, reader, say, has_new_settings=lambda: False):
        self.settings = settings
        self.has_new_settings = has_new_settings
        self.say = say
        self.rules = read_rules(settings["reflex"], VARIABLE, _decide.ACTIONS, EXAMPLE, _decide.FLAGS, _decide.TELL)
        self.ours = run_mark.owner_name(settings["name"])
        self.actions = Actions(settings, self.ours, self.tell, lambda: _protocol.read_run_mark(self.mark).holds)
        self.reader = reader
        memory = os.path.join(os.path.dirname(os.path.abspath(settings["journal"])), "reflex_memory.json")
        self.memory = files.KeptFile(memory, "memory of the reflexes", "drain_journal", JournalError)
        self.trigger = children.trigger_beside(settings["status_file"])
        self.mark = run_mark.path_beside(settings["status_file"])
        self.told = files.SharedFile(children.told_beside(settings["status_file"]))
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
            sightings, over_since = _decide.Sightings(kept.get("sightings")), kept.get("gone")
            self.approvals = kept["approvals"] if kept else 0
            while True:
                heeds_news = self._take_trigger()
                self._keep_pace()
                pause, is_over = SECONDS_BETWEEN_READINGS, False
                self.reader.read()
                if self.has_new_settings():
                    return AGAIN
                if self.reader.problem is None and self.reader.knows_who():
                    pause, is_over, over_since = self._act(sightings, over_since)
                else:
                    pause = 1
                if is_over and not os.path.lexists(self.trigger):
                    return 0
                if not heeds_news:
                    # Where it ends, it would be started again at once.
                    self._wait(SECONDS_BETWEEN_READINGS if is_over else pause, heeds_news)
                elif not is_over:
                    self._wait(pause)

    def _act(self, sightings, over_since):
        """Seconds until the next look, whether there is nothing left to do, and since when events are over."""
        document, now = self.reader.document, time.time()
        vm_name = self.reader.vm_name or self.reader.identity["vm_name"]
        if sightings.note(document, vm_name, now):
            self._keep(sightings, over_since)
        try:
            journal = self.actions.journal.read()
        except JournalError as error:
            self.say(str(error))
            return SECONDS_AFTER_FAILURE, False, over_since
        over_since = self._since_when_over(journal, document, over_since, sightings)
        run = _protocol.read_run_mark(self.mark, now)
        reflex = _decide.decide_reflex(document, vm_name, sightings, self.rules, now, self.settings["latest"], run)
        action = _decide.next_action(
            _decide.Situation(
                journal,
                document,
                vm_name,
                reflex,
                run,
                self.ours,
                _clock.boot_id(),
                now,
                None if over_since is None else _clock.seconds() - over_since["seconds"],
                _protocol.ended_for(self.mark, now),
                bool(journal and files.AtWork(self.actions.journal.path).left(journal.get("run_id"))),
                _decide.approvable_events(document, vm_name, self.rules, now),
            )
        )
        if journal and (journal.get("run_id") == self.ours or action.do == _decide.TAKE_BACK):
            # What can't be written down now is told with the next reading.
            with contextlib.suppress(JournalError):
                self.actions.tell_confirmed(journal, document, self.reader.read_at)
        if self._tell_what_is_left(journal, reflex) and journal is None and action.do == _decide.DRAIN:
            # Not even the first step can be done here.
            return SECONDS_BETWEEN_READINGS, False, over_since
        if action.do == _decide.END:
            return 0, True, over_since
        if action.do == _decide.WAIT:
            soon = SECONDS_BETWEEN_READINGS if action.look_again_in is None else action.look_again_in
            return max(0.2, min(SECONDS_BETWEEN_READINGS, soon)), False, over_since
        try:
            self._do(action, reflex, journal, document, vm_name)
        except (NotDone, JournalError) as error:
            self.say(str(error))
            return SECONDS_AFTER_FAILURE, False, over_since
        return 0, False, over_since

    def _do(self, action, reflex, journal, document, vm_name):
        if action.do == _decide.DRAIN:
            self.actions.drain(action.event, reflex, owner=(journal or {}).get("run_id"))
        elif action.do == _decide.APPROVE:
            endpoint, version = self.reader.transports[0].endpoint, self.reader.api_version
            self.actions.approve(action.event, document, vm_name, endpoint, version)
            self.approvals += 1
        else:
            self.actions.return_to_service(take_over=action.do == _decide.TAKE_BACK)

    def _since_when_over(self, journal, document, over_since, sightings):
        boot = _clock.boot_id()
        if journal is None or _decide.shown_events(journal, document):
            fresh = None
        elif over_since is not None and over_since.get("boot_id") == boot:
            return over_since
        else:
            fresh = {"boot_id": boot, "seconds": _clock.seconds()}
        if fresh != over_since:
            self._keep(sightings, fresh)
        return fresh

    def _tell_what_is_left(self, journal, reflex):
        """What a run has to do, as texts."""
        left = list((journal or {}).get("left") or [])
        if journal is None and reflex.event:
            mine, others = _decide.steps_to_do(self.settings["steps"], reflex.past_others)
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
        """What was kept, as far as it can be trusted. Without it nothing is known of what came first."""
        try:
            data = json.loads((self.memory.read() or b"{}").decode("utf-8"))
        except (ValueError, RecursionError, JournalError):
            return {}
        data = data if isinstance(data, dict) else {}
        over_since, approvals = data.get("gone"), data.get("approvals")
        if not isinstance(over_since, dict) or not isinstance(over_since.get("seconds"), (int, float)):
            data["gone"] = None
        data["approvals"] = approvals if isinstance(approvals, int) and approvals >= 0 else 0
        return data

    def _keep(self, sightings, over_since):
        self.memory.write({"sightings": sightings.data(), "gone": over_since, "approvals": self.approvals})


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


def return_to_service(settings, reader, say):
    """Return the host to service whatever the document says: the watcher is going to be removed."""
    try:
        Reflexes(settings, reader, say).actions.return_to_service()
    except (BadRules, JournalError, NotDone) as error:
        say(str(error))
        return 1
    return 0
