# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module itself, in a real PowerShell, answers what was recorded. The double's turn is in the unit tests."""

from __future__ import annotations

import json

import pytest
from ansible_run import inventory, play
from windows_double.recorded import FOLDER, differences
from windows_host import SETTINGS, needs_powershell

pytestmark = [pytest.mark.rest, needs_powershell]


def test_powershell_answers_as_it_did(tmp_path, windows):
    hosts = inventory(tmp_path, {"web": windows.host_vars})

    def done(asked, check_mode):
        given = json.loads(json.dumps(asked).replace(FOLDER, windows.folder))
        task = {"name": "Do", "maintenance.azure._windows_host": {"deeds": given}, "check_mode": check_mode}
        told = play(tmp_path, hosts, task, **SETTINGS).of("Do")
        answer = {name: told[name] for name in ("results", "changed")}
        return json.loads(json.dumps(answer).replace(windows.folder, FOLDER))

    assert differences(windows.real(windows.folder), done) == []
