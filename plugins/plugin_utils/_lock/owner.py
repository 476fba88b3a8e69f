# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has a lease: this run as an owner, and whether another owner still lives."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.plugin_utils._user import controller_name, user_name

PROC = Path("/proc")


class RunHasEnded(Exception):
    """The run was killed, and this task of it goes on alone: it must not take anything in the name of the dead."""


def this_run(run_id: str, note: str) -> dict[str, t.Any]:
    """The owner that a task of this run is. A task runs in a fork; the run is the process that forked it."""
    parent = multiprocessing.parent_process()
    pid = os.getppid()
    if parent is not None and parent.pid != pid:
        raise RunHasEnded("The run that this task is part of was killed, so no lease is taken for it any more")
    start, _dead = _process(pid)
    return {
        "run_id": run_id,
        "note": note,
        "user": user_name(),
        "host": controller_name(),
        "controller": _controller() if start else "",
        "pid": pid,
        "process_start": start,
    }


def is_dead(owner: Mapping[str, t.Any], controller: str) -> bool:
    """Whether the owner is a process of this controller that is no more. What can't be known counts as alive."""
    if not controller or not owner["process_start"] or owner["controller"] != controller or owner["pid"] <= 0:
        return False
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        # Another user's process is still a process, though /proc may hide it.
        pass
    start, ended = _process(owner["pid"])
    return ended or bool(start and start != owner["process_start"])


def _process(pid: int) -> tuple[str, bool]:
    """When a process was started, in the kernel's count, and whether it has ended; ("", False) if it can't be seen."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", False
    # The second field is the program's name, in brackets, and may hold anything.
    fields = text.rpartition(")")[2].split()
    return fields[19], fields[0] in ("Z", "X")


def _controller() -> str:
    """A name for everything that has the same process ids: one boot of one kernel, and one container of it."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = str((PROC / "self/ns/pid").readlink())
    except OSError:
        return ""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        machine = ""
    return hashlib.sha256("\n".join((machine, boot, namespace)).encode()).hexdigest()[:32]
