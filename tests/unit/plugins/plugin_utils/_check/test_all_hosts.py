# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What could be seen of the facts on no host at all."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.plugin_utils._check.all_hosts import NOBODY_ASKED, _not_looked_at
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.facts import ALL_FACTS, never_looked_at


def result(*not_seen, asked=True):
    told = [{"fact": fact, "why": why} for fact, why in not_seen]
    return {"status": {"events": []}, "not_seen": told if asked else None}


def seen_nowhere(**hosts):
    told = _not_looked_at(hosts)
    assert told[-len(never_looked_at()) :] == never_looked_at()
    return [(one["fact"], one["why"]) for one in told[: -len(never_looked_at())]]


def test_what_one_host_has_shown_is_seen():
    assert seen_nowhere(a=result(("F", "no event"), ("G", "no event")), b=result(("G", "no event"))) == [
        ("G", "no event")
    ]
    assert seen_nowhere(a=result(("F", "no event")), b=result()) == []


def test_the_reasons_of_two_hosts_may_differ():
    assert seen_nowhere(a=result(("F", "no event")), b=result(("F", "no event names this VM now"))) in (
        [("F", "no event")],
        [("F", "no event names this VM now")],
    )


def test_a_host_whose_facts_were_not_asked_for_has_shown_none():
    """Such as one with Windows, or without Python; or one that could not be read."""
    others = {"windows": result(asked=False), "failed": {"msg": "x", "failed": True}, "lost": None}
    assert seen_nowhere(linux=result(("F", "no event")), **others) == [("F", "no event")]


def test_where_nobody_was_asked_none_is_seen():
    told = seen_nowhere(windows=result(asked=False))
    assert len(told) == len(ALL_FACTS)
    assert {why for _fact, why in told} == {NOBODY_ASKED}
