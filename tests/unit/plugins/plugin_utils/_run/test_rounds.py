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
from helpers.default_policy import DEFAULT_POLICY

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


def decided(host_vars, batch, outcomes=None, unleased=None, unfit=None, **settings):
    """The next round of a batch, with the others as they were read before."""
    mine = {host: host_vars[host] for host in batch}
    made = make_plan(batch, mine, DEFAULT_POLICY, read_again=True, now=NOW)
    planned = {entry["id"]: entry for wave in made["waves"] for entry in wave["events"]}
    rules = read_policy(DEFAULT_POLICY)
    kept = kept_of(host_vars, host_vars, NOW)
    roll = model_of(kept, mine, planned, rules, outcomes or {}, Settings(**settings), "r", NOW)
    return next_round(made, list(batch), roll, unleased, unfit)


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
def test_who_was_brought_back_by_this_run_and_drained_again_by_others_is_out(state):
    events = [event("E0", "web-0", at="05:00"), event("E1", "web-1")]
    made = decided(fleet(events, web_0=drained_for("E0")), ["web-1"], {"web-0": {"state": state, "outcomes": {}}})
    assert ids(made) == []


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


GROUP = "the group of web-0"


def test_without_its_lease_a_group_waits():
    events = [event("E0", "web-0"), event("P", "web-1", kind="Preempt")]
    made = decided(fleet(events), ["web-0", "web-1"], unleased={GROUP: "It is held by x."})
    assert (ids(made), made["drain"], made["later"]) == (["P"], ["web-1"], ["web-0"])
    assert made["held"] == {"E0": "It is held by x."}
    assert (made["again"], made["waits"]) == (False, True)
    made = decided(fleet(events), ["web-0", "web-1"], unleased={"another": "It is held by x."})
    assert (ids(made), made["held"]) == (["E0", "P"], {})


def test_what_can_not_be_drained_is_held_and_not_waited_for():
    events = [event("E0", "web-0")]
    made = decided(fleet(events), ["web-0"], unfit={"web-0": "lb can't be asked"})
    assert (ids(made), made["drain"], made["held"]) == ([], [], {"E0": "lb can't be asked"})
    assert (made["again"], made["waits"]) == (False, False)
    # Another event, which could still come.
    events = [event("E0", "web-0"), event("E1", "web-1", at="00:40")]
    made = decided(fleet(events), ["web-0", "web-1"], unfit={"web-0": "lb can't be asked"})
    assert (ids(made), made["waits"], made["held"]["E0"]) == ([], True, "lb can't be asked")


def test_an_approval_without_a_drain_needs_no_host_to_be_fit():
    events = [event("F", "web-0", kind="Freeze", duration=5)]
    made = decided(fleet(events), ["web-0"], unfit={"web-0": "lb can't be asked"})
    assert (ids(made), made["drain"], made["held"]) == (["F"], [], {})


def test_whom_a_round_waits_for():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1")]
    made = decided(fleet(events), ["web-1"])
    assert (made["waits"], made["waits_for_service"], made["waits_for"]) == (True, False, ["web-0"])


def test_enough_hosts_in_service_are_waited_for_unless_there_can_never_be():
    events = [event("E0", "web-0")]
    made = decided(fleet(events), ["web-0"], {"web-2": {"state": "failed", "outcomes": {}}}, min_in_service=2)
    assert (ids(made), made["waits"], made["waits_for_service"]) == ([], True, True)
    made = decided(fleet(events), ["web-0"], min_in_service=3)
    assert (ids(made), made["waits"], made["waits_for_service"]) == ([], False, True)


def unread(host):
    return {"maintenance_status": {"msg": "Timed out."}, "maintenance_domain": DOMAINS[host]}


@pytest.mark.parametrize("other", [None, "web-0"])
def test_what_names_a_host_that_can_not_be_read_is_drained_as_far_as_that_goes(other):
    """When it is due, and unless that would take a second domain down."""
    events = [event("E", "web-1", "web-3", at="00:05"), *([event("S", other, status="Started")] if other else [])]
    hosts = {**fleet(events), "web-3": unread("web-3")}
    hosts["web-1"]["maintenance_domain"] = "0"
    hosts["web-0"]["maintenance_domain"] = "9"
    made = decided(hosts, ["web-1", "web-3"])
    assert made["drain"] == ([] if other else ["web-1"])
    assert ids(made) == ([] if other else ["E"])


def test_what_can_not_be_approved_is_drained_late_and_waited_for_with_the_lease():
    events = [event("E", "web-0", "stranger", at="00:05")]
    made = decided(fleet(events), ["web-0"])
    assert (ids(made), made["drain"], made["again"]) == (["E"], ["web-0"], False)
    made = decided(fleet(events), ["web-0"], unleased={GROUP: "It is held by x."})
    assert (ids(made), made["drain"]) == ([], [])


def test_what_can_not_be_approved_is_not_drained_hours_before_it_is_due():
    """And a run that will have ended by then does not wait for it."""
    events = [event("E", "web-0", "stranger", at="05:00")]
    made = decided(fleet(events), ["web-0"])
    assert (ids(made), made["drain"], made["waits"]) == ([], [], True)
    assert made["held"] == {"E": "Nobody speaks in this run for stranger, which event E names"}
    made = decided(fleet(events), ["web-0"], patience=1800.0)
    assert (ids(made), made["waits"]) == ([], False)
    made = decided(fleet([event("E", "web-0", "stranger", at="00:30")]), ["web-0"], patience=1800.0)
    assert (ids(made), made["waits"]) == ([], True)


def test_what_can_not_be_approved_is_not_drained_beside_another_domain():
    events = [
        event("F", "web-0", "web-1", "web-2", kind="Freeze", duration=5, at="00:02"),
        event("E0", "web-0", at="00:03"),
        event("E1", "web-1", "stranger", at="00:04"),
        event("E2", "web-2", "another", at="00:05"),
    ]
    made = decided(fleet(events), ["web-0", "web-1", "web-2"])
    assert (ids(made), made["drain"]) == (["F", "E0"], ["web-0"])
    chain = [event("A", "web-0", "web-1", at="00:03"), event("B", "web-1", "web-2", "stranger", at="00:04")]
    made = decided(fleet(chain), ["web-0", "web-1", "web-2"])
    assert (ids(made), made["drain"]) == (["A"], ["web-0", "web-1"])


def test_what_can_not_be_approved_leaves_enough_hosts_in_service():
    events = [event("E", "web-1", "stranger", at="00:05")]
    assert decided(fleet(events), ["web-1"])["drain"] == ["web-1"]
    assert decided(fleet(events), ["web-1"], min_in_service=3)["drain"] == []
    assert decided(fleet(events), ["web-1"], min_in_service=3, overlap="proceed")["drain"] == ["web-1"]


def test_who_is_brought_back_first_has_another_round():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1"), event("E2", "web-2")]
    hosts = fleet(events, web_1=drained_for("E1"), web_2=drained_for("E2"))
    made = decided(hosts, ["web-1"])
    assert (made["back"], made["later"], made["again"], made["waits"]) == (["web-1"], [], True, False)


def test_a_host_is_drained_for_all_its_events_that_need_it():
    events = [
        event("A", "web-0"),
        event("F", "web-0", kind="Freeze", duration=5, at="00:50"),
        event("B", "web-0", "web-3", at="00:40"),
    ]
    made = decided(fleet(events, ("web-0", "web-3")), ["web-0", "web-3"])
    assert (ids(made), made["drain"]) == (["A"], ["web-0"])
    assert made["drain_for"] == {"web-0": ["A", "B"]}
    assert (made["stay"], made["later"]) == (["web-0"], ["web-3"])


def test_what_is_drained_at_its_deadline_is_of_this_round():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1", at="00:01")]
    made = decided(fleet(events), ["web-1"], overlap="proceed")
    assert (ids(made), made["drain"], made["held"]) == (["E1"], ["web-1"], {})
    made = decided(fleet(events), ["web-1"], overlap="proceed", unleased={GROUP: "It is held by x."})
    assert (ids(made), made["drain"], made["held"]) == ([], [], {"E1": "It is held by x."})


def test_nobody_stays_drained_for_what_needs_no_drain():
    events = [event("A", "web-0"), event("F", "web-0", kind="Freeze", duration=5, at="00:50")]
    made = decided(fleet(events), ["web-0"])
    assert (ids(made), made["stay"], made["drain_for"]) == (["A"], [], {"web-0": ["A"]})


def test_of_the_events_of_a_host_only_the_one_that_would_go_lacks_the_lease():
    events = [event("A", "web-0"), event("B", "web-0", at="00:40")]
    made = decided(fleet(events), ["web-0"], unleased={GROUP: "It is held by x."})
    assert made["held"] == {
        "A": "It is held by x.",
        "B": "Event A, which names web-0 too, comes before event B",
    }


def test_what_has_started_is_waited_for_in_however_many_domains():
    events = [event("E0", "web-0", status="Started"), event("E1", "web-1", status="Started")]
    made = decided(fleet(events), ["web-0", "web-1"])
    assert (ids(made), made["drain"], made["later"]) == (["E0", "E1"], [], [])


@pytest.mark.parametrize("status", ["Canceled", "Suspended", "X"])
def test_an_event_in_a_state_that_nobody_knows_is_drained_by_the_rules_like_any_other(status):
    events = [event("E0", "web-0", status=status), event("E1", "web-1", status="Started")]
    made = decided(fleet(events), ["web-0", "web-1"])
    assert (ids(made), made["drain"], list(made["held"])) == (["E1"], [], ["E0"])
    made = decided(fleet(events[:1]), ["web-0", "web-1"])
    assert (ids(made), made["drain"]) == (["E0"], ["web-0"])


def two_groups(first, second, journal=None):
    """web-0 and web-1, each alone in its group."""
    hosts = {"web-0": variables("web-0", first), "web-1": variables("web-1", second, journal)}
    for host in hosts:
        hosts[host]["maintenance_delivery_group"] = f"set-{host}"
    return hosts


@pytest.mark.parametrize(
    ("second", "journal"),
    [
        ([], drained_for("gone")),
        ([event("P", "web-1", kind="Preempt")], None),
        ([event("S", "web-1", status="Started")], drained_for("S")),
        ([event("E1", "web-1")], None),
    ],
    ids=["return", "drain", "finish", "round"],
)
def test_only_what_is_held_back_says_what_is_waited_for(second, journal):
    hosts = two_groups([event("E0", "web-0")], second, journal)
    hosts["web-0"]["maintenance_service"] = "shop"
    hosts["web-2"] = {**variables("web-2", []), "maintenance_service": "shop"}
    # One of the two of the shop would be in service; the other group has no service with so many hosts.
    made = decided(hosts, ["web-0", "web-1"], min_in_service="50%")
    assert (made["waits_for_service"], made["waits_for"]) == (True, [])


def test_a_lease_of_another_group_is_no_help():
    hosts = two_groups([event("E", "web-0", "stranger")], [])
    made = decided(hosts, ["web-0", "web-1"], unleased={"set-web-0": "It is held by x."})
    assert (ids(made), made["drain"]) == ([], [])


def test_what_was_sent_and_is_waited_for_does_not_begin_anew():
    mark = {"event": "E0", "hosts": ["web-0"], "at": NOW}
    journal = {**drained_for("E0"), "run_id": "r", "marks": [mark]}
    made = decided(fleet([event("E0", "web-0")], web_0=journal), ["web-0"])
    assert (ids(made), made["drain"], made["held"]) == ([], [], {"E0": "its turn has not come"})
