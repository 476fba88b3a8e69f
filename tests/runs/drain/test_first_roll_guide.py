# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/first-roll.md from its first file to its last command, and the playbook of docs/troubleshooting.md."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from helpers import ROOT
from helpers.ansible_run import run
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def files_and_commands(page):
    files, commands = {}, []
    for language, content in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if language == "console":
            commands += content.splitlines()
        else:
            title, _end, body = content.partition("\n")
            files[title.removeprefix("# ")] = body
    return files, commands


@pytest.fixture
def fleet(tmp_path, haproxy, units, listener):
    """The files of the guide, with the addresses and paths of this test in them."""
    vms = [{"name": f"web-{number}", "group": "web"} for number in range(3)]
    with Simulator({"groups": {"web": {}}, "vms": vms}, requests_per_second=0) as simulator:
        simulator.document("web-0")
        replacements = {
            "{{ inventory_hostname }}": "{{ inventory_hostname | replace('-', '_') }}",
            "/run/haproxy/admin.sock": haproxy.socket,
            "http://localhost": listener.url,
            "ansible_become: true": "ansible_become: false",
        }
        files, _commands = files_and_commands("first-roll.md")
        for name, text in files.items():
            for old, new in replacements.items():
                text = text.replace(old, new)
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        own = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "drain_journal": str(tmp_path / "{{ inventory_hostname }}" / "journal.json"),
            "maintenance_lock_path": str(tmp_path / "{{ inventory_hostname }}.lock"),
        }
        (tmp_path / "inventory" / "group_vars" / "all.yml").write_text(json.dumps(own))
        (tmp_path / "inventory" / "host_vars").mkdir()
        for vm, url in simulator.endpoints.items():
            (tmp_path / "inventory" / "host_vars" / f"{vm}.json").write_text(json.dumps({"maintenance_endpoint": url}))
        units.set(nginx="active")
        yield simulator


def do(tmp_path, units, command):
    path = os.pathsep.join([str(units.folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    return run(tmp_path, shlex.split(command), PATH=path)


def test_the_guide(tmp_path, fleet, haproxy, units):
    _files, commands = files_and_commands("first-roll.md")
    read, look, roll = commands
    event = fleet.add_event(type="Reboot", resources=["web-1"], dwell=1)

    done = do(tmp_path, units, read)
    assert done.code == 0, done.output
    assert "3 hosts: 2 with nothing planned, 1 with events, 0 unread" in done.output

    done = do(tmp_path, units, look)
    assert done.code == 0, done.output
    assert "Wave 1 of 1" in done.output
    assert units.calls() == []
    assert fleet.event(event["id"])["status"] == "Scheduled"

    done = do(tmp_path, units, roll)
    assert done.code == 0, done.output
    assert fleet.event(event["id"])["status"] == "Finished"
    assert units.calls() == ["stop nginx", "start nginx"]
    assert haproxy.states()["web_1"] == "ready"
    assert not (tmp_path / "web-1" / "journal.json").exists()


def test_a_host_is_put_back_by_hand(tmp_path, fleet, haproxy, units):
    """What troubleshooting.md says to do for one host that was left drained."""
    files, commands = files_and_commands("troubleshooting.md")
    (tmp_path / "restore_one.yml").write_text(files["restore_one.yml"])
    drain = files["restore_one.yml"].replace("maintenance.azure.restore", "maintenance.azure.drain")
    (tmp_path / "drain_one.yml").write_text(drain)
    event = fleet.add_event(type="Reboot", resources=["web-0"])
    (told,) = [command for command in commands if "restore_one" in command]
    command = told.replace("web-3", "web-0")
    done = do(tmp_path, units, command.replace("restore_one", "drain_one"))
    assert done.code == 0, done.output
    assert (haproxy.states()["web_0"], units.states()) == ("drain", {"nginx": "inactive"})
    fleet.cancel(event["id"])
    done = do(tmp_path, units, command)
    assert done.code == 0, done.output
    assert (haproxy.states()["web_0"], units.states()) == ("ready", {"nginx": "active"})
