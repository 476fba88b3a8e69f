# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user has set, in all forms in which Ansible hands it over; and how a run is written."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.model import (
    RunSettings,
    Settings,
    read_run_settings,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.run import begin
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.run_state import as_read, as_written

# What the user has set, in all forms in which Ansible hands it over.


@pytest.mark.parametrize(
    "nothing", [{}, {"maintenance_min_in_service": None, "drain_timeout": "", "plan_only": "None"}]
)
def test_what_is_left_out_has_its_default(nothing):
    run_settings = read_run_settings(nothing)
    assert (run_settings.patience, run_settings.healthy_timeout, run_settings.oldest_reading) == (1800.0, 600.0, 40.0)
    assert (run_settings.settings.min_in_service, run_settings.settings.overlap, run_settings.plan_only) == (
        None,
        "wait",
        False,
    )
    assert run_settings.uncovered == RunSettings().uncovered


def test_texts_do_as_well():
    run_settings = read_run_settings(
        {
            "approve_wait_timeout": "5",
            "drain_reserve": 0,
            "maintenance_min_in_service": " 50 % ",
            "maintenance_continue_after_failure": "yes",
            "maintenance_overlap": "proceed",
            "plan_only": "False",
        }
    )
    assert (run_settings.patience, run_settings.settings.reserve, run_settings.settings.min_in_service) == (
        5.0,
        0.0,
        "50 %",
    )
    assert (run_settings.continue_after_failure, run_settings.settings.overlap, run_settings.plan_only) == (
        True,
        "proceed",
        False,
    )


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"approve_wait_timeout": "30m"}, "approve_wait_timeout must be a whole number of seconds"),
        ({"restore_timeout": 0}, "restore_timeout must be a whole number of seconds"),
        ({"drain_timeout": True}, "drain_timeout must be a whole number of seconds"),
        ({"maintenance_overlap": "maybe"}, "maintenance_overlap must be wait or proceed"),
        ({"maintenance_on_failed_drain": "cry"}, "maintenance_on_failed_drain must be restore or leave"),
        ({"maintenance_min_in_service": "most"}, "maintenance_min_in_service must be a number of hosts or a share"),
        ({"maintenance_continue_after_failure": "perhaps"}, "must be true or false"),
    ],
)
def test_what_can_not_be_used_is_said(setting, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_run_settings(setting)


def test_all_that_can_be_set():
    given = {
        "policy": [{"action": "drain"}],
        "approve_uncovered": "allow",
        "maintenance_max_at_once": "3",
        "maintenance_on_failed_drain": "leave",
        "maintenance_healthy_timeout": 7,
        "approve_wait_timeout": 8,
        "lease_seconds": 45,
        "reading_holds": "12.5",
        "drain_timeout": 9,
        "drain_reserve": 10,
        "maintenance_min_in_service": 2,
        "plan_only": True,
    }
    assert read_run_settings(given) == RunSettings(
        policy=[{"action": "drain"}],
        uncovered="allow",
        max_at_once="3",
        on_failed_drain="leave",
        plan_only=True,
        patience=8.0,
        healthy_timeout=7.0,
        oldest_reading=20.0,
        reading_holds=12.5,
        settings=Settings(min_in_service="2", drain_timeout=9.0, reserve=10.0, uncovered="allow"),
    )


def test_the_defaults_of_a_run():
    assert read_run_settings({}) == RunSettings(settings=Settings(drain_timeout=600.0, reserve=5.0))
    defaults = RunSettings()
    assert (defaults.patience, defaults.healthy_timeout) == (1800.0, 600.0)
    assert (defaults.oldest_reading, defaults.reading_holds) == (40.0, 80.0)
    assert (defaults.continue_after_failure, defaults.plan_only) == (False, False)


@pytest.mark.parametrize(
    ("value", "flag"),
    [(True, True), (False, False), ("yes", True), ("On", True), (1, True), (" true ", True)]
    + [("no", False), ("Off", False), (0, False), ("false", False), (" ", False)],
)
def test_words_for_yes_and_no(value, flag):
    assert read_run_settings({"plan_only": value}).plan_only is flag
    assert read_run_settings({"maintenance_continue_after_failure": value}).continue_after_failure is flag
    assert read_run_settings({"maintenance_continue_after_failure": value}).settings.continue_after_failure is flag


@pytest.mark.parametrize("name", ["drain_timeout", "approve_wait_timeout", "restore_timeout"])
@pytest.mark.parametrize("value", ["0", 0, "-1", "1.5", "01", False])
def test_seconds_are_one_or_more(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a whole number of seconds"):
        read_run_settings({name: value})


@pytest.mark.parametrize("value", [0, "0", " 0 "])
def test_only_the_reserve_may_be_none(value):
    assert read_run_settings({"drain_reserve": value}).settings.reserve == 0.0


@pytest.mark.parametrize("value", ["", "5 0", "%", "50%%", "-1", "1.5"])
def test_hosts_in_service_are_a_number_or_a_share(value):
    if value:
        with pytest.raises(ValueError, match="maintenance_min_in_service must be"):
            read_run_settings({"maintenance_min_in_service": value})
    else:
        assert read_run_settings({"maintenance_min_in_service": value}).settings.min_in_service is None


# What is written of a run grows with its hosts, not with their square.


def state_of(shows):
    hosts = list(shows)
    state = begin("run", 0.0, hosts, dict.fromkeys(hosts, ""), None)
    state["kept"] = {
        host: {"vm": host, "shows": ids, "showed": [] if ids else ["E0"], "accounts": [{"id": ids}], "journal": None}
        for host, ids in shows.items()
    }
    return state


def test_what_was_written_comes_back():
    state = state_of({"a": ["E1", "E2"], "b": ["E2", "E1"], "c": [], "d": None, "e": ["E1", "E2"]})
    assert as_read(json.loads(json.dumps(as_written(state)))) == json.loads(json.dumps(state))


def test_what_all_hosts_show_is_written_once():
    events = [f"event-{number}" for number in range(300)]
    state = state_of({f"web-{number}": list(events) for number in range(300)})
    text = json.dumps(as_written(state))
    assert [text.count(event + '\\"') for event in events] == [2] * 300
    assert state["kept"]["web-0"]["shows"] == events
