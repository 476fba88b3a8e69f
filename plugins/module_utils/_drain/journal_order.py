# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module drain_journal does: read the journal, or write into it.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import os

from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import (
    Journal,
    JournalError,
    all_drained,
    begun,
    boot_id,
    marked,
    recorded,
    utc_now,
)


def carried_out(request, check_mode):
    """The result of the module for its options."""
    journal = Journal(os.path.expanduser(os.path.expandvars(request["path"])), predict_only=check_mode)
    state = request["state"]
    try:
        before = journal.read()
        after = _written(journal, request, before)
    except JournalError as error:
        return {"failed": True, "changed": False, "msg": str(error)}
    is_open = after is not None and state != "close"
    changed = after != before if is_open else before is not None and state == "close"
    return {"changed": changed, "journal": after if is_open else None, "boot_id": boot_id(), "now": utc_now()}


def _written(journal, request, before):
    state, run_id, now = request["state"], request.get("run_id") or "", utc_now()
    if state == "read" or (before is None and state in ("mark", "restore", "close")):
        return before
    if state == "close":
        return journal.close(run_id)
    if state == "begin":
        return journal.change(lambda data: begun(data, request.get("events") or [], run_id, boot_id(), now))
    if state == "mark":
        return journal.change(lambda data: data and marked(data, request.get("marks") or []), run_id)
    if state == "restore":
        return journal.change(lambda data: data and dict(data, state="restoring", run_id=run_id))

    def told(data):
        if data is None:
            raise JournalError("There is no journal %s that steps could be written to" % journal.path)
        data = recorded(data, request.get("steps") or [], now)
        return all_drained(data, now) if state == "drained" else data

    return journal.change(told, run_id)
