# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module itself, in a real PowerShell, answers what was recorded. The double's turn is in the unit tests."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from helpers.ansible_run import inventory, play
from helpers.windows_double.recorded import FOLDER, differences
from helpers.windows_host import POWERSHELL, needs_powershell

pytestmark = [pytest.mark.rest, needs_powershell]
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
        task = {"name": "Do", "maintenance.azure._windows_host": {"deeds": given}, "check_mode": check_mode}
        told = play(tmp_path, hosts, task, **settings).of("Do")
        answer = {name: told[name] for name in ("results", "changed")}
        return json.loads(json.dumps(answer).replace(str(folder), FOLDER))

    assert differences(folder, done) == []
