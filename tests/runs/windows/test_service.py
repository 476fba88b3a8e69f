# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service, the journal and the lease on a Windows host: as on a Linux host, a look and a write each."""

from __future__ import annotations

import json

import pytest
from helpers import transports as ways
from helpers.ansible_run import comparable_result, inventory, play
from helpers.simulator_process import Simulator
from helpers.windows_double.machine import ADMINISTRATORS, SOMEBODY
from helpers.windows_host import POWERSHELL, SETTINGS, needs_boots

pytestmark = pytest.mark.rest

READ = {"name": "Read", "maintenance.azure.scheduled_event_info": {}}
APPROVE = {"name": "Approve", "maintenance.azure.scheduled_event_approve": {}}
AGAIN = {"name": "Again", "maintenance.azure.scheduled_event_approve": {}}
STEPS = (
    READ,
    {"name": "Predict", "maintenance.azure.scheduled_event_approve": {}, "check_mode": True},
    APPROVE,
    AGAIN,
    {
        "name": "Wait",
        "maintenance.azure.scheduled_event_wait": {"event_ids": ["A1"], "until": "started", "wait_timeout": 60},
    },
    {
        "name": "Fail",
        "maintenance.azure.scheduled_event_info": {"endpoint": "http://127.0.0.1:1", "timeout": 1},
        "ignore_errors": True,
    },
)


@pytest.fixture(scope="module")
def simulator():
    # A 429 would be one call more.
    with Simulator({"vms": [{"name": "web"}]}, requests_per_second=0) as fleet:
        yield fleet


@pytest.fixture(autouse=True)
def fresh(simulator):
    simulator.reset()
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600)


def run_on(folder, simulator, host_vars, *tasks, **more):
    hosts = inventory(folder, {"web": {"maintenance_endpoint": simulator.endpoints["web"], **host_vars}})
    return play(folder, hosts, *tasks, **{**SETTINGS, **more})


def approvals(simulator):
    """Those that were let in: a play may be quicker than the five requests a second that a VM has."""
    return [line["approved"] for line in simulator.log() if line["method"] == "POST" and line["status"] != 429]


def test_results_and_messages_are_those_of_a_linux_host(tmp_path, simulator, windows):
    linux = tmp_path / "linux"
    linux.mkdir()
    # By Python, as curl has words of its own for what went wrong.
    keywords = ways.play_keywords(linux, "command")
    expected = run_on(linux, simulator, ways.host_vars(linux, "command"), *STEPS, **keywords)
    simulator.reset()
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600)
    found = run_on(tmp_path, simulator, windows.host_vars, *STEPS)
    for task in STEPS:
        name = task["name"]
        assert comparable_result(found.of(name)) == comparable_result(expected.of(name)), name
    assert found.of("Approve")["approved"] == ["A1"]
    assert found.of("Fail")["outcome"] == "failed"
    assert approvals(simulator) == [["A1"]]


def test_a_reading_is_one_call(tmp_path, simulator, windows):
    run_on(tmp_path, simulator, windows.host_vars, READ)
    assert windows.calls() == [["boot", "send", "send"]]


def test_an_approval_is_a_look_and_a_call_that_compares_and_sends(tmp_path, simulator, windows):
    """The first call reads what is decided on."""
    assert run_on(tmp_path, simulator, windows.host_vars, APPROVE).of("Approve")["approved"] == ["A1"]
    assert windows.calls() == [["boot", "send", "send"], ["boot", "send"], ["boot", "send", "send"]]
    methods = [line["method"] for line in simulator.log() if "scheduledevents" in line["path"]]
    assert (methods[-4:], methods.count("POST")) == (["GET", "GET", "GET", "POST"], 1)


def test_auto_does_not_guess(tmp_path, simulator, windows):
    auto = {"endpoint": "auto", "timeout": 1}
    result = run_on(
        tmp_path,
        simulator,
        windows.host_vars,
        {"name": "Auto", "maintenance.azure.scheduled_event_info": auto, "ignore_errors": True},
    ).of("Auto")
    assert "169.254.169.254" in result["msg"]
    assert "Give it in endpoint: only VMs of the classic model, which Azure has retired" in result["msg"]


def test_an_answer_that_is_lost_after_the_approval_left_is_looked_after(tmp_path, simulator, windows):
    windows.machine.has_trouble(lose=1, **{"with": "only_if"})
    run = run_on(tmp_path, simulator, windows.host_vars, {**APPROVE, "ignore_unreachable": True}, AGAIN)
    assert run.of("Approve")["outcome"] == "unreachable"
    assert run.of("Again")["already_started"] == ["A1"]
    assert approvals(simulator) == [["A1"]]


@pytest.mark.parametrize(
    "lie",
    [
        {"results": []},
        {"results": "many"},
        {"results": [{"count": 7, "uptime": True}]},
        {"results": [{"count": 7, "uptime": 1.0}, {"answer": "%%%"}, {"answer": ""}]},
        {"ansible_facts": {"lied": "yes"}, "results": [{"problem": "dance", "said": "no"}]},
    ],
)
def test_lies_are_failures(tmp_path, simulator, windows, lie):
    windows.machine.has_trouble(lie=lie)
    task = {**READ, "ignore_errors": True}
    check = {"name": "Facts", "ansible.builtin.debug": {"msg": "{{ ansible_facts }}"}}
    run = run_on(tmp_path, simulator, windows.host_vars, task, check)
    assert run.of("Read")["outcome"] == "failed"
    assert "something else than it was asked for" in run.of("Read")["msg"]
    assert "lied" not in str(run.of("Facts")["msg"])


LEASE = "maintenance.azure.lease"


def journal(name, state, **options):
    """As the roles do it, which write more than the module drain_journal."""
    return {
        "name": name,
        "host_command": {"of": "journal", "state": state, "run_id": "r1", **options},
        "ignore_errors": True,
    }


def lease(name, do, **options):
    return {"name": name, LEASE: {"do": do, "run_id": "r1", **options}, "ignore_errors": True}


def run_tasks(folder, windows, *tasks, **more):
    return play(folder, inventory(folder, {"web": windows.host_vars}), *tasks, **SETTINGS, **more)


STEP = {"number": 1, "kind": "command", "arguments": {}, "status": "started"}


def test_a_journal_from_its_beginning_to_its_end(tmp_path, windows):
    run = run_tasks(
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
    # A look each, and where something is written a call that compares.
    windows.assert_calls(14)


def test_nothing_is_written_in_check_mode(tmp_path, windows):
    run = run_tasks(tmp_path, windows, journal("Begin", "begin"), lease("Take", "take"), arguments=("--check",))
    assert (run.of("Begin")["changed"], run.of("Take")["held"]) == (True, True)
    assert not windows.real(windows.folder).exists()


@pytest.mark.parametrize("what", ["folder", "journal"])
def test_what_somebody_else_has_made_is_not_trusted(tmp_path, windows, what):
    if what == "folder":
        windows.machine.make_folder(windows.folder, SOMEBODY)
    else:
        windows.machine.write(windows.file("journal.json"), "{}", SOMEBODY)
    result = run_tasks(tmp_path, windows, journal("Begin", "begin")).of("Begin")
    assert result["outcome"] == "failed"
    assert "look at it, move it away, and run again" in result["msg"]
    assert SOMEBODY in result["msg"]
    assert "r1" not in str(windows.text(windows.file("journal.json")))


def test_a_link_is_not_followed(tmp_path, windows):
    elsewhere, there = tmp_path / "elsewhere.json", windows.real(windows.file("journal.json"))
    elsewhere.write_text("{}")
    there.parent.mkdir(parents=True)
    there.symlink_to(elsewhere)
    result = run_tasks(tmp_path, windows, journal("Begin", "begin")).of("Begin")
    assert result["outcome"] == "failed"
    assert "is a link, which is not followed. Anybody may have made it: look at it" in result["msg"]
    assert elsewhere.read_text() == "{}"


def test_another_run_that_takes_the_journal_over_is_noticed(tmp_path, windows):
    run = run_tasks(tmp_path, windows, journal("Begin", "begin"))
    there = windows.file("journal.json")
    taken = {**json.loads(windows.text(there)), "run_id": "other"}
    other = {
        "name": "Meanwhile",
        "ansible.builtin.copy": {"content": json.dumps(taken), "dest": str(windows.real(there)), "mode": "600"},
        "delegate_to": "localhost",
        "vars": {"ansible_connection": "local", "ansible_shell_type": "sh"},
    }
    run = run_tasks(tmp_path, windows, journal("Look", "read"), other, journal("Step", "step", steps=[STEP]))
    assert "taken over by another run (other)" in run.of("Step")["msg"]
    assert json.loads(windows.text(there))["steps"] == []


@needs_boots
def test_who_is_at_work_is_not_written_beside_the_journal_of_another(tmp_path, windows):
    """What rests on a comparison comes after it."""
    fence = {"boot_id": "boot-7", "seconds": 3000, "at_most": 600}
    run_tasks(tmp_path, windows, journal("Begin", "begin", fence=fence))
    there = windows.file("journal.json")
    assert windows.text(f"{there}.at_work")
    calls = windows.machine.calls()[-1]["arguments"]["actions"]
    assert [action.get("path") for action in calls] == [None, there, f"{there}.at_work"]


def test_a_lease_is_taken_renewed_and_given_back(tmp_path, windows):
    run = run_tasks(
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
    windows.assert_calls(8)


@needs_boots
def test_a_lease_outlives_a_boot_and_another_uptime(tmp_path, windows):
    run_tasks(tmp_path, windows, lease("Take", "take", seconds=600))
    # Of a run on another controller nobody here can see that it has ended.
    lock = windows.file("run.lock")
    kept = json.loads(windows.text(lock))
    kept["lease"]["controller"] = "elsewhere"
    windows.machine.write(lock, json.dumps(kept))
    windows.machine.reboot()
    other = run_tasks(tmp_path, windows, lease("Other", "take", run_id="r2")).of("Other")
    assert not other["held"]
    assert other["holder"]["seconds_left"] > 200
    windows.machine.is_up_for(601)
    assert run_tasks(tmp_path, windows, lease("Other", "take", run_id="r2")).of("Other")["held"]


@needs_boots
@pytest.mark.parametrize("counts", [True, False])
def test_another_boot_is_told_by_count_or_by_uptime(tmp_path, windows, counts):
    windows.machine.is_up_for(3000, counts)
    first = run_tasks(tmp_path, windows, journal("Begin", "begin"), journal("Again", "read"))
    assert first.of("Begin")["boot_id"] == first.of("Again")["boot_id"]
    windows.machine.reboot(counts)
    second = run_tasks(tmp_path, windows, journal("After", "read")).of("After")
    assert second["boot_id"] != second["journal"]["boot_id"]


def test_several_runs_do_not_lose_what_another_has_written(tmp_path, windows):
    """Compare and swap: who was slower looks again."""
    names = [f"web-{number}" for number in range(4)]
    hosts = inventory(tmp_path, dict.fromkeys(names, windows.host_vars))
    note = {"host": "{{ inventory_hostname }}", "events": [], "type": "Reboot", "run": "r1", "at": 1.0, "mark": None}
    taken = {"of": "lease", "do": "take", "run_id": "r1"}
    tasks = [
        {
            "name": f"Take {number}",
            "host_command": {**taken, "notes": [{**note, "host": f"{{{{ inventory_hostname }}}}-{number}"}]},
        }
        for number in range(2)
    ]
    run = play(tmp_path, hosts, *tasks, **SETTINGS)
    assert all(result["held"] for number in range(2) for result in run.everywhere(f"Take {number}").values())
    kept = {note["host"] for note in json.loads(windows.text(windows.file("run.lock")))["notes"]}
    assert kept == {f"{name}-{number}" for name in names for number in range(2)}
