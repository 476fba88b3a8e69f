# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of AWX: the fan-out, and what AWX would replace in a launch."""

from __future__ import annotations

import heapq
import json
import time
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from .._azure import events as azure
from .._azure import vms
from .._common.text import natural, seconds_of, some_of
from .._plan import waves

# Hosts belong together if they are known to be of one delivery group, or show a common event: Azure shows an event to
# the whole delivery group, and two domains of one group must never be down at once.

GROUP, VM_NAME, STATUS = "maintenance_delivery_group", "maintenance_vm_name", "maintenance_status"
_MOST = 8


def fan_out(
    hosts: Iterable[str],
    host_vars: vms.HostVars,
    *,
    jobs: int = 100,
    max_age: float | None = None,
    now: float | None = None,
    drained: Iterable[str] = (),
) -> dict[str, t.Any]:
    """{jobs: [{hosts, groups}], quiet, unknown, lines}: whom to launch a job for.

    `drained`: hosts that an earlier run left drained; their groups have something to do without any event.
    `quiet`: hosts of groups without any event. `unknown`: hosts without a good reading that no group speaks for; they
    get no job. Raises ValueError with a sentence for the user.
    """
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise ValueError(f"jobs must be a number, at least 1, not {jobs!r}")
    ordered = sorted(set(hosts), key=natural)
    readings = {host: good_reading(host_vars.get(host), max_age, now) for host in ordered}
    groups = _groups(ordered, host_vars, readings)
    left = set(drained)
    busy: list[list[str]] = []
    still: list[list[str]] = []
    for group in groups:
        wanted = any(vms.events_of(readings[host]) or host in left for host in group)
        (busy if wanted else still).append(group)
    packed = _pack(busy, jobs)
    result = {
        "jobs": packed,
        "quiet": [host for group in still for host in group if any(readings[one] for one in group)],
        "unknown": [host for group in still for host in group if not any(readings[one] for one in group)],
    }
    return {**result, "lines": _lines(result, len(ordered))}


def good_reading(
    variables: Mapping[str, t.Any] | None, max_age: float | None, now: float | None = None
) -> dict[str, t.Any] | None:
    """What the host was shown, if that can be relied on."""
    status = variables.get(STATUS) if variables is not None else None
    if not isinstance(status, dict) or not isinstance(status.get("events"), list):
        return None
    if max_age is None:
        return status
    read_at = seconds_of(status.get("read_at"))
    moment = time.time() if now is None else now
    return status if read_at is not None and moment - read_at <= float(max_age) else None


def _groups(
    hosts: Sequence[str], host_vars: vms.HostVars, readings: Mapping[str, dict[str, t.Any] | None]
) -> list[list[str]]:
    joined = waves.Joined()
    first: dict[tuple[str, ...], str] = {}
    for host in hosts:
        for key in _keys(host_vars.get(host), readings[host]):
            joined.join(first.setdefault(key, host), host)
    # An event may also name hosts that were not read themselves.
    known = {host: {**(host_vars.get(host) or {}), STATUS: readings[host]} for host in hosts}
    for seen in vms.collect_events(vms.this_hosts_of(hosts, known), known):
        for host in seen.hosts:
            joined.join(first[_event_key(seen.id)], host)
    found: dict[str, list[str]] = {}
    for host in hosts:
        found.setdefault(joined.root(host), []).append(host)
    return list(found.values())


def _keys(variables: Mapping[str, t.Any] | None, reading: t.Any) -> list[tuple[str, ...]]:
    """Two hosts with a common key are of one delivery group."""
    keys: list[tuple[str, ...]] = [_event_key(event.get("id")) for event in vms.events_of(reading)]
    told = variables.get(GROUP) if variables is not None else None
    if told is not None and told != "":
        keys.append(("told", str(told)))
    this_host = vms.this_host_of(variables)
    if this_host and this_host.get("placement_group"):
        where = (this_host.get(name) for name in ("subscription_id", "resource_group", "scale_set", "placement_group"))
        keys.append(("placement", *(str(part or "").casefold() for part in where)))
    return keys


def _event_key(event_id: t.Any) -> tuple[str, ...]:
    return "event", azure.canonical_id(str(event_id))


def _pack(groups: Sequence[list[str]], jobs: int) -> list[dict[str, t.Any]]:
    """Largest group first, each into the job with the fewest hosts."""
    if len(groups) <= jobs:
        return [{"hosts": group, "groups": 1} for group in groups]
    heap = [(0, number) for number in range(jobs)]
    members: list[list[list[str]]] = [[] for _number in range(jobs)]
    for group in sorted(groups, key=len, reverse=True):
        size, number = heapq.heappop(heap)
        members[number].append(group)
        heapq.heappush(heap, (size + len(group), number))
    return [{"hosts": [host for group in packed for host in group], "groups": len(packed)} for packed in members]


def _lines(result: Mapping[str, t.Any], count: int) -> list[str]:
    jobs = result["jobs"]
    groups = sum(job["groups"] for job in jobs)
    busy = sum(len(job["hosts"]) for job in jobs)
    lines = [f"{count} hosts: {len(jobs)} jobs for {groups} delivery groups with {busy} hosts"]
    if jobs:
        lines.append(f"The largest job has {max(len(job['hosts']) for job in jobs)} hosts")
    lines.append(f"No job for {len(result['quiet'])} hosts of groups with nothing planned")
    if result["unknown"]:
        lines.append(
            f"No job for {len(result['unknown'])} hosts that are unread, or were read too long ago: "
            f"{some_of(result['unknown'], _MOST)}. Run collect first"
        )
    return lines


# AWX checks nothing when it takes a bulk launch. When it makes the jobs, it leaves out what a template does not ask
# for, and takes the survey's default instead of an answer that it does not like, in silence.

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
) -> list[dict[str, t.Any]]:
    """List where the jobs that AWX made differ from those wanted: {job, text}; job is None where there is none yet."""
    made = {job["id"]: job for job in jobs}
    job_of = {node.get("identifier"): made.get(node.get("job")) for node in nodes}
    found: list[dict[str, t.Any]] = []
    for asked in wanted:
        job = job_of.get(asked["identifier"])
        if job is None:
            found.append({"job": None, "text": f"{asked['identifier']}: AWX has made no job for it"})
        else:
            found += ({"job": job["id"], "text": text} for text in _differences(asked, job))
    return found


def _differences(asked: Mapping[str, t.Any], job: Mapping[str, t.Any]) -> Iterable[str]:
    where = f"Job {job['id']} ({asked['identifier']})"
    if job.get("limit") != asked["limit"]:
        yield f"{where} has the limit {job.get('limit')!r} and not {asked['limit']!r}"
    if job.get("job_type") != "run":
        yield f"{where} has the job type {job.get('job_type')!r}"
    if job.get("job_slice_count", 1) != 1:
        yield f"{where} is cut into {job['job_slice_count']} slices"
    own = _variables(job.get("extra_vars"))
    for name, value in asked["extra_data"].items():
        if own.get(name) != value:
            yield f"{where} has {own.get(name)!r} for {name} and not {value!r}"


def _variables(text: t.Any) -> Mapping[str, t.Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
