# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bulk launch of AWX is asked for, what AWX would make of it, and what it has made of it. Pure.

AWX checks nothing when it takes a bulk launch. When it makes the jobs, it leaves out what a template does not ask for,
and takes the survey's default instead of an answer that it does not like, in silence.
"""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterable, Mapping, Sequence

_TEXTS = ("text", "textarea", "password")


def launch_jobs(
    groups: Iterable[Mapping[str, t.Any]], template: Mapping[str, t.Any], answers: Mapping[str, t.Any]
) -> list[dict[str, t.Any]]:
    """The jobs of a bulk launch: one for each entry of `groups`, over its hosts."""
    patterns = [",".join(group["hosts"]) for group in groups]
    return [
        {
            "unified_job_template": int(template["id"]),
            "identifier": f"group-{number}",
            "limit": pattern,
            "extra_data": {**answers, "maintenance_hosts": pattern},
        }
        for number, pattern in enumerate(patterns, start=1)
    ]


def launch_problems(
    jobs: Iterable[Mapping[str, t.Any]], template: Mapping[str, t.Any], survey: Mapping[str, t.Any]
) -> list[str]:
    """What AWX would leave out or replace, each once."""
    name = template.get("name")
    found: dict[str, None] = {}
    if not template.get("ask_limit_on_launch"):
        found[f"The template {name} does not ask for a limit, so its jobs would run over all hosts: switch that on"] = (
            None
        )
    if template.get("job_type") != "run":
        found[f"The template {name} has the job type {template.get('job_type')} and not run"] = None
    asked = {question["variable"]: question for question in survey.get("spec") or ()}
    if not template.get("survey_enabled"):
        asked = {}
    for job in jobs:
        for variable, answer in job["extra_data"].items():
            if problem := _problem(variable, answer, asked.get(variable), template):
                found[problem] = None
        given = set(job["extra_data"])
        for variable in (one for one, question in asked.items() if question.get("required") and one not in given):
            if asked[variable].get("default") in (None, ""):
                found[f"The survey of {name} needs {variable}, and there is none"] = None
    return list(found)


def _problem(
    variable: str, answer: t.Any, question: Mapping[str, t.Any] | None, template: Mapping[str, t.Any]
) -> str | None:
    if question is None:
        if template.get("ask_variables_on_launch"):
            return None
        return f"The template {template.get('name')} does not ask for {variable}, so it would be left out"
    why = _wrong(answer, question)
    return f"{variable}: {why}, so AWX would take the survey's default instead" if why else None


def _wrong(answer: t.Any, question: Mapping[str, t.Any]) -> str | None:
    kind = question.get("type")
    if kind in _TEXTS:
        if not isinstance(answer, str):
            return f"{answer!r} is no text; write it in quotes"
        return _out_of_range(len(answer), f"{answer!r}", question, "characters")
    if kind in ("integer", "float"):
        numbers = (int,) if kind == "integer" else (int, float)
        # true is no number, although Python says so.
        if isinstance(answer, bool) or not isinstance(answer, numbers):
            return f"{answer!r} is no number"
        return _out_of_range(answer, f"{answer!r}", question, "")
    choices = question.get("choices") or []
    listed = choices.splitlines() if isinstance(choices, str) else list(choices)
    if kind == "multiselect" and not isinstance(answer, list):
        return f"{answer!r} is no list"
    given = answer if kind == "multiselect" else [answer]
    wrong = [one for one in given if one not in listed]
    return f"{wrong[0]!r} is none of {', '.join(map(str, listed))}" if wrong else None


def _out_of_range(size: float, shown: str, question: Mapping[str, t.Any], unit: str) -> str | None:
    for bound, word in (("min", "fewer"), ("max", "more")):
        limit = question.get(bound)
        if limit not in (None, "") and (size < float(limit) if bound == "min" else size > float(limit)):
            return f"{shown} is {word} than {limit} {unit}".rstrip()
    return None


def launch_differences(
    wanted: Sequence[Mapping[str, t.Any]], nodes: Iterable[Mapping[str, t.Any]], jobs: Iterable[Mapping[str, t.Any]]
) -> list[str]:
    """Where the jobs that AWX made are not what was asked for: a sentence for each."""
    made = {job["id"]: job for job in jobs}
    job_of = {node.get("identifier"): made.get(node.get("job")) for node in nodes}
    said: list[str] = []
    for asked in wanted:
        job = job_of.get(asked["identifier"])
        if job is None:
            said.append(f"{asked['identifier']}: AWX has made no job for it")
            continue
        said += _differences(asked, job)
    return said


def _differences(asked: Mapping[str, t.Any], job: Mapping[str, t.Any]) -> list[str]:
    where = f"Job {job['id']} ({asked['identifier']})"
    said = []
    if job.get("limit") != asked["limit"]:
        said.append(f"{where} has the limit {job.get('limit')!r} and not {asked['limit']!r}")
    if job.get("job_type") != "run":
        said.append(f"{where} has the job type {job.get('job_type')!r}")
    if job.get("job_slice_count", 1) != 1:
        said.append(f"{where} is cut into {job['job_slice_count']} slices")
    own = _variables(job.get("extra_vars"))
    for name, value in asked["extra_data"].items():
        if own.get(name) != value:
            said.append(f"{where} has {own.get(name)!r} for {name} and not {value!r}")
    return said


def _variables(text: t.Any) -> Mapping[str, t.Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
