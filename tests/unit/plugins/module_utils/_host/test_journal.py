# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: what is in it, that it is whole or not there, and that nobody else's is believed."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain import journal as _journal
from ansible_collections.maintenance.azure.plugins.module_utils._drain import kept_file
from ansible_collections.maintenance.azure.plugins.module_utils._drain.host import StepError
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import (
    JournalError,
    JournalFile,
    all_drained,
    begun,
    recorded,
)
from ansible_collections.maintenance.azure.plugins.module_utils._drain.records import RecordFile
from ansible_collections.maintenance.azure.plugins.module_utils._lock.lease_file import LeaseError, take
from hypothesis import given
from hypothesis import strategies as st
from tools.pythons import find_pythons

EVENT = {"id": "A1", "type": "Reboot"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "journal.json"


def begin(journal, run_id="r1", boot="b1", events=(EVENT,)):
    return journal.change(lambda data: begun(data, list(events), run_id, boot, "t0"))


def write(journal, *records, run_id="r1"):
    return journal.change(lambda data: recorded(data, list(records), "t1"), run_id)


def step(number, status, kind="command", **more):
    return {"number": number, "kind": kind, "arguments": {"a": 1}, "status": status, **more}


def test_none_is_none(path):
    assert JournalFile(path).read() is None
    assert not path.parent.exists()


def test_a_drain_from_begin_to_close(path):
    journal = JournalFile(path)
    begin(journal)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    write(journal, step(1, "started", before={"x": 1}))
    with pytest.raises(JournalError, match=r"step 1 \(command\) is started"):
        journal.change(lambda data: all_drained(data, "t2"))
    write(journal, step(1, "done"), step(2, "started"))
    write(journal, step(2, "done"))
    data = journal.change(lambda data: all_drained(data, "t2"))
    assert (data["state"], data["drained_at"], data["boot_id"]) == ("drained", "t2", "b1")
    assert [one["status"] for one in data["steps"]] == ["done", "done"]
    with pytest.raises(JournalError, match="not undone yet: step 1"):
        journal.close()
    write(journal, {"number": 1, "status": "undone"}, {"number": 2, "status": "undone"})
    journal.close()
    assert [file.name for file in path.parent.iterdir()] == ["journal.last.json"]
    assert json.loads((path.parent / "journal.last.json").read_text())["state"] == "restored"


def test_what_was_found_first_stays(path):
    journal = JournalFile(path)
    begin(journal)
    write(journal, step(1, "started", before={"running": ["nginx"]}))
    write(journal, step(1, "failed", error="no"))
    data = write(journal, step(1, "started", before={"running": []}))
    assert data["steps"][0]["before"] == {"running": ["nginx"]}
    assert "error" not in data["steps"][0]


def test_a_reboot_makes_what_is_done_uncertain(path):
    journal = JournalFile(path)
    begin(journal)
    write(journal, step(1, "done", before={"x": 1}))
    journal.change(lambda data: all_drained(data, "t2"))
    assert begin(journal)["state"] == "drained"
    data = begin(journal, boot="b2")
    assert (data["state"], data["boot_id"]) == ("draining", "b2")
    assert (data["steps"][0]["status"], data["steps"][0]["before"]) == ("started", {"x": 1})


def test_draining_again_what_was_being_restored_looks_anew(path):
    journal = JournalFile(path)
    begin(journal)
    write(journal, step(1, "done", before={"x": 1}), step(2, "done", before={"x": 2}))
    journal.change(lambda data: dict(recorded(data, [{"number": 2, "status": "undone"}], "t"), state="restoring"))
    data = begin(journal)
    assert data["state"] == "draining"
    assert [one["number"] for one in data["steps"]] == [1]


def test_events_are_added_once(path):
    journal = JournalFile(path)
    begin(journal)
    data = begin(journal, events=[{"id": "a1"}, {"id": "B2"}])
    assert [event["id"] for event in data["events"]] == ["A1", "B2"]


def test_another_run_is_refused(path):
    journal = JournalFile(path)
    begin(journal, run_id="r1")
    begin(journal, run_id="r2")
    with pytest.raises(JournalError, match=r"taken over by another run \(r2\)"):
        write(journal, step(1, "started"), run_id="r1")


def test_check_mode_writes_nothing(path):
    data = begin(JournalFile(path, predict_only=True))
    assert data["state"] == "draining"
    assert not path.parent.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 2}',
        '{"version": 1}',
        "\udcff",
        '{"version": 1, "state": "drained", "events": [], "steps": [{}]}',
    ],
)
def test_what_cannot_be_understood_is_never_taken_for_nothing(path, text):
    path.parent.mkdir()
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    path.chmod(0o600)
    for use in (JournalFile(path).read, lambda: begin(JournalFile(path)), JournalFile(path).close):
        with pytest.raises(JournalError, match="not known what was drained"):
            use()
    assert path.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_link_is_not_followed(path, tmp_path):
    begin(JournalFile(tmp_path / "other.json"))
    path.parent.mkdir()
    path.symlink_to(tmp_path / "other.json")
    with pytest.raises(JournalError, match="symbolic link"):
        JournalFile(path).read()


def test_a_file_that_others_can_write_is_not_believed(path):
    begin(JournalFile(path))
    path.chmod(0o622)
    with pytest.raises(JournalError, match="can be written by others"):
        JournalFile(path).read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_not_believed(path):
    begin(JournalFile(path))
    os.chown(path, 12345, 12345)
    with pytest.raises(JournalError, match="belongs to user id 12345"):
        JournalFile(path).read()


def test_a_folder_for_everybody_is_refused(path):
    path.parent.mkdir()
    path.parent.chmod(0o777)
    with pytest.raises(JournalError, match="can be written by everybody"):
        begin(JournalFile(path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_folder_of_somebody_else_is_refused_for_whatever_is_kept_there(path, mode):
    path.parent.mkdir()
    os.chown(path.parent, 12345, 12345)
    path.parent.chmod(mode)
    with pytest.raises(JournalError, match=r"folder of the journal, .*, belongs to user id 12345.*drain_journal"):
        begin(JournalFile(path))
    me = dict.fromkeys(("run_id", "controller", "host", "process_start", "user", "note"), "x")
    with pytest.raises(LeaseError, match=r"folder of the lock file, .*, belongs to user id 12345"):
        take(str(path), {**me, "pid": 1}, 90)
    with pytest.raises(StepError, match=r"folder of the record, .*, belongs to user id 12345"):
        RecordFile(str(path.parent), {"acts_on": {}, "events": []}, "r1", predict_only=False).claimed(dict)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "advice"), [(errno.ENOSPC, "Make room"), (errno.EACCES, "become"), (errno.EIO, "Look at")]
)
def test_a_write_that_fails_leaves_the_old_one(path, monkeypatch, number, advice):
    journal = JournalFile(path)
    begin(journal)
    before = path.read_text()

    def fail(_descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(JournalError, match=advice):
        write(journal, step(1, "started"))
    assert path.read_text() == before
    assert [file.name for file in path.parent.iterdir()] == ["journal.json"]


def test_a_path_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="could not be written"):
        begin(JournalFile(tmp_path / "file" / "journal.json"))


def test_writers_wait_for_each_other(path):
    journal = JournalFile(path)
    begin(journal)
    threads = [
        threading.Thread(target=write, args=(JournalFile(path), step(number, "done"))) for number in range(1, 21)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one["number"] for one in journal.read()["steps"]] == list(range(1, 21))


def test_a_lock_that_stays_is_an_error(path, monkeypatch):
    monkeypatch.setattr(kept_file, "SECONDS_FOR_THE_LOCK", 0.2)
    journal = JournalFile(path)
    begin(journal)
    with journal.file.locked(), pytest.raises(JournalError, match="locked by another process"):
        write(JournalFile(path), step(1, "started"))


def test_marks_are_kept_once_for_each_event(path):
    journal = JournalFile(path)
    begin(journal)
    for at in (1.0, 2.0):
        journal.change(lambda data, at=at: _journal.marked(data, [{"event": "E0", "hosts": ["web"], "at": at}]))
    journal.change(lambda data: _journal.marked(data, [{"event": "E1", "hosts": ["web"], "at": 3.0}]))
    assert [(mark["event"], mark["at"]) for mark in journal.read()["marks"]] == [("E0", 2.0), ("E1", 3.0)]


def test_damaged_marks_are_not_taken_for_none(path):
    journal = JournalFile(path)
    begin(journal)
    path.write_text(json.dumps({**json.loads(path.read_text()), "marks": ["E0"]}))
    with pytest.raises(JournalError, match="parts of it are missing"):
        journal.read()


STATUSES = st.sampled_from(["started", "done", "failed", "undone"])


@given(st.lists(st.tuples(st.integers(1, 5), STATUSES, st.integers(0, 9)), max_size=30))
def test_the_last_status_and_the_first_state_hold(records):
    data = begun(None, [], "r", "b", "t")
    for number, status, found in records:
        data = recorded(data, [step(number, status, before={"found": found})], "t")
    numbers = [number for number, _status, _found in records]
    assert [one["number"] for one in data["steps"]] == sorted(set(numbers))
    for one in data["steps"]:
        mine = [(status, found) for number, status, found in records if number == one["number"]]
        assert one["status"] == mine[-1][0]
        assert one["before"] == {"found": mine[0][1]}


KILLED = """
import os, sys
from ansible_collections.maintenance.azure.plugins.module_utils._drain import journal as _journal
journal = _journal.JournalFile(sys.argv[1])
rename = os.rename
os.rename = lambda old, new: os.kill(os.getpid(), 9)
journal.change(lambda data: _journal.recorded(data, [{"number": 1, "kind": "log", "status": "started"}], "t"))
"""


def test_a_writer_that_is_killed_leaves_the_old_one(path):
    journal = JournalFile(path)
    begin(journal)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", KILLED, path], env=environment, check=False, timeout=30)
    assert killed.returncode == -9
    assert journal.read()["steps"] == []
    write(journal, step(1, "started"))
    assert [file.name for file in path.parent.iterdir()] == ["journal.json"]


EVERY_PYTHON = """
import sys
from ansible_collections.maintenance.azure.plugins.module_utils._drain import step_runner as _step_runner
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalFile, begun
path = sys.argv[1]
JournalFile(path).change(lambda data: begun(data, [], "r", "b", "t"))
runner = _step_runner.StepRunner(path, "r")
made = path + ".made"
step = {"number": 1, "kind": "command", "before": None,
        "arguments": {"drain": ["touch", made], "restore": ["rm", made], "timeout": 20}}
assert runner.drain(step, 20, final="drained")["state"] == "drained"
open(made).close()
step["before"] = JournalFile(path).read()["steps"][0]["before"]
assert runner.restore(step, 20, final="closed")["state"] == "restored"
assert JournalFile(path).read() is None
"""


@pytest.mark.once
@pytest.mark.parametrize("version", [v for v in find_pythons() if int(v.split(".")[1]) >= 6])
def test_every_python(version, path, tmp_path):
    """The host half alone, as Ansible brings it to a host."""
    folder = tmp_path / "host" / "ansible_collections" / "maintenance" / "azure" / "plugins"
    folder.mkdir(parents=True)
    (folder / "module_utils").symlink_to(Path(_journal.__file__).resolve().parents[1])
    process = subprocess.run(
        [find_pythons()[version], "-W", "error", "-B", "-c", EVERY_PYTHON, path],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "host")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stderr
