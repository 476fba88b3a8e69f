# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which wave is first, who is in it, and what it says of itself: one rule a test."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import make_waves, read_max_at_once
from ansible_collections.maintenance.azure.plugins.plugin_utils._words import in_words, natural, some_of


def event(event_id, *resources, at="00:10", status="Scheduled"):
    due = None if status == "Started" else f"2026-11-16T{at}:00Z"
    return {"id": event_id, "status": status, "not_before": due, "resources": list(resources)}


def host(domain, *events, **more):
    return {"maintenance_status": {"this_host": {"update_domain": domain, **more}, "events": list(events)}}


def waves(fleet, limit=None):
    return make_waves(fleet, fleet, limit)


def hosts_of(fleet, limit=None):
    return [wave["hosts"] for wave in waves(fleet, limit)]


def test_hosts_without_event_and_domain_go_one_by_one():
    assert hosts_of({"a": {}, "b": {}, "c": {}}) == [["a"], ["b"], ["c"]]


def test_an_update_domain_without_text_is_none_and_the_zone_counts():
    fleet = {"a": host(" ", zone="1"), "b": host(" ", zone="2"), "c": host("", zone="1")}
    assert [(wave["hosts"], wave["domains"]) for wave in waves(fleet)] == [
        (["a", "c"], ["zone 1"]),
        (["b"], ["zone 2"]),
    ]


def test_hosts_that_hang_together_are_due_with_their_first_event():
    chain = [event("E1", "a", "b", at="00:10"), event("E2", "b", "c", at="00:30")]
    between = event("F", "d", at="00:20")
    fleet = {"a": host("0", chain[0]), "b": host("0", *chain), "c": host("0", chain[1]), "d": host("1", between)}
    first, second = waves(fleet)
    assert (first["hosts"], first["deadline"], first["events"]) == (
        ["a", "b", "c"],
        "2026-11-16T00:10:00Z",
        ["E1", "E2"],
    )
    assert second["hosts"] == ["d"]


def test_a_wave_is_due_with_the_first_of_its_events():
    fleet = {
        "a": host("0", event("E1", "a", at="00:50")),
        "b": host("0", event("E2", "b", at="00:10")),
        "c": host("1", event("F", "c", at="00:30")),
    }
    first, second = waves(fleet)
    assert (first["hosts"], first["deadline"], first["events"]) == (["a", "b"], "2026-11-16T00:10:00Z", ["E2", "E1"])
    assert second["hosts"] == ["c"]


def test_a_wave_is_underway_as_soon_as_one_of_its_events_is():
    fleet = {"a": host("0", event("E1", "a", at="00:50")), "b": host("0", event("E2", "b", status="Started"))}
    (wave,) = waves(fleet)
    assert (wave["underway"], wave["deadline"]) == (True, None)


def test_hosts_of_two_domains_that_can_not_be_parted_take_nobody_along():
    both = event("E", "a", "b")
    fleet = {"a": host("0", both), "b": host("1", both), "c": host("0"), "d": host("1")}
    assert hosts_of(fleet) == [["a", "b"], ["c"], ["d"]]


def test_waves_that_are_due_together_go_by_the_name_of_their_first_domain():
    outer, inner = event("E", "a", "b"), event("F", "c", "d")
    fleet = {"a": host("0", outer), "b": host("3", outer), "c": host("1", inner), "d": host("2", inner)}
    assert hosts_of(fleet) == [["a", "b"], ["c", "d"]]
    fleet = {"a": host("10", event("E", "a")), "b": host("9", event("F", "b"))}
    assert hosts_of(fleet) == [["b"], ["a"]]


def test_hosts_of_which_no_domain_is_known_are_called_after_their_first_event():
    late, soon = event("A", "a", "b", at="00:30"), event("B", "b", "c", at="00:10")
    (wave,) = waves({"a": host(None, late), "b": host(None, late, soon), "c": host(None, soon)})
    assert wave["domains"] == ["event B"]


@pytest.mark.parametrize(
    ("limit", "sizes"), [(None, [5]), (1, [1] * 5), (2, [2, 2, 1]), (3, [3, 2]), (4, [4, 1]), (5, [5]), (9, [5])]
)
def test_a_domain_is_taken_in_parts_no_larger_than_the_limit(limit, sizes):
    fleet = {f"h{number}": host("0") for number in range(5)}
    assert [len(hosts) for hosts in hosts_of(fleet, limit)] == sizes


def test_only_the_event_that_spans_domains_is_warned_of():
    inside, across = event("IN", "a", "b"), event("ACROSS", "b", "c")
    fleet = {"a": host("0", inside), "b": host("0", inside, across), "c": host("1", across)}
    (wave,) = waves(fleet)
    (warning,) = wave["warnings"]
    assert warning.startswith("Event ACROSS spans several domains (update domain 0 and update domain 1).")


@pytest.mark.parametrize(("count", "share", "number"), [(99, "100%", 99), (100, "100%", 100), (198, "50%", 99)])
def test_a_share_is_so_much_of_a_hundred(count, share, number):
    assert read_max_at_once(share, count) == number


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
