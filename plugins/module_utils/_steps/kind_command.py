# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kinds command, checkpoint and failover.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import os

from .machine import NotRun, StepError, in_seconds, words_of


def look(host, arguments):
    creates = arguments.get("creates")
    return {"already_done": bool(creates) and os.path.exists(creates)}


def drain(host, arguments, before):
    _run_half(host, arguments.get("drain"), before)


def restore(host, arguments, before):
    _run_half(host, arguments.get("restore"), before)


def _run_half(host, command, before):
    if command and not before.get("already_done"):
        try:
            host.change("ran %s" % words_of(command)[0], host.must_run, command)
        except NotRun:
            host.done.pop()
            raise


class Checkpoint:
    """A command that saves what would be lost, and perhaps one that takes it up again."""

    look = staticmethod(look)

    @staticmethod
    def drain(host, arguments, before):
        _run_half(host, arguments["command"], before)

    restore = staticmethod(restore)


class Failover:
    """A command that hands the host's part over to another, and perhaps one that takes it back."""

    @staticmethod
    def look(host, arguments):
        check = arguments.get("check")
        return {"already_done": bool(check) and host.run(check)[0] == 0}

    @staticmethod
    def drain(host, arguments, before):
        _run_half(host, arguments["command"], before)
        check = arguments.get("check")
        if not check or host.check_mode:
            return
        if not host.wait_until(lambda: host.run(check)[0] == 0, interval=1):
            raise StepError(
                "%s ran, but %s did not say within %s that the part was handed over"
                % (words_of(arguments["command"])[0], words_of(check)[0], in_seconds(host.timeout))
            )

    @staticmethod
    def restore(host, arguments, before):
        _run_half(host, arguments.get("restore_command"), before)
