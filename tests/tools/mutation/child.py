# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A child of this process that does one thing, tells something about it, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

# A break may make a list endless.
MOST_MEMORY = 4 * 1024**3
# By the clock, so much more than of the processor: for what waits.
SECONDS_TO_WAIT = 30.0

Tell = Callable[[str], None]


def in_a_child(work: Callable[[Tell], int], output: Path) -> tuple[int, str]:
    """The code that `work` has ended with, less than 0 where a signal has ended it, and all that it has told."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.close(reader)
            os.setsid()
            _take_from_nobody_and_write_to(output)
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            code = work(lambda text: _write(writer, text))
        finally:
            # Whatever was raised: nothing of the parent's may run twice.
            os._exit(code)
    os.close(writer)
    with open(reader, encoding="utf-8") as stream:  # noqa: PTH123
        told = stream.read()
    _pid, status = os.waitpid(child, 0)
    end_group(child)
    return os.waitstatus_to_exitcode(status), told


def allow(seconds: float) -> None:
    """So much time of the processor from now on; then the signal ends this process."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds + SECONDS_TO_WAIT if seconds else 0)


def end_group(leader: int) -> None:
    """What a child's tests have started and not ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _take_from_nobody_and_write_to(output: Path) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written, 1)
    os.dup2(written, 2)


def _write(writer: int, text: str) -> None:
    left = text.encode("utf-8")
    while left:
        left = left[os.write(writer, left) :]
