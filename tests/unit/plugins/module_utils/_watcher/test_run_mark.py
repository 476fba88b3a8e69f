# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark of a run: left by a shell or by Python, and how long it counts."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain import contact as _contact
from ansible_collections.maintenance.azure.plugins.module_utils._drain import step_order
from ansible_collections.maintenance.azure.plugins.module_utils._drain.host_clock import boot_id
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalFile, begun, utc_now
from ansible_collections.maintenance.azure.plugins.module_utils._watch import mark_file as _mark_file
from ansible_collections.maintenance.azure.plugins.module_utils._watch import run_mark as _run_mark
from ansible_collections.maintenance.azure.plugins.module_utils._watch.decide import NO_RUN, RunMark
from ansible_collections.maintenance.azure.plugins.module_utils._watch.mark_terms import SECONDS_OF_A_MARK
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.shell_programs import leave_mark, told_mark


def by_shell(path, run_id):
    done = subprocess.run(
        ["sh", "-c", leave_mark(str(path), run_id) + "echo goes on"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("goes on\n", "")


def by_python(path, run_id):
    _mark_file.leave(str(path), run_id)


@pytest.mark.parametrize("leave", [by_shell, by_python])
def test_a_mark_holds_for_ninety_seconds_and_is_remembered_for_half_an_hour(tmp_path, leave):
    path = tmp_path / "run.json"
    for run_id in ("r1", 'a "quoted" $(run)\'s name', "two\nlines \\u00e9"):
        leave(path, run_id)
        assert json.loads(path.read_text())["run_id"] == run_id
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.json"]
    now = time.time()
    assert _run_mark.read_run_mark(str(path), now) == RunMark(True, True)
    assert _run_mark.read_run_mark(str(path), now + 85) == RunMark(True, True)
    assert _run_mark.read_run_mark(str(path), now + 95) == RunMark(False, True)
    assert _run_mark.read_run_mark(str(path), now + 95 + 30 * 60) == NO_RUN


@pytest.mark.parametrize("leave", [by_shell, by_python])
def test_without_a_watcher_none_is_left(tmp_path, leave):
    leave(tmp_path / "nowhere" / "run.json", "r")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("leave", [by_shell, by_python])
def test_a_link_is_replaced_and_not_followed(tmp_path, leave):
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
    assert _run_mark.read_run_mark(str(path), now).holds
    assert not _run_mark.read_run_mark(str(path), now + 100).holds
    os.utime(path, (now + 9e6, now + 9e6))
    assert _run_mark.ended_for(str(path), now) == -SECONDS_OF_A_MARK
    assert not _run_mark.read_run_mark(str(path), now + SECONDS_OF_A_MARK + 1).holds


@pytest.mark.parametrize("leave", [by_shell, by_python])
@pytest.mark.parametrize("back", [5, 60, 3600, 9e6])
def test_a_clock_that_is_set_back_makes_no_mark_hold_longer(tmp_path, leave, back):
    path = tmp_path / "run.json"
    leave(path, "r")
    # The first look after that, and what counts from there.
    now = time.time() - back
    assert _run_mark.read_run_mark(str(path), now) == RunMark(True, True)
    assert _run_mark.read_run_mark(str(path), now + SECONDS_OF_A_MARK - 1) == RunMark(True, True)
    assert _run_mark.read_run_mark(str(path), now + SECONDS_OF_A_MARK + 1) == RunMark(False, True)
    # One that is renewed by the new clock is one like any other.
    path.write_text(json.dumps({"run_id": "r", "until": now + 290}))
    os.utime(path, (now + 200, now + 200))
    assert _run_mark.read_run_mark(str(path), now + 201).holds


@pytest.mark.parametrize("content", ["", "{", "[]", '{"until": "x"}', '{"until": true}', '{"run_id": "r"}'])
def test_one_that_is_damaged_is_none(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    assert _run_mark.read_run_mark(str(tmp_path / "run.json")) == NO_RUN


def told_by_shell(path, run_id, **more):
    command = ["sh", "-c", leave_mark(str(path), run_id)]
    return told_mark(subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout)


@pytest.mark.parametrize("leave", [told_by_shell, lambda path, run_id: _mark_file.left_by_a_run(str(path), run_id)])
def test_it_is_told_whether_there_are_reflexes_and_whether_the_mark_was_left(tmp_path, leave):
    path = tmp_path / "run.json"
    assert leave(path, "r") == {"reflexes": False, "left": True}
    (tmp_path / "reflexes.json").write_text("{}")
    assert leave(path, "r") == {"reflexes": True, "left": True}
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()
    (tmp_path / f"run.json.{os.getpid()}").mkdir()
    (tmp_path / "run.json.new").mkdir()
    assert leave(path, "r") == {"reflexes": True, "left": False}


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")
def test_another_user_leaves_none_and_says_so():
    # Where other users may look; the folders of pytest are closed to them.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "reflexes.json").touch()
        assert told_by_shell(folder / "run.json", "r", user=65534) == {"reflexes": True, "left": False}


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
    done = step_order.carried_out(steps_in(tmp_path, f"cp {mark} {seen}", fenced=fenced), False)
    assert not done["results"][-1].get("failed"), done
    assert json.loads(seen.read_text())["run_id"] == "r"
    assert before + SECONDS_OF_A_MARK <= json.loads(seen.read_text())["until"]


def test_a_step_that_takes_long_renews_it_all_the_while(tmp_path, monkeypatch):
    monkeypatch.setattr(_contact, "SECONDS_BETWEEN_SIGNS", 0.05)
    monkeypatch.setattr(_contact, "SECONDS_BETWEEN_RENEWALS", 0.05)
    # It ends when the mark that it has removed is there again.
    mark = tmp_path / "run.json"
    line = f"rm {mark}; n=0; while [ ! -e {mark} ] && [ $n -lt 600 ]; do n=$((n + 1)); sleep 0.05; done; [ -e {mark} ]"
    done = step_order.carried_out(steps_in(tmp_path, line), False)
    assert not done["results"][-1].get("failed"), done


def test_in_check_mode_steps_leave_none(tmp_path):
    step_order.carried_out(steps_in(tmp_path, "true"), True)
    assert not (tmp_path / "run.json").exists()


def test_a_run_that_has_lost_the_host_renews_it_no_more(tmp_path, monkeypatch):
    order = steps_in(tmp_path, "true")
    JournalFile(order["journal"]).change(lambda data: dict(data, run_id="another"))
    renewed = []
    contact = _contact.Contact(
        step_order.OwnedJournal(JournalFile(order["journal"]), "r"), along=lambda: renewed.append(1)
    )
    contact._renew()
    assert contact.is_lost()
    assert renewed == []
