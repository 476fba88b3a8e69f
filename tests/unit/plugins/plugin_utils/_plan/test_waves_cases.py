# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single cases of waves: names, scopes, limits and what a person reads."""

from __future__ import annotations

import time

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import make_waves, read_max_at_once


def host(update_domain=None, zone=None, events=(), **more):
    this_host = {"update_domain": update_domain, "zone": zone, **more}
    return {"maintenance_status": {"this_host": this_host, "events": list(events)}}


def event(event_id, *resources, due="2026-11-16T00:10:00Z", status="Scheduled"):
    return {"id": event_id, "status": status, "not_before": due, "resources": list(resources)}


def hosts_of(waves):
    return [wave["hosts"] for wave in waves]


def test_update_domain_0_is_a_domain():
    assert hosts_of(make_waves(["a", "b"], {"a": host(0), "b": host("0")})) == [["a", "b"]]


def test_zone_1_and_update_domain_1_and_own_domain_1_are_three_domains():
    fleet = {"a": host("1"), "b": host(None, "1"), "c": {**host("1"), "maintenance_domain": 1}}
    assert sorted(hosts_of(make_waves(fleet, fleet))) == [["a"], ["b"], ["c"]]


def test_names_are_in_the_order_of_people():
    fleet = {name: host("0") for name in ("web-10", "web-2", "web-1")}
    assert hosts_of(make_waves(fleet, fleet)) == [["web-1", "web-2", "web-10"]]


def test_a_host_that_was_not_read_stays_with_the_event_that_another_host_shows():
    fleet = {"a": host(events=[event("E", "a", "b")]), "b": {}, "c": {}}
    assert hosts_of(make_waves(fleet, fleet)) == [["a", "b"], ["c"]]


def test_events_that_name_only_others_do_not_count():
    fleet = {"a": host("0", events=[event("E", "x")]), "b": host("1", events=[event("F", "b")])}
    waves = make_waves(fleet, fleet)
    assert [(wave["hosts"], wave["events"]) for wave in waves] == [(["b"], ["F"]), (["a"], [])]


def test_the_same_event_in_other_case_is_one_event():
    fleet = {"a": host("0", events=[event("Ab-1", "A", "b")]), "b": host("0", events=[event("aB-1", "a", "_B")])}
    (wave,) = make_waves(fleet, fleet, 1)
    assert wave["hosts"] == ["a", "b"]
    assert wave["events"] == ["Ab-1"]


def test_vms_of_one_name_in_two_resource_groups_are_two_vms():
    def vm(group, *events):
        return host("0", events=events, vm_name="web", subscription_id="s", resource_group=group)

    fleet = {"a": vm("one", event("E", "web")), "b": vm("TWO"), "c": vm("ONE")}
    assert hosts_of(make_waves(fleet, fleet, 1)) == [["a", "c"], ["b"]]


def test_a_started_event_goes_before_all_dates():
    fleet = {
        "a": host("0", events=[event("E", "a", due="2026-11-16T00:00:01Z")]),
        "b": host("1", events=[event("F", "b", due=None, status="Started")]),
        "c": host("2", events=[event("G", "c", due="2026-11-16T00:00:01+01:00")]),
    }
    assert hosts_of(make_waves(fleet, fleet)) == [["b"], ["c"], ["a"]]


def test_single_vms_go_zone_by_zone_though_all_are_in_update_domain_0():
    fleet = {"a": host("0", "1"), "b": host("0", "2"), "c": host("0", "1")}
    waves = make_waves(fleet, fleet)
    assert [(wave["hosts"], wave["domains"], wave["warnings"]) for wave in waves] == [
        (["a", "c"], ["zone 1"], []),
        (["b"], ["zone 2"], []),
    ]


def test_a_warning_where_hosts_of_one_group_and_several_zones_share_an_update_domain():
    fleet = {"a": host("0", "1"), "b": host("0", "2")}
    for variables in fleet.values():
        variables["maintenance_delivery_group"] = "set"
    (wave,) = make_waves(fleet, fleet)
    (warning,) = wave["warnings"]
    assert warning.startswith(
        "Hosts in zones 1 and 2 share update domain 0 and go down together: set maintenance_domain"
    )
    for variables in fleet.values():
        variables["maintenance_status"]["this_host"]["scale_set"] = "set"
    assert make_waves(fleet, fleet)[0]["warnings"] == []


def test_a_unit_that_does_not_fit_any_more_begins_a_wave():
    both = event("F", "b", "c", due="2026-11-16T00:20:00Z")
    fleet = {"a": host("0", events=[event("E", "a")]), "b": host("0", events=[both]), "c": host("0"), "d": host("0")}
    assert hosts_of(make_waves(fleet, fleet, 2)) == [["a"], ["b", "c"], ["d"]]
    assert hosts_of(make_waves(fleet, fleet, 3)) == [["a", "b", "c"], ["d"]]


def test_no_hosts_no_waves():
    assert make_waves([], {}, "25%") == []


@pytest.mark.parametrize(
    ("given", "count", "number"),
    [
        (None, 9, None),
        ("", 9, None),
        (3, 9, 3),
        ("3", 9, 3),
        ("25%", 9, 2),
        ("1%", 9, 1),
        ("100 %", 9, 9),
        ("9%", 0, 1),
    ],
)
def test_max_at_once(given, count, number):
    assert read_max_at_once(given, count) == number


@pytest.mark.parametrize("given", [0, -1, "0", "-3", "abc", "0%", "101%", "150%", "2.5", 2.5, True, [], "%", "1%1"])
def test_max_at_once_that_makes_no_sense(given):
    with pytest.raises(ValueError, match=r"^max_at_once must be [^\n]+$"):
        read_max_at_once(given, 9)


def a_fleet(size):
    fleet = {}
    for number in range(size):
        first = number - number % 4
        names = [f"web-{first + step}" for step in range(4)]
        due = f"2026-11-16T00:{first % 60:02}:00Z"
        fleet[f"web-{number}"] = host(str(first % 5), events=[event(f"E{first}", *names, due=due)])
    return fleet


def seconds(fleet, **options):
    """The best of a few: other processes can only make it slower."""
    best = float("inf")
    for _unused in range(3):
        start = time.process_time()
        make_waves(fleet, fleet, **options)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.once
def test_the_time_grows_with_the_number_of_hosts():
    # Eight times the hosts: anything quadratic would take 64 times as long.
    assert seconds(a_fleet(8000), max_at_once=10) < 24 * seconds(a_fleet(1000), max_at_once=10)


@pytest.mark.once
def test_one_event_that_all_hosts_show_is_read_once():
    def one_event(size):
        names = [f"web-{number}" for number in range(size)]
        shared = event("E", *names)
        return {name: host("0", events=[shared]) for name in names}

    assert seconds(one_event(4000)) < 24 * seconds(one_event(500))
