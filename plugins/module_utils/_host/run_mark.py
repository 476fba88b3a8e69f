# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark by which a watcher knows that a run is there.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import os
import time

from . import files

STATUS_FILE = "/run/azure-maintenance/status.json"
# As far ahead as the mark of a run counts, whatever it says.
SECONDS_OF_A_MARK = 90
# Reflexes that there are have told their watcher something by this name, beside its status.
TOLD_BY_REFLEXES = "reflexes.json"


def path_beside(status_file):
    return os.path.join(os.path.dirname(status_file), "run.json")


def leave(path, run_id, now=None):
    """Where the folder is, which a watcher has made. Returns whether it could be left."""
    until = (time.time() if now is None else now) + SECONDS_OF_A_MARK
    try:
        files.SharedFile(path).write(json.dumps({"run_id": run_id, "until": until}) + "\n")
    except OSError:
        return False
    return True


def left_by_a_run(path, run_id):
    """Leave it, and tell how that went: {reflexes, left}."""
    folder = os.path.dirname(path)
    return {"reflexes": os.path.exists(os.path.join(folder, TOLD_BY_REFLEXES)), "left": leave(path, run_id)}


_WATCHER_OF = "watcher of "


def owner_name(host):
    return _WATCHER_OF + host


def is_watcher(owner):
    return str(owner or "").startswith(_WATCHER_OF)
