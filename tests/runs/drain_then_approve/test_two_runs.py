# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that meet, die, sleep and wake: still one domain at a time, and nobody is kept out for long.

The numbers are those of the histories in docs/waves.md. A lease of 30 seconds stands for the real one of 90:
with less, a busy machine is too slow for what a host allows.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from helpers.fleet import RunFleet
from helpers.leases import owner
from helpers.waiting import PATIENCE

pytestmark = pytest.mark.waits(long=True)

LEASE_SECONDS = 30
LEASE = ("-e", f"__maintenance_lease_seconds={LEASE_SECONDS}")

THEIRS = {**owner("invented", controller="elsewhere"), "taken_at": "2026-11-16T00:00:00Z"}


def boot_id():
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture
def fleet(tmp_path):
    with RunFleet(tmp_path, hosts=3, domains=2) as built:
        yield built


def reboot(fleet, number, **more):
    event = {"id": f"E{number}", "type": "Reboot", "resources": [f"web-{number}"], "dwell": 1, **more}
    fleet.simulator.add_event(**event)


def test_history_1_a_run_that_slept_over_its_plan(fleet):
    reboot(fleet, 0, notice=1000)
    with fleet.start("sleeper", *LEASE) as sleeper:
        sleeper.wait_for(lambda: fleet.is_noted_and_nobody_writes("web-0"))
        sleeper.stop()
        drained_before = fleet.count("drain", "web-0")
        reboot(fleet, 1, notice=600, dwell=20)
        time.sleep(LEASE_SECONDS + 1)
        with fleet.start("other", *LEASE, "-e", "maintenance_hosts=web-1") as other:
            if not drained_before:
                # The note says that web-0 may be down; this run has the lease, reads it, and finds it in service.
                other.wait_for(lambda: fleet.count("drain", "web-1"))
            sleeper.wake()
            assert sleeper.end() == 0, sleeper.output
            assert other.end() == 0, other.output
    fleet.assert_one_domain_at_a_time()
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    assert fleet.drained_hosts() == []


def test_history_11_a_controller_that_died_in_a_long_step(fleet):
    """Another one begins in the middle of the step."""
    reboot(fleet, 0, notice=5000)
    is_slow = fleet.folder / "slow"
    is_slow.touch()
    # Longer than anything is waited for here.
    wait = ["sh", "-c", f"[ ! -e {is_slow} ] || sleep {PATIENCE + 200}"]
    step = {"command": {"drain": wait, "timeout": PATIENCE + 250}}
    fleet.host_vars["web-0"]["drain_steps"] = [fleet.noted_step("web-0"), step]
    with fleet.start("dead", *LEASE) as dead:
        dead.wait_for(lambda: fleet.count("drain", "web-0"))
        dead.kill_the_controller_alone()
        is_slow.unlink()
        reboot(fleet, 1, notice=900)
        with fleet.start("next", *LEASE) as following:
            following.wait_for(lambda: len(fleet.notes()) > 1)
            assert following.end() == 0, following.output
    fleet.assert_one_domain_at_a_time()
    assert set(fleet.approvals()) == {"E0", "E1"}
    assert fleet.drained_hosts() == []


@pytest.mark.rest
def test_a_lock_host_that_refuses_for_ever_holds_the_run_up_for_90_seconds_and_is_named(fleet):
    """Whoever is root there writes that somebody else has the lease, though nobody does."""
    reboot(fleet, 0, notice=1000)
    lease = {"version": 2, "lease": {**THEIRS, "boot_id": boot_id(), "counted_from": 0, "seconds": 10**9}, "notes": []}
    (fleet.folder / "web-2.lock").write_text(json.dumps(lease))
    run = fleet.run().ended()
    said = " ".join(run.output.split())
    assert run.seconds > 90
    assert "Event E0 waits: The lease" in said
    assert "web-2 refuses it. web-2 says that it is held by run invented of" in said
    assert "without reason since" in said
    assert fleet.approvals() == ["E0"]
    assert fleet.drained_hosts() == []


@pytest.mark.rest
def test_nothing_of_a_run_outlives_it_in_a_fact_cache(fleet):
    reboot(fleet, 0)
    cache = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(fleet.folder / "facts")}
    fleet.run(**cache).ended()
    reboot(fleet, 1)
    second = fleet.run(**cache).ended()
    assert fleet.approvals() == ["E0", "E1"]
    assert set(fleet.summary(second)["events"]) == {"E1"}
    kept = "".join(path.read_text() for path in (fleet.folder / "facts").glob("*") if path.is_file())
    assert "maintenance_run" not in kept
