# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind probe_file.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import base64
import contextlib
import os
import stat

from . import machine
from .kind import A_TIMEOUT, PATH, Kind
from .machine import StepError

LARGEST_FILE = 64 * 1024


class ProbeFile(Kind):
    name = "load_balancer.probe_file"
    options = dict(
        path=dict(type="str", required=True),
        present_means=dict(type="str", default="healthy", choices=["healthy", "unhealthy"]),
        content=dict(type="str", default=""),
        wait=dict(type="int", default=0),
        timeout=A_TIMEOUT,
    )
    acts_on = ("path",)
    on_windows = "probe_file"

    @classmethod
    def problems(cls, arguments, on_windows=False):
        return machine.bad_path("path", arguments["path"], on_windows)

    @classmethod
    def needs(cls, arguments):
        return [(PATH, os.path.dirname(arguments["path"]), "folder")]

    @classmethod
    def looks_on_windows(cls, arguments):
        return True

    @classmethod
    def seconds_waited(cls, arguments):
        return arguments.get("wait", 0)

    @classmethod
    def look(cls, host, arguments):
        return {"file": _found(arguments["path"])}

    @classmethod
    def drain(cls, host, arguments, _before):
        path = arguments["path"]
        there = _found(path) is not None
        if arguments["present_means"] == "healthy" and there:
            host.change("removed %s" % path, _remove, path)
        elif arguments["present_means"] == "unhealthy" and not there:
            new = {"content": base64.b64encode(arguments["content"].encode("utf-8")).decode("ascii"), "mode": 0o644}
            host.change("created %s" % path, _create, path, new)
        host.pause(arguments["wait"], "for the probe to notice")

    @classmethod
    def restore(cls, host, arguments, before):
        path, original = arguments["path"], before.get("file")
        if _found(path) == original:
            return
        if original is None:
            host.change("removed %s" % path, _remove, path)
        else:
            host.change("put %s back" % path, _create, path, original)
        host.pause(arguments["wait"], "for the probe to notice")


def _found(path):
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise StepError("%s is not a plain file" % path)
        if status.st_size > LARGEST_FILE:
            raise StepError("%s is larger than a probe file can be (%d bytes)" % (path, LARGEST_FILE))
        with open(path, "rb") as probe_file:
            content = probe_file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StepError("%s can't be read: %s" % (path, error.strerror)) from None
    return {
        "content": base64.b64encode(content).decode("ascii"),
        "mode": stat.S_IMODE(status.st_mode),
        "uid": status.st_uid,
        "gid": status.st_gid,
    }


def _remove(path):
    try:
        os.unlink(path)
    except OSError as error:
        raise StepError("%s can't be removed: %s" % (path, error.strerror)) from None


def _create(path, wanted):
    temporary = os.path.join(os.path.dirname(path), ".%s.new" % os.path.basename(path))
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as probe_file:
            probe_file.write(base64.b64decode(wanted["content"]))
            if "uid" in wanted and (wanted["uid"], wanted["gid"]) != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, wanted["uid"], wanted["gid"])
            os.fchmod(descriptor, wanted["mode"])
        os.rename(temporary, path)
    except OSError as error:
        raise StepError("%s can't be written: %s" % (path, error.strerror)) from None
