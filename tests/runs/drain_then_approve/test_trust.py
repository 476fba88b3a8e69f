# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host speaks for itself alone: hosts that lie about others, in whole runs.

A host that lies has a metadata service of its own, with what it wants the run to trust.
"""

from __future__ import annotations

import json
import time

import pytest
from helpers.fleet import RunFleet
from helpers.network import unreachable_host
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.waits

JINJA_HEADER = "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'id') ]]"
EVERYBODY = ["web-0", "web-1", "web-2", "web-3"]


@pytest.fixture
def fleet(tmp_path):
    with RunFleet(tmp_path) as built:
        yield built


def told(run):
    """What the run said to a person, without the line breaks."""
    tasks = ("Plan the waves", "Say what was done and what is left")
    lines = [line["result"].get("msg", "") for line in run.results if line["task"] in tasks]
    return " ".join(" ".join(" ".join(part) if isinstance(part, list) else part for part in lines).split())


class Liar:
    """Gives one host of the fleet a metadata service that says that it is another VM, and shows invented events."""

    def __init__(self, fleet: RunFleet, host: str, claims: str, **group) -> None:
        self.fleet, self.host = fleet, host
        where = fleet.simulator.azure_variables("web-0")
        self.simulator = Simulator(
            {
                "vms": [{"name": claims, "group": "lies", "update_domain": "0"}],
                "groups": {"lies": {"kind": "availability_set", **where, **group}},
            }
        )
        fleet.domain_of.setdefault(host, "0")
        fleet.host_vars.setdefault(host, {})["maintenance_endpoint"] = self.simulator.endpoint(claims)

    def __enter__(self):
        return self.simulator

    def __exit__(self, *_about):
        self.simulator.stop()

    def was_asked(self):
        return any(line["method"] == "GET" for line in self.simulator.log())


@pytest.mark.rest
def test_an_event_that_only_a_host_shows_whom_it_does_not_name(fleet):
    """Attack 1: of another group, it claims the fleet's resource group and invents an event for everybody."""
    liar = Liar(fleet, "other-0", "other-0")
    with liar as lies:
        lies.add_event(id="LIE", type="Reboot", resources=EVERYBODY, group="lies", description=JINJA_HEADER)
        fleet.simulator.add_event(id="E1", type="Reboot", resources=["web-1"], dwell=1)
        run = fleet.run().ended()
        assert liar.was_asked()
        assert [line for line in lies.log() if line["approved"]] == []
    assert {host for _word, host, _at in fleet.notes()} == {"web-1"}
    assert fleet.approvals() == ["E1"]
    fleet.assert_back_to_normal()
    assert "is shown only by hosts that it does not name" in told(run)
    assert "uid=" not in run.output


@pytest.mark.rest
def test_a_host_that_names_itself_and_everybody_is_alone_with_it(fleet):
    """The others were read again and do not show it: the event takes down the liar alone, and is not approved."""
    liar = Liar(fleet, "other-0", "other-0")
    with liar as lies:
        lies.add_event(id="LIE", type="Reboot", resources=["other-0", *EVERYBODY], group="lies", notice=300, dwell=1)
        run = fleet.run_and_when(lambda: fleet.is_drained_and_waits("other-0", lies), lambda: lies.start("LIE"))
        assert liar.was_asked()
        assert [line for line in lies.log() if line["approved"]] == []
    assert run.code == 2
    assert {host for _word, host, _at in fleet.notes()} == {"other-0"}
    said = told(run)
    assert "other-0 shows it, web-0, web-1, web-2 and web-3 do not" in said
    fleet.assert_back_to_normal()


def test_a_host_that_claims_to_be_a_vm_of_the_fleet(fleet):
    """Attack 2: the true event for web-0 and web-3 is not covered by whoever claims to be web-3."""
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0", "web-3"], notice=300, dwell=1)
    # The real one is not read, so that only the false one can be drained.
    fleet.host_vars["web-3"].update(unreachable_host(fleet.folder))
    liar = Liar(fleet, "other-0", "web-3")
    with liar as lies:
        lies.add_event(id="E0", type="Reboot", resources=["web-0", "web-3"], group="lies", notice=300, dwell=1)
        run = fleet.run_and_when(
            lambda: fleet.is_drained_and_waits("web-0"), lambda: (fleet.simulator.start("E0"), lies.start("E0"))
        )
        assert liar.was_asked()
        assert [line for line in lies.log() if line["approved"]] == []
    assert run.code != 0
    assert fleet.approvals() == []
    assert fleet.count("drain", "other-0") == 0
    said = told(run)
    assert "other-0 claims to be the VM web-3, but by the inventory that is web-3." in said


@pytest.mark.rest
def test_a_false_claim_does_not_keep_the_true_host_from_its_turn(fleet):
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0", "web-3"], dwell=1)
    with Liar(fleet, "other-0", "web-3") as lies:
        lies.add_event(id="E0", type="Freeze", duration=1, resources=["web-0", "web-3"], group="lies", notice=600)
        fleet.run().ended(2)
    # The event was taken care of; that somebody claims to be web-3 is for a person to look at.
    assert fleet.approvals() == ["E0"]
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    assert fleet.count("drain", "other-0") == 0
    fleet.assert_back_to_normal()


# What a host or a lock host writes into its own files about others.


def mark_of(event, *hosts):
    mark = {"event": event, "hosts": list(hosts), "at": time.time() + 3600}
    return {**mark, "takes_down": True, "vanishing": False}


def marked_journal(*marks):
    now = "2026-11-16T00:00:00Z"
    return {
        "version": 1,
        "state": "marked",
        "started_at": now,
        "drained_at": None,
        "run_id": "liar",
        "boot_id": "",
        "events": [],
        "steps": [],
        "marks": list(marks),
    }


@pytest.mark.rest
def test_notes_that_one_lock_host_invents_about_hosts_that_can_be_read_hold_up_nobody(tmp_path):
    """Three sets share the lease of hosts without a declared group, and web-0 keeps it, too."""
    with RunFleet(tmp_path, group_per_domain=True) as fleet:
        for known in fleet.host_vars.values():
            del known["maintenance_delivery_group"]
        fleet.event_of_domain("1", notice=3600)
        note = {"events": ["E1"], "type": "Reboot", "run": "liar", "at": time.time()}
        marked = [{**note, "host": host, "mark": mark_of("E1", "web-1", "web-2")} for host in ("web-1", "web-2")]
        drained = [{**note, "host": host, "mark": None} for host in ("web-2", "web-3")]
        (tmp_path / "web-0.lock").write_text(json.dumps({"version": 2, "lease": None, "notes": [*marked, *drained]}))
        run = fleet.run()
        assert (run.code, fleet.approvals()) == (0, ["E1"]), run.output
        assert {host for _word, host, _at in fleet.notes()} == {"web-1"}
        fleet.assert_back_to_normal()


def test_a_mark_in_the_journal_of_a_host_drains_no_other_one(fleet):
    """Attack: web-2 marks the events of two other domains, dated ahead, so that both would be drained at once."""
    for number in (0, 1):
        fleet.simulator.add_event(id=f"E{number}", type="Reboot", resources=[f"web-{number}"], notice=3600, dwell=1)
    fleet.journal("web-2").write_text(json.dumps(marked_journal(mark_of("E0", "web-0"), mark_of("E1", "web-1"))))
    run = fleet.run()
    assert (run.code, sorted(fleet.approvals())) == (0, ["E0", "E1"]), run.output
    fleet.assert_one_domain_at_a_time()
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_back_to_normal()


def test_what_another_host_makes_of_an_event_drains_nobody_past_the_rules(fleet):
    """Attack: while web-0 is down, a host of the domain of web-1 shows the event of web-1 as a Preempt, due now."""
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], notice=600, dwell=3)
    fleet.simulator.add_event(id="E1", type="Reboot", resources=["web-1"], notice=3600, dwell=1)
    liar = Liar(fleet, "other-1", "other-1")
    with liar as lies:
        lies.add_event(id="E1", type="Preempt", resources=["web-1"], group="lies", notice=30)
        run = fleet.run("-e", "maintenance_overlap=proceed")
        assert liar.was_asked()
    assert (run.code, fleet.approvals()) == (0, ["E0", "E1"]), run.output
    fleet.assert_one_domain_at_a_time()
    fleet.assert_back_to_normal()


@pytest.mark.rest
def test_a_mark_for_an_event_that_nobody_shows_holds_up_nobody(tmp_path):
    with RunFleet(tmp_path, hosts=2, single_vms=True) as fleet:
        fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], notice=3600, dwell=1)
        fleet.journal("web-1").write_text(json.dumps(marked_journal(mark_of("GHOST", "ghost", "web-0"))))
        run = fleet.run()
        assert (run.code, fleet.approvals()) == (0, ["E0"]), run.output
