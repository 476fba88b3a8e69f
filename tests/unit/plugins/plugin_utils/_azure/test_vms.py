# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts are the VMs that events name, who claims to be one, and what links hosts."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import (
    NOW,
    InventoryNames,
    Vms,
    all_events,
    collect_events,
    declared_vm,
    false_claims,
    hosts_by_vm_name,
    inventory_scope,
    known_vms,
    of_one_short_name,
    same_scope,
    scope_of,
    settle_claims,
    this_host_of,
    this_hosts_of,
    vm_name_of,
    with_told_scopes,
)

# One event, put together from all readings that show it: whom it names, who shows it, and whose word is taken.


SOON = {"not_before": "2026-11-16T00:15:00Z"}


def event(*resources, **changes):
    return {"id": "E", "type": "Reboot", "status": "Scheduled", "resources": list(resources), **changes}


def reading(vm, *events, at="00:00", rg="one", group=None):
    this_host = {"vm_name": vm, "resource_group": rg, "subscription_id": "s"}
    status = {"this_host": this_host, "events": list(events), "read_at": f"2026-11-16T{at}:00Z"}
    return {"maintenance_status": status, **({"maintenance_delivery_group": group} if group else {})}


def all_of(readings):
    this_hosts = this_hosts_of(list(readings), readings)
    return all_events(Vms(this_hosts, readings), this_hosts, readings)


def seen(readings):
    (found,) = all_of(readings)
    return found


def seen_by_group(readings):
    return {found.group: found for found in all_of(readings)}


def in_both_orders(readings):
    return [dict(readings), dict(reversed(readings.items()))]


@pytest.mark.parametrize("short", ["a", "b"])
def test_an_event_that_has_grown_names_all_that_any_host_says(short):
    shown = {host: event(host) if host == short else event("a", "b") for host in "ab"}
    for readings in in_both_orders({host: reading(host, shown[host]) for host in "ab"}):
        found = seen(readings)
        assert (sorted(found.hosts), sorted(found.shown_by), found.outside) == (["a", "b"], ["a", "b"], [])


def test_of_vms_of_one_name_each_speaks_for_its_own_group():
    readings = {
        host: reading("same", event("same"), rg=rg) for host, rg in (("a", "one"), ("b", "two"), ("c", "Three"))
    }
    for given in in_both_orders(readings):
        found = seen(given)
        assert (sorted(found.hosts), sorted(found.shown_by)) == (["a", "b", "c"], ["a", "b", "c"])


def test_whom_nobody_in_this_run_is():
    found = seen({"a": reading("a", event("a", "X", "x", "y")), "b": reading("b", event("a", "y", "z"))})
    assert found.outside == ["X", "y"]


# Several declared groups.


def test_an_event_that_names_two_declared_groups_is_nobodys():
    for readings in in_both_orders({host: reading(host, event("a", "b"), group=host) for host in "ab"}):
        for found in seen_by_group(readings).values():
            assert (found.is_torn, found.hosts, sorted(found.named), list(found.shown_by)) == (True, {}, ["a", "b"], [])


def test_who_shows_a_version_of_its_own_is_believed_beside_one_that_is_torn():
    torn = {host: reading(host, event("a", "b"), group=host) for host in "ab"}
    for own in (("c",), ("a", "c"), ("0", "c")):
        for readings in in_both_orders({**torn, "c": reading("c", event(*own), group="a")}):
            found = seen_by_group(readings)["a"]
            assert list(found.shown_by) == ["c"]
            assert not found.is_torn
            assert sorted(found.named) == ["a", "b", "c"]


@pytest.mark.parametrize("rg", ["two", "another"])
def test_the_same_names_in_another_resource_group_are_other_vms(rg):
    """There, they are of one declared group."""
    names = ("a", "b", "c")
    readings = {host: reading(host, event(*names), group=host) for host in "ab"}
    readings["c"] = reading("c", event(*names), group="a", rg=rg)
    for given in in_both_orders(readings):
        found = seen_by_group(given)["a"]
        assert (list(found.shown_by), found.hosts) == (["c"], {"c": "c"})


def test_an_id_that_two_declared_groups_show_is_two_events():
    """One of them is a lie, or a host is of another group than declared: neither changes the other."""
    mine = reading("a", event("a", **SOON), group="x")
    for lie in (event("a", status="Started"), event("b", type="Preempt"), event("b", "outsider", status="Started")):
        for given in in_both_orders({"a": mine, "b": reading("b", lie, group="y")}):
            found = seen_by_group(given)
            assert (list(found["x"].hosts), list(found["x"].shown_by), found["x"].outside) == (["a"], ["a"], [])
            assert (found["x"].started, found["x"].event["type"]) == (False, "Reboot")
            assert set(found["y"].hosts) <= {"b"}


# Whose word is taken.


@pytest.mark.parametrize(
    ("status", "started"), [("Started", True), ("Scheduled", False), ("Suspended", False), ("Canceled", False)]
)
def test_one_reading_that_says_started_is_enough(status, started):
    readings = {"a": reading("a", event("a")), "x": reading("x", event("a", status=status))}
    for given in in_both_orders(readings):
        assert seen(given).started is started


def test_named_hosts_are_trusted_about_an_event_and_others_only_where_none_of_them_shows_it():
    shown = {"a": event("a", **SOON), "x": event("a", "x-1", type="Preempt", not_before=None)}
    for readings in in_both_orders({host: reading(host, shown[host]) for host in shown}):
        found = seen(readings)
        assert (found.event["type"], found.event["not_before"], list(found.shown_by)) == (
            "Reboot",
            "2026-11-16T00:15:00Z",
            ["a"],
        )
        assert (list(found.hosts), found.outside) == (["a"], [])
    unread = {"maintenance_status": {"msg": "x"}}
    for readings in in_both_orders({"a": unread, "x": reading("x", shown["x"])}):
        found = seen(readings)
        assert (found.event["type"], list(found.hosts), found.outside) == ("Preempt", ["a"], ["x-1"])


def test_of_accounts_that_differ_the_nearest_date_counts_and_what_takes_no_vm_away():
    late, never = {"not_before": "2026-11-16T05:00:00Z"}, {"not_before": None}
    shown = {
        "a": event("a", "b", "c", type="Preempt", **late),
        "b": event("a", "b", **SOON),
        "c": event("a", "c", **never),
    }
    for readings in in_both_orders({host: reading(host, shown[host]) for host in shown}):
        found = seen(readings)
        assert (found.event["type"], found.event["not_before"]) == ("Reboot", "2026-11-16T00:15:00Z")
        assert sorted(found.event["resources"]) == ["a", "b", "c"]


def test_a_policy_ranks_accounts_that_differ():
    shown = {host: event("a", "b", description=host) for host in "ab"}
    found = seen({host: reading(host, shown[host]) for host in shown})
    for host in shown:
        safest = found.merged(lambda account, host=host: account["description"] != host)
        assert safest["description"] == host


# Who is looked after.


def test_who_does_not_show_it_is_silent_and_is_believed_when_read_again():
    unread = {"maintenance_status": {"msg": "x"}}
    found = seen({"a": reading("a", event("a", "b", "c")), "b": reading("b"), "c": unread})
    assert (list(found.hosts), found.silent) == (["a", "b", "c"], ["b"])
    assert found.trust_only_who_shows_it() == ["b"]
    assert list(found.hosts) == ["a", "c"]


def test_where_nobody_whom_it_names_shows_it_only_who_was_not_read_is_looked_after():
    unread = {"maintenance_status": {"msg": "x"}}
    found = seen({"a": reading("a"), "b": unread, "x": reading("x", event("a", "b"))})
    assert (list(found.hosts), found.silent) == (["b"], [])


@pytest.mark.parametrize(
    ("changes", "due"),
    [
        ({"not_before": "1970-01-01T00:01:00Z"}, 60.0),
        ({"not_before": None}, NOW),
        ({"not_before": "1970-01-01T00:01:00Z", "status": "Started"}, NOW),
    ],
)
def test_when_it_is_due(changes, due):
    assert seen({"a": reading("a", event("a", **changes))}).due == due


def test_the_most_urgent_comes_first_and_what_names_nobody_of_this_run_is_left_out():
    shown = [
        event("a", id="late", not_before="2026-11-16T00:30:00Z"),
        event("a", id="B", not_before="2026-11-16T00:10:00Z"),
        event("a", id="a", not_before="2026-11-16T00:10:00Z"),
        event("outsider", id="other"),
        event("a", id="now", status="Started"),
    ]
    readings = {"a": reading("a", *shown)}
    this_hosts = this_hosts_of(["a"], readings)
    assert [one.id for one in collect_events(this_hosts, readings)] == ["now", "a", "B", "late"]


def test_an_id_is_the_same_in_capitals():
    found = all_of({"a": reading("a", event("a", "b", id="ab-1")), "b": reading("b", event("a", "b", id="AB-1"))})
    assert [(one.id, sorted(one.shown_by)) for one in found] == [("ab-1", ["a", "b"])]


def test_a_host_that_was_read_under_a_name_of_its_own_is_named():
    found = seen({"web": reading("web", event("vm-7", affects_this_host=True))})
    assert (found.hosts, list(found.shown_by)) == ({"web": "web"}, ["web"])


@pytest.mark.parametrize("written", ["_web", "web ", " web", "WEB", "web", "_Web "])
def test_a_vm_is_known_by_its_name_however_a_host_writes_it(written):
    readings = {"h": reading(written, event("web"))}
    assert list(seen(readings).hosts) == ["h"]
    vms = Vms(this_hosts_of(["h"], readings), readings)
    assert (vms.hosts("web", None), vms.hosts("web_", None)) == (["h"], [])


@pytest.mark.parametrize(("told", "group"), [(None, None), ("", None), ("x", "x"), (7, "7")])
def test_only_a_group_that_has_a_name_is_declared(told, group):
    readings = {"h": {**reading("h"), "maintenance_delivery_group": told}}
    vms = Vms(this_hosts_of(["h"], readings), readings)
    assert vms.groups == ({"h": group} if group else {})


def test_an_odd_id_is_one_all_the_same():
    odd = [event("a", id=["odd"]), event("a", id=7), event("a", id=None)]
    assert [one.id for one in all_of({"a": reading("a", *odd)})] == ["['odd']", "7", "None"]


@pytest.mark.parametrize("events", [7, "odd", {"E": event("a")}, (event("a"),), None, ["odd", 7]])
def test_only_a_list_of_events_has_any(events):
    readings = {"a": reading("a")}
    readings["a"]["maintenance_status"]["events"] = events
    assert all_of(readings) == []


# Two hosts that claim to be one VM: the inventory is believed, and nobody where it does not say.

SCOPED = {"resource_group": "RG", "subscription_id": "S"}
OTHER = {"resource_group": "other", "subscription_id": "S"}


def settled(inventory, name="web-0", scopes=None):
    """For each set of rivals: the one that it is, and those that are refused."""
    told = {host: (scopes or {}).get(host) for host in inventory}
    claims = settle_claims({name: list(inventory)}, told, inventory)
    assert all(claim.vm_name == name for claim in claims)
    return [(claim.host, claim.refused) for claim in claims]


@pytest.mark.parametrize(
    ("inventory", "the_one"),
    [
        pytest.param({"a": {"maintenance_vm_name": "web-0"}, "b": {}}, "a", id="our variable says it"),
        pytest.param({"a": {"maintenance_vm_name": " WEB-0 "}, "b": {}}, "a", id="in any case"),
        pytest.param({"a": {}, "b": {"maintenance_vm_name": "web-0"}}, "b", id="of the second"),
        pytest.param({"a": {"name": "web-0", **SCOPED}, "b": {}}, "a", id="a name with its resource group"),
        pytest.param({"a": {"computer_name": "web-0", **SCOPED}, "b": {}}, "a", id="a computer name with it"),
        pytest.param({"a": {"name": "web-0"}, "b": {}}, None, id="a name alone is no claim"),
        pytest.param({"a": {"name": "web-0"}, "web-0": {}}, "web-0", id="what a host is called"),
        pytest.param({"a": {}, "WEB-0": {}}, "WEB-0", id="in any case, too"),
        pytest.param({"web-0": {"maintenance_vm_name": "x"}, "b": {}}, None, id="called so and told otherwise"),
        pytest.param({"web-0": {"maintenance_vm_name": "a"}, "b": {}}, None, id="told a name that is before it"),
        pytest.param({"web-0": {"maintenance_vm_name": "zz"}, "b": {}}, None, id="told a name that is after it"),
        pytest.param({"web-0": {"name": "x"}, "b": {}}, "web-0", id="a name alone does not speak against it"),
        pytest.param({"web-0": {"maintenance_vm_name": "web-0"}, "b": {}}, "web-0", id="called and told so"),
        pytest.param({"a": {}, "b": {}}, None, id="nobody is called so"),
        pytest.param({"zz": {}, "b": {}}, None, id="nobody, before and after in the alphabet"),
        pytest.param(
            {"a": {"maintenance_vm_name": "web-0"}, "b": {"maintenance_vm_name": "web-0"}}, None, id="both are told so"
        ),
        pytest.param({"web-0": {}, "b": {"maintenance_vm_name": "web-0"}}, "b", id="a variable counts more"),
        pytest.param({"a": {"maintenance_vm_name": "web-0", "name": "x"}, "b": {}}, "a", id="ours counts more"),
        pytest.param({"a": {"name": "x", "computer_name": "web-0", **SCOPED}, "b": {}}, None, id="the first counts"),
        pytest.param({"a": {"name": " ", "computer_name": "web-0", **SCOPED}, "b": {}}, "a", id="blanks do not"),
        pytest.param({"a": {"maintenance_vm_name": True, "name": "web-0", **SCOPED}, "b": {}}, "a", id="nor does true"),
    ],
)
def test_which_of_two_it_is(inventory, the_one):
    assert settled(inventory) == [(the_one, [host for host in inventory if host != the_one])]


def test_a_vm_that_is_called_by_a_number():
    assert settled({"a": {"maintenance_vm_name": 42}, "b": {}}, name="42") == [("a", ["b"])]


def test_a_host_that_says_another_resource_group_than_the_inventory_is_not_the_one():
    inventory = {"a": {"maintenance_vm_name": "web-0", **OTHER}, "b": {}}
    assert settled(inventory, scopes={"a": "s/rg"}) == [(None, ["a", "b"])]
    assert settled(inventory, scopes={"a": "s/other"}) == [("a", ["b"])]


def test_vms_of_different_resource_groups_are_no_rivals():
    assert settled({"a": {}, "b": {}}, scopes={"a": "s/one", "b": "s/two"}) == []
    assert settled({"a": SCOPED, "b": OTHER}) == []
    assert settled({"a": SCOPED, "b": SCOPED}) == [(None, ["a", "b"])]


def test_whose_group_nobody_knows_is_the_rival_of_all():
    scopes = {"a": "s/one", "b": "s/two"}
    assert settled({"a": {}, "b": {}, "web-0": {}}, scopes=scopes) == [("web-0", ["a"]), ("web-0", ["b"])]


def test_three_of_whom_the_last_is_the_one():
    inventory = {"a": {}, "b": {}, "web-0": {}}
    assert settled(inventory) == [("web-0", ["a", "b"])]


# One host and the whole inventory: confirmed, contradicted, contested, or unconfirmed.

SET = "/subscriptions/S/resourceGroups/RG/providers/Microsoft.Compute/virtualMachineScaleSets"
VM = "/subscriptions/S/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines"


def verdict(host, says, variables=None, *others, known=None, scope=("S", "RG")):
    """What is wrong with the claim of this host: nothing, or the kind of doubt and what it is instead."""
    this_host = {"vm_name": says, "subscription_id": scope[0], "resource_group": scope[1]}
    names = InventoryNames([host, *others], {**known_vms([host], {host: variables or {}}), **(known or {})})
    claims = false_claims({host: this_host}, {host: variables or {}}, {}, lambda: names)
    assert all(claim.refused == [host] for claim in claims)
    assert len(claims) <= 1
    return next(((claim.kind, claim.host or claim.instead) for claim in claims), None)


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"maintenance_vm_name": "web-1"}, "web-1"),
        ({"maintenance_vm_name": " Web-1 "}, "WEB-1"),
        ({"maintenance_vm_name": "web-1"}, "_web-1"),
        ({"maintenance_vm_name": 42}, "42"),
        ({"maintenance_vm_name": "web-1", "name": "x", "resource_group": "RG"}, "web-1"),
        ({"maintenance_vm_name": "web-1", "resource_group": "of something else"}, "web-1"),
        ({"id": f"{VM}/web-1"}, "web-1"),
        ({"id": f"{VM.lower()}/WEB-1"}, "web-1"),
        ({"resource_id": f"{VM}/web-1", "id": "i-123"}, "web-1"),
        ({"resource_id": f"{VM}/web-1/extensions/x"}, "web-1"),
        ({"id": f"{SET}/web/virtualMachines/3"}, "web_3"),
        ({"id": f"{SET}/web/virtualMachines/web_3"}, "web_3"),
        ({"name": "web-1"}, "web-1"),
        ({"name": "x", "computer_name": "web-1"}, "web-1"),
        ({"name": "web-1", "resource_group": "rg", "computer_name": "x"}, "web-1"),
        ({"name": 42}, "42"),
    ],
)
def test_the_inventory_confirms_what_a_host_says(variables, says):
    assert verdict("10.0.0.4", says, variables, "10.0.0.5") is None


@pytest.mark.parametrize(
    ("host", "says"), [("web-1", "web-1"), ("WEB-1", "web-1"), ("web-1.example.com", "Web-1"), ("a.b", "a.b")]
)
def test_a_host_is_the_vm_that_it_is_called(host, says):
    assert verdict(host, says, {}, "web-2", "10.0.0.4") is None


@pytest.mark.parametrize(
    ("variables", "instead"),
    [
        ({"maintenance_vm_name": "xevil"}, "xevil"),
        ({"maintenance_vm_name": 42}, "42"),
        ({"maintenance_vm_name": "xevil", "name": "db1"}, "xevil"),
        ({"id": f"{VM}/xevil"}, "xevil"),
        ({"id": f"{SET}/db1/virtualMachines/1"}, "db1_1"),
        ({"name": "xevil", "resource_group": "RG"}, "xevil"),
        ({"name": "db1", "resource_group": "other"}, "db1 in other"),
        ({"id": f"{VM}/db1", "resource_group": "other"}, "db1 in S/other"),
        ({"id": f"{VM.replace('/S/', '/T/')}/db1"}, "db1 in T/RG"),
        ({"maintenance_vm_name": "db1", "subscription_id": "S", "resource_group": "other"}, "db1 in S/other"),
    ],
)
@pytest.mark.parametrize("host", ["evil", "db1", "xevil"])
def test_a_declaration_that_the_metadata_contradicts(host, variables, instead):
    assert verdict(host, "db1", variables, "web-1") == ("contradicted", instead)


@pytest.mark.parametrize(
    "says",
    [
        *("web-1.", "web -1", "web-11", "web", "web_1", "-web-1"),
        # Cyrillic, fullwidth, a dash, and one that can't be seen.
        *("w\u0435b-1", "\uff57eb-1", "web\u20101", "web-1\u200b"),
    ],
)
def test_what_only_looks_alike_is_another_name(says):
    assert verdict("web-1", says, {}) == ("unconfirmed", "")
    assert verdict("web-1", says, {"maintenance_vm_name": "web-1"}) == ("contradicted", "web-1")
    assert verdict("x", "web-1", {"maintenance_vm_name": says})[0] == "contradicted"


@pytest.mark.parametrize(
    "variables",
    [
        *(
            {},
            {"name": "other"},
            {"name": ""},
            {"name": True},
            {"maintenance_vm_name": ["web-1"]},
            {"resource_group": "RG"},
        ),
        {"id": "/subscriptions/S/resourceGroups/RG/providers/Microsoft.Network/virtualMachines/web-1"},
        {"id": "/subscriptions/S/resourceGroups/RG"},
    ],
)
@pytest.mark.parametrize("host", ["10.0.0.4", "evil", "10.web-1", "xweb-1.example.com", "fe80::1"])
def test_what_the_inventory_does_not_say_is_not_confirmed(host, variables):
    assert verdict(host, "web-1", variables, "web-2") == ("unconfirmed", "")


def test_an_address_has_no_first_name():
    assert verdict("10.0.0.4", "10", {}) == ("unconfirmed", "")


@pytest.mark.parametrize("host", ["evil", "10.0.0.9", "web-1"])
def test_a_vm_that_another_host_of_the_inventory_is(host):
    """Whatever the run leaves out."""
    assert verdict(host, "web-1", {}, "b", known={"b": ["WEB-1", None]}) == ("contested", "b")
    assert verdict(host, "web-1", {}, "b", known={"b": ["web-1", "s/rg"]}) == ("contested", "b")
    # The user's word for this host is what counts.
    assert verdict(host, "web-1", {"maintenance_vm_name": "web-1"}, "b", known={"b": ["web-1", None]}) is None


def test_a_vm_that_another_host_is_called():
    for other in ("web-1", "WEB-1", "web-1.example.com"):
        assert verdict("evil", "web-1", {}, other) == ("contested", other)
        assert verdict("evil", "web-1", {"maintenance_vm_name": "web-1"}, other) is None
    # A bare name is a word that anybody uses for anything.
    assert verdict("evil", "web-1", {"name": "web-1"}, "web-1") == ("contested", "web-1")
    assert verdict("web-1.b", "web-1", {}, "web-1.a") == ("contested", "web-1.a")
    assert verdict("web-1.b", "web-1", {}, "web-1") == ("contested", "web-1")
    assert verdict("web-1", "web-1", {}, "web-1.b") is None


def test_a_host_that_is_declared_to_be_another_vm_or_elsewhere_contests_nothing():
    assert verdict("web-1.b", "web-1", {}, "web-1.a", known={"web-1.a": ["x", None]}) is None
    assert verdict("web-1.b", "web-1", {}, "web-1.a", known={"web-1.a": [None, "s/other"]}) is None
    assert verdict("web-1.b", "web-1", {}, "web-1.a", known={"web-1.a": [None, "s/rg"]}) is not None
    assert verdict("web-1.b", "web-1", {}, "web-1.a", known={"web-1.a": [None, "s/other"]}, scope=(None, None))


def test_the_inventory_is_asked_only_for_hosts_that_are_not_declared():
    def costly():
        raise AssertionError

    this_hosts = {"a": {"vm_name": "web-1"}, "b": {"vm_name": None}, "c": {}, "d": {"vm_name": "x"}}
    variables = {"a": {"maintenance_vm_name": "web-1"}, "d": {"maintenance_vm_name": "y"}}
    assert [claim.refused for claim in false_claims(this_hosts, variables, {}, costly)] == [["d"]]
    with pytest.raises(AssertionError):
        false_claims({"web-1": {"vm_name": "web-1"}}, {}, {}, costly)


def test_who_breaks_its_promise_does_not_keep_the_true_one_from_being_it():
    this_hosts = {host: {"vm_name": "db1"} for host in ("evil", "db1")}
    (claim,) = false_claims(this_hosts, {"evil": {"maintenance_vm_name": "xevil"}}, {"db1": ["evil", "db1"]})
    assert (claim.kind, claim.refused) == ("contradicted", ["evil"])


def test_what_is_known_of_an_inventory():
    variables = {"a": {"maintenance_vm_name": "x"}, "b": {"id": f"{VM}/y"}, "c": {}, "d": SCOPED, "e": {"name": "z"}}
    known = known_vms(variables, variables)
    assert known == {"a": ["x", None], "b": ["y", "s/rg"], "d": [None, "s/rg"]}
    assert of_one_short_name(["web-1.a", "web-2", "WEB-1.b", "web-1", "10.0.0.1", "10.0.0.2"]) == [
        *("web-1.a", "WEB-1.b", "web-1")
    ]
    told = {"a": {"subscription_id": "S", "resource_group": "RG"}, "b": {**OTHER}, "c": {}, "n": {**OTHER}}
    assert with_told_scopes(known, told) == {**known, "a": ["x", "s/rg"], "n": [None, "s/other"]}
    assert declared_vm(None) is declared_vm({}) is None


# Which VM a host is, and of which resource group: what counts more, and what does not count.

ID = "/subscriptions/S/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/x"
OTHER_NAME = "/subscriptions/T/resourceGroups/other"


def told(name):
    return {"maintenance_status": {"this_host": {"vm_name": name}}}


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        (None, "h"),
        ({}, "h"),
        (told("Web-0"), "Web-0"),
        ({"maintenance_vm_name": " web-1 "}, "web-1"),
        ({**told("web-0"), "maintenance_vm_name": "web-1"}, "web-0"),
        ({**told(""), "maintenance_vm_name": "web-1"}, "web-1"),
        ({"maintenance_vm_name": 42}, "42"),
        ({"maintenance_vm_name": 0}, "h"),
        ({"maintenance_vm_name": True}, "h"),
        ({"maintenance_vm_name": ["x"]}, "h"),
        ({"maintenance_vm_name": " "}, "h"),
        ({"maintenance_vm_name": ""}, "h"),
    ],
)
def test_the_vm_itself_counts_first_then_our_variable_then_the_host(variables, name):
    assert vm_name_of("h", variables) == name


@pytest.mark.parametrize("status", [None, 7, {}, {"this_host": None}, {"this_host": "web-0"}])
def test_what_a_vm_has_not_told(status):
    assert this_host_of({"maintenance_status": status}) == {}


@pytest.mark.parametrize(
    ("variables", "scope"),
    [
        (None, None),
        ({}, None),
        ({"subscription_id": "S"}, None),
        ({"resource_group": "RG"}, None),
        ({"subscription_id": "S", "resource_group": " RG "}, "s/rg"),
        ({"subscription_id": 1, "resource_group": 2}, "1/2"),
        ({"subscription_id": True, "resource_group": "RG"}, None),
        ({"id": ID}, "s/rg"),
        ({"resource_id": ID}, "s/rg"),
        ({"id": ID, "resource_id": OTHER_NAME}, "s/rg"),
        ({"id": "web-0", "resource_id": OTHER_NAME}, "t/other"),
        ({"id": 7, "resource_id": OTHER_NAME}, "t/other"),
        ({"id": ID, "resource_group": "mine"}, "s/mine"),
        ({"id": "subscriptions/S/resourceGroups/RG"}, None),
    ],
)
def test_the_resource_group_that_the_inventory_tells(variables, scope):
    assert inventory_scope(variables) == scope


def test_the_resource_group_that_a_vm_tells():
    assert scope_of({"subscription_id": "S", "resource_group": "RG"}) == "s/rg"
    assert scope_of({"subscription_id": "S", "resource_group": ""}) is None
    assert scope_of({"resource_group": "RG"}) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a", "a", True), ("a", "b", False), ("b", "a", False), (None, "a", True), ("a", None, True)],
)
def test_where_one_is_not_known_nothing_speaks_against_it(one, other, same):
    assert same_scope(one, other) is same


def test_hosts_of_one_name_stand_together_in_their_order():
    variables = {"b": told("WEB-0"), "a": {"maintenance_vm_name": "web-0"}}
    assert hosts_by_vm_name(["b", "web-1", "a"], variables) == {"web-0": ["b", "a"], "web-1": ["web-1"]}
