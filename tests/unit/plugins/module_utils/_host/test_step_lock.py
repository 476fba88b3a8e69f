# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a step: who takes a journal over waits for the end of the step that is done, in a run or without one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain import owned as _owned
from ansible_collections.maintenance.azure.plugins.module_utils._drain import step_lock as _step_lock
from ansible_collections.maintenance.azure.plugins.module_utils._drain.fence import Refused
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalFile, begun
from ansible_collections.maintenance.azure.plugins.module_utils._drain.owned import OwnedJournal
from ansible_collections.maintenance.azure.plugins.module_utils._drain.step_lock import StepLock, StillLocked
from ansible_collections.maintenance.azure.plugins.module_utils._drain.step_order import carried_out
from helpers.waiting import PATIENCE
from helpers.watcher_process import installed

HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.maintenance.azure.plugins.module_utils._drain.step_lock import StepLock
with StepLock(sys.argv[2]).held(0):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def journal(tmp_path):
    journal = JournalFile(str(tmp_path / "journal.json"))
    journal.change(lambda data: begun(data, [{"id": "E1"}], "watcher of web-0", "b", "2026-11-16T00:00:00Z"))
    return journal


@pytest.fixture
def holder(tmp_path, journal):
    """Another process that is in the middle of a step, until its input ends."""
    program = installed(tmp_path / "program").with_name("lib")
    command = [sys.executable, "-S", "-c", HOLDER, str(program), journal.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def files_beside(journal):
    return sorted(path.name for path in Path(journal.path).parent.iterdir() if path.name != "program")


def test_one_at_a_time_and_nothing_is_left_behind(journal):
    lock = StepLock(journal.path)
    with lock.held(0), pytest.raises(StillLocked), StepLock(journal.path).held(0.1):
        pass
    assert files_beside(journal) == ["journal.json"]
    with lock.held(0):
        pass


def test_it_goes_with_the_process_that_has_it(journal, holder):
    with pytest.raises(StillLocked), StepLock(journal.path).held(0):
        pass
    holder.send_signal(signal.SIGKILL)
    with StepLock(journal.path).held(PATIENCE):
        pass


def test_many_threads_never_meet(journal):
    inside, worst = [], []

    def go():
        for _turn in range(20):
            with StepLock(journal.path).held(PATIENCE):
                inside.append(1)
                worst.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=go) for _number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(worst) == 1
    assert len(worst) == 120


@pytest.mark.parametrize("direction", ["drain", "restore"])
def test_a_run_waits_for_the_step_and_then_takes_over(journal, holder, direction, monkeypatch):
    waits, pause = threading.Event(), time.sleep
    monkeypatch.setattr(_step_lock.time, "sleep", lambda seconds: (waits.set(), pause(seconds)))
    opened = {"events": [{"id": "E1"}], "expected": []}
    order = {"perform": "steps", "journal": journal.path, "run_id": "r1", "timeout": 60, "direction": direction}
    results = []
    run = threading.Thread(target=lambda: results.append(carried_out({**order, "open": opened, "orders": []}, False)))
    run.start()
    assert waits.wait(PATIENCE)
    assert journal.read()["run_id"] == "watcher of web-0"
    holder.stdin.close()
    run.join(PATIENCE)
    assert results[0]["journal"]["run_id"] == "r1"
    assert journal.read()["run_id"] == "r1"


def test_in_a_run_that_is_refused_after_a_while_as_worked_on(journal, holder, monkeypatch):
    monkeypatch.setattr(_owned, "SECONDS_FOR_THE_STEP_IN_A_RUN", 0.1)
    fence = {"boot_id": None, "seconds": None, "owner": "watcher of web-0"}
    with pytest.raises(Refused) as refused:
        OwnedJournal(journal, "r1", fence).take(lambda data: data, may_be_old=True)
    assert refused.value.word == "worked_on"
    assert json.loads((journal.file.read()).decode())["run_id"] == "watcher of web-0"


def test_its_own_journal_is_not_waited_for(journal, holder):
    owned = OwnedJournal(journal, "watcher of web-0")
    assert owned.take(lambda data: dict(data, state="restoring"))["state"] == "restoring"
