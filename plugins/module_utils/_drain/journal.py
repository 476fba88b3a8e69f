# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a drain: what was done to this host, on this host, so that any later run can go on or undo it.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import datetime
import errno
import fcntl
import json
import os
import stat
import time

VERSION = 1
DEFAULT_PATH = "/var/lib/azure-maintenance/journal.json"
BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
STATES = ("draining", "drained", "restoring")
STATUSES = ("started", "done", "failed", "undone")
LARGEST_JOURNAL = 16 * 1024 * 1024
SECONDS_FOR_THE_LOCK = 10


class JournalError(Exception):
    """The journal can't be used. The text is for the user."""


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def boot_id():
    """What Linux calls this boot, or None where there is no such thing."""
    try:
        with open(BOOT_ID_FILE) as boot_id_file:
            return boot_id_file.read().strip() or None
    except OSError:
        return None


def begun(data, events, run_id, boot, now):
    """The journal of a drain that begins, or goes on. What is there already is kept."""
    if data is None:
        data = {"version": VERSION, "state": "draining", "started_at": now, "drained_at": None, "steps": []}
        data.update(events=[], boot_id=boot)
    known = {_event_key(event) for event in data["events"]}
    data["events"] += [event for event in events if _event_key(event) not in known]
    # What was undone is as if it had never been done: its next drain looks at the host anew.
    data["steps"] = [step for step in data["steps"] if step["status"] != "undone"]
    if data["boot_id"] != boot:
        # Systemd has started again what we had stopped; who knows what else.
        for step in data["steps"]:
            step["status"] = "started" if step["status"] == "done" else step["status"]
    if data["state"] == "restoring" or data["boot_id"] != boot:
        data.update(state="draining", drained_at=None)
    data.update(run_id=run_id, boot_id=boot)
    return data


def _event_key(event):
    return str(event.get("id", "")).lower()


def recorded(data, records, now):
    """The journal with these records of steps in it. The state that was found first stays."""
    for record in records:
        step = next((step for step in data["steps"] if step["number"] == record["number"]), None)
        if step is None:
            if record.get("kind") is None:
                raise JournalError("Step %s is not in the journal" % record["number"])
            step = {"number": record["number"], "kind": record["kind"], "before": None}
            step.update(arguments=record.get("arguments") or {}, started_at=now, ended_at=None)
            data["steps"].append(step)
            data["steps"].sort(key=lambda one: one["number"])
        if step["before"] is None:
            step["before"] = record.get("before")
        step["status"] = record["status"]
        step.pop("error", None)
        if record["status"] == "started":
            step.update(started_at=now, ended_at=None)
            if data["state"] == "drained":
                data.update(state="draining", drained_at=None)
        else:
            step["ended_at"] = now
        if record["status"] == "failed":
            step["error"] = record.get("error") or ""
    return data


def all_drained(data, now):
    unfinished = [step for step in data["steps"] if step["status"] in ("started", "failed")]
    if unfinished:
        raise JournalError("Not drained: %s" % _named(unfinished))
    if data["state"] != "drained":
        data.update(state="drained", drained_at=now)
    return data


def all_undone(data, now):
    left = [step for step in data["steps"] if step["status"] != "undone"]
    if left:
        raise JournalError("The journal can't be closed, not undone yet: %s" % _named(left))
    data.update(state="restored", restored_at=now)
    return data


def _named(steps):
    return ", ".join("step %s (%s) is %s" % (step["number"], step["kind"], step["status"]) for step in steps)


class Journal:
    """The file. Every change is read, changed and written under a lock, and is on the disk when it returns."""

    def __init__(self, path, predict_only=False):
        self.path = os.path.abspath(path)
        self.folder = os.path.dirname(self.path)
        self.predict_only = predict_only

    def read(self):
        """What it holds, or None where there is none."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return None
            if error.errno == errno.ELOOP:
                raise JournalError(
                    "The journal %s is a symbolic link, which is not followed: remove it" % self.path
                ) from None
            raise JournalError(self._complaint("read", error)) from None
        with os.fdopen(descriptor, "rb") as journal_file:
            self._check_owner(os.fstat(descriptor))
            text = journal_file.read(LARGEST_JOURNAL + 1)
        return self._understood(text)

    def change(self, function, run_id=None):
        """Put `function(what it holds)` in its place and return that. A result of None leaves all as it is."""
        if self.predict_only:
            return function(self._of_run(self.read(), run_id))
        self._make_folder()
        with self._locked():
            data = function(self._of_run(self.read(), run_id))
            if data is not None:
                self._write(self.path, data)
        return data

    def close(self, run_id=None):
        """Keep the journal as the last one, and let it be none."""

        def closed(data):
            return None if data is None else all_undone(data, utc_now())

        if self.predict_only:
            return closed(self._of_run(self.read(), run_id))
        if not os.path.isdir(self.folder):
            return None
        with self._locked():
            data = closed(self._of_run(self.read(), run_id))
            if data is not None:
                self._write(os.path.splitext(self.path)[0] + ".last.json", data)
                try:
                    os.unlink(self.path)
                    self._flush_folder()
                except OSError as error:
                    raise JournalError(self._complaint("removed", error)) from None
        return data

    def _of_run(self, data, run_id):
        owner = data and data.get("run_id")
        if run_id and owner and owner != run_id:
            raise JournalError(
                "The journal %s was taken over by another run (%s). This one (%s) does nothing more on this host"
                % (self.path, owner, run_id)
            )
        return data

    def _check_owner(self, status):
        if not stat.S_ISREG(status.st_mode):
            raise JournalError("The journal %s is not a file: remove it, or set another path" % self.path)
        if status.st_uid != os.geteuid():
            raise JournalError(
                "The journal %s belongs to user id %d, not to the user that this task runs as (%d)."
                " Use the same become user as before" % (self.path, status.st_uid, os.geteuid())
            )
        if status.st_mode & 0o022:
            raise JournalError("The journal %s can be written by others, so it is not believed" % self.path)

    def _understood(self, text):
        complaint = (
            "The journal %s can't be understood (%s), so it is not known what was drained on this host. Look at it, put"
            " right by hand what it tells, and move it away; the last one that was closed is kept beside it"
        )
        if len(text) > LARGEST_JOURNAL:
            raise JournalError(complaint % (self.path, "it is too large"))
        try:
            data = json.loads(text.decode("utf-8"))
        except ValueError as error:
            raise JournalError(complaint % (self.path, error)) from None
        if not isinstance(data, dict) or data.get("version") != VERSION:
            version = data.get("version") if isinstance(data, dict) else None
            raise JournalError(complaint % (self.path, "its version is %r, not %d" % (version, VERSION)))
        if not _is_whole(data):
            raise JournalError(complaint % (self.path, "parts of it are missing"))
        return data

    def _make_folder(self):
        try:
            if not os.path.isdir(self.folder):
                os.makedirs(self.folder, 0o700)
            status = os.stat(self.folder)
        except OSError as error:
            raise JournalError(self._complaint("written", error)) from None
        if status.st_mode & 0o002 and not status.st_mode & stat.S_ISVTX:
            raise JournalError("The folder of the journal, %s, can be written by everybody" % self.folder)

    @contextlib.contextmanager
    def _locked(self):
        # A lock on the folder leaves no file behind.
        try:
            descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise JournalError(self._complaint("written", error)) from None
        try:
            patience_ends = time.monotonic() + SECONDS_FOR_THE_LOCK
            while not _lock(descriptor):
                if time.monotonic() > patience_ends:
                    raise JournalError("The journal %s is locked by another process" % self.path)
                time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)

    def _write(self, path, data):
        temporary = os.path.join(self.folder, ".%s.new" % os.path.basename(path))
        text = json.dumps(data, indent=1, sort_keys=True).encode("utf-8") + b"\n"
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, 0o600), "wb") as new_file:
                new_file.write(text)
                new_file.flush()
                os.fsync(new_file.fileno())
            os.rename(temporary, path)
            self._flush_folder()
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise JournalError(self._complaint("written", error)) from None

    def _flush_folder(self):
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _complaint(self, verb, error):
        advice = {
            errno.ENOSPC: "Make room on that disk",
            errno.EDQUOT: "Make room on that disk",
            errno.EROFS: "Set drain_journal to a path that can be written",
            errno.EACCES: "Use become, or set drain_journal to a path that this user may write",
            errno.EPERM: "Use become, or set drain_journal to a path that this user may write",
        }.get(error.errno, "Look at the path, or set drain_journal to another one")
        return "The journal %s could not be %s: %s. %s, and run again" % (self.path, verb, error.strerror, advice)


def _lock(descriptor):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise JournalError("The folder of the journal can't be locked: %s" % error.strerror) from None
    return True


def _is_whole(data):
    steps = data.get("steps")
    return (
        data.get("state") in STATES
        and isinstance(data.get("events"), list)
        and all(isinstance(event, dict) for event in data["events"])
        and "boot_id" in data
        and isinstance(steps, list)
        and all(_is_whole_step(step) for step in steps)
    )


def _is_whole_step(step):
    return (
        isinstance(step, dict)
        and isinstance(step.get("number"), int)
        and isinstance(step.get("kind"), str)
        and isinstance(step.get("arguments"), dict)
        and isinstance(step.get("before"), (dict, type(None)))
        and step.get("status") in STATUSES
    )
