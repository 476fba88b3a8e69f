# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who an owner is, whether it lives, and what several keepers mean together."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock import owner as _lock_owner
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.owner import (
    RunHasEnded,
    in_words,
    is_dead,
    this_run,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.quorum import choose_keepers, verdict

FORK = multiprocessing.get_context("fork")
NOW = "2026-11-16T00:00:32Z"
HOLDER = {
    "run_id": "nightly",
    "user": "deploy",
    "host": "ctl1",
    "note": "job 7",
    "taken_at": "2026-11-16T00:00:00Z",
    "expires_at": "2026-11-16T00:05:00Z",
}
HELD = {"held": True, "renewed": True, "changed": False, "good_until": "2026-11-16T00:05:00Z", "took_over_from": None}
FRESH = {**HELD, "renewed": False, "changed": True}
BUSY = {"held": False, "renewed": False, "changed": False, "holder": HOLDER, "took_over_from": None}
AWAY = {"unreachable": True, "msg": "No route to host"}
BROKEN = {"failed": False, "msg": "The lock file is damaged"}


def results(*each):
    return [{**result, "ansible_loop_var": "__k", "__k": f"k{number}"} for number, result in enumerate(each)]


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
    assert "\x1b" not in in_words({**HOLDER, "user": "\x1b[2J", "run_id": "a\nb"})


def test_keepers_are_the_same_whatever_the_order():
    assert choose_keepers(["web-10", "web-2", "web-1", "db", "web-2"], 3) == ["db", "web-1", "web-2"]
    assert choose_keepers(["web-10", "web-2"]) == ["web-2", "web-10"]


@pytest.mark.parametrize(
    ("each", "held"),
    [
        ([FRESH], True),
        ([BUSY], False),
        ([FRESH, AWAY], False),
        ([FRESH, FRESH], True),
        ([FRESH, HELD, AWAY], True),
        ([FRESH, AWAY, AWAY], False),
        ([FRESH, BUSY, FRESH], True),
        ([FRESH, BUSY, BROKEN], False),
        ([FRESH, FRESH, AWAY, BROKEN], False),
        ([FRESH, FRESH, FRESH, AWAY], True),
        ([FRESH, {**FRESH, "good_until": NOW}, BUSY], False),
    ],
)
def test_a_majority_holds_it(each, held):
    assert verdict(results(*each), NOW)["held"] is held


@pytest.mark.parametrize(
    ("each", "held"), [([HELD, HELD, FRESH], True), ([HELD, FRESH, FRESH], False), ([HELD, HELD, AWAY], True)]
)
def test_a_renewal_is_unbroken_if_a_majority_was_still_ours(each, held):
    assert verdict(results(*each), NOW, unbroken=True)["held"] is held


def test_the_verdict_names_the_owner_and_every_keeper():
    found = verdict(results(FRESH, BUSY, BUSY, AWAY, BROKEN), NOW)
    assert found["keepers"] == {
        "k0": "held",
        "k1": "busy",
        "k2": "busy",
        "k3": "unreachable",
        "k4": "The lock file is damaged",
    }
    assert (found["holder"], found["changed"]) == (HOLDER, True)
    for part in (
        "run nightly of deploy@ctl1 (job 7), since 2026-11-16T00:00:00Z, until 2026-11-16T00:05:00Z at the latest",
        "maintenance_lock_wait",
        "1 of 5 keepers",
        "it takes 3",
    ):
        assert part in found["msg"]


def test_what_was_lost_and_what_was_taken_over_is_said():
    assert "has lost the run lock" in verdict(results(FRESH, BUSY, BUSY), NOW, unbroken=True)["msg"]
    over = verdict(results({**FRESH, "took_over_from": {**HOLDER, "reason": "dead"}}), NOW)
    assert over["took_over_from"]["run_id"] == "nightly"
    assert "taken over from run nightly" in over["msg"]
    assert "maintenance_lock_hosts" in verdict(results(FRESH, AWAY, AWAY), NOW)["msg"]


def test_no_keeper_is_no_lock():
    with pytest.raises(ValueError, match="no keeper"):
        verdict([], NOW)
