# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event-driven: watchers, ansible-rulebook, traffic. Events come at random, and nobody starts anything."""

from __future__ import annotations

import random
import statistics
import time

import pytest
from helpers.rulebook import what_is_missing
from lab import events, haproxy
from lab.evidence import left_drained
from lab.figures import times
from lab.names import WEB
from lab.rulebook import Rulebook, watchers
from lab.shell import wait_until

MISSING = what_is_missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
ALL = {place.name for place in WEB}
ROUNDS = times(6)
# Seconds after which an event counts as not taken care of, well before its date.
TIME_FOR_ALL = 600
# Seconds from the publication of an event to the first drain step, at p95, and of any at all.
P95_OF_A_START = 8.0
LONGEST_START = 60.0


def all_gone_through(fleet, ids):
    """Every event was approved and is over, and everybody is back."""
    states = {event["id"]: event["status"] for event in fleet.simulator.events()}
    return all(states.get(one) == "Finished" for one in ids) and not left_drained(fleet)


def wait_until_gone_through(fleet, ids):
    wait_until(lambda: all_gone_through(fleet, ids), "every event is gone through", TIME_FOR_ALL, 0.5)
    fleet.wait_until_in_service()


def wait_until_nobody_is_at_work(rulebook):
    """For three seconds: a run that had to wait for the one before it begins right after it."""
    wait_until(
        lambda: not any(rulebook.is_at_work or time.sleep(0.3) for _look in range(10)), "the runs are over", 120, 0.2
    )


def first_steps(fleet, evidence):
    """When each host began to be drained, by its own journal: the first step writes there."""
    found = {}
    for machine in fleet.web:
        found[machine.name] = [at for at, text in evidence.journal(machine) if "draining for" in text]
    return found


def test_events_at_random_are_gone_through_and_nobody_starts_anything(fleet, evidence, figures):
    chance = random.Random(18)
    published, first_of_their_run = [], []
    with watchers():
        rulebook = Rulebook().start()
        # Until every watcher was heard, as after any start.
        time.sleep(10)
        for number in range(ROUNDS):
            # Two in every other round, so that one has to wait for the other.
            for host in chance.sample(sorted(ALL), 1 + number % 2):
                event_id = events.plan(fleet, "Reboot", host, notice=900, impact_seconds=5)
                published.append(event_id)
                if not rulebook.is_at_work:
                    first_of_their_run.append((host, evidence.change(event_id, "created")))
                time.sleep(chance.uniform(3, 20))
            wait_until_gone_through(fleet, published)
            wait_until_nobody_is_at_work(rulebook)
            time.sleep(chance.uniform(0, 5))
        answers = evidence.answers()
        drains, told = first_steps(fleet, evidence), rulebook.told_at()
    assert answers.failed == []
    assert evidence.two_domains_at_once() == []
    assert sorted(set(evidence.approvals())) == sorted(published)
    # Not of those that came up during a run: they may have to wait for their turn.
    seconds = sorted(min(when for when in drains[host] if when > at) - at for host, at in first_of_their_run)
    until_told = sorted(min(when for when in told if when > at) - at for _host, at in first_of_their_run)
    assert len(seconds) >= ROUNDS
    p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
    figures.add(
        "event-driven",
        f"{answers}; {len(published)} events, {len(seconds)} of which began a run: from publication to the first drain"
        f" step {statistics.median(seconds):.1f} s, p95 {p95:.1f} s, at most {seconds[-1]:.1f} s;"
        f" of which until the rules are told {statistics.median(until_told):.1f} s",
    )
    assert haproxy.in_service(fleet.balancer) == ALL
    assert p95 <= P95_OF_A_START, (seconds, until_told)
    assert seconds[-1] <= LONGEST_START, (seconds, until_told)
