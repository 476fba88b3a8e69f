# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double is worth something only if a mistake fails: in the option of a module, in a field, in a prompt."""

from __future__ import annotations

import pytest
from helpers.ansible_run import inventory, play
from helpers.awx_double.server import AwxDouble
from helpers.other_collections import collections_path

pytestmark = [pytest.mark.once, pytest.mark.rest]


@pytest.fixture
def awx(tmp_path):
    (tmp_path / "play.yml").write_text("- hosts: all\n")
    with AwxDouble(tmp_path) as double:
        store = double.store
        store.add("projects", {"name": "P", "organization": 1})
        store.add("inventories", {"name": "I", "organization": 1})
        store.add("job_templates", {"name": "T", "project": store.named("projects", "P")["id"], "playbook": "play.yml"})
        store.add("workflow_job_templates", {"name": "W", "organization": 1})
        yield double


def test_mistakes_in_tasks_fail(awx, tmp_path):
    node = {"workflow_job_template": "W", "identifier": "n", "unified_job_template": "T"}
    template = {"name": "New", "project": "P", "inventory": "I"}
    notify = {"name": "N", "organization": "Default", "notification_type": "webhook"}
    hook = {"url": "https://chat.example.com", "headers": {}}
    cases = {
        "good template": ("job_template", {**template, "playbook": "play.yml"}),
        "misspelt option": ("job_template", {**template, "playbook": "play.yml", "limt": "web"}),
        "no such playbook": ("job_template", {**template, "name": "Other", "playbook": "roll.yml"}),
        "prompt that is not asked for": ("workflow_job_template_node", {**node, "limit": "web"}),
        "answer that is not asked for": (
            "workflow_job_template_node",
            {**node, "extra_data": {"maintenance_hosts": "web"}},
        ),
        "good node": ("workflow_job_template_node", node),
        "misspelt setting": (
            "notification_template",
            {**notify, "notification_configuration": {**hook, "metod": "PUT"}},
        ),
        "good notification": ("notification_template", {**notify, "notification_configuration": hook}),
    }
    tasks = [
        {"name": name, f"awx.awx.{module}": options, "ignore_errors": True} for name, (module, options) in cases.items()
    ]
    path = collections_path()
    hosts = inventory(tmp_path, {"localhost": {}})
    done = play(tmp_path, hosts, *tasks, ANSIBLE_COLLECTIONS_PATH=path, **awx.environment, module_defaults={})
    outcomes = {name: done.of(name)["outcome"] for name in cases}
    assert outcomes == {name: "ok" if name.startswith("good") else "failed" for name in cases}, done.output
    assert "Unsupported parameters" in done.of("misspelt option")["msg"]
    assert "Playbook not found" in done.of("no such playbook")["msg"]
    assert "not configured to prompt" in done.of("prompt that is not asked for")["msg"]
    assert "maintenance_hosts are not allowed" in done.of("answer that is not asked for")["msg"]
    assert "No such field: metod" in done.of("misspelt setting")["msg"]
