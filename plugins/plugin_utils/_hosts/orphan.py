# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task whose run was killed ends as well.

Ansible's workers outlive the run that has started them, when that is killed with SIGKILL. One that went on would keep
a host for a run that is no more.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator

SECONDS_BETWEEN_LOOKS = 2.0


@contextlib.contextmanager
def ending_with_the_run() -> Iterator[None]:
    """While this lasts, this process ends soon after the one that has started it. Only for a process of Ansible's."""
    run = multiprocessing.parent_process()
    if run is None:
        yield
        return
    over = threading.Event()
    watchdog = threading.Thread(target=_watch, args=(run.pid, over), daemon=True)
    watchdog.start()
    try:
        yield
    finally:
        over.set()
        watchdog.join()


def _watch(run: int | None, over: threading.Event) -> None:
    while not over.wait(SECONDS_BETWEEN_LOOKS):
        if os.getppid() != run:
            # Not by an exception: the other thread waits for the host, and would not hear it.
            os._exit(1)
