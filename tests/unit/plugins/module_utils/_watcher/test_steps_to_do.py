# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which steps a reflex does where a journal is there already, and by which numbers."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.module_utils._watch.reflex_steps import (
    MARK,
    filled_in,
    is_same_step,
    to_do,
)


def command(number, *words, **more):
    return {"number": number, "kind": "command", "arguments": {"drain": list(words), **more}}


def record(step, status="done", **more):
    return {**filled_in(step, {"id": "E0", "type": "Reboot", **more}), "status": status}


BALANCER = {"number": 2, "kind": "load_balancer", "left": "step 2 (load_balancer) is done on lb1"}
LIST = [command(1, "a"), BALANCER, command(3, "c")]


def found(steps, records, past_others=False):
    mine, left = to_do(steps, past_others, {"steps": records})
    return [step["number"] for step in mine], left


def test_without_a_journal_it_stops_before_what_is_for_others():
    assert found(LIST, []) == ([1], [BALANCER["left"], "step 3 (command) comes after it"])
    assert found(LIST, [], past_others=True) == ([1, 3], [BALANCER["left"]])


def test_what_a_run_has_done_elsewhere_is_left_for_nobody():
    balancer = {"number": 2, "kind": "load_balancer", "arguments": {}, "status": "done"}
    assert found(LIST, [record(LIST[0]), balancer]) == ([1, 3], [])
    assert found(LIST, [record(LIST[0]), {**balancer, "status": "started"}])[1][0] == BALANCER["left"]


def test_a_step_is_known_again_by_what_it_does():
    other = command(1, "x")
    assert found([command(1, "a"), command(2, "b")], [record(other)]) == ([3, 2], [])
    assert found([command(1, "a"), command(2, "x")], [record(other)]) == ([3, 1], [])
    # The next time it finds itself.
    again = [record(other), {**record(command(1, "a")), "number": 3}]
    assert found([command(1, "a"), command(2, "b")], again) == ([3, 2], [])


def test_two_that_do_the_same_are_two():
    twice = [command(1, "a"), command(2, "a")]
    assert found(twice, [record(twice[0])]) == ([1, 2], [])
    assert found(twice, [record(one) for one in twice]) == ([1, 2], [])


def test_what_another_list_has_begun_is_left():
    assert found([command(1, "a")], [record(command(7, "x"), "failed")]) == (
        [1],
        ["step 7 (command) was begun by another list of steps"],
    )


def test_whatever_was_filled_in_of_an_event():
    step = command(1, "say", "now " + MARK % "type" + ", in " + MARK % "seconds_left")
    assert is_same_step(record(step, seconds_left=30), step)
    assert is_same_step(record(step, type="two\nlines"), step)
    assert not is_same_step(record(command(1, "say", "later Reboot, in 3")), step)
    assert is_same_step({**record(command(1, "a", timeout=5))}, command(1, "a", timeout=9))
    assert not is_same_step(record(command(1, "a")), command(1, "a", "b"))
    assert is_same_step(record(command(1, "7")), command(1, 7))
