# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of hosts, and what fails them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from .._azure import events as azure
from .._common import text
from .._plan import waves
from . import model, run_state

# The metadata does not tell the availability set: three single VMs and three members of its domain 0 look alike. So an
# update domain counts only where something shows that the host has company.

# The hosts that nothing holds together are one group, which has this name.
THE_REST = "all others"


@dataclasses.dataclass(frozen=True)
class Place:
    """What tells where a host is: two host variables, what the VM says of itself, and its own good reading."""

    host: str
    delivery_group: str = ""
    domain: str = ""
    update_domain: str = ""
    zone: str = ""
    scale_set: str = ""
    placement_group: str = ""
    # The ids of the events in its document, whomever they name; None without a good reading.
    events: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Group:
    """Hosts that get the same document."""

    name: str
    hosts: tuple[str, ...]
    # The lease that a run needs to begin something here. What readings show changes; this is the inventory's alone: its
    # `maintenance_delivery_group`, and THE_REST for all hosts without one.
    lease: str


@dataclasses.dataclass(frozen=True)
class Grouping:
    groups: tuple[Group, ...]
    group_of: Mapping[str, str]
    # In words, such as "update domain 0".
    domain_of: Mapping[str, str]
    # Hosts of which nothing shows with whom they share a domain.
    doubtful: tuple[str, ...]


def group_hosts(places: Iterable[Place]) -> Grouping:
    """Every host in one group and one domain. Does not depend on the order of the places."""
    ordered = sorted(places, key=lambda place: text.natural(place.host))
    holders: dict[str, list[str]] = {}
    # Nearly all hosts of a group show the same document: for its events, the first of them stands for all.
    shown_first: dict[tuple[str, ...], str] = {}
    for place in ordered:
        events = place.events or ()
        first = shown_first.setdefault(events, place.host)
        if first != place.host and events:
            holders.setdefault(f"event of {first}", [first]).append(place.host)
            events = ()
        for sign in _signs(place, events):
            holders.setdefault(sign, []).append(place.host)
    joined = waves.Joined()
    called = {place.host: place.delivery_group for place in ordered}
    # What the user says comes first: no reading joins a host to a group that the inventory does not declare for it.
    for sign in sorted(holders, key=_rank):
        first, *others = holders[sign]
        for host in others:
            _join(joined, called, first, host)
    members: dict[str, list[Place]] = {}
    for place in ordered:
        members.setdefault(joined.root(place.host), []).append(place)
    groups: list[Group] = []
    domain_of: dict[str, str] = {}
    alone: list[Place] = []
    doubtful: list[str] = []
    for company in members.values():
        one, *fellows = company
        # `maintenance_delivery_group` says it for a single host, too; the other signs need somebody to share them.
        if not fellows and not one.delivery_group:
            alone.append(one)
            continue
        groups.append(_group(_name(company), company))
        for place in company:
            domain_of[place.host] = _domain(place, shares=bool(fellows), doubtful=doubtful)
    if alone:
        groups.append(_group(THE_REST, alone))
        for place in alone:
            domain_of[place.host] = _domain(place, shares=False, doubtful=doubtful)
    return Grouping(
        groups=tuple(groups),
        group_of={host: group.name for group in groups for host in group.hosts},
        domain_of=domain_of,
        doubtful=tuple(sorted(doubtful, key=text.natural)),
    )


def _group(name: str, company: list[Place]) -> Group:
    return Group(name, tuple(place.host for place in company), company[0].delivery_group or THE_REST)


def _signs(place: Place, events: Iterable[str]) -> list[str]:
    signs = []
    if place.delivery_group:
        signs.append(f"delivery group {place.delivery_group}")
    if place.placement_group:
        signs.append(f"placement group {place.placement_group.casefold()}")
    signs += [f"event {azure.canonical_id(event)}" for event in events]
    return signs


def _rank(sign: str) -> tuple[int, str]:
    return (("delivery", "placement", "event").index(sign.partition(" ")[0]), sign)


def _join(joined: waves.Joined, called: dict[str, str], one: str, other: str) -> None:
    top, below = joined.root(one), joined.root(other)
    if top != below and called[top] == called[below]:
        joined.join(top, below)


def _name(company: list[Place]) -> str:
    """What the user calls it, else Azure, else its first host: the same in every run that sees the same."""
    called = [place.delivery_group for place in company if place.delivery_group]
    if called:
        return called[0]
    placed = sorted({place.placement_group.casefold() for place in company if place.placement_group})
    return f"placement group {placed[0]}" if placed else f"the group of {company[0].host}"


def _domain(place: Place, shares: bool, doubtful: list[str]) -> str:
    if place.domain:
        return f"domain {place.domain}"
    if shares and place.update_domain:
        return f"update domain {place.update_domain}"
    if place.zone and not place.scale_set:
        # Availability sets have no zones, so this is a single VM.
        return f"zone {place.zone}"
    doubtful.append(place.host)
    return f"host {place.host}"


def warning_about(hosts: Sequence[str]) -> str:
    return (
        f"Nothing shows which other VMs share the domain of {text.some_of(list(hosts))}, so that each goes alone: set"
        " maintenance_delivery_group on the hosts of one availability set or scale set, or maintenance_domain"
    )


def failures(state: run_state.RunState, run_settings: model.RunSettings, grouping: Grouping) -> dict[str, str]:
    """Group -> what went wrong there in this run. It stops its own group, not the others."""
    if run_settings.continue_after_failure:
        return {}
    found: dict[str, list[str]] = {}
    for host, outcome in state["outcomes"].items():
        if outcome["state"] in run_state.BAD_STATES:
            why = f"{host}: {outcome.get('error') or outcome['state']}"
            for group in _groups_of(host, state, grouping):
                found.setdefault(group, []).append(why)
    return {group: "; ".join(causes) for group, causes in found.items()}


def _groups_of(host: str, state: run_state.RunState, grouping: Grouping) -> set[str]:
    """Its group; of a host that was never read, also that of hosts which one event names together with it."""
    events = [entry["hosts"] for entry in state["events"].values() if host in entry["hosts"]]
    return {grouping.group_of.get(name, "") for name in (host, *(name for named in events for name in named))}
