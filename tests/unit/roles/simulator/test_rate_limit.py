# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""So many requests in any one second."""

from __future__ import annotations

import types

import pytest
from helpers.simulator_inside import part

WEB, DB = types.SimpleNamespace(key="web"), types.SimpleNamespace(key="db")


@pytest.fixture
def limit(driven):
    return part("rate_limit").RateLimit(2)


def test_so_many_are_allowed_and_no_more(limit):
    assert [limit.is_exceeded_by(WEB) for _time in range(4)] == [False, False, True, True]


def test_each_vm_has_its_own(limit):
    assert [limit.is_exceeded_by(vm) for vm in (WEB, WEB, DB, WEB, DB, DB)] == [False] * 3 + [True, False, True]


def test_a_request_counts_for_one_second(limit, driven):
    limit.is_exceeded_by(WEB)
    driven.go_on(0.5)
    limit.is_exceeded_by(WEB)
    driven.go_on(0.499)
    assert limit.is_exceeded_by(WEB)
    driven.go_on(0.001)
    assert not limit.is_exceeded_by(WEB)
    assert limit.is_exceeded_by(WEB)
    driven.go_on(0.5)
    assert not limit.is_exceeded_by(WEB)


def test_all_that_are_older_are_forgotten_at_once(limit, driven):
    assert [limit.is_exceeded_by(WEB) for _time in range(2)] == [False, False]
    driven.go_on(1.5)
    assert [limit.is_exceeded_by(WEB) for _time in range(3)] == [False, False, True]


def test_what_was_turned_away_does_not_count(limit, driven):
    for _time in range(5):
        limit.is_exceeded_by(WEB)
    driven.go_on(1)
    assert [limit.is_exceeded_by(WEB) for _time in range(3)] == [False, False, True]


def test_a_limit_of_one(driven):
    limit = part("rate_limit").RateLimit(1)
    assert [limit.is_exceeded_by(WEB) for _time in range(2)] == [False, True]


def test_no_limit(driven):
    limit = part("rate_limit").RateLimit(0)
    assert not any(limit.is_exceeded_by(WEB) for _time in range(50))


def test_a_reset_forgets_all(limit):
    for vm in (WEB, WEB, DB, DB):
        limit.is_exceeded_by(vm)
    limit.reset()
    assert not limit.is_exceeded_by(WEB)
    assert not limit.is_exceeded_by(DB)


def test_also_soon_after_the_machine_has_begun(limit, driven):
    driven.go_on(0.5 - driven.monotonic())
    assert [limit.is_exceeded_by(WEB) for _time in range(3)] == [False, False, True]
    driven.go_on(1)
    assert not limit.is_exceeded_by(WEB)


def test_a_large_limit(driven):
    limit = part("rate_limit").RateLimit(300)
    assert [limit.is_exceeded_by(WEB) for _time in range(301)] == [False] * 300 + [True]
