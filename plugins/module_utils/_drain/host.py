# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every kind of drain step needs from the host that it works on: commands, waits, and an end to its time.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import time

LARGEST_OUTPUT = 64 * 1024
LINES_IN_A_COMPLAINT = 5
# How soon a lost controller is noticed.
SECONDS_BETWEEN_LOOKS = 1


class StepError(Exception):
    """The step can't be done. The text is for the user."""


class Machine:
    """This machine, for one step: what was changed is told in `done`, and nothing is changed in check mode.

    `contact` knows whether the controller is still there, see contact.py. Without one nobody asks.
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

    def change(self, sentence, deed, *arguments):
        """Tell what is changed, and change it unless this is check mode."""
        self.done.append(sentence)
        return None if self.check_mode else deed(*arguments)

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
                raise StepError("%s can't be run: %s" % (words[0], error.strerror or error)) from None
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
