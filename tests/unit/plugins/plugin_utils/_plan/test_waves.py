# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waves: what must hold of those of every fleet, single cases, domains and warnings."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import in_words, natural, some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import (
    domain_of,
    make_waves,
    read_max_at_once,
)
from hypothesis import given, settings
from hypothesis import strategies as st

# What must hold of the waves of every fleet.

NAMES = [f"web-{number}" for number in range(12)]
TIMES = [None, "2026-11-16T00:10:00Z", "2026-11-16T00:20:00Z", "2026-11-17T00:00:00Z"]


@st.composite
def fleets(draw, tidy=None):
    """Hosts with or without domains, and events that name some of them; every named host shows its events."""
    # A tidy fleet has many units of one domain, as Azure makes them; in an untidy one anything goes.
    tidy = draw(st.booleans()) if tidy is None else tidy
    names = NAMES if tidy else draw(st.lists(st.sampled_from(NAMES), unique=True))
    events = []
    for number in range(draw(st.integers(0, 6))):
        chosen = NAMES[draw(st.integers(0, 1)) :: 2] if tidy else [*NAMES, "outsider"]
        resources = draw(st.lists(st.sampled_from(chosen), min_size=tidy * 2, max_size=2 if tidy else 4, unique=True))
        due = draw(st.sampled_from(TIMES))
        status = "Scheduled" if due else draw(st.sampled_from(["Scheduled", "Started"]))
        events.append({"id": f"E{number}", "status": status, "not_before": due, "resources": resources})
    host_vars = {}
    for name in names:
        host_vars[name] = {}
        if tidy:
            seen = [event for event in events if name in event["resources"]]
            this_host = {"update_domain": str(NAMES.index(name) % 2)}
            host_vars[name]["maintenance_status"] = {"this_host": this_host, "events": seen}
        elif draw(st.integers(0, 9)):
            seen = [event for event in events if name in event["resources"]]
            this_host = {
                "vm_name": draw(st.sampled_from([name, name.upper()])),
                "update_domain": draw(st.sampled_from([None, "0", "1", "2"])),
                "zone": draw(st.sampled_from([None, "1", "2"])),
                "scale_set": draw(st.sampled_from([None, "set"])),
            }
            host_vars[name]["maintenance_status"] = {"this_host": this_host, "events": seen}
        if not tidy and not draw(st.integers(0, 5)):
            host_vars[name]["maintenance_domain"] = draw(st.sampled_from(["0", "rack", 1]))
    return host_vars


limits = st.one_of(st.integers(1, 4), st.none(), st.integers(1, 100).map("{}%".format))


# What follows says once more, in the plainest way, what the words of the contract mean.
def events_of(variables):
    return (variables.get("maintenance_status") or {}).get("events", [])


def named(event, host_vars):
    return {host for host in host_vars if host in event["resources"]}


def all_events(host_vars):
    return {event["id"]: event for variables in host_vars.values() for event in events_of(variables)}


def linked(hosts, host_vars):
    """The groups of hosts that share events, also by way of others."""
    groups = [{host} for host in hosts]
    for event in all_events(host_vars).values():
        touching = [group for group in groups if group & named(event, host_vars)]
        groups = [group for group in groups if group not in touching] + [set().union(*touching)] * bool(touching)
    return groups


def domain(host, host_vars):
    variables = host_vars[host]
    this_host = (variables.get("maintenance_status") or {}).get("this_host", {})
    if "maintenance_domain" in variables:
        return ("own", str(variables["maintenance_domain"]))
    is_single = this_host.get("zone") and not this_host.get("scale_set")
    if this_host.get("update_domain") and not is_single:
        return ("update domain", this_host["update_domain"])
    if this_host.get("zone"):
        return ("zone", this_host["zone"])
    return None


def deadline(hosts, host_vars):
    times = [
        "" if event["status"] == "Started" or not event["not_before"] else event["not_before"]
        for event in all_events(host_vars).values()
        if named(event, host_vars) & set(hosts)
    ]
    return min(times, default="never")


def number_of(limit, host_vars):
    if isinstance(limit, str):
        return max(1, len(host_vars) * int(limit[:-1]) // 100)
    return len(host_vars) if limit is None else limit


@given(fleets(), limits)
def test_every_host_exactly_once(host_vars, limit):
    waves = make_waves(host_vars, host_vars, limit)
    assert sorted(host for wave in waves for host in wave["hosts"]) == sorted(host_vars)
    assert all(wave["hosts"] for wave in waves)


@given(fleets(), limits)
def test_hosts_of_one_event_stay_together(host_vars, limit):
    waves = make_waves(host_vars, host_vars, limit)
    for event in all_events(host_vars).values():
        assert sum(bool(named(event, host_vars) & set(wave["hosts"])) for wave in waves) <= 1


@given(fleets(), limits)
def test_one_domain_a_wave_unless_events_themselves_span_several(host_vars, limit):
    for wave in make_waves(host_vars, host_vars, limit):
        domains = {domain(host, host_vars) for host in wave["hosts"]}
        spanning = any("spans several domains" in warning for warning in wave["warnings"])
        if len(domains) > 1:
            # Only hosts that can't be parted, and a warning about every event that is the cause.
            assert set(wave["hosts"]) in linked(host_vars, host_vars)
            for event in all_events(host_vars).values():
                span = {domain(host, host_vars) for host in named(event, host_vars) & set(wave["hosts"])}
                said = [warning for warning in wave["warnings"] if f"Event {event['id']} spans" in warning]
                assert len(said) == (len(span) > 1)
        assert spanning == (len(domains) > 1) == (len(wave["domains"]) > 1)


@given(fleets(), limits)
def test_hosts_without_any_domain_go_with_their_event_only(host_vars, limit):
    for wave in make_waves(host_vars, host_vars, limit):
        if None in {domain(host, host_vars) for host in wave["hosts"]}:
            assert set(wave["hosts"]) in linked(host_vars, host_vars)


@given(fleets(), limits)
def test_earliest_deadline_first(host_vars, limit):
    waves = make_waves(host_vars, host_vars, limit)
    times = [deadline(wave["hosts"], host_vars) for wave in waves]
    assert times == sorted(times)
    assert [wave["deadline"] or ("" if wave["underway"] else "never") for wave in waves] == times


@given(fleets(), limits)
def test_max_at_once_holds_unless_hosts_cannot_be_parted(host_vars, limit):
    for wave in make_waves(host_vars, host_vars, limit):
        if len(wave["hosts"]) > number_of(limit, host_vars):
            assert set(wave["hosts"]) in linked(host_vars, host_vars)
            assert any("max_at_once" in warning for warning in wave["warnings"])


@given(fleets(tidy=True), st.integers(2, 4))
def test_max_at_once_holds_where_domains_are_split(host_vars, limit):
    for wave in make_waves(host_vars, host_vars, limit):
        assert len(wave["hosts"]) <= limit or set(wave["hosts"]) in linked(host_vars, host_vars)


@given(fleets())
def test_a_domain_is_one_wave_where_nothing_stands_against_it(host_vars):
    waves = make_waves(host_vars, host_vars)
    plain = [tuple(wave["domains"]) for wave in waves if len(wave["domains"]) == 1]
    assert len(plain) == len(set(plain))


@given(fleets(), limits, st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_the_order_of_the_hosts_does_not_matter(host_vars, limit, random):
    hosts = list(host_vars)
    random.shuffle(hosts)
    mixed = {host: host_vars[host] for host in random.sample(hosts, len(hosts))}
    expected = make_waves(sorted(host_vars), dict(sorted(host_vars.items())), limit)
    assert make_waves([*hosts, *hosts[:2]], mixed, limit) == expected


@given(fleets(), limits)
@settings(max_examples=50)
def test_the_input_is_left_alone(host_vars, limit):
    before = repr(host_vars)
    waves = make_waves(host_vars, host_vars, limit)
    for wave, other in itertools.combinations(waves, 2):
        assert wave["hosts"] is not other["hosts"]
    assert repr(host_vars) == before


# Single cases of waves: names, scopes, limits and what a person reads.


def host(update_domain=None, zone=None, events=(), **more):
    this_host = {"update_domain": update_domain, "zone": zone, **more}
    return {"maintenance_status": {"this_host": this_host, "events": list(events)}}


def event(event_id, *resources, due="2026-11-16T00:10:00Z", status="Scheduled"):
    return {"id": event_id, "status": status, "not_before": due, "resources": list(resources)}


def hosts_of(waves):
    return [wave["hosts"] for wave in waves]


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
        ("50%", 198, 99),
    ],
)
def test_max_at_once(given, count, number):
    assert read_max_at_once(given, count) == number


@pytest.mark.parametrize("given", [0, -1, "0", "-3", "abc", "0%", "101%", "150%", "2.5", 2.5, True, [], "%", "1%1"])
def test_max_at_once_that_makes_no_sense(given):
    with pytest.raises(ValueError, match=r"^max_at_once must be [^\n]+$"):
        read_max_at_once(given, 9)


# Which wave is first, who is in it, and what it says of itself: one rule a test.


def due_at(event_id, *resources, at="00:10", status="Scheduled"):
    due = None if status == "Started" else f"2026-11-16T{at}:00Z"
    return {"id": event_id, "status": status, "not_before": due, "resources": list(resources)}


def host_in(domain, *events, **more):
    return {"maintenance_status": {"this_host": {"update_domain": domain, **more}, "events": list(events)}}


def waves_of(fleet, limit=None):
    return make_waves(fleet, fleet, limit)


def who_goes(fleet, limit=None):
    return [wave["hosts"] for wave in waves_of(fleet, limit)]


def test_hosts_without_event_go_by_their_own_domain_or_one_by_one():
    assert who_goes({"a": {}, "b": {}, "c": {}}) == [["a"], ["b"], ["c"]]
    own = {"a": {**host_in("0"), "maintenance_domain": "x"}, "b": host_in("0")}
    assert who_goes(own) == [["a"], ["b"]]


def test_a_wave_is_due_with_the_first_of_its_events():
    fleet = {
        "a": host_in("0", due_at("E1", "a", at="00:50")),
        "b": host_in("0", due_at("E2", "b", at="00:10")),
        "c": host_in("1", due_at("F", "c", at="00:30")),
    }
    first, second = waves_of(fleet)
    assert (first["hosts"], first["deadline"], first["events"]) == (["a", "b"], "2026-11-16T00:10:00Z", ["E2", "E1"])
    assert second["hosts"] == ["c"]


def test_waves_that_are_due_together_go_by_the_name_of_their_first_domain():
    outer, inner = due_at("E", "a", "b"), due_at("F", "c", "d")
    fleet = {"a": host_in("0", outer), "b": host_in("3", outer), "c": host_in("1", inner), "d": host_in("2", inner)}
    assert who_goes(fleet) == [["a", "b"], ["c", "d"]]
    fleet = {"a": host_in("10", due_at("E", "a")), "b": host_in("9", due_at("F", "b"))}
    assert who_goes(fleet) == [["b"], ["a"]]


def test_hosts_of_which_no_domain_is_known_are_called_after_their_first_event():
    late, soon = due_at("A", "a", "b", at="00:30"), due_at("B", "b", "c", at="00:10")
    (wave,) = waves_of({"a": host_in(None, late), "b": host_in(None, late, soon), "c": host_in(None, soon)})
    assert wave["domains"] == ["event B"]


@pytest.mark.parametrize(
    ("limit", "sizes"), [(None, [5]), (1, [1] * 5), (2, [2, 2, 1]), (3, [3, 2]), (4, [4, 1]), (5, [5]), (9, [5])]
)
def test_a_domain_is_taken_in_parts_no_larger_than_the_limit(limit, sizes):
    fleet = {f"h{number}": host_in("0") for number in range(5)}
    assert [len(hosts) for hosts in who_goes(fleet, limit)] == sizes


def test_names_with_long_numbers_are_in_the_order_of_people():
    names = ["x-100000000000", "x-9", "x-99999999999"]
    assert sorted(names, key=natural) == [*names[1:], names[0]]


def test_lists_in_words():
    assert in_words(["a"]) == "a"
    assert in_words(["a", "b"]) == "a and b"
    assert in_words(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "0"), (5, "0, 1, 2, 3, 4"), (6, "0, 1, 2, 3, 4 and 1 more"), (12, "0, 1, 2, 3, 4 and 7 more")],
)
def test_of_many_words_five_are_said(count, said):
    assert some_of([str(number) for number in range(count)]) == said


# What is warned of, and what not: a warning too many is read by nobody.

EVENT = {"id": "E", "status": "Scheduled", "not_before": "2026-11-16T00:10:00Z", "resources": ["a", "b"]}


def fleet(zones=(None, None), domain="0", **variables):
    return {
        name: {
            "maintenance_status": {"this_host": {"update_domain": domain, "zone": zone}, "events": [EVENT]},
            **variables,
        }
        for name, zone in zip("ab", zones, strict=True)
    }


def warnings(hosts, **more):
    return [warning for wave in make_waves(hosts, hosts, **more) for warning in wave["warnings"]]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 0), (3, 0), ("100%", 0)])
def test_an_event_that_is_larger_than_the_limit(limit, count):
    found = warnings(fleet(), max_at_once=limit)
    assert len(found) == count
    assert all("max_at_once is 1, but 2 hosts can't be parted" in warning for warning in found)


@pytest.mark.parametrize(("zones", "count"), [((None, None), 0), (("1", "1"), 0), (("1", None), 0), (("1", "2"), 1)])
def test_zones_that_share_an_update_domain(zones, count):
    found = warnings(fleet(zones, maintenance_delivery_group="set"))
    assert len(found) == count
    assert all("Hosts in zones 1 and 2 share update domain 0" in warning for warning in found)


def test_an_event_that_names_single_vms_in_two_zones():
    (warning,) = warnings(fleet(("1", "2")))
    assert warning.startswith("Event E spans several domains (zone 1 and zone 2).")


def test_the_domains_of_one_event_in_their_order():
    names = [f"h{number}" for number in range(12)]
    shared = {**EVENT, "resources": [*names, "unknown"]}
    hosts = {
        name: {"maintenance_status": {"this_host": {"update_domain": name[1:]}, "events": [shared]}} for name in names
    }
    hosts["unknown"] = {"maintenance_status": {"this_host": {}, "events": [shared]}}
    (wave,) = make_waves(hosts, hosts)
    assert wave["domains"] == [*(f"update domain {number}" for number in range(12)), "no known domain"]


# What is a domain, and what is none.


@pytest.mark.parametrize("nothing", [None, True, False, "", "  "])
def test_what_is_no_domain(nothing):
    assert domain_of({"maintenance_domain": nothing}, {}) is None
    assert domain_of(None, {"update_domain": nothing}) is None
    assert domain_of({}, {"zone": nothing}) is None
    # The next that is there counts.
    assert domain_of({"maintenance_domain": nothing}, {"update_domain": nothing, "zone": "2"}) == "zone 2"


@pytest.mark.parametrize(("given", "name"), [(0, "0"), ("0", "0"), (" a ", "a"), (3, "3")])
def test_what_is_one(given, name):
    assert domain_of({"maintenance_domain": given}, {"update_domain": "9"}) == f"domain {name}"
    assert domain_of({}, {"update_domain": given}) == f"update domain {name}"
    assert domain_of({}, {"update_domain": given, "zone": "9", "scale_set": "set"}) == f"update domain {name}"
    assert domain_of(None, {"zone": given}) == f"zone {name}"


@pytest.mark.parametrize(
    ("variables", "more", "domain"),
    [
        (None, {}, "zone 1"),
        ({}, {"scale_set": None, "placement_group": ""}, "zone 1"),
        ({"maintenance_delivery_group": ""}, {}, "zone 1"),
        ({"maintenance_delivery_group": "set"}, {}, "update domain 0"),
        ({}, {"scale_set": "set"}, "update domain 0"),
        ({}, {"placement_group": "id"}, "update domain 0"),
    ],
)
def test_the_update_domain_of_a_vm_in_a_zone_counts_only_where_it_shares_it(variables, more, domain):
    assert domain_of(variables, {"update_domain": "0", "zone": "1", **more}) == domain
