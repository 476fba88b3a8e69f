# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""May this be approved, by whom, who counts as drained, and what became of it."""

from __future__ import annotations

import re

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.drained import (
    drained_vms,
    never_told,
    not_shown,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.judge import (
    EventRecord,
    convoy,
    is_reached,
    judge_events,
    leader_of,
    shown_status,
    successors,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.outcome import approval_outcome

# May this be approved, by whom, and what became of it: one rule a test.


def event(event_id, *resources, status="Scheduled", kind="Reboot"):
    return {"id": event_id, "type": kind, "status": status, "resources": list(resources)}


def ids(events):
    return [one["id"] for one in events]


@pytest.mark.parametrize("status", ["Started", "Completed", "Unheard-of"])
def test_what_is_not_scheduled_any_more_is_not_approved_and_keeps_no_other_from_it(status):
    judgement = judge_events([event("A", "vm", status=status), event("B", "vm")], None, "vm", ["vm"])
    assert (judgement.already_started, ids(judgement.approvable)) == (["A"], ["B"])


def test_what_is_gone_is_named_as_it_was_asked_for():
    judgement = judge_events([event("B", "vm")], ["Zz", "b", "Aa"], "vm", ["vm"])
    assert (judgement.gone, ids(judgement.approvable)) == (["Zz", "Aa"], ["B"])


def test_who_does_not_show_the_event_is_not_ready_whether_drained_or_not():
    for drained in (["web-0"], ["web-0", "web-1"]):
        silent = {"a": ["web-1"]}
        judgement = judge_events([event("A", "web-0", "web-1")], None, "web-0", drained, not_shown=silent)
        assert [refusal["uncovered"] for refusal in judgement.refused] == [["web-1"]]


@pytest.mark.parametrize(
    ("resources", "kind", "unmarked", "uncovered", "reason"),
    [
        (["vm"], "Reboot", {"a": ["web-1", "web-2"]}, [], "Reboot A was not sent: .* of web-1, web-2 "),
        (["vm", "db"], "Reboot", {}, ["db"], "Reboot A also touches db, not among the drained hosts"),
        (["web-0"], "Terminate", {}, [], "Terminate A is for web-0: each VM approves its own"),
    ],
)
def test_why_an_event_is_refused(resources, kind, unmarked, uncovered, reason):
    one = event("A", *resources, kind=kind)
    (refusal,) = judge_events([one], ["A"], "vm", ["vm", "web-0"], unmarked=unmarked).refused
    assert (refusal["id"], refusal["uncovered"]) == ("A", uncovered)
    assert re.match(reason, refusal["reason"])


@pytest.mark.parametrize("kind", ["Freeze", "Reboot", "Preempt", "Unheard-of"])
def test_only_a_deletion_must_be_approved_by_its_own_vm(kind):
    assert ids(judge_events([event("A", "web-1", kind=kind)], ["A"], "web-0", ["web-0", "web-1"]).approvable) == ["A"]


@pytest.mark.parametrize("sent_by", ["a", "m", "z"])
def test_who_sends_is_who_has_sent_unless_one_insists(sent_by):
    assert leader_of(EventRecord(), "m", insist=False) == "m"
    assert leader_of(EventRecord(sent_by=sent_by), "m", insist=False) == sent_by
    assert leader_of(EventRecord(sent_by=sent_by), "m", insist=True) == "m"


def test_who_can_still_send_is_named_by_the_event_and_has_neither_failed_nor_ended():
    batch = {"h0": "vm0", "h1": "vm1", "h2": "vm2", "h3": "vm3", "h4": "vm4"}
    found = successors(event("A", "vm0", "vm1", "vm2", "vm3"), "h0", batch, EventRecord(failed=["h1"]), ["h2"])
    assert found == ["h3"]


@pytest.mark.parametrize(
    ("asked", "outcome"), [("a", "Started"), ("B", "Scheduled"), ("c", "Completed"), ("d", "gone")]
)
def test_what_became_of_an_event_is_said_by_its_own_entry(asked, outcome):
    events = [event("C", status="Completed"), event("A", status="Started"), event("b", status="Scheduled")]
    assert shown_status(asked, events) == outcome


@pytest.mark.parametrize(
    ("outcome", "started", "gone"),
    [
        ("Scheduled", False, False),
        ("Started", True, False),
        ("Completed", True, False),
        ("unheard-of", True, False),
        ("gone", True, True),
    ],
)
def test_how_far_an_event_got(outcome, started, gone):
    assert (is_reached("started", outcome), is_reached("finished", outcome)) == (started, gone)


def test_deletions_wait_for_each_other_and_for_nothing_else():
    mine = event("A", "vm", kind="Terminate")
    others = [
        event("B", "x", kind="Terminate"),
        event("C", "x", kind="Terminate", status="Started"),
        event("D", "x", kind="Reboot"),
        event("P", "x", kind="Terminate", status="Planned"),
        event("E", "x", kind="Unheard-of"),
        event("a", "vm", kind="Terminate"),
    ]
    assert ids(convoy(mine, others)) == ["B"]
    for kind in ("Reboot", "Unheard-of"):
        assert convoy({**mine, "type": kind}, others) == []


# Which hosts count as drained: names and states on both sides of the right one in the alphabet.

SCOPE = {"subscription_id": "s", "resource_group": "rg"}


def read(name, *event_ids):
    events = [{"id": event_id} for event_id in event_ids]
    return {"maintenance_status": {"this_host": {"vm_name": name, **SCOPE}, "events": events}}


def test_the_sender_stands_for_the_vm_that_it_was_just_told_wherever_it_is_in_the_list():
    host_vars = {name: read(name) for name in ("a", "m", "z")}
    assert drained_vms(["a", "m", "z"], host_vars, "m", {"vm_name": "M1", **SCOPE}, "M1") == ["M1", "a", "z"]
    assert drained_vms(["a", "z"], host_vars, "m", {"vm_name": "M1", **SCOPE}, "M1") == ["a", "z"]


def test_a_vm_of_the_same_name_in_another_resource_group_is_no_rival():
    host_vars = {name: read("va") for name in ("a", "z")}
    elsewhere = {**host_vars["z"]["maintenance_status"]["this_host"], "resource_group": "other"}
    host_vars["z"] = {"maintenance_status": {"this_host": elsewhere, "events": []}}
    assert drained_vms(["a", "z"], host_vars, "m", {"vm_name": "M1", **SCOPE}, "M1") == ["va"]


def test_never_told_is_who_was_not_read_and_of_whom_the_inventory_says_not_enough():
    host_vars = {"a": {}, "b": read("b"), "c": SCOPE, "m": {}, "z": {"resource_group": "rg"}}
    assert never_told(["a", "b", "c", "m", "z"], host_vars, "m") == ["a", "z"]


def test_who_is_not_known_or_not_read_has_not_been_silent_about_an_event():
    host_vars = {"a": read("va", "E1"), "b": {"maintenance_status": None}, "c": read("vc", "e2")}
    assert not_shown(["a", "b", "c", "stranger"], host_vars, ["E1", "E2"]) == {"e1": ["vc"], "e2": ["va"]}


# What the tasks of the role approve returned, put together.

SENT = {"approved": ["E"], "leaders": {"E": "a"}, "times": {"E": {"approved": "1"}}, "refused": [], "problems": []}
EFFECTS = {"E": {"shown": "Started", "at": "1", "incarnation": 7}}
WAITED = {"outcomes": {"E": "gone"}, "times": {"E": {"over": "2"}}, "effects": EFFECTS, "problems": []}


def test_all_is_well():
    assert approval_outcome([SENT], WAITED) == {
        "approved": ["E"],
        "refused": [],
        "leaders": {"E": "a"},
        "times": {"E": {"approved": "1", "over": "2"}},
        "effects": EFFECTS,
        "outcomes": {"E": "gone"},
        "over": True,
        "error": "",
        "unsent": [],
        "refused_by_host": None,
    }


@pytest.mark.parametrize(
    ("waited", "over"),
    [
        (None, True),
        ({"outcomes": {"E": "gone", "F": "Started"}, "problems": ["late"]}, False),
        ({"outcomes": {"E": "gone", "F": "what is new"}, "problems": []}, False),
        ({"outcomes": {}, "problems": []}, False),
        # No answer, or no contact: nobody has seen the end.
        ({"msg": "no", "failed": True}, False),
        ({"msg": "no", "unreachable": True}, False),
    ],
)
def test_over_is_what_was_seen_to_be_over(waited, over):
    assert approval_outcome([SENT], waited)["over"] is over


def test_every_trouble_is_told():
    refused = {"refused": [{"id": "F", "uncovered": ["z"]}], "problems": ["F names z."]}
    report = approval_outcome([SENT, refused, {"msg": "no contact"}, {}], {"msg": "no answer in time"})
    assert report["refused"] == [{"id": "F", "uncovered": ["z"]}]
    assert report["error"] == "F names z. no contact no answer no answer in time"


def test_what_was_not_sent_is_not_over():
    refused = {"problems": ["too old"], "refused_by_host": "age"}
    outcome = approval_outcome([refused], None, ["E"])
    assert (outcome["over"], outcome["unsent"], outcome["refused_by_host"]) == (False, ["E"], "age")
    assert outcome["error"] == "too old"
