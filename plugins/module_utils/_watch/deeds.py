# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reflexes do on this host: drain, approve, return to service, all in the journal that runs keep as well.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import threading
import time

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import (
    CONFIRMED,
    VANISHING_TYPES,
    approval_body,
    canonical_id,
    effects_of_marks,
    iso,
    newly_confirmed,
    parse_document,
    with_confirmed,
)
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import SocketTransport
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import ImdsError
from ansible_collections.maintenance.azure.plugins.module_utils._host.clock import boot_id
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import AtWork
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import (
    JournalError,
    JournalFile,
    begun,
    marked,
    that_can_be_taken_back,
    unmarked,
    utc_now,
)
from ansible_collections.maintenance.azure.plugins.module_utils._host.ownership import OwnedJournal
from ansible_collections.maintenance.azure.plugins.module_utils._steps.machine import StepError
from ansible_collections.maintenance.azure.plugins.module_utils._steps.runner import StepRunner, is_known
from ansible_collections.maintenance.azure.plugins.module_utils._watch.decide import may_be_approved
from ansible_collections.maintenance.azure.plugins.module_utils._watch.journal_words import has_event, has_in, put_in
from ansible_collections.maintenance.azure.plugins.module_utils._watch.kept_steps import kept_steps
from ansible_collections.maintenance.azure.plugins.module_utils._watch.reflex_steps import filled_in, to_do

SECONDS_BETWEEN_RENEWALS = 10
SECONDS_TO_APPROVE = 20


class NotDone(Exception):
    """The text is for the record. It is tried again later."""


class Deeds:
    """`ours` is the name by which the journal knows the reflexes of this host."""

    def __init__(self, settings, ours, tell, run_is_there=lambda: False):
        self.settings = settings
        self.ours = ours
        # Asked between two steps: a run takes over from there.
        self.run_is_there = run_is_there
        # tell(what, **details) writes the record.
        self.tell = tell
        self.journal = JournalFile(settings["journal"])
        self.owned = OwnedJournal(self.journal, ours)

    def drain(self, event, reflex, owner=None):
        """Steps in order. Raises NotDone where one fails; what was done before it stays in the journal.

        `owner` is the run whose journal is taken over for it, if it is still that one's.
        """
        before = self._of_us_or(owner, self.journal.read())
        steps, digest = self._steps_to_go_on_with()
        is_new = not has_event(before, event)
        # As it was decided when it began.
        approve = reflex.approve if is_new else has_in(before, "approve", event)
        past_others = reflex.past_others if is_new else has_in(before, "past_others", event)

        def begin(data):
            data = begun(self._of_us_or(owner, data), [event], self.ours, boot_id(), utc_now())
            put_in(data, "approve", event, approve)
            put_in(data, "past_others", event, past_others)
            mine, data["left"] = to_do(steps, past_others, data)
            if not mine:
                why = "; ".join(data["left"] or ["there is none"])
                raise NotDone("no step can be done by this host itself: %s" % why)
            if any(step["number"] not in _done_in(data) for step in mine):
                # Whoever goes on after us must not believe that it is.
                data.update(state="draining", drained_at=None)
            data["steps_digest"] = digest
            for key in ("returned", "own_steps_done"):
                data.pop(key, None)
            return data

        # What is being done there comes to its end first.
        data = self.owned.take(begin)
        if is_new:
            self.tell("drain begins", event=event["id"], why=reflex.why)
        mine, left = to_do(steps, past_others, data)
        done = _done_in(data)
        with self._at_work():
            for step in mine:
                if step["number"] not in done:
                    self._give_way(event)
                    self._step("drain", filled_in(step, event))
            if left:
                self.journal.change(lambda data: data and dict(data, own_steps_done=True), self.ours)
            else:
                self._runner().finish((), "drained", (), self.settings["timeout"])
        self.tell("drained" if not left else "drained in part", event=event["id"], left=left)

    def _of_us_or(self, owner, data):
        if data is not None and data.get("run_id") not in (self.ours, owner):
            raise JournalError("The journal is by now that of a run")
        return data

    def _steps_to_go_on_with(self):
        """The steps of the list that the journal began with, whatever the user has made of it since, and its digest.

        Where that list is no longer kept, what was done is undone first.
        """
        data, digest = self.journal.read(), self.settings["steps_digest"]
        begun_with = (data or {}).get("steps_digest") or digest
        if begun_with == digest:
            return self.settings["steps"], digest
        kept = kept_steps(self.settings["steps_dir"], begun_with)
        if kept is not None:
            return kept, begun_with
        self.tell("steps have changed", list=digest, list_before=begun_with)
        self.give_back(take_over=True)
        return self.settings["steps"], digest

    def _give_way(self, event):
        if event["type"] not in VANISHING_TYPES and self.run_is_there():
            raise NotDone("a run has come to this host, which takes over what was begun")

    def tell_confirmed(self, journal, document, read_at):
        """Of the approvals that were sent from here, also by a run, those that this reading shows to have arrived."""
        statuses = {canonical_id(event["id"]): event["status"] for event in document["events"]}
        effects = effects_of_marks(journal, statuses, iso(read_at), document["document_incarnation"])
        confirmed = newly_confirmed(journal, effects)
        if confirmed:
            self.journal.change(lambda data: data and with_confirmed(data, confirmed), journal.get("run_id"))
            for details in confirmed:
                self.tell(CONFIRMED, **details)

    def give_back(self, take_over=False):
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
        elsewhere = [step for step in data["steps"] if step["status"] != "undone" and self._is_for_others(step)]
        with self._at_work():
            for step in reversed(data["steps"]):
                if step["status"] != "undone" and step not in elsewhere:
                    self._step("restore", step)
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
        from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds

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
                approval_body([event["id"]], version, document["document_incarnation"]),
                SECONDS_TO_APPROVE,
                SocketTransport,
                about_to_send=about_to_send,
                is_expected=lambda text: may_be_approved(parse_document(text), event, vm_name),
            )
        except (ImdsError, JournalError, ValueError) as error:
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
        except (StepError, JournalError) as error:
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
            AtWork(self.settings["journal"]).forget()


def _done_in(journal):
    """The numbers of the steps that are done."""
    return [step["number"] for step in journal["steps"] if step["status"] == "done"]
