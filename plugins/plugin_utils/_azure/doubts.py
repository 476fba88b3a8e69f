# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Doubts about events and about who is which VM, in sentences.

A doubt that is `wrong` keeps something from being done that has to be done: the run does not end well then.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from .._common import text
from . import events as azure
from .vms import Claim, HostVars, SeenEvent, Vms, events_of

_MOST = 8


class Doubt(t.TypedDict):
    why: str
    # As that of a claim, or `groups`, or `hearsay`.
    kind: str
    hosts: list[str]
    wrong: bool


def doubts_about(events: Iterable[SeenEvent], claims: Iterable[Claim], vms: Vms, host_vars: HostVars) -> list[Doubt]:
    found = about_claims(list(claims), host_vars)
    torn: set[str] = set()
    for seen in events:
        if seen.is_torn:
            # Each of the groups shows it.
            if azure.canonical_id(seen.id) not in torn:
                found.append(_about_groups(seen, vms.groups))
            torn.add(azure.canonical_id(seen.id))
        elif seen.undeclared:
            found.append(_about_undeclared(seen))
        elif seen.named and not seen.hosts:
            found.append(_about_hearsay(seen))
    return found


def has_begun_by_its_own_reading(host: str, vm_name: str, host_vars: HostVars) -> bool:
    """Whether the host itself shows an event that has started for it: then it is not returned to service yet."""
    return any(event.get("status") == "Started" for event in _own_events(host, vm_name, host_vars))


def _own_events(host: str, vm_name: str, host_vars: HostVars) -> list[Mapping[str, t.Any]]:
    name = azure.canonical_name(vm_name)
    status = (host_vars.get(host) or {}).get("maintenance_status")
    return [
        event
        for event in events_of(status)
        if event.get("affects_this_host") is True
        or name in {azure.canonical_name(str(written)) for written in event.get("resources") or ()}
    ]


def about_claims(claims: Sequence[Claim], host_vars: HostVars) -> list[Doubt]:
    """In words, with the remedy; of hosts that the inventory only has to declare, all in one sentence."""
    found = [_about_claim(claim, host_vars) for claim in claims if claim.kind != "unconfirmed"]
    unconfirmed = sorted(
        (claim for claim in claims if claim.kind == "unconfirmed"), key=lambda one: text.natural(one.refused[0])
    )
    return [*found, _about_unconfirmed(unconfirmed, host_vars)] if unconfirmed else found


def _about_unconfirmed(claims: Sequence[Claim], host_vars: HostVars) -> Doubt:
    hosts = [claim.refused[0] for claim in claims]
    if len(claims) == 1:
        why = (
            f"{hosts[0]} says that it is the VM {claims[0].written}, which the inventory does not confirm. If"
            f" it is, set maintenance_vm_name: {claims[0].written} on it. Until then nothing is drained or"
            " approved for it."
        )
    else:
        said = _some([f"{claim.refused[0]} ({claim.written})" for claim in claims])
        why = (
            f"{said} say that they are the VMs in brackets, which the inventory does not confirm. Set"
            " maintenance_vm_name on each host where the name is correct. Until then nothing is drained or approved for"
            " them."
        )
    needed = any(_own_events(claim.refused[0], claim.vm_name, host_vars) for claim in claims)
    return {"why": why, "kind": "unconfirmed", "hosts": hosts, "wrong": needed}


def _about_claim(claim: Claim, host_vars: HostVars) -> Doubt:
    claimants = sorted({*claim.refused, *filter(None, [claim.host])}, key=text.natural)
    refused = sorted(claim.refused, key=text.natural)
    names = [claim.vm_name]
    if claim.kind == "contradicted":
        names.append(claim.instead)
        why = (
            f"{_some(refused)} says that it is the VM {claim.written}, but the inventory declares it to be"
            f" {claim.instead}. Nothing is drained or approved for {_some(refused)}. Correct the inventory, or"
            " ansible_host if this is another machine"
        )
    elif claim.kind == "contested" and not claim.host:
        why = (
            f"{_some(refused)} says that it is the VM {claim.written}, and by its name {claim.instead} may be that VM"
            f" too. Nothing is drained or approved for {_some(refused)}. Set maintenance_vm_name: {claim.written} on"
            " the one that it is"
        )
    elif claim.host:
        verb = "claims" if len(refused) == 1 else "claim"
        why = (
            f"{_some(refused)} {verb} to be the VM {claim.vm_name}, but by the inventory that is {claim.host}."
            f" Nothing is drained or approved for {_some(refused)}"
        )
        if claim.kind == "contested":
            why = f"{why}. If it is {_some(refused)}, set maintenance_vm_name: {claim.written} on it"
    else:
        why = (
            f"{_some(refused)} claim to be one VM, {claim.vm_name}, and the inventory does not say which of them it is."
            " Nothing is drained or approved for any of them. Set maintenance_vm_name on the one that it is"
        )
    is_needed = any(_own_events(host, name, host_vars) for host in claimants for name in names)
    return {"why": f"{why}.", "kind": claim.kind, "hosts": refused, "wrong": is_needed}


def _about_groups(seen: SeenEvent, groups: Mapping[str, str]) -> Doubt:
    hosts = sorted(seen.named, key=text.natural)
    by_group: dict[str, list[str]] = {}
    for host in hosts:
        if host in groups:
            by_group.setdefault(groups[host], []).append(host)
    parts = [f"{_some(members)} of {group}" for group, members in by_group.items()]
    why = (
        f"{_kind(seen)} {seen.id} names hosts of {len(by_group)} delivery groups: {text.in_words(parts)}. An event is"
        " of one group, so that one maintenance_delivery_group is wrong. Nothing is drained or approved for it."
    )
    return {"why": why, "kind": "groups", "hosts": hosts, "wrong": True}


def _about_undeclared(seen: SeenEvent) -> Doubt:
    hosts = sorted(seen.undeclared, key=text.natural)
    group = seen.undeclared[hosts[0]]
    why = (
        f"{_kind(seen)} {seen.id} names {_some(hosts)} beside hosts of {group}, and the inventory declares no delivery"
        f" group for {_some(hosts)}, so that it is not approved. Set maintenance_delivery_group: {group} on"
        f" {'it' if len(hosts) == 1 else 'them'} if {'it is' if len(hosts) == 1 else 'they are'} of that group."
    )
    return {"why": why, "kind": "groups", "hosts": hosts, "wrong": True}


def _about_hearsay(seen: SeenEvent) -> Doubt:
    hosts = sorted(seen.named, key=text.natural)
    why = (
        f"{_kind(seen)} {seen.id} names {_some(hosts)}, but is shown only by hosts that it does not name. Nothing is"
        " drained or approved for it."
    )
    return {"why": why, "kind": "hearsay", "hosts": hosts, "wrong": False}


def who_shows_it(shown_by: Sequence[str], silent: Sequence[str]) -> str:
    """Part of a sentence, where hosts that one event names do not all show it."""
    return f"{_some(shown_by)} {_verb(shown_by, 'shows', 'show')} it, {_some(silent)} {_verb(silent, 'does', 'do')} not"


def _verb(hosts: Sequence[str], one: str, many: str) -> str:
    return one if len(hosts) == 1 else many


def _some(hosts: Sequence[str]) -> str:
    return text.in_words(list(hosts)) if len(hosts) <= _MOST else text.some_of(list(hosts), _MOST)


def _kind(seen: SeenEvent) -> str:
    return str(seen.event.get("type") or "Event")
