# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock beside the journal, for as long as one step is done: whoever takes the journal over waits for its end.

It goes with the process that has it, and it leaves no file behind.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import errno
import fcntl
import os
import time

from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalError

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
