# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind checkpoint.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from .kind import A_COMMAND, A_TIMEOUT
from .kind_command import Command


class Checkpoint(Command):
    """A command that saves what would be lost, and perhaps one that loads it again."""

    name = "checkpoint"
    options = dict(
        command=dict(A_COMMAND, required=True), restore=A_COMMAND, creates=dict(type="str"), timeout=A_TIMEOUT
    )
    some_of = ()
    known_by = ("command",)
    commands = ("command", "restore")

    @classmethod
    def drain(cls, host, arguments, before):
        cls.run(host, arguments["command"], before)
