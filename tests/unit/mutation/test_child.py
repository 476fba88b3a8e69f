# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A child tells what it found, and can neither stay nor leave anything behind."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import time

import pytest
from tools.mutation import child
from tools.mutation.child import allow, in_a_child


def test_it_tells_and_ends(tmp_path):
    def work(tell):
        tell("noticed by ")
        tell("x" * 100_000)
        return 3

    assert in_a_child(work, tmp_path / "output") == (3, "noticed by " + "x" * 100_000)


def test_what_it_writes_is_kept(tmp_path):
    def work(_tell):
        os.write(1, b"said")
        return 0

    in_a_child(work, tmp_path / "output")
    assert (tmp_path / "output").read_text() == "said"


def test_what_it_raises_does_not_get_out(tmp_path):
    def work(_tell):
        raise SystemExit(0)

    code, _told = in_a_child(work, tmp_path / "output")
    assert code not in (0, 1)


@pytest.mark.parametrize("loops", [True, False])
def test_what_takes_too_long_is_ended(tmp_path, loops, monkeypatch):
    monkeypatch.setattr(child, "SECONDS_TO_WAIT", 0.5)

    def work(_tell):
        allow(0.05)
        while loops:
            pass
        time.sleep(60)
        return 0

    code, _told = in_a_child(work, tmp_path / "output")
    assert code in (-signal.SIGPROF, -signal.SIGALRM)


def state_of(pid):
    """As the kernel tells it; a minimal system has no `ps`."""
    try:
        told = pathlib.Path("/proc", pid, "stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return told.rpartition(")")[2].split()[0]


def test_the_state_of_a_process_is_told():
    with subprocess.Popen(["sleep", "60"]) as process:
        assert state_of(str(process.pid)) in ("R", "S", "D")
        process.kill()


def test_what_it_has_started_ends_with_it(tmp_path):
    def work(tell):
        with subprocess.Popen(["sleep", "60"]) as process:
            tell(str(process.pid))
            os._exit(0)

    _code, told = in_a_child(work, tmp_path / "output")
    # Ended, or about to be taken note of by whoever inherits it. On a busy machine a signal takes a moment.
    until = time.monotonic() + 20
    while state_of(told) not in (None, "Z") and time.monotonic() < until:
        time.sleep(0.01)
    assert state_of(told) in (None, "Z")
