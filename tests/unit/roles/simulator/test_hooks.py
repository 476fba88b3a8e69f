# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's commands hear of starts and ends."""

from __future__ import annotations

import sys
import threading
import types

import pytest
from helpers.simulator_inside import part
from helpers.waiting import wait_until


def an_event(seconds=60):
    return types.SimpleNamespace(
        id="E",
        type="Reboot",
        resources=["web-0", "web-1"],
        scope=types.SimpleNamespace(name="web"),
        duration=-1,
        impact=types.SimpleNamespace(kind="down", seconds=seconds),
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that tells a change and gives what the command has written."""
    written = tmp_path / "stderr"
    words = "$SIM_EVENT_ID $SIM_EVENT_TYPE $SIM_EVENT_CHANGE $SIM_RESOURCES $SIM_GROUP $SIM_DURATION $SIM_IMPACT"
    # It has nothing to read, and its output is where the simulator says what goes wrong.
    command = f'cat; echo "{words} <$SIM_IMPACT_SECONDS>"; echo end'

    def told(event, change):
        with written.open("w") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            part("hooks").hook_runner({"started": command, "finished": None})(event, change)
            if change == "started":
                wait_until(lambda: written.read_text().endswith("end\n"), written.read_text, 10)
        return written.read_text()

    return told


@pytest.mark.parametrize(("seconds", "shown"), [(60, "60"), (0, "0"), (None, "")])
def test_it_is_told_all_about_the_event(run, seconds, shown):
    assert run(an_event(seconds), "started") == f"E Reboot started web-0,web-1 web -1 down <{shown}>\nend\n"


def test_no_command_is_no_problem(run):
    assert run(an_event(), "finished") == ""
    assert run(an_event(), "created") == ""


def test_the_simulator_may_end_while_a_command_still_runs(tmp_path, monkeypatch):
    before = set(threading.enumerate())
    with (tmp_path / "stderr").open("w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        part("hooks").hook_runner({"started": "sleep 0.5"})(an_event(), "started")
        (runs,) = set(threading.enumerate()) - before
        assert runs.daemon
        runs.join(10)
