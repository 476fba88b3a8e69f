# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host refuses, whatever the run believes; and an approval: all its hosts are marked, or nothing is sent."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import AtWork
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import JournalFile, begun
from helpers import transports as ways
from helpers.ansible_run import play

READ = {
    "name": "Read",
    "maintenance.azure._read": {
        "do": "hosts",
        "journal": "{{ drain_journal }}",
        "endpoint": "{{ maintenance_endpoint }}",
    },
    "register": "maintenance_status",
}
FENCE = {
    "boot_id": "{{ maintenance_status.host_clock.boot_id }}",
    "seconds": "{{ maintenance_status.host_clock.seconds }}",
    "owner": "{{ (maintenance_status.journal or {}).run_id | default(none) }}",
    "events": ["A1"],
}
STEPS = [
    {"command": {"drain": ["touch", "{{ drain_journal }}.drained"], "restore": ["rm", "{{ drain_journal }}.drained"]}}
]


def drain(name="Drain", run_id="r1", **fence):
    return {
        "name": name,
        "maintenance.azure._drain": {
            "do": "drain",
            "journal": "{{ drain_journal }}",
            "run_id": run_id,
            "events": "{{ maintenance_status.events }}",
            "endpoint": "{{ maintenance_endpoint }}",
            "fence": {**FENCE, **fence},
        },
        "vars": {"drain_steps": STEPS},
        "ignore_errors": True,
    }


def journal(name, state="read", run_id="r1", **more):
    """Also what the roles write, which the module drain_journal does not."""
    request = {"path": "{{ drain_journal }}", "state": state, "run_id": run_id, **more}
    return {
        "name": name,
        "maintenance.azure._host_command": {"name": "journal", "request": request},
        "ignore_errors": True,
    }


@pytest.mark.rest
@pytest.mark.parametrize("way", ways.TO_PYTHON)
def test_signs_of_life_do_not_disturb_the_answer(fleet, tmp_path, way):
    hosts = fleet.inventory(**ways.host_vars(tmp_path, way))
    task = drain("Drain")
    task["vars"] = {"drain_steps": [{"command": {"drain": ["sleep", "7"]}}]}
    run = play(tmp_path, hosts, READ, task, hosts="web", environment={"PATH": f"{tmp_path}/tools:/usr/bin:/bin"})
    assert (run.of("Drain")["outcome"], run.of("Drain")["state"]) == ("ok", "drained"), run.of("Drain")
    assert "WARNING" not in run.output


def test_owner_and_worked_on(fleet, tmp_path):
    began = play(tmp_path, fleet.inventory(), READ, drain("First"), drain("Not read again", "r2"), hosts="web")
    assert began.of("First")["state"] == "drained"
    assert began.of("Not read again")["refused"] == "owner"
    # As the run does all the time, but however slow this machine is.
    at_work = AtWork(tmp_path / "web" / "journal.json")
    at_work.say("r1", 3600)
    tasks = [
        READ,
        drain("Second, at once", "r2"),
        journal("Take over", "take_over", "r2", fence={"owner": "r1"}),
        journal("By the wrong owner", "take_over", "r2", fence={"owner": "r0"}),
        journal("Look"),
        drain("First goes on"),
        journal("Later"),
    ]
    run = play(tmp_path, fleet.inventory(), *tasks, hosts="web")
    refused = {name: run.of(name)["refused"] for name in ("Second, at once", "Take over", "By the wrong owner")}
    assert refused == {"Second, at once": "worked_on", "Take over": "worked_on", "By the wrong owner": "owner"}
    assert run.of("Look")["journal"]["run_id"] == "r1"
    assert 30 < run.of("Look")["journal"]["worked_on_for"] <= 3600
    assert run.of("First goes on")["outcome"] == "ok"
    # A command says it for itself.
    assert run.of("Later")["journal"]["worked_on_for"] <= 30


@pytest.mark.rest
def test_a_host_that_lies_about_its_clock_hurts_only_itself(fleet, tmp_path):
    """What it tells goes back to it alone: another host is not refused for it, nor let through."""
    lie = {"boot_id": "x" * 60, "seconds": 1e12}
    task = drain("Drain")
    task["maintenance.azure._drain"]["fence"] = {**FENCE, "owner": None}
    tell = {
        "name": "Lie",
        "ansible.builtin.set_fact": {"maintenance_status": "{{ maintenance_status | combine({'host_clock': lie}) }}"},
    }
    tell.update(when="inventory_hostname == 'db'", vars={"lie": lie})
    run = play(tmp_path, fleet.inventory(), READ, tell, task)
    assert run.of("Drain", "db")["refused"] == "age"
    assert run.of("Drain", "web")["state"] == "drained"


def role(name, **order):
    """As a run uses it."""
    given = {"__maintenance_ordered": {"run_id": "r1", **order}}
    return {"name": name, "ansible.builtin.include_role": {"name": f"maintenance.azure.{name}"}, "vars": given}


def drained_for(fence):
    return role("drain", events=["A1"], fence=fence)


def returned():
    return role("restore", restore=True, acts=False, restore_fence={"owner": "r1"})


def test_the_time_of_a_step_by_tasks_is_its_own_or_all_that_is_left(fleet, tmp_path):
    """It says itself how long it may take, as nobody renews anything meanwhile."""

    def during(name):
        return json.dumps(
            [{"name": f"During {name}", "maintenance.azure.drain_journal": {"path": "{{ drain_journal }}"}}]
        )

    for name in ("drain", "restore"):
        (tmp_path / f"{name}.json").write_text(during(name))
    own = tmp_path / "kinds" / "ring"
    own.mkdir(parents=True)
    (own / "drain.yml").write_text(during("ring"))
    (own / "restore.yml").write_text("[]")
    steps = [
        {"tasks": {"drain": "drain.json", "restore": "restore.json"}},
        {"ring": {"timeout": 900}},
        {"command": {"drain": ["true"]}},
    ]
    variables = {"drain_steps": steps, "drain_steps_path": ["kinds"], "drain_timeout": 2000, "restore_timeout": 1500}
    clock = {name: FENCE[name] for name in ("boot_id", "seconds")}
    tasks = [
        READ,
        drained_for({**clock, "events": ["A1"]}),
        journal("Drained", "read"),
        returned(),
        journal("After", "read"),
    ]
    run = play(tmp_path, fleet.inventory(), *tasks, hosts="web", vars=variables)
    assert run.code == 0, run.output

    def worked_on_for(task):
        return run.of(task)["journal"]["worked_on_for"]

    assert 1500 < worked_on_for("maintenance.azure.steps : During drain") <= 2000
    assert 600 < worked_on_for("maintenance.azure.steps : During ring") <= 900
    # What comes after them is a command again, which says it for itself.
    assert worked_on_for("Drained") <= 30
    assert 1000 < worked_on_for("maintenance.azure.steps : During restore") <= 1500
    assert run.of("After")["journal"] is None
    assert [path.name for path in (tmp_path / "web").iterdir()] == ["journal.last.json"]


STEPS_OF_APPROVING = [{"command": {"drain": ["true"], "restore": ["true"]}}]
ROLE = "maintenance.azure.approve : "
MARKS = [{"event": "A1", "hosts": ["web", "db"], "at": 5.0}]


def read(name, **more):
    options = {"journal": "{{ drain_journal }}", "endpoint": "{{ maintenance_endpoint }}", **more}
    return {"name": name, "maintenance.azure._read": {"do": "hosts", **options}, "register": "maintenance_status"}


FIRST = read("First")
AGAIN = read("Again", this_host="{{ maintenance_status.this_host }}")
DRAIN = drained_for(FENCE)
RESTORE = returned()


def approve(ids=("A1",), undrained=(), wait=(), **fence):
    order = {
        "acts": True,
        "approve_drained": list(ids),
        "approve_as_is": list(undrained),
        "marks": MARKS,
        "together": ["web", "db"],
        "wait": list(wait),
        "fence": {**FENCE, "scheduled": True, **fence},
    }
    given = role("approve", **order)
    given["vars"].update(approve_journal="{{ drain_journal }}", approve_wait_timeout=60)
    return given


def run_all(fleet, *tasks, **more):
    return play(fleet.folder, fleet.inventory(), *tasks, vars={"drain_steps": STEPS_OF_APPROVING}, **more)


def posts(fleet):
    return [line["approved"] for line in fleet.simulator.log() if line["method"] == "POST" and line["status"] == 200]


def test_a_whole_run_with_at_most_8_requests_a_host_marks_both_before_it_sends(fleet):
    look = {"name": "Look", "maintenance.azure.drain_journal": {"path": "{{ drain_journal }}"}}
    tasks = [FIRST, DRAIN, AGAIN, approve(), look, RESTORE]
    run = run_all(fleet, *tasks)
    assert run.code == 0, run.output
    assert posts(fleet) == [["A1"]]
    assert run.of(ROLE + "Approve the event", "web")["results"][0]["leaders"] == {"A1": "web"}
    assert fleet.requests("web") == ["GET"] * 6 + ["POST", "GET"]
    assert fleet.requests("db") == ["GET"] * 7
    for host in ("web", "db"):
        marked = run.of("Look", host)["journal"]
        assert (marked["run_id"], marked["marks"][0]["event"], marked["state"]) == ("r1", "A1", "drained")
        # The return brings a reading along.
        returned = run.of("maintenance.azure.restore : Return the host to service", host)["reading"]
        assert (returned["journal"], [event["id"] for event in returned["events"]]) == (None, ["A1"])


@pytest.mark.parametrize("drained", [["web", "db"], ["web"]])
def test_the_roles_by_themselves_approve_what_their_journals_say_is_drained(fleet, drained):
    def role(name, **more):
        return {"ansible.builtin.include_role": {"name": f"maintenance.azure.{name}"}, **more}

    read = {"maintenance.azure.scheduled_event_info": {}, "register": "maintenance_status"}
    variables = {"approve_journal": "{{ drain_journal }}", "approve_wait_ids": [], "wanted": drained}
    only = {"when": "inventory_hostname in wanted"}
    tasks = [read, role("drain", **only), role("approve", ignore_errors=True), role("restore", **only)]
    steps = {"drain_steps": STEPS_OF_APPROVING, **variables}
    run = play(fleet.folder, fleet.inventory(), *tasks, vars=steps, ignore_errors=True)
    refused = run.of("maintenance.azure.approve : Wait until the event is over", "web")["refused"]
    if len(drained) == 2:
        assert (posts(fleet), refused) == ([["A1"]], [])
    else:
        assert (posts(fleet), refused[0]["uncovered"]) == ([], ["db"])
    assert not any((fleet.folder / host / "journal.json").exists() for host in ("web", "db"))


@pytest.mark.rest
def test_steps_and_approvals_renew_the_mark_by_which_a_watcher_knows_of_the_run(fleet):
    places = {host: fleet.folder / f"watch-{host}" for host in ("web", "db")}
    for place in places.values():
        place.mkdir()
    folder = f"{fleet.folder}/watch-{{{{ inventory_hostname }}}}"
    away = {"name": "Away", "ansible.builtin.command": {"argv": ["mv", f"{folder}/run.json", f"{folder}/drained.json"]}}
    tasks = [FIRST, DRAIN, away, AGAIN, approve()]
    steps = {"drain_steps": STEPS_OF_APPROVING, "watch_status_file": f"{folder}/status.json"}
    run = play(fleet.folder, fleet.inventory(), *tasks, vars=steps)
    assert run.code == 0, run.output
    assert {json.loads((place / "drained.json").read_text())["run_id"] for place in places.values()} == {"r1"}
    # The one that has sent it.
    assert [host for host, place in places.items() if (place / "run.json").exists()] == ["web"]
    assert json.loads((places["web"] / "run.json").read_text())["until"] > time.time()


def test_a_host_that_can_not_be_marked_keeps_all_from_being_sent(fleet):
    """Another run is at work on db."""
    other = {**journal("Other", "take_over", "r2"), "when": "inventory_hostname == 'db'"}
    run = run_all(fleet, FIRST, DRAIN, AGAIN, other, approve(wait=["A1"]), ignore_errors=True)
    assert run.of(ROLE + "Write down that the approval begins", "db")["refused"] == "owner"
    assert posts(fleet) == []
    sent = run.of(ROLE + "Approve the event", "web")["results"][0]
    assert "could not be written into the journal of db" in sent["refused"][0]["reason"]
    # web has marked itself before it knew.
    assert fleet.journal("web")["marks"] == []
    outcome = run.of(ROLE + "Wait until the event is over", "web")
    assert (outcome["over"], outcome["unsent"]) == (False, ["A1"])


@pytest.mark.rest
def test_an_event_that_needs_no_drain_is_marked_too(fleet):
    run = run_all(fleet, FIRST, approve(ids=(), undrained=("A1",)))
    assert run.code == 0, run.output
    assert posts(fleet) == [["A1"]]
    for host in ("web", "db"):
        assert (fleet.journal(host)["state"], fleet.journal(host)["marks"][0]["event"]) == ("marked", "A1")


def test_an_old_reading_sends_nothing_and_leaves_no_mark(fleet):
    old = "{{ maintenance_status.host_clock.seconds - 41 }}"
    run = run_all(fleet, FIRST, DRAIN, AGAIN, approve(seconds=old), ignore_errors=True)
    assert run.of(ROLE + "Write down that the approval begins", "web")["refused"] == "age"
    assert posts(fleet) == []
    assert fleet.journal("web").get("marks", []) == fleet.journal("db").get("marks", []) == []


@pytest.mark.rest
@pytest.mark.parametrize("place", ["web", "home"])
def test_a_run_that_waits_says_with_each_reading_that_it_is_there(fleet, place):
    """Also by a path of the host's own, which is expanded there."""
    path = fleet.folder / place / "journal.json"
    path.parent.mkdir(exist_ok=True)
    JournalFile(path).change(lambda data: begun(data, [], "r1", None, "t"))
    at_work = AtWork(path)
    at_work.say("r1", 1)
    order = {"approve_drained": [], "approve_as_is": [], "wait": ["A1"], "together": [], "marks": [], "run_id": "r1"}
    variables = {
        "approve_journal": "~/journal.json" if place == "home" else "{{ drain_journal }}",
        "approve_wait_timeout": 3,
        "__maintenance_ordered": {"acts": True, "fence": {"owner": "r1"}, **order},
    }
    wait = {"maintenance.azure._approve": {"do": "wait"}, "vars": variables, "ignore_errors": True}
    said = Path(at_work.path).stat().st_mtime_ns
    play(fleet.folder, fleet.inventory(), wait, hosts="web")
    assert Path(at_work.path).stat().st_mtime_ns > said
    # Not for another run, and not for one that never said so.
    at_work.say("r2", 1)
    said = Path(at_work.path).stat().st_mtime_ns
    play(fleet.folder, fleet.inventory(), wait, hosts="web")
    assert Path(at_work.path).stat().st_mtime_ns == said
    assert json.loads(path.read_text())["run_id"] == "r1"
