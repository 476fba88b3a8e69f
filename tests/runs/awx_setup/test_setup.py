# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx_setup creates everything in AWX, and a second time nothing; what goes wrong is said in a sentence."""

from __future__ import annotations

import json
import re

import pytest
from helpers import ROOT
from helpers.ansible_run import run
from helpers.awx_double.server import AwxDouble
from helpers.other_collections import collections_path

pytestmark = [pytest.mark.once, pytest.mark.rest]

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
    "awx_setup_notification": {
        "type": "webhook",
        "configuration": {"url": "https://chat.example.com", "headers": {}, "username": "ops", "password": "a secret"},
    },
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
    done = set_up(folder, awx.environment, MORE).ended()
    assert awx.refusals == []
    return done


def test_everything_is_there(first, awx):
    names = {kind: sorted(str(item.get("name")) for item in awx.store.list(kind)) for kind in awx.store.kinds}
    assert names["projects"] == names["inventories"] == ["Azure maintenance"]
    assert names["inventory_sources"] == ["Azure maintenance: hosts"]
    assert names["execution_environments"] == ["Azure maintenance"]
    assert names["notification_templates"] == ["Azure maintenance"]
    assert names["schedules"] == ["Azure maintenance"]
    assert names["workflow_job_templates"] == ["Azure maintenance: workflow"]
    assert names["job_templates"] == [
        f"Azure maintenance: {name}"
        for name in ("collect", "drain then approve", "failed", "fan out", "look", "report", "roll one group")
    ]
    assert names["credentials"] == ["Azure VMs", "Cluster", "This AWX"]
    injected = awx.store.named("credential_types", "Kubeconfig")["injectors"]
    assert injected["env"] == {"K8S_AUTH_KUBECONFIG": "{{ tower.filename }}"}


def test_a_run_is_never_sliced_and_never_runs_twice_at_a_time(first, awx):
    run = awx.store.named("job_templates", "Azure maintenance: drain then approve")
    assert (run["job_slice_count"], run["allow_simultaneous"], run["ask_job_slice_count_on_launch"]) == (
        1,
        False,
        False,
    )
    group = awx.store.named("job_templates", "Azure maintenance: roll one group")
    assert (group["job_slice_count"], group["ask_job_slice_count_on_launch"]) == (1, False)
    # Runs of one group meet at the same file, whoever started them. Empty: an earlier version set another file.
    assert json.loads(group["extra_vars"]) == {}
    assert "maintenance_lock_path" not in (run["extra_vars"] or "")
    assert awx.store.linked("job_templates", run["name"], "credentials") == ["Azure VMs", "Cluster"]


def test_the_survey_asks_for_hosts_limit_check_mode_and_drain_steps(first, awx):
    run = awx.store.named("job_templates", "Azure maintenance: drain then approve")
    asked = {question["variable"]: question for question in run["survey_spec"]["spec"]}
    assert set(asked) == {
        "maintenance_hosts",
        "maintenance_max_at_once",
        "maintenance_plan_only",
        "maintenance_drain_profile",
    }
    assert asked["maintenance_drain_profile"]["choices"] == ["own", "none", "web"]
    assert run["survey_enabled"] is run["ask_job_type_on_launch"] is True


def ways(store):
    """Node and how it ends -> the nodes that run then; those that `failed_` begins wait for all that lead to them."""
    nodes = {node["id"]: node for node in store.list("workflow_job_template_nodes")}
    assert all(
        bool(one.get("all_parents_must_converge")) is one["identifier"].startswith("failed_") for one in nodes.values()
    )
    return {
        f"{nodes[number]['identifier']} {outcome.removesuffix('_nodes')}": {nodes[one]["identifier"] for one in linked}
        for (kind, number, outcome), linked in store.links.items()
        if kind == "workflow_job_template_nodes" and outcome.endswith("_nodes") and linked
    }


def told_of(store):
    """Of whose failures somebody is told."""
    names = [item["name"] for item in store.list("job_templates")]
    assert store.linked("workflow_job_templates", WORKFLOW, "notification_templates_error")
    assert store.linked("workflow_job_templates", WORKFLOW, "notification_templates_approvals")
    link = "notification_templates_error"
    return {name.removeprefix("Azure maintenance: ") for name in names if store.linked("job_templates", name, link)}


WORKFLOW = "Azure maintenance: workflow"
# `failed` always fails: it makes the workflow red after its report, and there only.
WAYS = {
    "approval success": {"run"},
    "approval failure": {"report"},
    "plan failure": {"failed_plan", "report_failure"},
    "run success": {"report"},
    "run failure": {"failed_run", "report_failure"},
}
WITHOUT_GATE = {**WAYS, "plan success": {"approval"}, "report_failure always": {"failed_plan", "failed_run"}}
# A gate that stays shut is no failure: that is so every five minutes.
WITH_GATE = {
    **WAYS,
    "collect success": {"plan"},
    "collect failure": {"failed_collect", "report_failure"},
    "plan success": {"gate"},
    "gate success": {"approval"},
    "gate failure": {"report"},
    "report_failure always": {"failed_collect", "failed_plan", "failed_run"},
}


def test_required_answers_are_not_empty(first, awx):
    questions = [
        question
        for template in (*awx.store.list("job_templates"), *awx.store.list("workflow_job_templates"))
        for question in template.get("survey_spec", {}).get("spec", [])
        if question["type"] == "text" and question["required"]
    ]
    assert len(questions) > 10
    assert all(question["min"] >= 1 for question in questions), questions


def test_the_schedule_looks_and_the_workflow_asks_and_runs(first, awx):
    """Where a job may ask AWX to launch something, there is no gate."""
    store = awx.store
    (schedule,) = store.list("schedules")
    look = store.named("job_templates", "Azure maintenance: look")
    assert schedule["unified_job_template"] == look["id"]
    assert schedule["enabled"] is True
    assert store.linked("job_templates", look["name"], "credentials") == ["Azure VMs", "Cluster", "This AWX"]
    assert ways(store) == WITHOUT_GATE
    assert told_of(store) == {"collect", "drain then approve", "fan out", "look", "report", "roll one group"}
    plan, run = (store.named("workflow_job_template_nodes", name) for name in ("plan", "run"))
    assert plan["job_type"] == "check"
    assert "job_type" not in run
    templates = {
        name: store.find("job_templates", node["unified_job_template"]) for name, node in (("p", plan), ("r", run))
    }
    assert templates["p"]["name"] == "Azure maintenance: drain then approve"
    assert templates["r"]["name"] == "Azure maintenance: fan out"
    assert store.list("workflow_approval_templates")[0]["timeout"] == 300


def test_a_second_run_changes_nothing(first, folder, awx):
    """Also where there is a secret, which can't be read back, and where somebody has paused the schedule."""
    (schedule,) = awx.store.list("schedules")
    schedule["enabled"] = False
    awx.writes.clear()
    again = set_up(folder, awx.environment, MORE).ended()
    changed = {line["task"] for line in again.results if line["result"].get("changed")}
    assert changed == set()
    # What was pushed since is fetched each time.
    assert [re.sub("[0-9]+", "N", write) for write in awx.writes] == ["POST projects/N/update"]
    assert schedule["enabled"] is False


def test_a_changed_file_and_a_pushed_commit(first, folder, awx):
    """No schedule, and no credential for AWX itself any more: a gate comes, and what is not needed goes."""
    awx.syncs.revision = "2222222"
    secret = {**MORE["awx_setup_notification"], "update_secrets": True}
    fewer = {"awx_setup_schedule": "", "awx_setup_controller_credential": "", "awx_setup_fan_out": False}
    done = set_up(folder, awx.environment, {**MORE, **fewer, "awx_setup_notification": secret}).ended()
    assert awx.refusals == []
    assert done.of("Fetch the project")["changed"] is True
    said = done.of("Report what was created and how it is kept up to date")["msg"]
    assert "with revision 2222222 of https://git.example.com" in said
    assert "when you run this again" in said
    assert any(write.startswith("PATCH notification_templates/") for write in awx.writes)
    assert awx.store.list("schedules") == []
    assert ways(awx.store) == WITH_GATE


@pytest.fixture(scope="module")
def simple(tmp_path_factory):
    """What the guide shows first: the schedule starts the workflow, and a gate keeps it from asking in vain."""
    with AwxDouble(PROJECT) as other:
        set_up(tmp_path_factory.mktemp("simple"), other.environment, shown=("awx.yml",)).ended()
        assert other.refusals == []
        yield other.store


def test_what_the_guide_shows_first_is_enough(simple):
    assert len(simple.list("job_templates")) == 5
    run = simple.named("workflow_job_template_nodes", "run")
    assert simple.find("job_templates", run["unified_job_template"])["name"].endswith("drain then approve")
    (credential,) = simple.list("credentials")
    assert credential["inputs"]["ssh_key_data"] == "a key that nobody has"
    (schedule,) = simple.list("schedules")
    workflow = simple.named("workflow_job_templates", "Azure maintenance: workflow")
    assert schedule["unified_job_template"] == workflow["id"]


def test_a_workflow_is_red_where_something_failed_and_only_there(simple):
    assert ways(simple) == WITH_GATE
    assert told_of(simple) == {"collect", "drain then approve", "report"}


def test_the_last_node_knows_what_failed(simple):
    for step in ("collect", "plan", "run"):
        node = simple.named("workflow_job_template_nodes", f"failed_{step}")
        assert node["extra_data"] == {"maintenance_failed_step": step}


def test_a_project_that_is_not_fetched_in_time_is_said_in_a_sentence(folder):
    """AWX's own module would ask without a pause, for ever."""
    with AwxDouble(PROJECT) as other:
        other.syncs.outcomes = ["pending", "pending"]
        done = set_up(folder, other.environment, {"awx_setup_project_timeout": 3}, shown=("awx.yml",)).ended(2)
        said = done.of("Report that the project could not be fetched")["msg"]
        assert "could not fetch https://git.example.com/ops/azure-maintenance.git within 3 seconds" in said
        assert other.syncs.looks <= 4


def test_a_first_sync_that_failed_is_tried_again(folder):
    with AwxDouble(PROJECT) as other:
        other.syncs.outcomes = ["failed", "failed"]
        done = set_up(folder, other.environment, shown=("awx.yml",)).ended(2)
        assert "Then run this again." in done.of("Report that the project could not be fetched")["msg"]
        set_up(folder, other.environment, shown=("awx.yml",)).ended()


def test_an_organization_that_is_not_there_is_said_in_a_sentence(folder, awx):
    writes = list(awx.writes)
    done = set_up(folder, awx.environment, {"awx_setup_organization": "Defualt"}).ended(2)
    said = done.of("Make sure that the organization exists")["msg"]
    assert said.startswith("AWX has no organization Defualt, or this user may not see it")
    assert awx.writes == writes


def test_two_sets_in_one_awx(first, folder, awx):
    if all(item["name"] != "Second" for item in awx.store.list("organizations")):
        awx.store.add("organizations", {"name": "Second"})
    second = {"awx_setup_organization": "Second"}
    done = set_up(folder, awx.environment, second, shown=("awx.yml",)).ended(2)
    said = done.of("Make sure that no other organization has a set of this name")["msg"]
    assert "give this set another one in awx_setup_name" in said
    refusals = list(awx.refusals)
    second |= {"awx_setup_name": 'The "other" one', "awx_setup_simultaneous": True}
    done = set_up(folder, awx.environment, second, shown=("awx.yml",)).ended()
    assert awx.refusals == refusals
    templates = [item["name"] for item in awx.store.list("job_templates") if item["name"].startswith("The")]
    assert 'The "other" one: collect' in templates
    assert len(templates) == 5
    assert awx.store.named("job_templates", 'The "other" one: drain then approve')["allow_simultaneous"] is True
    assert awx.store.named("execution_environments", 'The "other" one')["image"]


def test_a_wrong_token_is_said_in_a_sentence(folder, awx):
    done = set_up(folder, awx.environment, CONTROLLER_OAUTH_TOKEN="a wrong one").ended(2)
    where = awx.environment["CONTROLLER_HOST"]
    said = done.of("Report why AWX can't be asked")["msg"]
    assert said == f"AWX at {where} does not accept the token in CONTROLLER_OAUTH_TOKEN."


def test_an_awx_that_is_not_there_is_said_in_a_sentence(folder):
    done = set_up(folder, {"CONTROLLER_HOST": "http://127.0.0.1:1", "CONTROLLER_OAUTH_TOKEN": "any"}).ended(2)
    said = done.of("Report why AWX can't be asked")["msg"]
    assert said == "AWX at http://127.0.0.1:1 is out of reach: [Errno 111] Connection refused."


def test_without_awx_awx_it_says_how_to_get_it(folder):
    done = set_up(folder, {}, ANSIBLE_COLLECTIONS_PATH=collections_path().split(":", maxsplit=1)[0]).ended(2)
    said = done.of("Report why AWX can't be asked")["msg"]
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
    done = set_up(folder, awx.environment, settings).ended(2)
    assert said in done.of("Refuse unusable settings")["msg"]
    assert awx.writes == writes
