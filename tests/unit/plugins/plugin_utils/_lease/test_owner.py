# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who an owner is, and whether it lives."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock import owner as _lock_owner
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.holder import owner_in_words
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.owner import RunHasEnded, is_dead, this_run

FORK = multiprocessing.get_context("fork")
HOLDER = {
    "run_id": "nightly",
    "user": "deploy",
    "host": "ctl1",
    "note": "job 7",
    "taken_at": "2026-11-16T00:00:00Z",
}


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def of_process(pid):
    return {**this_run("x", ""), "pid": pid, "process_start": _lock_owner._process(pid)[0]}


def test_this_run_is_alive():
    me = this_run("x", "note")
    assert me["pid"] == os.getppid()
    assert not is_dead(me, me["controller"])


def _after_the_run_was_killed(told):
    while multiprocessing.parent_process().pid == os.getppid():
        time.sleep(0.01)
    try:
        told.send(this_run("x", ""))
    except RunHasEnded as error:
        told.send(str(error))


def _killed_run(told):
    FORK.Process(target=_after_the_run_was_killed, args=(told,)).start()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_outlives_its_run_is_no_owner():
    # Workers of a killed ansible-playbook finish their task; a lock that they take could be taken over by nobody.
    heard, told = FORK.Pipe(duplex=False)
    run = FORK.Process(target=_killed_run, args=(told,))
    run.start()
    run.join()
    assert heard.poll(30)
    assert "was killed" in heard.recv()


def test_a_process_is_dead_once_it_has_ended_even_if_nobody_has_looked(child):
    owner = of_process(child.pid)
    assert not is_dead(owner, owner["controller"])
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(owner, owner["controller"])
    child.wait()
    assert is_dead(owner, owner["controller"])


def test_another_process_with_the_same_number_is_not_the_owner(child):
    owner = {**of_process(child.pid), "process_start": "1"}
    assert is_dead(owner, owner["controller"])


@pytest.mark.parametrize("change", [{"controller": "other"}, {"process_start": ""}, {"pid": 0}, {"pid": -1}])
def test_what_can_not_be_known_counts_as_alive(child, change):
    owner = of_process(child.pid)
    child.kill()
    child.wait()
    assert not is_dead({**owner, **change}, owner["controller"])
    assert not is_dead({**owner, "controller": ""}, "")


def test_a_number_that_no_process_can_have_is_no_crash():
    me = this_run("x", "")
    assert not is_dead({**me, "pid": 2**80}, me["controller"])


def test_a_process_that_is_hidden_counts_as_alive(child, monkeypatch, tmp_path):
    owner = of_process(child.pid)
    monkeypatch.setattr(_lock_owner, "PROC", tmp_path)
    assert not is_dead(owner, owner["controller"])
    assert this_run("x", "")["controller"] == ""


def test_a_record_is_shown_as_letters_only():
    assert "\x1b" not in owner_in_words({**HOLDER, "user": "\x1b[2J", "run_id": "a\nb"})


def test_an_owner_in_words():
    assert owner_in_words(HOLDER) == "run nightly of deploy@ctl1 (job 7), since 2026-11-16T00:00:00Z"
    assert owner_in_words({**HOLDER, "note": "", "seconds_left": 83}).endswith(
        "deploy@ctl1, since 2026-11-16T00:00:00Z, for 83 seconds more"
    )
    # A liar leaves something out.
    assert owner_in_words({}) == "run ? of ?@? (?), since ?"
