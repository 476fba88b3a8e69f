# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit file of a host.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import os
import syslog
import time

from .._azure import documents

TAG = "azure-maintenance"
DEFAULT_FILE = "/var/log/azure-maintenance/audit.jsonl"


def tell(about, what, **details):
    """A action of a run. `about` is {file, run_id, who, where, host, incarnation}; None where nobody wants to know.

    `incarnation` is that of the document which the run has read last on this host.
    """
    if not about:
        return False
    known = {key: about.get(key) for key in ("host", "who", "where")}
    if about.get("incarnation") is not None:
        known["incarnation"] = about["incarnation"]
    return write(about.get("file"), what, time.time(), by="run %s" % about.get("run_id"), **dict(known, **details))


def having_read(about, incarnation):
    """The same after a document was read on the host itself."""
    return about if not about or incarnation is None else dict(about, incarnation=incarnation)


def write(path, what, now, **details):
    """Returns whether it is in the file, whose folder the role watch makes. The log has it in any case."""
    entry = dict(details, at=documents.iso(now), what=what)
    line = json.dumps(entry, sort_keys=True)
    syslog.openlog(TAG, syslog.LOG_PID, syslog.LOG_DAEMON)
    syslog.syslog(syslog.LOG_NOTICE, line[:4000])
    syslog.closelog()
    if not path or not _is_ours(os.path.dirname(os.path.abspath(path))):
        return False
    try:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            # One write, so that lines of two processes never mix.
            data = (b"\n" if _is_torn(descriptor) else b"") + line.encode("utf-8") + b"\n"
            return os.write(descriptor, data) == len(data)
        finally:
            os.close(descriptor)
    except OSError:
        return False


def _is_ours(folder):
    """Check that it belongs to root or to the user that this runs as, and write to the log if not."""
    try:
        owner = os.stat(folder).st_uid
    except OSError:
        return False
    if owner in (0, os.geteuid()):
        return True
    syslog.openlog(TAG, syslog.LOG_PID, syslog.LOG_DAEMON)
    said = "The folder of the audit file, %s, belongs to user id %d: give it to root, so that it is written again"
    syslog.syslog(syslog.LOG_WARNING, said % (folder, owner))
    syslog.closelog()
    return False


def _is_torn(descriptor):
    """Whether the last line has no end, as the disk was full or the machine went down. The next is not joined to it."""
    size = os.fstat(descriptor).st_size
    return bool(size) and os.pread(descriptor, 1, size - 1) != b"\n"
