# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts of a batch have the next round, whether there is one, and how long to wait before it. Pure."""

from __future__ import annotations

import secrets
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import PlanEntry
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import Joined
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.rounds import Round
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import (
    BAD_STATES,
    Order,
    RunState,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes

# A run that waits looks again after so many seconds, at random, so that two of them do not meet for ever.
SHORTEST_PAUSE, LONGEST_PAUSE = 4, 9
# How often the playbook reads all hosts and goes through the batches.
PASSES = 3


def in_slices(state: RunState, hosts: Sequence[str]) -> list[str]:
    """As many of these hosts as are done while their reading is fresh; hosts that one event names stay together."""
    if not state["slice"]:
        return list(hosts)
    together = Joined()
    for entry in state["events"].values():
        for host in entry["hosts"]:
            together.join(entry["hosts"][0], host)
    company: dict[str, list[str]] = {}
    for host in hosts:
        company.setdefault(together.root(host), []).append(host)
    chosen: set[str] = set()
    for members in company.values():
        if len(chosen) >= state["slice"]:
            break
        chosen.update(members)
    return [host for host in hosts if host in chosen]


def next_slice(before: int, orders: Mapping[str, Order], variables: Mapping[str, Mapping[str, t.Any]]) -> int:
    """Half as many, where hosts refused for the age of their reading alone."""
    refused = [
        host
        for host in orders
        if (variables[host].get("drain_result") or {}).get("refused") == "age"
        or (variables[host].get("approve_result") or {}).get("refused_by_host") == "age"
    ]
    return max(1, len(orders) // 2) if refused else before


def left_of_the_batch(state: RunState, found: Round, batch: Sequence[str]) -> list[str]:
    """The hosts of the next round: those that are not through, as many as go in one."""
    waiting = {host for entry in _entries(state) if entry["id"] in found["held"] for host in entry["hosts"]}
    through = {
        host
        for host, outcome in state["outcomes"].items()
        if outcome["number_of_pass"] == state["number_of_pass"]
        and outcome["state"] in ("restored", "passed", "vanished")
        and host not in waiting
    }
    return in_slices(state, [host for host in batch if host not in through])


def _entries(state: RunState) -> list[PlanEntry]:
    return [entry for wave in state["plan"]["waves"] for entry in wave["events"]]


def goes_on(
    state: RunState, found: Round, seen: Sequence[str], batch: Sequence[str], wishes: Wishes, now: float
) -> tuple[bool, int]:
    """Whether the batch has another round, and how long to pause before it. `seen` were in this one."""
    bad = any(state["outcomes"].get(host, {}).get("state") in BAD_STATES for host in batch)
    if bad and not wishes.continue_after_failure:
        return False, 0
    since = state["waits_since"]
    if since is None:
        # With slices there are hosts whose turn comes only now.
        return found["again"] or not set(seen).issuperset(left_of_the_batch(state, found, batch)), 0
    if not (found["again"] or found["waits"]) or _own_hosts_come_first(state, found, batch):
        return False, 0
    patience = wishes.healthy_timeout if found["waits_for_service"] else wishes.patience
    if now - since >= patience:
        return False, 0
    return True, SHORTEST_PAUSE + secrets.randbelow(LONGEST_PAUSE - SHORTEST_PAUSE + 1)


def _own_hosts_come_first(state: RunState, found: Round, batch: Sequence[str]) -> bool:
    """What is waited for is this run's own to do, in another batch: then this one comes up again in the next pass."""
    others = set(state["hosts"]) - set(batch)
    return state["number_of_pass"] < PASSES and bool(found["waits_for"]) and others.issuperset(found["waits_for"])
