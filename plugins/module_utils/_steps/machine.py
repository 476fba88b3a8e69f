# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that a step acts on: names, commands, and requests to web servers.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import base64
import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time

from .._azure import http

# As systemd has them. A word that begins with a dash would be an option.
_UNIT = re.compile(r"[A-Za-z0-9:_.@\\][A-Za-z0-9:_.@\\-]{0,254}")
_URL = re.compile(r"https?://[^\s/?#@\x00-\x1f\x7f]+(?:[/?#][^\s\x00-\x1f\x7f]*)?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_METHOD = re.compile(r"[A-Z]{1,20}")
# What could stand for several services is no name.
_WINDOWS_SERVICE = re.compile(r"[^/\\*?\[\]\x00-\x1f\x7f]{1,256}")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]")


def bad_health_name(check, on_windows=False):
    """A sentence about the first name of a health check that can't be one, or None."""
    uri = check.get("uri")
    if uri:
        if not _METHOD.fullmatch(str(uri["method"])):
            return "%r can't be a method of HTTP" % uri["method"]
        for problem in list(_bad_url(uri["url"])) + list(_bad_headers(uri.get("headers"))):
            return problem
    if check.get("service") is not None:
        for problem in bad_service(check["service"], on_windows):
            return problem
    if check.get("port") is not None and not 0 < check["port"] < 65536:
        return "%s is not a port" % check["port"]
    return None


def bad_web_address(url, headers):
    """The same for an address that is told something."""
    for problem in list(_bad_url(url)) + list(_bad_headers(headers)):
        return problem
    return None


def bad_service(name, on_windows):
    if not (_WINDOWS_SERVICE if on_windows else _UNIT).fullmatch(str(name)):
        yield "%r can't be the name of a %s" % (name, "service" if on_windows else "unit of systemd")


def bad_path(name, path, on_windows=False):
    absolute = _WINDOWS_PATH.match(str(path)) if on_windows else str(path).startswith("/")
    if not absolute or re.search(r"[\x00-\x1f\x7f]", str(path)):
        yield "%s must be an absolute path, not %r" % (name, path)


def _bad_url(url):
    if not _URL.fullmatch(str(url)):
        # Not quoted: there may be a password in it, in a place where nobody looks for one.
        yield "url is not an http or https address"


def _bad_headers(headers):
    for name, value in (headers or {}).items():
        if not _HEADER_NAME.fullmatch(str(name)) or re.search(r"[\x00\r\n]", str(value)):
            yield "%r can't be a header of HTTP" % name


LARGEST_OUTPUT = 64 * 1024
LINES_IN_A_COMPLAINT = 5
# How soon a lost controller is noticed.
SECONDS_BETWEEN_LOOKS = 1


class StepError(Exception):
    """The step can't be done. The text is for the user."""

    changed_nothing = False


class NotRun(StepError):
    """A command could not even be started."""


class Machine:
    """This machine, for one step: what was changed is told in `done`, and nothing is changed in check mode.

    `contact` knows whether the controller is still there, see ownership.py. Without one nobody asks.
    """

    def __init__(self, timeout, check_mode=False, clock=time.monotonic, sleep=time.sleep, contact=None):
        self.timeout = timeout
        self.check_mode = check_mode
        self.contact = contact
        self.done = []
        self.warnings = []
        self._clock = clock
        self._sleep = sleep
        self._end = clock() + timeout

    def left(self):
        return max(0.0, self._end - self._clock())

    def change(self, sentence, action, *arguments):
        """Tell what is changed, and change it unless this is check mode."""
        self.done.append(sentence)
        return None if self.check_mode else action(*arguments)

    def run(self, command):
        """Exit code and output of a command, a list of words or a line that is split like a shell does; no shell."""
        words = words_of(command)
        # Files, not pipes: a daemon that the command leaves behind would keep a pipe open.
        with tempfile.TemporaryFile() as output:
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise NotRun("%s can't be run: %s" % (words[0], error.strerror or error)) from None
            code = self._wait_for(process)
            if code is None:
                _kill_group(process)
                self._check_contact("%s was killed" % words[0])
                raise StepError("%s did not end within %s and was killed" % (words[0], in_seconds(self.timeout)))
            output.seek(0)
            return code, output.read(LARGEST_OUTPUT).decode("utf-8", "replace").strip()

    def _wait_for(self, process):
        """Its exit code, or None where it did not end in its time, or in what is left of it without the controller."""
        end = self._clock() + max(0.1, self.left())
        while True:
            left = end - self._clock()
            if left <= 0 or (self.contact and self.contact.is_to_end_now()):
                return process.poll()
            try:
                return process.wait(timeout=min(left, SECONDS_BETWEEN_LOOKS) if self.contact else left)
            except subprocess.TimeoutExpired:
                continue

    def _check_contact(self, so_far):
        if self.contact and self.contact.is_lost():
            raise StepError("%s: %s" % (self.contact.why, so_far))

    def must_run(self, command):
        code, output = self.run(command)
        if code != 0:
            raise StepError("%s ended with exit code %d%s" % (words_of(command)[0], code, said(output)))
        return output

    def pause(self, length, reason):
        if self.check_mode or not length:
            return
        if length > self.left():
            raise StepError("There is no time to wait %s %s" % (in_seconds(length), reason))
        end = self._clock() + length
        self.wait_until(lambda: self._clock() >= end, interval=min(length, SECONDS_BETWEEN_LOOKS))

    def wait_until(self, question, interval=0.5):
        """Ask until the answer is true; False when the time is over."""
        while not question():
            if self.left() <= 0:
                return False
            self._check_contact("no longer waited for")
            self._sleep(min(interval, max(0.05, self.left())))
        return True


def words_of(command):
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    if not words:
        raise StepError("The command is empty")
    return words


def in_seconds(number):
    return "%g s" % round(number, 1)


def said(output):
    """The end of a command's output, for a sentence."""
    lines = [line.strip() for line in output.splitlines() if line.strip()][-LINES_IN_A_COMPLAINT:]
    return ": " + " / ".join(lines) if lines else ""


def _kill_group(process):
    _signal_group(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    # Also where the command itself has ended: what it started may not have.
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process, number):
    with contextlib.suppress(OSError):
        os.killpg(process.pid, number)


class WebError(StepError):
    """No answer, or one that says no. `status` is None where there was no answer."""

    def __init__(self, message, status=None):
        super(WebError, self).__init__(message)
        self.status = status


def request(
    url, method="GET", body=None, headers=None, timeout=10, validate_certs=True, login=None, accepted=None, proxy=True
):
    """Status and text of the answer; WebError for any that is not accepted (2xx, unless `accepted` lists others)."""
    if not str(url).lower().startswith(("http://", "https://")):
        raise WebError("%s is not an http or https address" % url)
    headers = dict(headers or {})
    is_data = isinstance(body, (dict, list))
    if body is not None and "content-type" not in {str(name).lower() for name in headers}:
        headers["Content-Type"] = "application/json" if is_data else "application/x-www-form-urlencoded"
    if login:
        headers["Authorization"] = "Basic " + base64.b64encode(":".join(login).encode("utf-8")).decode("ascii")
    text = json.dumps(body) if is_data else None if body is None else str(body)
    try:
        answer = http.ask(url, method, text, headers, max(0.1, timeout), by_proxy=proxy, validate_certs=validate_certs)
    except (http.NotResolved, http.NotAccepted, http.Broken, http.TimedOut, ValueError) as problem:
        raise WebError("%s does not answer: %s" % (url, str(problem) or "no answer in %g s" % timeout)) from None
    status, text = answer.status, answer.body.decode("utf-8", "replace")
    if status not in accepted if accepted else not 200 <= status < 300:
        raise WebError("%s answers %d%s" % (url, status, ": " + text.strip()[:200] if text.strip() else ""), status)
    return status, text
