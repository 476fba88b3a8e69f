# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small file that others read while it is replaced: they see the old one or the new one, whole.

This file runs on the managed host: standard library only, Python 3.6 or newer. A watcher keeps it in memory for months:
it imports nothing large.
"""

import os


class SharedFile:
    """World-readable, without secrets. The disk is not waited for, as what a crash loses is soon written anew."""

    def __init__(self, path):
        self.path = path

    def write(self, text):
        """Raises OSError."""
        fresh = "%s.%d" % (self.path, os.getpid())
        # Root writes here as well, and the folder is another user's: what stands there already is not written to.
        _remove(fresh)
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                os.fchmod(descriptor, 0o644)
                # Half of a pair in a name of Azure's is no reason to keep back the rest.
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
