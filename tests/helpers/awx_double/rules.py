# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX checks beyond the fields of one object: surveys, prompts, credentials, playbooks, schedules."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from helpers.awx_double.api import (
    ASKED_BY,
    FIELDS,
    FILLED_IN,
    NOTIFICATIONS,
    NULL_IS_FINE,
    PASSED_OVER,
    PROMPTS,
    REQUIRED,
    UNIQUE,
)
from helpers.awx_double.survey import answer_problem, sorted_out

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


def check_fields(store: Any, kind: str, body: dict[str, Any], existing: dict[str, Any] | None) -> dict[str, Any]:
    """The fields that are kept."""
    known = FIELDS[kind]
    kept = {name: value for name, value in body.items() if name not in PASSED_OVER.get(kind, ())}
    if unknown := sorted(set(kept) - set(known)):
        raise Refused({"detail": f"{kind} has no writable field {', '.join(unknown)}"})
    if existing is None and (missing := sorted(REQUIRED[kind] - set(kept))):
        raise Refused({name: ["This field is required."] for name in missing})
    for name, value in kept.items():
        if value is None and (name in NULL_IS_FINE.get(kind, ()) or str(known[name]).startswith("id of ")):
            continue
        check_value(store, name, value, known[name])
    return {name: "" if value is None and name == "kind" else value for name, value in kept.items()}


def is_a(value: Any, wanted: type) -> bool:
    """In JSON, true is no number."""
    return isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))


def check_value(store: Any, name: str, value: Any, wanted: Any) -> None:
    if isinstance(wanted, set):
        if value not in wanted or isinstance(value, bool):
            raise Refused({name: [f"{value!r} is not a valid choice."]})
    elif isinstance(wanted, str):
        if not is_a(value, int) or store.find(wanted.removeprefix("id of "), value) is None:
            raise Refused({name: [f"Invalid pk {value!r} - object does not exist."]})
    elif not is_a(value, wanted):
        raise Refused({name: [f"Not a valid {wanted.__name__}: {value!r}"]})
    elif name in ("extra_vars", "variables", "source_vars") and value:
        json.loads(value)


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
    for name in PROMPTS:
        value = item.get(name)
        if value in (None, "", {}) or template.get(ASKED_BY[name]):
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
