# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log forgets the oldest requests before it fills the memory."""

from __future__ import annotations

import types

import pytest
from helpers.simulator_inside import a_request, part

VM = types.SimpleNamespace(key="web-0")


def test_so_many_are_kept(driven):
    log = part("request_log").RequestLog(longest=3)
    for _time in range(5):
        log.begin(VM, a_request("GET", "/"))
    assert [entry["seq"] for entry in log.entries()] == [3, 4, 5]


@pytest.mark.parametrize("longest", [200_000])
def test_two_hundred_thousand_unless_told_otherwise(longest):
    assert part("request_log").RequestLog()._entries.maxlen == longest


def test_who_reads_it_has_a_copy(driven):
    log = part("request_log").RequestLog()
    entry = log.begin(VM, a_request("GET", "/"))
    seen = log.entries()
    entry["status"] = 200
    assert (seen[0]["status"], log.entries()[0]["status"]) == (None, 200)
