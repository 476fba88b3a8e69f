# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be written about an event, and what a scenario adds."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import part

rules = part("event_rules")
InputError = part("input_checks").InputError
FAILURE = "Virtual machine has encountered a failure."
SCENARIOS = {
    "live_migration": {
        "type": "Freeze",
        "dwell": 300,
        "duration": 5,
        "description": "Virtual machine is being paused because of a memory-preserving Live Migration operation.",
    },
    "host_maintenance": {"type": "Freeze", "duration": 9},
    "user_reboot": {"type": "Reboot", "source": "User"},
    "user_redeploy": {"type": "Redeploy", "source": "User", "notice": 900},
    "platform_redeploy": {"type": "Redeploy", "notice": 900},
    "cancelled_maintenance": {"type": "Freeze", "duration": 9, "cancel_after": 480},
    "hardware_failure": {"type": "Reboot", "status": "Started", "description": FAILURE},
    "predicted_failure": {"type": "Redeploy", "notice": 432000},
    "spot_eviction": {"type": "Preempt"},
    "scale_in": {"type": "Terminate"},
}


def problem(**event):
    with pytest.raises(InputError) as error:
        rules.checked_event("it", event)
    return str(error.value)


@pytest.mark.parametrize(("scenario", "added"), SCENARIOS.items())
def test_what_a_scenario_adds(scenario, added):
    assert rules.checked_event("it", {"scenario": scenario}) == {"scenario": scenario, **added}


def test_there_is_no_other_scenario():
    assert problem(scenario="x").startswith(
        'it: "scenario" must be one of "cancelled_maintenance", "hardware_failure",'
    )
    assert problem(scenario="x").count('", "') == len(SCENARIOS) - 1


def test_what_is_written_beside_a_scenario_wins():
    event = rules.checked_event("it", {"scenario": "live_migration", "duration": 8, "source": "User"})
    assert (event["type"], event["duration"], event["dwell"], event["source"]) == ("Freeze", 8, 300, "User")


def test_an_event_has_a_type():
    assert problem(notice=5) == 'it: "type" (or "scenario") is missing'


@pytest.mark.parametrize("notice", [300, 301, 600, 899, 900])
def test_the_notice_that_the_owner_of_a_scale_set_may_choose(notice):
    assert rules.checked_event("it", {"type": "Terminate", "notice": notice})["notice"] == notice


@pytest.mark.parametrize("notice", [0, 299, 299.5, 900.5, 901, 90000])
def test_the_notice_that_he_may_not(notice):
    assert problem(type="Terminate", notice=notice) == (
        f'it: "notice" of a Terminate event must be 300 to 900 seconds, not {notice}'
    )


@pytest.mark.parametrize("kind", ["Preempt", "Reboot", "Zap"])
@pytest.mark.parametrize("notice", [0, 90000])
def test_other_types_have_any_notice(kind, notice):
    assert rules.checked_event("it", {"type": kind, "notice": notice})["notice"] == notice


@pytest.mark.parametrize(
    "event",
    [
        {"type": "Reboot", "impact_seconds": 0},
        {"type": "Reboot", "impact_seconds": 600},
        {"type": "Zap", "impact_seconds": 601, "dwell": 601},
        {"type": "Freeze", "impact_seconds": 20, "dwell": 20},
        {"type": "Freeze", "impact_seconds": 5, "dwell": 20},
    ],
)
def test_an_impact_that_ends_before_the_event_or_with_it(event):
    assert rules.checked_event("it", event) == event


@pytest.mark.parametrize(
    "event",
    [
        {"type": "Reboot", "impact_seconds": 601},
        {"type": "Reboot", "impact_seconds": 600.5},
        {"type": "Zap", "impact_seconds": 21, "dwell": 20},
    ],
)
def test_an_impact_that_would_end_later(event):
    assert problem(**event) == 'it: "impact_seconds" must not be longer than "dwell"'


@pytest.mark.parametrize("kind", ["Preempt", "Terminate"])
def test_a_vm_that_does_not_come_back_has_no_length_of_impact(kind):
    assert problem(type=kind, impact_seconds=5) == (
        f'it: "impact_seconds" makes no sense, a VM does not come back from {kind}'
    )


@pytest.mark.parametrize("word", ["after", "notice", "late", "approval_delay", "cancel_after", "dwell"])
def test_times_are_durations(word):
    assert problem(type="Reboot", **{word: -1}) == f'it: "{word}" must be a number of seconds, 0 or more, not -1'
