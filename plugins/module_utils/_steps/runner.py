# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One step, carried out and written into the journal.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import os
import time

from .._azure import documents
from .._host import audit as _audit
from .._host import files
from .._host.journal import JournalError, JournalFile, all_drained, has_to_be_undone, recorded, utc_now
from .._host.ownership import StepLock
from . import health as _health
from . import machine
from .kind import kind_of, load_kinds
from .machine import StepError
from .records import RecordFile


def workings_of(name, arguments):
    """The class that does such a step on a host, and its arguments, of which the names are good."""
    kind, own = kind_of(name, arguments)
    if kind is None:
        load_kinds()
        kind, own = kind_of(name, arguments)
    if kind is None or kind.by_tasks:
        raise StepError("This host does not know how to do a step %s" % name)
    for problem in kind.problems(own):
        raise StepError("%s: %s" % (name, problem))
    return kind, own


class StepRunner:
    def __init__(self, journal, run_id, check_mode=False, clock=time.monotonic, here=files.HERE):
        self.here = here
        self.journal = JournalFile(journal, predict_only=check_mode, here=here) if journal else None
        self.run_id = run_id
        self.check_mode = check_mode
        self.started = clock()
        self.clock = clock
        # In a run: knows whether the controller is still there.
        self.contact = None
        # Whose the actions are, for the record.
        self.audit = None

    def check_contact(self):
        """Between two steps nothing is left half done."""
        if self.contact and self.contact.is_lost():
            raise StepError("%s: what is left was not begun" % self.contact.why)

    def look(self, step, timeout):
        workings, arguments = workings_of(step["kind"], step["arguments"])
        before = workings.look(self._host(arguments, timeout), arguments)
        return {"changed": False, "before": before, "done": [], "remarks": []}

    def claim(self, direction, step, timeout, record):
        """On another machine than the one that is drained: write down there what is going to be done, and for whom."""

        if record.get("must_exist"):
            # The journal is gone, so that only this machine knows whether there is something to undo.
            before = self._record(record).taken_over()
            return {"changed": False, "before": before, "found": before is not None, "done": [], "remarks": []}

        def found():
            # What was drained is no longer as it was before: there, only the journal may still know.
            return self.look(step, timeout)["before"] if direction == "drain" else step["before"]

        before = self._record(record).claimed(found)
        return {"changed": False, "before": before, "done": [], "remarks": []}

    def act(self, direction, step, timeout, record=None):
        """The action alone; who calls keeps the journal. On another machine it needs the record that was claimed."""
        kept = self._record(record) if record else None
        if kept and not self.check_mode:
            kept.check()
        workings, arguments = workings_of(step["kind"], step["arguments"])
        host = self._host(arguments, timeout)
        try:
            getattr(workings, direction)(host, arguments, step["before"] or {})
        except StepError as error:
            error.changed_nothing = not host.done
            raise
        if kept and direction == "restore":
            kept.forget()
        return {"changed": bool(host.done), "done": host.done, "remarks": host.warnings}

    def drain(self, step, timeout, finished=(), final=None):
        with self._alone(timeout):
            return self._drain(step, timeout, finished, final)

    def restore(self, step, timeout, finished=(), final=None):
        with self._alone(timeout):
            return self._restore(step, timeout, finished, final)

    @contextlib.contextmanager
    def _alone(self, timeout):
        """A step is one for whoever takes the journal over: it waits for the end of it."""
        if self.check_mode or not os.path.isdir(os.path.dirname(self.journal.path)):
            yield
            return
        with StepLock(self.journal.path).held(timeout):
            yield

    def _drain(self, step, timeout, finished, final):
        known = self._known(step)
        found = known or step
        if found.get("before") is None:
            step = dict(step, before=self.look(step, timeout)["before"])
        else:
            step = dict(step, before=found["before"])
        self.record([dict(step, status="started")], finished, "done")
        result = self._do("drain", step, timeout, is_first=known is None)
        data = self.record([dict(step, status="done")], final="drained" if final == "drained" else None)
        return self._told(result, data, step, "done")

    def _restore(self, step, timeout, finished, final):
        # From here on it no longer counts as done: who goes on after us must not trust that it is.
        self.record([dict(step, status="started")], finished, "undone")
        result = self._do("restore", step, timeout)
        data = self.record([dict(step, status="undone")])
        if final == "closed" and not self.check_mode:
            data = self._closed()
        return self._told(result, data, step, "undone")

    def finish(self, finished, final, health, timeout):
        """Write down what the last steps left open; after a restore look at the host's health first."""
        status = "done" if final == "drained" else "undone"
        data = self.record([], finished, status, final="drained" if final == "drained" else None)
        host = machine.Machine(timeout, self.check_mode, contact=self.contact)
        checks = [] if self.check_mode else health
        if checks:
            self._check_that_it_can_act("check its health")
        results = []
        for check in checks:
            complaint = _health.failed_check(host, check)
            results.append({"check": check, "ok": complaint is None, "said": complaint or ""})
            if complaint:
                raise Unhealthy(complaint, results)
        if final == "closed" and not self.check_mode:
            data = self._closed()
        return dict(self._told({"changed": False, "done": [], "remarks": []}, data, None, None), health=results)

    def _closed(self):
        data = self.journal.close(self.run_id)
        self.tell("returned to service", data)
        return data

    def record_only(self, direction, step, status, finished, error=None):
        """For a step whose work is done by others: write down what became of it."""
        finished_status = "done" if direction == "drain" else "undone"
        data = self.record([dict(step, status=status, error=error)], finished, finished_status)
        kept = [one for one in (data or {}).get("steps", []) if one["number"] == step["number"]]
        step = dict(step, before=kept[0]["before"] if kept else step.get("before"))
        return self._told({"changed": False, "done": [], "remarks": []}, data, step, status)

    def record(self, records, finished=(), finished_status="done", final=None):
        records = [{"number": number, "status": finished_status} for number in finished] + list(records)

        def change(data):
            if data is None:
                if self.check_mode:
                    return None  # nothing was begun, so there is nothing that these could be told of
                raise JournalError("The journal %s is gone; somebody removed it during the run" % self.journal.path)
            data = recorded(data, records, utc_now())
            return all_drained(data, utc_now()) if final == "drained" and not self.check_mode else data

        data = self.journal.change(change, self.run_id)
        if final == "drained":
            self.tell("drained", data)
        return data

    def tell(self, what, data, **details):
        """Write an audit entry on this host."""
        if data and not self.check_mode:
            _audit.tell(self.audit, what, events=[event.get("id") for event in data["events"]], **details)

    def tell_confirmed(self, approvals):
        """A line for each approval that has come to something, see newly_confirmed."""
        for details in [] if self.check_mode else approvals:
            _audit.tell(self.audit, documents.CONFIRMED, **details)

    def failed(self, step, message, changed_nothing=False):
        """Write the failure down where that can be done."""
        if not self.check_mode:
            _audit.tell(self.audit, "step failed", step=step["number"], kind=step["kind"], error=message[:500])
        try:
            return self.record([dict(step, status="failed", error=message, changed_nothing=changed_nothing)])
        except JournalError:
            return None

    def _do(self, direction, step, timeout, is_first=False):
        try:
            return self.act(direction, step, timeout)
        except StepError as error:
            # An earlier attempt may have changed something.
            self.failed(step, str(error), is_first and error.changed_nothing)
            raise

    def _known(self, step):
        known = [one for one in (self.journal.read() or {}).get("steps", []) if one["number"] == step["number"]]
        return next((one for one in known if has_to_be_undone(one)), None)

    def _record(self, record):
        self._check_that_it_can_act("keep a record for another host")
        return RecordFile(record["folder"], record["action"], self.run_id, self.check_mode)

    def _check_that_it_can_act(self, action):
        if not self.here.can_act:
            raise StepError("A Windows host does not %s by itself" % action)

    def _host(self, arguments, timeout):
        self._check_that_it_can_act("do a step")
        own = arguments.get("timeout")
        return machine.Machine(min(own, timeout) if own else timeout, self.check_mode, contact=self.contact)

    def _told(self, result, data, step, status):
        data = data or {}
        told = dict(
            result, state=data.get("state"), drained_at=data.get("drained_at"), boot_id=self.here.clock.boot_id()
        )
        told.update(restored_at=data.get("restored_at"), now=utc_now())
        if step is not None:
            told["step"] = {"number": step["number"], "kind": step["kind"], "status": status}
            told["step"].update(before=step["before"], seconds=round(self.clock() - self.started, 1))
        return told


class Unhealthy(StepError):
    """The host is restored, but a health check says no."""

    def __init__(self, message, results):
        super(Unhealthy, self).__init__(message)
        self.results = results
