# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of the user that run when events start and finish."""

import os
import subprocess
import sys
import threading


def hook_runner(commands):
    """A function that runs the user's command for a change of an event, without waiting for it."""

    def run(event, change):
        command = commands.get(change)
        if command:
            about = dict(
                os.environ,
                SIM_EVENT_ID=event.id,
                SIM_EVENT_TYPE=event.type,
                SIM_EVENT_CHANGE=change,
                SIM_RESOURCES=",".join(event.resources),
                SIM_GROUP=event.scope.name,
                SIM_DURATION=str(event.duration),
                SIM_IMPACT=event.impact.kind,
                SIM_IMPACT_SECONDS="" if event.impact.seconds is None else str(event.impact.seconds),
            )
            settings = {"shell": True, "env": about, "stdin": subprocess.DEVNULL, "stdout": sys.stderr.fileno()}
            threading.Thread(target=subprocess.call, args=(command,), kwargs=settings, daemon=True).start()

    return run
