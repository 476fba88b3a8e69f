# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: whole or not there, nobody else's is trusted; the lock of a step; approvals that were confirmed."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure import documents as _documents
from ansible_collections.maintenance.azure.plugins.module_utils._host import audit as _audit
from ansible_collections.maintenance.azure.plugins.module_utils._host import clock as _clock
from ansible_collections.maintenance.azure.plugins.module_utils._host import files as _files
from ansible_collections.maintenance.azure.plugins.module_utils._host import journal as _journal
from ansible_collections.maintenance.azure.plugins.module_utils._host import ownership as _ownership
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import (
    JournalError,
    JournalFile,
    all_drained,
    begun,
    marked,
    recorded,
    utc_now,
)
from ansible_collections.maintenance.azure.plugins.module_utils._host.lease import LeaseError, take
from ansible_collections.maintenance.azure.plugins.module_utils._host.ownership import (
    OwnedJournal,
    Refused,
    StepLock,
    StillLocked,
)
from ansible_collections.maintenance.azure.plugins.module_utils._steps import command_entry as _command_entry
from ansible_collections.maintenance.azure.plugins.module_utils._steps.command_entry import carried_out
from ansible_collections.maintenance.azure.plugins.module_utils._steps.machine import StepError
from ansible_collections.maintenance.azure.plugins.module_utils._steps.records import RecordFile
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import effects_seen
from helpers.waiting import PATIENCE
from helpers.watcher_process import installed
from hypothesis import given
from hypothesis import strategies as st
from tools.pythons import find_pythons

# The journal: what is in it, that it is whole or not there, and that nobody else's is trusted.

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


def test_a_file_that_others_can_write_is_not_trusted(path):
    begin(JournalFile(path))
    path.chmod(0o622)
    with pytest.raises(JournalError, match="can be written by others"):
        JournalFile(path).read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_not_trusted(path):
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
    assert not _audit.write(str(path.parent / "audit.jsonl"), "drained", 0)
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
    monkeypatch.setattr(_files, "SECONDS_FOR_THE_LOCK", 0.2)
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
        # What was undone begins anew.
        anew = [n for n, pair in enumerate(mine) if n and (mine[n - 1][0], pair[0]) == ("undone", "started")]
        assert one["before"] == {"found": mine[max(anew, default=0)][1]}


KILLED = """
import os, sys
from ansible_collections.maintenance.azure.plugins.module_utils._host import audit as _audit
from ansible_collections.maintenance.azure.plugins.module_utils._host import journal as _journal
journal = _journal.JournalFile(sys.argv[1])
rename = os.rename
os.rename = lambda old, new: os.kill(os.getpid(), 9)
journal.change(lambda data: _journal.recorded(data, [{"number": 1, "kind": "log", "status": "started"}], "t"))
"""


def test_a_writer_that_is_killed_leaves_the_old_one(path):
    journal = JournalFile(path)
    begin(journal)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", KILLED, path], env=environment, check=False, timeout=300)
    assert killed.returncode == -9
    assert journal.read()["steps"] == []
    write(journal, step(1, "started"))
    assert [file.name for file in path.parent.iterdir()] == ["journal.json"]


EVERY_PYTHON = """
import sys
from ansible_collections.maintenance.azure.plugins.module_utils._steps import runner as _runner
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import JournalFile, begun
path = sys.argv[1]
JournalFile(path).change(lambda data: begun(data, [], "r", "b", "t"))
runner = _runner.StepRunner(path, "r")
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
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr


# The lock of a step: who takes a journal over waits for the end of the step that is done, in a run or without one.

HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.maintenance.azure.plugins.module_utils._host.ownership import StepLock
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
    monkeypatch.setattr(_ownership.time, "sleep", lambda seconds: (waits.set(), pause(seconds)))
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
    monkeypatch.setattr(_ownership, "SECONDS_FOR_THE_STEP_IN_A_RUN", 0.1)
    fence = {"boot_id": None, "seconds": None, "owner": "watcher of web-0"}
    with pytest.raises(Refused) as refused:
        OwnedJournal(journal, "r1", fence).take(lambda data: data, may_be_old=True)
    assert refused.value.word == "worked_on"
    assert json.loads((journal.file.read()).decode())["run_id"] == "watcher of web-0"


def test_its_own_journal_is_not_waited_for(journal, holder):
    owned = OwnedJournal(journal, "watcher of web-0")
    assert owned.take(lambda data: dict(data, state="restoring"))["state"] == "restoring"


# An approval that has come to something is told once, by the host that has sent it, along with its return.

STARTED = {"shown": "Started", "at": "2026-11-16T00:20:40Z", "incarnation": 8}
MARKS = [{"event": "E0", "hosts": ["web", "db"], "at": 5.0}, {"event": "E1", "hosts": ["web"], "at": 7.0}]


class Web:
    """A host that a run has drained, and from which it has sent the approval of E0 but not that of E1."""

    def __init__(self, folder):
        self.journal, self.record = JournalFile(str(folder / "journal.json")), folder / "audit.jsonl"
        step = {"number": 1, "kind": "command", "arguments": {"restore": ["true"]}, "status": "done"}
        self.journal.change(lambda data: begun(data, [{"id": "E0"}], "r1", _clock.boot_id(), utc_now()))
        self.journal.change(lambda data: recorded(data, [step], utc_now()))
        self.journal.change(lambda data: marked(marked(data, MARKS[:1], about_to_send=True), MARKS[1:]))

    def restore(self, effects, check_mode=False, fails=False):
        command = "false" if fails else "true"
        step = {"number": 1, "kind": "command", "arguments": {"restore": [command]}, "before": {}}
        order = {
            "perform": "steps",
            "direction": "restore",
            "timeout": 30,
            "journal": self.journal.path,
            "run_id": "r1",
            "orders": [{"perform": "step", "step": step, "finished": [], "final": "closed"}],
            "audit": {"file": str(self.record), "run_id": "r1", "host": "web"},
            "open": {"expected": (self.journal.read() or {}).get("steps"), "fence": None, "effects": effects},
        }
        return _command_entry.carried_out(order, check_mode)

    def told(self):
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [line for line in map(json.loads, lines) if line["what"] == "approval confirmed"]


@pytest.fixture
def web(tmp_path, proc):
    return Web(tmp_path)


def test_it_is_told_before_the_host_is_in_service(web):
    web.restore({"e0 ": STARTED, "E1": STARTED, "E9": STARTED})
    (line,) = web.told()
    assert (line["event"], line["shown"], line["seen_at"]) == ("E0", "Started", "2026-11-16T00:20:40Z")
    assert (line["incarnation"], line["sent_at"], line["by"]) == (8, "1970-01-01T00:00:05Z", "run r1")
    assert [json.loads(one)["what"] for one in web.record.read_text().splitlines()] == [
        "approval confirmed",
        "returned to service",
    ]


def test_it_is_told_once_also_where_the_return_is_tried_again(web):
    assert web.restore({"E0": STARTED}, fails=True)["results"][-1]["failed"]
    assert len(web.told()) == 1
    web.restore({"E0": {**STARTED, "shown": "gone"}})
    assert len(web.told()) == 1
    assert web.journal.read() is None


@pytest.mark.parametrize("effects", [None, {}, {"E1": STARTED}])
def test_nothing_is_told_of_what_was_not_seen_or_not_sent_from_here(web, effects):
    web.restore(effects)
    assert web.told() == []


def test_nothing_is_told_in_check_mode(web):
    web.restore({"E0": STARTED}, check_mode=True)
    assert web.told() == []
    assert not any(mark.get("confirmed") for mark in web.journal.read()["marks"])


def test_one_that_another_host_sends_again_was_sent_from_here_all_the_same(web):
    web.journal.change(lambda data: marked(data, [{**MARKS[0], "at": 90.0}]))
    web.restore({"E0": STARTED})
    assert [line["sent_at"] for line in web.told()] == ["1970-01-01T00:01:30Z"]


@pytest.mark.parametrize("at", ["soon", None, 1e300, float("nan")])
def test_a_mark_that_is_damaged_has_no_time(web, at):
    data = web.journal.read()
    data["marks"][0]["at"] = at
    (told,) = _documents.newly_confirmed(data, {"E0": STARTED})
    assert told["sent_at"] is None


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([{"id": "e0", "status": "Started"}, {"id": "E1", "status": "Scheduled"}], {"E0": "Started"}),
        ([{"id": "E1", "status": "Scheduled"}], {"E0": "gone"}),
        ([], {"E0": "gone", "E1": "gone"}),
        ([{"id": "E0", "status": "Scheduled"}, {"id": "E1", "status": "Scheduled"}], {}),
    ],
)
def test_what_an_earlier_run_has_sent_is_confirmed_by_a_reading(events, shown):
    status = {"journal": {"marks": MARKS}, "events": events, "read_at": "now", "document_incarnation": 4}
    seen = effects_seen(None, status)
    assert {event: one["shown"] for event, one in seen.items()} == shown
    assert all((one["at"], one["incarnation"]) == ("now", 4) for one in seen.values())


def test_what_was_waited_for_goes_before_a_reading():
    status = {"journal": {"marks": MARKS}, "events": [], "read_at": "now", "document_incarnation": 4}
    assert effects_seen({"effects": {"E0": STARTED}}, status)["E0"] == STARTED


@pytest.mark.parametrize("status", [None, "x", {}, {"journal": None}, {"journal": {"marks": MARKS}}, {"events": []}])
def test_without_a_good_reading_nothing_is_confirmed(status):
    assert effects_seen({"effects": None}, status) == {}
