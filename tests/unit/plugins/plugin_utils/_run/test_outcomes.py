# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a host in a wave, from what its roles have registered."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import outcomes as _outcomes
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.orders import empty_order, left_as_it_is

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
    return _outcomes.wave_outcomes({"a": given}, {"a": registered(**changes)}, 3, 2)["a"]


def told(given, **changes):
    found = outcome(given, **changes)
    return found["state"], found.get("error", "")


def test_who_has_its_turn_later_keeps_what_became_of_it():
    earlier = {"a": {"state": "stays drained"}}
    assert _outcomes.wave_outcomes({"a": left_as_it_is()}, {"a": registered()}, 1, 1, earlier) == earlier
    assert _outcomes.wave_outcomes({"a": left_as_it_is()}, {}, 1, 1) == {}
    orders = {"a": left_as_it_is(), "b": order(acts=False)}
    assert list(_outcomes.wave_outcomes(orders, {"b": registered()}, 1, 1)) == ["b"]


def test_one_that_has_told_nothing_at_all():
    found = _outcomes.wave_outcomes({"a": order("lost")}, {"a": None}, 1, 1)["a"]
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
        (
            order("not_needed"),
            {"restore_result": {"failed": True, "msg": "no"}},
            "left_drained",
            "no",
        ),
        (order(vanishes=True, restore=False), {}, "vanished", ""),
        (order("lost", vanishes=True), {"maintenance_status": {"msg": "Timed out."}}, "lost", "Timed out."),
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
    found = _outcomes.wave_outcomes({"a": order()}, known, 4, 2, {"a": first})["a"]
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
    found = _outcomes.wave_outcomes({"a": order(refused=[{"id": "S"}])}, known, 4, 2, {"a": first})["a"]
    assert found["approved"] == ["E", "F"]
    assert found["leaders"] == {"E": "a", "F": "b"}
    assert found["refused"] == [{"id": "Q"}, {"id": "R"}, {"id": "S"}]
    assert found["times"] == {"E": {"approved_at": "1"}, "F": {}}
    assert found["outcomes"] == {"E": "gone", "F": "gone"}
    assert (found["blocked"], found["wave"]) == ({"B": ["b"]}, 4)
