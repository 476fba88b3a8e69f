# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of steps on Windows hosts in a real PowerShell, where there is one: as win_powershell runs them."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
from pathlib import Path

import pytest
from windows_host import POWERSHELL, needs_powershell

pytestmark = needs_powershell
ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "roles" / "steps" / "files" / "windows"
FILES = [*sorted(ROOT.glob("plugins/**/*.ps1")), *sorted(SCRIPTS.glob("*.ps1"))]
# What win_powershell has ready for a script, and what it takes from it.
AROUND = """
param ([string]$Script, [string]$Parameters)
$Ansible = [pscustomobject]@{ CheckMode = $false; Changed = $true; Result = $null }
$given = @{}
(ConvertFrom-Json $Parameters).psobject.Properties | ForEach-Object { $given[$_.Name] = $_.Value }
& $Script @given
ConvertTo-Json -Depth 5 @{ changed = $Ansible.Changed; result = $Ansible.Result }
"""
PARSE = """
param ([string]$Script)
$found = $null
$null = [System.Management.Automation.Language.Parser]::ParseFile($Script, [ref]$null, [ref]$found)
ConvertTo-Json @($found | ForEach-Object { $_.Message })
"""


def said(folder, program, *words):
    """What a PowerShell program says, as data."""
    (folder / "program.ps1").write_text(program)
    command = [str(POWERSHELL), "-NoProfile", "-NonInteractive", "-File", str(folder / "program.ps1"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(folder, script, **parameters):
    return said(folder, AROUND, str(SCRIPTS / script), json.dumps(parameters))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_powershell_can_read_it(tmp_path, path):
    assert said(tmp_path, PARSE, str(path)) == []


def test_a_probe_file_goes_and_comes_back(tmp_path):
    probe = tmp_path / "probe.html"
    probe.write_text("fine")
    content = base64.b64encode(b"fine").decode()
    about = {"Path": str(probe), "Content": "", "Wait": 0}
    assert run(tmp_path, "probe_file.ps1", **about, Deed="look")["result"] == {"file": {"content": content}}
    assert run(tmp_path, "probe_file.ps1", **about, Deed="remove")["changed"]
    assert not probe.exists()
    assert run(tmp_path, "probe_file.ps1", **{**about, "Content": content}, Deed="put")["changed"]
    assert probe.read_text() == "fine"


def test_connections_are_counted(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            left = run(tmp_path, "connections.ps1", Ports=[port], AtMost=0, Seconds=1)
    assert left == {"changed": False, "result": {"established": 1}}
