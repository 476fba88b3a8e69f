# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Journal and lease on a Windows host: where they are, who is believed, and as few calls as it takes."""

from __future__ import annotations

import json

import pytest
from helpers.ansible_run import inventory, play
from helpers.windows_double.machine import ADMINISTRATORS, SOMEBODY
from helpers.windows_host import POWERSHELL, SETTINGS, needs_boots

pytestmark = pytest.mark.rest

JOURNAL = "maintenance.azure.drain_journal"
LEASE = "maintenance.azure.lease"


def journal(name, state, **options):
    return {"name": name, JOURNAL: {"state": state, "run_id": "r1", **options}, "ignore_errors": True}


def lease(name, do, **options):
    return {"name": name, LEASE: {"do": do, "run_id": "r1", **options}, "ignore_errors": True}


def run_on(folder, windows, *tasks, **more):
    return play(folder, inventory(folder, {"web": windows.host_vars}), *tasks, **SETTINGS, **more)


STEP = {"number": 1, "kind": "command", "arguments": {}, "status": "started"}


def test_a_journal_from_its_beginning_to_its_end(tmp_path, windows):
    run = run_on(
        tmp_path,
        windows,
        journal("None", "read"),
        journal("Begin", "begin", events=[{"id": "E1"}]),
        journal("Step", "step", steps=[STEP]),
        journal("Drained", "drained", steps=[{**STEP, "status": "done"}]),
        journal("Restore", "restore"),
        journal("Undone", "step", steps=[{**STEP, "status": "undone"}]),
        journal("Close", "close"),
        journal("Gone", "read"),
    )
    assert run.of("None")["journal"] is None
    assert run.of("Begin")["journal"]["boot_id"].startswith("up-since-" if POWERSHELL else "boot-7")
    assert run.of("Drained")["journal"]["state"] == "drained"
    assert run.of("Gone")["journal"] is None
    assert windows.text(windows.file("journal.json")) is None
    assert json.loads(windows.text(windows.file("journal.last.json")))["state"] == "restored"
    assert windows.machine.owner(windows.folder) == ADMINISTRATORS
    # One call each: what was seen last is compared on the host.
    windows.assert_calls(8)


def test_nothing_is_written_in_check_mode(tmp_path, windows):
    run = run_on(tmp_path, windows, journal("Begin", "begin"), lease("Take", "take"), arguments=("--check",))
    assert (run.of("Begin")["changed"], run.of("Take")["held"]) == (True, True)
    assert not windows.real(windows.folder).exists()


@pytest.mark.parametrize("what", ["folder", "journal"])
def test_what_somebody_else_has_made_is_not_believed(tmp_path, windows, what):
    if what == "folder":
        windows.machine.make_folder(windows.folder, SOMEBODY)
    else:
        windows.machine.write(windows.file("journal.json"), "{}", SOMEBODY)
    result = run_on(tmp_path, windows, journal("Begin", "begin")).of("Begin")
    assert result["outcome"] == "failed"
    assert "look at it, move it away, and run again" in result["msg"]
    assert SOMEBODY in result["msg"]
    assert "r1" not in str(windows.text(windows.file("journal.json")))


def test_a_link_is_not_followed(tmp_path, windows):
    elsewhere, there = tmp_path / "elsewhere.json", windows.real(windows.file("journal.json"))
    elsewhere.write_text("{}")
    there.parent.mkdir(parents=True)
    there.symlink_to(elsewhere)
    result = run_on(tmp_path, windows, journal("Begin", "begin")).of("Begin")
    assert result["outcome"] == "failed"
    assert "is a link, which is not followed. Anybody may have made it: look at it" in result["msg"]
    assert elsewhere.read_text() == "{}"


def test_another_run_that_takes_the_journal_over_is_noticed(tmp_path, windows):
    """What was seen last is no longer so: it is looked at anew, and what is there counts."""
    run = run_on(tmp_path, windows, journal("Begin", "begin"))
    there = windows.file("journal.json")
    taken = {**json.loads(windows.text(there)), "run_id": "other"}
    other = {
        "name": "Meanwhile",
        "ansible.builtin.copy": {
            "content": json.dumps(taken),
            "dest": str(windows.real(there)),
            "mode": "600",
        },
        "delegate_to": "localhost",
        "vars": {"ansible_connection": "local", "ansible_shell_type": "sh"},
    }
    run = run_on(tmp_path, windows, journal("Look", "read"), other, journal("Step", "step", steps=[STEP]))
    assert "taken over by another run (other)" in run.of("Step")["msg"]
    assert json.loads(windows.text(there))["steps"] == []


@needs_boots
def test_who_is_at_work_is_not_written_beside_the_journal_of_another(tmp_path, windows):
    """What rests on a comparison comes after it."""
    fence = {"boot_id": "boot-7", "seconds": 3000, "at_most": 600}
    run_on(tmp_path, windows, journal("Begin", "begin", fence=fence))
    there = windows.file("journal.json")
    assert windows.text(f"{there}.at_work")
    calls = windows.machine.calls()[-1]["arguments"]["deeds"]
    assert [deed.get("path") for deed in calls] == [None, there, f"{there}.at_work"]


def test_a_lease_is_taken_renewed_and_given_back(tmp_path, windows):
    run = run_on(
        tmp_path,
        windows,
        lease("Take", "take", seconds=60),
        lease("Other", "take", seconds=60, run_id="r2"),
        lease("Renew", "renew", seconds=60),
        lease("Release", "release"),
        lease("Read", "read"),
    )
    assert run.of("Take")["held"]
    assert not run.of("Other")["held"]
    assert run.of("Other")["holder"]["run_id"] == "r1"
    assert run.of("Renew")["renewed"]
    assert run.of("Release")["changed"]
    assert run.of("Read")["holder"] is None
    assert windows.text(windows.file("run.lock")) is None
    windows.assert_calls(6)


@needs_boots
def test_a_lease_outlives_a_boot_and_another_uptime(tmp_path, windows):
    run_on(tmp_path, windows, lease("Take", "take", seconds=600))
    # Of a run on another controller nobody here can see that it has ended.
    lock = windows.file("run.lock")
    kept = json.loads(windows.text(lock))
    kept["lease"]["controller"] = "elsewhere"
    windows.machine.write(lock, json.dumps(kept))
    windows.machine.reboot()
    other = run_on(tmp_path, windows, lease("Other", "take", run_id="r2")).of("Other")
    assert not other["held"]
    assert other["holder"]["seconds_left"] > 200
    windows.machine.is_up_for(601)
    assert run_on(tmp_path, windows, lease("Other", "take", run_id="r2")).of("Other")["held"]


@needs_boots
@pytest.mark.parametrize("counts", [True, False])
def test_another_boot_is_told_by_count_or_by_uptime(tmp_path, windows, counts):
    windows.machine.is_up_for(3000, counts)
    first = run_on(tmp_path, windows, journal("Begin", "begin"), journal("Again", "read"))
    assert first.of("Begin")["boot_id"] == first.of("Again")["boot_id"]
    windows.machine.reboot(counts)
    second = run_on(tmp_path, windows, journal("After", "read")).of("After")
    assert second["boot_id"] != second["journal"]["boot_id"]


def test_several_runs_do_not_lose_what_another_has_written(tmp_path, windows):
    """Compare and swap: who was slower looks again."""
    names = [f"web-{number}" for number in range(4)]
    hosts = inventory(tmp_path, dict.fromkeys(names, windows.host_vars))
    note = {"host": "{{ inventory_hostname }}", "events": [], "type": "Reboot", "run": "r1", "at": 1.0, "mark": None}
    tasks = [
        lease(f"Take {number}", "take", notes=[{**note, "host": f"{{{{ inventory_hostname }}}}-{number}"}])
        for number in range(2)
    ]
    run = play(tmp_path, hosts, *tasks, **SETTINGS)
    assert all(result["held"] for number in range(2) for result in run.everywhere(f"Take {number}").values())
    kept = {note["host"] for note in json.loads(windows.text(windows.file("run.lock")))["notes"]}
    assert kept == {f"{name}-{number}" for name in names for number in range(2)}
