# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that a Windows host does not write is a failure with a message, as on Linux, and not a bug's traceback."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain import journal_order
from ansible_collections.maintenance.azure.plugins.module_utils._lock import lease_file
from helpers.windows_double.behind_an_action import BehindAnAction
from helpers.windows_double.machine import SOMEBODY

FOLDER = "C:\\ProgramData\\azure-maintenance"
JOURNAL = {"path": f"{FOLDER}\\journal.json", "state": "begin", "run_id": "r1", "events": []}
ME = {"run_id": "r1", "controller": "c", "host": "ctl", "pid": 42, "process_start": "4711", "user": "me", "note": ""}
LEASE = {"path": f"{FOLDER}\\run.lock", "do": "take", "me": ME, "seconds": 60}


@pytest.mark.parametrize(("code", "request_"), [(journal_order, JOURNAL), (lease_file, LEASE)])
def test_a_folder_of_somebody_else(tmp_path, monkeypatch, code, request_):
    host = BehindAnAction(tmp_path, monkeypatch)
    host.machine.make_folder(FOLDER, SOMEBODY)
    result = host.run(code, request_)
    assert (result["failed"], result["changed"]) == (True, False)
    assert f"{FOLDER} belongs to {SOMEBODY}" in result["msg"]
    assert result["msg"].endswith("look at it, move it away, and run again")
    assert host.machine.text(request_["path"]) is None
