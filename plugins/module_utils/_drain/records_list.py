# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module _records does: tell all records of deeds that this machine keeps, for whomever they were done.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import os

from ansible_collections.maintenance.azure.plugins.module_utils._drain.records import types_of, understood
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import LARGEST_FILE

TOLD = ("host", "vm", "events", "run_id", "at")


def carried_out(request, check_mode):
    """The result of the module for its options; check mode makes no difference, as nothing is changed."""
    folder = os.path.expanduser(os.path.expandvars(request["folder"]))
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except FileNotFoundError:
        names = []
    except OSError as error:
        message = "The folder with the records, %s, can't be read: %s" % (folder, error.strerror)
        return {"failed": True, "changed": False, "msg": message}
    records, unreadable = [], []
    for name in names:
        path = os.path.join(folder, name)
        kept = _kept(path)
        if kept is None:
            unreadable.append(path)
        else:
            records.append(dict({key: kept[key] for key in TOLD}, types=types_of(kept), path=path))
    return {"changed": False, "records": records, "unreadable": unreadable}


def _kept(path):
    try:
        with open(path, "rb") as record_file:
            return understood(record_file.read(LARGEST_FILE))
    except OSError:
        return None
