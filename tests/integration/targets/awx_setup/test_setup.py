# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx_setup creates everything in AWX, and a second time nothing; what goes wrong is said in a sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ansible_run import run
from awx_double.server import AwxDouble
from other_collections import collections_path

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[4]
PROJECT = ROOT / "extensions" / "patterns" / "azure_maintenance"
GUIDE = (ROOT / "docs" / "awx.md").read_text(encoding="utf-8")
# On top of what the guide shows: who uses what.
MORE = {
    "awx_setup_credentials": [
        {"name": "Azure VMs", "credential_type": "Machine", "inputs": {"username": "azureuser"}},
        {
            "name": "This AWX",
            "credential_type": "Red Hat Ansible Automation Platform",
            "inputs": {"host": "https://awx.example.com", "oauth_token": "a secret"},
        },
        {"name": "Cluster", "credential_type": "Kubeconfig", "inputs": {"kubeconfig": "a secret"}},
    ],
    "awx_setup_job_credentials": ["Azure VMs", "Cluster"],
}


def from_the_guide(name):
    """A file that the guide shows."""
    return next(
        block for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL) if block.startswith(f"# {name}\n")
    )


def set_up(folder, awx, settings=None, shown=("awx.yml", "awx-secrets.yml", "awx-fan-out.yml"), **more):
    key = folder / "home" / ".ssh" / "azure_vms"
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_text("a key that nobody has")
    for name in shown:
        (folder / name).write_text(from_the_guide(name))
    (folder / "more.json").write_text(json.dumps(settings or {}))
    files = [option for name in (*shown, "more.json") for option in ("-e", f"@{name}")]
    given = {"ANSIBLE_COLLECTIONS_PATH": collections_path(), **awx, **more}
    command = ["ansible-playbook", "maintenance.azure.awx_setup", *files]
    return run(folder, command, 900, ANSIBLE_INVENTORY_UNPARSED_WARNING="0", **given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("awx")


@pytest.fixture(scope="module")
def awx():
    collections_path()
    with AwxDouble(PROJECT) as double:
        yield double


@pytest.fixture(scope="module")
def first(folder, awx):
    done = set_up(folder, awx.environment, MORE)
    assert done.code == 0, done.output
    assert awx.refusals == []
    return done


def test_everything_is_there(first, awx):
    assert first.code == 0
    names = {kind: sorted(str(item.get("name")) for item in awx.store.list(kind)) for kind in awx.store.kinds}
    assert names["projects"] == names["inventories"] == ["Azure maintenance"]
    assert names["inventory_sources"] == ["Azure maintenance: hosts"]
    assert names["execution_environments"] == ["Azure maintenance"]
    assert names["notification_templates"] == ["Azure maintenance"]
    assert names["schedules"] == ["Azure maintenance"]
    assert names["workflow_job_templates"] == ["Azure maintenance: workflow"]
    assert names["job_templates"] == [
        f"Azure maintenance: {name}"
        for name in ("collect", "drain then approve", "fan out", "gate", "report", "roll one group")
    ]
    assert names["credentials"] == ["Azure VMs", "Cluster", "This AWX"]
    injected = awx.store.named("credential_types", "Kubeconfig")["injectors"]
    assert injected["env"] == {"K8S_AUTH_KUBECONFIG": "{{ tower.filename }}"}


def test_a_roll_is_never_sliced_and_never_runs_twice_at_a_time(first, awx):
    assert first.code == 0
    roll = awx.store.named("job_templates", "Azure maintenance: drain then approve")
    assert (roll["job_slice_count"], roll["allow_simultaneous"], roll["ask_job_slice_count_on_launch"]) == (
        1,
        False,
        False,
    )
    group = awx.store.named("job_templates", "Azure maintenance: roll one group")
    assert (group["job_slice_count"], group["ask_job_slice_count_on_launch"]) == (1, False)
    # Another file than the one that the job that fans out holds meanwhile on hosts that may be of this group.
    assert json.loads(group["extra_vars"]) == {"maintenance_lock_path": "/var/lib/azure-maintenance/group.lock"}
    assert "maintenance_lock_path" not in (roll["extra_vars"] or "")
    assert awx.store.linked("job_templates", roll["name"], "credentials") == ["Azure VMs", "Cluster"]


def test_the_survey_asks_for_hosts_limit_check_mode_and_drain_steps(first, awx):
    assert first.code == 0
    roll = awx.store.named("job_templates", "Azure maintenance: drain then approve")
    asked = {question["variable"]: question for question in roll["survey_spec"]["spec"]}
    assert set(asked) == {
        "maintenance_hosts",
        "maintenance_max_at_once",
        "maintenance_plan_only",
        "maintenance_drain_profile",
    }
    assert asked["maintenance_drain_profile"]["choices"] == ["own", "none", "web"]
    assert roll["survey_enabled"] is roll["ask_job_type_on_launch"] is True


def test_the_workflow_asks_somebody_between_the_plan_and_the_roll(first, awx):
    assert first.code == 0
    store = awx.store

    def after(node, outcome):
        return store.linked("workflow_job_template_nodes", node, f"{outcome}_nodes")

    assert after("collect", "success") == ["plan"]
    assert after("plan", "success") == ["gate"]
    assert after("gate", "success") == ["approval"]
    assert after("approval", "success") == ["roll"]
    assert after("roll", "always") == ["report"]
    assert all(after(node, "failure") == ["report"] for node in ("collect", "plan", "gate", "approval"))
    plan, roll = (store.named("workflow_job_template_nodes", name) for name in ("plan", "roll"))
    assert plan["job_type"] == "check"
    assert "job_type" not in roll
    templates = {
        name: store.find("job_templates", node["unified_job_template"]) for name, node in (("p", plan), ("r", roll))
    }
    assert templates["p"]["name"] == "Azure maintenance: drain then approve"
    assert templates["r"]["name"] == "Azure maintenance: fan out"
    assert store.list("workflow_approval_templates")[0]["timeout"] == 300
    assert store.linked(
        "workflow_job_templates", "Azure maintenance: workflow", "notification_templates_approvals"
    ) == ["Azure maintenance"]


@pytest.mark.long
def test_a_second_run_changes_nothing(first, folder, awx):
    assert first.code == 0
    awx.writes.clear()
    again = set_up(folder, awx.environment, MORE)
    assert again.code == 0, again.output
    changed = {line["task"] for line in again.results if line["result"].get("changed")}
    assert changed == set()
    assert awx.writes == []


@pytest.mark.long
def test_what_the_guide_shows_first_is_enough(folder):
    with AwxDouble(PROJECT) as other:
        done = set_up(folder, other.environment, shown=("awx.yml",))
        assert done.code == 0, done.output
        assert (other.refusals, len(other.store.list("job_templates"))) == ([], 4)
        roll = other.store.named("workflow_job_template_nodes", "roll")
        assert other.store.find("job_templates", roll["unified_job_template"])["name"].endswith("drain then approve")
        (credential,) = other.store.list("credentials")
        assert credential["inputs"]["ssh_key_data"] == "a key that nobody has"


def test_a_wrong_token_is_said_in_a_sentence(folder, awx):
    done = set_up(folder, awx.environment, CONTROLLER_OAUTH_TOKEN="a wrong one")
    assert done.code == 2
    where = awx.environment["CONTROLLER_HOST"]
    said = done.of("Say why AWX can't be asked")["msg"]
    assert said == f"AWX at {where} does not accept the token in CONTROLLER_OAUTH_TOKEN."


def test_an_awx_that_is_not_there_is_said_in_a_sentence(folder):
    done = set_up(folder, {"CONTROLLER_HOST": "http://127.0.0.1:1", "CONTROLLER_OAUTH_TOKEN": "any"})
    assert done.code == 2
    said = done.of("Say why AWX can't be asked")["msg"]
    assert said == "AWX at http://127.0.0.1:1 is out of reach: [Errno 111] Connection refused."


def test_without_awx_awx_it_says_how_to_get_it(folder):
    done = set_up(folder, {}, ANSIBLE_COLLECTIONS_PATH=collections_path().split(":", maxsplit=1)[0])
    assert done.code == 2
    said = done.of("Say why AWX can't be asked")["msg"]
    assert said == "The collection awx.awx is not installed: ansible-galaxy collection install awx.awx."


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"awx_setup_project_url": ""}, "awx_setup_project_url must name"),
        ({"awx_setup_approval_timeout": 0}, "must be from 60 to 600 seconds, not 0"),
        ({"awx_setup_controller_credential": ""}, "needs awx_setup_controller_credential"),
    ],
)
def test_settings_that_can_not_be_meant(folder, awx, settings, said):
    writes = list(awx.writes)
    done = set_up(folder, awx.environment, settings)
    assert done.code == 2
    assert said in done.of("Refuse settings that can't be meant")["msg"]
    assert awx.writes == writes
