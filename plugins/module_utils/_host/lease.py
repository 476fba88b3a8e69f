# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lease of a group of hosts, as a file on a lock host.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import json
import math

from .._azure import documents
from . import clock as _clock
from . import files

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
        taken_at=taken_at or documents.iso(moment.wall),
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
    moment = documents.timestamp(text)
    # Azure writes times in other forms, too; what we have written comes back as it was.
    if moment is None or documents.iso(moment) != text:
        raise ValueError("no time of ours")
    return moment


# A lease lasts 90 seconds. Whoever had one here before the disk was lost does not count on it any more after these.
SECONDS_WITHOUT_A_FILE = 100


class LeaseError(Exception):
    """The file does not tell who has the lease, or can't be written."""


class LockHost(files.ThisMachine):
    moment = staticmethod(_clock.now)


HERE = LockHost()


def carried_out(request, check_mode, here=HERE):
    """The result for a request."""
    path = here.expanded(request["path"])
    more = dict(notes=request.get("notes") or [], forget=request.get("forget") or [], dry=check_mode, here=here)
    try:
        if request["do"] == "take":
            return take(path, request["me"], request["seconds"], replace=request.get("replace"), **more)
        if request["do"] == "renew":
            return renew(path, request["me"], request["seconds"], **more)
        if request["do"] == "release":
            return release(path, request["me"], forget=more["forget"], dry=check_mode, here=here)
        return read_lease(path, here=here)
    except LeaseError as error:
        return dict(failed=True, changed=False, msg=str(error))


def take(path, me, seconds, notes=(), forget=(), replace=None, moment=None, dry=False, here=HERE):
    """Get the lease for so many seconds, unless it is somebody else's and still runs.

    `replace` is an owner who is known to be dead and does not count. One of our own that still runs is renewed. A host
    that has no file and has just booted may have lost its disk, with a lease that still runs: it grants nothing yet.
    """
    with _opened(path, moment, dry, here) as kept:
        if kept.too_new_for > 0:
            return kept.result()
        running = kept.lease if kept.left > 0 else None
        ours = running is not None and is_of(running, me)
        dead = running is not None and replace is not None and is_of(running, replace)
        if running and not ours and not dead:
            return kept.result()
        before = None
        if kept.lease and not is_of(kept.lease, me):
            before = dict(told_lease(kept.lease), reason="dead" if dead else "expired")
        kept.grant(me, seconds, notes, forget, taken_at=running["taken_at"] if ours else None)
        return kept.result(held=True, renewed=ours, changed=not ours, took_over_from=before)


def renew(path, me, seconds, notes=(), forget=(), moment=None, dry=False, here=HERE):
    """Go on with a lease of ours that still runs. One that has lapsed is nobody's: somebody may have had it since."""
    with _opened(path, moment, dry, here) as kept:
        if kept.left <= 0 or not is_of(kept.lease, me):
            return kept.result()
        kept.grant(me, seconds, notes, forget, taken_at=kept.lease["taken_at"])
        return kept.result(held=True, renewed=True)


def release(path, me, forget=(), moment=None, dry=False, here=HERE):
    """Give the lease back if it is ours. Whose it is otherwise is told, and is no error.

    The notes stay, but for those that this run itself has written about hosts in `forget`: it has returned them to
    service since, and needs no lease to say so.
    """
    with _opened(path, moment, dry, here) as kept:
        ours = kept.lease is not None and is_of(kept.lease, me)
        notes = [note for note in kept.notes if note["host"] not in forget or note["run"] != me["run_id"]]
        if ours or notes != kept.notes:
            kept.write(None if ours else kept.lease, notes)
        return kept.result(changed=ours)


def read_lease(path, moment=None, here=HERE):
    with _opened(path, moment, True, here) as kept:
        return kept.result()


@contextlib.contextmanager
def _opened(path, moment, dry, here):
    """Have the file for ourselves; what a dry run tells may be over when it is told."""
    file = here.kept_file(path, "lock file", "maintenance_lock_path", LeaseError)
    if dry:
        yield _Kept(file, moment or here.moment, dry)
        return
    file.make_folder()
    with file.locked():
        yield _Kept(file, moment or here.moment, dry)


class _Kept:
    """What is in the file at this moment."""

    def __init__(self, file, moment, dry):
        self.file = file
        self.dry = dry
        self.lease, self.notes, self.memory = None, [], None
        content = file.read()
        self.is_new = content is None
        if content is not None:
            try:
                self.lease, self.notes, self.memory = parsed(content)
            except ValueError:
                # Never taken for a free lease.
                raise LeaseError(
                    "The lock file %s does not tell who has the lease. Make sure that no run is at work, then remove it"
                    % file.path
                ) from None
        # Looked at last: what waited for the file does not count it.
        self.moment = moment() if callable(moment) else moment

    @property
    def left(self):
        return seconds_left(self.lease, self.moment) if self.lease else 0

    @property
    def too_new_for(self):
        return SECONDS_WITHOUT_A_FILE - self.moment.uptime if self.is_new else 0

    def grant(self, me, seconds, notes, forget, taken_at):
        lease = granted(me, seconds, self.moment, taken_at)
        self.write(lease, merged(self.notes, notes, forget))

    def write(self, lease, notes):
        if not self.dry:
            if lease or notes:
                memory = self.memory or new_memory(self.moment)
                self.file.write(data_of(lease, notes, memory))
            else:
                self.file.remove()
        self.lease, self.notes = lease, notes

    def result(self, held=False, renewed=False, changed=False, took_over_from=None):
        holder = None
        if self.left > 0:
            holder = dict(told_lease(self.lease), seconds_left=math.ceil(self.left))
        return dict(
            held=held,
            renewed=renewed,
            changed=changed,
            holder=holder,
            took_over_from=took_over_from,
            notes=self.notes,
            remembers=max(0, int(seconds_remembered(self.memory, self.moment))),
            too_new_for=math.ceil(self.too_new_for) if self.too_new_for > 0 else None,
        )
