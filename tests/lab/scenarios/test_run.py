# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run over all three update domains, and the same events with nobody who prepares for them."""

from __future__ import annotations

import pytest
from lab import controller, events, haproxy
from lab.evidence import Evidence
from lab.names import DOMAIN_OF, WEB

ALL = {place.name for place in WEB}


def assert_nothing_is_left(fleet):
    assert haproxy.in_service(fleet.balancer) == ALL
    for machine in fleet.web:
        assert machine.run("systemctl", "is-active", "nginx").strip() == "active"
        assert not (machine.root / "var/lib/azure-maintenance/journal.json").exists()


def test_a_run_over_all_domains_loses_no_request(fleet, evidence, figures):
    ids = events.plan_all_domains(fleet, impact_seconds=20)
    run = controller.run("run")
    assert run.code == 0, run.output
    answers = evidence.answers()
    assert answers.failed == []
    assert evidence.two_domains_at_once() == []
    assert sorted(evidence.approvals()) == sorted(ids)
    # Each machine was out of service by HAProxy's log, and has booted once by the platform's.
    assert {span.host for span in evidence.out_of_service()} == ALL
    assert {name: evidence.boots(name) for name in DOMAIN_OF} == dict.fromkeys(DOMAIN_OF, 1)
    assert_nothing_is_left(fleet)
    seconds = run_seconds(evidence)

    changes, approvals = len(evidence.server_changes()), len(evidence.approvals())
    nginx = [evidence.unit_changes(machine, "nginx.service") for machine in fleet.web]
    again = controller.run("run-again")
    assert again.code == 0, again.output
    assert (len(evidence.server_changes()), len(evidence.approvals())) == (changes, approvals)
    assert [evidence.unit_changes(machine, "nginx.service") for machine in fleet.web] == nginx
    figures.add(
        "a run over three domains",
        f"{answers}; {len(ids)} events, {approvals} approvals; two domains down together: never;"
        f" {seconds:.0f} s from the first drain to the last server in service; a second run changed nothing",
    )


def run_seconds(evidence):
    spans = evidence.out_of_service()
    return max(span.end for span in spans) - min(span.begin for span in spans)


def test_the_same_events_without_the_collection(fleet, evidence, figures):
    """As Azure would do it, one domain after the other, when the machines of the one before are back in service."""
    ids = events.plan_all_domains(fleet, impact_seconds=20)
    for together in ([ids[0]], ids[1:3], [ids[3]]):
        for event_id in together:
            fleet.simulator.start(event_id)
        for event_id in together:
            fleet.simulator.wait_for(event_id, "Finished", 120)
        for machine in fleet.web:
            machine.wait_until_up()
        fleet.wait_until_in_service()
    answers = evidence.answers()
    assert answers.failed, "machines went down under load, and nobody noticed: the client or the events are not real"
    figures.add("the same without the collection", str(answers))


# A Freeze, approved at once and drained first: what the users of the fleet notice.

POLICIES = {"approved at once": "approve", "drained first": "drain"}


@pytest.mark.parametrize("seconds", [5, 30])
def test_a_freeze(fleet, figures, seconds):
    seen = {}
    for how, action in POLICIES.items():
        evidence = Evidence(fleet)
        event_id = events.plan(fleet, "Freeze", "web-0", duration=seconds)
        policy = [{"name": f"freezes are {how}", "type": "Freeze", "action": action}]
        run = controller.run(f"freeze-{seconds}-{action}", maintenance_policy=policy)
        assert run.code == 0, run.output
        assert evidence.approvals() == [event_id]
        assert evidence.boots("web-0") == 0
        frozen = {line["what"]: line["time"] for line in evidence.platform()}
        assert frozen["Freeze ends"] - frozen["Freeze begins"] >= seconds
        fleet.wait_until_in_service()
        seen[how] = evidence.answers()
        drained = [span for span in evidence.out_of_service() if span.begin < frozen["Freeze begins"]]
        assert [span.host for span in drained] == (["web-0"] if action == "drain" else [])
        fleet.settle()
    assert seen["drained first"].failed == []
    # A user who was with the frozen machine waited about as long as it was frozen.
    assert seen["drained first"].worst() < 3 < seen["approved at once"].worst()
    figures.add(
        f"a Freeze of {seconds} s",
        "; ".join(
            f"{how}: worst page {answers.worst():.1f} s, {len(answers.failed)} failed" for how, answers in seen.items()
        ),
    )
