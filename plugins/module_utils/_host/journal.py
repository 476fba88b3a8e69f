# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a host: what was drained, and for which event.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import time

from .._azure import documents
from . import files

VERSION = 1
DEFAULT_PATH = "/var/lib/azure-maintenance/journal.json"
# One that is marked has no steps: nothing was drained, and the approval of its marks has begun.
STATES = ("draining", "drained", "restoring", "marked")
STATUSES = ("started", "done", "failed", "undone")
# What a change returns in place of data: there is to be no journal any more.
NO_MORE = {}


class JournalError(Exception):
    """The journal can't be used. The text is for the user."""


def utc_now():
    return documents.iso(time.time())


def _fresh(state, boot, now):
    data = {"version": VERSION, "state": state, "started_at": now, "drained_at": None, "steps": []}
    data.update(events=[], boot_id=boot)
    return data


def begun(data, events, run_id, boot, now):
    """The journal of a drain that begins, or goes on. What is there already is kept."""
    if data is None:
        data = _fresh("draining", boot, now)
    elif data["state"] == "marked":
        data.update(state="draining", started_at=now)
    known = {_event_key(event) for event in data["events"]}
    data["events"] += [event for event in events if _event_key(event) not in known]
    # What was undone is as if it had never been done: its next drain looks at the host anew.
    data["steps"] = [step for step in data["steps"] if has_to_be_undone(step)]
    if data["state"] == "restoring" or data["boot_id"] != boot:
        # Systemd has started again what we had stopped, or somebody has begun to undo it: who knows what else.
        for step in data["steps"]:
            step["status"] = "started" if step["status"] == "done" else step["status"]
        data.update(state="draining", drained_at=None)
    data.update(run_id=run_id, boot_id=boot)
    return data


def _event_key(event):
    return str(event.get("id", "")).lower()


def has_to_be_undone(step):
    """Whether it was begun, and nobody knows that nothing has come of it."""
    return step["status"] != "undone" and not step.get("changed_nothing")


def recorded(data, records, now):
    """The journal with these records of steps in it. The state that was found first stays."""
    for record in records:
        step = next((step for step in data["steps"] if step["number"] == record["number"]), None)
        if step and step["status"] == "undone" and record["status"] == "started":
            # A step of another list may have its number.
            data["steps"].remove(step)
            step = None
        # Where a failure is the first that is written down, the step has never begun.
        changed_nothing = record["status"] == "failed" and (step is None or record.get("changed_nothing"))
        if step is None:
            if record.get("kind") is None:
                raise JournalError("Step %s is not in the journal" % record["number"])
            step = {"number": record["number"], "kind": record["kind"], "before": None}
            step.update(arguments=record.get("arguments") or {}, event=record.get("event"))
            step.update(started_at=now, ended_at=None)
            data["steps"].append(step)
            data["steps"].sort(key=lambda one: one["number"])
        if step["before"] is None:
            step["before"] = record.get("before")
        step["status"] = record["status"]
        for key in ("error", "changed_nothing"):
            step.pop(key, None)
        if changed_nothing:
            step["changed_nothing"] = True
        if record["status"] == "started":
            step.update(started_at=now, ended_at=None)
            if data["state"] == "drained":
                data.update(state="draining", drained_at=None)
        else:
            step["ended_at"] = now
        if record["status"] == "failed":
            step["error"] = record.get("error") or ""
    return data


def marked(data, marks, about_to_send=False):
    """The journal of a host whose events are about to be approved: from here on they may start at any moment.

    A mark says with `again` that an earlier sending may have arrived: it was there before with another time, or this
    host itself was about to send. Such a one is not taken back. `sent_from_here` is for the audit file.
    """
    new = {mark["event"].lower() for mark in marks}
    kept = [mark for mark in data.get("marks", []) if mark["event"].lower() not in new]
    old = _marks_that_stay(data, marks)
    ours = {mark["event"].lower() for mark in data.get("marks", []) if mark.get("sent_from_here")}
    for mark in marks:
        event = mark["event"].lower()
        kept.append(dict(mark, again=about_to_send or event in old))
        if about_to_send or event in ours:
            kept[-1]["sent_from_here"] = True
    return dict(data, marks=kept)


def _marks_that_stay(data, marks):
    times = {mark["event"].lower(): mark["at"] for mark in marks}
    return {
        mark["event"].lower()
        for mark in data.get("marks", [])
        if mark.get("again") or mark.get("at") != times.get(mark["event"].lower())
    }


def that_can_be_taken_back(data, marks):
    """Those of the marks of which nothing was sent before, whether they are there already or not."""
    stay = _marks_that_stay(data, marks) if data else ()
    return [mark for mark in marks if mark["event"].lower() not in stay]


def marked_alone(run_id, boot, now):
    """The journal of a host of which nothing was drained, before its first mark."""
    return dict(_fresh("marked", boot, now), run_id=run_id)


def unmarked(data, marks):
    """The same without these marks; NO_MORE where nothing else was in it."""
    taken_back = {(mark["event"].lower(), mark["at"]) for mark in marks}
    kept = [mark for mark in data.get("marks", []) if (mark["event"].lower(), mark.get("at")) not in taken_back]
    return dict(data, marks=kept) if kept or data["state"] != "marked" else NO_MORE


def has_something_drained(data):
    return data["state"] == "drained" or any(step["status"] != "undone" for step in data["steps"])


def all_steps_are_done(data):
    return all(step["status"] in ("done", "undone") for step in data["steps"])


def all_drained(data, now):
    unfinished = [step for step in data["steps"] if step["status"] in ("started", "failed")]
    if unfinished:
        raise JournalError("Not drained: %s" % _named(unfinished))
    if data["state"] != "drained":
        data.update(state="drained", drained_at=now)
    return data


def all_undone(data, now):
    left = [step for step in data["steps"] if has_to_be_undone(step)]
    if left:
        raise JournalError("The journal can't be closed, not undone yet: %s" % _named(left))
    data.update(state="restored", restored_at=now)
    return data


def _named(steps):
    return ", ".join("step %s (%s) is %s" % (step["number"], step["kind"], step["status"]) for step in steps)


class JournalFile:
    """The file. Every change is read, changed and written under a lock, and is on the disk when it returns."""

    def __init__(self, path, predict_only=False, here=files.HERE):
        self.here = here
        self.file = here.kept_file(path, "journal", "drain_journal", JournalError)
        self.path = self.file.path
        self.predict_only = predict_only

    def read(self):
        """What it holds, or None where there is none."""
        text = self.file.read()
        return None if text is None else self._understood(text)

    def last(self):
        """What was in the last one that was closed, or None where that can't be told."""
        last = self.here.kept_file(self._last_path(), "journal", "drain_journal", JournalError)
        try:
            data = json.loads((last.read() or b"").decode("utf-8"))
        except (JournalError, ValueError):
            return None
        return data if isinstance(data, dict) and isinstance(data.get("steps"), list) else None

    def _last_path(self):
        return self.file.beside(".last.json")

    def change(self, function, run_id=None, then=None):
        """Put `function(what it holds)` in its place and return that. A result of None leaves all as it is.

        `then` is done with it before anybody else has his turn.
        """
        if self.predict_only:
            return function(self._of_run(self.read(), run_id)) or None
        self.file.make_folder()
        with self.file.locked():
            data = function(self._of_run(self.read(), run_id))
            if data is NO_MORE:
                self._remove()
            elif data is not None:
                self.file.write(data)
            if then:
                then(data)
        return data or None

    def close(self, run_id=None):
        """Keep the journal as the last one, and let it be none."""

        def closed(data):
            return None if data is None else all_undone(data, utc_now())

        if self.predict_only:
            return closed(self._of_run(self.read(), run_id))
        if not self.file.has_folder():
            return None
        with self.file.locked():
            data = closed(self._of_run(self.read(), run_id))
            if data is not None:
                self.file.write(data, self._last_path())
                self._remove()
        return data

    def _remove(self):
        self.file.remove()
        self.here.at_work(self.path).forget()

    def _of_run(self, data, run_id):
        owner = data and data.get("run_id")
        if run_id and owner and owner != run_id:
            raise JournalError(
                "The journal %s was taken over by another run (%s). This one (%s) does nothing more on this host"
                % (self.path, owner, run_id)
            )
        return data

    def _understood(self, text):
        complaint = (
            "The journal %s can't be understood (%s), so it is not known what was drained on this host. Look at it, put"
            " right by hand what it tells, and move it away; the last one that was closed is kept beside it"
        )
        if len(text) > files.LARGEST_FILE:
            raise JournalError(complaint % (self.path, "it is too large"))
        try:
            data = json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise JournalError(complaint % (self.path, error)) from None
        if not isinstance(data, dict) or data.get("version") != VERSION:
            version = data.get("version") if isinstance(data, dict) else None
            raise JournalError(complaint % (self.path, "its version is %r, not %d" % (version, VERSION)))
        if not _is_whole(data):
            raise JournalError(complaint % (self.path, "parts of it are missing"))
        return data


def _is_whole(data):
    steps = data.get("steps")
    return (
        data.get("state") in STATES
        and isinstance(data.get("events"), list)
        and all(isinstance(event, dict) for event in data["events"])
        and "boot_id" in data
        and isinstance(steps, list)
        and all(_is_whole_step(step) for step in steps)
        and isinstance(data.get("marks", []), list)
        and all(_is_whole_mark(mark) for mark in data.get("marks", []))
        # What a watcher has left for a run.
        and isinstance(data.get("left", []), list)
        and all(isinstance(text, str) for text in data.get("left", []))
    )


def _is_whole_mark(mark):
    at = mark.get("at") if isinstance(mark, dict) else None
    return isinstance(at, (int, float)) and not isinstance(at, bool) and isinstance(mark.get("event"), str)


def _is_whole_step(step):
    return (
        isinstance(step, dict)
        and isinstance(step.get("number"), int)
        and isinstance(step.get("kind"), str)
        and isinstance(step.get("arguments"), dict)
        and isinstance(step.get("before"), (dict, type(None)))
        and step.get("status") in STATUSES
    )
