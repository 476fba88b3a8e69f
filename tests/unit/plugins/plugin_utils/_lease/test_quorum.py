# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the answers of several keepers mean together."""

from __future__ import annotations

import dataclasses
import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.quorum import verdict
from helpers.leases import mark, note
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HOLDER = {
    "run_id": "nightly",
    "user": "deploy",
    "host": "ctl1",
    "note": "job 7",
    "controller": "c",
    "pid": 3,
    "process_start": "1",
    "taken_at": "2026-11-16T00:00:00Z",
    "seconds_left": 83,
}
MINE = {**HOLDER, "run_id": "mine", "note": ""}
RENEWED = {"held": True, "renewed": True, "changed": False, "holder": MINE, "took_over_from": None, "notes": []}
NEW = {**RENEWED, "renewed": False, "changed": True}
BUSY = {"held": False, "renewed": False, "changed": False, "holder": HOLDER, "took_over_from": None, "notes": []}
FREE = {**BUSY, "holder": None}
AWAY = {"unreachable": True, "msg": "No route to host"}
BROKEN = {"failed": False, "msg": "The lock file is damaged"}
FAILED = {**BUSY, "failed": True, "held": True, "msg": "The host's answer was cut off"}


def judged(*each, do="take", group=""):
    keepers = [f"k{number}" for number in range(len(each))]
    return verdict(group, keepers, {k: r for k, r in zip(keepers, each, strict=True) if r is not None}, do)


@pytest.mark.parametrize(
    ("each", "held"),
    [
        ([NEW], True),
        ([BUSY], False),
        ([NEW, AWAY], False),
        ([NEW, NEW], True),
        ([NEW, RENEWED, AWAY], True),
        ([NEW, AWAY, AWAY], False),
        ([NEW, BUSY, NEW], True),
        ([NEW, BUSY, BROKEN], False),
        ([NEW, FAILED, None], False),
        ([NEW, NEW, AWAY, BROKEN], False),
        ([NEW, NEW, NEW, AWAY], True),
    ],
)
def test_a_majority_holds_it(each, held):
    assert judged(*each).held is held


@pytest.mark.parametrize(
    ("each", "held"),
    [([RENEWED, RENEWED, NEW], True), ([RENEWED, NEW, NEW], False), ([RENEWED, RENEWED, AWAY], True), ([NEW], False)],
)
def test_only_what_was_renewed_counts_for_a_renewal(each, held):
    assert judged(*each, do="renew").held is held


def test_release_and_read_hold_nothing():
    for do in ("release", "read"):
        assert not judged(RENEWED, RENEWED, do=do).held
    assert "is held by run nightly" in judged(BUSY, FREE, do="read").msg
    assert judged(FREE, FREE, do="read").holder == ""


def test_the_verdict_names_the_holder_and_every_keeper():
    found = judged(NEW, BUSY, BUSY, AWAY, BROKEN, group="set-web")
    assert found.holder == "run nightly of deploy@ctl1 (job 7), since 2026-11-16T00:00:00Z, for 83 seconds more"
    assert found.lost_keepers == ("k3", "k4")
    for part in (
        f"the lease of set-web is held by {found.holder}",
        "1 of 5 lock hosts",
        "it takes 3",
        "(k0: held, k1: busy, k2: busy, k3: unreachable, k4: The lock file is damaged)",
    ):
        assert part in found.msg


def test_who_has_most_of_them_is_named():
    other = {**BUSY, "holder": {**HOLDER, "run_id": "other"}}
    assert judged(other, BUSY, BUSY).holder.startswith("run nightly")
    assert judged(NEW, NEW, BUSY).holder.startswith("run mine")
    assert judged(NEW, FREE, FREE).holder == ""


def test_keepers_that_are_gone_are_named_at_once():
    for do in ("take", "renew"):
        found = judged(RENEWED, AWAY, None, do=do)
        assert found.lost_keepers == ("k1", "k2")
        assert "Make k1, k2 reachable again, or name other hosts in maintenance_lock_hosts" in found.msg
    # That somebody has the rest is not the reason.
    assert "Make k1, k2 reachable again" in judged(BUSY, AWAY, AWAY).msg


def test_of_two_keepers_both_are_needed_and_that_is_said():
    assert judged(NEW, NEW).held
    found = judged(NEW, AWAY)
    assert not found.held
    assert "Of two lock hosts both are needed" in found.msg


def test_what_was_lost_and_what_was_taken_over_is_said():
    lost = judged(BUSY, BUSY, RENEWED, do="renew")
    assert "This run has lost the lease: 1 of 3 lock hosts" in lost.msg
    assert "Now it is held by run nightly" in lost.msg
    assert "lapsed, " in judged(FREE, FREE, RENEWED, do="renew").msg
    over = judged({**NEW, "took_over_from": {**HOLDER, "reason": "dead"}})
    assert "taken over from run nightly of deploy@ctl1 (job 7)" in over.msg
    assert over.msg.endswith("whose process is dead.")


def test_notes_of_all_keepers_that_answered():
    drain, approval = note("web-0"), note("web-0", mark=mark())
    other = note("web-0", events=("E1",), run="two")
    one, two = {**NEW, "notes": [drain, approval]}, {**BUSY, "notes": [drain, other]}
    found = judged(one, two, {**AWAY, "notes": [note("web-9")]})
    assert sorted(map(json.dumps, found.notes)) == sorted(map(json.dumps, [drain, approval, other]))
    assert found == judged(one, two, AWAY)


def test_a_keeper_speaks_for_its_own_group_only():
    answer = {**NEW, "notes": [note("web-0"), note("db-0"), {"host": ["web-0"]}, {}]}
    found = verdict("web", ["k0"], {"k0": answer}, "take", hosts={"web-0", "web-1"})
    assert found.notes == (note("web-0"),)


def test_no_keeper_is_no_lease():
    with pytest.raises(ValueError, match="no lock host"):
        verdict("", [], {}, "take")


def test_words_of_a_host_are_shown_as_letters_only():
    found = judged({**BUSY, "holder": {**HOLDER, "user": "\x1b[2J"}}, {"msg": "\x1b[2J\n"}, do="take", group="\x1b")
    assert "\x1b" not in found.msg + found.holder


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("held", "renewed", "changed", "holder", "took_over_from", "notes", "failed", "unreachable", "msg")
ANSWER = st.one_of(
    ANYTHING,
    st.dictionaries(st.sampled_from(KEYS), ANYTHING | st.booleans()),
    st.fixed_dictionaries({}, optional={"holder": st.dictionaries(st.sampled_from(sorted(HOLDER)), ANYTHING)}).map(
        lambda more: {**BUSY, **more}
    ),
    st.sampled_from([NEW, RENEWED, BUSY, FREE, AWAY, BROKEN, FAILED]),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ANSWER, min_size=1, max_size=5), st.sampled_from(["take", "renew", "release", "read"]))
def test_an_answer_of_any_shape_is_never_taken_for_a_yes(each, do):
    found = judged(*each, do=do)
    yes = [
        answer
        for answer in each
        if isinstance(answer, dict)
        and answer.get("held") is True
        and not answer.get("failed")
        and not answer.get("unreachable")
        and (do != "renew" or answer.get("renewed") is True)
    ]
    assert found.held == (do in ("take", "renew") and 2 * len(yes) > len(each))
    assert found.msg.isprintable()
    json.dumps(dataclasses.asdict(found))
