# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX 24 checks: surveys and answers, prompts, credentials, playbooks, schedules, names.

That a field is one of AWX's, and of which type it is, is checked by the modules of awx.awx before they ask.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

KINDS = (
    *("organizations", "projects", "inventories", "inventory_sources", "execution_environments", "credential_types"),
    *("credentials", "notification_templates", "job_templates", "workflow_job_templates"),
    *("workflow_job_template_nodes", "workflow_approval_templates", "schedules"),
)
# Which setting of a template lets a node, a schedule or a launch say something else.
ASKED_BY = {
    **{
        name: f"ask_{name}_on_launch"
        for name in (
            *("scm_branch", "skip_tags", "limit", "forks", "job_slice_count", "timeout", "diff_mode"),
            *("inventory", "execution_environment", "job_type", "verbosity"),
        )
    },
    "extra_data": "ask_variables_on_launch",
    "job_tags": "ask_tags_on_launch",
}
_NOTIFIES = {f"notification_templates_{when}": "notification_templates" for when in ("started", "success", "error")}
ASSOCIATIONS: dict[str, dict[str, str]] = {
    "projects": _NOTIFIES,
    "inventories": {"instance_groups": "instance_groups"},
    "inventory_sources": _NOTIFIES,
    "job_templates": {**_NOTIFIES, "credentials": "credentials", "labels": "labels"},
    "workflow_job_templates": {
        **_NOTIFIES,
        "notification_templates_approvals": "notification_templates",
        "labels": "labels",
    },
    "workflow_job_template_nodes": {
        "success_nodes": "workflow_job_template_nodes",
        "failure_nodes": "workflow_job_template_nodes",
        "always_nodes": "workflow_job_template_nodes",
        "credentials": "credentials",
        "labels": "labels",
    },
}

# Besides the name: within what a name is unique.
UNIQUE: dict[str, tuple[str, ...]] = {
    "organizations": (),
    "execution_environments": (),
    "credential_types": (),
    "projects": ("organization",),
    "inventories": ("organization",),
    "job_templates": ("organization",),
    "workflow_job_templates": ("organization",),
    "notification_templates": ("organization",),
    "credentials": ("organization", "credential_type"),
    "inventory_sources": ("inventory",),
    "schedules": ("unified_job_template",),
}
# Never shown, and always taken for changed by awx.awx.
SECRETS = {"webhook": ("password",), "slack": ("token",)}
# What is needed, and what may be left out, to notify somebody: (needed, optional).
NOTIFICATIONS: dict[str, tuple[dict[str, type], dict[str, type]]] = {
    "webhook": (
        {"url": str, "headers": dict},
        {"http_method": str, "disable_ssl_verification": bool, "username": str, "password": str},
    ),
    "slack": ({"token": str, "channels": list}, {"hex_color": str}),
}
# What AWX writes into a configuration that leaves it out.
FILLED_IN: dict[str, dict[str, Any]] = {
    "webhook": {"http_method": "POST", "disable_ssl_verification": False, "username": "", "password": ""},
}
SURVEY_TYPES = {"text", "textarea", "password", "multiplechoice", "multiselect", "integer", "float"}
QUESTION_KEYS = {
    "question_name",
    "question_description",
    "variable",
    "type",
    "required",
    "choices",
    "default",
    "min",
    "max",
}
# By this, more or less, AWX tells a playbook from other YAML files of a project.
PLAYBOOK = re.compile(
    r"^\s*?-?\s*?(?:hosts|(ansible\.builtin\.)?import_playbook|(ansible\.builtin\.)?include):\s*?.*?$"
)


class Refused(Exception):
    """What AWX would answer with status 400; `args[0]` is the body."""


def fields_to_keep(body: dict[str, Any]) -> dict[str, Any]:
    """Without what is read-only, and sent all the same by awx.awx."""
    return {name: "" if name == "kind" and value is None else value for name, value in body.items() if name != "type"}


def is_a(value: Any, wanted: type) -> bool:
    """In JSON, true is no number."""
    return isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))


def check_object(store: Any, kind: str, item: dict[str, Any]) -> None:
    """What depends on several fields, or on other objects."""
    checks = {
        "job_templates": _job_template,
        "inventory_sources": _inventory_source,
        "credentials": _credential,
        "credential_types": _credential_type,
        "notification_templates": _notification_template,
        "schedules": _schedule,
        "workflow_job_template_nodes": _prompts_of_node,
    }
    if kind in checks:
        checks[kind](store, item)


def _job_template(store: Any, item: dict[str, Any]) -> None:
    path = store.project_folder / item["playbook"]
    # It is known which playbooks a project has only after it was fetched.
    fetched = store.kinds["projects"][item["project"]]["scm_revision"]
    if not fetched or not path.is_file() or not any(PLAYBOOK.match(line) for line in path.read_text().splitlines()):
        raise Refused({"playbook": ["Playbook not found for project."]})
    if item.get("inventory") is None and not item.get("ask_inventory_on_launch"):
        raise Refused({"inventory": ["Job Templates must provide a default inventory or prompt for one."]})


def _inventory_source(store: Any, item: dict[str, Any]) -> None:
    if item.get("source") != "scm":
        return
    if item.get("source_project") is None:
        raise Refused({"detail": "Project required for scm type sources."})
    if not Path(store.project_folder, item.get("source_path", "")).exists():
        raise Refused({"source_path": [f"The project has no {item['source_path']}."]})


def _credential(store: Any, item: dict[str, Any]) -> None:
    kind = store.find("credential_types", item["credential_type"])
    fields = {field["id"] for field in kind["inputs"].get("fields", [])}
    if unknown := sorted(set(item.get("inputs", {})) - fields):
        raise Refused({"inputs": [f"{', '.join(unknown)} not in {sorted(fields)}"]})


def _credential_type(_store: Any, item: dict[str, Any]) -> None:
    inputs, injectors = item.get("inputs", {}), item.get("injectors", {})
    fields = inputs.get("fields", [])
    for field in fields:
        keys = {"id", "label", "type", "format", "choices", "help_text", "multiline", "secret", "default"}
        if not {"id", "label"} <= set(field) <= keys:
            raise Refused({"inputs": [f"Not a field of a credential type: {field}"]})
    if not set(inputs) <= {"fields", "required"} or not set(injectors) <= {"file", "env", "extra_vars"}:
        raise Refused({"inputs": ["Additional properties are not allowed"]})
    known = {field["id"] for field in fields} | {"tower"}
    for used in re.findall(r"\{\{\s*(\w+)", json.dumps(injectors)):
        if used not in known:
            raise Refused({"injectors": [f"{used} is undefined"]})


def _notification_template(_store: Any, item: dict[str, Any]) -> None:
    if item["notification_type"] not in NOTIFICATIONS:
        raise Refused({"notification_type": ["AWX may know this type. What it is configured with is not known here."]})
    needed, optional = NOTIFICATIONS[item["notification_type"]]
    given = item["notification_configuration"] = {
        **FILLED_IN.get(item["notification_type"], {}),
        **item.get("notification_configuration", {}),
    }
    if missing := sorted(set(needed) - set(given)):
        raise Refused({"notification_configuration": [f"Missing required fields: {missing}"]})
    for name, value in given.items():
        wanted = {**needed, **optional}.get(name)
        if wanted is None:
            raise Refused({"notification_configuration": [f"No such field: {name}"]})
        if not is_a(value, wanted) and value != "$encrypted$":
            raise Refused({"notification_configuration": [f"{name} must be of type {wanted.__name__}"]})


def _schedule(store: Any, item: dict[str, Any]) -> None:
    rule = item["rrule"]
    if not re.match(r"DTSTART(;TZID=[\w/]+)?:\d{8}T\d{6}Z? RRULE:", rule) or "INTERVAL=" not in rule:
        raise Refused({"rrule": ["Valid DTSTART required in rrule, and INTERVAL."]})
    if "FREQ=SECONDLY" in rule:
        raise Refused({"rrule": ["SECONDLY is not supported."]})
    check_prompts(store, item)


def _prompts_of_node(store: Any, item: dict[str, Any]) -> None:
    if item.get("unified_job_template"):
        check_prompts(store, item)


def check_prompts(store: Any, item: dict[str, Any]) -> None:
    """What a node, a schedule or a bulk launch says to a template that does not ask for it is refused."""
    template = store.find("unified_job_templates", item["unified_job_template"])
    for name, asked_by in ASKED_BY.items():
        value = item.get(name)
        if value in (None, "", {}) or template.get(asked_by):
            continue
        if name != "extra_data":
            raise Refused({name: ["Field is not configured to prompt on launch."]})
        _taken, problems = sorted_out(template, value)
        if problems:
            raise Refused({"extra_data": problems})


def check_survey(spec: dict[str, Any]) -> None:
    for name, wanted in (("name", str), ("description", str), ("spec", list)):
        if not isinstance(spec.get(name), wanted):
            raise Refused({"error": f"Field {name!r} is missing from survey spec, or of the wrong type."})
    if set(spec) != {"name", "description", "spec"} or not spec["spec"]:
        raise Refused({"error": "A survey has a name, a description and some questions."})
    seen = set()
    for question in spec["spec"]:
        if unknown := sorted(set(question) - QUESTION_KEYS):
            raise Refused({"error": f"A question has no {', '.join(unknown)}."})
        for name in ("type", "question_name", "variable", "required"):
            if name not in question:
                raise Refused({"error": f"{name!r} missing from survey question {question}."})
        if question["type"] not in SURVEY_TYPES or question["variable"] in seen:
            raise Refused({"error": f"Not a survey question, or the second of its name: {question}."})
        seen.add(question["variable"])
        if question["type"] in ("multiplechoice", "multiselect") and not question.get("choices"):
            raise Refused({"error": f"Survey question {question['variable']} must specify choices."})
        default = question.get("default")
        problem = answer_problem(question, default) if default not in (None, "") else None
        if problem:
            raise Refused({"error": f"Default: {problem}"})


def check_name(store: Any, kind: str, item: dict[str, Any]) -> None:
    """Most names are unique in an organization; those of execution environments are in all of AWX."""
    if "name" not in item or kind not in UNIQUE:
        return
    among = ("name", *UNIQUE[kind])
    for other in store.list(kind):
        if other.get("id") != item.get("id") and all(other.get(field) == item.get(field) for field in among):
            raise Refused({"__all__": [f"{kind} with this {' and '.join(among)} already exists."]})


# What AWX does with an answer: refuses it where it is kept, replaces it in silence where a workflow starts a job.

_TEXTS = ("text", "textarea", "password")
_NUMBERS = {"integer": (int,), "float": (int, float)}


def answer_problem(question: dict[str, Any], answer: Any) -> str | None:
    """Why AWX does not like an answer; None if it does."""
    kind, name = question["type"], question["variable"]
    size: Any = answer
    if kind in _TEXTS:
        if not isinstance(answer, str):
            return f"Value {answer!r} for {name!r} expected to be a string."
        size = len(answer)
    elif kind in _NUMBERS:
        # In Python, true is a number; for AWX it is none.
        if type(answer) not in _NUMBERS[kind]:
            return f"Value {answer!r} for {name!r} expected to be a number."
    else:
        given = answer if kind == "multiselect" else [answer]
        if not isinstance(given, list):
            return f"{name!r} value is expected to be a list."
        if wrong := [one for one in given if one not in question["choices"]]:
            return f"Value {wrong[0]!r} for {name!r} expected to be one of {question['choices']}."
        return None
    if question.get("min") not in ("", None) and size < question["min"]:
        return f"{name!r} value {answer!r} is too small."
    if question.get("max") not in ("", None) and size > question["max"]:
        return f"{name!r} value {answer!r} is too large."
    return None


def questions_of(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    spec = template.get("survey_spec", {}).get("spec", []) if template.get("survey_enabled") else []
    return {question["variable"]: question for question in spec}


def sorted_out(template: dict[str, Any], given: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The variables that a template takes, and what AWX has to say about the others."""
    asked = questions_of(template)
    taken, problems = {}, []
    for name, value in given.items():
        if name not in asked:
            problem = (
                None if template.get("ask_variables_on_launch") else f"Variables {name} are not allowed on launch."
            )
        else:
            problem = answer_problem(asked[name], value)
        if problem is None:
            taken[name] = value
        else:
            problems.append(problem)
    return taken, problems


def missing_answers(template: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """What somebody who launches by hand, or through the API, would have to answer."""
    return [
        f"{name!r} value missing"
        for name, question in questions_of(template).items()
        if question["required"] and name not in given
    ]


def job_variables(template: dict[str, Any], given: dict[str, Any], of_the_workflow: dict[str, Any]) -> dict[str, Any]:
    """The variables of a job that a workflow, or a bulk launch, starts.

    What it does not like of `given` is gone, and the survey's default is there instead. Nobody is told.
    """
    defaults = {
        name: question["default"]
        for name, question in questions_of(template).items()
        if question.get("default") is not None and answer_problem(question, question["default"]) is None
    }
    own = json.loads(template.get("extra_vars") or "{}")
    return {**own, **defaults, **sorted_out(template, given)[0], **of_the_workflow}
