# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lease in a file of one lock host, and beside it the notes of those who had it.

This file runs on the managed host: standard library only, Python 3.6 or newer. How long a lease lasts is counted by
this host's own uptime, so neither the clocks of the controllers matter nor whoever sets this one.
"""

import contextlib
import math

from ansible_collections.maintenance.azure.plugins.module_utils._drain.here import ThisMachine
from ansible_collections.maintenance.azure.plugins.module_utils._lock import lease_content, uptime

# A lease lasts 90 seconds. Whoever had one here before the disk was lost does not count on it any more after these.
SECONDS_WITHOUT_A_FILE = 100


class LeaseError(Exception):
    """The file does not tell who has the lease, or can't be written."""


class LockHost(ThisMachine):
    moment = staticmethod(uptime.now)


HERE = LockHost()


def carried_out(request, check_mode, here=HERE):
    """The result of the module _lease_file for its options."""
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
        ours = running is not None and lease_content.is_of(running, me)
        dead = running is not None and replace is not None and lease_content.is_of(running, replace)
        if running and not ours and not dead:
            return kept.result()
        before = None
        if kept.lease and not lease_content.is_of(kept.lease, me):
            before = dict(lease_content.told_lease(kept.lease), reason="dead" if dead else "expired")
        kept.grant(me, seconds, notes, forget, taken_at=running["taken_at"] if ours else None)
        return kept.result(held=True, renewed=ours, changed=not ours, took_over_from=before)


def renew(path, me, seconds, notes=(), forget=(), moment=None, dry=False, here=HERE):
    """Go on with a lease of ours that still runs. One that has lapsed is nobody's: somebody may have had it since."""
    with _opened(path, moment, dry, here) as kept:
        if kept.left <= 0 or not lease_content.is_of(kept.lease, me):
            return kept.result()
        kept.grant(me, seconds, notes, forget, taken_at=kept.lease["taken_at"])
        return kept.result(held=True, renewed=True)


def release(path, me, forget=(), moment=None, dry=False, here=HERE):
    """Give the lease back if it is ours. Whose it is otherwise is told, and is no error.

    The notes stay, but for those that this run itself has written about hosts in `forget`: it has returned them to
    service since, and needs no lease to say so.
    """
    with _opened(path, moment, dry, here) as kept:
        ours = kept.lease is not None and lease_content.is_of(kept.lease, me)
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
                self.lease, self.notes, self.memory = lease_content.parsed(content)
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
        return lease_content.seconds_left(self.lease, self.moment) if self.lease else 0

    @property
    def too_new_for(self):
        return SECONDS_WITHOUT_A_FILE - self.moment.uptime if self.is_new else 0

    def grant(self, me, seconds, notes, forget, taken_at):
        lease = lease_content.granted(me, seconds, self.moment, taken_at)
        self.write(lease, lease_content.merged(self.notes, notes, forget))

    def write(self, lease, notes):
        if not self.dry:
            if lease or notes:
                memory = self.memory or lease_content.new_memory(self.moment)
                self.file.write(lease_content.data_of(lease, notes, memory))
            else:
                self.file.remove()
        self.lease, self.notes = lease, notes

    def result(self, held=False, renewed=False, changed=False, took_over_from=None):
        holder = None
        if self.left > 0:
            holder = dict(lease_content.told_lease(self.lease), seconds_left=math.ceil(self.left))
        return dict(
            held=held,
            renewed=renewed,
            changed=changed,
            holder=holder,
            took_over_from=took_over_from,
            notes=self.notes,
            remembers=max(0, int(lease_content.seconds_remembered(self.memory, self.moment))),
            too_new_for=math.ceil(self.too_new_for) if self.too_new_for > 0 else None,
        )
