# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused before a bulk launch is what AWX would leave out or replace: no more, and no less."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._awx.launch import (
    launch_differences,
    launch_jobs,
    launch_problems,
)
from helpers.awx_double.survey import job_variables
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.once

TEMPLATE = {"id": 7, "name": "T", "job_type": "run", "ask_limit_on_launch": True, "survey_enabled": True}
ANSWERS = st.one_of(
    st.sampled_from(["no", "yes"]),
    st.text(max_size=4),
    st.integers(-3, 9),
    st.booleans(),
    st.none(),
    st.lists(st.sampled_from(["no", "yes", "x"])),
)
HOSTS = {"variable": "maintenance_hosts", "type": "text", "required": True}
KINDS = st.sampled_from(["text", "textarea", "integer", "float", "multiplechoice", "multiselect"])


@st.composite
def questions(draw, variable):
    kind = draw(KINDS)
    bounds = {} if kind.startswith("multi") else {"min": draw(st.sampled_from([None, "", 1, 2]))}
    if kind in ("integer", "float", "text"):
        bounds["max"] = draw(st.sampled_from([None, 3]))
    return {"variable": variable, "type": kind, "required": False, "choices": ["no", "yes"], **bounds}


def survey(*asked):
    return {"name": "S", "description": "", "spec": list(asked)}


@given(st.data())
def test_what_is_not_refused_arrives_as_it_was_asked_for(data):
    names = data.draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
    asked = survey(HOSTS, *(data.draw(questions(name)) for name in names))
    answers = data.draw(st.dictionaries(st.sampled_from(["a", "b", "c"]), ANSWERS))
    switches = {name: data.draw(st.booleans()) for name in ("survey_enabled", "ask_variables_on_launch")}
    template = {**TEMPLATE, **switches, "survey_spec": asked}
    (job,) = launch_jobs([{"hosts": ["h1", "h2"]}], template, answers)
    got = job_variables(template, job["extra_data"], {})
    # 1 and True are equal, and not the same.
    as_asked = all(name in got and repr(got[name]) == repr(value) for name, value in job["extra_data"].items())
    assert (launch_problems([job], template, asked) == []) == as_asked


def one_job(**answers):
    return launch_jobs([{"hosts": ["h"]}], TEMPLATE, answers)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ask_limit_on_launch": False}, "The template T does not ask for a limit"),
        ({"job_type": "check"}, "The template T has the job type check and not run"),
        ({"survey_enabled": False}, "The template T does not ask for maintenance_hosts"),
    ],
)
def test_switches_of_the_template(changed, said):
    (problem,) = launch_problems(one_job(), {**TEMPLATE, **changed}, survey(HOSTS))
    assert problem.startswith(said)


def test_a_required_answer_that_is_missing():
    asked = survey(HOSTS, {"variable": "needed", "type": "text", "required": True})
    assert launch_problems(one_job(), TEMPLATE, asked) == ["The survey of T needs needed, and there is none"]


def test_one_problem_of_many_jobs_is_told_once():
    jobs = launch_jobs([{"hosts": ["h"]}, {"hosts": ["i"]}], TEMPLATE, {"a": 5})
    (problem,) = launch_problems(jobs, TEMPLATE, survey(HOSTS, {"variable": "a", "type": "text", "required": True}))
    assert problem == "a: 5 is no text; write it in quotes, so AWX would take the survey's default instead"


def test_what_was_made_is_compared():
    (wanted,) = one_job(a="x")
    node = {"identifier": "group-1", "job": 3}
    made = {"id": 3, "limit": "h", "job_type": "run", "extra_vars": json.dumps({**wanted["extra_data"], "more": 1})}
    assert launch_differences([wanted], [node], [made]) == []
    assert launch_differences([wanted], [], []) == ["group-1: AWX has made no job for it"]
    for change, said in (
        ({"limit": ""}, "has the limit ''"),
        ({"job_type": "check"}, "has the job type 'check'"),
        ({"job_slice_count": 2}, "is cut into 2 slices"),
        ({"extra_vars": "{}"}, "has None for a and not 'x'"),
        ({"extra_vars": "no JSON"}, "has None for a and not 'x'"),
    ):
        assert said in " ".join(launch_differences([wanted], [node], [{**made, **change}]))
