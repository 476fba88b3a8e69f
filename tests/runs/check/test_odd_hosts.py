# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of which each has one thing that is not as it should be: that is found, and the others are good."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from helpers import transports as ways
from helpers.ansible_run import inventory
from helpers.check_run import check, needs_ssh
from helpers.host_services import Units

pytestmark = pytest.mark.rest

JOURNAL = {
    "version": 1,
    "state": "drained",
    "started_at": "2026-11-16T00:20:32Z",
    "drained_at": "2026-11-16T00:21:00Z",
    "run_id": "run-7",
    "boot_id": None,
    "events": [{"id": "E-1"}],
    "steps": [
        {
            "number": 1,
            "kind": "command",
            "arguments": {"drain": "leave --with hunter2"},
            "before": None,
            "status": "done",
        }
    ],
}
RECORD = {
    "version": 1,
    "host": "plain",
    "vm": "plain",
    "type": "Reboot",
    "run_id": "run-8",
    "at": "2026-11-16T00:20:32Z",
    "before": {"state": "ready"},
    "acts_on": {"kind": "load_balancer.haproxy"},
    "events": ["E-2"],
}
HEALTHY_WATCHER = {"version": "0.1.0", "failing_since": None, "problem": None, "drained": False, "left_for_a_run": []}


def haproxy(host, path):
    return [{"load_balancer": {"haproxy": {"backend": "web", "server": "web_0", "socket": str(path), "host": host}}}]


def written(path, data, mode=0o600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    path.chmod(mode)
    return str(path)


def watcher(folder, name, age=0.0, **changes):
    status = {"read_at": "2026-11-16T00:20:32Z", "events": [], "watcher": {**HEALTHY_WATCHER, **changes}}
    path = written(folder / f"{name}.status.json", status, 0o644)
    os.utime(path, (time.time() - age, time.time() - age))
    return {"watch_status_file": path}


@contextlib.contextmanager
def at_work(*statuses):
    """As watchers do, which write their status anew all the time, however long others take to look at it."""
    ended = threading.Event()

    def write():
        while not ended.wait(1):
            for status in statuses:
                os.utime(status["watch_status_file"])

    watchers = threading.Thread(target=write)
    watchers.start()
    try:
        yield
    finally:
        ended.set()
        watchers.join()


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    units = Units(folder / "systemd")
    units.set(nginx="active")
    (folder / "a file").touch()
    written(folder / "includes.yml", "[{name: More, include_tasks: '{{ which }}.yml'}]", 0o644)
    written(folder / "more" / "leave.yml", "[{name: Deep, ansible.builtin.import_tasks: {file: deep.yml}}]", 0o644)
    written(folder / "more" / "deep.yml", "[{name: Role, include_role: {name: nobody.others.role}}]", 0o644)
    written(folder / "includes-unknown.yml", "[{name: X, include_tasks: '{{ item }}.yml', loop: [a]}]", 0o644)
    tasks = written(folder / "leave.yml", "[{name: Leave, block: [{name: In, nobody.nothing.leave: {}}]}]", 0o644)
    usual = {
        "drain_steps": [{"services": {"names": ["nginx"]}}],
        "watch_status_file": str(folder / "none.json"),
        "watch_dir": str(folder / "none"),
    }
    hosts = {
        "plain": {},
        "unreachable": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1},
        "no-python": ways.host_vars(folder, "curl"),
        "by-module": ways.host_vars(folder, "module"),
        "no-become": {
            "ansible_become": True,
            "ansible_become_method": "sudo",
            "ansible_become_user": "nobody",
            "ansible_become_exe": "/nonexistent/sudo",
        },
        "bad-setting": {"maintenance_api_version": "2099-01-01"},
        "no-folder": {"drain_journal": str(folder / "a file" / "journal.json")},
        "left": {"drain_journal": written(folder / "left.json", JOURNAL)},
        "unreadable": {"drain_journal": written(folder / "unreadable.json", "nonsense")},
        "of-others": {"drain_journal": written(folder / "of-others.json", JOURNAL, 0o666)},
        "watched": watcher(folder, "watched"),
        "silent": watcher(folder, "silent", age=600.0),
        "failing": watcher(folder, "failing", failing_since="2026-11-16T00:20:32Z", problem="an HTML page"),
        "waiting": watcher(folder, "waiting", left_for_a_run=["E-3 names a VM that is not drained"]),
        "stopped": {"watch_dir": str(Path(written(folder / "watch-program" / "watch", "", 0o755)).parent)},
        "drained-by-watcher": {
            **watcher(folder, "drained", drained=True),
            "drain_journal": written(folder / "drained.json", {**JOURNAL, "run_id": "watcher of drained-by-watcher"}),
        },
        "no-steps": {"drain_steps": []},
        "bad-steps": {"drain_steps": [{"services": {"name": ["nginx"]}}]},
        "bad-template": {"drain_steps": [{"services": {"names": ["{{ nothing_of_that_name }}"]}}]},
        "bad-health": {"restore_health": [{"portt": 80}]},
        "no-unit": {"drain_steps": [{"services": {"names": ["nginx", "apache9"]}}]},
        "no-command": {"drain_steps": [{"command": {"drain": ["/nonexistent/leave", "--with", "hunter2"]}}]},
        "no-collection": {"drain_steps": [{"tasks": {"drain": tasks}}]},
        "includes": {"drain_steps": [{"tasks": {"drain": str(folder / "includes.yml")}}], "which": "more/leave"},
        "includes-unknown": {"drain_steps": [{"tasks": {"drain": str(folder / "includes-unknown.yml")}}]},
        "assignment": {"drain_steps": [{"command": {"drain": "LEAVE_TOKEN=hunter2 leave"}}]},
        "kubernetes": {"drain_steps": [{"kubernetes": {"node": "n1", "kubeconfig": "/nonexistent/config"}}]},
        "no-probe-folder": {"drain_steps": [{"load_balancer": {"probe_file": {"path": "/nonexistent/up"}}}]},
        "behind-lb1": {"drain_steps": haproxy("lb1", folder / "nonexistent.sock")},
        "behind-lb2": {"drain_steps": haproxy("lb2", "/run/haproxy/admin.sock")},
        "behind-lb3": {"drain_steps": haproxy("lb3", folder / "lb.sock")},
        "behind-lb4": {"drain_steps": haproxy("lb4", folder / "lb.sock")},
        "behind-lb5": {"drain_steps": haproxy("lb5", folder / "lb.sock")},
        "behind-lb6": {"drain_steps": haproxy("lb6", folder / "a file")},
    }
    machines = {
        "lb1": {"drain_records": str(folder / "lb1")},
        "lb2": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1},
        "lb3": {"drain_records": str(folder / "lb3")},
        "lb4": {"drain_records": str(folder / "lb4")},
        "lb5": {"drain_records": str(folder / "lb5")},
        "lb6": {"drain_records": str(folder / "lb6")},
    }
    admin = socket.socket(socket.AF_UNIX)
    admin.bind(str(folder / "lb.sock"))
    written(folder / "lb1" / "a.json", RECORD)
    written(folder / "lb3" / "a.json", {**RECORD, "host": "long-gone"})
    written(folder / "lb4" / "a.json", "nonsense")
    written(folder / "lb5" / "a.json", {**RECORD, "host": "left"})
    own = {host: {"drain_journal": str(folder / f"{host}.json"), **usual, **more} for host, more in hosts.items()}
    listed = inventory(folder, {**own, **machines})
    path = os.pathsep.join([str(units.folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    with at_work(*(hosts[name] for name in ("watched", "failing", "waiting", "drained-by-watcher"))):
        return check(folder, listed, settings={"PATH": path}, maintenance_hosts=",".join(hosts))


@pytest.mark.parametrize(
    ("host", "point", "verdict", "seen"),
    [
        ("plain", "Python", "good", f"{sys.version_info[0]}.{sys.version_info[1]}"),
        pytest.param("unreachable", "reach", "bad", "onnect", marks=needs_ssh),
        ("no-python", "Python", "bad", "no-python needs Python 3.6 or newer, and none could be run there"),
        ("no-python", "Python", "bad", "or set ansible_python_interpreter to its path"),
        ("by-module", "how our code gets there", "doubtful", "a module"),
        ("no-become", "become", "bad", "no command can be run"),
        ("bad-setting", "look at the host", "bad", "2099-01-01"),
        ("plain", "the journal can be written", "good", "by "),
        ("no-folder", "the journal can be written", "bad", "is not a folder"),
        ("plain", "journal", "good", "none: the host is in service"),
        ("left", "journal", "bad", "drained since 2026-11-16T00:21:00Z by run run-7 for E-1, which is not"),
        ("unreadable", "journal", "bad", "can't be understood"),
        ("of-others", "journal", "bad", "can be written by others, so it is not trusted"),
        ("plain", "watcher", "good", "none here"),
        ("watched", "watcher", "good", "at work, version 0.1.0"),
        ("silent", "watcher", "bad", "silent for 6"),
        ("failing", "watcher", "bad", "since 2026-11-16T00:20:32Z: an HTML page"),
        ("waiting", "watcher", "doubtful", "E-3 names a VM"),
        ("stopped", "watcher", "bad", "no status of it"),
        ("drained-by-watcher", "journal", "doubtful", "by the watcher of drained-by-watcher"),
        ("plain", "drain steps", "good", "1: services"),
        ("no-steps", "drain steps", "doubtful", "none"),
        ("bad-steps", "drain steps", "bad", "drain_steps, step 1: services"),
        ("bad-template", "drain steps", "bad", "nothing_of_that_name"),
        ("bad-health", "drain steps", "bad", "restore_health, check 1"),
        ("no-unit", "step 1 (services): unit nginx", "good", "there"),
        ("no-unit", "step 1 (services): unit apache9", "bad", "not-found on the host"),
        ("no-command", "step 1 (command): command /nonexistent/leave", "bad", "missing on the host"),
        ("plain", "collections of the steps", "good", "all there"),
        ("no-collection", "collections of the steps", "bad", "nobody.nothing.leave"),
        ("includes", "collections of the steps", "bad", "there is no nobody.others.role"),
        ("includes-unknown", "collections of the steps", "doubtful", "{{ item }}.yml in includes-unknown.yml"),
        ("assignment", "step 1 (command): command LEAVE_TOKEN=...", "bad", "no program"),
        ("kubernetes", "collections of the steps", "bad", "kubernetes.core"),
        ("no-probe-folder", "step 1 (load_balancer): path /nonexistent", "bad", "missing on the host"),
        ("the fleet", "other machine lb1", "good", "can be reached"),
        pytest.param("the fleet", "other machine lb2", "bad", "onnect", marks=needs_ssh),
        ("the fleet", "records on lb1", "bad", "for hosts without a journal: plain (Reboot, run run-8"),
        ("the fleet", "records on lb3", "bad", "for hosts that the inventory does not have: long-gone"),
        ("the fleet", "records on lb4", "bad", "can't be understood"),
        ("the fleet", "records on lb5", "doubtful", "for hosts that are drained: left"),
        ("the fleet", "step 1 (kubernetes): path /nonexistent/config", "bad", "missing on localhost"),
        ("the fleet", "other machine localhost", "good", "can be reached"),
    ],
)
def test_it_is_found(found, host, point, verdict, seen):
    told = found.of(host, point)
    assert (told["verdict"], seen in told["seen"]) == (verdict, True), told
    # What is not good comes with what to do about it.
    assert bool(told["do"]) == (verdict != "good")


def test_the_socket_of_the_load_balancer_is_looked_for_there(found):
    sockets = [one for one in found.report["fleet"] if one["point"].startswith("step 1 (load_balancer): path")]
    assert sorted((one["verdict"], one["seen"].split(" on ")[-1]) for one in sockets if one["verdict"] == "bad") == [
        ("bad", "lb1, where a socket is due"),
        ("bad", "lb6, where a socket is due"),
    ]
    assert sum(one["verdict"] == "good" for one in sockets) == 3


def test_a_host_that_is_as_it_should_be_is_good_beside_all_these(found):
    assert {finding["verdict"] for finding in found.report["hosts"]["plain"]} == {"good"}
    assert found.report["verdict"] == "bad"
    assert found.run.code == 2


def test_nothing_of_a_journal_or_of_a_command_is_told(found):
    assert "hunter2" not in found.run.output
    assert "hunter2" not in json.dumps(found.report)
