# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host refuses what comes too late, or after somebody else, whatever the run believes."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain.at_work import AtWork
from helpers import transports as ways
from helpers.ansible_run import play

READ = {
    "name": "Read",
    "maintenance.azure._host_state": {"journal": "{{ drain_journal }}", "endpoint": "{{ maintenance_endpoint }}"},
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
        "maintenance.azure._drain_plan": {
            "direction": "drain",
            "journal": "{{ drain_journal }}",
            "run_id": run_id,
            "events": "{{ maintenance_status.events }}",
            "endpoint": "{{ maintenance_endpoint }}",
            "fence": {**FENCE, **fence},
        },
        "vars": {"drain_steps": STEPS},
        "ignore_errors": True,
    }


def journal(name, state, run_id="r1", **more):
    return {
        "name": name,
        "maintenance.azure.drain_journal": {
            "path": "{{ drain_journal }}",
            "state": state,
            "run_id": run_id,
            "endpoint": "{{ maintenance_endpoint }}",
            **more,
        },
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
    def look(name="Look"):
        return journal(name, "read")

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
        look(),
        drain("First goes on"),
        look("Later"),
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
    task["maintenance.azure._drain_plan"]["fence"] = {**FENCE, "owner": None}
    tell = {
        "name": "Lie",
        "ansible.builtin.set_fact": {"maintenance_status": "{{ maintenance_status | combine({'host_clock': lie}) }}"},
    }
    tell.update(when="inventory_hostname == 'db'", vars={"lie": lie})
    run = play(tmp_path, fleet.inventory(), READ, tell, task)
    assert run.of("Drain", "db")["refused"] == "age"
    assert run.of("Drain", "web")["state"] == "drained"


def role(name, fence):
    variables = {f"{name}_run_id": "r1", f"{name}_fence": fence}
    return {"ansible.builtin.include_role": {"name": f"maintenance.azure.{name}"}, "vars": variables}


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
        role("drain", {**clock, "events": ["A1"]}),
        journal("Drained", "read"),
        role("restore", {"owner": "r1"}),
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
