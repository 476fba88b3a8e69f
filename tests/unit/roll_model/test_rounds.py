# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From readings to the model, and from its decisions to the rounds of a wave."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.policy import read_policy
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import Settings
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.rounds import next_round
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import kept_of, model_of
from default_policy import DEFAULT_POLICY

NOW = 1_794_787_200.0  # 2026-11-16T00:00:00Z
DOMAINS = {"web-0": "0", "web-1": "1", "web-2": "2", "web-3": "0"}


def event(event_id, *resources, kind="Reboot", status="Scheduled", at="00:30", duration=None):
    due = None if status == "Started" else f"2026-11-16T{at}:00Z"
    return {
        "id": event_id,
        "type": kind,
        "status": status,
        "resources": list(resources),
        "not_before": due,
        "duration_seconds": duration,
    }


def variables(host, events, journal=None, group="rg", vm=None):
    name = vm or host
    shown = [{**one, "affects_this_host": name in one["resources"]} for one in events]
    this_host = {"vm_name": name, "update_domain": DOMAINS[host], "resource_group": group, "subscription_id": "s"}
    status = {"this_host": this_host, "events": shown, "read_at": "2026-11-16T00:00:00Z", "journal": journal}
    return {"maintenance_status": status}


def fleet(events, hosts=("web-0", "web-1", "web-2"), **journals):
    return {host: variables(host, events, journals.get(host.replace("-", "_"))) for host in hosts}


def decided(host_vars, batch, outcomes=None, **settings):
    """The next round of a batch, with the others as they were read before."""
    mine = {host: host_vars[host] for host in batch}
    made = make_plan(batch, mine, DEFAULT_POLICY, read_again=True, now=NOW)
    planned = {entry["id"]: entry for wave in made["waves"] for entry in wave["events"]}
    rules = read_policy(DEFAULT_POLICY)
    kept = kept_of(host_vars, host_vars, NOW)
    roll = model_of(kept, mine, planned, rules, outcomes or {}, Settings(**settings), "r", NOW)
    return next_round(made, list(batch), roll)


def ids(made):
    return [entry["id"] for entry in made["events"]]


def drained_for(*events):
    steps = [{"number": 1, "kind": "command", "arguments": {}, "before": {}, "status": "done"}]
    return {"state": "drained", "run_id": "earlier", "events": [event(one, "x") for one in events], "steps": steps}


def test_a_freeze_that_needs_no_drain_goes_along_with_the_first_reboot_only():
    events = [event("F", *list(DOMAINS)[:3], kind="Freeze", duration=5, at="00:20")]
    events += [event(f"E{number}", f"web-{number}", at=f"00:3{number}") for number in range(3)]
    made = decided(fleet(events), list(DOMAINS)[:3])
    assert ids(made) == ["F", "E0"]
    assert made["drain"] == ["web-0"]
    assert made["again"]
    assert set(made["held"]) == {"E1", "E2"}


def test_two_hosts_of_one_domain_go_together():
    events = [event("E0", "web-0"), event("E3", "web-3")]
    made = decided(fleet(events, ("web-0", "web-3")), ["web-0", "web-3"])
    assert (ids(made), made["again"], made["later"]) == (["E0", "E3"], False, [])


def test_two_events_of_one_host_are_one_drain_and_two_approvals():
    made = decided(fleet([event("A", "web-0"), event("B", "web-0", at="00:40")]), ["web-0"])
    assert (ids(made), made["stay"], made["again"]) == (["A"], ["web-0"], True)


def test_another_domain_that_is_out_holds_back():
    events = [event("E0", "web-0", at="05:00"), event("E1", "web-1")]
    made = decided(fleet(events, web_0=drained_for("E0")), ["web-1"])
    assert (ids(made), made["later"], made["again"]) == ([], ["web-1"], False)
    assert "web-0, of another domain, is not in service" in made["held"]["E1"]


@pytest.mark.parametrize("state", ["restored", "passed", "failed", "vanished"])
def test_who_was_brought_back_by_this_run_is_not_out_any_more(state):
    events = [event("E0", "web-0", at="05:00"), event("E1", "web-1")]
    made = decided(fleet(events, web_0=drained_for("E0")), ["web-1"], {"web-0": {"state": state, "outcomes": {}}})
    assert ids(made) == ["E1"]


def test_what_azure_has_under_way_holds_back_until_it_is_over():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1")]
    assert ids(decided(fleet(events), ["web-1"])) == []
    over = {"web-0": {"state": "passed", "outcomes": {"E0": "gone"}}}
    assert ids(decided(fleet(events), ["web-1"], over)) == ["E1"]


def test_a_marked_event_is_under_way():
    mark = {"event": "E0", "hosts": ["web-0"], "at": NOW}
    events = [event("E0", "web-0", at="05:00"), event("E1", "web-1")]
    journal = {**drained_for("E0"), "marks": [mark]}
    made = decided(fleet(events, web_0=journal), ["web-1"])
    assert "Event E0 is under way for web-0" in made["held"]["E1"]


def test_vms_of_one_name_in_two_resource_groups_are_two():
    hosts = {
        "web-0": variables("web-0", [event("A", "same")], group="one", vm="same"),
        "web-1": variables("web-1", [event("B", "same")], group="two", vm="same"),
    }
    assert ids(decided(hosts, ["web-1"])) == ["B"]
    assert ids(decided(hosts, ["web-0"])) == ["A"]


def test_an_event_of_a_vm_outside_the_run_comes_first_if_it_is_due_first():
    events = [event("E0", "elsewhere"), event("E1", "web-1", at="00:40")]
    made = decided(fleet(events), ["web-1"])
    assert "Event E0 comes first, and another run may have elsewhere" in made["held"]["E1"]
    events = [event("E0", "elsewhere", at="00:50"), event("E1", "web-1", at="00:40")]
    assert ids(decided(fleet(events), ["web-1"])) == ["E1"]


@pytest.mark.parametrize("status", ["Scheduled", "Started"])
def test_a_vm_that_is_taken_away_is_no_reason_for_another_round(status):
    """It is not waited for: while something else is held back, the rounds would never end."""
    events = [
        event("P", "web-1", kind="Preempt", status=status),
        event("E0", "web-0", status="Started"),
        event("E2", "web-2"),
    ]
    made = decided(fleet(events), ["web-1", "web-2"])
    assert (ids(made), set(made["held"]), made["again"]) == (["P"], {"E2"}, False)
