# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what hosts have said to the groups, domains, hosts and events of the model."""

from __future__ import annotations

import random

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import read_policy
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.groups import (
    THE_REST,
    Place,
    group_hosts,
    warning_about,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.model import Journal, Mark, Note, Record, Settings
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.view import kept_of, model_of
from helpers.default_policy import DEFAULT_POLICY
from hypothesis import given
from hypothesis import strategies as st

# From what hosts have said to the hosts and events of the model.

NOW = 1_794_787_200.0  # 2026-11-16T00:00:00Z


def event(event_id, *resources, **changes):
    made = {"id": event_id, "type": "Reboot", "status": "Scheduled", "resources": list(resources)}
    return {**made, "not_before": "2026-11-16T00:30:00Z", "affects_this_host": True, **changes}


def known_of(host, *events, **changes):
    status = {"this_host": {"vm_name": host}, "events": list(events), "read_at": "2026-11-16T00:00:00Z", **changes}
    return {"maintenance_status": status, "maintenance_delivery_group": "set"}


def kept(variables, now=NOW):
    return kept_of(["a"], {"a": variables}, now)["a"]


def test_what_is_kept_of_a_host():
    this_host = {"vm_name": "VM-A", "update_domain": 3, "zone": " 1 ", "scale_set": True, "placement_group": None}
    variables = {**known_of("a", event("E"), this_host=this_host), "maintenance_service": " shop "}
    assert kept({**variables, "maintenance_domain": 7}) == {
        "vm": "vm-a",
        "place": {
            "update_domain": "3",
            "zone": "1",
            "scale_set": "",
            "placement_group": "",
            "delivery_group": "set",
            "domain": "7",
        },
        "shows": ["E"],
        "showed": [],
        "accounts": [
            {
                "id": "E",
                "type": "Reboot",
                "status": "Scheduled",
                "resources": [],
                "source": None,
                "description": None,
                "not_before": "2026-11-16T00:30:00Z",
                "duration_seconds": None,
            }
        ],
        "named_in": ["E"],
        "journal": None,
        "service": "shop",
        "seen_at": NOW,
        "booted_at": None,
        "reflexes": False,
        "unmarked": False,
    }


@pytest.mark.parametrize("variables", [{}, {"maintenance_status": None}, {"maintenance_status": "odd"}])
def test_of_a_host_without_a_reading_nothing_is_known(variables):
    found = kept(variables)
    assert (found["shows"], found["journal"], found["seen_at"]) == (None, None, NOW)
    assert (found["reflexes"], found["unmarked"]) == (False, False)
    assert kept_of(["a"], {}, NOW) == {"a": found}


@pytest.mark.parametrize(
    ("read_at", "seen_at"),
    [
        ("2026-11-16T00:00:00Z", NOW),
        # The clock of the host is ahead.
        ("2026-11-16T00:00:20Z", NOW + 9),
        (None, NOW + 9),
        ("odd", NOW + 9),
    ],
)
def test_a_host_was_seen_when_it_was_read(read_at, seen_at):
    assert kept(known_of("a", read_at=read_at), NOW + 9)["seen_at"] == seen_at


@pytest.mark.parametrize(
    ("run_mark", "reflexes", "unmarked"),
    [
        ({"reflexes": True, "left": True}, True, False),
        ({"reflexes": True, "left": False}, True, True),
        ({"reflexes": 1, "left": 0}, False, False),
        ({}, False, False),
        ("odd", False, False),
    ],
)
def test_who_acts_by_itself(run_mark, reflexes, unmarked):
    found = kept(known_of("a", run_mark=run_mark))
    assert (found["reflexes"], found["unmarked"]) == (reflexes, unmarked)


@pytest.mark.parametrize(
    ("journal", "drained", "finished", "returning"),
    [
        ({"state": "drained"}, True, True, False),
        ({"state": "draining"}, False, False, False),
        ({"state": "draining", "steps": [{"status": "started"}]}, True, False, False),
        ({"state": "draining", "steps": [{"status": "planned"}, {"status": "failed"}]}, True, False, False),
        ({"state": "draining", "steps": [{"status": "planned"}]}, False, False, False),
        ({"state": "restoring", "steps": [{"status": "done"}]}, True, False, True),
        ({"state": "restoring", "steps": [{"status": "undone"}]}, False, False, True),
        ({"state": "zzz"}, False, False, False),
        ({"state": "a"}, False, False, False),
    ],
)
def test_what_a_journal_says(journal, drained, finished, returning):
    found = kept(known_of("a", journal=journal))["journal"]
    assert (found["drained"], found["finished"], found["returning"]) == (drained, finished, returning)
    assert (found["owner"], found["events"], found["marks"], found["worked_on_until"]) == ("", [], [], NOW)


def test_whose_journal_it_is_and_for_how_long_somebody_is_at_work():
    journal = {
        "state": "drained",
        "run_id": "x",
        "events": [{"id": "E", "type": "Reboot"}, "odd", {"id": "F", "type": "Freeze"}],
        "marks": [{"event": "E"}],
        "worked_on_for": "2.5",
    }
    found = kept(known_of("a", journal=journal))["journal"]
    assert (found["owner"], found["events"], found["types"]) == ("x", ["E", "F"], ["Reboot", "Freeze"])
    assert (found["marks"], found["worked_on_until"]) == ([{"event": "E"}], NOW + 2.5)


def model(hosts, readings=None, planned=None, outcomes=None, notes=(), records=(), elsewhere=dict):
    rules = read_policy(DEFAULT_POLICY)
    mine = hosts if readings is None else {host: hosts[host] for host in readings}
    return model_of(
        kept_of(hosts, hosts, NOW),
        mine,
        planned or [],
        rules,
        outcomes or {},
        Settings(),
        "r",
        NOW,
        notes=notes,
        records=records,
        elsewhere=elsewhere,
    )


def test_an_event_as_those_say_who_were_read_just_now():
    hosts = {"a": known_of("a", event("E", "a", "x")), "b": known_of("b", event("F", "b"))}
    found, _other = model(hosts, ["a"]).events
    assert (found.id, found.type, found.status, found.not_before) == ("E", "Reboot", "Scheduled", NOW + 1800)
    assert (found.hosts, found.outside, found.action) == (("a",), ("x",), "drain")
    assert model(hosts, ["a"]).may_act_on == {"a"}


@pytest.mark.parametrize(("first", "second"), [("Scheduled", "Started"), ("Started", "Scheduled"), ("Started", "X")])
def test_there_is_no_way_back_from_started(first, second):
    told = {host: event("E", "a", status=status) for host, status in (("a", first), ("b", second))}
    (found,) = model({host: known_of(host, one) for host, one in told.items()}).events
    assert found.status == "Started"


@pytest.mark.parametrize(("not_before", "due"), [(None, None), ("2026-11-16T00:30:00Z", NOW + 1800)])
def test_without_a_date_it_is_due_now(not_before, due):
    (found,) = model({"a": known_of("a", event("E", "a", not_before=not_before))}).events
    assert found.not_before == due


def test_what_is_over_for_this_run_is_over():
    hosts = {"a": known_of("a", event("E", "a"), event("F", "a")), "b": known_of("b")}
    outcomes = {"b": {"state": "restored", "outcomes": {"E": "gone", "F": "Started"}}, "a": {"state": "restored"}}
    whole_run = model(hosts, outcomes=outcomes)
    assert [one.id for one in whole_run.events] == ["F"]
    assert whole_run.hosts[0].shows == ("F",)


@pytest.mark.parametrize(
    ("outcome", "has_journal", "stuck", "healthy"),
    [
        (None, True, "", True),
        ({"state": "stays drained"}, True, "", True),
        # A journal that was seen after this run had brought the host back is somebody else's.
        ({"state": "restored"}, True, "", True),
        ({"state": "failed", "error": "x"}, True, "", False),
        ({"state": "left_drained", "error": "x"}, True, "x", False),
        ({"state": "left_drained"}, True, "its return to service failed", False),
        ({"state": "lost", "error": "x"}, True, "", True),
    ],
)
def test_what_became_of_a_host_in_this_run(outcome, has_journal, stuck, healthy):
    hosts = {"a": known_of("a", journal={"state": "drained", "run_id": "x"})}
    (found,) = model(hosts, outcomes={"a": outcome} if outcome else {}).hosts
    assert (found.journal is not None, found.stuck, found.healthy) == (has_journal, stuck, healthy)


def test_a_host_of_the_model():
    mark = {"event": "E", "hosts": ["a"], "at": "5", "takes_down": False, "vanishing": True}
    journal = {"state": "drained", "run_id": "x", "events": [{"id": "E", "type": "Reboot"}], "marks": [mark]}
    journal["marks"] = [mark, {"event": "F", "hosts": ["a", "b"], "at": 6}]
    variables = {**known_of("a", event("E", "a"), journal={**journal, "worked_on_for": 3}), "maintenance_service": "s"}
    (host,) = model({"a": variables}).hosts
    assert (host.name, host.group, host.domain, host.read, host.service) == ("a", "set", "host a", True, "s")
    assert host.journal == Journal(
        "x",
        ("E",),
        ("Reboot",),
        True,
        True,
        marks=(Mark("E", ("a",), 5.0, False, True), Mark("F", ("a", "b"), 6.0)),
        worked_on_until=NOW + 3,
    )


def note(host, run="other", **changes):
    return {"host": host, "events": ["E"], "type": "Reboot", "run": run, "at": NOW, "mark": None, **changes}


@pytest.mark.parametrize(("run", "is_read"), [("r", True), ("a", False), ("z", False)])
def test_a_host_that_another_run_has_noted_since_counts_as_unread(run, is_read):
    hosts = {"a": known_of("a"), "b": known_of("b")}
    whole_run = model(hosts, ["a"], notes=[note("a", run), note("b", run)])
    # The first was read just now.
    assert [host.read for host in whole_run.hosts] == [True, is_read]
    mark = {"event": "E", "hosts": ["a"], "at": 5}
    for at, taken in ((NOW - 9, NOW - 9), (NOW + 9, NOW)):
        (found,) = model(hosts, notes=[note("a", mark=mark, at=at, lacking=["k"])]).notes
        assert found == Note("a", ("E",), "Reboot", "other", Mark("E", ("a",), taken), taken, ("k",))


def test_a_noted_host_that_nobody_has_read_may_be_of_any_group():
    hosts = {"a": known_of("a"), "b": {**known_of("b"), "maintenance_delivery_group": "other"}, "c": {}}
    whole_run = model(hosts, notes=[note("z"), note("y"), note("c"), note("a")])
    added = [(host.name, host.group, host.domain, host.read) for host in whole_run.hosts[3:]]
    own = whole_run.hosts[2].group
    assert sorted(added) == sorted(
        [(name, group, f"host {name}", False) for name in "yz" for group in ("set", "other", own)]
        + [("c", group, "host c", False) for group in ("set", "other")]
    )
    assert [name for name, *_rest in added] == sorted(name for name, *_rest in added)


def test_what_a_machine_remembers():
    record = {"machine": "lb", "host": "a", "events": ["E"], "types": ["Reboot"], "run": "x", "removal": "rm"}
    assert model({"a": known_of("a")}, records=[record]).records == (Record("lb", "a", ("E",), ("Reboot",), "x"),)


def test_of_two_vms_of_one_name_the_one_that_shows_the_event_is_meant():
    same = {"vm_name": "same"}
    hosts = {
        "a": known_of("a", event("E", "same"), this_host=same),
        "b": known_of("b", event("F", "same"), this_host=same),
    }
    assert [(one.id, one.hosts) for one in model(hosts).events] == [("E", ("a",)), ("F", ("b",))]
    both = {host: known_of(host, event("E", "same"), this_host=same) for host in "ab"}
    (found,) = model(both).events
    assert (found.hosts, found.outside) == ((), ("same",))


def test_a_vm_outside_of_this_run_is_looked_up_in_the_inventory():
    hosts = {"a": known_of("a", event("E", "a", "OUT", "two", "none"))}
    (found,) = model(hosts, elsewhere=lambda: {"out": ["z"], "two": ["x", "y"], "a": ["wrong"]}).events
    assert (found.hosts, found.outside) == (("a", "z"), ("two", "none"))


def planned(**changes):
    return [{"id": "E", "hosts": ["a"], "uncovered": [], "not_in_run": [], "action": "approve", **changes}]


@pytest.mark.parametrize(
    ("changes", "hosts", "outside"),
    [
        ({}, ("a",), ()),
        ({"uncovered": ["x"]}, ("a",), ("x",)),
        # The inventory has it: it is a host that this run leaves out.
        ({"uncovered": ["out"], "not_in_run": ["z"]}, ("a", "z"), ()),
        ({"uncovered": ["out", "x"], "not_in_run": ["z"]}, ("a", "z"), ("out", "x")),
    ],
)
def test_the_plan_knows_better_whom_an_event_names(changes, hosts, outside):
    known = {"a": known_of("a", event("E", "a", "b", "out")), "b": known_of("b")}
    (found,) = model(known, planned=planned(**changes), elsewhere=lambda: {"out": ["z"]}).events
    assert (found.hosts, found.outside, found.action) == (hosts, outside, "approve")


# Which hosts are one group, and what their domains are.


def groups(*places):
    return {group.name: group.hosts for group in group_hosts(places).groups}


def test_the_three_signs():
    assert groups(Place("a", delivery_group="web"), Place("b", delivery_group="web")) == {"web": ("a", "b")}
    assert groups(Place("a", placement_group="P-1"), Place("b", placement_group="p-1")) == {
        "placement group p-1": ("a", "b")
    }
    assert groups(Place("a", events=("E1",)), Place("b", events=("e1", "E2"))) == {"the group of a": ("a", "b")}


def test_what_nothing_holds_together_is_one_group():
    assert groups(Place("a"), Place("b", events=("E",)), Place("c", placement_group="p")) == {THE_REST: ("a", "b", "c")}


def test_signs_reach_through_others():
    places = [Place("a", events=("E1",)), Place("b", events=("E1", "E2")), Place("c", events=("E2",))]
    assert groups(*places) == {"the group of a": ("a", "b", "c")}


def test_no_reading_joins_what_the_user_keeps_apart():
    places = [Place("a", delivery_group="x", events=("E",)), Place("b", delivery_group="y", events=("E",))]
    assert groups(*places, Place("c", events=("E",))) == {"x": ("a",), "y": ("b",), THE_REST: ("c",)}


def test_a_group_needs_the_lease_that_the_inventory_declares():
    found = group_hosts([Place("a", delivery_group="x", events=("E",)), Place("b", events=("E",))]).groups
    assert [group.lease for group in found] == ["x", THE_REST]


def test_hosts_whose_names_are_numbered_beyond_nine_are_one_group():
    places = [Place(f"h{number}", delivery_group="web") for number in range(8, 12)]
    assert groups(*places) == {"web": ("h8", "h9", "h10", "h11")}


def test_no_host_joins_a_declared_group_by_what_it_says():
    places = [
        Place("a", placement_group="p", events=("E",)),
        Place("b", delivery_group="x", placement_group="p"),
        Place("c", delivery_group="y", events=("E",)),
    ]
    assert groups(*places) == {"x": ("b",), "y": ("c",), THE_REST: ("a",)}
    apart = [Place("a", delivery_group="y", events=("E",)), Place("b", delivery_group="x", events=("E",))]
    assert groups(*apart) == {"y": ("a",), "x": ("b",)}


def test_of_two_placement_groups_the_first_gives_the_name():
    places = [Place("a", placement_group="q", events=("E",)), Place("b", placement_group="P", events=("E",))]
    assert groups(*places) == {"placement group p": ("a", "b")}


def domains(*places):
    return dict(group_hosts(places).domain_of)


def test_three_single_vms_are_three_domains_with_a_remedy():
    found = group_hosts([Place(name, update_domain="0") for name in ("a", "b", "c")])
    assert dict(found.domain_of) == {"a": "host a", "b": "host b", "c": "host c"}
    warning = warning_about(found.doubtful)
    assert "a, b, c" in warning
    assert "maintenance_delivery_group" in warning
    assert "maintenance_domain" in warning


def test_members_of_a_set_have_their_update_domain():
    places = [Place("a", "web", update_domain="0"), Place("b", "web", update_domain="1")]
    assert domains(*places) == {"a": "update domain 0", "b": "update domain 1"}
    assert group_hosts(places).doubtful == ()


def test_who_is_alone_in_a_group_shares_no_update_domain():
    found = group_hosts([Place("a", "web", update_domain="0")])
    assert dict(found.domain_of) == {"a": "host a"}
    assert found.doubtful == ("a",)


def test_a_single_vm_with_a_zone_has_its_zone_and_a_member_of_a_scale_set_does_not():
    assert domains(Place("a", zone="1", update_domain="0")) == {"a": "zone 1"}
    assert domains(Place("a", zone="1", scale_set="s", update_domain="0")) == {"a": "host a"}


def test_what_the_user_says_comes_first():
    assert domains(Place("a", "web", domain="rack", update_domain="0", zone="1")) == {"a": "domain rack"}


places = st.builds(
    Place,
    host=st.sampled_from("abcdefgh"),
    delivery_group=st.sampled_from(["", "", "x", "y"]),
    placement_group=st.sampled_from(["", "", "p", "q"]),
    events=st.one_of(st.none(), st.lists(st.sampled_from(["E1", "E2", "E3"]), max_size=2).map(tuple)),
)


@given(st.lists(places, unique_by=lambda place: place.host), st.randoms())
def test_every_host_is_in_one_group_whatever_the_order(found, shuffle):
    shuffled = list(found)
    random.Random(shuffle.random()).shuffle(shuffled)
    grouping = group_hosts(found)
    assert grouping == group_hosts(shuffled)
    assert sorted(host for group in grouping.groups for host in group.hosts) == sorted(place.host for place in found)
    named = {place.host: place.delivery_group for place in found if place.delivery_group}
    for host, name in named.items():
        assert grouping.group_of[host] == name
