# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files on the host: atomic writes, files shared between processes, and marks of work in progress.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import math
import os
import stat
import time

from . import clock as _clock

LARGEST_FILE = 16 * 1024 * 1024
SECONDS_FOR_THE_LOCK = 10


class KeptFile:
    """A private file. For its errors: `name`, `setting` (the variable with its path) and `error` (their class)."""

    def __init__(self, path, name, setting, error):
        self.path = os.path.abspath(path)
        self.folder = os.path.dirname(self.path)
        self.name = name
        self.setting = setting
        self.error = error

    def read(self):
        """Return the content, or None where there is no file."""
        try:
            # Non-blocking, so that a pipe can't stall the read.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return None
            if error.errno == errno.ELOOP:
                raise self.error(
                    "The %s %s is a symbolic link, which is not followed: remove it" % (self.name, self.path)
                ) from None
            raise self._failed("read", error) from None
        try:
            self._check_owner(os.fstat(descriptor))
        except self.error:
            os.close(descriptor)
            raise
        with os.fdopen(descriptor, "rb") as kept:
            return kept.read(LARGEST_FILE + 1)

    def write(self, data, path=None):
        """Write data as JSON, here or to another path in the same folder. It is on disk on return."""
        path = path or self.path
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
            raise self._failed("written", error) from None

    def remove(self):
        try:
            os.unlink(self.path)
            self._flush_folder()
        except OSError as error:
            raise self._failed("removed", error) from None

    def beside(self, ending):
        """Return the path of the file with the same name and another ending."""
        return os.path.splitext(self.path)[0] + ending

    def has_folder(self):
        return os.path.isdir(self.folder)

    def make_folder(self):
        try:
            if not os.path.isdir(self.folder):
                # Another process may create it at the same time.
                os.makedirs(self.folder, 0o700, exist_ok=True)
            status = os.stat(self.folder)
        except OSError as error:
            raise self._failed("written", error) from None
        if status.st_mode & 0o002 and not status.st_mode & stat.S_ISVTX:
            raise self.error("The folder of the %s, %s, can be written by everybody" % (self.name, self.folder))
        if status.st_uid not in (0, os.geteuid()):
            # Its owner could delete the journal of a drained host, whoever owns the file.
            raise self.error(
                "The folder of the %s, %s, belongs to user id %d. Set %s to a path in a folder that belongs to"
                " root or to the user that this task runs as (%d)"
                % (self.name, self.folder, status.st_uid, self.setting, os.geteuid())
            )

    @contextlib.contextmanager
    def locked(self):
        # A lock on the folder leaves no file behind.
        try:
            descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._failed("written", error) from None
        try:
            patience_ends = time.monotonic() + SECONDS_FOR_THE_LOCK
            while not self._lock(descriptor):
                if time.monotonic() > patience_ends:
                    raise self.error("The %s %s is locked by another process" % (self.name, self.path))
                time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)

    def _lock(self, descriptor):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise self.error("The folder of the %s can't be locked: %s" % (self.name, error.strerror)) from None
        return True

    def _check_owner(self, status):
        if not stat.S_ISREG(status.st_mode):
            raise self.error("The %s %s is not a file: remove it, or set another path" % (self.name, self.path))
        if status.st_uid != os.geteuid():
            raise self.error(
                "The %s %s belongs to user id %d, not to the user that this task runs as (%d)."
                " Use the same become user as before" % (self.name, self.path, status.st_uid, os.geteuid())
            )
        if status.st_mode & 0o022:
            raise self.error("The %s %s can be written by others, so it is not trusted" % (self.name, self.path))

    def _flush_folder(self):
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _failed(self, verb, error):
        permission = "Use become, or set %s to a path that this user may write" % self.setting
        advice = {
            errno.ENOSPC: "Make room on that disk",
            errno.EDQUOT: "Make room on that disk",
            errno.EROFS: "Set %s to a path that can be written" % self.setting,
            errno.EACCES: permission,
            errno.EPERM: permission,
        }.get(error.errno, "Look at the path, or set %s to another one" % self.setting)
        return self.error(
            "The %s %s could not be %s: %s. %s, and run again" % (self.name, self.path, verb, error.strerror, advice)
        )


class SharedFile:
    """A world-readable file without secrets. Not synced to disk, as it is soon rewritten after a crash."""

    def __init__(self, path):
        self.path = path

    def write(self, text):
        """Replace the content, or raise OSError."""
        fresh = "%s.%d" % (self.path, os.getpid())
        # Root writes here as well, in another user's folder, so it must not write to an existing file.
        _remove(fresh)
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                os.fchmod(descriptor, 0o644)
                # A lone surrogate in a name from Azure must not block the rest.
                data = text.encode("utf-8", "backslashreplace")
                while data:
                    data = data[os.write(descriptor, data) :]
            finally:
                os.close(descriptor)
            os.rename(fresh, self.path)
        except BaseException:
            _remove(fresh)
            raise

    def remove(self):
        _remove(self.path)


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        return


# The mark of work in progress is one line, "RUN BOOT UNTIL", so that a shell can renew it. RUN is a digest, as a name
# may contain anything. A mark that is damaged or from before a reboot is ignored, so that it locks nobody out.

# The validity of a mark that is not renewed.
SECONDS_AHEAD = 30
ENDING = ".at_work"
NO_BOOT_ID = "-"
LARGEST_MARK = 1000


def digest_of(run_id):
    return hashlib.sha256(str(run_id).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def expanded(path):
    """Expand `~` and environment variables in a path of this host."""
    return os.path.expanduser(os.path.expandvars(path))


class AtWork:
    def __init__(self, journal_path, clock=_clock):
        self.path = os.path.abspath(journal_path) + ENDING
        self.clock = clock

    def left(self, run_id):
        """Return the seconds for which this run's mark is still valid."""
        run, boot, until = self._read()
        if not run_id or run != digest_of(run_id) or boot != self._boot():
            return 0.0
        left = until - self.clock.seconds()
        return round(left, 2) if left > 0 else 0.0

    def say(self, run_id, seconds=None):
        """Mark this run as at work here. Return True if the mark could be written."""
        ahead = SECONDS_AHEAD if seconds is None else seconds
        return self._put("%s %s %.2f\n" % (digest_of(run_id), self._boot(), self.clock.seconds() + ahead))

    def _put(self, line):
        fresh = "%s.%d" % (self.path, os.getpid())
        # Not synced to disk, as a mark is void after a crash.
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(fresh, flags, 0o600), "w") as fresh_file:
                fresh_file.write(line)
            os.rename(fresh, self.path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(fresh)
            return False
        return True

    def renew(self, run_id):
        """Renew the mark if it is this run's, and return whether it is."""
        is_ours = self._read()[0] == digest_of(run_id)
        if is_ours:
            self.say(run_id)
        return is_ours

    def forget(self):
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    def _boot(self):
        return self.clock.boot_id() or NO_BOOT_ID

    def _content(self):
        with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as kept:
            return kept.read(LARGEST_MARK)

    def _read(self):
        try:
            run, boot, until = self._content().decode("ascii").split()
            until = float(until)
            return (run, boot, until) if math.isfinite(until) else ("", "", 0.0)
        except (OSError, ValueError):
            return "", "", 0.0


# Windows hosts are managed from the controller, by a WindowsMachine with the same methods.


class ThisMachine:
    clock = _clock
    # This code can perform steps and health checks itself.
    can_act = True
    expanded = staticmethod(expanded)
    kept_file = KeptFile

    def __init__(self):
        # Further arguments for requests to the service, such as another transport.
        self.service = {}

    def at_work(self, journal_path):
        return AtWork(journal_path, self.clock)


HERE = ThisMachine()
