# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our module in a real PowerShell: what it does about owners and rights, and that it answers what was recorded."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from pathlib import Path

import pytest
from helpers.ansible_run import inventory, play
from helpers.windows_double.machine import ADMINISTRATORS, SOMEBODY, SYSTEM
from helpers.windows_double.recorded import FOLDER, differences
from helpers.windows_host import POWERSHELL, SETTINGS, needs_powershell

pytestmark = [pytest.mark.rest, needs_powershell]


def replace(path, expected, content):
    encoded = content and base64.b64encode(content.encode()).decode()
    digest = expected and hashlib.sha256(expected.encode()).hexdigest()
    return {"action": "replace", "path": path, "expected": digest, "content": encoded}


def done(folder, windows, actions):
    task = {"name": "Do", "maintenance.azure._windows_host": {"actions": actions}}
    return play(folder, inventory(folder, {"web": windows.host_vars}), task, **SETTINGS).of("Do")["results"]


def test_what_is_written_belongs_to_the_administrators_alone(tmp_path, windows):
    journal, beside = windows.file("journal.json"), windows.file("journal.json.at_work")
    results = done(
        tmp_path,
        windows,
        [
            replace(journal, None, "one"),
            replace(journal, "one", "two"),
            replace(journal, "one", "three"),
            replace(beside, None, "four"),
            {"action": "read", "path": journal, "largest": 100},
            replace(beside, "four", None),
        ],
    )
    assert [one.get("replaced") for one in results] == [True, True, False, True, None, True]
    assert (windows.text(journal), windows.text(beside)) == ("two", None)
    told = {name: json.loads((windows.machine.folder / f"{name}.json").read_text()) for name in ("owners", "rights")}
    place = str(windows.real(windows.folder))
    assert {told["owners"][path] for path in (place, str(windows.real(journal)))} == {ADMINISTRATORS}
    everybody = [f"*{who}:(OI)(CI)F" for who in (SYSTEM, ADMINISTRATORS)]
    assert told["rights"] == {place: ["/inheritance:r", "/grant:r", *everybody]}


def test_a_file_of_somebody_else_is_left_alone(tmp_path, windows):
    journal = windows.file("journal.json")
    windows.machine.write(journal, "theirs", SOMEBODY)
    (result,) = done(tmp_path, windows, [replace(journal, "theirs", "ours"), {"action": "boot"}])
    assert result == {
        "problem": "not_trusted",
        "said": f"{journal} belongs to {SOMEBODY}, not to SYSTEM, the Administrators or this user",
    }
    assert windows.text(journal) == "theirs"


# Nothing of a double in between: as this was recorded.
HOST = {"ansible_connection": "local", "ansible_shell_type": "powershell", "ansible_remote_tmp": "/tmp"}


@pytest.fixture
def settings(tmp_path):
    """Ansible calls it by the name that it has on Windows, and copies no files where it pipes."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "PowerShell").symlink_to(str(POWERSHELL))
    path = [str(programs), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {"ANSIBLE_PIPELINING": "1", "PATH": os.pathsep.join(path)}


def test_powershell_answers_as_it_did(tmp_path, settings):
    hosts = inventory(tmp_path, {"web": HOST})
    folder = tmp_path / "azure-maintenance"

    def done(asked, check_mode):
        given = json.loads(json.dumps(asked).replace(FOLDER, str(folder)))
        task = {"name": "Do", "maintenance.azure._windows_host": {"actions": given}, "check_mode": check_mode}
        told = play(tmp_path, hosts, task, **settings).of("Do")
        answer = {name: told[name] for name in ("results", "changed")}
        return json.loads(json.dumps(answer).replace(str(folder), FOLDER))

    assert differences(folder, done) == []
