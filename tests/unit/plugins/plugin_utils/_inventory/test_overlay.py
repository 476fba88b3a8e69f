# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts are read, clear, pending or unknown: what must hold for every fleet and every set of readings."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import BadQuery, compile_query
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.matching import (
    Failure,
    InventoryHost,
    Overlay,
    OverlaySettings,
    Reading,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.overlay import make_overlay
from hypothesis import given, settings
from hypothesis import strategies as st

NOW = 1_800_000_000.0
IDENTITY_KEYS = (
    *("vm_name", "vm_id", "resource_id", "resource_group", "subscription_id", "location"),
    *("zone", "update_domain", "fault_domain", "scale_set", "placement_group"),
)


def event(*names: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "E1",
        "type": "Reboot",
        "status": "Scheduled",
        "source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": list(names),
        "not_before": "2027-01-15T08:10:00Z",
        "duration_seconds": None,
        "description": "",
        **more,
    }


def identity(vm_name: str, **more: str | None) -> dict[str, str | None]:
    return {**dict.fromkeys(IDENTITY_KEYS), "vm_name": vm_name, **more}


def reading(*events: dict[str, Any], **more: Any) -> Reading:
    return Reading(**{"origin": "test", "read_at": NOW - 10, "events": list(events), **more})


def overlay(
    hosts: list[InventoryHost], readings: list[Reading], failures: list[Failure] | None = None, **options: Any
) -> Overlay:
    return make_overlay(hosts, readings, failures or [], OverlaySettings(now=NOW, **options))


def states(result: Overlay) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for state in ("pending", "started", "clear", "unknown"):
        for host in result.groups[f"maintenance_{state}"]:
            found.setdefault(host, set()).add(state)
    return found


def state(result: Overlay, host: str) -> set[str]:
    return states(result)[host]


# ---------------------------------------------------------------- for all fleets

names = st.sampled_from(["web-0", "web-1", "WEB-1", "db"])
homes = st.sampled_from([None, "rg-a", "rg-b"])
delivery_groups = st.sampled_from([None, None, "g1", "g2"])


@st.composite
def fleets(draw: st.DrawFn) -> list[InventoryHost]:
    return [
        InventoryHost(
            name=f"h{number}",
            vm_name=draw(names),
            vm_name_given=draw(st.booleans()),
            resource_group=draw(homes),
            delivery_group=draw(delivery_groups),
            endpoint=draw(st.sampled_from([None, "http://10.0.0.1", "http://169.254.169.254"])),
        )
        for number in range(draw(st.integers(0, 5)))
    ]


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    return event(
        *draw(st.lists(st.sampled_from(["web-0", "web-1", "Web-0", "db", "outsider"]), max_size=3)),
        id=draw(st.sampled_from(["A", "a", "B"])),
        type=draw(st.sampled_from(["Reboot", "Freeze"])),
        status=draw(st.sampled_from(["Scheduled", "Started", "New"])),
    )


@st.composite
def good_readings(draw: st.DrawFn) -> Reading:
    hosts = tuple(draw(st.lists(st.sampled_from(["h0", "h1", "h2", "elsewhere"]), max_size=2, unique=True)))
    told = len(hosts) == 1 and draw(st.booleans())
    who = draw(st.none() | st.builds(lambda name, home: identity(name, resource_group=home), names, homes))
    return reading(
        *draw(st.lists(events(), max_size=3)),
        read_at=NOW - draw(st.integers(0, 200)),
        this_host=who,
        hosts=hosts,
        told_by_host=told,
        listed=not hosts or (not told and draw(st.booleans())),
    )


failures_of_any_kind = st.builds(
    Failure,
    st.just("x"),
    st.sampled_from(["no answer", "a page"]),
    st.sampled_from([(), ("h0",), ("h0", "h1")]),
    st.booleans(),
)
all_readings = st.lists(good_readings(), max_size=4)
all_failures = st.lists(failures_of_any_kind, max_size=2)


@settings(max_examples=150, deadline=None)
@given(fleets(), all_readings, all_failures, st.booleans(), st.booleans())
def test_every_host_has_events_or_is_clear_or_is_unknown(
    hosts: list[InventoryHost], readings: list[Reading], failures: list[Failure], covers_all: bool, create: bool
) -> None:
    result = overlay(hosts, readings, failures, covers_all=covers_all, create_hosts=create)
    found = states(result)
    assert set(found) == {host.name for host in hosts} | set(result.created)
    for name, its_states in found.items():
        assert its_states in ({"pending"}, {"started"}, {"pending", "started"}, {"clear"}, {"unknown"})
        assert (name in result.statuses) == (its_states != {"unknown"})
        if name in result.statuses:
            assert bool(result.statuses[name]["events"]) == (its_states != {"clear"})
            assert all(event["affects_this_host"] is True for event in result.statuses[name]["events"])


@settings(max_examples=150, deadline=None)
@given(fleets(), all_readings, all_failures, st.booleans())
def test_no_host_is_clear_that_nothing_spoke_for(
    hosts: list[InventoryHost], readings: list[Reading], failures: list[Failure], covers_all: bool
) -> None:
    result = overlay(hosts, readings, failures, covers_all=covers_all)
    by_name = {host.name: host for host in hosts}
    last_words: set[str] = set()
    for one in readings:
        taken_for = [by_name[name] for name in one.hosts if name in by_name]
        if one.this_host:
            wanted = (one.this_host["vm_name"] or "").lower()
            taken_for += [host for host in hosts if host.vm_name.lower() == wanted]
        groups = {host.delivery_group for host in taken_for} - {None}
        last_words |= {host.name for host in taken_for}
        last_words |= {host.name for host in hosts if host.delivery_group in groups}
    listed = [one for one in readings if one.listed]
    enough = covers_all and listed and not any(failure.listed for failure in failures)
    for host in hosts:
        if state(result, host.name) == {"clear"}:
            assert host.name in last_words or (enough and host.endpoint != "http://10.0.0.1")
    if not readings:
        assert all(found == {"unknown"} for found in states(result).values())


@settings(max_examples=150, deadline=None)
@given(fleets(), all_readings, st.booleans(), events())
def test_the_newest_reading_is_never_overlooked(
    hosts: list[InventoryHost], readings: list[Reading], covers_all: bool, news: dict[str, Any]
) -> None:
    # By so much newer that it is not of the same run.
    newest = reading(news, read_at=NOW + 100, listed=True)
    result = overlay(hosts, [*readings, newest], covers_all=covers_all)
    learned = {name for one in readings if len(one.hosts) == 1 and one.this_host for name in one.hosts}
    for host in hosts:
        if host.name not in learned and host.vm_name.lower() in [name.lower() for name in news["resources"]]:
            assert "clear" not in state(result, host.name)


@settings(max_examples=100, deadline=None)
@given(fleets(), all_readings, all_failures, st.booleans(), failures_of_any_kind)
def test_a_failure_more_never_makes_a_host_clear(
    hosts: list[InventoryHost], readings: list[Reading], failures: list[Failure], covers_all: bool, more: Failure
) -> None:
    before = states(overlay(hosts, readings, failures, covers_all=covers_all))
    after = states(overlay(hosts, readings, [*failures, more], covers_all=covers_all))
    for name, found in after.items():
        assert found in (before[name], {"unknown"})


@settings(max_examples=100, deadline=None)
@given(fleets(), all_readings, st.randoms(use_true_random=False))
def test_the_order_in_which_readings_come_in_does_not_matter(
    hosts: list[InventoryHost], readings: list[Reading], random: Any
) -> None:
    for number, one in enumerate(readings):
        one.read_at = NOW - 10 * number
    shuffled = list(readings)
    random.shuffle(shuffled)
    untouched = copy.deepcopy(hosts)
    assert overlay(hosts, readings, covers_all=True).groups == overlay(hosts, shuffled, covers_all=True).groups
    assert hosts == untouched


@given(st.text(min_size=1), st.text(), st.text(), st.text())
def test_group_names_are_always_names(kind: str, source: str, domain: str, prefix: str) -> None:
    hostile = event("web-0", type=kind, source=source or None)
    own = reading(hostile, this_host=identity("web-0", update_domain=domain or None), hosts=("web-0",))
    result = overlay([InventoryHost("web-0", "web-0")], [own], prefix=prefix)
    for name in result.groups:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name), name
    result = overlay([InventoryHost("web-0", "web-0")], [own])
    assert all(re.fullmatch(r"maintenance_[a-z0-9_]+", name) for name in result.groups)


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_new_hosts_have_names_that_mean_nothing_to_anybody(vm_names: list[str]) -> None:
    found = overlay([], [reading(event(*vm_names), listed=True)], create_hosts=True)
    for name in found.created:
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name)
        assert name not in ("localhost", "all", "ungrouped")


# ---------------------------------------------------------------- who speaks for whom

WEB = InventoryHost("web-0", "web-0")
DB = InventoryHost("db", "db")


def test_a_reading_speaks_for_the_host_that_it_was_taken_for_and_for_those_it_names() -> None:
    result = overlay([WEB, DB, InventoryHost("x", "x")], [reading(event("DB"), hosts=("web-0",))])
    assert states(result) == {"web-0": {"clear"}, "db": {"pending"}, "x": {"unknown"}}
    assert result.warnings[0].endswith("so in maintenance_unknown: x.")


def test_a_reading_speaks_for_the_vm_that_answered() -> None:
    result = overlay([WEB, DB], [reading(this_host=identity("Web-0", update_domain="0"), listed=True)])
    assert states(result) == {"web-0": {"clear"}, "db": {"unknown"}}
    assert result.groups["maintenance_update_domain_0"] == ["web-0"]
    assert result.statuses["web-0"]["this_host"]["vm_name"] == "Web-0"


def test_a_reading_speaks_for_the_known_delivery_group() -> None:
    members = [InventoryHost(name, name, delivery_group="set-1") for name in ("a", "b")]
    outsider = InventoryHost("c", "c", delivery_group="set-2")
    result = overlay([*members, outsider], [reading(event("b"), hosts=("a",))])
    assert states(result) == {"a": {"clear"}, "b": {"pending"}, "c": {"unknown"}}


def test_listed_readings_speak_for_all_if_the_user_says_so() -> None:
    hosts = [WEB, DB]
    listed = reading(event("db"), listed=True)
    assert state(overlay(hosts, [listed]), "web-0") == {"unknown"}
    assert state(overlay(hosts, [listed], covers_all=True), "web-0") == {"clear"}


@pytest.mark.parametrize(
    "host",
    [
        InventoryHost("x", "x", resource_group="rg-b"),
        InventoryHost("x", "x", subscription="other"),
        InventoryHost("x", "x", endpoint="http://10.9.9.9"),
        InventoryHost("x", "x", delivery_group="set-2"),
    ],
)
def test_listed_readings_never_speak_for_a_host_that_lives_elsewhere(host: InventoryHost) -> None:
    answerer = InventoryHost("a", "a", delivery_group="set-1")
    listed = reading(this_host=identity("a", resource_group="rg-a", subscription_id="s"), listed=True)
    assert state(overlay([answerer, host], [listed], covers_all=True), "x") == {"unknown"}


def test_a_newer_last_word_ends_an_event_and_an_older_one_does_not() -> None:
    told = reading(event("db"), hosts=("web-0",), read_at=NOW - 100)
    assert state(overlay([WEB, DB], [told, reading(hosts=("db",), read_at=NOW - 50)]), "db") == {"clear"}
    assert state(overlay([WEB, DB], [told, reading(hosts=("db",), read_at=NOW - 150)]), "db") == {"pending"}


def test_the_newest_version_of_an_event_counts() -> None:
    older = reading(event("db", id="ab"), listed=True, read_at=NOW - 20)
    newer = reading(event("db", id="AB", status="Started", not_before=None), listed=True, read_at=NOW - 10)
    result = overlay([DB], [newer, older])
    assert state(result, "db") == {"started"}
    assert len(result.statuses["db"]["events"]) == 1


def test_a_host_that_knows_its_own_vm_is_met_under_that_name() -> None:
    host = InventoryHost("10.0.0.4", "10.0.0.4")
    own = reading(hosts=("10.0.0.4",), this_host=identity("web-3"), read_at=NOW - 20)
    result = overlay([host], [own, reading(event("WEB-3"), listed=True)])
    assert state(result, "10.0.0.4") == {"pending"}
    assert result.statuses["10.0.0.4"]["this_host"]["vm_name"] == "web-3"


def test_a_neighbours_endpoint_does_not_rename_a_host() -> None:
    host = InventoryHost("db", "db", vm_name_given=True)
    result = overlay(
        [host], [reading(event("db"), event("web-0", id="E2"), hosts=("db",), this_host=identity("web-0"))]
    )
    assert [one["id"] for one in result.statuses["db"]["events"]] == ["E1"]
    assert result.statuses["db"]["this_host"] is None


def test_the_vm_name_is_kept_where_the_status_does_not_tell_it() -> None:
    host = InventoryHost("web-3_a1b2", "web-3", vm_name_given=True)
    assert overlay([host], [reading(event("web-3"), listed=True)]).vm_names == {"web-3_a1b2": "web-3"}


# ---------------------------------------------------------------- two VMs of one name


def twins(**second: Any) -> list[InventoryHost]:
    return [
        InventoryHost("one", "web", resource_group="rg-a"),
        InventoryHost("two", "web", **{"resource_group": "rg-b", **second}),
    ]


def test_vms_of_one_name_are_told_apart_by_resource_group() -> None:
    in_a = reading(event("web"), this_host=identity("other", resource_group="RG-A"), listed=True)
    in_b = reading(this_host=identity("web", resource_group="rg-b"), listed=True)
    result = overlay(twins(), [in_a, in_b])
    assert states(result) == {"one": {"pending"}, "two": {"clear"}}


def test_a_name_that_may_mean_either_makes_both_unknown() -> None:
    result = overlay(twins(), [reading(event("web"), listed=True)], covers_all=True)
    assert states(result) == {"one": {"unknown"}, "two": {"unknown"}}
    assert "may mean any of several hosts" in result.warnings[0]
    assert "one, two" in result.warnings[0]


def test_an_own_reading_settles_what_a_name_leaves_open() -> None:
    doubtful = reading(event("web"), listed=True, read_at=NOW - 5)
    own = reading(hosts=("one",), read_at=NOW - 6)
    assert states(overlay(twins(), [doubtful, own])) == {"one": {"clear"}, "two": {"unknown"}}
    long_ago = reading(hosts=("one",), read_at=NOW - 600)
    assert state(overlay(twins(), [doubtful, long_ago]), "one") == {"unknown"}


def test_a_vm_in_another_resource_group_is_not_the_host_of_that_name() -> None:
    only = [InventoryHost("one", "web", resource_group="rg-a")]
    there = reading(event("web"), this_host=identity("x", resource_group="rg-b"), listed=True)
    result = overlay(only, [there], covers_all=True)
    assert states(result) == {"one": {"unknown"}}
    assert any("web" in text and "no host" in text for text in result.warnings)


def test_one_vm_that_is_two_hosts_is_no_ambiguity() -> None:
    same = [InventoryHost("ip", "web", vm_id="V1"), InventoryHost("dns", "web", vm_id="v1")]
    result = overlay(same, [reading(event("web"), listed=True)])
    assert states(result) == {"ip": {"pending"}, "dns": {"pending"}}


def test_the_vm_id_decides_who_answered() -> None:
    hosts = [InventoryHost("one", "web", vm_id="v1"), InventoryHost("two", "web", vm_id="v2")]
    result = overlay(hosts, [reading(this_host=identity("web", vm_id="V2"), listed=True)])
    assert states(result) == {"one": {"unknown"}, "two": {"clear"}}


# ---------------------------------------------------------------- age, query, new hosts, messages


def test_a_reading_that_is_too_old_does_not_count() -> None:
    old = reading(hosts=("web-0",), read_at=NOW - 601)
    assert state(overlay([WEB], [old], max_age=601), "web-0") == {"clear"}
    result = overlay([WEB], [old], max_age=600)
    assert state(result, "web-0") == {"unknown"}
    assert "max_age" in result.warnings[0]
    assert result.problems


def test_one_listed_reading_that_is_too_old_leaves_a_gap() -> None:
    old = reading(listed=True, read_at=NOW - 601, origin="old.json")
    result = overlay([WEB], [old, reading(listed=True)], max_age=600, covers_all=True)
    assert state(result, "web-0") == {"unknown"}
    assert any("old.json" in text for text in result.warnings)


def test_seconds_left_is_of_now_and_not_of_the_reading() -> None:
    old = reading(event("web-0", not_before="2027-01-15T08:01:40Z"), listed=True, read_at=NOW - 5000)
    assert overlay([WEB], [old]).statuses["web-0"]["events"][0]["seconds_left"] == 100


def test_query_leaves_events_out() -> None:
    two = [event("web-0"), event("web-0", id="E2", type="Freeze")]
    query = compile_query("[?type == 'Freeze']")
    result = overlay([WEB], [reading(*two, listed=True)], query=query)
    assert [one["id"] for one in result.statuses["web-0"]["events"]] == ["E2"]
    assert result.groups["maintenance_type_reboot"] == []
    none_left = overlay([WEB], [reading(event("web-0"), hosts=("web-0",))], query=query)
    assert state(none_left, "web-0") == {"clear"}


@pytest.mark.parametrize("expression", ["[].id", "events[?type == 'Reboot']", "length(@)", "[].{id: id}"])
def test_a_query_must_give_events(expression: str) -> None:
    with pytest.raises(BadQuery, match="query must pick events"):
        overlay([WEB], [reading(event("web-0"), listed=True)], query=compile_query(expression))


def test_vms_without_a_host_are_named_in_one_warning_or_become_hosts() -> None:
    news = reading(event("web-0", "new-1", "NEW-2"), listed=True)
    (warning,) = overlay([WEB], [news]).warnings
    assert "new-1, NEW-2" in warning
    result = overlay([WEB], [news], create_hosts=True)
    assert result.created == ["new-1", "NEW-2"]
    assert not result.warnings
    assert states(result) == {"web-0": {"pending"}, "new-1": {"pending"}, "NEW-2": {"pending"}}


def test_the_vm_that_answered_becomes_a_host_too() -> None:
    result = overlay([], [reading(this_host=identity("web-0"), listed=True)], create_hosts=True)
    assert states(result) == {"web-0": {"clear"}}


def test_new_hosts_of_one_name_are_told_apart() -> None:
    both = [
        reading(event("web", id=home), this_host=identity("x", resource_group=home), listed=True)
        for home in ("rg-a", "rg-b")
    ]
    result = overlay([InventoryHost("x", "x")], both, create_hosts=True)
    assert result.created == ["web_rg-a", "web_rg-b"]
    assert [one["id"] for one in result.statuses["web_rg-b"]["events"]] == ["rg-b"]


@pytest.mark.parametrize("name", ["{{ 7 * 7 }}", "../../etc", "localhost", "all", "taken", "", "a b", "x" * 100])
def test_a_name_that_can_be_no_host_is_told_and_not_made(name: str) -> None:
    result = overlay([], [reading(event(name), listed=True)], create_hosts=True, reserved=("taken",))
    assert result.created == []
    assert "No host was made" in result.warnings[0]


def test_what_the_service_sent_is_guarded_once_for_all_hosts() -> None:
    guarded = []

    def guard(value: Any) -> Any:
        guarded.append(value)
        return value

    hosts = [InventoryHost(f"h{number}", f"h{number}", delivery_group="g") for number in range(50)]
    named = reading(event("h1", "h2"), hosts=("h0",))
    result = overlay(hosts, [named], guard=guard)
    assert len(guarded) == 3  # the time, the event and the incarnation
    assert result.statuses["h1"]["events"][0] is result.statuses["h2"]["events"][0]
    assert result.statuses["h3"] is result.statuses["h4"]


def test_a_thousand_failures_are_not_a_thousand_warnings() -> None:
    hosts = [InventoryHost(f"h{number}", f"h{number}") for number in range(1000)]
    failures = [Failure(host.name, f"http://{host.name} did not answer.", (host.name,)) for host in hosts]
    result = overlay(hosts, [], failures)
    assert len(result.warnings) == 11
    assert len(result.details) == 990
    assert "990 more" in result.warnings[-1]


def test_a_warning_shows_hostile_text_harmlessly() -> None:
    (warning,) = overlay([], [reading(event("\x1b[2Jweb\n[WARNING]: all is well"), listed=True)]).warnings
    assert warning.isprintable()
    assert "?[2Jweb?" in warning
    result = overlay([WEB], [], [Failure("e", "got a page (\x1b[31mred)", ("web-0",))])
    assert all(text.isprintable() for text in result.warnings + result.problems)
