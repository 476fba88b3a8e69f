# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that the watcher starts and does not wait for.

This file runs on the managed host: standard library only, Python 3.6 or newer. A watcher keeps it in memory for months:
it imports nothing large.
"""

import os
import signal


class Child:
    """A process of our own. By hand, as the module subprocess is as large as the rest of the watcher."""

    def __init__(self, command):
        self.pid = os.fork()
        if self.pid == 0:
            _become(command)

    def exit_code(self):
        """None while it runs."""
        try:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
        except OSError:
            return 127
        if not ended:
            return None
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128

    def kill(self):
        """Only one whose end was not yet seen: until then nobody else has its number."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except OSError:
            return


def _become(command):
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.execv(command[0], command)  # noqa: S606 - there is nothing that a shell could do
    finally:
        os._exit(127)
