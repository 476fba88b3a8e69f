# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold of every round of a batch, from the readings to the hosts that are drained."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.policy import read_policy
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.decide import drain_deadline, group_states
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import Settings
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.rounds import next_round
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import kept_of, model_of
from helpers.default_policy import DEFAULT_POLICY
from helpers.properties import assert_generated
from hypothesis import given, settings
from hypothesis import strategies as st

NOW = 1_794_787_200.0  # 2026-11-16T00:00:00Z
HOSTS = ("web-0", "web-1", "web-2", "web-3")
DOMAINS = {"web-0": "0", "web-1": "1", "web-2": "2", "web-3": "0"}
NAMES = (*HOSTS, "outside-0", "outside-1")


@st.composite
def shown_events(draw, number):
    started = draw(st.integers(0, 5)) == 0
    named = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    return {
        "id": f"E{number}",
        "type": draw(st.sampled_from(["Reboot", "Reboot", "Redeploy", "Freeze", "Preempt"])),
        "status": "Started" if started else "Scheduled",
        "resources": named,
        "not_before": None if started else f"2026-11-16T{draw(st.sampled_from(['00:03', '00:40', '05:00']))}:00Z",
        "duration_seconds": draw(st.sampled_from([5, 90])),
    }


def variables(host, events, journal):
    shown = [{**one, "affects_this_host": host in one["resources"]} for one in events]
    this_host = {"vm_name": host, "update_domain": DOMAINS[host], "resource_group": "rg", "subscription_id": "s"}
    status = {"this_host": this_host, "events": shown, "read_at": "2026-11-16T00:00:00Z", "journal": journal}
    return {"maintenance_status": status}


def drained(event_id):
    step = {"number": 1, "kind": "command", "arguments": {}, "before": {}, "status": "done"}
    return {
        "state": "drained",
        "run_id": "r",
        "events": [{"id": event_id, "type": "Reboot"}],
        "steps": [step],
    }


@st.composite
def cases(draw):
    """A round and the model that it was decided from."""
    events = [draw(shown_events(number)) for number in range(draw(st.integers(1, 5)))]
    hosts = {}
    for host in HOSTS:
        journal = drained(draw(st.sampled_from(["E0", "E9"]))) if draw(st.integers(0, 5)) == 0 else None
        hosts[host] = variables(host, events, journal)
        if draw(st.integers(0, 7)) == 0:
            hosts[host] = {"maintenance_status": {"msg": "Timed out."}}
        hosts[host]["maintenance_delivery_group"] = "set"
    batch = draw(st.sampled_from([HOSTS, HOSTS, HOSTS[:2], HOSTS[1:3]]))
    mine = {host: hosts[host] for host in batch}
    made = make_plan(batch, mine, DEFAULT_POLICY, read_again=True, now=NOW)
    planned = {entry["id"]: entry for wave in made["waves"] for entry in wave["events"]}
    least = draw(st.sampled_from([None, None, 2]))
    chosen = Settings(overlap=draw(st.sampled_from(["wait", "wait", "proceed"])), min_in_service=least)
    rules = read_policy(DEFAULT_POLICY)
    roll = model_of(kept_of(hosts, hosts, NOW), mine, planned, rules, {}, chosen, "r", NOW)
    return next_round(made, list(batch), roll), roll


def newly_down(made, roll):
    """The hosts that go down by our hand in this round, beside what vanishes anyway."""
    out = {name for state in group_states(roll) for name in state.out}
    out |= {host for entry in made["events"] if entry["vanishing"] for host in entry["hosts"]}
    return set(made["drain"]) - out


@settings(max_examples=150, deadline=None)
@given(cases())
def test_never_two_domains_by_our_hand_beyond_what_one_event_names(case):
    made, roll = case
    (state,) = group_states(roll)
    going = newly_down(made, roll)
    if roll.settings.overlap == "proceed" or not going:
        return
    down = going | (state.down - set(made["back"]))
    one_event = any(down <= {*entry["hosts"], *entry["uncovered"]} for entry in made["events"])
    assert one_event or len({state.domain(name) for name in down}) == 1, down


@settings(max_examples=150, deadline=None)
@given(cases())
def test_what_can_not_be_approved_is_drained_at_its_deadline_and_not_before(case):
    made, roll = case
    (state,) = group_states(roll)
    for host in newly_down(made, roll):
        events = [state.by_id[entry["id"]] for entry in made["events"] if host in entry["hosts"]]
        assert any(state.is_covered(event) or drain_deadline(roll, event) <= roll.now for event in events), host


@settings(max_examples=150, deadline=None)
@given(cases())
def test_enough_hosts_stay_in_service(case):
    made, roll = case
    (state,) = group_states(roll)
    least = roll.settings.min_in_service
    # Whom an event that has started takes down is not in service, drained or not.
    going = newly_down(made, roll) - state.down
    if least is None or roll.settings.overlap == "proceed" or not going:
        return
    good = [host.name for host in roll.hosts if host.read and host.name not in state.down | going]
    assert len(good) >= least


def test_what_can_not_be_approved_and_is_drained_is_among_the_examples():
    def has_one(case):
        made, roll = case
        (state,) = group_states(roll)
        going = newly_down(made, roll)
        late = [state.by_id[entry["id"]] for entry in made["events"] if not going.isdisjoint(entry["hosts"])]
        return any(not state.is_covered(event) for event in late)

    assert_generated(cases(), has_one)
