# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notice a host that falls silent in the middle of a command, and one that takes a command and never answers.

A VM whose power fails, that freezes or is taken away does not say goodbye, and ssh waits for the end of a command for
ever. Here hosts go away all the time, so ssh is told to ask now and then whether somebody is there. That does not help
where a disk hangs, or a login that asks a dead directory: so each command has a time in which it ends as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import signal
import subprocess
import threading
import time
import types
import typing as t
from collections.abc import Iterator
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

KEEP_ASKING = "-o ServerAliveInterval=5 -o ServerAliveCountMax=3"
# How long one command may take: one that reads and writes a file or two, and what comes on top of what it waits for.
SECONDS_OF_A_COMMAND = 30.0
# A reading of a run, where maintenance_read_timeout is not set.
SECONDS_OF_A_READING = 30
# A host that gave no answer in this run before: it must not keep others waiting as long each time.
SECONDS_AFTER_SILENCE = 10.0
# Whatever takes the exception for something else gets another.
SECONDS_BETWEEN_ALARMS = 2.0
SECONDS_TO_RECONNECT = 10.0
SECONDS_TO_FAIL = 5.0


class HostSilent(AnsibleConnectionFailure):
    """A host took a command and gave no answer in time. What it was told to do may have been done, or be done later."""


class _Alarm(BaseException):
    """No Exception, as those are caught on the way, and some connections try again then."""


def notice_silence(connection: t.Any) -> None:
    """Have it so for all that this task does; what is not ssh is left alone."""
    if getattr(connection, "transport", "") != "ssh":
        return
    own = connection.get_option("ssh_extra_args") or ""
    if KEEP_ASKING not in own:
        connection.set_option("ssh_extra_args", f"{own} {KEEP_ASKING}".strip())


def seconds_of_a_reading(value: t.Any) -> float:
    """What maintenance_read_timeout says for a host."""
    text = str(SECONDS_OF_A_READING if value in (None, "") else value).strip()
    if isinstance(value, bool) or not text.isdecimal() or int(text) == 0:
        raise AnsibleActionFail(f"maintenance_read_timeout must be a whole number of seconds, 1 or more, not {value!r}")
    return float(text)


def seconds_to_connect(action: ActionBase) -> float:
    """After these a host that is down is known to be unreachable, and must not be taken for one that hangs."""
    for name in ("connection_timeout", "timeout"):
        with contextlib.suppress(KeyError, AnsibleError):
            found = action._connection.get_option(name)
            if isinstance(found, (int, float)) and found > 0:
                return float(found) + SECONDS_TO_FAIL
    return SECONDS_OF_A_COMMAND + SECONDS_TO_FAIL


def patience_within(seconds: float) -> float:
    """How long a command may wait for the service, so that the host can still say that it waited in vain."""
    return max(1.0, seconds * 2 / 3)


@contextlib.contextmanager
def answering_within(
    action: ActionBase, task_vars: t.Mapping[str, t.Any], seconds: float, after_silence: float = SECONDS_AFTER_SILENCE
) -> Iterator[None]:
    """What is asked of a task's host in here ends in time, or in HostSilent.

    `after_silence` is the time of a host that has been silent in this run and has not answered since.
    """
    host = str(action._task.delegate_to or task_vars["inventory_hostname"])
    mark = _mark_of(host)
    if mark.exists():
        seconds = min(seconds, after_silence)
    try:
        with ending_within(seconds):
            yield
    except Late:
        mark.parent.mkdir(mode=0o700, exist_ok=True)
        mark.touch()
        forget_folder(action)
        raise HostSilent(
            f"{host} took a command and gave no answer within {seconds:.0f} s, so it counts as unreachable. Look at its"
            " load, its disks and whatever its login asks"
        ) from None
    except Exception:
        raise
    except BaseException:
        # Ansible's own time for a task is over.
        forget_folder(action)
        raise
    mark.unlink(missing_ok=True)


def forget_folder(action: ActionBase) -> None:
    """Leave Ansible's temporary folder on the host: it would be removed by a command that has no timeout."""
    action._connection._shell.tmpdir = None


class Late(Exception):
    """It did not end in time."""


@contextlib.contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Ends what takes longer, also inside of a connection plugin, with all that it has started here.

    Ansible's own time for a task comes by the same signal. Where that comes first, nothing is changed about it.
    """
    outer, _interval = signal.getitimer(signal.ITIMER_REAL)
    if threading.current_thread() is not threading.main_thread() or 0 < outer <= seconds:
        yield
        return
    begun = time.monotonic()
    alarm = _Alarm()

    def ring(_number: int, _frame: types.FrameType | None) -> t.NoReturn:
        raise alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, SECONDS_BETWEEN_ALARMS)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _Alarm as rung:
        # It may have rung right before it was to be switched off.
        signal.setitimer(signal.ITIMER_REAL, 0)
        if rung is not alarm:
            raise
        _end_processes(rung.__traceback__)
        raise Late from None
    finally:
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(0.01, outer - (time.monotonic() - begun)))


# Of the user's task that this process does, or of the item of it that it is at.
_deadline = 0.0
_watched_process = 0


def task_timeout(seconds: int) -> int:
    """Return these seconds, the timeout of a user's task, and end its commands if any are left soon after them.

    Ansible's own timeout ends what a task does, but not the command by which it then removes its temporary folder on
    the host. To be resolved by the process that does the task.
    """
    global _deadline, _watched_process
    _deadline = time.monotonic() + seconds + SECONDS_TO_FAIL
    if _watched_process != os.getpid() and multiprocessing.parent_process() is not None:
        _watched_process = os.getpid()
        threading.Thread(target=_end_what_is_left, daemon=True).start()
    return seconds


def _end_what_is_left() -> None:
    while True:
        time.sleep(SECONDS_BETWEEN_ALARMS)
        if time.monotonic() > _deadline:
            end_descendants(os.getpid())


def end_descendants(process: int) -> None:
    """End all commands that a process has started, with what they have started."""
    pairs = _processes()
    ended = {process}
    while more := {pid for pid, parent in pairs if parent in ended} - ended:
        ended |= more
    for pid in ended - {process}:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _processes() -> list[tuple[int, ...]]:
    """Each with its parent. Not every machine has ps, nor /proc."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            lines.append(f"{path.parent.name} {path.read_text().rpartition(')')[2].split()[1]}")
    if not lines:
        told = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False)
        lines = told.stdout.splitlines()
    return [tuple(map(int, line.split())) for line in lines]


def _mark_of(host: str) -> Path:
    """In a folder of the run, as each task is a process of its own."""
    name = hashlib.sha256(host.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Path(constants.DEFAULT_LOCAL_TMP) / "azure-silent" / name


def _end_processes(traceback: types.TracebackType | None) -> None:
    """An ssh that nobody listens to any more would stay for as long as its host is silent."""
    while traceback:
        for value in list(traceback.tb_frame.f_locals.values()):
            if isinstance(value, subprocess.Popen):
                with contextlib.suppress(OSError):
                    value.kill()
        traceback = traceback.tb_next
