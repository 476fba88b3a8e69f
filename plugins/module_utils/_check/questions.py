# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions to the metadata service, to learn how it answers: GET alone, and never more than two in a second.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import time

from ansible_collections.maintenance.azure.plugins.module_utils._azure import http as _http
from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds

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
