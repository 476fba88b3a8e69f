# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which leases a batch needs, whom to ask for them, and what the lock hosts are told."""

from __future__ import annotations

import ast

import jinja2
import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import leases as _leases
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import grouping_of
from helpers import ROOT
from helpers.run_stages import HOSTS, INVENTORY, NOW, a_run, answers, note, reading, reboot, wishes

ROLL = ROOT / "playbooks" / "roll"
TOLD = answers()["set"]["web-0"]
REFUSED = answers(held=False)["set"]["web-0"]


def in_groups(**groups):
    """A run over hosts of these groups; "" is none."""
    named = {host.replace("_", "-"): group for host, group in groups.items()}
    run = _run_plan.begin("r", NOW, list(named), named, None)
    known = {host: {**reading(host, []), "maintenance_delivery_group": group} for host, group in named.items()}
    run = _run_plan.plan(run, known, wishes(), INVENTORY, NOW)
    return run, grouping_of(run["kept"])


def test_a_batch_asks_the_lock_hosts_of_its_own_groups():
    run, grouping = in_groups(web_0="b", web_1="a", web_2="", web_3="a")
    assert [(call["group"], call["keeper"]) for call in _leases.calls_for(run, ["web-0", "web-3"], grouping)] == [
        ("a", "web-1"),
        ("a", "web-3"),
        ("b", "web-0"),
    ]
    assert [call["group"] for call in _leases.calls_for(run, ["web-2"], grouping)] == [""]
    assert _leases.calls_for(run, ["unknown"], grouping) == []
    assert _leases.calls_for({**run, "keepers": {}}, ["web-0"], grouping) == []


def test_a_lock_host_is_told_about_hosts_of_its_own_lease_alone():
    run, grouping = in_groups(web_0="b", web_1="a")
    calls = _leases.calls_for(
        run, ["web-0", "web-1"], grouping, [note("web-0"), note("web-1"), note("x")], ["web-1", "web-0", "x"]
    )
    assert [(call["group"], [one["host"] for one in call["notes"]], call["forget"]) for call in calls] == [
        ("a", ["web-1"], ["web-1"]),
        ("b", ["web-0"], ["web-0"]),
    ]


def test_without_a_lease_of_its_group_nothing_is_begun_and_it_is_said_why():
    run, grouping = in_groups(web_0="b", web_1="a")
    verdicts = _leases.verdicts_of(run, {"a": {"web-1": TOLD}, "b": {"web-0": REFUSED}, "odd": {"x": TOLD}}, "take")
    assert sorted(verdicts.by_lease) == ["a", "b"]
    assert list(verdicts.lost) == ["b"]
    assert verdicts.unleased(grouping) == {"b": verdicts.lost["b"]}
    assert verdicts.why_lost("web-0", run, grouping) == verdicts.lost["b"]
    assert verdicts.why_lost("web-1", run, grouping) == ""
    assert verdicts.why_lost("unknown", run, grouping) == ""


def test_a_lease_that_nobody_has_answered_for_is_not_held():
    run, grouping = in_groups(web_0="b", web_1="a")
    verdicts = _leases.verdicts_of(run, {"a": {"web-1": TOLD}}, "take", ["a", "b", "odd"])
    assert list(verdicts.unleased(grouping)) == ["b"]
    assert "The lease of b can't be had" in verdicts.lost["b"]


@pytest.mark.parametrize("hosts", [1, 2, 3, 4, 6, 7, 12, 13, 200])
@pytest.mark.parametrize("number", [0, 1, 3, 6, 7, 150])
def test_every_lock_host_is_asked_once_and_nobody_has_an_empty_list(hosts, number):
    """Where `run_once` is a template, the result of a host with nothing to loop over replaces those of all hosts."""
    (task,) = yaml.safe_load((ROLL / "tasks" / "lease.yml").read_text(encoding="utf-8"))
    names = [f"web-{index}" for index in range(hosts)]
    known = {"__calls": [f"call {index}" for index in range(number)], "ansible_play_batch": names}
    known["__few"] = resolved(task["vars"]["__few"], known)
    asked = [resolved(task["loop"], {**known, "inventory_hostname": name}) for name in names]
    if known["__few"]:
        assert asked[0] == known["__calls"]
        assert number <= 6
    else:
        assert all(asked)
        nobody = [[{"keeper": name}] for name in names]
        assert sorted(call for calls in asked if calls not in nobody for call in calls) == sorted(known["__calls"])
        assert all(calls not in nobody or calls == [{"keeper": name}] for name, calls in zip(names, asked, strict=True))


@pytest.mark.parametrize("hosts", [1, 3, 12])
@pytest.mark.parametrize("number", [1, 2, 3, 7, 40])
def test_every_host_outside_of_a_batch_is_read_and_nobody_has_nothing_to_read(hosts, number):
    (task,) = yaml.safe_load((ROLL / "tasks" / "read_others.yml").read_text(encoding="utf-8"))
    names = [f"web-{index}" for index in range(hosts)]
    known = {"__stale": [f"other-{index}" for index in range(number)], "ansible_play_batch": names}
    read = [resolved(task["loop"], {**known, "inventory_hostname": name}) for name in names]
    assert all(read)
    assert {other for others in read for other in others} == set(known["__stale"])
    assert not resolved(task["run_once"], known)
    assert resolved(task["run_once"], {"__stale": []})


def resolved(text, variables):
    return ast.literal_eval(jinja2.Environment(autoescape=False).from_string(text).render(variables).strip())


def test_a_host_waits_for_each_lease_that_its_group_needs():
    """The inventory has web-1 in no group, and one event shows that both are of one."""
    event = {**reboot(0), "resources": ["web-0", "web-1"]}
    known = {host: reading(host, [event]) for host in HOSTS[:2]}
    del known["web-1"]["maintenance_delivery_group"]
    run = _run_plan.begin("r", NOW, list(known), {"web-0": "set", "web-1": ""}, None)
    run = _run_plan.plan(run, known, wishes(), INVENTORY, NOW)
    grouping = grouping_of(run["kept"])
    for lost in ("set", ""):
        told = {"set": {"web-0": TOLD}, "": {"web-1": TOLD}}
        told[lost] = dict.fromkeys(told[lost], REFUSED)
        verdicts = _leases.verdicts_of(run, told, "take")
        assert list(verdicts.lost) == [lost]
        assert [verdicts.why_lost(host, run, grouping) for host in known] == [verdicts.lost[lost]] * 2
    verdicts = _leases.verdicts_of(run, {"set": {"web-0": REFUSED}, "": {"web-1": REFUSED}}, "take")
    assert verdicts.unleased(grouping) == {"set": f"{verdicts.lost['']} {verdicts.lost['set']}"}


def test_what_is_known_of_notes_is_what_was_said_last_by_who_holds_the_lease():
    run = a_run()
    known = [{**note("web-0"), "heard_before_reading": True}, note("web-1")]
    lost = _leases.verdicts_of(run, answers(held=False, notes=[note("web-2")]), "take")
    assert lost.notes(known) == known
    held = _leases.verdicts_of(run, answers(notes=[note("web-0"), note("web-1"), note("stranger")]), "take")
    assert [(one["host"], one["heard_before_reading"]) for one in held.notes(known)] == [
        ("web-0", True),
        ("web-1", False),
    ]


@pytest.mark.parametrize("change", [{"run": "x"}, {"at": NOW - 1}, {"events": ["E7"]}, {"mark": {"event": "E0"}}])
def test_a_note_that_differs_is_another_one(change):
    held = _leases.verdicts_of(a_run(), answers(notes=[{**note("web-0"), **change}]), "take")
    (found,) = held.notes([{**note("web-0"), "heard_before_reading": True}])
    assert found["heard_before_reading"] is False


def entry(number, *hosts, **changes):
    made = {"id": f"E{number}", "type": "Reboot", "action": "drain", "hosts": list(hosts), "vanishing": False}
    return {**made, **changes}


def test_a_host_that_is_only_taken_away_is_noted_nowhere():
    gone = {"vanishing": True, "type": "Preempt"}
    found = {
        "events": [entry(0, "a", "b", **gone), entry(1, "b", "c")],
        "drain": ["a", "b", "c", "d"],
        "drain_for": {"a": ["E0"], "b": ["E0", "E1"], "c": ["E9", "E1"], "d": []},
    }
    assert _leases.taken_away(found) == {"a"}
    assert _leases.drain_notes(found, "r", NOW) == [
        {"host": "b", "events": ["E0", "E1"], "type": "Preempt", "run": "r", "at": NOW, "mark": None},
        {"host": "c", "events": ["E9", "E1"], "type": "Reboot", "run": "r", "at": NOW, "mark": None},
    ]


def test_an_approval_is_noted_once_for_each_host_of_its_event():
    entries = [entry(0, "a", "b"), entry(1, "b"), entry(0, "a", "b")]
    notes = _leases.approval_notes(entries, "r", NOW)
    assert [(one["host"], one["events"], one["mark"]["hosts"]) for one in notes] == [
        ("a", ["E0"], ["a", "b"]),
        ("b", ["E0"], ["a", "b"]),
        ("b", ["E1"], ["b"]),
    ]


@pytest.mark.parametrize(
    ("kind", "action", "takes_down"),
    [
        ("Freeze", "approve", False),
        ("Freeze", "drain", True),
        ("Freeze", "ignore", True),
        ("Reboot", "approve", True),
        ("A", "approve", True),
        ("Freeze", "a", True),
    ],
)
def test_a_mark_says_whether_the_vm_goes_down(kind, action, takes_down):
    vanishing = kind == "Reboot"
    assert _leases.mark_of(entry(0, "a", type=kind, action=action, vanishing=vanishing), NOW) == {
        "event": "E0",
        "hosts": ["a"],
        "at": NOW,
        "takes_down": takes_down,
        "vanishing": vanishing,
    }
