# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind failover by a command.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from . import machine
from .kind import A_COMMAND, A_TIMEOUT
from .kind_command import Command


class Failover(Command):
    """A command that hands the host's part over to another, and perhaps one that takes it back."""

    name = "failover"
    options = dict(command=A_COMMAND, restore_command=A_COMMAND, check=A_COMMAND, timeout=A_TIMEOUT)
    some_of = ()
    known_by = ("command",)
    undone_by = ("restore_command",)
    commands = ("command", "restore_command", "check")
    on_windows = "failover"

    @classmethod
    def looks_on_windows(cls, arguments):
        return "check" in arguments

    @classmethod
    def look(cls, host, arguments):
        check = arguments.get("check")
        return {"already_done": bool(check) and host.run(check)[0] == 0}

    @classmethod
    def drain(cls, host, arguments, before):
        cls.run(host, arguments["command"], before)
        check = arguments.get("check")
        if not check or host.check_mode:
            return
        if not host.wait_until(lambda: host.run(check)[0] == 0, interval=1):
            raise machine.StepError(
                "%s ran, but %s did not say within %s that the part was handed over"
                % (
                    machine.words_of(arguments["command"])[0],
                    machine.words_of(check)[0],
                    machine.in_seconds(host.timeout),
                )
            )
