# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fleet file describes: VMs, groups, delivery scopes, addresses."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import part

InputError = part("input_checks").InputError


def a_fleet(*vms, **more):
    named = [vm if isinstance(vm, dict) else {"name": vm} for vm in vms]
    return part("fleet").Fleet({"vms": named, **more}, "quick")


def scopes(fleet):
    return {name: [vm.key for vm in scope.vms] for name, scope in fleet.scopes.items()}


def problem(*vms, **more):
    with pytest.raises(InputError) as error:
        a_fleet(*vms, **more)
    return str(error.value)


def test_a_vm_without_a_group_has_a_scope_of_its_own():
    assert scopes(a_fleet("a", "b")) == {"vm:a": ["a"], "vm:b": ["b"]}


def test_vms_of_a_group_may_stand_in_any_order():
    fleet = a_fleet(*({"name": name, "group": "web"} for name in ("b", "c", "a")))
    assert scopes(fleet) == {"web": ["b", "c", "a"]}


def test_a_group_that_is_only_named_is_an_availability_set():
    fleet = a_fleet({"name": "a", "group": "web"}, {"name": "b", "group": "web"}, "c")
    assert scopes(fleet) == {"web": ["a", "b"], "vm:c": ["c"]}
    assert (fleet.groups["web"].kind, fleet.groups["web"].size) == ("availability_set", 2)


@pytest.mark.parametrize(
    ("group", "shares"),
    [
        ({}, True),
        ({"kind": "availability_set"}, True),
        ({"kind": "scale_set"}, True),
        ({"kind": "cloud_service"}, True),
        ({"kind": "standalone"}, False),
        ({"kind": "scale_set", "own_events_only": True}, False),
        ({"kind": "scale_set", "own_events_only": False}, True),
        ({"kind": "standalone", "own_events_only": True}, False),
    ],
)
def test_which_groups_share_their_events(group, shares):
    fleet = a_fleet({"name": "a", "group": "g"}, {"name": "b", "group": "g"}, groups={"g": group})
    assert scopes(fleet) == ({"g": ["a", "b"]} if shares else {"vm:a": ["a"], "vm:b": ["b"]})
    assert fleet.scopes["g" if shares else "vm:a"].group is fleet.groups["g"]


def test_a_group_without_vms_has_a_scope_where_it_shares_events():
    groups = {"empty": {}, "alone": {"kind": "standalone"}}
    assert scopes(a_fleet("a", groups=groups)) == {"vm:a": ["a"], "empty": []}


def test_a_group_has_its_key_as_name_and_no_defaults():
    group = a_fleet("a", groups={"g": {}}).groups["g"]
    assert (group.key, group.name, group.defaults, group.auto_approve) == ("g", "g", {}, ())
    assert (group.placement_group_id, group.size) == (None, 0)


def test_what_a_group_may_say():
    spec = {
        "kind": "scale_set",
        "name": "pool",
        "placement_group_id": "",
        "auto_approve": ["Reboot"],
        "resource_group": "rg",
        "location": "x",
    }
    group = a_fleet("a", groups={"g": spec}).groups["g"]
    assert (group.key, group.name, group.placement_group_id) == ("g", "pool", "")
    assert group.auto_approve == ("Reboot",)
    assert group.defaults == {"resource_group": "rg", "location": "x"}


def test_vms_are_counted_within_their_group_and_the_others_through_the_fleet():
    fleet = a_fleet(
        "a", {"name": "b", "group": "g"}, "c", {"name": "d", "group": "g"}, {"name": "e", "group": "h"}, "f"
    )
    assert [vm.index for vm in fleet.vms.values()] == [0, 0, 2, 1, 0, 5]


def test_a_name_may_stand_twice_with_a_key_in_different_groups():
    fleet = a_fleet({"name": "db", "group": "one"}, {"name": "db", "key": "other", "group": "two"})
    assert list(fleet.vms) == ["db", "other"]


@pytest.mark.parametrize(
    ("fleet", "sentence"),
    [
        ((["a", "a"], {}), 'two VMs are called "a"; VMs of one name in different groups need a "key" each'),
        (
            ([{"name": "a", "group": "g"}, {"name": "A", "group": "g"}], {}),
            'two VMs of group "g" are called "A"',
        ),
        (([], {}), 'the fleet: "vms" is empty; name at least one VM'),
        ((["a", {}], {}), 'vms[1]: "name" is missing'),
        ((["a", {"name": 1}], {}), 'vms[1]: "name" must be a text of one line that is not empty, not 1'),
        ((["a"], {"groups": {"g": {"kind": "x"}}}), 'group "g": "kind" must be one of "availability_set", '),
        ((["a"], {"settings": {"speed": 0}}), 'settings: "speed" must be a number greater than 0, not 0'),
        ((["a"], {"colour": 1}), 'the fleet: unknown key "colour"; known keys are events, groups, settings, vms'),
        (([{"name": "a", "address": "x"}], {}), 'VM "a": "x" is not an IP address'),
        (
            ([{"name": "a", "address": "::1"}, {"name": "b", "address": "0::1"}], {}),
            'VMs "a" and "b" have the same address ::1',
        ),
        (
            ([{"name": "a", "address": "1.2.3.4", "port": 5}, {"name": "b", "address": "1.2.3.4", "port": 5}], {}),
            'VMs "a" and "b" have the same address 1.2.3.4',
        ),
    ],
)
def test_what_makes_no_sense_is_told_in_a_sentence(fleet, sentence):
    vms, more = fleet
    assert problem(*vms, **more).startswith(sentence)


def test_names_that_differ_only_in_case_are_no_problem_apart():
    assert len(a_fleet("a", "A").vms) == 2


def test_there_must_be_vms():
    with pytest.raises(InputError, match='the fleet: "vms" is missing'):
        part("fleet").Fleet({}, "quick")


def test_settings_win_over_the_profile():
    fleet = a_fleet("a", settings={"speed": 3, "impact": True})
    assert (fleet.profile, fleet.settings["speed"], fleet.settings["impact"]) == ("quick", 3, True)
    assert fleet.settings["first_call_seconds"] == 0
    assert part("fleet").Fleet({"vms": [{"name": "a"}]}, "azure").settings["first_call_seconds"] == 120


def test_events_are_kept_for_the_world():
    assert a_fleet("a").event_specs == []
    assert a_fleet("a", events=[{"type": "x"}]).event_specs == [{"type": "x"}]


def test_each_vm_without_an_address_has_one_of_its_own_that_nobody_uses():
    first, third, fifth = ({"name": name, "address": f"127.81.0.{n}"} for name, n in (("a", 1), ("c", 3), ("e", 9)))
    fleet = a_fleet(first, "b", third, "d", fifth, "f")
    assert [vm.address for vm in fleet.vms.values()] == [
        "127.81.0.1", "127.81.0.2", "127.81.0.3", "127.81.0.4", "127.81.0.9", "127.81.0.5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [{"port": 0}, {"port": 6}, {"network_namespace": "x", "port": 5}],
)
def test_an_address_may_be_shared_where_ports_or_namespaces_differ_or_the_port_is_free(other):
    first = {"name": "a", "address": "1.2.3.4", "port": 0 if other["port"] == 0 else 5}
    assert len(a_fleet(first, {"name": "b", "address": "1.2.3.4", **other}).vms) == 2
