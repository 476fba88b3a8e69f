# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host has drained itself by a list of steps; which of its deeds the list of today no longer means."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.changed_list import no_longer_meant
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.folders import OURS, Folders
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.identity import identity_of, numbered
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import Step
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.work import work_to_restore

EVENT = {"id": "A1", "type": "Reboot"}
PLACED = Folders({}, OURS, "web").placed_to_restore


def command(word, back=None):
    return Step("command", {"drain": [word], "restore": [back or f"no {word}"]})


def haproxy(**more):
    return Step("load_balancer", {"haproxy": {"backend": "b", "server": "s", "timeout": 60, **more}})


A, B, C = command("a"), command("b"), command("c")
LOG = Step("log", {"message": "so far"})
ONCE = Step("command", {"drain": ["once"]})
THERE = haproxy(host="lb1")
TASKS = Step("tasks", {"drain": "x.yml", "restore": "y.yml"})


def journal_of(*steps, **more):
    records = [
        {
            "number": number,
            "kind": step.kind,
            "arguments": step.arguments,
            "status": "done",
            "event": "A1",
            "before": {},
        }
        for number, step in enumerate(steps, start=1)
    ]
    return {"steps": records, "events": [EVENT], "state": "drained", "steps_digest": "0" * 64, **more}


def known_as(kind, arguments):
    return identity_of(kind, arguments, "web", False)


def known(steps):
    return list(zip(steps, numbered(known_as(step.kind, step.arguments) for step in steps), strict=True))


def undone(journal, *today):
    return [record["number"] for record in no_longer_meant(journal, lambda _event: known(today), PLACED)]


@pytest.mark.parametrize(
    ("done", "today", "numbers"),
    [
        pytest.param([A, B, C], [A, B, C], [], id="the same"),
        pytest.param([A, B], [A, B, C], [], id="not yet done"),
        pytest.param([A, B, C], [A, C], [2, 3], id="one removed"),
        pytest.param([A, B, C], [A, B], [3], id="the last removed"),
        pytest.param([A, B], [], [1, 2], id="all removed"),
        pytest.param([A, B, C], [A, C, B], [2, 3], id="reordered"),
        pytest.param([A, B], [C, A, B], [1, 2], id="one before them"),
        pytest.param([A, C], [A, B, C], [2], id="one between them"),
        pytest.param([A, command("b")], [A, command("b", "another way back")], [2], id="another way back"),
        pytest.param([haproxy(socket="/old")], [haproxy(socket="/new")], [1], id="another way there"),
        pytest.param([haproxy(timeout=5)], [haproxy(timeout=90)], [], id="another timeout"),
        pytest.param([LOG, A], [Step("log", {"message": "another"}), A], [], id="another message"),
        pytest.param([LOG, A, ONCE], [A], [], id="what left nothing is removed"),
        pytest.param([A, LOG, B], [B], [1, 2, 3], id="what left nothing goes with the others"),
        pytest.param([A, C], [A, THERE, C], [], id="past what others do"),
        pytest.param([A, C], [TASKS, A, C], [], id="past what tasks do"),
        pytest.param([A, THERE, C], [A, THERE, C], [], id="a run went on"),
    ],
)
def test_from_the_first_difference_on_all_is_undone(done, today, numbers):
    assert undone(journal_of(*done), *today) == numbers


def test_only_a_list_of_the_hosts_own_is_asked_about():
    assert undone(journal_of(A, steps_digest=None), B) == []


def test_what_was_undone_already_counts_no_more():
    journal = journal_of(A, B, C)
    journal["steps"][1]["status"] = "undone"
    assert undone(journal, A, C) == []


def test_what_the_host_has_filled_in_is_what_the_template_gives():
    done = Step("command", {"drain": ["x", "900"], "restore": ["y"]})
    asked = []

    def steps_for(event):
        asked.append(event)
        return known([Step("command", {"drain": ["x", 900], "restore": ["y"]})])

    assert no_longer_meant(journal_of(done), steps_for, PLACED) == []
    assert asked == [EVENT]


@pytest.mark.parametrize(("digest", "way"), [("0" * 64, "old"), (None, "new")])
def test_a_return_undoes_what_the_host_did_as_it_was_done(digest, way):
    """What a run did is undone from the user's steps, as they are."""
    journal = journal_of(command("a", "old"), steps_digest=digest)
    work, left_over = work_to_restore(
        journal,
        lambda _event: known([command("a", "new")]),
        known_as,
        lambda record: Step(record["kind"], record["arguments"]),
        False,
        PLACED,
    )
    assert left_over == []
    assert [item["arguments"]["restore"] for item in work] == [[way]]


def test_a_deed_elsewhere_is_undone_from_the_users_steps_also_in_a_journal_of_the_hosts_own():
    journal = journal_of(THERE)
    work, _left_over = work_to_restore(
        journal,
        lambda _event: known([haproxy(host="lb1", socket="/new")]),
        known_as,
        lambda _record: None,
        False,
        PLACED,
    )
    assert work[0]["arguments"]["haproxy"]["socket"] == "/new"
