# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that are out of service and that nothing is planned for: who is returned, who is left to another run."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import leftover_hosts as _leftover_hosts
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import round_record as _round_record
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import run_plan as _run_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.records import with_records
from helpers.run_stages import HOSTS, INVENTORY, NOW, a_run, drained, reading, wishes


def left_behind(**outcome):
    """A run in its second pass; an earlier one has left web-0 drained."""
    known = {host: reading(host, []) for host in HOSTS}
    known["web-0"] = reading("web-0", [], drained("E9", run="dead"))
    state = _run_plan.plan(a_run(), known, wishes(), INVENTORY, NOW)
    return {**state, "outcomes": {"web-0": {"state": "failed", **outcome}} if outcome else {}}


@pytest.mark.parametrize(
    ("outcome", "leftovers"),
    [
        ({}, ["web-0"]),
        # Before the waves of this pass.
        ({"wave": 0, "number_of_pass": 2}, []),
        ({"wave": 0, "number_of_pass": 1}, ["web-0"]),
        ({"wave": 1, "number_of_pass": 2}, ["web-0"]),
        ({"wave": 2, "number_of_pass": 1}, ["web-0"]),
    ],
)
def test_what_was_taken_care_of_since_the_plan_is_no_leftover(outcome, leftovers):
    assert _run_plan.leftovers(left_behind(**outcome)) == leftovers
    shared = _run_plan.for_the_plays(left_behind(**outcome), wishes())
    assert (shared["leftovers"], shared["run_id"], shared["vanished"]) == (leftovers, "r", [])


@pytest.mark.parametrize(
    ("owner", "left", "is_busy"),
    [("a", 1, True), ("z", 1, True), ("r", 1, False), ("a", 0, False), ("a", -1, False)],
)
def test_only_another_run_can_be_at_work_on_a_host(owner, left, is_busy):
    known = {"web-0": reading("web-0", [], drained("E9", run=owner, worked_on_for=left))}
    orders, pause = _leftover_hosts.return_leftovers(a_run(), known, wishes(), NOW, NOW)
    assert (orders["web-0"]["restore"], orders["web-0"]["later"]) == (not is_busy, is_busy)
    assert pause == (4 if is_busy else 0)


@pytest.mark.parametrize(("waited", "pause"), [(0, 4), (44.5, 4), (45, 0), (45.5, 0)])
def test_who_may_have_died_there_is_waited_for_three_quarters_of_a_minute(waited, pause):
    known = {"web-0": reading("web-0", [], drained("E9", run="dead", worked_on_for=9))}
    assert _leftover_hosts.return_leftovers(a_run(), known, wishes(), NOW, NOW + waited)[1] == pause


def test_who_is_idle_is_returned_beside_one_that_is_worked_on():
    known = {
        "web-0": reading("web-0", [], drained("E9", run="dead", worked_on_for=9)),
        "web-1": reading("web-1", [], drained("E9", run="dead")),
    }
    orders, _pause = _leftover_hosts.return_leftovers(a_run(), known, wishes(), NOW, NOW)
    assert {host: order["restore"] for host, order in orders.items()} == {"web-0": False, "web-1": True}
    assert orders["web-1"]["restore_fence"] == {
        "boot_id": None,
        "seconds": None,
        "at_most": 40.0,
        "owner": "dead",
        "events": [],
        "may_start": [],
    }


RECORD = {"host": "web-0", "events": ["E9"], "types": ["Redeploy"], "run": "x", "machine": "lb", "removal": ""}


@pytest.mark.parametrize(
    ("journal", "records", "is_read", "restored"),
    [
        (None, [], True, False),
        (None, [RECORD], True, True),
        (None, [{**RECORD, "host": "web-1"}], True, False),
        (None, [], False, True),
        (drained("E9", run="dead"), [], True, True),
        # Nothing is drained; the journal that says so is put away.
        (drained("E9", run="dead", state="marked", steps=[]), [], True, True),
    ],
)
def test_who_is_back_in_service_meanwhile_is_left_as_it_is(journal, records, is_read, restored):
    known = {"web-0": reading("web-0", [], journal)}
    if not is_read:
        known["web-0"]["maintenance_status"] = {"msg": "Timed out."}
    orders, _pause = _leftover_hosts.return_leftovers(a_run(records=records), known, wishes(), NOW, NOW)
    assert orders["web-0"]["restore"] is restored


def test_a_record_is_gone_with_the_return_of_its_host():
    run = with_records(a_run(), {}, {})
    run = {**run, "records": [RECORD, {**RECORD, "host": "web-1"}, {**RECORD, "host": "web-2"}]}
    known = {
        "web-0": {**reading("web-0", []), "restore_result": {"state": "restored"}},
        "web-1": {**reading("web-1", []), "restore_result": {"failed": True, "msg": "no"}},
    }
    orders, _pause = _leftover_hosts.return_leftovers(run, known, wishes(), NOW, NOW)
    after, _calls, _of_others = _round_record.record(run, orders, None, known, 0, NOW)
    assert [one["host"] for one in after["records"]] == ["web-1", "web-2"]
