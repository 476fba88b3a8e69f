# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of steps on Windows hosts in a real PowerShell, where there is one: as win_powershell runs them."""

from __future__ import annotations

import base64
import json
import socket
import subprocess

import pytest
from helpers import ROOT
from helpers.windows_double import powershell_process
from helpers.windows_double.machine import ME, Machine
from helpers.windows_host import POWERSHELL, needs_powershell

pytestmark = needs_powershell
SCRIPTS = ROOT / "roles" / "steps" / "files" / "windows"
FILES = [*sorted(ROOT.glob("plugins/**/*.ps1")), *sorted(SCRIPTS.glob("*.ps1"))]
PARSE = """
$all = @{}
foreach ($path in $args) {
    $found = $null
    $null = [System.Management.Automation.Language.Parser]::ParseFile($path, [ref]$null, [ref]$found)
    $all[$path] = @($found | ForEach-Object { $_.Message })
}
ConvertTo-Json $all
"""

# As ansible-core before 2.19 does in what it pipes before our module.
NAMED_BEFORE = """
$null = [System.Security.Principal.WindowsIdentity]
Import-Module WindowsDouble
([type]'System.Security.Principal.WindowsIdentity')::GetCurrent().User.Value
"""


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "windows")


@pytest.fixture
def run(machine):
    def run(script, check_mode=False, **parameters):
        return powershell_process.script(machine, SCRIPTS / script, parameters, check_mode)

    return run


def test_powershell_can_read_them(tmp_path):
    program = tmp_path / "parse.ps1"
    program.write_text(PARSE)
    command = [str(POWERSHELL), "-NoProfile", "-NonInteractive", "-File", str(program), *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout) == {str(path): [] for path in FILES}


def test_who_we_are_is_told_where_somebody_has_named_the_type_before(tmp_path, machine):
    program = tmp_path / "who.ps1"
    program.write_text(NAMED_BEFORE)
    command = [str(POWERSHELL), "-NoProfile", "-NonInteractive", "-File", str(program)]
    surroundings = powershell_process.surroundings(machine)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=surroundings)
    assert done.stdout.strip() == ME


def test_a_probe_file_goes_and_comes_back(machine, run):
    path = "C:\\inetpub\\wwwroot\\probe.html"
    content = base64.b64encode(b"fine").decode()
    about = {"Path": path, "Content": "", "Wait": 0}
    machine.write(path, "fine")
    assert run("probe_file.ps1", **about, Deed="look") == {"changed": False, "result": {"file": {"content": content}}}
    assert run("probe_file.ps1", check_mode=True, **about, Deed="remove")["changed"]
    assert machine.text(path) == "fine"
    assert run("probe_file.ps1", **about, Deed="remove")["changed"]
    assert machine.text(path) is None
    assert run("probe_file.ps1", **about, Deed="look") == {"changed": False, "result": {"file": None}}
    assert run("probe_file.ps1", **{**about, "Content": content}, Deed="put")["changed"]
    assert machine.text(path) == "fine"


def test_connections_are_counted(run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            left = run("connections.ps1", Ports=[port], AtMost=0, Seconds=1)
    assert left == {"changed": False, "result": {"established": 1}}


def test_connections_that_stay_are_told(machine, run):
    machine.has_trouble(connections=3)
    about = {"Ports": [443], "Seconds": 1}
    assert run("connections.ps1", **about, AtMost=0)["result"] == {"established": 3}
    assert run("connections.ps1", **{**about, "Ports": [80]}, AtMost=0)["result"] == {"established": 0}


def test_an_entry_of_the_event_log(machine, run):
    about = {"Source": "azure-maintenance", "EntryType": "Information"}
    assert run("event_log.ps1", check_mode=True, **about, Message="not now")["changed"]
    assert run("event_log.ps1", **about, Message="drains\nfor a reboot")["changed"]
    log = [json.loads(line) for line in (machine.folder / "event_log").read_text().splitlines()]
    assert log == [{**about, "Message": "drains for a reboot", "EventId": 1}]
