# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed in the middle, and somebody runs again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from helpers.ansible_run import environment, inventory, play
from helpers.waiting import wait_until

DRAIN = {"ansible.builtin.include_role": {"name": "maintenance.azure.drain"}}
RESTORE = {"ansible.builtin.include_role": {"name": "maintenance.azure.restore"}}
SHOW = {"name": "Show", "ansible.builtin.debug": {"msg": "{{ restore_result }}"}}


def steps_of(folder):
    """Each step leaves a line in the log, and the second waits until it may go on."""
    log = folder / "log"
    wait = f"echo 2 >> {log}; touch {folder}/waiting; while [ ! -e {folder}/go ]; do sleep 0.1; done"
    return [
        {"command": {"drain": ["sh", "-c", f"echo 1 >> {log}"], "restore": ["sh", "-c", f"echo -1 >> {log}"]}},
        {"services": {"names": ["web", "idle"]}},
        {"command": {"drain": ["sh", "-c", wait], "restore": ["sh", "-c", f"echo -2 >> {log}"]}},
        {"command": {"drain": ["sh", "-c", f"echo 3 >> {log}"], "restore": ["sh", "-c", f"echo -3 >> {log}"]}},
    ]


def kill_the_controller(book):
    """With its workers, which have its command line, and without the host's half: a host outlives its controller.
    (By their group they can't be told apart: workers have one of their own in some versions of ansible-core only.)
    """
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and str(book).encode() in (process / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


@pytest.fixture
def killed(tmp_path, units):
    """A drain that was killed with SIGKILL while its third step ran."""
    units.set(web="active", idle="inactive")
    book = inventory(
        tmp_path, {"web_0": {"drain_journal": f"{tmp_path}/state/journal.json", "maintenance_endpoint": ""}}
    )
    path = os.pathsep.join([str(units.folder), environment(tmp_path)["PATH"]])
    (tmp_path / "killed.json").write_text(
        json.dumps(
            [{"hosts": "all", "gather_facts": False, "vars": {"drain_steps": steps_of(tmp_path)}, "tasks": [DRAIN]}]
        )
    )
    process = subprocess.Popen(
        ["ansible-playbook", "-i", str(book), "killed.json"],
        cwd=tmp_path,
        env=environment(tmp_path, PATH=path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: (tmp_path / "waiting").exists() or process.poll() is not None)
    assert process.poll() is None
    kill_the_controller(book)
    process.wait()

    def again(*tasks, **variables):
        return play(tmp_path, book, *tasks, vars={"drain_steps": steps_of(tmp_path), **variables}, PATH=path)

    return again


def journal(folder):
    path = folder / "state" / "journal.json"
    return json.loads(path.read_text()) if path.exists() else None


def log(folder):
    return (folder / "log").read_text().split()


def go_when_somebody_waits(folder):
    """The command that was running lives on, as it would on a host whose controller is gone. Whoever comes next waits
    for the end of its step, and that ends when somebody does.
    """
    lock = folder / "state" / "journal.json.step"

    def has_it_open(process):
        with contextlib.suppress(OSError):
            return any(one.readlink() == lock for one in (process / "fd").iterdir())
        return False

    def somebody_waits():
        return sum(has_it_open(process) for process in Path("/proc").iterdir() if process.name.isdigit()) > 1

    wait_until(somebody_waits)
    (folder / "go").touch()


def test_restore_undoes_what_was_done_and_begun(tmp_path, killed, units):
    assert [step["status"] for step in journal(tmp_path)["steps"]] == ["done", "done", "started"]
    assert units.states()["web"] == "inactive"
    # Meanwhile the host was rebooted, and systemd started what it starts.
    units.set(web="active", idle="inactive")
    state = journal(tmp_path)
    (tmp_path / "state" / "journal.json").write_text(json.dumps({**state, "boot_id": "another"}))
    threading.Thread(target=go_when_somebody_waits, args=(tmp_path,), daemon=True).start()
    run = killed(RESTORE, SHOW, RESTORE)
    assert run.code == 0, run.output
    assert journal(tmp_path) is None
    # Between two steps either of them may be the first.
    assert log(tmp_path) in (["1", "2", "-2", "-1"], ["1", "2", "3", "-3", "-2", "-1"])
    assert units.states() == {"web": "active", "idle": "inactive"}
    assert run.of("Show")["msg"]["state"] == "restored"
