# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is believed about an event: what a host that lies can and can't do to others, for every fleet and in cases."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import InventoryNames
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.text import render_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import make_waves
from helpers.properties import assert_generated
from hypothesis import given
from hypothesis import strategies as st

POLICY = [{"type": "Freeze", "shorter_than": 10, "action": "approve"}, {"action": "drain"}]
JINJA_HEADER = "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'id') ]]"
NAMES = ["web-0", "web-1", "web-2", "web-3"]


def event(event_id, *resources, **changes):
    return {
        "id": event_id,
        "type": "Reboot",
        "status": "Scheduled",
        "source": "Platform",
        "resources": list(resources),
        "not_before": "2036-11-16T00:15:00Z",
        "duration_seconds": None,
        "description": JINJA_HEADER,
        **changes,
    }


def host(vm_name, *events, group="rg", read_at="2026-11-16T00:00:00Z", domain="0", **variables):
    this_host = {"vm_name": vm_name, "resource_group": group, "subscription_id": "s", "update_domain": domain}
    status = {"this_host": {k: v for k, v in this_host.items() if v}, "events": list(events), "read_at": read_at}
    return {"maintenance_status": status, **variables}


def plan_of(fleet, **options):
    return make_plan(fleet, fleet, POLICY, **options)


def drained_by(plan):
    return {name for wave in plan["waves"] for name in wave["drain"]}


def approved_by(plan):
    return {event_id for wave in plan["waves"] for event_id in wave["approve"]}


def text_of(plan):
    return " ".join(" ".join(render_plan(plan, 2000)).split())


@st.composite
def fleets_with_liars(draw):
    """Hosts that show what they like, under names that they choose."""
    events = [
        event(
            f"E{number}",
            *draw(st.lists(st.sampled_from([*NAMES, "other", "outsider"]), min_size=1, unique=True)),
            status=draw(st.sampled_from(["Scheduled", "Scheduled", "Started"])),
            type=draw(st.sampled_from(["Reboot", "Freeze"])),
            duration_seconds=draw(st.sampled_from([None, 1])),
        )
        for number in draw(st.lists(st.integers(0, 2), max_size=4))
    ]
    fleet = {}
    for name in [*NAMES, "other"]:
        seen = draw(st.lists(st.sampled_from(events), unique_by=lambda one: one["id"])) if events else []
        claimed = draw(st.sampled_from([name, name, name, *NAMES]))
        group = draw(st.sampled_from(["rg", "rg", "rg-2", None]))
        own = {} if draw(st.integers(0, 3)) else {"maintenance_delivery_group": draw(st.sampled_from(["a", "b"]))}
        fleet[name] = host(claimed, *seen, group=group, **own) if draw(st.integers(0, 7)) else own
    return fleet


def own_events(fleet, name):
    status = fleet[name].get("maintenance_status")
    claimed = status["this_host"]["vm_name"] if status else name
    return {one["id"]: one for one in (status or {"events": []})["events"] if claimed in one["resources"]}


@given(fleets_with_liars(), st.booleans())
def test_nobody_is_drained_for_what_he_does_not_show(fleet, read_again):
    plan = plan_of(fleet, read_again=read_again)
    for wave in plan["waves"]:
        for name in wave["drain"]:
            mine = {one["id"] for one in wave["events"] if "drain" in one["steps"] and name in one["hosts"]}
            assert mine & set(own_events(fleet, name))


@given(fleets_with_liars())
def test_what_is_approved_is_shown_by_a_host_of_each_name(fleet):
    plan = plan_of(fleet, read_again=True)
    for wave in plan["waves"]:
        for entry in wave["events"]:
            if entry["approvable"]:
                covered = {
                    canonical_name(fleet[name]["maintenance_status"]["this_host"]["vm_name"])
                    for name in entry["hosts"]
                    if entry["id"] in own_events(fleet, name)
                }
                unread = [name for name in entry["hosts"] if "maintenance_status" not in fleet[name]]
                assert set(entry["resources"]) <= covered | set(unread)


@st.composite
def fleets_with_twins(draw):
    """Two hosts with an event each that say that they are one VM, perhaps of two resource groups."""
    fleet = draw(fleets_with_liars())
    for number, name in enumerate(NAMES[:2]):
        group = draw(st.sampled_from(["rg", "rg-2", None]))
        # The inventory declares that both are it.
        declared = {"maintenance_vm_name": NAMES[0]}
        fleet[name] = host(NAMES[0], event(f"T{number}", NAMES[0]), group=group, **declared)
    return fleet


def twins(fleet):
    """The scopes of each two hosts that the plan takes, and that say that they are one VM."""
    busy = sorted({name for wave in plan_of(fleet)["waves"] for name in wave["hosts"]})
    read = [fleet[name]["maintenance_status"]["this_host"] for name in busy if fleet[name].get("maintenance_status")]
    return [
        {one.get("resource_group"), two.get("resource_group")}
        for one, two in itertools.combinations(read, 2)
        if one["vm_name"] == two["vm_name"]
    ]


@given(fleets_with_twins())
def test_whoever_shares_a_vm_name_and_scope_is_refused_but_for_one(fleet):
    for scopes in twins(fleet):
        assert len(scopes) == 2
        assert None not in scopes


def test_twins_of_two_groups_are_among_the_examples():
    assert_generated(fleets_with_twins(), twins)


@given(fleets_with_liars())
def test_started_in_a_reading_of_the_group_is_never_taken_for_scheduled(fleet):
    for wave in plan_of(fleet)["waves"]:
        for entry in wave["events"]:
            if entry["status"] == "Started":
                assert not entry["approvable"]
                assert "drain" not in entry["steps"]


def test_an_event_that_only_others_show_moves_nobody():
    invented = event("LIE", *NAMES)
    fleet = {name: host(name) for name in NAMES}
    fleet["liar"] = host("other", invented)
    plan = plan_of(fleet)
    assert (plan["waves"], plan["nothing_to_do"]) == ([], ["liar", *NAMES])
    assert "LIE names web-0, web-1, web-2 and web-3, but is shown only by hosts that it does not name" in text_of(plan)
    assert not any(doubt["wrong"] for doubt in plan["not_believed"])
    # The public filter knows it as well: everybody in one wave is what the liar wanted.
    assert [wave["events"] for wave in make_waves(fleet, fleet, 1)] == [[]] * 5


def test_an_unread_host_is_still_held_back_by_what_others_show():
    fleet = {"web-0": host("web-0", event("E", "web-1", status="Started")), "web-1": {}}
    (wave,) = plan_of(fleet)["waves"]
    assert (wave["hosts"], wave["drain"], wave["approve"], wave["underway"]) == (["web-1"], [], [], True)


def test_a_host_that_does_not_show_it_is_read_again_and_then_not_believed():
    both = event("E", "web-0", "web-1")
    fleet = {"web-0": host("web-0", both), "web-1": host("web-1", domain="1")}
    (wave,) = plan_of(fleet)["waves"]
    assert (wave["hosts"], wave["drain"], wave["approve"]) == (["web-0", "web-1"], ["web-0"], ["E"])
    assert "web-0 shows it, web-1 does not: they are read once more" in text_of(plan_of(fleet))
    again = plan_of(fleet, read_again=True)
    (wave,) = again["waves"]
    assert (wave["hosts"], wave["drain"], wave["approve"]) == (["web-0"], ["web-0"], [])
    (refusal,) = again["refused"]
    assert (refusal["uncovered"], refusal["shown_by"], refusal["not_shown_by"]) == (["web-1"], ["web-0"], ["web-1"])
    assert "It is not approved: web-0 shows it, web-1 does not." in text_of(again)
    assert approved_by(plan_of(fleet, read_again=True, uncovered="allow")) == {"E"}


def test_a_liar_does_not_tie_domains_together_once_they_were_read_again():
    mine, yours = event("E0", "web-0"), event("E1", "web-1")
    lie = event("LIE", "liar", "web-0", "web-1", not_before=None)
    fleet = {
        "web-0": host("web-0", mine, yours),
        "web-1": host("web-1", mine, yours, domain="1"),
        "liar": host("liar", lie, domain="2"),
    }
    assert [wave["drain"] for wave in plan_of(fleet, read_again=True)["waves"]] == [["liar"], ["web-0"], ["web-1"]]


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ({"maintenance_vm_name": "db1"}, {}),
        ({"maintenance_vm_name": "DB1"}, {"name": "web-9"}),
        ({"name": "db1", "resource_group": "RG", "subscription_id": "S"}, {}),
        ({"name": "db1", "id": "/subscriptions/s/resourceGroups/rg/providers/x/db1"}, {"name": "web-9"}),
    ],
)
def test_of_two_that_claim_one_vm_the_inventory_tells_which_it_is(true, false):
    shared = event("E", "web-0", "db1")
    fleet = {"web-0": host("web-0", shared), "a": host("db1", shared, **false), "b": host("db1", shared, **true)}
    plan = plan_of(fleet)
    assert drained_by(plan) == {"web-0", "b"}
    assert approved_by(plan) == {"E"}
    (doubt,) = plan["not_believed"]
    assert (doubt["hosts"], doubt["wrong"]) == (["a"], True)
    assert "a claims to be the VM db1, but by the inventory that is b." in text_of(plan)


def test_of_two_that_claim_one_vm_the_one_that_is_called_so_is_it():
    shared = event("E", "web-0", "db1")
    fleet = {"web-0": host("web-0", shared), "db1": host("db1", shared), "liar": host("db1", shared, group=None)}
    assert drained_by(plan_of(fleet)) == {"web-0", "db1"}
    # Also where it could not be read: then nobody covers it.
    fleet["db1"] = {}
    plan = plan_of(fleet, read_again=True)
    assert drained_by(plan) == {"web-0"}
    assert "liar" not in {name for wave in plan["waves"] for name in wave["hosts"]}


def test_where_the_inventory_does_not_tell_both_are_refused():
    shared = event("E", "web-0", "db1")
    fleet = {"web-0": host("web-0", shared), "a": host("db1", shared), "b": host("db1", shared)}
    plan = plan_of(fleet, drained=["a", "b"])
    assert (drained_by(plan), approved_by(plan)) == ({"web-0"}, set())
    assert plan["refused"][0]["uncovered"] == ["db1"]
    (doubt,) = plan["not_believed"]
    assert (doubt["hosts"], doubt["wrong"]) == (["a", "b"], True)
    named_twice = {
        "web-0": fleet["web-0"],
        "db1": host("db1", shared, maintenance_vm_name="db1"),
        "b": host("db1", shared, maintenance_vm_name="db1"),
    }
    assert drained_by(plan_of(named_twice)) == {"web-0"}
    # What is drained there is returned to service, unless it has begun there.
    assert plan["restore_first"] == ["a", "b"]
    begun = event("E", "web-0", "db1", status="Started")
    fleet["b"] = host("db1", begun)
    plan = plan_of(fleet, drained=["a", "b"])
    assert (plan["restore_first"], plan["left_drained"]) == (["a"], ["b"])


def test_two_that_claim_one_vm_that_no_event_names_are_told_and_nothing_is_wrong():
    fleet = {"a": host("db1"), "b": host("db1"), "c": host("db1", group="rg-2", maintenance_vm_name="db1")}
    plan = plan_of(fleet)
    assert [(doubt["hosts"], doubt["wrong"]) for doubt in plan["not_believed"]] == [(["a", "b"], False)]


@pytest.mark.parametrize(
    ("name", "variables", "said"),
    [
        ("db1", {"maintenance_vm_name": "xevil"}, "the VM db1, but the inventory declares it to be xevil."),
        ("evil", {}, "evil says that it is the VM db1, which the inventory does not confirm. If it is, set"),
        ("10.0.0.4", {"name": "other"}, "If it is, set maintenance_vm_name: db1 on it."),
    ],
)
def test_a_host_whose_claim_the_inventory_does_not_bear_out_is_refused(name, variables, said):
    shared = event("E", "web-0", "db1")
    fleet = {"web-0": host("web-0", shared), name: host("db1", shared, **variables)}
    plan = plan_of(fleet, drained=[name], read_again=True)
    assert (drained_by(plan), approved_by(plan)) == ({"web-0"}, set())
    assert plan["refused"][0]["uncovered"] == ["db1"]
    assert [(doubt["hosts"], doubt["wrong"]) for doubt in plan["not_believed"]] == [([name], True)]
    assert said in text_of(plan)
    # What is drained there is returned to service.
    assert plan["restore_first"] == [name]


def test_a_host_outside_the_run_is_the_vm_that_another_one_claims():
    shared = event("E", "web-0", "db1")
    fleet = {"web-0": host("web-0", shared), "evil": host("db1", shared)}
    for others, known in ((["db1"], {}), (["10.0.0.4"], {"10.0.0.4": ["db1", None]})):
        names = InventoryNames([*fleet, *others], known)
        plan = plan_of(fleet, names=lambda names=names: names)
        assert (drained_by(plan), approved_by(plan)) == ({"web-0"}, set())
        said = f"evil claims to be the VM db1, but by the inventory that is {others[0]}."
        assert said in text_of(plan)
        assert "set maintenance_vm_name: db1 on it." in text_of(plan)


def test_hosts_that_the_inventory_only_has_to_declare_are_told_together():
    fleet = {f"10.0.0.{number}": host(f"web-{number}", event(f"E{number}", f"web-{number}")) for number in range(12)}
    (doubt,) = plan_of(fleet)["not_believed"]
    assert (len(doubt["hosts"]), doubt["wrong"]) == (12, True)
    assert "10.0.0.0 (web-0), 10.0.0.1 (web-1)" in doubt["why"]
    assert "10.0.0.9" not in doubt["why"]
    # Where no event is at stake, nothing is wrong yet.
    (doubt,) = plan_of({"10.0.0.1": host("web-1")})["not_believed"]
    assert not doubt["wrong"]


def test_a_version_of_a_host_that_is_not_named_never_replaces_one_of_a_named_host():
    true = event("E", "web-0")
    false = event("E", "web-0", type="Freeze", duration_seconds=1, not_before="2046-11-16T00:15:00Z")
    fleet = {"web-0": host("web-0", true), "liar": host("liar", false, read_at="2099-01-01T00:00:00Z")}
    (wave,) = plan_of(fleet)["waves"]
    (entry,) = wave["events"]
    assert (entry["type"], entry["action"], wave["deadline"]) == ("Reboot", "drain", "2036-11-16T00:15:00Z")


def test_where_named_hosts_tell_different_things_nobody_is_surprised():
    true = event("E", "web-0", "web-1")
    false = event("E", "web-0", "web-1", type="Freeze", duration_seconds=1)
    for late, early in ((true, false), (false, true)):
        fleet = {"web-0": host("web-0", early), "web-1": host("web-1", late, read_at="2026-11-16T00:01:00Z")}
        (wave,) = plan_of(fleet)["waves"]
        assert (wave["events"][0]["type"], wave["drain"]) == ("Reboot", ["web-0", "web-1"])


def test_an_event_of_two_declared_groups_is_refused_by_name():
    shared = event("E", "web-0", "web-1")
    fleet = {
        "web-0": host("web-0", shared, maintenance_delivery_group="blue"),
        "web-1": host("web-1", shared, maintenance_delivery_group="green"),
    }
    plan = plan_of(fleet)
    assert plan["waves"] == []
    (doubt,) = plan["not_believed"]
    assert doubt["wrong"]
    assert "E names hosts of 2 delivery groups: web-0 of blue and web-1 of green." in text_of(plan)


def test_a_liar_of_another_declared_group_neither_stops_nor_starts_anything_there():
    true = event("E", "web-0")
    for lie in (event("E", "web-0", "liar"), event("E", "web-0", status="Started"), event("E", "web-0", "outsider")):
        fleet = {
            "web-0": host("web-0", true, maintenance_delivery_group="blue"),
            "liar": host("liar", lie, maintenance_delivery_group="green"),
        }
        plan = plan_of(fleet)
        assert (drained_by(plan), approved_by(plan)) == ({"web-0"}, {"E"})
