# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One task tells what is planned and what the journal says, whatever one of the two has to complain about."""

from __future__ import annotations

import shutil

import pytest
from helpers import transports as ways
from helpers.ansible_run import fleet_inventory, play
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest

STATE = {
    "name": "State",
    "maintenance.azure._host_state": {"journal": "{{ inventory_dir }}/j/journal.json"},
    "failed_when": False,
}
JOURNAL = {
    "name": "Journal",
    "maintenance.azure.drain_journal": {"path": "{{ inventory_dir }}/j/journal.json", "state": "begin", "run_id": "r"},
}


@pytest.fixture(scope="module")
def simulator():
    with Simulator({"vms": [{"name": "web"}]}, requests_per_second=0) as fleet:
        fleet.add_event(id="A1", type="Reboot", resources=["web"], notice=9000)
        yield fleet


@pytest.mark.parametrize("way", ways.TO_PYTHON)
def test_with_and_without_a_journal(tmp_path, simulator, way):
    simulator.clear_faults()
    hosts = fleet_inventory(tmp_path, simulator, **ways.host_vars(tmp_path, way))
    info = {"name": "Info", "maintenance.azure.scheduled_event_info": {"affecting": "any"}}
    tasks = (STATE, info, JOURNAL, {**STATE, "name": "Open"})
    # Both with curl, where the shell tells that there is no journal, and without.
    for keywords in ({}, ways.play_keywords(tmp_path, way)):
        (tmp_path / "j" / "journal.json").unlink(missing_ok=True)
        run = play(tmp_path, hosts, *tasks, **keywords)
        assert run.code == 0, run.output
        state, told = run.of("State"), run.of("Info")
        assert (state["journal"], state["journal_problem"]) == (None, "")
        assert set(told) - set(state) <= {"invocation"}
        assert [event["id"] for event in state["events"]] == ["A1"]
        assert run.of("Open")["journal"]["state"] == "draining"


def test_a_bad_reading_has_no_events_and_still_a_journal(tmp_path, simulator):
    simulator.fault(kind="html")
    hosts = fleet_inventory(tmp_path, simulator)
    run = play(tmp_path, hosts, JOURNAL, STATE)
    state = run.of("State")
    assert "events" not in state
    assert "HTML" in state["msg"]
    assert state["journal"]["run_id"] == "r"
    simulator.clear_faults()


def test_a_journal_that_can_not_be_believed_is_told(tmp_path, simulator):
    (tmp_path / "j").mkdir()
    (tmp_path / "j" / "journal.json").write_text("nonsense")
    state = play(tmp_path, fleet_inventory(tmp_path, simulator), STATE).of("State")
    assert (state["journal"], state["events"][0]["id"]) == (None, "A1")
    assert "can't be understood" in state["journal_problem"]


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh on this machine: install openssh-client")
def test_a_host_that_can_not_be_reached(tmp_path, simulator):
    hosts = fleet_inventory(
        tmp_path, simulator, ansible_connection="ssh", ansible_host="127.0.0.1", ansible_port=1, ansible_user="x"
    )
    run = play(tmp_path, hosts, STATE, ignore_unreachable=True)
    assert run.of("State")["unreachable"] is True
    assert "events" not in run.of("State")
