# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double is worth something only if a mistake fails: in the option of a module, in a field, in a prompt."""

from __future__ import annotations

import http.client
import json

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


GOOD_QUESTION = {"question_name": "Q", "variable": "v", "type": "text", "required": True, "default": ""}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("projects", {"name": "New", "scm_ulr": "x"}),
        ("projects", {"name": "New", "scm_clean": "yes"}),
        ("inventories", {"name": "New"}),
        ("inventory_sources", {"name": "New", "inventory": 99}),
        ("inventory_sources", {"name": "New", "inventory": 5, "source": "scm", "source_path": "x"}),
        ("credentials", {"name": "New", "credential_type": 2, "inputs": {"user": "x"}}),
        ("credential_types", {"name": "New", "kind": "cloud", "injectors": {"env": {"A": "{{ nothing }}"}}}),
        ("schedules", {"name": "New", "unified_job_template": 6, "rrule": "FREQ=DAILY"}),
        (
            "job_templates/6/survey_spec",
            {"name": "S", "description": "", "spec": [{**GOOD_QUESTION, "type": "choice"}]},
        ),
        (
            "job_templates/6/survey_spec",
            {"name": "S", "description": "", "spec": [{**GOOD_QUESTION, "requierd": True}]},
        ),
        ("job_templates/6/survey_spec", {"name": "S", "description": "", "spec": [GOOD_QUESTION, GOOD_QUESTION]}),
        ("workflow_job_templates/7/success_nodes", {"id": 6}),
        ("bulk/job_launch", {"jobs": [{"unified_job_template": 6, "limt": "web"}]}),
        ("bulk/job_launch", {"jobs": [{"unified_job_template": 6}] * 101}),
    ],
)
def test_mistakes_in_requests_are_refused(awx, path, body):
    status, answer = ask(awx, path, body)
    assert status in (400, 404), answer
    assert awx.writes == []


def test_what_is_right_is_accepted(awx):
    assert ask(awx, "projects", {"name": "New", "scm_clean": True})[0] == 201
    assert ask(awx, "job_templates/6/survey_spec", {"name": "S", "description": "", "spec": [GOOD_QUESTION]})[0] == 200
    assert ask(awx, "bulk/job_launch", {"jobs": [{"unified_job_template": 6}]})[0] == 201


SURVEY = {
    "name": "S",
    "description": "",
    "spec": [
        {**GOOD_QUESTION, "variable": "at_once", "min": 1, "default": "100%"},
        {**GOOD_QUESTION, "variable": "only", "type": "multiplechoice", "choices": ["no", "yes"], "default": "no"},
    ],
}


def launched(awx, **job):
    """The job that AWX makes of a bulk launch."""
    template = awx.store.named("job_templates", "T")
    template.update(survey_enabled=True, survey_spec=SURVEY, job_type="run")
    status, answer = ask(awx, "bulk/job_launch", {"jobs": [{"unified_job_template": template["id"], **job}]})
    assert status == 201, answer
    (node,) = awx.launches.look(answer["id"])["nodes"]
    made = awx.launches.jobs[node["job"]]
    return {**made, "extra_vars": json.loads(made["extra_vars"])}


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({"at_once": "25%", "only": "yes"}, {"at_once": "25%", "only": "yes"}),
        ({"at_once": 5}, {"at_once": "100%", "only": "no"}),
        ({"at_once": ""}, {"at_once": "100%", "only": "no"}),
        ({"only": "maybe"}, {"at_once": "100%", "only": "no"}),
        ({"unasked": "x"}, {"at_once": "100%", "only": "no"}),
    ],
)
def test_a_bulk_launch_replaces_answers_in_silence(awx, given, got):
    assert launched(awx, extra_data=given)["extra_vars"] == got


def test_a_bulk_launch_leaves_out_what_the_template_does_not_ask_for(awx):
    made = launched(awx, limit="web", job_type="check")
    assert (made["limit"], made["job_type"]) == ("", "run")


def test_a_bulk_launch_needs_an_organization(awx):
    awx.launches.superuser = False
    jobs = [{"unified_job_template": 6}]
    status, answer = ask(awx, "bulk/job_launch", {"jobs": jobs})
    assert (status, "not part of any organization" in answer[0]) == (400, True)
    awx.launches.member_of = [1, 2]
    status, answer = ask(awx, "bulk/job_launch", {"jobs": jobs})
    assert (status, "multiple Organizations" in answer[0]) == (400, True)
    assert ask(awx, "bulk/job_launch", {"jobs": jobs, "organization": 1})[0] == 201


def test_names_are_unique_in_an_organization_and_some_in_all_of_awx(awx):
    awx.store.add("organizations", {"name": "Second"})
    number = awx.store.named("organizations", "Second")["id"]
    image = {"name": "E", "image": "x"}
    assert ask(awx, "execution_environments", {**image, "organization": 1})[0] == 201
    assert ask(awx, "execution_environments", {**image, "organization": number})[0] == 400
    assert ask(awx, "projects", {"name": "P", "organization": number})[0] == 201
    assert ask(awx, "projects", {"name": "P", "organization": 1})[0] == 400


def test_playbooks_are_known_only_after_a_sync(awx):
    awx.syncs.outcomes = ["failed", "successful"]
    _status, project = ask(awx, "projects", {"name": "New", "organization": 1})
    inventory = awx.store.named("inventories", "I")["id"]
    template = {"name": "N", "project": project["id"], "playbook": "play.yml", "inventory": inventory}
    awx.syncs.let_all_end()
    assert ask(awx, "job_templates", template) == (400, {"playbook": ["Playbook not found for project."]})
    assert ask(awx, f"projects/{project['id']}/update", {})[0] == 202
    awx.syncs.let_all_end()
    assert ask(awx, "job_templates", template)[0] == 201


def ask(awx, path, body):
    connection = http.client.HTTPConnection(awx.environment["CONTROLLER_HOST"].removeprefix("http://"))
    headers = {"Authorization": f"Bearer {awx.environment['CONTROLLER_OAUTH_TOKEN']}"}
    connection.request("POST", f"/api/v2/{path}/", json.dumps(body), headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())
