# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a run: what it warns of, what it keeps of earlier ones, what later jobs are told about it."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import approval_decision as _approval_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import batch_check as _batch_check
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import drain_decision as _drain_decision
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from helpers.run_stages import HOSTS, INVENTORY, NOW, a_run, answers, drained, reading, reboot, wishes


def planned(known, state=None, **more):
    before = state or _run_plan.begin("r", NOW, list(known), dict.fromkeys(known, ""), None)
    return _run_plan.plan(before, known, wishes(**more), INVENTORY, NOW)


def of_unknown_domain(host, events):
    known = reading(host, events)
    del known["maintenance_status"]["this_host"]["update_domain"]
    del known["maintenance_delivery_group"]
    return known


@pytest.mark.parametrize(("busy", "named"), [(0, ""), (1, ""), (2, "web-0, web-1"), (3, "web-0, web-1, web-2")])
def test_hosts_that_go_alone_as_nobody_knows_their_domain_are_named_where_there_are_several(busy, named):
    known = {host: of_unknown_domain(host, [reboot(number)][: number < busy]) for number, host in enumerate(HOSTS)}
    lines = " ".join(" ".join(planned(known)["plan"]["lines"]).split())
    assert ("Nothing shows which other VMs share the domain of " in lines) is bool(named)
    assert f"share the domain of {named}" in lines or not named


def test_a_host_that_does_not_show_its_event_is_believed_only_after_it_was_read_again():
    event = {**reboot(0), "resources": ["web-0", "web-1"]}
    known = {"web-0": reading("web-0", [event]), "web-1": reading("web-1", [])}
    state = _run_plan.begin("r", NOW, list(known), dict.fromkeys(known, "set"), None)
    state = planned(known, state)
    assert state["plan"]["waves"][0]["hosts"] == ["web-0", "web-1"]
    assert state["plan"]["waves"][0]["events"][0]["approvable"]
    early = _drain_decision.decide(state, known, wishes(), INVENTORY, answers(keepers=2), NOW)["round"]
    assert early["held"] == {"E0": "Nobody speaks in this run for web-1, which event E0 names"}
    # It is due in half an hour, and a drain may take ten minutes.
    found = _drain_decision.decide(state, known, wishes(), INVENTORY, answers(keepers=2), NOW + 1300)["round"]
    (entry,) = found["events"]
    assert (entry["hosts"], entry["not_believed_of"], entry["approvable"]) == (["web-0"], ["web-1"], False)
    drained_now = {**known, "web-0": {**reading("web-0", [event], drained("E0")), "drain_result": {"state": "drained"}}}
    orders, _held, _calls = _approval_decision.order(state, found, drained_now, wishes(), INVENTORY, NOW)
    assert orders["web-0"]["refused"][0]["uncovered"] == ["web-1"]
    assert orders["web-0"]["approve_drained"] == []


def test_what_an_earlier_pass_has_seen_is_kept():
    first = a_run(events=[reboot(0), reboot(1)])
    entry = first["events"]["E0"]
    assert entry["status"] == "Scheduled"
    known = {host: reading(host, [reboot(0, "Started"), reboot(2)]) for host in HOSTS}
    second = planned({"web-0": known["web-0"], "web-2": known["web-2"]}, first)
    assert second["number_of_pass"] == 2
    assert (second["events"]["E0"], sorted(second["events"])) == (entry, ["E0", "E1", "E2"])
    assert second["kept"]["web-1"] == first["kept"]["web-1"]
    assert second["kept"]["web-2"]["shows"] == ["E0", "E2"]


@pytest.mark.parametrize(
    ("state", "journal", "events", "after"),
    [
        ("stays drained", None, [], "restored"),
        ("stays drained", drained("E0"), [], "stays drained"),
        ("stays drained", drained("E0", state="marked", steps=[]), [], "restored"),
        ("stays drained", None, "no list", "stays drained"),
        ("failed", None, [], "failed"),
        ("vanished", None, [], "vanished"),
    ],
)
def test_what_another_run_has_taken_over_and_returned_is_not_left_drained(state, journal, events, after):
    known = {host: reading(host, []) for host in HOSTS}
    known["web-0"] = reading("web-0", [], journal)
    known["web-0"]["maintenance_status"]["events"] = events
    outcomes = {host: {"state": "stays drained", "wave": 1, "number_of_pass": 1} for host in ("web-1", "gone")}
    outcomes["web-0"] = {"state": state, "wave": 1, "number_of_pass": 1}
    found = planned(known, {**a_run(), "outcomes": outcomes})["outcomes"]
    assert {host: outcome["state"] for host, outcome in found.items()} == {
        "web-0": after,
        "web-1": "restored",
        "gone": "stays drained",
    }
    assert found["web-0"]["wave"] == 1


def test_a_new_run_has_no_limit_of_hosts_in_one_go():
    event = {**reboot(0), "resources": ["web-0"]}
    both = [event, {**reboot(1), "resources": ["web-1"]}]
    known = {host: reading(host, both) for host in HOSTS}
    for host in HOSTS:
        known[host]["maintenance_status"]["this_host"]["update_domain"] = "0"
    state = planned(known)
    (wave,) = state["plan"]["waves"]
    assert _batch_check.check(state, wave["hosts"], wishes(), {}, NOW)["hosts"] == ["web-0", "web-1"]


def wave(*hosts, deadline=None):
    return {"hosts": list(hosts), "deadline": deadline, "events": [{"id": f"E {hosts[0]}"}, {"id": "E"}]}


@pytest.mark.parametrize(
    ("waves", "left", "numbers"),
    [
        ([], [], (False, 0, 0, 0, 0, None)),
        ([], ["d"], (True, 0, 0, 0, 1, None)),
        ([wave("a", "b")], [], (True, 1, 2, 2, 0, None)),
        ([wave("a"), wave("b", deadline="2"), wave("c", deadline="1")], ["d", "e"], (True, 3, 3, 4, 2, "2")),
    ],
)
def test_a_plan_in_numbers(waves, left, numbers):
    told = _run_plan.in_numbers({"waves": waves, "restore_first": left, "unknown": ["x"]})
    names = ("to_do", "waves", "hosts", "events", "restore_first", "deadline")
    assert tuple(told[name] for name in names) == numbers
    assert (told["drained"], told["unknown"]) == (left, 1)


def test_of_the_hosts_that_are_out_later_jobs_hear_of_two_thousand():
    left = [f"web-{number}" for number in range(2001)]
    told = _run_plan.in_numbers({"waves": [], "restore_first": left, "unknown": []})
    assert (told["restore_first"], told["drained"]) == (2001, left[:2000])


def test_only_what_azure_has_taken_away_has_vanished():
    states = ("restored", "passed", "vanished", "failed", "left_drained", "lost", "stays drained")
    outcomes = {state: {"state": state, "wave": 1, "number_of_pass": 1} for state in states}
    assert _run_plan.vanished(a_run(outcomes=outcomes)) == ["vanished"]
