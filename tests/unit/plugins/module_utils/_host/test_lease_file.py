# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lease of one lock host: who gets it, when it lapses, and what is never taken for a free one."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host import clock as _clock
from ansible_collections.maintenance.azure.plugins.module_utils._host import files as _files
from ansible_collections.maintenance.azure.plugins.module_utils._host.lease import (
    LeaseError,
    carried_out,
    read_lease,
    release,
    renew,
    take,
)
from helpers import ansible_run
from helpers.leases import WALL, at, mark, note, owner
from tools.pythons import find_pythons

FORK = multiprocessing.get_context("fork")
RACE = """
import multiprocessing, os, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.maintenance.azure.plugins.module_utils._host import lease as _lease
from ansible_collections.maintenance.azure.plugins.module_utils._host import clock as _clock

def owner(name):
    return dict(run_id=name, controller="c", host="h", pid=1, process_start="1", user="u", note="")

def path(i):
    return os.path.join(sys.argv[2], str(i), "run.lock")

def run(name, barrier):
    won = []
    for i in range(30):
        dead = owner("old") if i % 3 == 2 else None
        barrier.wait()
        if _lease.take(path(i), owner(name), 60, replace=dead)["held"]:
            won.append(i)
        barrier.wait()
        assert _lease.renew(path(i), owner(name), 60)["held"] == (i in won), i
        assert _lease.release(path(i), owner(name))["changed"] == (i in won), i
    barrier.wait()
    return won

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    long_ago = _clock.now()._replace(uptime=0.0)
    for i in range(30):  # a third each: free, lapsed, and of an owner who is dead
        if i % 3:
            dead = i % 3 == 2
            _lease.take(path(i), owner("old"), 600 if dead else 0.001, moment=None if dead else long_ago)
    barrier = fork.Barrier(2, timeout=90)
    queue = fork.Queue()
    racers = [fork.Process(target=lambda name=name: queue.put(run(name, barrier))) for name in "ab"]
    for process in racers:
        process.start()
    both = [queue.get(timeout=120), queue.get(timeout=120)]
    for process in racers:
        process.join()
    assert [process.exitcode for process in racers] == [0, 0]
    assert sorted(both[0] + both[1]) == list(range(30)), both
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "state" / "run.lock")


def kept(path):
    return json.loads(Path(path).read_text())


@pytest.mark.once
@pytest.mark.parametrize("version", [v for v in find_pythons() if int(v.split(".")[1]) >= 6])
def test_of_two_at_the_same_instant_exactly_one_wins(version, tmp_path):
    command = [find_pythons()[version], "-B", "-c", RACE, str(ansible_run.MIRROR), str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 0, process.stderr


def test_a_free_lease_is_taken(path):
    answer = take(path, owner(), 90, moment=at(1000))
    assert answer == {
        "held": True,
        "renewed": False,
        "changed": True,
        "holder": {**owner(), "taken_at": "2026-11-16T00:17:12Z", "seconds_left": 90},
        "took_over_from": None,
        "notes": [],
        "remembers": 1000,
        "too_new_for": None,
    }
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert [file.name for file in Path(path).parent.iterdir()] == ["run.lock"]


def test_renewing_keeps_when_it_was_taken(path):
    for action in (renew, take):
        release(path, owner())
        take(path, owner(), 90, moment=at(1000))
        answer = action(path, owner(), 90, moment=at(1060))
        assert (answer["held"], answer["changed"], answer["renewed"]) == (True, False, True)
        assert (answer["holder"]["taken_at"], answer["holder"]["seconds_left"]) == ("2026-11-16T00:17:12Z", 90)
        assert read_lease(path, moment=at(1149.5))["holder"]["seconds_left"] == 1


@pytest.mark.parametrize("later", [90, 90.01, 5000])
def test_a_lease_that_has_lapsed_is_never_renewed(path, later):
    take(path, owner(), 90, moment=at(1000))
    before = Path(path).read_bytes()
    answer = renew(path, owner(), 90, notes=[note()], moment=at(1000 + later))
    assert (answer["held"], answer["renewed"], answer["holder"], answer["notes"]) == (False, False, None, [])
    assert Path(path).read_bytes() == before
    again = take(path, owner(), 90, moment=at(1000 + later))
    assert (again["held"], again["renewed"], again["changed"], again["took_over_from"]) == (True, False, True, None)


def test_nothing_that_is_not_there_is_renewed(path):
    assert not renew(path, owner(), 90, notes=[note()], moment=at(1000))["held"]
    assert not Path(path).exists()
    take(path, owner("two"), 90, moment=at(1000))
    answer = renew(path, owner(), 90, notes=[note()], forget=["web-1"], moment=at(1001))
    assert (answer["held"], answer["holder"]["run_id"], answer["notes"]) == (False, "two", [])


@pytest.mark.parametrize(("later", "held"), [(0, False), (89, False), (89.99, False), (90, True), (9999, True)])
def test_somebody_else_gets_it_when_it_has_lapsed(path, later, held):
    take(path, owner(), 90, moment=at(1000))
    answer = take(path, owner("two"), 90, moment=at(1000 + later))
    assert answer["held"] is held
    assert kept(path)["lease"]["run_id"] == ("two" if held else "one")
    if held:
        assert (answer["took_over_from"]["run_id"], answer["took_over_from"]["reason"]) == ("one", "expired")
    else:
        assert (answer["holder"]["run_id"], answer["took_over_from"]) == ("one", None)


@pytest.mark.parametrize("jump", [-(10**9), -3600, 3600, 10**9])
def test_a_clock_that_is_set_changes_nothing(path, jump):
    take(path, owner(), 90, moment=at(1000))
    assert not take(path, owner("two"), 90, moment=at(1089, wall=WALL + jump))["held"]
    assert renew(path, owner(), 90, moment=at(1089, wall=WALL + jump))["held"]
    assert take(path, owner("two"), 90, moment=at(1179, wall=WALL - jump))["held"]


def test_a_reboot_ends_no_lease_before_its_time(path):
    """One who has two of three lock hosts counts on 90 seconds, also if one of them reboots in ten."""
    take(path, owner(), 90, notes=[note()], moment=at(50_000))
    for early in (0.5, 40, 89.9):
        assert not take(path, owner("two"), 90, moment=at(early, "boot-2"))["held"]
    answer = take(path, owner("two"), 90, moment=at(90, "boot-2"))
    assert (answer["held"], answer["took_over_from"]["run_id"], answer["notes"]) == (True, "one", [note()])


def test_a_long_time_after_a_reboot_it_has_lapsed(path):
    take(path, owner(), 90, moment=at(1000))
    # The same number of seconds, of another boot.
    assert not renew(path, owner(), 90, moment=at(1001, "boot-2"))["held"]
    assert take(path, owner("two"), 90, moment=at(1001, "boot-2"))["held"]


@pytest.mark.parametrize("boot", ["boot-1", ""])
def test_a_container_that_was_started_again_is_another_boot(path, boot):
    """It has the boot id of its machine, or none is told, and its uptime begins anew."""
    take(path, owner(), 90, moment=at(50_000, boot))
    assert not take(path, owner("two"), 90, moment=at(89, boot))["held"]
    assert take(path, owner("two"), 90, moment=at(91, boot))["held"]


def test_the_lock_host_counts_by_its_uptime():
    one, two = _clock.now(), _clock.now()
    assert one.boot_id == two.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert 0 <= two.uptime - one.uptime < 60
    assert abs(one.wall - time.time()) < 60


def test_a_lock_host_without_proc_counts_too(monkeypatch):
    monkeypatch.setattr(_clock, "UPTIME", "/nonexistent")
    one, two = _clock.now(), _clock.now()
    assert (one.boot_id, two.uptime >= one.uptime) == ("", True)


@pytest.mark.parametrize(
    "other", [{"controller": "c2"}, {"host": "ctl2"}, {"pid": 43}, {"process_start": "4712"}, {"run_id": "two"}]
)
def test_the_same_name_does_not_make_it_the_same_run(path, other):
    take(path, owner(), 90, moment=at(1000))
    assert not take(path, owner(**other), 90, moment=at(1000))["held"]
    assert not renew(path, owner(**other), 90, moment=at(1000))["held"]
    assert not release(path, owner(**other), moment=at(1000))["changed"]
    assert kept(path)["lease"]["run_id"] == "one"


def test_a_dead_owner_is_replaced_only_if_it_is_still_the_owner(path):
    take(path, owner(), 90, moment=at(1000))
    dead = read_lease(path, moment=at(1000))["holder"]
    answer = take(path, owner("two"), 90, replace=dead, moment=at(1001))
    assert (answer["held"], answer["renewed"], answer["took_over_from"]["reason"]) == (True, False, "dead")
    assert answer["took_over_from"]["run_id"] == "one"
    assert not take(path, owner("three"), 90, replace=dead, moment=at(1002))["held"]


def test_giving_back(path):
    assert not release(path, owner(), moment=at(1000))["changed"]
    take(path, owner(), 90, moment=at(1000))
    theirs = release(path, owner("two"), moment=at(1000))
    assert (theirs["changed"], theirs["holder"]["run_id"]) == (False, "one")
    ours = release(path, owner(), moment=at(1000))
    assert (ours["held"], ours["changed"], ours["holder"]) == (False, True, None)
    # Nothing is left behind where there is no note.
    assert list(Path(path).parent.iterdir()) == []
    assert take(path, owner("two"), 90, moment=at(1000))["took_over_from"] is None


def test_notes_outlive_the_lease(path):
    take(path, owner(), 90, notes=[note("web-0"), note("web-1")], moment=at(1000))
    assert release(path, owner(), moment=at(1001))["notes"] == [note("web-0"), note("web-1")]
    assert read_lease(path, moment=at(1002))["holder"] is None
    assert take(path, owner("two"), 90, moment=at(1003))["notes"] == [note("web-0"), note("web-1")]


def test_a_note_of_a_drain_and_one_of_an_approval_stand_side_by_side(path):
    drain, approval = note("web-0"), note("web-0", mark=mark())
    take(path, owner(), 90, notes=[drain], moment=at(1000))
    assert renew(path, owner(), 90, notes=[approval], moment=at(1001))["notes"] == [drain, approval]
    later = note("web-0", run="two", events=("E1",))
    release(path, owner(), moment=at(1002))
    assert take(path, owner("two"), 90, notes=[later], moment=at(1003))["notes"] == [later, approval]
    # Ids are compared without regard to case.
    again, second = note("web-0", run="two", mark=mark("e0")), note("web-0", run="two", mark=mark("E1"))
    assert renew(path, owner("two"), 90, notes=[second, again], moment=at(1004))["notes"] == [later, again, second]


def test_what_is_forgotten_goes_first(path):
    notes = [note("web-0"), note("web-0", mark=mark()), note("web-1")]
    take(path, owner(), 90, notes=notes, moment=at(1000))
    again = note("web-0", events=("E2",))
    answer = renew(path, owner(), 90, notes=[again], forget=["web-0", "web-7"], moment=at(1001))
    assert answer["notes"] == [again, note("web-1")]


@pytest.mark.parametrize("taken_since", [False, True])
def test_who_has_returned_a_host_forgets_what_it_wrote_itself_also_without_the_lease(path, taken_since):
    theirs = [note("web-0", run="two", mark=mark("E1")), note("web-1", run="two")]
    take(path, owner("two"), 90, notes=theirs, moment=at(1000))
    release(path, owner("two"), moment=at(1001))
    take(path, owner(), 90, notes=[note("web-0"), note("web-2")], moment=at(1002))
    release(path, owner(), moment=at(1003))
    if taken_since:
        take(path, owner("three"), 90, moment=at(1004))
    answer = release(path, owner(), forget=["web-0", "web-1"], moment=at(1005))
    assert (answer["changed"], answer["notes"]) == (False, [*theirs, note("web-2")])
    assert read_lease(path, moment=at(1006))["notes"] == [*theirs, note("web-2")]
    assert (read_lease(path, moment=at(1006))["holder"] is not None) == taken_since


def test_who_does_not_get_it_writes_no_notes_and_gets_them(path):
    take(path, owner(), 90, notes=[note("web-0")], moment=at(1000))
    answer = take(path, owner("two"), 90, notes=[note("web-1")], forget=["web-0"], moment=at(1001))
    assert (answer["held"], answer["notes"]) == (False, [note("web-0")])
    assert kept(path)["notes"] == [note("web-0")]


def test_a_dry_run_writes_nothing(path):
    answer = take(path, owner(), 90, notes=[note()], moment=at(1000), dry=True)
    assert (answer["held"], answer["changed"]) == (True, True)
    assert read_lease(path, moment=at(1000))["notes"] == []
    assert not Path(path).parent.exists()
    take(path, owner(), 90, moment=at(1000))
    before = Path(path).read_bytes()
    assert not take(path, owner("two"), 90, moment=at(1000), dry=True)["held"]
    assert renew(path, owner(), 90, notes=[note()], moment=at(1010), dry=True)["held"]
    assert release(path, owner(), moment=at(1000), dry=True)["changed"]
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("boot", ["boot-1", ""])
def test_a_host_that_has_just_booted_without_a_file_grants_nothing(path, boot):
    """It may have lost its disk, and with it a lease on which somebody still counts."""
    for uptime_now, left in [(0, 100), (0.5, 100), (50, 50), (99.2, 1)]:
        answer = take(path, owner(), 90, notes=[note()], moment=at(uptime_now, boot))
        assert (answer["held"], answer["changed"], answer["holder"]) == (False, False, None)
        assert (answer["too_new_for"], answer["notes"]) == (left, [])
        assert not renew(path, owner(), 90, moment=at(uptime_now, boot))["held"]
        assert take(path, owner(), 90, moment=at(uptime_now, boot), dry=True)["too_new_for"] == left
        release(path, owner(), forget=["web-0"], moment=at(uptime_now, boot))
    assert not Path(path).exists()
    answer = take(path, owner(), 90, moment=at(100, boot))
    assert (answer["held"], answer["too_new_for"]) == (True, None)


def test_a_host_that_has_just_booted_with_its_file_grants_as_always(path):
    take(path, owner(), 90, notes=[note()], moment=at(1000))
    release(path, owner(), moment=at(1001))
    answer = take(path, owner("two"), 90, moment=at(5, "boot-2"))
    assert (answer["held"], answer["too_new_for"]) == (True, None)


def test_how_far_back_a_lock_host_remembers(path):
    assert read_lease(path, moment=at(400.9))["remembers"] == 400
    # Up for 400 s when the file is made: nothing from before that boot can be in it.
    take(path, owner(), 90, notes=[note()], moment=at(400))
    assert kept(path)["memory"] == {"boot_id": "boot-1", "since": WALL}
    # In the same boot nobody's clock matters.
    assert read_lease(path, moment=at(700, wall=WALL + 10**9))["remembers"] == 700
    assert read_lease(path, moment=at(700, wall=0))["remembers"] == 700
    # A later boot: by the wall clock, and at least as long as it is up.
    assert read_lease(path, moment=at(20, "boot-2", wall=WALL + 900))["remembers"] == 900
    assert read_lease(path, moment=at(20, "boot-2", wall=WALL - 900))["remembers"] == 20
    renew(path, owner(), 90, moment=at(450))
    assert kept(path)["memory"] == {"boot_id": "boot-1", "since": WALL}
    release(path, owner(), forget=["web-0"], moment=at(451))
    assert not Path(path).exists()


def test_a_file_of_an_earlier_version_remembers_this_boot(path):
    Path(path).parent.mkdir()
    Path(path).write_text(json.dumps({**NOW, "notes": [note()]}))
    assert read_lease(path, moment=at(1000, wall=WALL))["remembers"] == 1000
    take(path, owner(), 90, moment=at(1000, wall=WALL))
    assert kept(path)["memory"] == {"boot_id": "boot-1", "since": WALL - 1000}
    assert kept(path)["version"] == 2


FORMER = {**owner("former"), "taken_at": "2026-11-16T00:00:33Z", "expires_at": "2026-11-16T00:05:33Z"}
FORMER_END = WALL + 301


def test_a_lock_of_the_former_format_is_held_until_its_end_by_the_wall_clock(path):
    Path(path).parent.mkdir()
    Path(path).write_text(json.dumps(FORMER))
    before = at(1000, wall=FORMER_END - 1)
    answer = take(path, owner(), 90, moment=before)
    assert (answer["held"], answer["holder"]["run_id"], answer["holder"]["seconds_left"]) == (False, "former", 1)
    assert (
        take(path, owner(), 90, replace=answer["holder"], moment=before, dry=True)["took_over_from"]["reason"] == "dead"
    )
    after = take(path, owner(), 90, moment=at(1000, wall=FORMER_END + 1))
    assert (after["held"], after["took_over_from"]["run_id"], after["notes"]) == (True, "former", [])
    assert kept(path)["version"] == 2


NOW = {"version": 2, "lease": None, "notes": []}
LEASE = {**owner(), "taken_at": "2026-11-16T00:00:33Z", "boot_id": "boot-1", "counted_from": 1000.0, "seconds": 90}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\0" * 200,
        b"\xff\xfe",
        "[]",
        "null",
        "{}",
        "7",
        "[" * 100_000,
        json.dumps(FORMER)[:-20],
        {**FORMER, "expires_at": "tomorrow"},
        {**FORMER, "expires_at": "2026-11-16 00:05:33"},
        {**FORMER, "expires_at": "2026-11-16T00:05:33+00:00"},
        {**FORMER, "expires_at": "Mon, 16 Nov 2026 00:05:33 GMT"},
        {**FORMER, "expires_at": 0},
        {**FORMER, "pid": "42"},
        {**FORMER, "run_id": None},
        {**NOW, "version": 3},
        {**NOW, "version": "2"},
        {"version": 2, "lease": None},
        {"version": 2, "lease": {}, "notes": []},
        {**NOW, "lease": []},
        *({**NOW, "lease": {key: value for key, value in LEASE.items() if key != left_out}} for left_out in LEASE),
        {**NOW, "lease": {**LEASE, "counted_from": math.nan}},
        {**NOW, "lease": {**LEASE, "counted_from": -math.inf}},
        json.dumps({**NOW, "lease": {**LEASE, "counted_from": 4711}}).replace("4711", "-1e999"),
        {**NOW, "lease": {**LEASE, "counted_from": 10**400}},
        {**NOW, "lease": {**LEASE, "seconds": None}},
        {**NOW, "lease": {**LEASE, "seconds": True}},
        {**NOW, "notes": {}},
        {**NOW, "notes": ["web-0"]},
        *({**NOW, "notes": [{key: value for key, value in note().items() if key != out}]} for out in note()),
        {**NOW, "notes": [note(mark={"event": "E0"})]},
        {**NOW, "memory": 7},
        {**NOW, "memory": {"boot_id": "boot-1"}},
        {**NOW, "memory": {"boot_id": None, "since": 1.0}},
        {**NOW, "memory": {"boot_id": "boot-1", "since": math.inf}},
    ],
    ids=lambda content: str(content)[-60:],
)
def test_a_damaged_file_is_never_a_free_lease(path, content):
    Path(path).parent.mkdir()
    text = json.dumps(content) if isinstance(content, dict) else content
    Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    before = Path(path).read_bytes()
    for action in (
        lambda: take(path, owner(), 90),
        lambda: take(path, owner(), 90, dry=True),
        lambda: take(path, owner(), 90, replace=owner()),
        lambda: renew(path, owner(), 90),
        lambda: release(path, owner()),
        lambda: read_lease(path),
    ):
        with pytest.raises(
            LeaseError, match=r"run\.lock does not tell who has the lease\. Make sure that no run is at"
        ):
            action()
    assert Path(path).read_bytes() == before
    assert carried_out({"path": path, "do": "read"}, False)["failed"]


def test_the_whole_content_of_those_is_good(path):
    Path(path).parent.mkdir()
    Path(path).write_text(json.dumps({**NOW, "lease": LEASE, "notes": [note(), note(mark=mark())]}))
    answer = read_lease(path, moment=at(1030))
    assert (answer["holder"]["seconds_left"], len(answer["notes"])) == (60, 2)


def test_a_path_that_can_not_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LeaseError, match=r"The lock file .*file/run.lock could not be written: File exists"):
        take(str(tmp_path / "file" / "run.lock"), owner(), 90)
    (tmp_path / "folder").mkdir()
    with pytest.raises(LeaseError, match="is not a file"):
        take(str(tmp_path / "folder"), owner(), 90)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LeaseError, match="is not a file"):
        take(str(tmp_path / "pipe"), owner(), 90)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LeaseError, match="is a symbolic link"):
        take(str(tmp_path / "link"), owner(), 90)


def test_a_file_that_everybody_may_write_is_not_trusted(path):
    take(path, owner(), 90)
    Path(path).chmod(0o666)
    with pytest.raises(LeaseError, match="can be written by others"):
        take(path, owner("two"), 90)


def test_a_process_that_keeps_the_folder_is_told(path, monkeypatch):
    monkeypatch.setattr(_files, "SECONDS_FOR_THE_LOCK", 0.1)
    take(path, owner(), 90)
    held = _files.KeptFile(path, "lock file", "maintenance_lock_path", LeaseError)
    with held.locked(), pytest.raises(LeaseError, match=r"run\.lock is locked by another process"):
        take(path, owner(), 90)
    assert take(path, owner(), 90)["held"]


@pytest.mark.parametrize("action", [take, renew])
def test_a_full_disk_leaves_the_lease_and_the_notes_as_they_were(path, monkeypatch, action):
    take(path, owner(), 90, notes=[note("web-0")], moment=at(1000))
    before = Path(path).read_bytes()

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LeaseError, match=r"No space left on device\. Make room on that disk"):
            action(path, owner(), 90, notes=[note("web-1")], moment=at(1010))
    assert Path(path).read_bytes() == before
    assert [file.name for file in Path(path).parent.iterdir()] == ["run.lock"]
    # What it could not renew goes on lapsing.
    assert read_lease(path, moment=at(1010))["holder"]["seconds_left"] == 80


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
def test_the_answer_names_the_file_that_could_not_be_written(path, monkeypatch):
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda name, *more: real("/dev/full", os.O_WRONLY) if ".new" in name else real(name, *more)
    )
    answer = carried_out({"path": path, "do": "take", "me": owner(), "seconds": 90}, False)
    assert answer["failed"]
    assert f"The lock file {path} could not be written: No space left on device" in answer["msg"]


def _killed_before_the_rename(path):
    os.rename = lambda *_names: os.kill(os.getpid(), signal.SIGKILL)
    take(path, owner("killed"), 90, notes=[note("web-9")])


@pytest.mark.parametrize("first", [None, "one"])
def test_a_kill_between_write_and_rename_changes_nothing(path, first):
    if first:
        take(path, owner(first), 90, notes=[note("web-0")])
        release(path, owner(first))
    process = FORK.Process(target=_killed_before_the_rename, args=(path,))
    process.start()
    process.join(300)
    assert process.exitcode == -signal.SIGKILL
    assert len(list(Path(path).parent.iterdir())) == (2 if first else 1)
    answer = take(path, owner("two"), 90)
    assert (answer["held"], answer["took_over_from"]) == (True, None)
    assert answer["notes"] == ([note("web-0")] if first else [])
    assert [file.name for file in Path(path).parent.iterdir()] == ["run.lock"]
