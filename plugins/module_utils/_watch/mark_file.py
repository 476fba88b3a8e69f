# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leave the mark of a run on a host with a watcher: who reads it is run_mark.py.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import os
import time

from ansible_collections.maintenance.azure.plugins.module_utils._watch.mark_terms import (
    SECONDS_OF_A_MARK,
    TOLD_BY_REFLEXES,
)
from ansible_collections.maintenance.azure.plugins.module_utils._watch.shared_file import SharedFile


def path_beside(status_file):
    return os.path.join(os.path.dirname(status_file), "run.json")


def leave(path, run_id, now=None):
    """Where the folder is, which a watcher has made. Returns whether it could be left."""
    until = (time.time() if now is None else now) + SECONDS_OF_A_MARK
    try:
        SharedFile(path).write(json.dumps({"run_id": run_id, "until": until}) + "\n")
    except OSError:
        return False
    return True


def left_by_a_run(path, run_id):
    """Leave it, and tell how that went: {reflexes, left}."""
    folder = os.path.dirname(path)
    return {"reflexes": os.path.exists(os.path.join(folder, TOLD_BY_REFLEXES)), "left": leave(path, run_id)}
