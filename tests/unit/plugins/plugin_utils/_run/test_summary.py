# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a run: what is left, what became of each event and host, and the words for it."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.summary import run_summary

RUN = {"run_id": "r", "started_at": "1", "ended_at": "2", "hosts": ["a", "b", "c"], "events": {}, "stopped": ""}


def outcome(state="restored", **changes):
    made = {"state": state, "wave": 1, "number_of_pass": 1, "leaders": {}, "outcomes": {}, "refused": [], "blocked": {}}
    return {**made, **changes}


def summary(outcomes=None, run=None, **plan):
    return run_summary({**RUN, **(run or {})}, outcomes or {}, {"waves": [], "unknown": [], **plan})


def test_a_run_without_anything_to_do():
    found = summary()
    assert (found["ok"], found["waves_run"], found["hosts"], found["events"]) == (True, 0, {}, {})
    assert found["left"] == {
        "drained": [],
        "failed": [],
        "refused": [],
        "not_run": [],
        "unknown": [],
        "not_believed": [],
    }
    assert found["lines"] == ["0 waves, 0 hosts, 0 events, 1 to 2.", "All is well."]


def test_waves_are_counted_by_pass_and_without_what_came_before_them():
    outcomes = {
        "a": outcome(),
        "b": outcome(),
        "c": outcome(wave=2),
        "d": outcome(number_of_pass=2),
        "e": outcome(wave=0, number_of_pass=2),
    }
    assert summary(outcomes)["waves_run"] == 3


@pytest.mark.parametrize(
    ("outcomes", "plan", "drained", "failed"),
    [
        ({"a": outcome("left_drained")}, {}, ["a"], []),
        ({"a": outcome("stays drained")}, {}, ["a"], []),
        ({"a": outcome("failed"), "b": outcome("lost")}, {}, [], ["a", "b"]),
        ({"a": outcome("vanished")}, {}, [], []),
        ({"a": outcome("vanished", error="x")}, {}, [], ["a"]),
        ({"a": outcome(error="x")}, {}, [], []),
        ({"a": outcome("passed")}, {}, [], []),
        ({}, {"left_drained": ["c"], "already_drained": ["b"]}, ["b", "c"], []),
        ({"a": outcome("restored")}, {"restore_first": ["a", "b"]}, ["b"], []),
        ({"a": outcome("passed"), "b": outcome("failed")}, {"restore_first": ["a", "b"]}, [], ["b"]),
        ({"a": outcome("lost")}, {"restore_first": ["a"]}, ["a"], ["a"]),
        ({}, {"journal_problems": [{"hosts": ["c", "a"], "why": "x"}]}, [], ["a", "c"]),
        # Known from two sides.
        ({"a": outcome("left_drained")}, {"left_drained": ["a"]}, ["a"], []),
        ({"a": outcome("left_drained")}, {"already_drained": ["a"]}, ["a"], []),
        ({"a": outcome("left_drained")}, {"restore_first": ["a"]}, ["a"], []),
        ({"a": outcome("failed")}, {"journal_problems": [{"hosts": ["a"], "why": "x"}]}, [], ["a"]),
    ],
)
def test_who_is_left_drained_and_where_something_went_wrong(outcomes, plan, drained, failed):
    found = summary(outcomes, **plan)
    assert (found["left"]["drained"], found["left"]["failed"]) == (drained, failed)
    assert found["ok"] is not bool(drained or failed)


@pytest.mark.parametrize(
    ("plan", "run", "ok"),
    [
        ({"unknown": ["a"]}, {}, True),
        ({"unknown": ["a", "b", "c"]}, {}, False),
        ({"unknown": []}, {"hosts": []}, True),
        ({}, {"stopped": "why"}, False),
        ({}, {"unasked": {"a": "lb can't be asked"}}, False),
        ({}, {"not_believed": ["odd"]}, False),
        ({"waves": [{"hosts": ["a"]}]}, {}, False),
    ],
)
def test_when_all_is_well(plan, run, ok):
    assert summary(None, run, **plan)["ok"] is ok


def test_only_what_is_still_to_do_is_told_as_not_begun():
    run = {"held": {"E": "it is late", "gone": "x"}}
    found = summary(None, run, waves=[{"hosts": ["a", "b"], "events": [{"id": "E"}, {"id": "F"}]}])
    assert found["lines"][1:] == [
        "Not run: the wave of a, b.",
        "Not begun: event E, as it is late.",
        "Something is left to do, see above.",
    ]


PLANNED = {"type": "Reboot", "source": "Platform", "not_before": "n", "hosts": ["a"], "action": "drain", "why": "w"}
UNTOUCHED = {**PLANNED, "approved_by": None, "approved_at": None, "started_at": None, "over_at": None}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"outcome": "left alone"}),
        ({"leaders": {"E": "b"}}, {"outcome": "left alone", "approved_by": "b"}),
        ({"outcomes": {"E": "gone"}}, {"outcome": "over"}),
        ({"outcomes": {"E": "Started"}}, {"outcome": "Started"}),
        ({"outcomes": {"E": "aaa"}}, {"outcome": "aaa"}),
        ({"outcomes": {"E": "zzz"}}, {"outcome": "zzz"}),
        ({"refused": [{"id": "E", "uncovered": ["x"]}], "outcomes": {"E": "gone"}}, {"outcome": "refused, over"}),
        ({"blocked": {"E": ["a", "b"]}}, {"outcome": "not approved, a, b not drained"}),
        ({"times": {"E": {"over_at": "5"}}}, {"outcome": "left alone", "over_at": "5"}),
    ],
)
def test_what_became_of_an_event(changes, expected):
    found = summary({"a": outcome(**changes)}, {"events": {"E": PLANNED}})
    assert found["events"] == {"E": {**UNTOUCHED, **expected}}


def test_an_event_that_was_in_no_plan():
    found = summary(
        {"a": outcome(refused=[{"id": "E", "uncovered": ["x"]}], leaders={"F": "a"}, times={"G": {"over_at": "5"}})}
    )
    assert found["events"] == {"E": {"outcome": "refused"}, "F": {"approved_by": "a"}, "G": {"over_at": "5"}}
    found = summary({"a": outcome(outcomes={"E": "gone"}), "b": outcome(blocked={"F": ["b"]})})
    assert found["events"] == {"E": {"outcome": "over"}, "F": {"outcome": "not approved, b not drained"}}


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_who_saw_it_first_tells_when(order):
    times = {"a": {"E": {"started_at": "3", "over_at": "9"}}, "b": {"E": {"started_at": "4", "over_at": "8"}}}
    found = summary({host: outcome(times=times[host]) for host in order})["events"]["E"]
    assert (found["started_at"], found["over_at"]) == ("3", "8")


def test_a_refusal_is_told_once_with_all_that_is_known():
    refused = [[{"id": "e", "uncovered": ["x"]}], [{"id": "E", "why": "a shows it"}], [{"id": "F", "uncovered": ["y"]}]]
    found = summary({host: outcome(refused=one) for host, one in zip("abc", refused, strict=True)})
    assert found["left"]["refused"] == [
        {"id": "e", "uncovered": ["x"], "why": "a shows it"},
        {"id": "F", "uncovered": ["y"]},
    ]
    assert "Not approved: event e, which also touches x: a shows it." in found["lines"]
    assert "Not approved: event F, which also touches y." in found["lines"]


def test_a_refusal_that_touches_nobody_else_tells_its_reason():
    """Such as a mark that could not be written."""
    refusal = {"id": "E", "uncovered": [], "reason": "Reboot E was not sent: no journal of b"}
    found = summary({"a": outcome(refused=[refusal])})
    assert found["left"]["refused"] == [{"id": "E", "uncovered": [], "why": "Reboot E was not sent: no journal of b"}]
    assert "Not approved: event E: Reboot E was not sent: no journal of b." in found["lines"]
    others = {"id": "E", "uncovered": ["x"], "reason": "Reboot E also touches x"}
    assert summary({"a": outcome(refused=[others])})["left"]["refused"] == [{"id": "E", "uncovered": ["x"]}]


def test_what_is_reported_of_a_host():
    told = outcome("stays drained", drained_at="1", rebooted=False, restored_at=None, error="", approved=["E"])
    assert summary({"a": told})["hosts"] == {
        "a": {"state": "left_drained", "pass": 1, "wave": 1, "drained_at": "1", "rebooted": False, "error": ""}
    }
    assert summary({"a": outcome("vanished")})["hosts"] == {"a": {"state": "vanished", "pass": 1, "wave": 1}}
    assert summary({"a": outcome("passed")})["hosts"] == {"a": {"state": "passed", "pass": 1, "wave": 1}}


def test_what_went_well_is_counted_and_what_somebody_has_to_look_at_is_named():
    many = [f"w{number:02d}" for number in range(12)]
    outcomes = {
        **{host: outcome() for host in many},
        **{f"x{host}": outcome("lost") for host in many},
        "y": outcome("passed", error="slow"),
    }
    lines = summary(outcomes, {"stopped": "By hand."}, unknown=["z"])["lines"]
    assert lines[1] == "Drained and returned to service: w00, w01, w02, w03, w04, w05, w06, w07 and 4 more."
    assert lines[2:] == [
        "Went through it without a drain: y.",
        f"Unreachable: {', '.join(f'x{host}' for host in many)}.",
        "y: slow",
        "The run was stopped. By hand.",
        "Something is left to do, see above.",
    ]
