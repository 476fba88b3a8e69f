# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX does with an answer: refuses it where it is kept, replaces it in silence where a workflow starts a job."""

from __future__ import annotations

import json
from typing import Any

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
