# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two profiles: as Azure is, and as a test in a hurry wants it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import pytest
from helpers import ROOT
from helpers.simulator_process import PROGRAM, Simulator, SimulatorControl

GUIDE = ROOT / "docs" / "simulator.md"
# What differs: the setting, in the profile azure, in the profile quick.
DIFFERENCES = {
    "first_call_seconds": (120, 0),
    "empty_while_switching_on": (True, False),
    "events_after_seconds": (180, 0),
    "user_events_wait_when_off": (False, True),
    "impact": (True, False),
}


def settings_of(**more):
    with Simulator(**more) as simulator:
        state = simulator.state()
        return state["profile"], state["settings"]


@pytest.fixture(scope="module")
def azure():
    return settings_of(profile="azure")


@pytest.fixture(scope="module")
def quick():
    return settings_of(profile="quick")


def test_the_profiles_differ_in_these_settings_only(azure, quick):
    assert {
        name: (azure[1][name], quick[1][name]) for name in azure[1] if azure[1][name] != quick[1][name]
    } == DIFFERENCES
    assert (azure[0], quick[0]) == ("azure", "quick")


def test_both_allow_5_requests_a_second_and_switch_off_after_a_day(azure, quick):
    for _name, settings in (azure, quick):
        assert (settings["requests_per_second"], settings["off_after_seconds"]) == (5, 86400)


def test_the_guide_has_a_line_for_each_difference():
    table = re.search(r"\| setting \| `azure` \| `quick` \|.*?\n\n", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    lines = re.findall(r"^\| `(\w+)` \| `(.*?)`.*? \| `(.*?)`.*? \|$", table.group(0), re.MULTILINE)
    assert {name: (json.loads(first), json.loads(second)) for name, first, second in lines} == DIFFERENCES


def test_azure_is_the_default(tmp_path):
    fleet = tmp_path / "fleet.json"
    fleet.write_text('{"vms": [{"name": "a"}]}')
    command = [sys.executable, str(PROGRAM), "--fleet", str(fleet), "--port", "0", "--stop-with-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _time in range(3)]
        state = SimulatorControl(lines[1].split()[1]).state()
        process.stdin.close()
    assert (state["profile"], state["settings"]["first_call_seconds"]) == ("azure", 120)


def test_settings_of_the_fleet_file_and_options_win_over_the_profile():
    _name, settings = settings_of(profile="azure", events_after_seconds=7, arguments=["--first-call-seconds", "3"])
    assert (settings["events_after_seconds"], settings["first_call_seconds"], settings["impact"]) == (7, 3, True)


def test_a_profile_that_nobody_knows_is_told():
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), "--profile", "slow", "--check", "--fleet", "-"],
        input='{"vms": [{"name": "a"}]}', capture_output=True, text=True, timeout=10, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "'azure', 'quick'" in ended.stderr


def test_in_azure_the_first_call_is_late_and_events_come_later_still():
    fleet = {"vms": [{"name": "a"}], "events": [{"id": "E", "type": "Reboot", "resources": ["a"], "notice": 90000}]}
    with Simulator(fleet, profile="azure", speed=300) as simulator:
        begin = time.monotonic()
        first = simulator.document("a")
        assert 0.35 < time.monotonic() - begin < 0.9
        assert first["Events"] == []
        time.sleep(0.75)
        shown = simulator.document("a")
        assert [event["EventId"] for event in shown["Events"]] == ["E"]
        assert shown["DocumentIncarnation"] != first["DocumentIncarnation"]


@pytest.mark.parametrize(
    ("profile", "event", "status"),
    [
        ("azure", {"scenario": "user_reboot"}, "Started"),
        ("azure", {"scenario": "scale_in"}, "Started"),
        ("azure", {"type": "Reboot"}, "Scheduled"),
        ("quick", {"scenario": "user_reboot"}, "Scheduled"),
        ("quick", {"scenario": "scale_in"}, "Scheduled"),
    ],
)
def test_what_an_event_does_that_nobody_polls_for(profile, event, status):
    with Simulator(profile=profile) as simulator:
        assert simulator.add_event(resources=["a"], **event)["status"] == status
