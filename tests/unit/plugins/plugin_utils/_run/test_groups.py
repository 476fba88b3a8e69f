# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts are one group, and what their domains are."""

from __future__ import annotations

import random

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.groups import (
    THE_REST,
    Place,
    group_hosts,
    warning_about,
)
from hypothesis import given
from hypothesis import strategies as st


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
    assert groups(*places, Place("c", events=("E",))) == {"x": ("a", "c"), "y": ("b",)}


def test_a_group_needs_the_leases_of_all_its_hosts():
    (group,) = group_hosts([Place("a", delivery_group="x", events=("E",)), Place("b", events=("E",))]).groups
    assert group.leases == (THE_REST, "x")


def test_hosts_whose_names_are_numbered_beyond_nine_are_one_group():
    places = [Place(f"h{number}", delivery_group="web") for number in range(8, 12)]
    assert groups(*places) == {"web": ("h8", "h9", "h10", "h11")}


def test_a_name_of_the_user_holds_for_all_that_was_joined_to_it():
    """b is of x and shares a's placement group, so that a is of x, and c of y does not join them."""
    places = [
        Place("a", placement_group="p", events=("E",)),
        Place("b", delivery_group="x", placement_group="p"),
        Place("c", delivery_group="y", events=("E",)),
    ]
    assert groups(*places) == {"x": ("a", "b"), "y": ("c",)}
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
