# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Terminate: a VM whose deletion is approved waits for those that are pending."""

from __future__ import annotations

import pytest

POOL = {
    "groups": {"pool": {"kind": "scale_set"}, "other": {"kind": "scale_set"}},
    "vms": [{"name": f"{group}_{n}", "group": group} for group in ("pool", "other") for n in range(2)],
}


@pytest.fixture
def pool(start):
    return start(POOL)


def statuses(simulator, vm="pool_0"):
    return {event["Resources"][0]: event["EventStatus"] for event in simulator.document(vm)["Events"]}


def scale_in(simulator, vm, notice=300):
    return simulator.add_event(scenario="scale_in", resources=[vm], notice=notice)["id"]


def test_an_approved_terminate_waits_for_one_that_is_pending(pool):
    scale_in(pool, "pool_0")
    pool.approve("pool_1", scale_in(pool, "pool_1"))
    assert statuses(pool) == {"pool_0": "Scheduled", "pool_1": "Scheduled"}


def test_both_start_when_both_are_approved(pool):
    first, second = scale_in(pool, "pool_0"), scale_in(pool, "pool_1")
    pool.approve("pool_1", second)
    pool.approve("pool_0", first)
    assert statuses(pool) == {"pool_0": "Started", "pool_1": "Started"}


def test_the_approved_one_starts_when_the_pending_one_has_timed_out(pool):
    scale_in(pool, "pool_0", notice=300)
    pool.approve("pool_1", scale_in(pool, "pool_1", notice=900))
    pool.advance(301)
    assert statuses(pool) == {"pool_0": "Started", "pool_1": "Started"}


def test_the_approved_one_starts_when_the_pending_one_is_cancelled_inferred(pool):
    """[I]"""
    first = scale_in(pool, "pool_0")
    pool.approve("pool_1", scale_in(pool, "pool_1"))
    pool.cancel(first)
    assert statuses(pool) == {"pool_1": "Started"}


def test_the_approved_one_starts_at_its_own_not_before_at_the_latest_inferred(pool):
    """[I]"""
    scale_in(pool, "pool_0", notice=900)
    pool.approve("pool_1", scale_in(pool, "pool_1", notice=300))
    pool.advance(301)
    assert statuses(pool) == {"pool_0": "Scheduled", "pool_1": "Started"}


def test_events_of_other_types_and_other_groups_do_not_wait(pool):
    scale_in(pool, "pool_0")
    reboot = pool.add_event(type="Reboot", resources=["pool_1"])["id"]
    pool.approve("pool_1", reboot)
    pool.approve("other_0", scale_in(pool, "other_0"))
    assert statuses(pool) == {"pool_0": "Scheduled", "pool_1": "Started"}
    assert statuses(pool, "other_0") == {"other_0": "Started"}
