# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of the model that are properties of its data."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import (
    Event,
    Host,
    Journal,
    Mark,
    Move,
    Settings,
)


@pytest.mark.parametrize(
    ("kind", "action", "takes_down"),
    [
        ("Freeze", "approve", False),
        ("Freeze", "drain", True),
        ("Freeze", "ignore", True),
        ("Freeze", "", True),
        ("Reboot", "approve", True),
        ("A", "approve", True),
    ],
)
def test_only_a_freeze_that_is_approved_without_a_drain_takes_nothing_down(kind, action, takes_down):
    assert Event("E", kind, "Scheduled", None, (), action=action).takes_down is takes_down


@pytest.mark.parametrize(("status", "started"), [("Started", True), ("Scheduled", False), ("Zzz", False)])
def test_only_started_has_started(status, started):
    assert Event("E", "Reboot", status, None, ()).started is started


@pytest.mark.parametrize(
    ("kind", "vanishing"), [("Preempt", True), ("Terminate", True), ("Reboot", False), ("Freeze", False)]
)
def test_what_takes_the_vm_away(kind, vanishing):
    assert Event("E", kind, "Scheduled", None, ()).vanishing is vanishing


def test_the_place_in_the_document_is_the_date_and_then_the_id():
    first = Event("b", "Reboot", "Scheduled", 5.0, ())
    assert first.order == (5.0, "b")
    assert Event("A", "Reboot", "Scheduled", 5.0, ()).order == (5.0, "a")
    now = float("-inf")
    assert Event("C", "Reboot", "Scheduled", None, ()).order == (now, "c")
    assert Event("D", "Reboot", "Started", 5.0, ()).order == (now, "d")


def test_what_is_assumed_where_nothing_is_said():
    settings = Settings()
    assert (settings.overlap, settings.min_in_service, settings.max_at_once) == ("wait", None, None)
    assert (settings.drain_timeout, settings.reserve, settings.resend_after) == (300.0, 60.0, 60.0)
    assert (settings.continue_after_failure, settings.uncovered) == (False, "refuse")
    journal = Journal("x")
    assert (journal.drained, journal.finished, journal.returning) == (False, False, False)
    assert journal.worked_on_until == float("-inf")
    host = Host("a", "set", "0")
    assert (host.read, host.healthy, host.stuck) == (True, True, "")
    move = Move("hold", "set", ())
    assert (move.needs_lease, move.never, move.short_of_service, move.until) == (False, False, False, None)
    mark = Mark("E", (), 0.0)
    assert (mark.takes_down, mark.vanishing) == (True, False)
