# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs see each other through their keepers, whatever happens to one of them."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import ansible_run
import pytest
from ansible_run import environment, inventory, play_each, run

KEEPERS = ("web-1", "web-2", "web-10")
MODULE = "maintenance.azure.run_lock"
ASKED = "Take the run lock on each keeper"
VERDICT = "Go on only with the run lock"
TASKS = Path(ansible_run.__file__).resolve().parents[1] / "playbooks" / "tasks"


def tasks(name):
    return {"name": name, "ansible.builtin.include_tasks": str(TASKS / f"{name}_lock.yml")}


def play(*arguments, **more):
    return ansible_run.play(*arguments, module_defaults={}, ANSIBLE_PIPELINING="1", **more)


TAKE, RENEW, GIVE_BACK = tasks("take"), tasks("renew"), tasks("give_back")


def paths(folder):
    return {keeper: folder / keeper / "run.lock" for keeper in KEEPERS}


def holders(folder):
    return {k: json.loads(p.read_text())["run_id"] if p.exists() else None for k, p in paths(folder).items()}


@pytest.fixture
def hosts(tmp_path):
    return make_hosts(tmp_path)


def make_hosts(folder, *away):
    """Four hosts of which the first three are the keepers; an ssh that never gets through leads to those away."""
    ssh = folder / "ssh"
    ssh.write_text("#!/bin/sh\nexit 255\n")
    ssh.chmod(0o755)
    own = {keeper: {"maintenance_lock_path": str(path)} for keeper, path in paths(folder).items()}
    own["web-11"] = {}
    for host in away:
        own[host].update(ansible_connection="ssh", ansible_ssh_executable=str(ssh))
    return inventory(folder, own)


ONE = ["web-1"]


def extra(**more):
    return ("-e", json.dumps({f"maintenance_{name}": value for name, value in more.items()}))


def start(folder, hosts, name, *tasks, **more):
    """A run that goes on by itself, in a folder of its own that has its `log`."""
    own = folder / name
    own.mkdir()
    book = own / "play.json"
    book.write_text(json.dumps([{"name": name, "hosts": "all", "gather_facts": False, "tasks": list(tasks)}]))
    with (own / "log").open("w") as log:
        return subprocess.Popen(
            ["ansible-playbook", "-i", str(hosts), str(book), *extra(run_id=name, **more)],
            env=environment(own, ANSIBLE_PIPELINING="1"),
            cwd=own,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def work(folder):
    """A task that goes on until the file `stop` is there, also if its run was killed."""
    wait = f"for i in $(seq 600); do test -e {folder / 'stop'} && break; sleep 0.2; done"
    return {"name": "Work", "ansible.builtin.shell": wait, "run_once": True}


def foreign(folder, seconds, **more):
    """A lock that a run on another controller has."""
    record = {
        "run_id": "elsewhere",
        "controller": "another",
        "host": "ctl2",
        "user": "deploy",
        "note": "job 7",
        "pid": 999999,
        "process_start": "1",
        "taken_at": text_of(time.time() - 5),
        "expires_at": text_of(time.time() + seconds),
        **more,
    }
    for path in paths(folder).values():
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record))


def text_of(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def test_take_renew_give_back_also_outside_the_limit(tmp_path, hosts):
    looked = tmp_path / "looked"
    copy = {"name": "Look", "ansible.builtin.command": f"cp -r {tmp_path / 'web-10'} {looked}"}
    done = play(tmp_path, hosts, TAKE, copy, RENEW, GIVE_BACK, arguments=("--limit", "web-11", *extra(run_id="mine")))
    assert done.code == 0, done.output
    record = json.loads((looked / "run.lock").read_text())
    assert record["run_id"] == "mine"
    assert (looked / "run.lock").stat().st_mode & 0o777 == 0o600
    assert [item["changed"] for item in done.of(ASKED)["results"]] == [True, True, True]
    assert [item["__lock"][0] for item in done.of(ASKED)["results"]] == list(KEEPERS)
    renewed = done.of("Renew the run lock on each keeper")["results"]
    assert [(item["renewed"], item["changed"]) for item in renewed] == [(True, False)] * 3
    assert [item["changed"] for item in done.of("Give the run lock back on each keeper")["results"]] == [True] * 3
    assert holders(tmp_path) == dict.fromkeys(KEEPERS)


def test_two_at_once_then_a_kill_and_a_takeover(tmp_path, hosts):
    other = start(tmp_path, hosts, "other", TAKE, work(tmp_path), lock_expires=600, lock_hosts=ONE)
    try:
        until(lambda: holders(tmp_path)["web-1"] == "other")
        second = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine", lock_hosts=ONE))
        assert second.code == 2, second.output
        told = second.of(VERDICT, "web-1")["msg"]
        for part in ("Another run is at work", "run other of ", "since ", "at the latest", "maintenance_lock_wait"):
            assert part in told
        assert holders(tmp_path)["web-1"] == "other"
    finally:
        other.send_signal(signal.SIGKILL)
    # Not waited for yet: a process that is dead but not buried does nothing any more.
    third = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine", lock_hosts=ONE))
    other.wait()
    (tmp_path / "stop").touch()
    assert third.code == 0, third.output
    assert "taken over from run other" in third.of(VERDICT, "web-1")["msg"]
    assert third.of(ASKED, "web-1")["results"][0]["took_over_from"]["reason"] == "dead"


def test_the_second_waits_for_the_first(tmp_path, hosts):
    first = start(tmp_path, hosts, "first", TAKE, work(tmp_path), RENEW, GIVE_BACK)
    until(lambda: set(holders(tmp_path).values()) == {"first"})
    second = start(tmp_path, hosts, "second", TAKE, lock_wait=100)
    log = tmp_path / "second" / "log"
    until(lambda: "waiting for run first of " in log.read_text())
    assert set(holders(tmp_path).values()) == {"first"}
    (tmp_path / "stop").touch()
    assert first.wait(60) == 0, (tmp_path / "first" / "log").read_text()
    assert second.wait(60) == 0, log.read_text()
    assert "The run lock is held (web-1: held, web-2: held, web-10: held)." in log.read_text()
    assert set(holders(tmp_path).values()) == {"second"}


@pytest.mark.parametrize(("wait", "code"), [(2, 2), (30, 0)])
def test_a_lock_of_another_controller_is_taken_after_its_end_only(tmp_path, hosts, wait, code):
    foreign(tmp_path, 6 if code == 0 else 600)
    lock_hosts = ONE if code == 0 else list(KEEPERS)
    done = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine", lock_wait=wait, lock_hosts=lock_hosts))
    assert done.code == code, done.output
    if code:
        assert "run elsewhere of deploy@ctl2 (job 7)" in done.of(VERDICT, "web-1")["msg"]
        assert set(holders(tmp_path).values()) == {"elsewhere"}
        assert sum(item["waited"] for item in done.of(ASKED, "web-1")["results"]) <= wait
    else:
        assert done.of(ASKED, "web-1")["results"][0]["took_over_from"]["reason"] == "expired"
        assert holders(tmp_path)["web-1"] == "mine"


def test_what_is_not_enough_is_given_back(tmp_path, hosts):
    foreign(tmp_path, 600)
    paths(tmp_path)["web-1"].unlink()
    done = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine"))
    assert done.code == 2
    assert "1 of 3 keepers" in done.of(VERDICT, "web-1")["msg"]
    assert holders(tmp_path) == {"web-1": None, "web-2": "elsewhere", "web-10": "elsewhere"}


def test_one_keeper_may_be_away(tmp_path):
    hosts = make_hosts(tmp_path, "web-1")
    done = play(tmp_path, hosts, TAKE, RENEW, GIVE_BACK, arguments=extra(run_id="mine"))
    assert done.code == 0, done.output
    assert "web-1: unreachable, web-2: held, web-10: held" in done.output


def test_two_keepers_may_not(tmp_path):
    hosts = make_hosts(tmp_path, "web-1", "web-2")
    done = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine"))
    assert done.code == 2
    assert "web-1: unreachable, web-2: unreachable, web-10: held" in done.of(VERDICT, "web-1")["msg"]
    assert holders(tmp_path) == dict.fromkeys(KEEPERS)


def test_a_damaged_file_is_not_a_free_lock_and_is_told(tmp_path, hosts):
    foreign(tmp_path, 600)
    paths(tmp_path)["web-1"].write_text("")
    done = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine", lock_hosts=ONE))
    assert done.code == 2
    assert "does not tell who holds the lock" in done.of(VERDICT, "web-1")["msg"]


def test_a_run_that_lost_its_lock_stops(tmp_path, hosts):
    """Its lock is gone and nobody has it now: somebody may have had it in between."""
    lose = {"name": "Lose", "ansible.builtin.command": f"rm {paths(tmp_path)['web-1']}", "run_once": True}
    done = play(tmp_path, hosts, TAKE, lose, RENEW, arguments=extra(run_id="mine", lock_hosts=ONE))
    assert done.code == 2
    assert "has lost the run lock: 0 of 1 keepers" in done.of(VERDICT, "web-1")["msg"]


def test_check_mode_takes_nothing_and_tells(tmp_path, hosts):
    free = play(tmp_path, hosts, TAKE, RENEW, GIVE_BACK, arguments=("--check", *extra(run_id="mine", lock_hosts=ONE)))
    assert free.code == 0, free.output
    assert "The run lock could be taken." in free.output
    assert not (tmp_path / "web-1").exists()
    foreign(tmp_path, 600)
    busy = play(tmp_path, hosts, TAKE, arguments=("--check", *extra(run_id="mine", lock_wait=60, lock_hosts=ONE)))
    assert busy.code == 0, busy.output
    assert "Another run is at work" in busy.of(VERDICT, "web-1")["msg"]
    assert set(holders(tmp_path).values()) == {"elsewhere"}


def test_the_module_by_itself(tmp_path):
    hosts = inventory(tmp_path, {"web-1": {}})
    foreign(tmp_path, 600)
    cases = [
        ({"run_id": "a", "path": str(paths(tmp_path)["web-1"])}, "is held by run elsewhere of deploy@ctl2"),
        ({"run_id": " "}, "run_id is empty"),
        ({"run_id": "a", "path": "run.lock"}, "path must be an absolute path"),
        ({"run_id": "a", "expires": 0}, "expires must be at least 1 second"),
        ({"run_id": "a", "wait": -1}, "wait must be 0 or more seconds"),
        ({}, "run_id"),
    ]
    done = play_each(tmp_path, hosts, MODULE, [options for options, _part in cases], module_defaults={})
    for options, part in cases:
        assert done.of(str(options))["outcome"] == "failed"
        assert part in done.of(str(options))["msg"]


def test_the_documentation_is_found(tmp_path):
    listed = run(tmp_path, ["ansible-doc", "-t", "filter", "maintenance.azure.lock_verdict"])
    assert listed.code == 0, listed.output
