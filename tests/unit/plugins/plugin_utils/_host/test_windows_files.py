# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is sent to Windows hosts: scripts are PowerShell, tasks name modules and options that ansible.windows has."""

from __future__ import annotations

import base64
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import ROOT
from helpers.windows_double import powershell_process
from helpers.windows_double.machine import Machine
from helpers.windows_double.modules import complaint_about
from helpers.windows_host import needs_powershell, with_ansible_windows
from tools.powershell_5 import complaints
from tools.powershell_grammar import mistakes
from tools.wheel_part import Unavailable

MODULES = ROOT / "plugins" / "modules"
FILES = sorted(ROOT.glob("plugins/**/*.ps1")) + sorted(ROOT.glob("roles/**/*.ps1"))


def test_only_the_module_of_windows_hosts_has_a_ps1() -> None:
    """Ansible sends a .ps1 to Linux hosts as well where a module has both."""
    assert [path.name for path in MODULES.glob("*.ps1")] == ["_windows_host.ps1"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_is_powershell(path: Path) -> None:
    assert mistakes(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_windows_powershell_can_run_it(path: Path) -> None:
    assert complaints(path.read_text(encoding="utf-8")) == []


SCRIPTS = ROOT / "roles" / "steps" / "files" / "windows"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "windows")


@pytest.fixture
def run(machine):
    def run(script, check_mode=False, **parameters):
        return powershell_process.script(machine, SCRIPTS / script, parameters, check_mode)

    return run


@needs_powershell
def test_a_probe_file_goes_and_comes_back(machine, run):
    path = "C:\\inetpub\\wwwroot\\probe.html"
    content = base64.b64encode(b"fine").decode()
    about = {"Path": path, "Content": "", "Wait": 0}
    machine.write(path, "fine")
    assert run("probe_file.ps1", **about, Action="look") == {"changed": False, "result": {"file": {"content": content}}}
    assert run("probe_file.ps1", check_mode=True, **about, Action="remove")["changed"]
    assert machine.text(path) == "fine"
    assert run("probe_file.ps1", **about, Action="remove")["changed"]
    assert machine.text(path) is None
    assert run("probe_file.ps1", **about, Action="look") == {"changed": False, "result": {"file": None}}
    assert run("probe_file.ps1", **{**about, "Content": content}, Action="put")["changed"]
    assert machine.text(path) == "fine"


@needs_powershell
def test_connections_are_counted(run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            left = run("connections.ps1", Ports=[port], AtMost=0, Seconds=1)
    assert left == {"changed": False, "result": {"established": 1}}


@needs_powershell
def test_connections_that_stay_are_told(machine, run):
    machine.has_trouble(connections=3)
    about = {"Ports": [443], "Seconds": 1}
    assert run("connections.ps1", **about, AtMost=0)["result"] == {"established": 3}
    assert run("connections.ps1", **{**about, "Ports": [80]}, AtMost=0)["result"] == {"established": 0}


@needs_powershell
def test_an_entry_of_the_event_log(machine, run):
    about = {"Source": "azure-maintenance", "EntryType": "Information"}
    assert run("event_log.ps1", check_mode=True, **about, Message="not now")["changed"]
    assert run("event_log.ps1", **about, Message="drains\nfor a reboot")["changed"]
    log = [json.loads(line) for line in (machine.folder / "event_log").read_text().splitlines()]
    assert log == [{**about, "Message": "drains for a reboot", "EventId": 1}]


TASKS = ROOT / "roles" / "steps" / "tasks" / "windows"
TASK_FILES = sorted(TASKS.rglob("*.yml"))
COLLECTION = "ansible.windows."


@pytest.fixture(autouse=True)
def collection(monkeypatch):
    try:
        settings = with_ansible_windows()
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", settings["ANSIBLE_COLLECTIONS_PATH"])


def modules_in(tasks: Any) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Module, its arguments and the whole task, of all that are of ansible.windows, also in blocks."""
    found = []
    for task in tasks or []:
        found += modules_in(task.get("block")) + modules_in(task.get("rescue"))
        found += [
            (key.removeprefix(COLLECTION), value, task) for key, value in task.items() if key.startswith(COLLECTION)
        ]
    return found


CASES = [(path, *case) for path in TASK_FILES for case in modules_in(yaml.safe_load(path.read_text(encoding="utf-8")))]
IDS = [f"{case[0].relative_to(TASKS)}-{case[1]}" for case in CASES]


@pytest.mark.parametrize(("path", "module", "arguments", "task"), CASES, ids=IDS)
def test_module_and_options_exist(path, module, arguments, task):
    plain = {name: value for name, value in arguments.items() if not (isinstance(value, str) and "{{" in value)}
    assert complaint_about(module, {**dict.fromkeys(arguments), **plain}) == ""


def test_there_is_something_to_look_at():
    assert {case[1] for case in CASES} >= {"win_service", "win_command", "win_powershell", "win_uri", "win_wait_for"}


@pytest.mark.parametrize(("path", "module", "arguments", "task"), CASES, ids=IDS)
def test_what_may_hang_is_ended_on_the_host_too(path, module, arguments, task):
    """These have no time-out of their own; the others look, or end by themselves."""
    if module in ("win_command", "win_service"):
        assert task["async"]
        assert task["poll"] > 0


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.ps1")), ids=lambda path: path.name)
def test_scripts_take_what_they_are_given(path):
    named = re.search(r"param \((.*?)\)\n", path.read_text(encoding="utf-8"), re.DOTALL).group(1)
    takes = {name.lstrip("$") for name in re.findall(r"\$\w+", named)}
    given = [case[2]["parameters"] for case in CASES if f"windows/{path.name}" in str(case[2].get("script"))]
    assert given
    assert all(set(one) == takes for one in given)
