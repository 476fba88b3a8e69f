# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one host is told to write down, to send and to wait for, alone and in a run."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.order import MARKED, ApproveOrder

FENCE = {"age": 5}
SERVICE = {"endpoint": "http://e", "timeout": 130}


def mark(event, *hosts):
    return {"event": event, "hosts": list(hosts), "at": 1.0}


def order(**changes):
    usual = {
        "host": "a",
        "ids": ["E"],
        "undrained_ids": [],
        "wait_ids": ["E"],
        "drained": ["a", "b"],
        "marks": [],
        "run_id": "r",
        "journal": "/j",
        "uncovered": "refuse",
        "wait_timeout": 900,
        "fence": None,
        "service": SERVICE,
    }
    return ApproveOrder(**{**usual, **changes})


@pytest.mark.parametrize(
    ("marks", "fence", "alone"),
    [
        ([mark("E", "a")], FENCE, True),
        ([mark("E", "a"), mark("F", "a")], FENCE, True),
        ([mark("E", "a", "b")], FENCE, False),
        ([mark("E", "b")], FENCE, False),
        ([], FENCE, False),
        ([mark("E", "a")], None, False),
        ([mark("E", "a")], {}, False),
    ],
)
def test_alone_is_who_is_the_only_host_of_all_its_events_in_a_run(marks, fence, alone):
    assert order(marks=marks, fence=fence).is_alone is alone


@pytest.mark.parametrize(
    ("marks", "ids", "fence", "state"),
    [
        ([mark("E", "a")], ["E"], None, "mark"),
        ([mark("E", "a")], [], FENCE, "mark"),
        ([mark("E", "a")], ["E"], FENCE, "mark"),
        # Nothing is drained for it, and no run has it: there is no journal to write to.
        ([mark("E", "a")], [], None, "read"),
        ([], ["E"], FENCE, "read"),
        ([], [], None, "read"),
    ],
)
def test_what_may_start_is_written_down(marks, ids, fence, state):
    options = order(marks=marks, ids=ids, fence=fence).mark_options()
    assert options["state"] == state
    assert {name: options[name] for name in ("path", "marks", "run_id", *SERVICE)} == {
        "path": "/j",
        "marks": marks,
        "run_id": "r",
        **SERVICE,
    }
    assert ("fence" in options) == (fence is not None)


@pytest.mark.parametrize(
    ("marks", "ids", "fence"),
    [
        # Who sends all of them asks the service for itself right before.
        ([mark("E", "a", "b")], ["E"], {**FENCE, "drained": True, "events": []}),
        ([mark("E", "a", "b")], [], {**FENCE, "drained": False, "events": []}),
        ([mark("E", "b", "a")], ["E"], {**FENCE, "drained": True}),
        ([mark("E", "a"), mark("F", "b", "a")], ["E"], {**FENCE, "drained": True}),
        ([], ["E"], {**FENCE, "drained": True}),
    ],
)
def test_in_a_run_the_host_compares_before_it_marks(marks, ids, fence):
    assert order(marks=marks, ids=ids, fence=FENCE).mark_options()["fence"] == fence


def test_outside_of_a_run_all_hosts_look_at_the_journals_of_the_others():
    assert order().parts() == [
        {
            "event_ids": ["E"],
            "drained": ["a", "b"],
            "uncovered": "refuse",
            "wait_timeout": 900,
            "journal": "/j",
            "run_id": "r",
            "reading": False,
            "journals": MARKED,
            **SERVICE,
        }
    ]


def test_what_needs_no_drain_is_another_part_and_asks_no_journal():
    first, second = order(undrained_ids=["F"]).parts()
    assert (first["event_ids"], first["journals"]) == (["E"], MARKED)
    assert second["event_ids"] == ["F"]
    assert "journals" not in second
    assert [part["event_ids"] for part in order(ids=[], undrained_ids=["F"]).parts()] == [["F"]]
    assert order(ids=[]).parts() == []


def test_in_a_run_with_others_each_part_brings_its_own_marks():
    marks = [mark("E", "a", "b"), mark("F", "a")]
    drained, undrained = order(undrained_ids=["F"], marks=marks, fence=FENCE).parts()
    assert drained["marks"] == marks[:1]
    assert drained["fence"] == {**FENCE, "drained": True, "events": ["E"]}
    assert undrained["marks"] == marks[1:]
    assert undrained["fence"] == {**FENCE, "drained": False, "events": ["F"]}
    for part in (drained, undrained):
        assert (part["marks_in"], part["reading"]) == (MARKED, True)
    assert (drained["journals"], "journals" in undrained) == (MARKED, False)


def test_who_is_alone_in_a_run_looks_at_nobody_else():
    (part,) = order(marks=[mark("E", "a")], fence=FENCE).parts()
    assert "journals" not in part
    assert "marks_in" not in part
    assert part["marks"] == [mark("E", "a")]


def test_unsent_is_what_nobody_has_sent_and_what_has_not_begun():
    marks = [mark(event, "a") for event in ("A", "B", "C", "D")]
    sent = [{"leaders": {"A": "b"}, "already_started": ["B"]}, {"gone": ["C"], "leaders": None}, {}]
    assert order(marks=marks, fence=FENCE).unsent(sent) == ["D"]
    assert order(marks=marks, fence=FENCE).unsent([]) == ["A", "B", "C", "D"]
    assert order(marks=marks).unsent([]) == []


def test_what_was_not_sent_is_not_waited_for():
    assert order(wait_ids=["E", "F"]).wait_options(["F"], None) == {
        "event_ids": ["E"],
        "wait_timeout": 900,
        **SERVICE,
    }
    assert order().wait_options([], "vm-1") == {
        "event_ids": ["E"],
        "wait_timeout": 900,
        "vm_name": "vm-1",
        **SERVICE,
    }
    assert order(fence=FENCE).wait_options([], "") == {
        "event_ids": ["E"],
        "wait_timeout": 900,
        "journal": "/j",
        "run_id": "r",
        **SERVICE,
    }
