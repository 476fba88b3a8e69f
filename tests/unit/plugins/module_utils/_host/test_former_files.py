# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that d5fd0c9 has written, the commit before the packages were merged, are understood, and work goes on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host import journal as _journal
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal_command import carried_out
from ansible_collections.maintenance.azure.plugins.module_utils._host.lease import read_lease, take
from ansible_collections.maintenance.azure.plugins.module_utils._steps import records as _records
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.protocol import read_run_mark
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import effects_seen
from ansible_collections.maintenance.azure.plugins.plugin_utils._host import answers as _answers
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.content import record_of
from helpers.leases import at, owner

EVENT, PREEMPT = "C7061BAC-AFDC-4513-B24B-AA5F13A16123", "A1B2C3D4-0000-4000-8000-000000000001"
RUN = "a-run-before"
BOOT = "0b1e2d3c-4f5a-4678-9abc-def012345678"
MARK = {"event": EVENT, "hosts": ["web-0", "web-1"], "at": 1795046400.5, "takes_down": True, "vanishing": False}


@pytest.fixture
def former(tmp_path):
    shutil.copytree(Path(__file__).parent / "data", tmp_path / "former")
    for path in (tmp_path / "former").iterdir():
        path.chmod(0o600)
    return tmp_path / "former"


def test_a_journal_is_gone_on_with_and_closed(former):
    def command(state, **more):
        request = {"path": str(former / "journal.json"), "state": state, "run_id": "later", **more}
        return _answers.checked(carried_out(request, False), _answers.JOURNAL)

    found = command("read")["journal"]
    assert (found["run_id"], found["state"]) == (RUN, "draining")
    assert [event["id"] for event in found["events"]] == [EVENT, PREEMPT]
    assert [(step["number"], step["kind"], step["status"]) for step in found["steps"]] == [
        (1, "command", "done"),
        (2, "command", "failed"),
    ]
    # It was about to be sent, so that nobody takes the mark back.
    assert found["marks"] == [{**MARK, "again": True}]
    assert _journal.that_can_be_taken_back(found, [MARK]) == []
    shown = {"journal": found, "events": [{"id": EVENT, "status": "Started"}], "read_at": "now"}
    assert effects_seen(None, shown)[EVENT]["shown"] == "Started"
    # A later run takes it over, and undoes it.
    assert "taken over by another run" in command("step", steps=[{"number": 1, "status": "undone"}])["msg"]
    assert command("restore")["journal"]["run_id"] == "later"
    assert "not undone yet: step 1 (command) is done" in command("close")["msg"]
    command("step", steps=[{"number": number, "status": "undone"} for number in (1, 2)])
    assert command("close")["changed"]
    assert command("read")["journal"] is None


def test_a_lease_keeps_others_out_and_its_notes_stay(former):
    path = str(former / "lease.json")
    told = _answers.checked(read_lease(path, moment=at(1089, BOOT)), _answers.LEASE)
    assert (told["holder"]["run_id"], told["holder"]["seconds_left"]) == (RUN, 1)
    assert [(note["host"], note["type"], note["events"], note["mark"]) for note in told["notes"]] == [
        ("web-0", "Reboot", [EVENT], MARK),
        ("web-1", "Preempt", [PREEMPT], None),
    ]
    assert not take(path, owner("later"), 90, moment=at(1089, BOOT))["held"]
    taken = take(path, owner("later"), 90, moment=at(1091, BOOT))
    assert (taken["held"], taken["took_over_from"]["run_id"], taken["notes"]) == (True, RUN, told["notes"])


def test_a_record_is_listed_and_taken_over(former):
    folder = former / "records"
    folder.mkdir(mode=0o700)
    (name,) = (path for path in former.glob("*.json") if len(path.stem) == 32)
    name.rename(folder / name.name)
    listed = _answers.checked(_records.carried_out({"folder": str(folder)}, False), _answers.RECORDS)
    (record,) = listed["records"]
    assert (record["host"], record["events"], record["types"], record["run_id"]) == (
        "web-0",
        [EVENT],
        ["Redeploy"],
        RUN,
    )
    # Known again by what it acts on.
    action = {"acts_on": {"backend": "web", "server": "web-0"}, "host": "web-0", "vm": "web-0", "type": "Reboot"}
    kept = _records.RecordFile(str(folder), {**action, "events": [PREEMPT]}, "later")
    assert kept.taken_over() == {"state": "ready"}
    assert json.loads((folder / name.name).read_text())["events"] == sorted([EVENT, PREEMPT])


def test_an_audit_file_is_reported(former):
    lines = record_of({"web-0": (former / "audit.jsonl").read_text()})["lines"]
    assert {(line["what"], line["who"], line["by"]) for line in lines} == {
        (what, "ops@ctl", f"run {RUN}") for what in ("step done", "approved", "approval confirmed")
    }
    assert all(line["events"] == [EVENT] for line in lines)


def test_the_mark_of_a_run_holds_for_its_time(former):
    path = str(former / "run.json")
    os.utime(path, (1795046400, 1795046400))
    assert read_run_mark(path, 1795046489.0) == (True, True)
    assert read_run_mark(path, 1795046491.0) == (False, True)
