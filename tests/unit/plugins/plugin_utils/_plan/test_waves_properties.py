# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold of the waves of every fleet."""

from __future__ import annotations

import itertools

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import make_waves
from hypothesis import given, settings
from hypothesis import strategies as st

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
        chosen = NAMES[draw(st.integers(0, 1)) :: 2] if tidy else [*NAMES, "stranger"]
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
