# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock file of one keeper: who gets it, when it ends, and what is never taken for a free lock."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._lock import lock_file as _lock_file
from ansible_collections.maintenance.azure.plugins.module_utils._lock.lock_file import (
    LockFileError,
    give_back,
    read,
    take,
)
from tools.pythons import find_pythons

NOW = 1794787232.25  # 2026-11-16T00:00:32.25Z
MODULE_UTILS = Path(_lock_file.__file__).resolve().parent
RACE = """
import json, multiprocessing, os, sys
sys.path.insert(0, sys.argv[1])
import lock_file as _lock_file

def owner(name):
    return dict(run_id=name, controller="c", host="h", pid=1, process_start="1", user="u", note="")

def path(i):
    return os.path.join(sys.argv[2], str(i), "run.lock")

def run(name, barrier, won):
    dead = None
    for i in range(200):
        if i % 3 == 2:
            dead = _lock_file.read(path(i))
        barrier.wait()
        answer = _lock_file.take(path(i), owner(name), 60, replace=dead)
        if answer["held"]:
            won.append(i)
        barrier.wait()
        answer = _lock_file.give_back(path(i), owner(name))
        assert answer["changed"] == (i in won), i
    barrier.wait()
    print(json.dumps(won))

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    for i in range(200):  # a third each: free, expired, and of an owner who is dead
        if i % 3:
            _lock_file.take(path(i), owner("old"), 600 if i % 3 == 2 else -600)
    barrier = fork.Barrier(2, timeout=30)
    queue = fork.Queue()

    def racer(name):
        won = []
        run(name, barrier, won)
        queue.put(won)

    racers = [fork.Process(target=racer, args=(name,)) for name in "ab"]
    for process in racers:
        process.start()
    both = [queue.get(timeout=50), queue.get(timeout=50)]
    for process in racers:
        process.join()
    assert [process.exitcode for process in racers] == [0, 0]
    assert sorted(both[0] + both[1]) == list(range(200)), both
"""


def owner(run_id="one", **more):
    return {
        "run_id": run_id,
        "controller": "c1",
        "host": "ctl1",
        "pid": 42,
        "process_start": "4711",
        "user": "deploy",
        "note": "",
        **more,
    }


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "state" / "run.lock")


@pytest.mark.once
@pytest.mark.parametrize("version", [v for v in find_pythons() if int(v.split(".")[1]) >= 6])
def test_of_two_that_race_exactly_one_wins(version, tmp_path):
    command = [find_pythons()[version], "-B", "-c", RACE, str(MODULE_UTILS), str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, process.stderr


def test_a_free_lock_is_taken(path):
    answer = take(path, owner(), 300, now=NOW)
    assert (answer["held"], answer["changed"], answer["renewed"], answer["took_over_from"]) == (True, True, False, None)
    assert answer["holder"]["seconds_left"] == 301
    assert read(path) == {**owner(), "taken_at": "2026-11-16T00:00:33Z", "expires_at": "2026-11-16T00:05:33Z"}
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in Path(path).parent.iterdir()) == ["run.lock", "run.lock.guard"]


def test_renewing_keeps_when_it_was_taken(path):
    take(path, owner(), 300, now=NOW)
    answer = take(path, owner(), 300, now=NOW + 100)
    assert (answer["held"], answer["changed"], answer["renewed"]) == (True, False, True)
    assert (answer["holder"]["taken_at"], answer["holder"]["expires_at"]) == (
        "2026-11-16T00:00:33Z",
        "2026-11-16T00:07:13Z",
    )


def test_a_lock_that_has_ended_is_still_renewed_if_nobody_took_it(path):
    take(path, owner(), 300, now=NOW)
    assert take(path, owner(), 300, now=NOW + 1000)["renewed"]


@pytest.mark.parametrize(("later", "held"), [(0, False), (299, False), (300, False), (301, True), (9999, True)])
def test_somebody_else_gets_it_after_its_end(path, later, held):
    take(path, owner(), 300, now=NOW)
    answer = take(path, owner("two"), 300, now=NOW + later)
    assert answer["held"] is held
    assert read(path)["run_id"] == ("two" if held else "one")
    if held:
        assert (answer["took_over_from"]["run_id"], answer["took_over_from"]["reason"]) == ("one", "expired")
    else:
        assert answer["holder"]["run_id"] == "one"


@pytest.mark.parametrize(
    "other", [{"controller": "c2"}, {"host": "ctl2"}, {"pid": 43}, {"process_start": "4712"}, {"run_id": "two"}]
)
def test_the_same_name_does_not_make_it_the_same_run(path, other):
    take(path, owner(), 300, now=NOW)
    assert not take(path, owner(**other), 300, now=NOW)["held"]
    assert not give_back(path, owner(**other), now=NOW)["changed"]
    assert read(path) is not None


def test_a_dead_owner_is_replaced_only_if_it_is_still_the_owner(path):
    take(path, owner(), 300, now=NOW)
    dead = read(path)
    answer = take(path, owner("two"), 300, replace=dead, now=NOW)
    assert (answer["held"], answer["took_over_from"]) == (True, {**dead, "reason": "dead"})
    assert not take(path, owner("three"), 300, replace=dead, now=NOW)["held"]


def test_giving_back(path):
    assert not give_back(path, owner(), now=NOW)["changed"]
    take(path, owner(), 300, now=NOW)
    theirs = give_back(path, owner("two"), now=NOW)
    assert (theirs["changed"], theirs["holder"]["run_id"]) == (False, "one")
    ours = give_back(path, owner(), now=NOW)
    assert (ours["changed"], ours["holder"]) == (True, None)
    assert not Path(path).exists()


def test_a_dry_run_writes_nothing(path):
    answer = take(path, owner(), 300, now=NOW, dry=True)
    assert (answer["held"], answer["changed"]) == (True, True)
    assert not Path(path).parent.exists()
    take(path, owner(), 300, now=NOW)
    assert not take(path, owner("two"), 300, now=NOW, dry=True)["held"]
    assert give_back(path, owner(), now=NOW, dry=True)["changed"]
    assert read(path)["run_id"] == "one"


GOOD = {**owner(), "taken_at": "2026-11-16T00:00:33Z", "expires_at": "2026-11-16T00:05:33Z"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 200,
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{}",
        json.dumps(GOOD)[:-20].encode(),
        json.dumps({**GOOD, "expires_at": "tomorrow"}).encode(),
        json.dumps({**GOOD, "expires_at": 0}).encode(),
        json.dumps({**GOOD, "pid": "42"}).encode(),
        json.dumps({**GOOD, "run_id": None}).encode(),
    ],
)
def test_a_damaged_file_is_never_a_free_lock(path, content):
    Path(path).parent.mkdir()
    Path(path).write_bytes(content)
    for deed in (lambda: take(path, owner(), 300), lambda: take(path, owner(), 300, dry=True), lambda: read(path)):
        with pytest.raises(LockFileError, match=r"does not tell who holds the lock\. Make sure that no run is at work"):
            deed()
    with pytest.raises(LockFileError):
        give_back(path, owner())
    assert Path(path).read_bytes() == content


def test_a_path_that_can_not_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "run.lock", tmp_path / "file" / "deeper" / "run.lock"):
        with pytest.raises(LockFileError, match="can't be written: Not a directory"):
            take(str(path), owner(), 300)
    (tmp_path / "folder").mkdir()
    with pytest.raises(LockFileError, match="can't be read: Is a directory"):
        take(str(tmp_path / "folder"), owner(), 300)


def test_a_guard_that_is_never_given_back_is_told(path, monkeypatch):
    monkeypatch.setattr(_lock_file, "SECONDS_FOR_THE_GUARD", 0.1)
    with _lock_file._guard(path, dry=False), pytest.raises(LockFileError, match=r"has kept .*run\.lock\.guard"):
        take(path, owner(), 300)
    assert take(path, owner(), 300)["held"]


def test_a_write_that_fails_leaves_the_old_record(path, monkeypatch):
    take(path, owner(), 300, now=NOW)
    before = read(path)

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LockFileError, match="No space left on device"):
        take(path, owner(), 300, now=NOW + 10)
    assert read(path) == before
    assert sorted(file.name for file in Path(path).parent.iterdir()) == ["run.lock", "run.lock.guard"]
