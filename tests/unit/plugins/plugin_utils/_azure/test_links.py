# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One event, put together from all readings that show it: whom it names, who shows it, and whose word is taken."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.links import NOW, Vms, all_events, collect_events
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_names import this_hosts_of


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


def in_both_orders(readings):
    return [dict(readings), dict(reversed(readings.items()))]


@pytest.mark.parametrize("short", ["a", "b"])
def test_an_event_that_has_grown_names_all_that_any_host_says(short):
    shown = {host: event(host) if host == short else event("a", "b") for host in "ab"}
    for readings in in_both_orders({host: reading(host, shown[host]) for host in "ab"}):
        found = seen(readings)
        assert (sorted(found.hosts), sorted(found.shown_by), found.strangers) == (["a", "b"], ["a", "b"], [])


def test_of_vms_of_one_name_each_speaks_for_its_own_group():
    readings = {
        host: reading("same", event("same"), rg=rg) for host, rg in (("a", "one"), ("b", "two"), ("c", "Three"))
    }
    for given in in_both_orders(readings):
        found = seen(given)
        assert (sorted(found.hosts), sorted(found.shown_by)) == (["a", "b", "c"], ["a", "b", "c"])


def test_whom_nobody_in_this_run_is():
    found = seen({"a": reading("a", event("a", "X", "x", "y")), "b": reading("b", event("a", "y", "z"))})
    assert found.strangers == ["X", "y", "z"]


# Several declared groups.


def test_an_event_that_names_two_declared_groups_is_nobodys():
    for readings in in_both_orders({host: reading(host, event("a", "b"), group=host) for host in "ab"}):
        found = seen(readings)
        assert (found.is_torn, found.hosts, sorted(found.named), list(found.shown_by)) == (True, {}, ["a", "b"], [])


def test_who_shows_a_version_of_its_own_is_believed_beside_one_that_is_torn():
    torn = {host: reading(host, event("a", "b"), group=host) for host in "ab"}
    for own in (("c",), ("a", "c"), ("0", "c")):
        for readings in in_both_orders({**torn, "c": reading("c", event(*own), group="a")}):
            found = seen(readings)
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
        found = seen(given)
        assert (list(found.shown_by), found.hosts) == (["c"], {"c": "c"})


def test_a_host_of_another_declared_group_was_not_shown_the_event():
    readings = {"a": reading("a", event("a"), group="x"), "b": reading("b", event("a", status="Started"), group="y")}
    for given in in_both_orders(readings):
        found = seen(given)
        assert (list(found.shown_by), found.started) == (["a"], False)


# Whose word is taken.


@pytest.mark.parametrize(
    ("status", "started"), [("Started", True), ("Scheduled", False), ("Suspended", False), ("Canceled", False)]
)
def test_one_reading_that_says_started_is_enough(status, started):
    readings = {"a": reading("a", event("a")), "x": reading("x", event("a", status=status))}
    for given in in_both_orders(readings):
        assert seen(given).started is started


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [("00:01", "00:02", "second"), ("00:02", "00:01", "first"), ("00:01", "00:01", "first")],
)
@pytest.mark.parametrize("named", [(), ("a", "b")])
def test_the_newest_reading_tells_what_it_is(first, second, taken, named):
    """Of those whom it names; and of the others where none of these shows it."""
    readings = {
        "a": reading("a", event(*named, description="first"), at=first),
        "b": reading("b", event(*named, description="second"), at=second),
    }
    assert seen(readings).newest["description"] == taken


def test_who_is_named_knows_better_however_old_its_reading_is():
    readings = {
        "x": reading("x", event("a", description="x"), at="00:05"),
        "a": reading("a", event("a", description="a"), at="00:01"),
        "y": reading("y", event("a", description="y"), at="00:09"),
    }
    for given in in_both_orders(readings):
        found = seen(given)
        assert (found.newest["description"], list(found.shown_by)) == ("a", ["a"])
        assert [one["description"] for one in found.accounts] == ["a"]


@pytest.mark.parametrize("words", [("k", "a", "z"), ("a", "k", "z"), ("z", "k", "a"), ("k", "k", "k")])
def test_what_named_hosts_say_differently_is_all_kept_the_newest_first(words):
    newest, *others = words
    at = {"a": "00:09", "b": "00:01", "c": "00:02"}
    told = dict(zip("abc", words, strict=True))
    readings = {host: reading(host, event("a", "b", "c", description=told[host]), at=at[host]) for host in "abc"}
    for given in in_both_orders(readings):
        found = [one["description"] for one in seen(given).accounts]
        assert found[0] == newest
        assert sorted(found[1:]) == sorted({*others} - {newest})


# Who is looked after.


def test_who_does_not_show_it_is_silent_and_is_believed_when_read_again():
    unread = {"maintenance_status": {"msg": "x"}}
    found = seen({"a": reading("a", event("a", "b", "c")), "b": reading("b"), "c": unread})
    assert (list(found.hosts), found.silent) == (["a", "b", "c"], ["b"])
    assert found.believe_only_who_shows_it() == ["b"]
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
        event("stranger", id="other"),
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
