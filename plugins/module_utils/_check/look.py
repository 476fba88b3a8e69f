# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host command that checks a host: files, programs, and the way to the metadata service.

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

from .._azure import http as _http
from .._azure import imds as _imds
from .._host import files
from .._host.journal_command import carried_out as journal_order
from .._steps import machine
from .._steps.records import carried_out as records_list

SECONDS_FOR_SYSTEMD = 30
LARGEST_STATUS = 1024 * 1024
# Where daemons are, and a user's own path often does not look.
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def looked_at(request):
    told = {"python": platform.python_version(), "user": _user(), "now": time.time()}
    told.update(journal=None, journal_problem="", folder_problem="")
    if request.get("journal"):
        told.update(_journal(files.expanded(request["journal"])))
    told["records"] = [record for folder in request.get("records") or () for record in _records(folder)]
    told["units"] = {name: _unit(name) for name in request.get("units") or ()}
    told["paths"] = {path: _path(files.expanded(path)) for path in request.get("paths") or ()}
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
        _code, output = machine.Machine(SECONDS_FOR_SYSTEMD).run(words)
    except machine.StepError as error:
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


# From the end of one request to the next: three of them take more than a second, wherever it begins.
SECONDS_BETWEEN = 0.6
SECONDS_FOR_A_QUESTION = 15
LARGEST_BODY = 256 * 1024
# What the controller is told of the headers.
TOLD_HEADERS = ("date", "server", "content-type", "location")


class Pace:
    """Lets so much time pass between the end of one request and the next."""

    def __init__(self, clock=time.monotonic, sleep=time.sleep):
        self.clock = clock
        self.sleep = sleep
        self.ended = None

    def wait(self):
        if self.ended is not None:
            left = self.ended + SECONDS_BETWEEN - self.clock()
            if left > 0:
                self.sleep(left)

    def end(self):
        self.ended = self.clock()


class PacedTransport:
    """What imds.py calls a transport, with the pace of all questions of this process."""

    def __init__(self, endpoint, pace):
        self.http = _http.HttpTransport(endpoint)
        self.endpoint = endpoint
        self.pace = pace

    def send(self, method, target, body, headers, connect_seconds, seconds):
        self.pace.wait()
        try:
            return self.http.send(method, target, body, headers, connect_seconds, seconds)
        finally:
            self.pace.end()


def asked(request):
    """A reading, with the patience of every other one; and what came to each question, once asked.

    The reading is {answers}, or {failed, msg}. Questions are asked only where it was good.
    """
    pace = Pace()
    begun = time.monotonic()
    try:
        reading = {"answers": _imds.read(request["reading"], lambda endpoint: PacedTransport(endpoint, pace))}
    except _imds.ImdsError as error:
        reading = {"failed": True, "msg": str(error)}
    told = {"reading": reading, "reading_seconds": time.monotonic() - begun, "heard": {}}
    if not reading.get("failed"):
        transport = PacedTransport(reading["answers"]["endpoint"], pace)
        for question in request.get("questions") or ():
            told["heard"][question["name"]] = _heard(transport, question)
    return told


def _heard(transport, question):
    headers = dict(question.get("headers") or {}, Connection="close")
    transport.pace.wait()
    begun = time.monotonic()
    told = {"status": None, "headers": {}, "body": "", "problem": "", "at": time.time(), "seconds": 0.0}
    try:
        answer = transport.http.send(
            "GET", question["target"], None, headers, _imds.SECONDS_PER_CONNECT, SECONDS_FOR_A_QUESTION
        )
        fields = {name: answer.headers[name] for name in TOLD_HEADERS if name in answer.headers}
        body = answer.body[:LARGEST_BODY].decode("utf-8", "replace")
        told.update(status=answer.status, headers=fields, body=body, at=answer.at)
    except (_http.NotResolved, _http.NotAccepted, _http.Broken, _http.TimedOut, _http.TooLarge) as problem:
        told["problem"] = "%s %s" % (type(problem).__name__, problem)
    finally:
        transport.pace.end()
    told["seconds"] = time.monotonic() - begun
    return told


def carried_out(request, check_mode):
    """The result for a request. Check mode has nothing to leave out."""
    result = {"changed": False}
    if request.get("look") is not None:
        result["look"] = looked_at(request["look"])
    if request.get("ask") is not None:
        result["ask"] = asked(request["ask"])
    return result
