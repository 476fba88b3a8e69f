# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command of the machine that the lab runs on."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any


def run(*command: Any, timeout: float = 60, **more: Any) -> str:
    """What it prints; all that it said is in the error where it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
        **more,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}: {done.stdout.strip()}")
    return done.stdout


def wait_until(condition: Callable[[], Any], what: str, timeout: float = 60, pause: float = 0.05) -> Any:
    """What the condition gives as soon as it gives something."""
    ends = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > ends:
            raise AssertionError(f"not within {timeout:.0f} s: {what}")
        time.sleep(pause)
