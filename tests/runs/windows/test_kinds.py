# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of steps and checks of health on Windows hosts, each host with its own; and what is done elsewhere for them."""

from __future__ import annotations

import json
import sys

import pytest
from helpers.ansible_run import inventory, play
from helpers.windows_host import WindowsHost

pytestmark = pytest.mark.rest
JOURNAL = "C:\\ProgramData\\azure-maintenance\\journal.json"
DRAIN = {"name": "Drain", "ansible.builtin.include_role": {"name": "maintenance.azure.drain"}}
RESTORE = {"name": "Restore", "ansible.builtin.include_role": {"name": "maintenance.azure.restore"}}


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

    drained = hosts.run(DRAIN)
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

    restored = hosts.run(RESTORE)
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
    drained = hosts.run(DRAIN)
    assert drained.code == 0, drained.output
    assert haproxy.states() == {"web_0": "drain", "web_1": "drain", "web_2": "maint"}
    assert nginx.upstream.read_text().count(" down;") == 3
    assert len(list(records.glob("*.json"))) == 4
    assert hosts.windows["web_1"].machine.text("D:\\maintenance\\journal.json")
    # Nothing of it is done on the Windows hosts: they keep the journal.
    modules = {call["module"] for host in hosts.windows.values() for call in host.machine.calls()}
    assert modules == {"maintenance.azure._windows_host"}

    restored = hosts.run(RESTORE)
    assert restored.code == 0, restored.output
    assert haproxy.states() == {"web_0": "ready", "web_1": "ready", "web_2": "maint"}
    assert nginx.upstream.read_text() == upstream
    assert not list(records.glob("*.json"))
