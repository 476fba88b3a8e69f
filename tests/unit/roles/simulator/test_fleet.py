# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people may write, the fleet file with its groups and addresses; and the identity of a VM, field by field."""

from __future__ import annotations

import math

import pytest
from helpers.simulator_inside import part
from hypothesis import given
from hypothesis import strategies as st

checks = part("input_checks")
InputError = checks.InputError
vm_part = part("vm")
NEWEST = "2025-04-07"
SUBSCRIPTION = "73762c7a-bf39-535c-bf1c-1349ea148a86"


def a_fleet(*vms, **more):
    named = [vm if isinstance(vm, dict) else {"name": vm} for vm in vms]
    return part("fleet").Fleet({"vms": named, **more}, "quick")


def scopes(fleet):
    return {name: [vm.key for vm in scope.vms] for name, scope in fleet.scopes.items()}


def compute(spec=None, version=NEWEST, **groups):
    (vm,) = a_fleet({"name": "web-0", **(spec or {})}, groups=groups).vms.values()
    return vm.instance_document(version)["compute"]


# What people may write, and the sentence that they get otherwise.

NAN, INFINITE = math.nan, math.inf
# Check -> what it takes, what it does not, and what it says then.
RULES = {
    "a_text": (["x", "two words"], ["", "two\nlines", "\t", 1, None, ["x"]], "a text of one line that is not empty"),
    "any_text": (["", "x", "two\nlines"], [1, None, b"x", ["x"]], "a text"),
    "a_duration": (
        [0, 0.5, 1, 9_999_999_999],
        [-1, -0.1, 1e10, 1e11, NAN, INFINITE, True, "1", None],
        "a number of seconds, 0 or more",
    ),
    "a_positive_number": (
        [0.001, 1, 9_999_999_999],
        [0, 0.0, -1, 1e10, 1e11, NAN, INFINITE, True, "1", None],
        "a number greater than 0",
    ),
    "an_integer": ([-1, 0, 7], [1.0, True, False, "1", None], "an integer"),
    "a_count": ([0, 1, 7], [-1, 1.0, True, "1", None], "an integer, 0 or more"),
    "at_least_one": ([1, 2, 7], [0, -1, 1.0, True, "1", None], "an integer, 1 or more"),
    "a_port": ([0, 1, 80, 65535], [-1, 65536, 80.0, True, "80", None], "a port number, 0 to 65535"),
    "a_status": ([200, 404, 599], [199, 600, 200.0, True, "200", None], "an HTTP status, 200 to 599"),
    "a_boolean": ([True, False], [0, 1, "true", None], "true or false"),
    "an_object": ([{}, {"a": 1}], [[], "x", None], "an object"),
    "a_list": ([[], ["x"], [1]], [{}, (), "x", None], "a list"),
    "texts": ([[], ["x"], ["x", "y"]], [["x", ""], ["", "x"], ["x", 1], "x", {"x": "y"}, None], "a list of texts"),
    "text_object": (
        [{}, {"a": "x", "b": ""}], [{"a": "x", "b": 1}, ["x"], "x", None], "an object whose values are texts",
    ),
    "text_or_number": (["", "x", 0, -5], [1.5, True, None, ["x"]], "a text or an integer"),
    "anything": ([None, 1, "", {}, NAN], [], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_what_fits_and_what_is_said_otherwise(name):
    fitting, others, sentence = RULES[name]
    check = getattr(checks, name)
    assert [check(value) for value in fitting] == [None] * len(fitting)
    assert [check(value) for value in others] == [sentence] * len(others)


def test_one_of_a_few_words():
    check = checks.one_of("on", "off", 3)
    assert (check("on"), check("off"), check(3)) == (None, None, None)
    assert check("of") == check("") == check(None) == check("onoff") == 'one of "on", "off", 3'


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([1, "x"], 'the thing must be an object, not [1, "x"]'),
        ("text", 'the thing must be an object, not "text"'),
        (["x" * 100], 'the thing must be an object, not ["' + "x" * 78),
        ({"name": "x", "colour": 1}, 'the thing: unknown key "colour"; known keys are name, size'),
        ({"name": "x", "colour": None}, 'the thing: unknown key "colour"; known keys are name, size'),
        ({"size": 1}, 'the thing: "name" is missing'),
        ({"name": None}, 'the thing: "name" is missing'),
        ({"name": "x", "size": "big"}, 'the thing: "size" must be a number greater than 0, not "big"'),
        ({"name": "x", "size": "b" * 100}, 'the thing: "size" must be a number greater than 0, not "' + "b" * 79),
    ],
)
def test_the_sentence_names_what_is_wrong_and_is_not_endless(given, sentence):
    rules = {"size": checks.a_positive_number, "name": checks.a_text}
    with pytest.raises(checks.InputError) as error:
        checks.checked("the thing", given, rules, required=["name"])
    assert str(error.value) == sentence


def test_what_is_null_is_not_there():
    rules = {"name": checks.a_text, "size": checks.a_count}
    given = {"name": None, "size": 0}
    assert checks.checked("the thing", given, rules) == {"size": 0}
    assert given == {"name": None, "size": 0}


# Settings.

VERSIONS = ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"]
VERSIONS += ["2024-07-09"]
AZURE = {
    "speed": 1, "first_call_seconds": 120, "empty_while_switching_on": True, "events_after_seconds": 180,
    "off_after_seconds": 24 * 60 * 60, "reset_incarnation": True, "requests_per_second": 5,
    "unknown_event_status": 200, "user_events_wait_when_off": False, "impact": True, "api_versions": VERSIONS,
    "platform_reboot_seconds": 35 * 60, "domain_pause_seconds": 30 * 60, "unknown_version_status": 400,
}  # fmt: skip
IN_A_HURRY = {
    "first_call_seconds": 0, "empty_while_switching_on": False, "events_after_seconds": 0,
    "user_events_wait_when_off": True, "impact": False, "platform_reboot_seconds": 600, "domain_pause_seconds": 0,
}  # fmt: skip


@pytest.mark.parametrize(("name", "profile"), [("azure", AZURE), ("quick", {**AZURE, **IN_A_HURRY})])
def test_the_profiles_and_that_each_of_their_settings_may_be_written(name, profile):
    settings = part("settings")
    assert settings.PROFILES[name] == profile
    assert set(settings.SETTING_RULES) == set(profile)
    assert [settings.SETTING_RULES[word](value) for word, value in profile.items()] == [None] * len(profile)
    assert part("fleet").Fleet({"vms": [{"name": "a"}]}, name).settings == profile


def test_settings_win_over_the_profile_and_events_are_kept_for_the_world():
    fleet = a_fleet("a", settings={"speed": 3, "impact": True}, events=[{"type": "x"}])
    assert (fleet.profile, fleet.settings) == ("quick", {**AZURE, **IN_A_HURRY, "speed": 3, "impact": True})
    assert (fleet.event_specs, a_fleet("a").event_specs) == ([{"type": "x"}], [])


@pytest.mark.parametrize("value", [[], ["2020-07-01", "2025-04-07"], ["2025-04-07", "2020-07-01"], "2020-07-01", None])
def test_versions_are_a_list_of_those_that_events_have(value):
    check = part("settings").versions_of_events
    assert check(value) == "a list of api-versions, each one of " + ", ".join(VERSIONS)
    assert check(["2019-01-01", "2017-08-01"]) is None


# Groups and delivery scopes.


@pytest.mark.parametrize(
    ("group", "shares"),
    [
        *(({"kind": kind}, True) for kind in (None, "availability_set", "flexible_scale_set", "cloud_service")),
        ({"kind": "standalone"}, False),
        ({"kind": "flexible_scale_set", "own_events_only": True}, False),
        ({"kind": "flexible_scale_set", "own_events_only": False}, True),
        ({"kind": "standalone", "own_events_only": True}, False),
    ],
)
def test_which_groups_share_their_events(group, shares):
    fleet = a_fleet({"name": "b", "group": "g"}, {"name": "a", "group": "g"}, groups={"g": group})
    assert scopes(fleet) == ({"g": ["b", "a"]} if shares else {"vm:b": ["b"], "vm:a": ["a"]})
    assert fleet.scopes["g" if shares else "vm:a"].group is fleet.groups["g"]
    assert scopes(a_fleet("a", groups={"g": group})) == {"vm:a": ["a"], **({"g": []} if shares else {})}


def test_a_group_that_is_only_named_is_an_availability_set_and_vms_are_counted_in_it():
    """VMs without a group are counted through the fleet."""
    fleet = a_fleet(
        "a", {"name": "b", "group": "g"}, "c", {"name": "d", "group": "g"}, {"name": "e", "group": "h"}, "f"
    )
    assert scopes(fleet) == {"vm:a": ["a"], "g": ["b", "d"], "vm:c": ["c"], "h": ["e"], "vm:f": ["f"]}
    assert (fleet.groups["g"].kind, fleet.groups["g"].size) == ("availability_set", 2)
    assert [vm.index for vm in fleet.vms.values()] == [0, 0, 2, 1, 0, 5]


def test_what_a_group_may_say():
    spec = {"kind": "scale_set", "name": "pool", "placement_group_id": "", "auto_approve": ["Reboot"]}
    group, plain = a_fleet(
        "a", groups={"g": {**spec, "resource_group": "rg", "location": "x"}, "p": {}}
    ).groups.values()
    assert (group.key, group.name, group.placement_group_id, group.auto_approve) == ("g", "pool", "", ("Reboot",))
    assert group.defaults == {"resource_group": "rg", "location": "x"}
    assert (plain.key, plain.name, plain.placement_group_id, plain.auto_approve) == ("p", "p", None, ())
    assert (plain.defaults, plain.size) == ({}, 0)


def test_a_name_may_stand_twice_with_a_key_or_apart_in_another_case():
    two = {"name": "db", "group": "one"}, {"name": "db", "key": "other", "group": "two"}
    assert list(a_fleet(*two, "a", "A").vms) == ["db", "other", "a", "A"]


def at(name, address, **more):
    return {"name": name, "address": address, **more}


@pytest.mark.parametrize(
    ("vms", "more", "sentence"),
    [
        (["a", "a"], {}, 'two VMs are called "a"; VMs of one name in different groups need a "key" each'),
        ([{"name": "a", "group": "g"}, {"name": "A", "group": "g"}], {}, 'two VMs of group "g" are called "A"'),
        ([], {}, 'the fleet: "vms" is empty; name at least one VM'),
        (["a"], {"vms": None}, 'the fleet: "vms" is missing'),
        (["a"], {"vms": ["a"]}, 'vms[0] must be an object, not "a"'),
        (["a", {}], {}, 'vms[1]: "name" is missing'),
        (["a", {"name": 1}], {}, 'vms[1]: "name" must be a text of one line that is not empty, not 1'),
        (["a"], {"groups": {"g": {"kind": "x"}}}, 'group "g": "kind" must be one of "availability_set", '),
        (["a"], {"settings": {"speed": 0}}, 'settings: "speed" must be a number greater than 0, not 0'),
        (
            ["a"],
            {"colour": 1},
            'the fleet: unknown key "colour"; known keys are events, groups, maintenance, settings, vms',
        ),
        (
            [{"name": "pool_1x", "group": "pool"}],
            {"groups": {"pool": {"kind": "scale_set"}}},
            'VM "pool_1x": a VM of the scale set "pool" is called pool_NUMBER; other names are for the kind ',
        ),
        ([at("a", "x")], {}, 'VM "a": "x" is not an IP address'),
        ([at("a", "::1"), at("b", "0::1")], {}, 'VMs "a" and "b" have the same address ::1'),
        ([at("a", "1.2.3.4", port=5), at("b", "1.2.3.4", port=5)], {}, 'VMs "a" and "b" have the same address 1.2.3.4'),
    ],
)
def test_what_makes_no_sense_is_answered_with_a_sentence(vms, more, sentence):
    with pytest.raises(InputError) as error:
        part("fleet").Fleet({"vms": [vm if isinstance(vm, dict) else {"name": vm} for vm in vms], **more}, "quick")
    assert str(error.value).startswith(sentence)


def test_each_vm_without_an_address_has_one_of_its_own_that_nobody_uses():
    fleet = a_fleet(at("a", "127.81.0.1"), "b", at("c", "127.81.0.3"), "d", at("e", "127.81.0.9"), "f")
    assert [vm.address.rpartition(".")[2] for vm in fleet.vms.values()] == ["1", "2", "3", "4", "9", "5"]
    assert {vm.address.rpartition(".")[0] for vm in fleet.vms.values()} == {"127.81.0"}


@pytest.mark.parametrize(
    ("port", "other"), [(0, {"port": 0}), (5, {"port": 6}), (5, {"port": 5, "network_namespace": "x"})]
)
def test_an_address_may_be_shared_where_ports_or_namespaces_differ_or_the_port_is_free(port, other):
    assert len(a_fleet(at("a", "1.2.3.4", port=port), at("b", "1.2.3.4", **other)).vms) == 2


# The identity of a VM.


def test_a_vm_alone():
    about = compute({"tags": {"team": "ops", "app": "x"}, "subscription_id": "S", "resource_group": "R", "vm_id": "V"})
    expected = {
        "azEnvironment": "AzurePublicCloud", "evictionPolicy": "", "location": "westeurope", "name": "web-0",
        "offer": "debian-12", "osType": "Linux", "placementGroupId": "", "platformFaultDomain": "0",
        "osProfile": {"adminUsername": "azureuser", "computerName": "web-0", "disablePasswordAuthentication": "true"},
        "platformUpdateDomain": "0", "priority": "", "provider": "Microsoft.Compute", "publisher": "Debian",
        "resourceGroupName": "R", "sku": "12-gen2", "subscriptionId": "S", "tags": "app:x;team:ops",
        "resourceId": "/subscriptions/S/resourceGroups/R/providers/Microsoft.Compute/virtualMachines/web-0",
        "tagsList": [{"name": "app", "value": "x"}, {"name": "team", "value": "ops"}], "version": "latest",
        "virtualMachineScaleSet": {"id": ""}, "vmId": "V", "vmScaleSetName": "", "vmSize": "Standard_D2s_v5",
        "zone": "",
    }  # fmt: skip
    empty = part("azure_facts").EMPTY_COMPUTE_FIELDS
    assert about == {**empty, **expected}
    assert empty["storageProfile"]["resourceDisk"] == {"size": "0"}


def test_ids_are_made_from_names_and_the_same_in_every_run():
    about = compute()
    assert (about["resourceGroupName"], about["subscriptionId"]) == ("rg-simulated", SUBSCRIPTION)
    assert about["subscriptionId"] == vm_part.stable_guid("subscription")
    assert about["vmId"] == vm_part.stable_guid("vm", SUBSCRIPTION, "rg-simulated", "web-0")


def test_a_vm_of_a_group_takes_what_the_group_says_unless_it_says_otherwise():
    group = {"resource_group": "R", "subscription_id": "S", "location": "L"}
    about = compute({"group": "g", "location": "M"}, g=group)
    assert (about["resourceGroupName"], about["subscriptionId"], about["location"]) == ("R", "S", "M")
    assert compute({"group": "g"}, g={})["resourceGroupName"] == "rg-g"


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"priority": "Spot"}, {"priority": "Spot", "evictionPolicy": "Deallocate"}),
        ({"priority": "Regular"}, {"priority": "Regular", "evictionPolicy": ""}),
        ({"priority": "Low"}, {"priority": "Low", "evictionPolicy": ""}),
        ({"zone": 2, "fault_domain": 0}, {"zone": "2", "platformFaultDomain": "0", "platformUpdateDomain": ""}),
        ({"fault_domain": "7", "update_domain": 8}, {"platformFaultDomain": "7", "platformUpdateDomain": "8"}),
    ],
)
def test_what_a_vm_may_say(spec, shown):
    assert shown.items() <= compute(spec).items()


@pytest.mark.parametrize(
    ("kind", "fault", "update"),
    [
        ("availability_set", "010101", "012340"), ("scale_set", "012340", "012340"),
        ("flexible_scale_set", "000000", "000000"),
        ("cloud_service", "012340", "012340"), ("standalone", "000000", "000000"),
    ],
)  # fmt: skip
def test_domains_are_counted_through(kind, fault, update):
    made = a_fleet(*[{"name": f"g_{n}", "group": "g"} for n in range(6)], groups={"g": {"kind": kind}}).vms.values()
    assert "".join(vm.compute["platformFaultDomain"] for vm in made) == fault
    assert "".join(vm.compute["platformUpdateDomain"] for vm in made) == update


def test_a_group_says_how_many_fault_domains_it_shows_and_the_update_domain_of_each_vm():
    vms = [{"name": f"vm{n}", "group": "g"} for n in range(4)]
    group = {"kind": "flexible_scale_set", "fault_domains": 3, "update_domain": ""}
    about = [vm.compute for vm in a_fleet(*vms, groups={"g": group}).vms.values()]
    assert [one["platformFaultDomain"] for one in about] == ["0", "1", "2", "0"]
    assert [one["platformUpdateDomain"] for one in about] == [""] * 4


@pytest.mark.parametrize("kind", ["availability_set", "cloud_service", "standalone"])
def test_a_vm_of_another_group_is_in_no_scale_set(kind):
    about = compute({"name": "g_1", "group": "g"}, g={"kind": kind})
    assert (about["vmScaleSetName"], about["placementGroupId"], about["virtualMachineScaleSet"]) == ("", "", {"id": ""})
    assert about["osProfile"]["computerName"] == "g_1"
    assert about["resourceId"].endswith("/virtualMachines/g_1")


def test_fields_may_be_overridden_leaf_by_leaf():
    over = {"osProfile": {"adminUsername": "x"}, "host": "h", "plan": None, "zone": {"a": "b"}}
    about = compute({"computer_name": "other", "compute": over})
    assert about["osProfile"] == {
        "adminUsername": "x", "computerName": "other", "disablePasswordAuthentication": "true",
    }  # fmt: skip
    assert (about["host"], about["plan"], about["zone"]) == ("h", None, {"a": "b"})


def test_the_network():
    first, second = a_fleet("web-0", at("b", "::1")).vms.values()
    ipv4 = {
        "ipAddress": [{"privateIpAddress": "127.81.0.1", "publicIpAddress": ""}],
        "subnet": [{"address": "10.0.0.0", "prefix": "16"}],
    }
    assert first.instance_document(NEWEST)["network"] == {
        "interface": [{"ipv4": ipv4, "ipv6": {"ipAddress": []}, "macAddress": "000D3A000001"}]
    }
    assert second.instance_document(NEWEST)["network"]["interface"][0]["macAddress"] == "000D3A000002"


@given(st.integers(1, 10**9))
def test_base_36_is_what_python_reads(number):
    assert int(vm_part.base36(number), 36) == number
    assert vm_part.base36(number)[0] != "0"
