# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in a lock file: a lease, notes, and since when it holds all notes. Read with suspicion.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import math

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import iso, timestamp

VERSION = 2
OWNER = ("run_id", "controller", "host", "pid", "process_start", "user", "note")
# Who an owner is. Two runs that were given the same run_id are still two.
IDENTITY = ("run_id", "controller", "host", "pid", "process_start")


def parsed(content):
    """Return the lease, or None, the notes, and the memory, or None. Raise ValueError for what is not surely ours."""
    try:
        found = json.loads(content.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested without end") from None
    if not isinstance(found, dict):
        raise ValueError("no record")
    if "version" not in found:
        return _former(found), [], None
    if found["version"] != VERSION:
        raise ValueError("of another version")
    return _lease(found.get("lease")), _notes(found.get("notes")), _memory(found.get("memory"))


def data_of(lease, notes, memory):
    # Earlier versions drop what they do not know, here the memory, and go on.
    return dict(version=VERSION, lease=lease, notes=notes, memory=memory)


def new_memory(moment):
    """The memory of a file that is created now. A disk is lost only with a boot, so nothing was lost since this one."""
    return dict(boot_id=moment.boot_id, since=moment.wall - moment.uptime)


def seconds_remembered(memory, moment):
    """How far back the notes are complete. At least to this boot; the wall clock counts for earlier ones only."""
    if memory is None or (memory["boot_id"] and memory["boot_id"] == moment.boot_id):
        return moment.uptime
    return max(moment.uptime, moment.wall - memory["since"])


def granted(me, seconds, moment, taken_at=None):
    """The lease as it is written. It is counted from now."""
    return dict(
        {name: me[name] for name in OWNER},
        taken_at=taken_at or iso(moment.wall),
        boot_id=moment.boot_id,
        counted_from=moment.uptime,
        seconds=seconds,
    )


def seconds_left(lease, moment):
    """For how long it still keeps others out: 0 or less where it has lapsed."""
    if "expires_at" in lease:
        return _seconds_of(lease["expires_at"]) - moment.wall
    if _of_another_boot(lease, moment):
        # It was granted before this boot. Whoever had a majority counts on it for so long, though this host was away.
        return lease["seconds"] - moment.uptime
    return lease["counted_from"] + lease["seconds"] - moment.uptime


def is_of(lease, who):
    return all(lease[name] == who.get(name) for name in IDENTITY)


def told_lease(lease):
    """What others get to know of it."""
    return {name: lease[name] for name in OWNER + ("taken_at",)}


def merged(notes, added, forget):
    """For each host one note of a drain, and one for each approval. What is added comes last, and wins."""
    kept = {_key(note): note for note in notes if note["host"] not in forget}
    kept.update((_key(note), note) for note in added)
    return [kept[key] for key in sorted(kept)]


def _key(note):
    return (note["host"], note["mark"]["event"].lower() if note["mark"] else "")


def _of_another_boot(lease, moment):
    if lease["boot_id"] and moment.boot_id and lease["boot_id"] != moment.boot_id:
        return True
    # A container that was started again has the boot id of its machine, and counts from its own start.
    return moment.uptime < lease["counted_from"]


def _lease(found):
    if found is None:
        return None
    _check(found, dict(dict.fromkeys(OWNER, str), pid=int, taken_at=str, boot_id=str))
    for name in ("counted_from", "seconds"):
        _check_number(found.get(name))
    return {name: found[name] for name in OWNER + ("taken_at", "boot_id", "counted_from", "seconds")}


def _former(found):
    """What earlier versions wrote: a lock that ends at a time of the wall clock."""
    _check(found, dict(dict.fromkeys(OWNER, str), pid=int, taken_at=str, expires_at=str))
    _seconds_of(found["expires_at"])
    return {name: found[name] for name in OWNER + ("taken_at", "expires_at")}


def _notes(found):
    if not isinstance(found, list):
        raise ValueError("no notes")
    for note in found:
        _check(note, dict(host=str, events=list, type=str, run=str))
        _check_number(note.get("at"))
        if note.get("mark", 0) is not None:
            _check(note.get("mark"), dict(event=str, hosts=list, takes_down=bool, vanishing=bool))
    return found


def _memory(found):
    if found is None:
        return None
    _check(found, dict(boot_id=str))
    _check_number(found.get("since"))
    return {name: found[name] for name in ("boot_id", "since")}


def _check(found, types):
    if not isinstance(found, dict):
        raise ValueError("no record")
    for name, kind in types.items():
        if not isinstance(found.get(name), kind):
            raise ValueError("no %s" % name)


def _check_number(found):
    try:
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool) and math.isfinite(found)
    except OverflowError:
        # A whole number of hundreds of digits.
        is_number = False
    if not is_number:
        raise ValueError("no number")


def _no_number(word):
    raise ValueError(word)


def _seconds_of(text):
    moment = timestamp(text)
    # Azure writes times in other forms, too; what we have written comes back as it was.
    if moment is None or iso(moment) != text:
        raise ValueError("no time of ours")
    return moment
