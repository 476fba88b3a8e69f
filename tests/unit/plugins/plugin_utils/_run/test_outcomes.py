# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of hosts and events, in the words of the summary, and as later jobs get it."""

from __future__ import annotations

import json

import jsonschema
import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import orders as _orders
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.orders import empty_order, left_as_it_is
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.summary import run_artifact, run_summary
from helpers import ROOT

# What became of a host in a wave, from what its roles have registered.

READ = {"events": [], "journal": {"drained_at": "0", "boot_id": "a"}}


def order(drain="drained", **changes):
    return {**empty_order(drain), "drains": True, "acts": True, "restore": True, **changes}


def registered(**changes):
    return {
        "maintenance_status": READ,
        "drain_result": {"state": "drained", "drained_at": "1", "boot_id": "b"},
        "approve_result": {"over": True},
        "restore_result": {"state": "restored", "restored_at": "2", "boot_id": "c"},
        **changes,
    }


def outcome(given, **changes):
    return _orders.wave_outcomes({"a": given}, {"a": registered(**changes)}, 3, 2)["a"]


def told(given, **changes):
    found = outcome(given, **changes)
    return found["state"], found.get("error", "")


def test_who_has_its_turn_later_keeps_what_became_of_it():
    earlier = {"a": {"state": "stays drained"}}
    assert _orders.wave_outcomes({"a": left_as_it_is()}, {"a": registered()}, 1, 1, earlier) == earlier
    assert _orders.wave_outcomes({"a": left_as_it_is()}, {}, 1, 1) == {}
    orders = {"a": left_as_it_is(), "b": order(acts=False)}
    assert list(_orders.wave_outcomes(orders, {"b": registered()}, 1, 1)) == ["b"]


def test_one_that_has_told_nothing_at_all():
    found = _orders.wave_outcomes({"a": order("lost")}, {"a": None}, 1, 1)["a"]
    assert (found["state"], found["error"]) == ("lost", "No answer No approval")


@pytest.mark.parametrize(
    ("given", "results", "state", "error"),
    [
        (order(), {}, "restored", ""),
        (order("failed"), {"drain_result": {}}, "failed", "The drain failed"),
        (order("late"), {"drain_result": {"msg": "Too late."}}, "failed", "Too late."),
        (order(), {"restore_result": {}}, "left_drained", "The return to service failed"),
        (order(), {"restore_result": {"state": "failed", "msg": "no"}}, "left_drained", "no"),
        (order(), {"approve_result": {"over": True, "error": "x"}}, "failed", "x"),
        (order(), {"approve_result": {"over": False, "error": "x"}}, "left_drained", "x"),
        (order(), {"approve_result": None}, "left_drained", "No approval"),
        (order(blocked={"E": ["b"]}), {}, "failed", ""),
        (order(restore=False), {}, "left_drained", ""),
        (order(stays=True, restore=False), {}, "stays drained", ""),
        (order(stays=True, restore=False), {"approve_result": {"over": True, "error": "x"}}, "left_drained", "x"),
        (order(stays=True, restore=False), {"approve_result": {"over": False, "error": ""}}, "left_drained", ""),
        # It has another turn.
        (order(stays=True, restore=False), {"approve_result": {"unsent": ["E"], "error": "x"}}, "stays drained", ""),
        (order(restore=False), {"approve_result": {"over": False, "unsent": ["E"], "error": "x"}}, "left_drained", "x"),
        (order("not_needed"), {}, "passed", ""),
        (order("not_needed"), {"approve_result": {"over": True, "error": "x"}}, "failed", "x"),
        (order("not_needed"), {"restore_result": {"failed": True, "msg": "no"}}, "left_drained", "no"),
        (order(taken_away=True, restore=False), {}, "vanished", ""),
        (order("lost", taken_away=True), {"maintenance_status": {"msg": "Timed out."}}, "lost", "Timed out."),
    ],
)
def test_the_state_of_a_host_and_what_went_wrong(given, results, state, error):
    # Where no drain was needed, none was done.
    given = {**given, "drains": given["drain"] not in ("not_needed", "lost")}
    assert told(given, **results) == (state, error)


def test_a_journal_that_is_gone_is_told_where_this_run_has_written_it():
    nothing = {"restore_result": {"state": "nothing"}}
    state, error = told(order(), **nothing)
    assert (state, error.partition(",")[0]) == ("restored", "Its journal is gone")
    assert told(order(drains=False), **nothing) == ("restored", "")


def test_who_was_told_to_send_nothing_has_sent_nothing():
    assert outcome(order(acts=False), approve_result={"over": True, "approved": ["E"]})["approved"] == []


@pytest.mark.parametrize(
    ("before", "after", "rebooted"),
    [("b", "c", True), ("c", "b", True), ("b", "b", False), (None, "b", None), ("b", None, None), ("", "b", None)],
)
def test_another_boot_is_a_reboot(before, after, rebooted):
    results = {
        "drain_result": {"state": "drained", "boot_id": before},
        "restore_result": {"state": "restored", "boot_id": after},
    }
    assert outcome(order(), **results)["rebooted"] is rebooted


def test_when_it_was_drained_and_returned():
    found = outcome(order())
    assert (found["drained_at"], found["restored_at"], found["wave"], found["number_of_pass"]) == ("1", "2", 3, 2)
    # By an earlier run, as its journal says.
    found = outcome(order(drains=False))
    assert (found["drained_at"], found["rebooted"]) == ("0", True)
    without_journal = outcome(order(drains=False), maintenance_status={"events": []})
    assert without_journal["drained_at"] is None
    assert outcome(order("not_needed", drains=False))["restored_at"] is None


def test_what_was_not_sent_in_an_earlier_turn_is_not_refused_when_it_is_sent_in_a_later_one():
    refused = [{"id": "E", "uncovered": [], "reason": "Reboot E was not sent: no journal of b"}, {"id": "R"}]
    unsent = {"unsent": ["E"], "error": "x", "refused": refused}
    first = outcome(order(stays=True, restore=False), approve_result=unsent)
    assert (first["state"], first["refused"]) == ("stays drained", [{"id": "R"}])
    sent = {"over": True, "approved": ["E"], "leaders": {"E": "a"}, "outcomes": {"E": "gone"}}
    known = {"a": registered(approve_result=sent)}
    found = _orders.wave_outcomes({"a": order()}, known, 4, 2, {"a": first})["a"]
    assert (found["state"], found["refused"]) == ("restored", [{"id": "R"}])
    # Who has no other turn tells it.
    left = outcome(order(restore=False), approve_result={"over": False, "unsent": ["E"], "refused": refused[:1]})
    assert left["refused"] == refused[:1]


def test_what_an_earlier_round_has_done_is_kept():
    approve = {
        "over": True,
        "approved": ["E"],
        "leaders": {"E": "a"},
        "refused": [{"id": "R"}],
        "times": {"E": {"approved_at": "1"}},
        "outcomes": {"E": "gone"},
    }
    first = outcome(order(refused=[{"id": "Q"}], blocked={"B": ["b"]}), approve_result=approve)
    assert first["refused"] == [{"id": "Q"}, {"id": "R"}]
    second = {key: value for key, value in approve.items() if key == "over"}
    second.update(approved=["F"], leaders={"F": "b"}, times={"F": {}}, outcomes={"F": "gone"})
    known = {"a": registered(approve_result=second)}
    found = _orders.wave_outcomes({"a": order(refused=[{"id": "S"}])}, known, 4, 2, {"a": first})["a"]
    assert found["approved"] == ["E", "F"]
    assert found["leaders"] == {"E": "a", "F": "b"}
    assert found["refused"] == [{"id": "Q"}, {"id": "R"}, {"id": "S"}]
    assert found["times"] == {"E": {"approved_at": "1"}, "F": {}}
    assert found["outcomes"] == {"E": "gone", "F": "gone"}
    assert (found["blocked"], found["wave"]) == ({"B": ["b"]}, 4)


# The end of a run: what is left, what became of each event and host, and the words for it.

RUN = {"run_id": "r", "started_at": "1", "ended_at": "2", "hosts": ["a", "b", "c"], "events": {}, "stopped": ""}


def of_host(state="restored", **changes):
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
        "a": of_host(),
        "b": of_host(),
        "c": of_host(wave=2),
        "d": of_host(number_of_pass=2),
        "e": of_host(wave=0, number_of_pass=2),
    }
    assert summary(outcomes)["waves_run"] == 3


@pytest.mark.parametrize(
    ("outcomes", "plan", "drained", "failed"),
    [
        ({"a": of_host("left_drained")}, {}, ["a"], []),
        ({"a": of_host("stays drained")}, {}, ["a"], []),
        ({"a": of_host("failed"), "b": of_host("lost")}, {}, [], ["a", "b"]),
        ({"a": of_host("vanished")}, {}, [], []),
        ({"a": of_host("vanished", error="x")}, {}, [], ["a"]),
        ({"a": of_host(error="x")}, {}, [], []),
        ({"a": of_host("passed")}, {}, [], []),
        ({}, {"left_drained": ["c"], "already_drained": ["b"]}, ["b", "c"], []),
        ({"a": of_host("restored")}, {"restore_first": ["a", "b"]}, ["b"], []),
        ({"a": of_host("passed"), "b": of_host("failed")}, {"restore_first": ["a", "b"]}, [], ["b"]),
        ({"a": of_host("lost")}, {"restore_first": ["a"]}, ["a"], ["a"]),
        ({}, {"journal_problems": [{"hosts": ["c", "a"], "why": "x"}]}, [], ["a", "c"]),
        # Known from two sides.
        ({"a": of_host("left_drained")}, {"left_drained": ["a"]}, ["a"], []),
        ({"a": of_host("left_drained")}, {"already_drained": ["a"]}, ["a"], []),
        ({"a": of_host("left_drained")}, {"restore_first": ["a"]}, ["a"], []),
        ({"a": of_host("failed")}, {"journal_problems": [{"hosts": ["a"], "why": "x"}]}, [], ["a"]),
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
    found = summary(None, run, **plan)
    assert (found["ok"], found["lines"][-1].startswith("All is well")) == (ok, ok)


@pytest.mark.parametrize(
    ("unread", "types", "drained"),
    [(["a"], ["Reboot"], ["a"]), (["b"], ["Reboot"], []), (["a"], ["Reboot", "Terminate"], [])],
)
def test_a_host_that_is_unread_and_recorded_elsewhere_is_left_drained(unread, types, drained):
    record = {"machine": "lb-0", "host": "a", "events": ["E"], "types": types, "run": "q", "removal": "rm /records/a"}
    found = summary(None, {"records": [record]}, unknown=unread)
    assert (found["left"]["drained"], found["ok"]) == (drained, not drained)
    said = [
        line for line in found["lines"] if line.startswith("lb-0 has a record that something is drained there for a")
    ]
    assert [line.endswith("remove the record there: rm /records/a") for line in said] == [True] * len(drained)


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
    found = summary({"a": of_host(**changes)}, {"events": {"E": PLANNED}})
    assert found["events"] == {"E": {**UNTOUCHED, **expected}}


def test_an_event_that_was_in_no_plan():
    found = summary(
        {"a": of_host(refused=[{"id": "E", "uncovered": ["x"]}], leaders={"F": "a"}, times={"G": {"over_at": "5"}})}
    )
    assert found["events"] == {"E": {"outcome": "refused"}, "F": {"approved_by": "a"}, "G": {"over_at": "5"}}
    found = summary({"a": of_host(outcomes={"E": "gone"}), "b": of_host(blocked={"F": ["b"]})})
    assert found["events"] == {"E": {"outcome": "over"}, "F": {"outcome": "not approved, b not drained"}}


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_who_saw_it_first_tells_when(order):
    times = {"a": {"E": {"started_at": "3", "over_at": "9"}}, "b": {"E": {"started_at": "4", "over_at": "8"}}}
    found = summary({host: of_host(times=times[host]) for host in order})["events"]["E"]
    assert (found["started_at"], found["over_at"]) == ("3", "8")


def test_a_refusal_is_told_once_with_all_that_is_known():
    refused = [[{"id": "e", "uncovered": ["x"]}], [{"id": "E", "why": "a shows it"}], [{"id": "F", "uncovered": ["y"]}]]
    found = summary({host: of_host(refused=one) for host, one in zip("abc", refused, strict=True)})
    assert found["left"]["refused"] == [
        {"id": "e", "uncovered": ["x"], "why": "a shows it"},
        {"id": "F", "uncovered": ["y"]},
    ]
    assert "Not approved: event e, which also touches x: a shows it." in found["lines"]
    assert "Not approved: event F, which also touches y." in found["lines"]


def test_a_refusal_that_touches_nobody_else_tells_its_reason():
    """Such as a mark that could not be written."""
    refusal = {"id": "E", "uncovered": [], "reason": "Reboot E was not sent: no journal of b"}
    found = summary({"a": of_host(refused=[refusal])})
    assert found["left"]["refused"] == [{"id": "E", "uncovered": [], "why": "Reboot E was not sent: no journal of b"}]
    assert "Not approved: event E: Reboot E was not sent: no journal of b." in found["lines"]
    others = {"id": "E", "uncovered": ["x"], "reason": "Reboot E also touches x"}
    assert summary({"a": of_host(refused=[others])})["left"]["refused"] == [{"id": "E", "uncovered": ["x"]}]


def test_what_is_reported_of_a_host():
    told = of_host("stays drained", drained_at="1", rebooted=False, restored_at=None, error="", approved=["E"])
    assert summary({"a": told})["hosts"] == {
        "a": {"state": "left_drained", "pass": 1, "wave": 1, "drained_at": "1", "rebooted": False, "error": ""}
    }
    assert summary({"a": of_host("vanished")})["hosts"] == {"a": {"state": "vanished", "pass": 1, "wave": 1}}
    assert summary({"a": of_host("passed")})["hosts"] == {"a": {"state": "passed", "pass": 1, "wave": 1}}


def test_what_went_well_is_counted_and_what_somebody_has_to_look_at_is_named():
    many = [f"w{number:02d}" for number in range(12)]
    outcomes = {
        **{host: of_host() for host in many},
        **{f"x{host}": of_host("lost") for host in many},
        "y": of_host("passed", error="slow"),
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


# maintenance_run as later jobs get it: of one form, and small, however large the run was.

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
