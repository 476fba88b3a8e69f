# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark of a run, and files of a user who may be hostile: a root process must not believe or follow them."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import threading
import time
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import HttpTransport
from ansible_collections.maintenance.azure.plugins.module_utils._host import ownership as _ownership
from ansible_collections.maintenance.azure.plugins.module_utils._host import run_mark as _host_run_mark
from ansible_collections.maintenance.azure.plugins.module_utils._host.clock import boot_id
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import SharedFile
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import (
    JournalError,
    JournalFile,
    begun,
    utc_now,
)
from ansible_collections.maintenance.azure.plugins.module_utils._host.run_mark import SECONDS_OF_A_MARK
from ansible_collections.maintenance.azure.plugins.module_utils._steps import command_entry as _command_entry
from ansible_collections.maintenance.azure.plugins.module_utils._watcher import protocol as _protocol
from ansible_collections.maintenance.azure.plugins.module_utils._watcher import reflex as _reflex
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.decide import NO_RUN, RunMark, Sightings
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.watch import Reader
from helpers.waiting import PATIENCE

# Files beside the status, in a directory of the watcher's user: what a root process makes of lies and links.

SOMEBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")


def in_time(function):
    """What it returns; one that waits for ever fails, and does not hold up the others."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found, "it hangs"
    return found[0]


def a_good_mark():
    return json.dumps({"run_id": "r", "until": time.time() + 80})


def test_a_mark_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "run.json")
    assert in_time(lambda: _protocol.read_run_mark(str(tmp_path / "run.json"))) == NO_RUN


def test_a_mark_that_is_a_link_is_none(tmp_path):
    (tmp_path / "elsewhere").write_text(a_good_mark())
    (tmp_path / "run.json").symlink_to(tmp_path / "elsewhere")
    assert _protocol.read_run_mark(str(tmp_path / "run.json")) == NO_RUN


@pytest.mark.parametrize("content", ["[" * 9999, '{"until": NaN}', '{"until": -Infinity}', "\ud800", "{}" * 20000])
def test_a_mark_that_is_damaged_on_purpose_is_none(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    assert _protocol.read_run_mark(str(tmp_path / "run.json")) == NO_RUN


@needs_root
def test_only_root_can_say_that_a_run_is_there(tmp_path):
    mark = tmp_path / "run.json"
    mark.write_text(a_good_mark())
    assert _protocol.read_run_mark(str(mark)) == RunMark(True, True)
    os.chown(mark, SOMEBODY, SOMEBODY)
    assert _protocol.read_run_mark(str(mark)) == NO_RUN


@pytest.mark.parametrize("kind", ["link", "dead link", "pipe", "file"])
def test_nothing_is_written_through_what_stands_where_a_new_file_is_made(tmp_path, kind):
    target, place = tmp_path / "target", tmp_path / "reflexes.json"
    target.write_text("kept")
    fresh = tmp_path / f"reflexes.json.{os.getpid()}"
    if kind == "pipe":
        os.mkfifo(fresh)
    elif kind == "file":
        os.link(target, fresh)
    else:
        fresh.symlink_to(target if kind == "link" else tmp_path / "nowhere")
    in_time(lambda: SharedFile(str(place)).write("new"))
    assert (place.read_text(), target.read_text()) == ("new", "kept")
    assert stat.S_ISREG(place.lstat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reflexes.json", "target"]


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_mark_is_never_put_into_a_folder(tmp_path, kind):
    elsewhere, run = tmp_path / "elsewhere", tmp_path / "run"
    elsewhere.mkdir()
    run.mkdir()
    if kind == "link":
        (run / "run.json").symlink_to(elsewhere)
    else:
        (run / "run.json").mkdir()
    left = leave(run / "run.json", "r")["left"]
    assert list(elsewhere.iterdir()) == []
    assert left is (kind == "link")
    assert [path.name for path in run.iterdir()] == ["run.json"]
    if left:
        assert stat.S_ISREG((run / "run.json").lstat().st_mode)


class Host:
    """Reflexes in this process, against the simulator."""

    def __init__(self, folder, simulator, **more):
        self.folder, self.said = folder, []
        given = {"name": "web-0", "status_file": str(folder / "status.json"), "journal": str(folder / "journal.json")}
        rules = {"reflex": [{"action": "drain"}], "steps": []}
        settings = {**_protocol.DEFAULTS, **_protocol.REFLEX_DEFAULTS, **given, **rules, **more}
        reader = Reader([HttpTransport(simulator.endpoint("web-0"), keep=False)], "2020-07-01", "web-0")
        self.reflexes = _reflex.Reflexes(settings, reader, self.said.append)

    def keep(self, name, text):
        path = self.folder / name
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        path.chmod(0o600)
        return path


@pytest.fixture
def host(tmp_path, simulator):
    return Host(tmp_path, simulator)


def test_news_without_end_do_not_make_it_ask_without_end(host, simulator, monkeypatch):
    trigger, over = host.folder / "reflex", threading.Event()
    read = host.reflexes.reader.read

    def read_and_get_news():
        read()
        if not over.is_set():
            trigger.touch()

    monkeypatch.setattr(host.reflexes.reader, "read", read_and_get_news)
    worker = threading.Thread(target=host.reflexes.run, daemon=True)
    began = time.monotonic()
    worker.start()
    try:
        while len(simulator.log()) < 6:
            assert time.monotonic() - began < PATIENCE
            time.sleep(0.05)
        # Each comes a quarter of a second after the one before, whatever is told.
        assert time.monotonic() - began >= 5 * _protocol.SHORTEST_INTERVAL
    finally:
        over.set()
    worker.join(PATIENCE)
    assert not worker.is_alive()


def test_news_that_can_not_be_taken_away_are_none(host, simulator, monkeypatch):
    """It does not end either: what starts it would start it again, without end."""
    monkeypatch.setattr(_reflex, "SECONDS_BETWEEN_READINGS", 0.5)
    trigger = host.folder / "reflex"
    (trigger / "in the way").mkdir(parents=True)
    worker = threading.Thread(target=host.reflexes.run, daemon=True)
    began = time.monotonic()
    worker.start()
    while len(simulator.log()) < 3:
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)
    assert time.monotonic() - began >= 1
    assert worker.is_alive()
    (trigger / "in the way").rmdir()
    worker.join(PATIENCE)
    assert not worker.is_alive()
    assert not trigger.exists()


SIGHTINGS = {"incarnation": 1, "generation": 1, "seen": {}, "others_gone_at": None}


@pytest.mark.parametrize(
    "memory",
    [
        "[" * 5000,
        "{",
        [],
        {"sightings": [], "gone": [], "approvals": []},
        {"sightings": {**SIGHTINGS, "others_gone_at": "long ago"}},
        {"sightings": {**SIGHTINGS, "generation": "1"}},
        {"sightings": {**SIGHTINGS, "seen": {"a1": ["x", 1, None, 2]}}},
        {"sightings": {**SIGHTINGS, "seen": {"a1": [{}, True, "", False]}}},
        {"gone": {"boot_id": None}, "approvals": "many"},
        {"gone": {"boot_id": None, "seconds": "x"}, "approvals": -1},
    ],
)
def test_a_memory_that_is_damaged_is_none_and_the_host_leaves_all_the_same(host, simulator, memory):
    """It counts as one that can't know what came first, which waits longer."""
    host.keep("reflex_memory.json", memory)
    assert in_time(host.reflexes.run) == 0
    simulator.add_event(id="A1", type="Preempt", resources=["web-0"], notice=900)
    host.reflexes.settings["steps"] = [{"number": 1, "kind": "command", "arguments": {"drain": ["true"]}}]
    host.reflexes.reader.read()
    kept = host.reflexes._kept()
    sightings = Sightings(kept.get("sightings"))
    host.reflexes._act(sightings, None)
    assert json.loads((host.folder / "journal.json").read_text())["state"] == "drained"


@pytest.mark.parametrize(
    "change",
    [
        {"marks": [{"event": "A1"}]},
        {"marks": [{"event": "A1", "at": "soon"}]},
        {"marks": [{"event": "A1", "at": True}]},
        {"left": 7},
        {"left": [7]},
        {"left": {"a": "b"}},
    ],
)
def test_a_journal_that_is_damaged_is_told_and_nothing_is_done(host, simulator, change):
    journal = {"version": 1, "state": "drained", "events": [{"id": "A1"}], "boot_id": "b", "steps": []}
    host.keep("journal.json", {**journal, "run_id": "watcher of web-0", "approve": True, **change})
    with pytest.raises(JournalError, match="can't be understood"):
        JournalFile(str(host.folder / "journal.json")).read()
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    host.reflexes.reader.read()
    pause, is_over, _gone = host.reflexes._act(Sightings(), None)
    assert (pause, is_over) == (_reflex.SECONDS_AFTER_FAILURE, False)
    assert "can't be understood" in host.said[-1]
    assert [line for line in simulator.log() if line["method"] == "POST"] == []


def test_a_journal_that_is_too_deep_can_not_be_understood(tmp_path):
    path = tmp_path / "journal.json"
    path.write_text("[" * 100_000)
    path.chmod(0o600)
    with pytest.raises(JournalError, match="can't be understood"):
        JournalFile(str(path)).read()


# The mark of a run, and how long it counts.


def leave(path, run_id):
    return _host_run_mark.left_by_a_run(str(path), run_id)


def test_a_mark_holds_for_ninety_seconds_and_is_remembered_for_half_an_hour(tmp_path):
    path = tmp_path / "run.json"
    for run_id in ("r1", 'a "quoted" $(run)\'s name', "two\nlines \\u00e9"):
        leave(path, run_id)
        assert json.loads(path.read_text())["run_id"] == run_id
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.json"]
    now = time.time()
    assert _protocol.read_run_mark(str(path), now) == RunMark(True, True)
    assert _protocol.read_run_mark(str(path), now + 85) == RunMark(True, True)
    assert _protocol.read_run_mark(str(path), now + 95) == RunMark(False, True)
    assert _protocol.read_run_mark(str(path), now + 95 + 30 * 60) == NO_RUN


def test_without_a_watcher_none_is_left(tmp_path):
    leave(tmp_path / "nowhere" / "run.json", "r")
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "run" / "run.json.new").symlink_to(tmp_path / "elsewhere")
    leave(tmp_path / "run" / "run.json", "r")
    assert (tmp_path / "elsewhere").read_text() == "kept"
    assert not (tmp_path / "run" / "run.json").is_symlink()


def test_no_mark_holds_longer_whatever_it_says(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"run_id": "r", "until": 9e12}))
    now = time.time()
    assert _protocol.read_run_mark(str(path), now).holds
    assert not _protocol.read_run_mark(str(path), now + 100).holds
    os.utime(path, (now + 9e6, now + 9e6))
    assert _protocol.ended_for(str(path), now) == -SECONDS_OF_A_MARK
    assert not _protocol.read_run_mark(str(path), now + SECONDS_OF_A_MARK + 1).holds


@pytest.mark.parametrize("back", [5, 60, 3600, 9e6])
def test_a_clock_that_is_set_back_makes_no_mark_hold_longer(tmp_path, back):
    path = tmp_path / "run.json"
    leave(path, "r")
    # The first look after that, and what counts from there.
    now = time.time() - back
    assert _protocol.read_run_mark(str(path), now) == RunMark(True, True)
    assert _protocol.read_run_mark(str(path), now + SECONDS_OF_A_MARK - 1) == RunMark(True, True)
    assert _protocol.read_run_mark(str(path), now + SECONDS_OF_A_MARK + 1) == RunMark(False, True)
    # One that is renewed by the new clock is one like any other.
    path.write_text(json.dumps({"run_id": "r", "until": now + 290}))
    os.utime(path, (now + 200, now + 200))
    assert _protocol.read_run_mark(str(path), now + 201).holds


@pytest.mark.parametrize("content", ["", "{", "[]", '{"until": "x"}', '{"until": true}', '{"run_id": "r"}'])
def test_one_that_is_damaged_is_none(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    assert _protocol.read_run_mark(str(tmp_path / "run.json")) == NO_RUN


def test_it_is_told_whether_there_are_reflexes_and_whether_the_mark_was_left(tmp_path):
    path = tmp_path / "run.json"
    assert leave(path, "r") == {"reflexes": False, "left": True}
    (tmp_path / "reflexes.json").write_text("{}")
    assert leave(path, "r") == {"reflexes": True, "left": True}
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()
    (tmp_path / f"run.json.{os.getpid()}").mkdir()
    assert leave(path, "r") == {"reflexes": True, "left": False}


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")
def test_another_user_leaves_none_and_says_so():
    # Where other users may look; the folders of pytest are closed to them.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "reflexes.json").touch()
        os.seteuid(65534)
        try:
            assert leave(folder / "run.json", "r") == {"reflexes": True, "left": False}
        finally:
            os.seteuid(0)


def steps_in(folder, *commands, fenced=True):
    """An order of a run: its steps are commands on this host."""
    journal = JournalFile(str(folder / "journal.json"))
    journal.change(lambda data: begun(data, [{"id": "E0"}], "r", boot_id(), utc_now()))
    steps = [
        {"number": number, "kind": "command", "arguments": {"drain": ["sh", "-c", line]}, "before": {}}
        for number, line in enumerate(commands, start=1)
    ]
    return {
        "perform": "steps",
        "direction": "drain",
        "timeout": 60,
        "journal": journal.path,
        "run_id": "r",
        "orders": [{"perform": "step", "step": step, "finished": [], "final": None} for step in steps],
        "fenced": fenced,
        "mark": str(folder / "run.json"),
    }


@pytest.mark.parametrize("fenced", [True, False])
def test_steps_renew_it_before_they_begin(tmp_path, fenced):
    mark, seen = tmp_path / "run.json", tmp_path / "seen"
    mark.write_text(json.dumps({"run_id": "r", "until": 1}))
    before = time.time()
    done = _command_entry.carried_out(steps_in(tmp_path, f"cp {mark} {seen}", fenced=fenced), False)
    assert not done["results"][-1].get("failed"), done
    assert json.loads(seen.read_text())["run_id"] == "r"
    assert before + SECONDS_OF_A_MARK <= json.loads(seen.read_text())["until"]


def test_a_step_that_takes_long_renews_it_all_the_while(tmp_path, monkeypatch):
    monkeypatch.setattr(_ownership, "SECONDS_BETWEEN_SIGNS", 0.05)
    monkeypatch.setattr(_ownership, "SECONDS_BETWEEN_RENEWALS", 0.05)
    # It ends when the mark that it has removed is there again.
    mark = tmp_path / "run.json"
    line = f"rm {mark}; n=0; while [ ! -e {mark} ] && [ $n -lt 600 ]; do n=$((n + 1)); sleep 0.05; done; [ -e {mark} ]"
    done = _command_entry.carried_out(steps_in(tmp_path, line), False)
    assert not done["results"][-1].get("failed"), done


def test_in_check_mode_steps_leave_none(tmp_path):
    _command_entry.carried_out(steps_in(tmp_path, "true"), True)
    assert not (tmp_path / "run.json").exists()


def test_a_run_that_has_lost_the_host_renews_it_no_more(tmp_path, monkeypatch):
    order = steps_in(tmp_path, "true")
    JournalFile(order["journal"]).change(lambda data: dict(data, run_id="another"))
    renewed = []
    contact = _ownership.Contact(
        _command_entry.OwnedJournal(JournalFile(order["journal"]), "r"), along=lambda: renewed.append(1)
    )
    contact._renew()
    assert contact.is_lost()
    assert renewed == []
