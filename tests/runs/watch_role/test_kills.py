# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watcher and its reflexes are killed at many moments: nothing is lost, nothing that was recorded is done again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time

import pytest
from helpers.simulator_process import Simulator
from helpers.waiting import PATIENCE, wait_until
from helpers.watcher_process import Watcher

pytestmark = [pytest.mark.rest, pytest.mark.once]
MOMENTS = 20
SECONDS_BETWEEN = 0.2


def noted(deeds, number):
    write = f'echo "$1 begins" >>{deeds}; sleep 0.4; echo "$1 ends" >>{deeds}'
    return {
        "number": number,
        "kind": "command",
        "arguments": {half: ["sh", "-c", write, "sh", f"{half} {number}"] for half in ("drain", "restore")},
    }


def recorded_as_done(watcher, number):
    with contextlib.suppress(OSError, ValueError):
        steps = json.loads(watcher.journal.read_text())["steps"]
        return any(step["number"] == number and step["status"] == "done" for step in steps)
    return False


@contextlib.contextmanager
def watched(folder, simulator, action, steps):
    """A watcher that has been there for a while."""
    reflex = {"reflex": [{"action": action, "past_others": True}], "steps": steps}
    watcher = Watcher(folder / "host", simulator.endpoint("web-0"), reflex=reflex)
    memory = {"incarnation": simulator.document("web-0")["DocumentIncarnation"], "generation": 1, "seen": {}}
    kept = watcher.journal.with_name("reflex_memory.json")
    kept.write_text(json.dumps({"sightings": {**memory, "others_gone_at": None}, "gone": None}))
    kept.chmod(0o600)
    watcher.start()
    try:
        watcher.wait_for(lambda status: status["this_host"])
        yield watcher
    finally:
        watcher.kill()
        for pid in watcher.reflex_pids():
            os.kill(pid, signal.SIGKILL)


def killed_at(watcher, moment):
    """The reflexes, and every other time the watcher as well. Gives the steps that were recorded as done."""
    time.sleep(moment * SECONDS_BETWEEN)
    done_before = [number for number in (1, 2) if recorded_as_done(watcher, number)]
    if moment % 2:
        watcher.kill()
    for pid in watcher.reflex_pids():
        os.kill(pid, signal.SIGKILL)
    if moment % 2:
        watcher.start()
    return done_before


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_killed_at_any_moment(moment, tmp_path):
    deeds = tmp_path / "deeds"
    with Simulator({"vms": [{"name": "web-0"}]}, requests_per_second=0) as simulator:
        steps = [noted(deeds, 1), noted(deeds, 2)]
        with watched(tmp_path, simulator, "drain_and_approve", steps) as watcher:
            simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900, dwell=1)
            done_before = killed_at(watcher, moment)
            simulator.wait_for("A1", "Finished", PATIENCE)
            wait_until(lambda: not watcher.journal.exists())
        approved = [line["approved"] for line in simulator.log() if line["method"] == "POST"]
    lines = deeds.read_text().splitlines()
    for number in done_before:
        assert lines.count(f"drain {number} begins") == 1
    assert approved
    assert all(one == ["A1"] for one in approved)
    for number in (1, 2):
        assert f"drain {number} ends" in lines
    assert lines[-1] == "restore 1 ends"
