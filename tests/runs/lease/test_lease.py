# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs see each other through their lock hosts, whatever happens to one of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._lease.lease import group_path
from helpers import ROOT, ansible_run, transports
from helpers.ansible_run import environment, inventory, play_each
from helpers.leases import note
from helpers.lying_host import LyingHost
from helpers.network import HangingHost, ssh_that_is_refused
from helpers.waiting import wait_until

LOCK_HOSTS = ("web-1", "web-2", "web-10")
MODULE = "maintenance.azure.lease"
ASKED = "Take the lease on each lock host"
VERDICT = "Continue only with the lease"
TASKS = ROOT / "playbooks" / "tasks"
ONE = ["web-1"]


def lease_tasks(action, group="", seconds=90):
    return {
        "name": action,
        "ansible.builtin.include_tasks": str(TASKS / f"{action}_lease.yml"),
        "vars": {"__lease_group": group, "__lease_seconds": seconds},
    }


TAKE, RENEW, RELEASE = lease_tasks("take"), lease_tasks("renew"), lease_tasks("release")


def play(*arguments, **more):
    return ansible_run.play(*arguments, module_defaults={}, ANSIBLE_PIPELINING="1", **more)


def paths(folder, group=""):
    return {lock_host: Path(group_path(str(folder / lock_host / "run.lock"), group)) for lock_host in LOCK_HOSTS}


def holders(folder, group=""):
    found = {}
    for lock_host, path in paths(folder, group).items():
        lease = json.loads(path.read_text())["lease"] if path.exists() else None
        found[lock_host] = lease and lease["run_id"]
    return found


@pytest.fixture
def hosts(tmp_path):
    return make_hosts(tmp_path)


def make_hosts(folder, *away, **own_vars):
    """Four hosts of which the first three are the lock hosts; an ssh that never gets through leads to those away."""
    own = {lock_host: {"maintenance_lock_path": str(path)} for lock_host, path in paths(folder).items()}
    own["web-11"] = {}
    for host in away:
        own[host].update(ssh_that_is_refused(folder))
    for host, more in own_vars.items():
        own[host.replace("_", "-")].update(more)
    return inventory(folder, own)


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


def work(folder):
    """A task that goes on until the file `stop` is there, also if its run was killed."""
    wait = f"for i in $(seq 600); do test -e {folder / 'stop'} && break; sleep 0.2; done"
    return {"name": "Work", "ansible.builtin.shell": wait, "run_once": True}


def uptime():
    return float(Path("/proc/uptime").read_text().split()[0])


def foreign(folder, seconds, group="", notes=(), lock_hosts=LOCK_HOSTS):
    """A lease that a run on another controller has."""
    lease = {
        "run_id": "elsewhere",
        "controller": "another",
        "host": "ctl2",
        "user": "deploy",
        "note": "job 7",
        "pid": 999999,
        "process_start": "1",
        "taken_at": "2026-11-16T00:00:00Z",
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "counted_from": uptime(),
        "seconds": seconds,
    }
    for path in (paths(folder, group)[lock_host] for lock_host in lock_hosts):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"version": 2, "lease": lease, "notes": list(notes)}))


@pytest.mark.rest
def test_take_renew_release_also_outside_the_limit(tmp_path, hosts):
    looked = tmp_path / "looked"
    copy = {"name": "Look", "ansible.builtin.command": f"cp -r {tmp_path / 'web-10'} {looked}"}
    done = play(tmp_path, hosts, TAKE, copy, RENEW, RELEASE, arguments=("--limit", "web-11", *extra(run_id="mine")))
    assert done.code == 0, done.output
    lease = json.loads((looked / "run.lock").read_text())["lease"]
    assert (lease["run_id"], lease["seconds"]) == ("mine", 90)
    assert 0 <= uptime() - lease["counted_from"] < 60
    assert (looked / "run.lock").stat().st_mode & 0o777 == 0o600
    assert [item["changed"] for item in done.of(ASKED)["results"]] == [True, True, True]
    assert [item["__lease_host"] for item in done.of(ASKED)["results"]] == list(LOCK_HOSTS)
    assert done.of("Check whether a majority granted the lease")["held"]
    renewed = done.of("Renew the lease on each lock host")["results"]
    assert [(item["renewed"], item["changed"]) for item in renewed] == [(True, False)] * 3
    assert [item["changed"] for item in done.of("Release the lease on each lock host")["results"]] == [True] * 3
    assert [list((tmp_path / lock_host).iterdir()) for lock_host in LOCK_HOSTS] == [[], [], []]


def test_two_at_once_then_a_kill_and_a_takeover(tmp_path, hosts):
    long = lease_tasks("take", seconds=600)
    other = start(tmp_path, hosts, "other", long, work(tmp_path), lock_hosts=ONE)
    try:
        wait_until(lambda: holders(tmp_path)["web-1"] == "other")
        second = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine", lock_hosts=ONE)).ended(2)
        told = second.of(VERDICT, "web-1")["msg"]
        for part in ("Another run is at work", "run other of ", "since ", "seconds more", "maintenance_lock_wait"):
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


@pytest.mark.rest
@pytest.mark.parametrize(("wait", "code"), [(4, 2), (60, 0)])
def test_a_lease_of_another_controller_is_taken_when_it_has_lapsed(tmp_path, hosts, wait, code):
    foreign(tmp_path, 600 if code else 6, notes=[note("web-11")])
    lock_hosts = list(LOCK_HOSTS) if code else ONE
    done = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine", lock_wait=wait, lock_hosts=lock_hosts))
    assert done.code == code, done.output
    # Who gets it and who does not: both hear the notes.
    (heard,) = done.of("Check whether a majority granted the lease", "web-1")["notes"]
    assert heard == {**note("web-11"), "by": lock_hosts, "lacking": []}
    if code:
        assert "run elsewhere of deploy@ctl2 (job 7)" in done.of(VERDICT, "web-1")["msg"]
        assert set(holders(tmp_path).values()) == {"elsewhere"}
        # It would last ten minutes.
        assert wait <= done.seconds < 300
    else:
        assert done.of(ASKED, "web-1")["results"][0]["took_over_from"]["reason"] == "expired"
        assert holders(tmp_path)["web-1"] == "mine"


def test_one_lock_host_may_be_away(tmp_path):
    hosts = make_hosts(tmp_path, "web-1")
    done = play(tmp_path, hosts, TAKE, RENEW, RELEASE, arguments=extra(run_id="mine")).ended()
    assert "web-1: unreachable, web-2: held, web-10: held" in done.output
    assert done.of("Check whether a majority granted the lease")["unread_lock_hosts"] == ["web-1"]


def test_a_lock_host_that_lies_counts_as_unread(tmp_path):
    liar = LyingHost(tmp_path / "liar")
    liar.says(merge={"held": "yes", "notes": [{"host": "web-11"}], "ansible_facts": {"stolen": True}})
    hosts = make_hosts(tmp_path, web_1=liar.host_vars)
    done = play(tmp_path, hosts, TAKE, RENEW, arguments=extra(run_id="mine"), PATH=liar.path(with_curl=False)).ended()
    assert liar.told()
    found = done.of("Check whether a majority granted the lease")
    assert (found["held"], found["unread_lock_hosts"], found["notes"]) == (True, ["web-1"], [])
    assert "web-1: The host answered something else than it was asked for" in found["msg"]


REFUSED = "web-10 refuses it. web-10 says that it is held by run elsewhere of deploy@ctl2 (job 7)"


def test_one_lock_host_that_refuses_outweighs_two_that_grant(tmp_path, hosts):
    foreign(tmp_path, 600, lock_hosts=["web-10"])
    done = play(tmp_path, hosts, TAKE, arguments=extra(run_id="mine")).ended(2)
    assert REFUSED in done.of(VERDICT, "web-1")["msg"]
    assert done.of("Check whether a majority granted the lease")["refused_by"] == ["web-10"]
    # What it had is given back.
    assert holders(tmp_path) == {"web-1": None, "web-2": None, "web-10": "elsewhere"}


def test_who_only_waits_is_not_stopped_by_one_lock_host_that_refuses(tmp_path, hosts):
    """The two others have given their lease to nobody else."""
    (tmp_path / "aside").mkdir()
    foreign(tmp_path / "aside", 600, lock_hosts=["web-10"])
    turn = f"cp {paths(tmp_path / 'aside')['web-10']} {paths(tmp_path)['web-10']}"
    other = {"name": "Turn", "ansible.builtin.command": turn, "run_once": True}
    done = play(tmp_path, hosts, TAKE, other, RENEW, arguments=extra(run_id="mine")).ended()
    found = done.of(VERDICT, "web-1")
    assert (found["held"], found["refused_by"]) == (False, ["web-10"])
    assert "This run has lost the lease: 2 of 3 lock hosts hold it for this run and it takes 2" in found["msg"]


@pytest.mark.waits
@pytest.mark.parametrize(
    "action", [pytest.param("take", marks=pytest.mark.rest), "renew", pytest.param("release", marks=pytest.mark.rest)]
)
def test_a_lock_host_that_takes_a_command_and_never_answers_is_one_that_is_away(tmp_path, action):
    hanging = HangingHost(tmp_path / "hanging", "web-1", at=f'"do": "{action}"')
    own = {"ansible_connection": "hanging"}
    hosts = make_hosts(tmp_path, web_1=own)
    tools = transports.play_keywords(tmp_path, "command")["environment"]["PATH"]
    settings = {
        "ANSIBLE_CONNECTION_PLUGINS": str(hanging.folder),
        "PATH": os.pathsep.join([tools, str(Path(sys.executable).parent)]),
    }
    done = play(tmp_path, hosts, TAKE, RENEW, RELEASE, arguments=extra(run_id="mine"), **settings).ended()
    assert hanging.hangs
    assert "web-1 took a command and gave no answer within" in " ".join(done.output.split())
    if action != "release":
        assert done.of(VERDICT, "web-1")["unread_lock_hosts"] == ["web-1"]
        assert "web-1: unreachable, web-2: held, web-10: held" in done.of(VERDICT, "web-1")["msg"]
    assert [holders(tmp_path)[lock_host] for lock_host in ("web-2", "web-10")] == [None, None]


@pytest.mark.rest
def test_check_mode_takes_nothing_and_tells(tmp_path, hosts):
    check = ("--check", *extra(run_id="mine", lock_wait=60, lock_hosts=ONE))
    free = play(tmp_path, hosts, TAKE, RENEW, RELEASE, arguments=check).ended()
    assert "The lease could be taken." in free.output
    assert not (tmp_path / "web-1").exists()
    foreign(tmp_path, 600)
    busy = play(tmp_path, hosts, TAKE, arguments=check).ended()
    assert "Another run is at work" in busy.of(VERDICT, "web-1")["msg"]
    assert set(holders(tmp_path).values()) == {"elsewhere"}


def test_the_module_by_itself(tmp_path):
    hosts = inventory(tmp_path, {"web-1": {}})
    foreign(tmp_path, 600)
    path = str(paths(tmp_path)["web-1"])
    cases = [
        ({"do": "take", "run_id": " "}, "run_id is empty"),
        ({"do": "renew"}, "run_id is empty"),
        ({"do": "take", "run_id": "a", "path": "run.lock"}, "path must be an absolute path"),
        ({"do": "take", "run_id": "a", "seconds": 0}, "seconds must be 1 or more"),
        ({"do": "give", "run_id": "a"}, "do must be one of"),
        ({"run_id": "a"}, "do"),
    ]
    good = [{"do": "take", "run_id": "a", "path": path}, {"do": "read", "path": path}]
    options = [case for case, _part in cases] + good
    done = play_each(tmp_path, hosts, MODULE, options, module_defaults={})
    for case, part in cases:
        assert done.of(str(case))["outcome"] == "failed"
        assert part in done.of(str(case))["msg"]
    for case in good:
        told = done.of(str(case))
        assert (told["outcome"], told["held"], told["holder"]["run_id"]) == ("ok", False, "elsewhere")
        assert 500 < told["holder"]["seconds_left"] <= 600


@pytest.mark.rest
def test_who_has_nobody_to_ask_asks_nobody(tmp_path):
    """Also where the host can't be reached: a batch of the run may have hosts that are down."""
    hosts = make_hosts(tmp_path, "web-1")
    nothing = {"do": "ask", "path": str(paths(tmp_path)["web-1"])}
    refused = [
        ({"do": "lock_hosts", "hosts": [], "asked": "take"}, "Unsupported parameters"),
        ({"asked": "take"}, "missing required arguments: do"),
    ]
    options = [nothing, *(case for case, _part in refused)]
    done = play_each(tmp_path, hosts, "maintenance.azure._lease", options, module_defaults={})
    assert done.of(str(nothing), "web-1")["outcome"] == "ok"
    assert not any("held" in done.of(str(nothing), host) for host in LOCK_HOSTS)
    assert holders(tmp_path) == dict.fromkeys(LOCK_HOSTS)
    for case, part in refused:
        assert part in done.of(str(case), "web-1")["msg"]
