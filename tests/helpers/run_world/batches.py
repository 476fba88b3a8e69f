# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The batches of a play as a run here takes them: each host once, in the order in which they come up.

What goes down inside a batch, and in which rounds, is decided anew each time by `what_may_go_down_now` for its hosts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import natural
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.model import Event, GroupState, Run
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.rules import group_states, run_leaves_alone


@dataclasses.dataclass(frozen=True)
class Batch:
    """Hosts for one batch of `serial`."""

    hosts: tuple[str, ...]
    # group -> domains in it. More than one only where hosts hang together through events.
    domains: Mapping[str, tuple[str, ...]]
    events: tuple[str, ...]
    deadline: float | None


@dataclasses.dataclass
class _Pack:
    """Hosts of one group for one batch: those that hang together, or several of one domain."""

    group: str
    hosts: list[str]
    domains: tuple[str, ...]
    events: list[Event]
    # Rule 2: what is out comes first. Then the earliest deadline.
    due: float


def batches(run: Run) -> tuple[Batch, ...]:
    """Every host that has something to do, exactly once; of each group at most one domain in a batch."""
    queues = []
    down = 0
    for state in group_states(run):
        packs = _packs(state, run.settings.max_at_once)
        planned = {host for pack in packs for host in pack.hosts}
        down += len([name for name in state.down if name in state.hosts and name not in planned])
        if packs:
            queues.append(packs)
    limit = None if run.settings.max_at_once is None else max(1, run.settings.max_at_once - down)
    found = []
    while queues:
        queues.sort(key=lambda packs: (packs[0].due, natural(packs[0].group)))
        together = [queues[0].pop(0)]
        for packs in queues[1:]:
            # Groups are independent of each other: they go side by side.
            if limit is None or sum(len(pack.hosts) for pack in together) + len(packs[0].hosts) <= limit:
                together.append(packs.pop(0))
        queues = [packs for packs in queues if packs]
        found.append(_batch(together))
    return tuple(found)


def _batch(packs: list[_Pack]) -> Batch:
    events = sorted(
        {event.id: event for pack in packs for event in pack.events}.values(), key=lambda event: event.position
    )
    due = min((event.position[0] for event in events), default=-math.inf)
    return Batch(
        hosts=tuple(sorted((host for pack in packs for host in pack.hosts), key=natural)),
        domains={pack.group: pack.domains for pack in packs},
        events=tuple(event.id for event in events),
        deadline=None if math.isinf(due) else due,
    )


def _packs(state: GroupState, limit: int | None) -> list[_Pack]:
    open_packs: dict[str, _Pack] = {}
    packs: list[_Pack] = []
    for unit in sorted(_units(state), key=lambda unit: (unit.due, natural(unit.hosts[0]))):
        pack = open_packs.get(unit.domains[0]) if len(unit.domains) == 1 else None
        if pack and (limit is None or len(pack.hosts) + len(unit.hosts) <= limit):
            pack.hosts += unit.hosts
            pack.events += unit.events
            continue
        packs.append(unit)
        if len(unit.domains) == 1:
            open_packs[unit.domains[0]] = unit
    return packs


def _units(state: GroupState) -> list[_Pack]:
    """Hosts that hang together through events, and single hosts that something is drained on."""
    ours = [event for event in state.events if not run_leaves_alone(state, event)]
    parent: dict[str, str] = {}

    def root(host: str) -> str:
        while parent.setdefault(host, host) != host:
            parent[host] = parent[parent[host]]
            host = parent[host]
        return host

    named = {event.id: [host for host in event.hosts if _is_planned(state, host)] for event in ours}
    for event in ours:
        for host in named[event.id]:
            parent[root(host)] = root(named[event.id][0])
    for known in state.hosts.values():
        left = known.journal or state.has_something_drained(known)
        # A VM that was taken away is not waited for.
        if left and _is_planned(state, known.name) and (known.read or known.name in state.down):
            root(known.name)
    members: dict[str, list[str]] = {}
    for name in sorted(parent, key=natural):
        members.setdefault(root(name), []).append(name)
    events: dict[str, list[Event]] = {}
    for event in ours:
        if named[event.id]:
            events.setdefault(root(named[event.id][0]), []).append(event)
    return [_unit(state, hosts, events.get(top, [])) for top, hosts in members.items()]


def _is_planned(state: GroupState, name: str) -> bool:
    return name in state.hosts and name in state.run.may_act_on


def _unit(state: GroupState, hosts: list[str], events: list[Event]) -> _Pack:
    domains = tuple(sorted({state.domain(host) for host in hosts}, key=natural))
    out = any(state.is_under_way(event) for event in events) or not events
    due = -math.inf if out else events[0].position[0]
    return _Pack(state.name, hosts, domains, list(events), due)
