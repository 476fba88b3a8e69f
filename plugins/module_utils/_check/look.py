# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is on this machine that a run needs, or that an earlier one left behind. Nothing is changed.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import errno
import io
import json
import os
import platform
import pwd
import shutil
import stat
import time

from ansible_collections.maintenance.azure.plugins.module_utils._host.files import expanded
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal_command import (
    carried_out as journal_order,
)
from ansible_collections.maintenance.azure.plugins.module_utils._steps.machine import Machine, StepError
from ansible_collections.maintenance.azure.plugins.module_utils._steps.records import carried_out as records_list

SECONDS_FOR_SYSTEMD = 30
LARGEST_STATUS = 1024 * 1024
# Where daemons are, and a user's own path often does not look.
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def looked_at(request):
    told = {"python": platform.python_version(), "user": _user(), "now": time.time()}
    told.update(journal=None, journal_problem="", folder_problem="")
    if request.get("journal"):
        told.update(_journal(expanded(request["journal"])))
    told["records"] = [record for folder in request.get("records") or () for record in _records(folder)]
    told["units"] = {name: _unit(name) for name in request.get("units") or ()}
    told["paths"] = {path: _path(expanded(path)) for path in request.get("paths") or ()}
    told["commands"] = {name: _command(name) for name in request.get("commands") or ()}
    told["watcher"] = _watcher(request.get("watcher") or {})
    return told


def _journal(path):
    answer = journal_order({"path": path, "state": "read"}, True)
    told = {"folder_problem": _folder_problem(os.path.dirname(os.path.abspath(path)))}
    if answer.get("failed"):
        return dict(told, journal_problem=answer["msg"])
    return dict(told, journal=answer["journal"])


def _folder_problem(folder):
    """Why a file could not be written there, or nothing. A folder that is missing would be made."""
    while folder != os.path.dirname(folder) and not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        return "%s is not a folder" % folder
    return "" if os.access(folder, os.W_OK | os.X_OK) else "%s can't be written by %s" % (folder, _user())


def _records(folder):
    told = records_list({"folder": folder}, True)
    if told.get("failed"):
        return [{"file": folder, "problem": told["msg"]}]
    bad = [{"file": path, "problem": "The record %s can't be understood" % path} for path in told["unreadable"]]
    return bad + [dict(record, file=record["path"], problem="") for record in told["records"]]


def _unit(name):
    """What systemd calls its state of loading: loaded, not-found, masked; or why that is not known."""
    try:
        words = ["systemctl", "show", "--property=LoadState,ActiveState", "--", name]
        _code, output = Machine(SECONDS_FOR_SYSTEMD).run(words)
    except StepError as error:
        return str(error)
    states = [line.partition("=")[2] for line in output.splitlines() if line.startswith("LoadState=")]
    return states[0] if states else "systemctl says nothing of it"


def _path(path):
    """Of what kind it is: file, folder, socket, other, or missing; or why that is not known."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        return "missing" if error.errno in (errno.ENOENT, errno.ENOTDIR) else error.strerror
    for kind, fits in (("file", stat.S_ISREG), ("folder", stat.S_ISDIR), ("socket", stat.S_ISSOCK)):
        if fits(mode):
            return kind
    return "other"


def _command(name):
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), SYSTEM_PATH])
    return shutil.which(os.path.expanduser(name), path=path) is not None


def _watcher(request):
    """What a watcher left here: whether its program is there, and its status as it is."""
    told = {"installed": bool(request.get("program")) and os.path.exists(request["program"])}
    told.update(status=None, problem="", age=None)
    path = request.get("status_file")
    if not path:
        return told
    try:
        with io.open(path, "rb") as status_file:
            told["age"] = time.time() - os.fstat(status_file.fileno()).st_mtime
            text = status_file.read(LARGEST_STATUS)
        status = json.loads(text.decode("utf-8"))
        told["status"] = status if isinstance(status, dict) else None
        told["problem"] = "" if told["status"] is not None else "%s holds no status" % path
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            told["problem"] = "%s can't be read: %s" % (path, error.strerror)
    except ValueError:
        told["problem"] = "%s can't be understood" % path
    return told


def _user():
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "user id %d" % os.geteuid()
