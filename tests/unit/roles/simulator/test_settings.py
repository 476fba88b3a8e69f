# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of the profiles, and what may be set."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import part

settings = part("settings")
VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
AZURE = {
    "speed": 1,
    "first_call_seconds": 120,
    "empty_while_switching_on": True,
    "events_after_seconds": 180,
    "off_after_seconds": 24 * 60 * 60,
    "reset_incarnation": True,
    "requests_per_second": 5,
    "unknown_event_status": 200,
    "user_events_wait_when_off": False,
    "impact": True,
    "api_versions": VERSIONS,
}
IN_A_HURRY = {
    "first_call_seconds": 0,
    "empty_while_switching_on": False,
    "events_after_seconds": 0,
    "user_events_wait_when_off": True,
    "impact": False,
}


def test_azure_where_it_is_slowest():
    assert settings.PROFILES["azure"] == AZURE


def test_quick_differs_in_what_takes_time_or_vms():
    assert settings.PROFILES["quick"] == {**AZURE, **IN_A_HURRY}


@pytest.mark.parametrize("name", ["azure", "quick"])
def test_each_setting_of_a_profile_may_be_written_and_there_is_no_other(name):
    profile = settings.PROFILES[name]
    assert set(settings.SETTING_RULES) == set(profile)
    assert [settings.SETTING_RULES[word](value) for word, value in profile.items()] == [None] * len(profile)


@pytest.mark.parametrize("value", [[], ["2020-07-01", "2025-04-07"], ["2025-04-07", "2020-07-01"], "2020-07-01", None])
def test_versions_are_a_list_of_those_that_events_have(value):
    assert settings.versions_of_events(value) == (
        "a list of api-versions, each one of 2017-03-01, 2017-08-01, 2017-11-01, 2019-01-01, 2019-04-01, 2019-08-01, "
        "2020-07-01"
    )


def test_some_versions_are_enough():
    assert settings.versions_of_events(["2019-01-01", "2017-08-01"]) is None
