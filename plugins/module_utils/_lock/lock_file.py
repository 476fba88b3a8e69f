# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock in a file of the managed host, with an owner and an end.

This file runs on the managed host: standard library only, Python 3.6 or newer. When a lock ends is decided by this
host's clock alone, so the clocks of the controllers do not matter.
"""

import calendar
import contextlib
import errno
import fcntl
import io
import json
import math
import os
import tempfile
import time

# Who an owner is. Two runs that were given the same run_id are still two.
IDENTITY = ("run_id", "controller", "host", "pid", "process_start")
SECONDS_FOR_THE_GUARD = 10
SECONDS_BETWEEN_LOOKS = 0.005

_TEXTS = ("run_id", "controller", "host", "process_start", "user", "note", "taken_at", "expires_at")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class LockFileError(Exception):
    """The file does not tell who holds the lock, or can't be written."""


def carried_out(request, check_mode):
    """The result of the module lock_file for its options."""
    path = os.path.expanduser(os.path.expandvars(request["path"]))
    try:
        if request["state"] == "absent":
            return give_back(path, request["me"], dry=check_mode)
        return take(path, request["me"], request["expires"], request.get("replace"), dry=check_mode)
    except LockFileError as error:
        return dict(failed=True, changed=False, msg=str(error))


def take(path, me, expires, replace=None, now=None, dry=False):
    """Take the lock for `expires` seconds, or renew it if it is ours.

    `replace` is the record of an owner who is known to be dead: if it is still there, it does not count.
    """
    with _guard(path, dry):
        now = time.time() if now is None else now
        found = read(path)
        ours = found is not None and _same(found, me)
        if found and not ours and found != replace and seconds_left(found, now) > 0:
            return dict(held=False, changed=False, renewed=False, holder=_told(found, now), took_over_from=None)
        record = dict(me, taken_at=found["taken_at"] if ours else _text_of(now), expires_at=_text_of(now + expires))
        if not dry:
            _write(path, record)
        before = None
        if found and not ours:
            before = dict(found, reason="dead" if found == replace else "expired")
        return dict(held=True, changed=not ours, renewed=ours, holder=_told(record, now), took_over_from=before)


def give_back(path, me, now=None, dry=False):
    """Remove the lock if it is ours. Whose it is otherwise is told, and is no error."""
    with _guard(path, dry):
        now = time.time() if now is None else now
        found = read(path)
        ours = found is not None and _same(found, me)
        if ours and not dry:
            os.unlink(path)
        holder = None if found is None or ours else _told(found, now)
        return dict(held=False, changed=ours, renewed=False, holder=holder, took_over_from=None)


def read(path):
    """The record in the file, or None where there is no file. Anything else in it is never taken for a free lock."""
    try:
        with io.open(path, encoding="utf-8") as lock_file:
            record = json.load(lock_file)
        if not isinstance(record, dict) or not isinstance(record["pid"], int):
            raise ValueError("not a record of an owner")
        if not all(isinstance(record[name], str) for name in _TEXTS):
            raise ValueError("not a record of an owner")
        _seconds_of(record["taken_at"])
        _seconds_of(record["expires_at"])
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        raise _refused(path, "read", error) from None
    except (KeyError, ValueError):
        raise LockFileError(
            "The lock file %s does not tell who holds the lock. Make sure that no run is at work, then remove it" % path
        ) from None
    return record


def seconds_left(record, now):
    return _seconds_of(record["expires_at"]) - now


def _same(record, me):
    return all(record[name] == me[name] for name in IDENTITY)


def _told(record, now):
    return dict(record, seconds_left=max(0, math.ceil(seconds_left(record, now))))


def _text_of(seconds):
    # Rounded up: a lock never ends before its time.
    return time.strftime(_TIME, time.gmtime(math.ceil(seconds)))


def _seconds_of(text):
    return calendar.timegm(time.strptime(text, _TIME))


@contextlib.contextmanager
def _guard(path, dry):
    """Have the file for ourselves. The guard is the kernel's: a process that dies gives it back.

    It is a file of its own, as the lock file is replaced as a whole each time it is written.
    """
    if dry:
        yield
        return
    try:
        folder = os.path.dirname(path)
        if not os.path.exists(folder):
            os.makedirs(folder, 0o755, exist_ok=True)
        descriptor = os.open(path + ".guard", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _refused(path, "written", error) from None
    try:
        _wait_for(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor, path):
    deadline = time.time() + SECONDS_FOR_THE_GUARD
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise LockFileError("The file %s.guard can't be locked: %s" % (path, error.strerror)) from None
        if time.time() >= deadline:
            raise LockFileError("Another process has kept %s.guard for %d seconds" % (path, SECONDS_FOR_THE_GUARD))
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _write(path, record):
    folder, name = os.path.split(path)
    try:
        # Made by mkstemp with mode 0600.
        descriptor, fresh = tempfile.mkstemp(prefix="." + name + ".", dir=folder)
        try:
            with io.open(descriptor, "w", encoding="utf-8") as lock_file:
                lock_file.write(json.dumps(record, sort_keys=True) + "\n")
                lock_file.flush()
                os.fsync(descriptor)
            os.rename(fresh, path)
        except BaseException:
            os.unlink(fresh)
            raise
    except OSError as error:
        raise _refused(path, "written", error) from None


def _refused(path, verb, error):
    permission = error.errno in (errno.EACCES, errno.EPERM)
    advice = ". Use become, or set maintenance_lock_path to a path that this user may write" if permission else ""
    return LockFileError("The lock file %s can't be %s: %s%s" % (path, verb, error.strerror, advice))
