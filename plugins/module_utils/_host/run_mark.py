# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark of a run for the watcher of a host.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import os
import time

from . import files

STATUS_FILE = "/run/azure-maintenance/status.json"
# The maximum validity of a mark, whatever it contains.
SECONDS_OF_A_MARK = 90
# Reflexes notify their watcher by this file beside its status, so it shows that there are some.
TOLD_BY_REFLEXES = "reflexes.json"


def path_beside(status_file):
    return os.path.join(os.path.dirname(status_file), "run.json")


def leave(path, run_id, now=None):
    """Write the mark into the folder of a watcher. Return False if that fails, such as without a watcher."""
    until = (time.time() if now is None else now) + SECONDS_OF_A_MARK
    try:
        files.SharedFile(path).write(json.dumps({"run_id": run_id, "until": until}) + "\n")
    except OSError:
        return False
    return True


def left_by_a_run(path, run_id):
    """Write the mark and return {reflexes, left}."""
    folder = os.path.dirname(path)
    return {"reflexes": os.path.exists(os.path.join(folder, TOLD_BY_REFLEXES)), "left": leave(path, run_id)}


_WATCHER_OF = "watcher of "


def owner_name(host):
    return _WATCHER_OF + host


def is_watcher(owner):
    return str(owner or "").startswith(_WATCHER_OF)
