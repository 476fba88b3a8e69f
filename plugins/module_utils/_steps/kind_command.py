# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind command.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import os

from . import machine
from .kind import A_COMMAND, A_TIMEOUT, Kind


class Command(Kind):
    name = "command"
    options = dict(drain=A_COMMAND, restore=A_COMMAND, creates=dict(type="str"), timeout=A_TIMEOUT)
    some_of = known_by = commands = ("drain", "restore")
    undone_by = ("restore",)
    on_windows = "command"

    @classmethod
    def looks_on_windows(cls, arguments):
        return "creates" in arguments

    @classmethod
    def look(cls, host, arguments):
        creates = arguments.get("creates")
        return {"already_done": bool(creates) and os.path.exists(creates)}

    @classmethod
    def drain(cls, host, arguments, before):
        cls.run(host, arguments.get("drain"), before)

    @classmethod
    def restore(cls, host, arguments, before):
        cls.run(host, arguments.get(cls.undone_by[0]), before)

    @classmethod
    def run(cls, host, command, before):
        if command and not before.get("already_done"):
            try:
                host.change("ran %s" % machine.words_of(command)[0], host.must_run, command)
            except machine.NotRun:
                host.done.pop()
                raise
