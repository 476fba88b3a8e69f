# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan in words, word by word: one and many, few and too many, now and later."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.doubts import (
    doubts_about,
    has_begun_by_its_own_reading,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import Claim
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.text import render_plan, render_start

HOSTS = [f"web-{number}" for number in range(10)]
EIGHT = "web-0, web-1, web-2, web-3, web-4, web-5, web-6, web-7"


def entry(**changes):
    return {
        "id": "E",
        "type": "Reboot",
        "source": "Platform",
        "description": "",
        "duration_seconds": None,
        "status": "Scheduled",
        "hosts": ["web-0"],
        "resources": ["vm-0"],
        "uncovered": [],
        "not_in_run": [],
        "shown_by": ["web-0"],
        "not_shown_by": [],
        "not_believed_of": [],
        "why": "rule 1",
        "vanishing": False,
        "approvable": True,
        "steps": ["drain", "approve", "wait", "restore"],
        **changes,
    }


def wave(**changes):
    return {
        "number": 1,
        "of": 2,
        "hosts": ["web-0"],
        "domains": ["0"],
        "deadline": "2026-11-16T00:15:00Z",
        "underway": False,
        "seconds_left": 900,
        "events": [],
        "warnings": [],
        **changes,
    }


def lines(width=200, **changes):
    parts = ("waves", "ignored", "not_believed", "unread", "journal_problems", "nothing_to_do")
    left = ("restore_first", "already_drained", "left_drained")
    return render_plan({**{part: [] for part in (*parts, *left)}, **changes}, width)


def said_of(**changes):
    return lines(waves=[wave(events=[entry(**changes)])])[2:]


def test_no_wave():
    assert lines() == ["No wave: no host that was read needs a drain or an approval."]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "due in 15:00 min (2026-11-16T00:15:00Z)"),
        ({"seconds_left": 0}, "due in 0:00 min (2026-11-16T00:15:00Z)"),
        ({"seconds_left": None}, "due at 2026-11-16T00:15:00Z"),
        ({"underway": True}, "due now"),
        ({"underway": True, "events": [entry(status="Started")]}, "already started"),
        ({"underway": True, "events": [entry(), entry(status="Started")]}, "already started"),
        ({"underway": True, "events": [entry(status="Zapped")]}, "due now"),
    ],
)
def test_when_a_wave_is_due(changes, told):
    assert lines(waves=[wave(**changes)])[:2] == [f"Wave 1 of 2: 0, {told}", "  1 host: web-0"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"uncovered": ["x"], "approvable": False},
            (
                "It is not approved: it also names x, which no host of this run is known to be (is the inventory, or"
                " this slice of it, complete?), and approving starts it for them too."
            ),
        ),
        (
            {"uncovered": ["x"], "not_in_run": ["hx"]},
            (
                "It is approved all the same: it also names x (in the inventory, but not in this run: hx), and"
                " approving starts it for them too."
            ),
        ),
        (
            {"not_shown_by": ["web-1"]},
            (
                "web-0 shows it, web-1 does not: they are read once more before anything is done, and unless all show"
                " it then, it is not approved."
            ),
        ),
        (
            {"not_shown_by": ["web-1"], "uncovered": ["vm-1"], "not_believed_of": ["vm-1"], "approvable": False},
            "It is not approved: web-0 shows it, web-1 does not.",
        ),
    ],
)
def test_whom_an_approval_would_surprise(changes, told):
    assert said_of(**changes)[3:] == [f"    {told}"]


def test_what_is_left_alone_not_believed_and_not_known():
    why = {"hosts": ["web-0"], "why": "no answer"}
    assert lines(
        ignored=[entry(why="it is far away")],
        not_believed=[{"why": "He lies."}],
        unread=[why, {"hosts": ["web-1"], "why": ""}],
        journal_problems=[why],
    )[1:] == [
        "Left alone: Reboot by Platform, event E for web-0. It is far away.",
        "Not trusted: He lies.",
        "Unread, so nothing is known about 1 host: web-0. no answer",
        "Unread, so nothing is known about 1 host: web-1",
        "Not known whether an earlier run left it drained: 1 host: web-0. no answer",
    ]


# Before a batch begins.

NOW = 1794787200.0  # 2026-11-16T00:00:00Z


def start(**changes):
    return render_start({"stop": "", "wave": wave(**changes)}, NOW)


def test_a_run_that_stops_says_why():
    assert render_start({"stop": "Enough.", "wave": None}, NOW) == ["Enough."]
    assert render_start({"stop": "Enough.", "wave": wave()}, NOW) == ["Enough."]


# What is not trusted.


def claim(host, refused, *events):
    readings = {name: {"maintenance_status": {"events": list(events), "read_at": "x"}} for name in [*refused, host]}
    (doubt,) = doubts_about([], [Claim("web-0", host, refused)], None, readings)
    return doubt


def test_claims_that_the_inventory_does_not_settle():
    assert claim(None, ["c", "b"])["why"] == (
        "b and c claim to be one VM, web-0, and the inventory does not say which of them it is. Nothing is drained or"
        " approved for any of them. Set maintenance_vm_name on the one that it is."
    )


@pytest.mark.parametrize(
    ("event", "wrong"),
    [
        ({"resources": ["WEB-0"]}, True),
        ({"resources": ["web-1"]}, False),
        ({"resources": ["web-1"], "affects_this_host": True}, True),
        ({"resources": ["web-1"], "affects_this_host": False}, False),
        ({"resources": ["web-1"], "affects_this_host": "yes"}, False),
        ({"resources": None}, False),
    ],
)
def test_a_claim_is_wrong_where_an_event_names_that_vm(event, wrong):
    assert claim("a", ["b"], event)["wrong"] is wrong


@pytest.mark.parametrize(("status", "begun"), [("Started", True), ("Scheduled", False), ("Zapped", False)])
def test_what_has_begun_by_a_hosts_own_reading(status, begun):
    events = [{"status": status, "resources": ["web-0"]}, {"status": "Started", "resources": ["web-1"]}]
    readings = {"a": {"maintenance_status": {"events": events, "read_at": "x"}}}
    assert has_begun_by_its_own_reading("a", "web-0", readings) is begun
    assert has_begun_by_its_own_reading("b", "web-0", readings) is False
