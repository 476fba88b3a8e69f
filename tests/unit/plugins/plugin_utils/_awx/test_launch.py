# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of AWX: one for each group, how they are launched, and how the controller is asked."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.maintenance.azure.plugins.filter._internal import fan_out as as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._awx.fan_out import (
    fan_out,
    launch_differences,
    launch_jobs,
    launch_problems,
)
from helpers.awx_double.rules import job_variables
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.once

# Who must be in one job: properties, and the cases that they come from.

NOW = 1_800_000_000.0


def status(*events, read_at="2027-01-15T08:00:00Z", **this_host):
    shown = [{"id": name, "resources": list(resources), "status": "Scheduled"} for name, resources in events]
    return {"events": shown, "read_at": read_at, "this_host": this_host or None}


@st.composite
def fleets(draw):
    """Hosts in delivery groups; each host shows the events of its group, or was not read."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=8))
    known = draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    fleet, group_of = {}, {}
    for number, size in enumerate(sizes):
        names = [f"g{number}-{index}" for index in range(size)]
        events = [
            (f"E{number}-{index}", draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
            for index in range(draw(st.integers(0, 2)))
        ]
        for name in names:
            read = draw(st.booleans())
            fleet[name] = {"maintenance_status": status(*events) if read else None}
            if known[number]:
                fleet[name]["maintenance_delivery_group"] = f"set {number}"
            group_of[name] = number
    return fleet, group_of


@given(fleets(), st.integers(1, 5))
def test_no_two_jobs_share_a_group_and_nobody_is_in_two(made, jobs):
    fleet, group_of = made
    result = fan_out(fleet, fleet, jobs=jobs)
    launched = [host for job in result["jobs"] for host in job["hosts"]]
    assert sorted([*launched, *result["quiet"], *result["unknown"]]) == sorted(fleet)
    assert len(result["jobs"]) <= jobs
    job_of: dict[int, int] = {}
    for number, job in enumerate(result["jobs"]):
        for host in job["hosts"]:
            # Whoever shows or is named by an event of a group is in the job of all others of that group.
            assert job_of.setdefault(group_of[host], number) == number
    named = {
        host
        for variables in fleet.values()
        for event in (variables["maintenance_status"] or {"events": []})["events"]
        for host in event["resources"]
    }
    assert named <= set(launched)
    showing = {host for host, variables in fleet.items() if (variables["maintenance_status"] or {}).get("events")}
    assert showing <= set(launched)


@given(fleets())
def test_what_is_known_to_be_one_group_stays_whole(made):
    fleet, group_of = made
    launched = {host for job in fan_out(fleet, fleet, jobs=3)["jobs"] for host in job["hosts"]}
    for host in launched:
        if "maintenance_delivery_group" in fleet[host]:
            assert {other for other in fleet if group_of[other] == group_of[host]} <= launched


@given(fleets(), st.randoms())
def test_the_order_of_the_hosts_does_not_matter(made, chance):
    fleet, _group_of = made
    shuffled = list(fleet)
    chance.shuffle(shuffled)
    assert fan_out(shuffled, fleet) == fan_out(fleet, fleet)


def test_placement_groups_of_scale_sets():
    place = {"subscription_id": "s", "resource_group": "RG", "scale_set": "vmss", "placement_group": "p1"}
    fleet = {
        "a": {"maintenance_status": status(("E", ["a"]), **place)},
        "b": {"maintenance_status": status(**{**place, "resource_group": "rg"})},
        "c": {"maintenance_status": status(**{**place, "placement_group": "p2"})},
    }
    result = fan_out(fleet, fleet)
    assert result["jobs"] == [{"hosts": ["a", "b"], "groups": 1}]
    assert (result["quiet"], result["unknown"]) == (["c"], [])


def test_a_reading_that_is_too_old_is_none():
    fleet = {"a": {"maintenance_status": status(("E", ["a"]))}, "b": {}}
    assert fan_out(fleet, fleet, max_age=60, now=NOW)["jobs"] == [{"hosts": ["a"], "groups": 1}]
    late = fan_out(fleet, fleet, max_age=60, now=NOW + 61)
    assert (late["jobs"], late["unknown"]) == ([], ["a", "b"])
    assert "Run collect first" in late["lines"][-1]


def test_more_groups_than_jobs_are_packed_evenly():
    fleet = {f"h{number}": {"maintenance_status": status((f"E{number}", [f"h{number}"]))} for number in range(100)}
    jobs = fan_out(fleet, fleet, jobs=8)["jobs"]
    assert {len(job["hosts"]) for job in jobs} == {12, 13}


@given(fleets())
def test_one_good_reading_of_a_known_group_is_enough(made):
    """The filter does not look at the others, and comes to the same end: Azure shows an event to the whole group."""
    fleet, _group_of = made
    assert as_filter(list(fleet), fleet) == fan_out(fleet, fleet)


def test_the_filter_does_not_look_at_more_readings_than_it_needs():
    looked_at = []

    class Variables(dict):
        def __getitem__(self, key):
            if key == "maintenance_status":
                looked_at.append(self["name"])
            return super().__getitem__(key)

    fleet = {
        f"h{number}": Variables(
            name=f"h{number}", maintenance_status=status(("E", ["h0"])), maintenance_delivery_group="set"
        )
        for number in range(50)
    }
    assert len(as_filter(list(fleet), fleet)["jobs"][0]["hosts"]) == 50
    assert looked_at == ["h0"]


@pytest.mark.parametrize("jobs", [0, -1, "many"])
def test_a_number_of_jobs_that_makes_no_sense(jobs):
    with pytest.raises(AnsibleFilterError, match=r"^maintenance.azure._fan_out: "):
        as_filter(["a"], {"a": {}}, jobs=jobs)


def test_a_group_with_a_host_that_was_left_drained_gets_a_job():
    fleet = {
        name: {"maintenance_status": status(), "maintenance_delivery_group": name[0]} for name in ("a1", "a2", "b1")
    }
    assert fan_out(fleet, fleet)["jobs"] == []
    assert as_filter(list(fleet), fleet, drained=["a2"])["jobs"] == [{"hosts": ["a1", "a2"], "groups": 1}]


# What is refused before a bulk launch is what AWX would leave out or replace: no more, and no less.


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
    assert launch_differences([wanted], [], []) == [{"job": None, "text": "group-1: AWX has made no job for it"}]
    for change, said in (
        ({"limit": ""}, "has the limit ''"),
        ({"job_type": "check"}, "has the job type 'check'"),
        ({"job_slice_count": 2}, "is cut into 2 slices"),
        ({"extra_vars": "{}"}, "has None for a and not 'x'"),
        ({"extra_vars": "no JSON"}, "has None for a and not 'x'"),
    ):
        (found,) = launch_differences([{**wanted, "extra_data": {"a": "x"}}], [node], [{**made, **change}])
        assert found["job"] == 3
        assert said in found["text"]
