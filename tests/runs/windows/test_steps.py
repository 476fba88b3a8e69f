# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drain and return to service of Windows hosts: each kind of step and check, and what is done elsewhere for them."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest
from helpers.ansible_run import inventory, play
from helpers.waiting import wait_until
from helpers.windows_host import SETTINGS, WindowsHost

pytestmark = pytest.mark.rest
JOURNAL = "C:\\ProgramData\\azure-maintenance\\journal.json"
DRAIN = {"name": "Drain", "ansible.builtin.import_role": {"name": "maintenance.azure.drain"}}
RESTORE = {"name": "Restore", "ansible.builtin.import_role": {"name": "maintenance.azure.restore"}}


def run_on(folder, windows, settings, steps, *tasks, arguments=(), **variables):
    hosts = inventory(folder, {"web": {**windows.host_vars, "drain_steps": steps, **variables}})
    return play(folder, hosts, *tasks, arguments=arguments, **settings)


def note(path, word):
    return [sys.executable, "-c", f"open({str(path)!r}, 'a').write({word!r} + chr(10))"]


def test_services_are_stopped_and_those_that_ran_start_again(tmp_path, windows, settings):
    windows.machine.set_services(W3SVC="started", WAS="started", Spooler="stopped")
    steps = [{"services": {"names": ["W3SVC", "WAS", "Spooler"]}}]
    run_on(tmp_path, windows, settings, steps, DRAIN)
    assert windows.machine.services() == {"W3SVC": "stopped", "WAS": "stopped", "Spooler": "stopped"}
    assert json.loads(windows.machine.text(JOURNAL))["state"] == "drained"
    run_on(tmp_path, windows, settings, steps, RESTORE).ended()
    assert windows.machine.services() == {"W3SVC": "started", "WAS": "started", "Spooler": "stopped"}
    assert windows.machine.text(JOURNAL) is None


def test_a_service_that_does_not_exist_is_a_mistake(tmp_path, windows, settings):
    run = run_on(tmp_path, windows, settings, [{"services": {"names": ["W3SVC"]}}], DRAIN)
    assert run.code != 0
    assert "There is no service W3SVC on this host" in run.output


def test_commands_logs_and_probe_files(tmp_path, windows, settings):
    diary = tmp_path / "diary"
    probe = "C:\\inetpub\\wwwroot\\probe.txt"
    windows.machine.write(probe, "I am fine")
    windows.machine.has_trouble(connections=0)
    steps = [
        {"log": {"message": "drains", "restore_message": "is back"}},
        {"load_balancer": {"probe_file": {"path": probe}}},
        {"connections": {"ports": [443], "timeout": 5}},
        {"checkpoint": {"command": note(diary, "save"), "restore": note(diary, "load")}},
        {"command": {"drain": note(diary, "leave"), "restore": note(diary, "join")}},
        {"failover": {"command": note(diary, "hand over"), "restore_command": note(diary, "take back")}},
    ]
    run_on(tmp_path, windows, settings, steps, DRAIN).ended()
    assert windows.machine.text(probe) is None
    assert diary.read_text().split("\n")[:-1] == ["save", "leave", "hand over"]
    run_on(tmp_path, windows, settings, steps, RESTORE).ended()
    assert windows.machine.text(probe) == "I am fine"
    assert diary.read_text().split("\n")[3:-1] == ["take back", "join", "load"]
    log = [json.loads(line)["Message"] for line in (windows.machine.folder / "event_log").read_text().splitlines()]
    assert log == ["drains", "is back"]
    assert windows.machine.text(JOURNAL) is None


def test_a_command_that_never_ends_is_ended_on_the_host_too(tmp_path, windows, settings):
    pid = tmp_path / "pid"
    endless = [
        sys.executable,
        "-c",
        f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(9000)",
    ]
    run = run_on(tmp_path, windows, settings, [{"command": {"drain": endless, "timeout": 5}}], DRAIN)
    assert run.code != 0
    assert "step 1 (command) failed" in run.output
    journal = json.loads(windows.machine.text(JOURNAL))
    assert [step["status"] for step in journal["steps"]] == ["failed"]

    def is_gone():
        try:
            return Path(f"/proc/{pid.read_text()}/stat").read_text().split(")")[1].split()[0] == "Z"
        except OSError:
            return True

    wait_until(is_gone)


def test_opening_the_journal_and_the_beginning_of_the_first_step_are_one_call(tmp_path, windows, settings):
    look = {"name": "Look", "maintenance.azure.drain_journal": {}}
    run_on(tmp_path, windows, settings, [{"command": {"drain": ["true"]}}], look, DRAIN).ended()
    ours = windows.calls()
    # The reading, the journal with its first step, and its end, each on a look. What the step itself takes is not ours.
    assert ours == [["boot", "read", "read"], *[["boot", "read", "read"], ["boot", "replace"]] * 2]


def test_check_mode_changes_nothing(tmp_path, windows, settings):
    windows.machine.set_services(W3SVC="started")
    diary = tmp_path / "diary"
    steps = [{"services": {"names": ["W3SVC"]}}, {"command": {"drain": note(diary, "leave")}}]
    run_on(tmp_path, windows, settings, steps, DRAIN, arguments=("--check",)).ended()
    assert windows.machine.services() == {"W3SVC": "started"}
    assert not diary.exists()
    assert windows.machine.text(JOURNAL) is None


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ({"failover": {"patroni": {}}}, "failover: patroni"),
        ({"load_balancer": {"haproxy": {"backend": "b", "server": "s"}}}, "load_balancer: haproxy"),
        ({"load_balancer": {"nginx": {"upstream_file": "/etc/n", "server": "s"}}}, "load_balancer: nginx"),
    ],
)
def test_what_has_no_half_for_windows_is_refused_by_name(tmp_path, windows, settings, step, name):
    windows.machine.set_services(W3SVC="started")
    run = run_on(tmp_path, windows, settings, [{"services": {"names": ["W3SVC"]}}, step], DRAIN)
    assert run.code != 0
    assert f"{name} can't be done on a Windows host" in run.output
    assert windows.machine.calls() == []


@pytest.mark.parametrize("steps", [[{"services": {"names": ["W3SVC"]}}], []])
def test_the_collection_is_asked_for_before_anything_is_drained(tmp_path, windows, steps):
    variables = {} if steps else {"restore_health": [{"service": "W3SVC"}]}
    run = run_on(tmp_path, windows, SETTINGS, steps, DRAIN, **variables)
    assert run.code != 0
    assert "ansible-galaxy collection install ansible.windows" in run.output
    assert windows.machine.calls() == []


def test_without_steps_of_ours_the_collection_is_not_needed(tmp_path, windows):
    run_on(tmp_path, windows, SETTINGS, [], DRAIN, RESTORE).ended()


@pytest.fixture
def open_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_health_is_checked_before_the_journal_is_closed(tmp_path, windows, settings, open_port):
    windows.machine.set_services(W3SVC="started")
    steps = [{"services": {"names": ["W3SVC"]}}]
    health = [{"service": "W3SVC"}, {"command": ["true"]}, {"port": open_port, "timeout": 5}]
    bad = [*health, {"command": ["false"], "timeout": 1, "interval": 1}]
    assert run_on(tmp_path, windows, settings, steps, DRAIN).code == 0
    run = run_on(tmp_path, windows, settings, steps, RESTORE, restore_health=bad)
    assert run.code != 0
    assert "is returned to service but not healthy" in run.output
    assert json.loads(windows.machine.text(JOURNAL))["state"] == "restoring"
    show = {"name": "Show", "ansible.builtin.debug": {"msg": "{{ restore_result.health | map(attribute='ok') }}"}}
    run = run_on(tmp_path, windows, settings, steps, RESTORE, show, restore_health=health).ended()
    assert run.of("Show")["msg"] == [True, True, True]
    assert windows.machine.text(JOURNAL) is None


DRAIN_EACH = {"name": "Drain", "ansible.builtin.include_role": {"name": "maintenance.azure.drain"}}
RESTORE_EACH = {"name": "Restore", "ansible.builtin.include_role": {"name": "maintenance.azure.restore"}}


class Hosts:
    """Windows hosts by name, each with steps of its own, and `lb1`, a Linux host on which nothing is drained."""

    def __init__(self, folder, settings):
        self.folder = folder
        self.settings = settings
        self.windows = {}
        self.variables = {"lb1": {}}

    def add(self, name, *steps, **variables):
        self.windows[name] = WindowsHost(self.folder / f"{name}.windows")
        self.variables[name] = {**self.windows[name].host_vars, "drain_steps": list(steps), **variables}
        return self.windows[name].machine

    def run(self, role, **more):
        hosts = inventory(self.folder, self.variables)
        return play(self.folder, hosts, role, **{**self.settings, "hosts": "all:!lb1", **more})

    def journal(self, name):
        text = self.windows[name].machine.text(JOURNAL)
        return text and json.loads(text)["state"]


@pytest.fixture
def hosts(tmp_path, settings):
    return Hosts(tmp_path, settings)


def failures(run):
    """The last words about each host that failed."""
    return {line["host"]: str(line["result"].get("msg")) for line in run.results if line["outcome"] == "failed"}


def test_each_host_its_own_kind(tmp_path, hosts, listener):
    over, before, diary = tmp_path / "over", tmp_path / "before", tmp_path / "diary"
    before.touch()
    waits = {"ports": [443], "timeout": 1}
    hosts.add("stuck", {"connections": waits}).has_trouble(connections=3)
    hosts.add("patient", {"connections": {**waits, "on_timeout": "continue"}}).has_trouble(connections=3)
    for name, flag in (("handed", over), ("had_it", before)):
        hosts.add(
            name,
            {
                "failover": {
                    "command": ["touch", str(over)],
                    "check": ["test", "-e", str(flag)],
                    "restore_command": ["rm", str(flag)],
                }
            },
        )
    hook = {"url": f"{listener.url}/hook", "required": True}
    hosts.add(
        "telling",
        {"log": {"message": "from the host", "restore_message": "it is back", "webhook": hook}},
        {"log": {"message": "from the controller", "webhook": {**hook, "sent_from": "controller"}}},
        restore_health=[{"uri": {"url": f"{listener.url}/health", "contains": "{"}}],
    )
    for word in ("leave", "join"):
        argv = [sys.executable, "-c", f"open({str(diary)!r}, 'a').write('{word} {{{{ inventory_hostname }}}} ')"]
        task = [{"name": word, "ansible.windows.win_command": {"argv": argv}}]
        (tmp_path / f"{word}.json").write_text(json.dumps(task))
    unhealthy = {"uri": {"url": f"{listener.url}/health", "contains": "nothing of it"}, "timeout": 1, "interval": 1}
    hosts.add("own", {"tasks": {"drain": "leave.json", "restore": "join.json"}}, restore_health=[unhealthy])

    drained = hosts.run(DRAIN_EACH)
    assert set(failures(drained)) == {"stuck"}, drained.output
    assert "3 established connections on port 443 are left after 1 s, at most 0 are allowed" in drained.output
    assert "step 1 (connections) failed" in failures(drained)["stuck"]
    assert {name: hosts.journal(name) for name in hosts.windows} == {
        **dict.fromkeys(hosts.windows, "drained"),
        "stuck": "draining",
    }
    assert over.exists()
    commands = [call for call in hosts.windows["had_it"].machine.calls() if call["module"].endswith("win_command")]
    assert [call["arguments"]["argv"] for call in commands] == [["test", "-e", str(before)]]
    assert sorted(body["text"] for body in listener.bodies) == ["from the controller", "from the host"]
    assert diary.read_text() == "leave own "

    restored = hosts.run(RESTORE_EACH)
    assert set(failures(restored)) == {"own"}, restored.output
    assert "is returned to service but not healthy" in failures(restored)["own"]
    assert diary.read_text() == "leave own join own "
    assert (over.exists(), before.exists()) == (False, True)
    assert [body["text"] for body in listener.bodies][2:] == ["it is back"]
    assert {name for name in hosts.windows if hosts.journal(name)} == {"own"}


def test_load_balancers_on_another_machine(tmp_path, hosts, haproxy, nginx):
    """Their records are on the Linux host, wherever the journal of the Windows host is."""
    records = tmp_path / "records"
    hosts.variables["lb1"] = {"drain_records": str(records)}
    reload_nginx = [*nginx.command, "-s", "reload"]
    for number, journal in enumerate(({}, {"drain_journal": "D:\\maintenance\\journal.json"})):
        hosts.add(
            f"web_{number}",
            {
                "load_balancer": {
                    "haproxy": {
                        "backend": "web",
                        "server": "{{ inventory_hostname }}",
                        "socket": haproxy.socket,
                        "host": "lb1",
                    }
                }
            },
            {
                "load_balancer": {
                    "nginx": {
                        "upstream_file": str(nginx.upstream),
                        "server": f"127.0.0.1:800{number + 1}",
                        "host": "lb1",
                        "test_command": [*nginx.command, "-t"],
                        "reload_command": reload_nginx,
                    }
                }
            },
            **journal,
        )
    upstream = nginx.upstream.read_text()
    hosts.run(DRAIN_EACH).ended()
    assert haproxy.states() == {"web_0": "drain", "web_1": "drain", "web_2": "maint"}
    assert nginx.upstream.read_text().count(" down;") == 3
    assert len(list(records.glob("*.json"))) == 4
    assert hosts.windows["web_1"].machine.text("D:\\maintenance\\journal.json")
    # Nothing of it is done on the Windows hosts: they keep the journal.
    modules = {call["module"] for host in hosts.windows.values() for call in host.machine.calls()}
    assert modules == {"maintenance.azure._windows_host"}

    hosts.run(RESTORE_EACH).ended()
    assert haproxy.states() == {"web_0": "ready", "web_1": "ready", "web_2": "maint"}
    assert nginx.upstream.read_text() == upstream
    assert not list(records.glob("*.json"))
