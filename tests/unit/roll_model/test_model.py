# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""To plain data and back."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    BadData,
    Event,
    Host,
    Journal,
    Mark,
    Move,
    Note,
    Record,
    Roll,
    Settings,
    from_data,
    orders,
    to_data,
)

MARK = Mark("E", ("a",), 3.5)
ROLL = Roll(
    run="r",
    now=12.0,
    hosts=(Host("a", "g", "0", journal=Journal("r", ("E",), ("Reboot",), True, marks=(MARK,))), Host("b", "g", "1")),
    events=(Event("E", "Reboot", "Scheduled", None, ("a",), ("x",)),),
    records=(Record("lb", "a", ("E",), ("Reboot",), "r", "ready"),),
    notes=(Note("a", ("E",), "Reboot", "r", MARK),),
    settings=Settings(min_in_service="50%", max_at_once=3),
    may_act_on=frozenset({"b", "a"}),
    failures={"g": "no"},
)


def test_there_and_back_through_json():
    assert from_data(Roll, json.loads(json.dumps(to_data(ROLL), allow_nan=False))) == ROLL


def test_what_is_left_out_has_its_default():
    assert from_data(Settings, {"overlap": "proceed"}) == Settings(overlap="proceed")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "Host is not a mapping"),
        ({"name": "a"}, "group"),
        ({"name": "a", "group": "g", "domain": 0}, "Host.domain is 0, which is no str"),
        ({"name": "a", "group": "g", "domain": "0", "read": 1}, "Host.read is 1"),
        ({"name": "a", "group": "g", "domain": "0", "shows": "E"}, "Host.shows is not a list"),
        ({"name": "a", "group": "g", "domain": "0", "colour": "red"}, "Host has no colour"),
        ({"name": "a", "group": "g", "domain": "0", "journal": {"owner": 1}}, "Host.journal.owner is 1"),
    ],
)
def test_what_does_not_fit_is_named(data, complaint):
    with pytest.raises(BadData, match=complaint):
        from_data(Host, data)


def test_a_move_as_its_hosts_are_told_it():
    one, two = orders(Move("round", "g", ("a", "b"), ("E",), "E", take_over=("b",)))
    assert (one.host, one.approve, one.take_over) == ("a", "E", False)
    assert two.take_over


@pytest.mark.parametrize(
    ("kind", "action", "takes_down"),
    [("Freeze", "approve", False), ("Freeze", "drain", True), ("Freeze", "ignore", True), ("Reboot", "approve", True)],
)
def test_only_a_freeze_that_is_approved_without_a_drain_takes_nothing_down(kind, action, takes_down):
    assert Event("E", kind, "Scheduled", None, (), action=action).takes_down is takes_down
