# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host command that reads and writes the journal.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from . import files
from . import ownership as _ownership
from .journal import (
    NO_MORE,
    JournalError,
    JournalFile,
    all_drained,
    begun,
    has_something_drained,
    marked,
    marked_alone,
    recorded,
    that_can_be_taken_back,
    unmarked,
    utc_now,
)
from .ownership import DRAINED, OwnedJournal, Refused

# These decide by what the run has read, which must not be old. The others only need the journal to be as it was.
OF_A_FRESH_READING = ("begin", "mark")


def carried_out(request, check_mode, here=files.HERE):
    """The result of the module for its options."""
    journal = JournalFile(here.expanded(request["path"]), predict_only=check_mode, here=here)
    clock = here.clock.told()
    journal = OwnedJournal(journal, request.get("run_id") or "", request.get("fence"))
    state = request["state"]
    try:
        before = journal.read()
        after = _written(journal, request, before)
    except JournalError as error:
        return failure_of(error)
    after = None if state == "close" else after
    result = {"changed": after != before, "journal": journal.with_who_is_at_work(after), "clock": clock}
    result.update(boot_id=clock["boot_id"], now=utc_now())
    return result


def failure_of(error):
    """A result of a module for a journal that can't be used, or a host that refuses."""
    failure = {"failed": True, "changed": False, "msg": str(error)}
    if isinstance(error, Refused):
        failure["refused"] = error.word
    return failure


def _written(journal, request, before):
    state, now = request["state"], utc_now()
    if state == "read":
        return before
    if before is None and not (state in ("begin", "step", "drained") or (state == "mark" and journal.fence)):
        journal.check_that_there_is_none()
        return None
    if state == "close":
        return journal.close()
    if journal.asks_for_events() and state in OF_A_FRESH_READING:
        _ownership.check_that_events_are_shown(journal.fence, **journal.journal.here.service)

    def change(data):
        return _changed(data, state, request, journal, now)

    if state in ("begin", "restore", "take_over", "forget") or (state == "mark" and journal.fence):
        return journal.take(change, may_be_old=state not in OF_A_FRESH_READING)
    if state == "unmark":
        journal.change_if_ours(change)
        return journal.read()
    return journal.change(change)


def _changed(data, state, request, journal, now):
    """What the journal holds after that; None leaves it as it is."""
    run_id, boot = journal.run_id, journal.journal.here.clock.boot_id()
    if state == "begin":
        return begun(data, request.get("events") or [], run_id, boot, now)
    if state == "mark":
        if data is None and journal.fence:
            data = marked_alone(run_id, boot, now)
        return data and marked(data, request.get("marks") or [])
    if state in ("step", "drained"):
        if data is None:
            raise JournalError("There is no journal %s that steps could be written to" % journal.path)
        data = recorded(data, request.get("steps") or [], now)
        return all_drained(data, now) if state == "drained" else data
    if data is None:
        return None
    if state == "restore":
        return dict(data, state="restoring", run_id=run_id)
    if state == "take_over":
        return dict(data, run_id=run_id)
    if state == "unmark":
        return unmarked(data, that_can_be_taken_back(data, request.get("marks") or []))
    if has_something_drained(data):
        raise Refused(DRAINED, "Something is drained on this host, so its journal %s is not removed" % journal.path)
    return NO_MORE
