# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes that were found by reading, and must not come back."""

from __future__ import annotations

import json
import time

import pytest
from roll_fleet import RollFleet


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=2, domains=2) as built:
        yield built


def test_an_event_that_needs_no_drain_does_not_hurry_the_drain_of_another(fleet):
    for kind, event_id, notice in (("Freeze", "F", 120), ("Reboot", "R", 900)):
        fleet.simulator.add_event(id=event_id, type=kind, resources=["web-0"], notice=notice, duration=5, dwell=1)
    began = time.time()
    run = fleet.roll()
    assert run.code == 0, run.output
    assert sorted(fleet.approvals()) == ["F", "R"]
    drained = run.of("maintenance.azure.drain : Drain, as far as no other tasks are needed", "web-0")
    assert drained["event_starts_at"] - began > 300


@pytest.mark.parametrize("setting", ["approve_wait_timeout=30m", "restore_timeout=0"])
def test_a_setting_that_can_not_be_used_is_refused_before_anything_is_done(fleet, setting):
    fleet.event_per_domain()
    run = fleet.roll("-e", setting)
    assert run.code == 2
    assert "whole numbers of seconds" in run.output
    assert (fleet.notes(), fleet.approvals(), fleet.drained_hosts()) == ([], [], [])


def test_a_host_whose_journal_can_not_be_read_may_be_drained(fleet):
    fleet.journal("web-1").write_text("{")
    run = fleet.roll()
    assert run.code == 2, run.output
    assert fleet.summary(run)["left"]["failed"] == ["web-1"]
    assert "Not known whether an earlier run left it drained: web-1" in " ".join(run.output.split())


@pytest.mark.long
def test_nothing_that_was_left_behind_is_restored_without_the_lock(fleet):
    fleet.event_per_domain(notice=900)
    fleet.roll_and_kill_when(lambda: fleet.count("drain", "web-0"))
    for event in fleet.simulator.events():
        fleet.simulator.cancel(event["id"])
    lock = {"run_id": "other", "user": "u", "host": "h", "note": "", "controller": "c", "pid": 1, "process_start": "1"}
    lock["taken_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    lock["expires_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 900))
    foreign = fleet.folder / "foreign.lock"
    foreign.write_text(json.dumps(lock))
    # While the hosts are read, another run takes the lock on all keepers.
    steal = "; ".join(f"cp {foreign} {fleet.folder}/{host}.lock" for host in fleet.domain_of)
    for host in fleet.domain_of:
        path = fleet.journal(host)
        fleet.host_vars[host]["drain_journal"] = f"{{{{ lookup('pipe', '{steal}; echo {path}') }}}}"
    run = fleet.roll()
    assert run.code == 2, run.output
    assert fleet.count("restore", "web-0") == 0
    assert "Nothing was restored" in " ".join(run.output.split())
    assert fleet.drained_hosts()
