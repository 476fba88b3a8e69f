# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet goes through its maintenance, and comes out of it."""

from __future__ import annotations

import pytest
import yaml
from helpers import ROOT, ansible_run
from helpers.fleet import RunFleet
from helpers.host_services import listener

__all__ = ["listener"]


@pytest.fixture
def fleet(tmp_path):
    with RunFleet(tmp_path) as built:
        yield built


@pytest.fixture
def pair(tmp_path):
    with RunFleet(tmp_path, hosts=2, domains=2) as built:
        yield built


def test_three_domains(fleet):
    fleet.event_per_domain()
    plan = fleet.run("--check").ended()
    assert "Wave 3 of 3: update domain 2" in plan.output
    assert (fleet.notes(), fleet.approvals(), fleet.drained_hosts()) == ([], [], [])

    run = fleet.run().ended()
    assert sorted(fleet.approvals()) == ["E0", "E1", "E2"]
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_restored_only_after_the_end()
    fleet.assert_back_to_normal()
    assert all(fleet.count(word, host) == 1 for word in ("drain", "restore") for host in fleet.domain_of)
    summary = fleet.summary(run)
    assert summary["ok"] is True
    assert {host: outcome["state"] for host, outcome in summary["hosts"].items()} == dict.fromkeys(
        fleet.domain_of, "restored"
    )
    assert summary["events"]["E1"]["approved_by"] == "web-1"
    assert summary["events"]["E1"]["outcome"] == "over"
    for number, host in ((0, "web-3"), (1, "web-1"), (2, "web-2")):
        event, outcome = summary["events"][f"E{number}"], summary["hosts"][host]
        moments = [outcome["drained_at"], event["approved_at"], event["over_at"], outcome["restored_at"]]
        assert moments == sorted(moments)
    where = run.of("Show what this wave does", "web-0")["msg"]
    assert where[0].startswith("Wave 1 of 3: update domain 0, due in 1")
    assert where[1:] == [
        "  2 hosts: web-0, web-3",
        "  Reboot E0: drain 2 hosts, approve, wait until it is over, return to",
        "    service",
    ]

    fleet.run().ended()
    assert len(fleet.approvals()) == 3
    assert len(fleet.notes()) == 8


def test_enough_hosts_stay_in_service(tmp_path):
    with RunFleet(tmp_path, hosts=2, domains=2) as fleet:
        fleet.event_per_domain()
        fleet.run("-e", "maintenance_min_in_service=1").ended()
        assert sorted(fleet.approvals()) == ["E0", "E1"]
        fleet.assert_one_domain_at_a_time()


READ = "Ask each host what is planned, and what an earlier run left behind"
# In a batch of more than twelve hosts one of them asks for all.
LEASE = "Ask the lock hosts for the lease"
# What every host of a plain wave goes through. Each line costs some 20 ms for each host: think twice before adding one.
TASKS_OF_A_HOST = [
    READ,
    LEASE,
    # Not asked, as that was a moment ago.
    READ,
    LEASE,
    "Drain the host",
    LEASE,
    "Write down that the approval begins",
    "Approve the event",
    LEASE,
    "Wait until the event is over",
    "Return the host to service",
    LEASE,
]
# With two hosts, all in all at most 50.
TASKS_DONE_ONCE = 26


def test_a_plain_wave_takes_few_tasks(tmp_path):
    with RunFleet(tmp_path, hosts=3, domains=1) as fleet:
        fleet.event_per_domain(dwell=0)
        # A reading stays fresh for ten times as long, on a busy machine too.
        run = fleet.run("-e", "__maintenance_lease_seconds=900").ended()
    results = [(line["host"], line["task"].split(" : ")[-1], line["outcome"]) for line in run.results]
    assert [task for host, task, _outcome in results if host == "web-1"] == TASKS_OF_A_HOST
    assert not [task for host, task, outcome in results if host == "web-1" and outcome == "skipped"]
    assert len(results) - 3 * len(TASKS_OF_A_HOST) == TASKS_DONE_ONCE


def test_a_short_freeze_is_approved_without_a_drain_by_default(pair):
    pair.simulator.add_event(id="F", type="Freeze", duration=5, resources=["web-0"], dwell=1)
    pair.simulator.add_event(id="L", type="Freeze", duration=30, resources=["web-1"], dwell=1)
    run = pair.run("--check")
    assert "rule 1 (a short freeze needs no drain)" in run.output
    assert "Drain web-1, then approve it" in run.output
    assert "Drain web-0" not in run.output


def test_a_vm_that_is_taken_away_is_not_waited_for_and_not_restored(pair):
    pair.simulator.add_event(id="S", type="Preempt", resources=["web-0"], notice=600, dwell=600)
    run = pair.run().ended()
    assert (pair.approvals(), pair.count("drain", "web-0"), pair.count("restore", "web-0")) == (["S"], 1, 0)
    assert pair.summary(run)["hosts"]["web-0"]["state"] == "vanished"
    # It was approved, and nobody has waited for its end.
    assert pair.simulator.event("S")["status"] == "Started"


HOSTILE_WORDS = [
    "{{ lookup('pipe', 'touch TRAP') }}{{ 7 * 191 }}; touch TRAP #",
    # Other delimiters: no brace is needed then.
    "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'touch TRAP') ]][[ 7 * 191 ]]",
]


def test_hostile_words_stay_words(pair, tmp_path):
    """What Azure sends goes through the plan, the facts, the journal and the summary, and is never evaluated."""
    trap = tmp_path / "evaluated"
    ids = []
    for number, words in enumerate(HOSTILE_WORDS):
        text = words.replace("TRAP", str(trap))
        # An id is one line.
        ids.append(text.replace("\n", " "))
        host = f"web-{number}"
        pair.simulator.add_event(id=ids[-1], type="Reboot", resources=[host], description=text, dwell=1)
        pair.host_vars[host]["drain_steps"] = [
            pair.noted_step(host),
            {"log": {"message": "draining for {{ maintenance_event.description }}"}},
        ]
    run = pair.run().ended()
    assert sorted(pair.approvals()) == sorted(ids)
    assert [pair.summary(run)["events"][event_id]["outcome"] for event_id in ids] == ["over", "over"]
    assert not trap.exists()
    assert "1337" not in run.output


def test_a_setting_that_can_not_be_used_is_refused_before_anything_is_done(pair):
    pair.event_per_domain()
    run = pair.run("-e", "approve_wait_timeout=30m").ended(2)
    assert "must be a whole number of seconds" in run.output
    assert (pair.notes(), pair.approvals(), pair.drained_hosts()) == ([], [], [])


@pytest.mark.rest
def test_a_host_whose_journal_can_not_be_read_may_be_drained(pair):
    pair.journal("web-1").write_text("{")
    run = pair.run().ended(2)
    assert pair.summary(run)["left"]["failed"] == ["web-1"]
    assert "Not known whether an earlier run left it drained: web-1" in " ".join(run.output.split())


def test_a_fleet_of_which_nothing_could_be_read_is_a_failure(pair):
    for host in pair.domain_of:
        pair.host_vars[host]["maintenance_endpoint"] = "http://127.0.0.1:1"
    run = pair.run("--check").ended(2)
    assert "None of the 2 hosts could be read, so there is no plan." in run.output


@pytest.mark.rest
def test_somebody_is_told_when_something_is_left_to_do(pair, listener):
    hook = ("-e", f"maintenance_failure_webhook={listener.url}/hook")
    pair.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=1)
    assert pair.run(*hook).code == 0
    assert listener.bodies == []

    pair.host_vars["web-1"]["drain_steps"] = [{"command": {"drain": "/bin/false"}}]
    pair.simulator.add_event(id="E1", type="Reboot", resources=["web-1"], dwell=1)
    assert pair.run(*hook).code == 2
    (told,) = listener.bodies
    assert told["left"]["failed"] == ["web-1"]
    assert any("web-1" in line for line in told["lines"])
    # One that can't be told changes nothing.
    run = pair.run("-e", "maintenance_failure_webhook=http://127.0.0.1:9/none").ended(2)
    assert "Something is left to do, see above." in run.output


# A file that includes itself once a round comes to some 245, where ansible-core ends the play.
ROUNDS = 300
ROUND = f"""
- ansible.builtin.set_fact:
    __next: {{reads: [], number: "{{{{ __next.number | int + 1 }}}}"}}
- ansible.builtin.meta: end_batch
  when: __next.number | int == {ROUNDS}
"""
WAVE = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact:
        __next: {reads: [], number: 0}
    - ansible.builtin.include_tasks: tasks/wave.yml
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "There were {{ __next.number }} rounds"
"""


@pytest.mark.rest
def test_a_wave_of_hundreds_of_rounds(tmp_path):
    (tmp_path / "tasks").mkdir()
    wave = yaml.safe_load((ROOT / "playbooks/run/tasks/wave.yml").read_text())
    # Without what looks for a run.
    (tmp_path / "tasks" / "wave.yml").write_text(yaml.safe_dump(wave[3:]))
    (tmp_path / "tasks" / "round.yml").write_text(ROUND)
    (tmp_path / "wave.yml").write_text(WAVE)
    inventory = ansible_run.inventory(tmp_path, {"web-0": {}})
    run = ansible_run.run(tmp_path, ["ansible-playbook", "-i", str(inventory), "wave.yml"], 600).ended()
    assert f"There were {ROUNDS} rounds" in run.output
