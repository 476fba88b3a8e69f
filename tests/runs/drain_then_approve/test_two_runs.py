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

import pytest
from helpers.fleet import RollFleet

pytestmark = pytest.mark.waits

LEASE_SECONDS = 30
LEASE = ("-e", f"__maintenance_lease_seconds={LEASE_SECONDS}")


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=3, domains=2) as built:
        yield built


def reboot(fleet, number, **more):
    event = {"id": f"E{number}", "type": "Reboot", "resources": [f"web-{number}"], "dwell": 1, **more}
    fleet.simulator.add_event(**event)


def slow(fleet, host, seconds, word="drain"):
    """A step that takes its time, as long as the file is there that is returned."""
    is_slow = fleet.folder / f"{host} is slow"
    is_slow.touch()
    noted = fleet.noted_step(host)
    wait = ["sh", "-c", f"[ ! -e '{is_slow}' ] || sleep {seconds}"]
    waiting = {"command": {"drain": ["true"], word: wait, "timeout": seconds + 60}}
    # The last of both directions.
    fleet.host_vars[host]["drain_steps"] = [noted, waiting] if word == "drain" else [waiting, noted]
    return is_slow


@pytest.mark.rest
def test_two_patterns_of_one_group(fleet):
    """Both runs end well, one after the other where they must."""
    for number in range(3):
        reboot(fleet, number, notice=900 + number, dwell=2)
    with (
        fleet.start("even", "-e", "maintenance_hosts=web-0,web-2") as even,
        fleet.start("odd", "-e", "maintenance_hosts=web-1") as odd,
    ):
        assert even.end() == 0, even.output
        assert odd.end() == 0, odd.output
    fleet.assert_one_domain_at_a_time()
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    assert sorted(fleet.approvals()) == ["E0", "E1", "E2"]
    assert fleet.drained_hosts() == []
    assert not any(fleet.lease(host).get("notes") for host in fleet.domain_of)


@pytest.mark.rest
def test_groups_of_their_own_run_side_by_side(tmp_path):
    with RollFleet(tmp_path, hosts=2, domains=2) as fleet:
        for number in range(2):
            fleet.host_vars[f"web-{number}"]["maintenance_delivery_group"] = f"set-{number}"
            slow(fleet, f"web-{number}", 6)
            reboot(fleet, number)
        with (
            fleet.start("one", "-e", "maintenance_hosts=web-0") as one,
            fleet.start("other", "-e", "maintenance_hosts=web-1") as other,
        ):
            assert one.end() == 0, one.output
            assert other.end() == 0, other.output
        drained = sorted(at for word, _host, at in fleet.notes() if word == "drain")
        assert drained[1] - drained[0] < 6


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
                # Only the note says that web-0 may be down: nobody of the other domain goes until that is known.
                time.sleep(10)
                assert fleet.count("drain", "web-1") == 0
            sleeper.wake()
            assert sleeper.end() == 0, sleeper.output
            assert other.end() == 0, other.output
    fleet.assert_one_domain_at_a_time()
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    assert fleet.drained_hosts() == []


@pytest.mark.rest
def test_history_1_the_other_run_reads_the_host(fleet):
    """Nothing is out, so that the other run begins with what is due first. Who wakes must not go by his old plan."""
    reboot(fleet, 0, notice=1000)
    slow(fleet, "web-1", 15)
    with fleet.start("sleeper", *LEASE) as sleeper:
        sleeper.wait_for(lambda: fleet.is_noted_and_nobody_writes("web-0"))
        sleeper.stop()
        reboot(fleet, 1, notice=600)
        time.sleep(LEASE_SECONDS + 1)
        with fleet.start("other", *LEASE) as other:
            other.wait_for(lambda: fleet.count("drain", "web-1") or fleet.count("drain", "web-0"))
            sleeper.wake()
            assert sleeper.end() == 0, sleeper.output
            assert other.end() == 0, other.output
    fleet.assert_one_domain_at_a_time()
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    assert set(fleet.approvals()) == {"E0", "E1"}
    assert fleet.drained_hosts() == []


@pytest.mark.rest
def test_history_3_a_run_that_never_looks_at_the_host(fleet):
    reboot(fleet, 0, notice=5000)
    fleet.simulator.fault(kind="hang", seconds=600, method="POST")
    fleet.roll_and_kill_when(fleet.was_sent, "-e", "maintenance_hosts=web-0,web-2", *LEASE)
    fleet.simulator.clear_faults()
    assert fleet.drained_hosts() == ["web-0"]
    reboot(fleet, 1, notice=900)
    run = fleet.roll("-e", "maintenance_hosts=web-1", "-e", "approve_wait_timeout=5", *LEASE)
    assert run.code == 2
    assert "Not begun: event E1" in " ".join(run.output.split())
    assert "web-0" in run.output[run.output.index("Not begun: event E1") :]
    assert fleet.count("drain", "web-1") == 0
    run = fleet.roll(*LEASE)
    assert run.code == 0, run.output
    fleet.assert_one_domain_at_a_time()
    assert set(fleet.approvals()) == {"E0", "E1"}


@pytest.mark.rest
def test_history_5_a_return_that_was_not_finished(fleet):
    """Killed while web-0 comes back: its journal no longer counts as drained, so that its event is not approved so."""
    reboot(fleet, 0, notice=5000)
    is_slow = slow(fleet, "web-0", 120, "restore")
    fleet.roll_and_kill_when(lambda: _journal_says(fleet, "web-0", "drained"), *LEASE)
    fleet.simulator.cancel("E0")
    fleet.roll_and_kill_when(lambda: fleet.count("restore", "web-0"), *LEASE)
    assert _journal_says(fleet, "web-0", "restoring")
    is_slow.unlink()
    fleet.simulator.add_event(id="E1", type="Reboot", resources=["web-0"], dwell=1, notice=900)
    run = fleet.roll(*LEASE)
    assert run.code == 0, run.output
    fleet.assert_restored_only_after_the_end()
    assert fleet.approvals() == ["E1"]
    drained = [at for word, host, at in fleet.notes() if (word, host) == ("drain", "web-0")]
    assert len(drained) == 2
    assert drained[-1] < fleet.approved_at()["E1"]
    assert fleet.drained_hosts() == []


def _journal_says(fleet, host, state):
    path = fleet.journal(host)
    return path.exists() and json.loads(path.read_text())["state"] == state


def test_history_11_a_controller_that_died_in_a_long_step(fleet):
    """Another one begins within two minutes, in the middle of the step of 300 seconds."""
    reboot(fleet, 0, notice=5000)
    is_slow = slow(fleet, "web-0", 300)
    with fleet.start("dead", *LEASE) as dead:
        dead.wait_for(lambda: fleet.count("drain", "web-0"))
        dead.kill_the_controller_alone()
        died = time.time()
        is_slow.unlink()
        reboot(fleet, 1, notice=900)
        with fleet.start("next", *LEASE) as following:
            following.wait_for(lambda: len(fleet.notes()) > 1, timeout=died + 120 - time.time())
            assert following.end() == 0, following.output
    fleet.assert_one_domain_at_a_time()
    assert set(fleet.approvals()) == {"E0", "E1"}
    assert fleet.drained_hosts() == []


@pytest.mark.rest
def test_a_dead_run_of_another_controller_is_taken_over_within_two_minutes(fleet):
    """With the real lease. The record says another controller, so that nobody can see that the process is dead."""
    reboot(fleet, 0)
    fleet.roll_and_kill_when(lambda: _journal_says(fleet, "web-0", "drained"))
    half_a_minute_ago(fleet)
    dead = fleet.lease("web-0")["lease"]
    with fleet.start("next") as following:
        following.wait_for(lambda: fleet.lease("web-0")["lease"] not in (None, dead))
        # By the clock of the keeper, however long it takes to start a run on this machine.
        waited = fleet.lease("web-0")["lease"]["counted_from"] - dead["counted_from"]
        assert dead["seconds"] <= waited < 120
        assert following.end() == 0, following.output
    assert fleet.approvals() == ["E0"]


def half_a_minute_ago(fleet):
    """Another controller had the lease renewed for the last time."""
    for path in fleet.folder.glob("*.lock"):
        kept = json.loads(path.read_text())
        kept["lease"].update(controller="another", counted_from=kept["lease"]["counted_from"] - 30)
        path.write_text(json.dumps(kept))


@pytest.mark.rest
def test_two_hosts_of_which_one_is_lost(tmp_path):
    """Both would be needed for the lease; to return the other to service none is needed."""
    with RollFleet(tmp_path, hosts=2, domains=2) as fleet:
        reboot(fleet, 0)
        fleet.roll_and_kill_when(lambda: _journal_says(fleet, "web-0", "drained"))
        fleet.simulator.cancel("E0")
        fleet.host_vars["web-1"].update(ansible_connection="ssh", ansible_host="192.0.2.1", ansible_ssh_timeout=1)
        run = fleet.roll()
        assert fleet.drained_hosts() == [], run.output
        assert fleet.count("restore", "web-0") == 1


@pytest.mark.rest
def test_nothing_of_a_run_outlives_it_in_a_fact_cache(fleet):
    reboot(fleet, 0)
    cache = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(fleet.folder / "facts")}
    first = fleet.roll(**cache)
    assert first.code == 0, first.output
    reboot(fleet, 1)
    second = fleet.roll(**cache)
    assert second.code == 0, second.output
    assert fleet.approvals() == ["E0", "E1"]
    assert set(fleet.summary(second)["events"]) == {"E1"}
    kept = "".join(path.read_text() for path in (fleet.folder / "facts").glob("*") if path.is_file())
    assert "maintenance_roll" not in kept


@pytest.mark.rest
def test_single_vms_without_a_zone_go_one_by_one(tmp_path):
    """Nothing shows which of them share a domain, and all say 0."""
    with RollFleet(tmp_path, hosts=3, domains=3, single_vms=True) as fleet:
        for number in range(3):
            reboot(fleet, number)
        run = fleet.roll()
        assert run.code == 0, run.output
        fleet.assert_one_domain_at_a_time()
        assert sorted(fleet.approvals()) == ["E0", "E1", "E2"]
        assert "maintenance_delivery_group" in run.output
