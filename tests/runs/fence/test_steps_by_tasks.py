# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A step that is done by tasks says itself how long it may take, as nobody renews anything meanwhile."""

from __future__ import annotations

import json

from helpers.ansible_run import play

READ = {
    "maintenance.azure._host_state": {"journal": "{{ drain_journal }}", "endpoint": "{{ maintenance_endpoint }}"},
    "register": "maintenance_status",
}
LOOK = {"name": "During", "maintenance.azure.drain_journal": {"path": "{{ drain_journal }}"}}
CLOCK = {name: f"{{{{ maintenance_status.host_clock.{name} }}}}" for name in ("boot_id", "seconds")}


def role(name, fence):
    variables = {f"{name}_run_id": "r1", f"{name}_fence": fence}
    return {"ansible.builtin.include_role": {"name": f"maintenance.azure.{name}"}, "vars": variables}


def test_its_time_is_that_of_the_step_or_all_that_is_left(fleet, tmp_path):
    for name in ("drain", "restore"):
        (tmp_path / f"{name}.json").write_text(json.dumps([{**LOOK, "name": f"During {name}"}]))
    own = tmp_path / "kinds" / "ring"
    own.mkdir(parents=True)
    (own / "drain.yml").write_text(json.dumps([{**LOOK, "name": "During ring"}]))
    (own / "restore.yml").write_text("[]")
    steps = [
        {"tasks": {"drain": "drain.json", "restore": "restore.json"}},
        {"ring": {"timeout": 90}},
        {"command": {"drain": ["true"]}},
    ]
    variables = {"drain_steps": steps, "drain_steps_path": ["kinds"], "drain_timeout": 200, "restore_timeout": 150}
    tasks = [
        READ,
        role("drain", {**CLOCK, "events": ["A1"]}),
        {**LOOK, "name": "Drained"},
        role("restore", {"owner": "r1"}),
        {**LOOK, "name": "After"},
    ]
    run = play(tmp_path, fleet.inventory(), *tasks, hosts="web", vars=variables)
    assert run.code == 0, run.output

    def worked_on_for(task):
        return run.of(task)["journal"]["worked_on_for"]

    assert 150 < worked_on_for("maintenance.azure.steps : During drain") <= 200
    assert 60 < worked_on_for("maintenance.azure.steps : During ring") <= 90
    # What comes after them is a command again, which says it for itself.
    assert 0 < worked_on_for("Drained") <= 30
    assert 100 < worked_on_for("maintenance.azure.steps : During restore") <= 150
    assert run.of("After")["journal"] is None
    assert [path.name for path in (tmp_path / "web").iterdir()] == ["journal.last.json"]
