# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host refuses what comes too late, or after somebody else, whatever the run believes."""

from __future__ import annotations

from pathlib import Path

import pytest
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
def test_age(fleet, tmp_path, way):
    hosts = fleet.inventory(**ways.host_vars(tmp_path, way))
    environment = {"environment": {"PATH": f"{tmp_path}/tools:/usr/bin:/bin"}}
    old = "{{ maintenance_status.host_clock.seconds - 41 }}"
    tasks = [READ, drain("Old", seconds=old), drain("Boot", boot_id="another"), drain("In time")]
    run = play(tmp_path, hosts, *tasks, hosts="web", **environment)
    for name in ("Old", "Boot"):
        assert (run.of(name)["outcome"], run.of(name)["refused"]) == ("failed", "age"), run.of(name)
    assert "has to read it again" in run.of("Old")["msg"]
    assert run.of("In time")["state"] == "drained"
    # Who is refused for age does not cost a request: two of the reading, one of the drain.
    assert fleet.requests() == ["GET"] * 3


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
    tasks = [
        READ,
        drain("First"),
        drain("Second, who has not read again", "r2"),
        {**READ, "name": "Read again"},
        drain("Second, at once", "r2"),
        journal("Take over", "take_over", "r2", fence={"owner": "r1"}),
        journal("By the wrong owner", "take_over", "r2", fence={"owner": "r0"}),
        drain("First goes on"),
        journal("Look", "read"),
    ]
    run = play(tmp_path, fleet.inventory(), *tasks, hosts="web")
    assert run.of("First")["state"] == "drained"
    assert run.of("Second, who has not read again")["refused"] == "owner"
    assert run.of("Second, at once")["refused"] == "worked_on"
    assert run.of("Take over")["refused"] == "worked_on"
    assert run.of("By the wrong owner")["refused"] == "owner"
    assert run.of("First goes on")["outcome"] == "ok"
    assert run.of("Look")["journal"]["run_id"] == "r1"
    assert 0 < run.of("Look")["journal"]["worked_on_for"] <= 30


@pytest.mark.rest
@pytest.mark.parametrize("what", ["cancelled", "started", "unread"])
def test_an_event_that_is_gone(fleet, tmp_path, what):
    hosts = fleet.inventory()
    run = play(
        tmp_path, hosts, READ, {"name": "Keep", "ansible.builtin.debug": {"var": "maintenance_status"}}, hosts="web"
    )
    clock = run.of("Read")["host_clock"]
    if what == "cancelled":
        fleet.simulator.cancel("A1")
    elif what == "started":
        fleet.simulator.start("A1")
    else:
        fleet.simulator.fault(kind="html", path="scheduledevents")
    task = drain("Drain", owner=None, **clock, scheduled=True)
    task["maintenance.azure._drain_plan"]["events"] = []
    run = play(tmp_path, hosts, task, hosts="web")
    assert run.of("Drain")["refused"] == ("unread" if what == "unread" else "gone"), run.output
    assert fleet.journal() is None
    assert not (tmp_path / "web" / "journal.json.drained").exists()
    fleet.simulator.clear_faults()


@pytest.mark.rest
def test_nothing_is_refused_without_a_fence(fleet, tmp_path):
    task = drain("Second", "r2")
    del task["maintenance.azure._drain_plan"]["fence"]
    run = play(tmp_path, fleet.inventory(), READ, drain("First"), task, hosts="web")
    assert run.of("Second")["state"] == "drained"
    assert fleet.journal()["run_id"] == "r2"


@pytest.mark.rest
def test_marks_without_a_drain(fleet, tmp_path):
    mark = {"event": "A1", "hosts": ["web", "db"], "at": 5.0}
    fence = {**FENCE, "scheduled": True}
    tasks = [
        READ,
        journal("Not drained", "mark", marks=[mark], fence={**fence, "drained": True}),
        journal("Mark", "mark", marks=[mark], fence=fence),
        journal("Look", "read"),
        journal("Unmark", "unmark", marks=[mark]),
        journal("After", "read"),
    ]
    run = play(tmp_path, fleet.inventory(), *tasks, hosts="web")
    assert run.of("Not drained")["refused"] == "not_drained"
    assert run.of("Look")["journal"]["state"] == "marked"
    assert run.of("Look")["journal"]["marks"][0]["event"] == "A1"
    assert (run.of("Unmark")["changed"], run.of("After")["journal"]) == (True, None)
    assert [path.name for path in (tmp_path / "web").iterdir()] == []


@pytest.mark.rest
def test_a_mark_of_an_event_that_was_sent_is_not_taken_back(fleet, tmp_path):
    mark = {"event": "A1", "hosts": ["web"], "at": 5.0}
    approve = {"uncovered": "allow", "endpoint": "{{ maintenance_endpoint }}"}
    tasks = [
        READ,
        journal("Mark", "mark", marks=[mark], fence=FENCE),
        {"name": "Approve", "maintenance.azure.scheduled_event_approve": approve},
        journal("Unmark", "unmark", marks=[mark]),
    ]
    run = play(tmp_path, fleet.inventory(), *tasks, hosts="web")
    assert run.of("Approve")["approved"] == ["A1"]
    assert run.of("Unmark")["changed"] is False
    assert fleet.journal()["marks"]


@pytest.mark.rest
@pytest.mark.parametrize("way", ways.TO_THE_SERVICE)
def test_the_host_s_clock_whatever_way(fleet, tmp_path, way):
    hosts = fleet.inventory(**ways.host_vars(tmp_path, way))
    here = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    again = {**READ, "name": "Again", "maintenance.azure._host_state": dict(READ["maintenance.azure._host_state"])}
    again["maintenance.azure._host_state"]["this_host"] = "{{ maintenance_status.this_host }}"
    run = play(tmp_path, hosts, READ, again, hosts="web", **ways.play_keywords(tmp_path, way))
    first, second = run.of("Read"), run.of("Again")
    assert first["host_clock"]["boot_id"] == second["host_clock"]["boot_id"] == here
    assert 0 <= second["host_clock"]["seconds"] - first["host_clock"]["seconds"] < 60
    # The second one has asked for events alone, and knows the rest.
    assert fleet.requests() == ["GET"] * 3
    assert second["this_host"] == first["this_host"]
    assert second["events"][0]["affects_this_host"] is True
    assert second["document_sha256"] == first["document_sha256"]


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
