# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""maintenance_run as later jobs get it: of one form, and small, however large the run was."""

from __future__ import annotations

import json

import jsonschema
import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.artifact import run_artifact
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.summary import run_summary
from helpers import ROOT

SCHEMA = json.loads((ROOT / "docs" / "maintenance_run.schema.json").read_text())
AT = "2026-11-16T05:40:53Z"


def run_over(count, failed=(), error="x" * 3000):
    """A run over so many hosts, five of them to an event."""
    hosts = [f"vm-web-{number:05d}" for number in range(count)]
    ids = [f"{number // 5:08d}-AFDC-4513-B24B-AA5F13A16123" for number in range(count)]
    known = {
        event_id: {
            "type": "Reboot",
            "source": "Platform",
            "not_before": AT,
            "hosts": hosts[first : first + 5],
            "action": "drain",
            "why": "rule 2 (all else is drained first), as no rule before it matches",
        }
        for first, event_id in zip(range(0, count, 5), ids[::5], strict=True)
    }
    outcomes = {
        host: {
            "wave": 1 + number // 100,
            "number_of_pass": 1,
            "state": "failed" if number in failed else "restored",
            "drained_at": AT,
            "restored_at": AT,
            "rebooted": True,
            "approved": [],
            "leaders": {ids[number]: hosts[number - number % 5]},
            "refused": [],
            "outcomes": {ids[number]: "gone"},
            "times": {ids[number]: {"approved_at": AT, "started_at": AT, "over_at": AT}},
            "blocked": {},
            **({"error": error} if number in failed else {}),
        }
        for number, host in enumerate(hosts)
    }
    run = {"run_id": "f" * 36, "started_at": AT, "ended_at": AT, "hosts": hosts, "events": known, "stopped": ""}
    return run_summary(run, outcomes, {"waves": [], "unknown": []})["artifact"]


@pytest.mark.parametrize(("count", "most_bytes"), [(3, 2_000), (100, 30_000), (2_000, 600_000), (20_000, 900_000)])
def test_its_form_and_its_size(count, most_bytes):
    made = run_over(count)
    jsonschema.validate(made, SCHEMA)
    assert len(json.dumps(made)) < most_bytes
    assert made["counts"] == {"restored": count}
    assert made["left_out"]["hosts"] == max(0, count - 2_000)


def test_what_went_wrong_is_never_what_is_left_out():
    made = run_over(2_500, failed={2_499})
    jsonschema.validate(made, SCHEMA)
    assert made["hosts"]["vm-web-02499"]["state"] == "failed"
    assert made["left"]["failed"] == ["vm-web-02499"]
    assert made["counts"] == {"restored": 2_499, "failed": 1}
    assert (len(made["hosts"]), made["left_out"]["hosts"]) == (2_000, 500)


def test_the_schema_can_fail():
    made = run_over(3)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**made, "more": 1}, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**made, "hosts": {"a": {"state": "odd", "pass": 1, "wave": 1}}}, SCHEMA)


def an_artifact(hosts=0, events=0, unsettled=(), left=0, outcome="over"):
    """Of a summary with so many of each; `outcome` is that of the unsettled events."""
    return run_artifact(
        {
            "hosts": {f"h{number}": {"state": "restored"} for number in range(hosts)},
            "events": {
                f"E{number}": {"outcome": outcome if number in unsettled else "over"} for number in range(events)
            },
            "left": {"drained": [f"d{number}" for number in range(left)], "failed": ["f"]},
            "lines": ["words"],
            "ok": True,
        }
    )


@pytest.mark.parametrize(
    ("hosts", "events", "left"), [(0, 0, 0), (3, 2, 5), (2000, 1000, 2000), (2001, 1001, 2001), (2500, 2500, 2500)]
)
def test_how_much_is_left_out(hosts, events, left):
    made = an_artifact(hosts, events, left=left)
    assert (len(made["hosts"]), len(made["events"]), len(made["left"]["drained"])) == (
        min(hosts, 2000),
        min(events, 1000),
        min(left, 2000),
    )
    assert made["left_out"] == {
        "hosts": max(0, hosts - 2000),
        "events": max(0, events - 1000),
        "drained": max(0, left - 2000),
        "failed": 0,
    }
    assert made["left"]["failed"] == ["f"]
    assert (made["ok"], "lines" in made) == (True, False)


@pytest.mark.parametrize("outcome", ["left alone", "refused, over", None])
def test_events_that_are_over_are_left_out_first(outcome):
    made = an_artifact(events=1001, unsettled={1000, 7}, outcome=outcome)
    assert list(made["events"])[:3] == ["E7", "E1000", "E0"]
    assert "E999" not in made["events"]


@pytest.mark.parametrize(("length", "kept"), [(499, 499), (500, 500), (501, 500)])
def test_an_error_is_cut_after_five_hundred_letters(length, kept):
    hosts = {"a": {"state": "failed", "error": "x" * length}, "b": {"state": "restored"}}
    made = run_artifact({"hosts": hosts, "events": {}, "left": {}})
    assert made["hosts"] == {"a": {"state": "failed", "error": "x" * kept}, "b": {"state": "restored"}}


@pytest.mark.parametrize(("state", "is_first"), [("passed", False), ("vanished", False), ("lost", True)])
def test_who_went_well_comes_last(state, is_first):
    hosts = {"a": {"state": "restored"}, "b": {"state": state}}
    made = run_artifact({"hosts": hosts, "events": {}, "left": {}})
    assert list(made["hosts"]) == (["b", "a"] if is_first else ["a", "b"])
