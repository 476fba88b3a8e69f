# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory plugin knows of hosts, what was read for them, and whom to ask. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t
from urllib.parse import urlsplit

from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import check_endpoint
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import known_of_status
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time


@dataclasses.dataclass(slots=True)
class InventoryHost:
    """A host of the inventory, as far as maintenance is concerned."""

    name: str
    vm_name: str
    # Whether a variable gave the VM's name; otherwise it is the inventory hostname for want of better.
    vm_name_given: bool = False
    subscription: str | None = None
    resource_group: str | None = None
    vm_id: str | None = None
    delivery_group: str | None = None
    endpoint: str | None = None
    # What its variables say about which VM it is, under the names of vm_claims.py.
    identity: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(slots=True)
class Reading:
    """One good answer of the service, however it came here."""

    origin: str
    read_at: float
    events: list[dict[str, t.Any]]
    document_incarnation: int | str | None = None
    this_host: dict[str, str | None] | None = None
    # The hosts that this reading was taken for: it is the last word on them.
    hosts: tuple[str, ...] = ()
    # Whether `this_host` is who the one in `hosts` is, as it said so itself.
    told_by_host: bool = False
    # Whether the user listed it: together, the listed readings may speak for hosts that have none of their own.
    listed: bool = False


@dataclasses.dataclass(slots=True)
class Failure:
    """What could not be read, why, and which hosts have no reading because of it."""

    origin: str
    text: str
    hosts: tuple[str, ...] = ()
    listed: bool = False


@dataclasses.dataclass(slots=True)
class EndpointQuestion:
    """Endpoints of which one answer is enough, in the order in which to ask; each with the hosts that carry it."""

    endpoints: dict[str, tuple[str, ...]]
    # Who answers is worth a second request only where that tells something about one host.
    with_identity: bool
    listed: bool = False


def is_asked_from_within(endpoint: str) -> bool:
    """Whether every machine finds its own service at this address, so that a controller can't ask for another host."""
    if endpoint == "auto":
        return True
    try:
        return ipaddress.ip_address(urlsplit(endpoint).hostname or "").is_link_local
    except ValueError:
        return False


def normal_endpoint(endpoint: str) -> str:
    """The same text for the same endpoint. One that is wrong stays as it is: reading it says what is wrong."""
    try:
        return check_endpoint(endpoint)
    except ValueError:
        return endpoint


def questions(hosts: t.Iterable[InventoryHost], endpoints: t.Sequence[str]) -> list[EndpointQuestion]:
    """What to ask so that each endpoint is read at most once, and one of each known delivery group."""
    carriers: dict[str, list[str]] = {}
    groups: dict[str, dict[str, None]] = {}
    for host in hosts:
        if host.endpoint is None or is_asked_from_within(host.endpoint):
            continue
        carriers.setdefault(host.endpoint, []).append(host.name)
        groups.setdefault(host.delivery_group or f"\0{host.endpoint}", {})[host.endpoint] = None
    asked = []
    for members in groups.values():
        chain = {endpoint: tuple(carriers[endpoint]) for endpoint in members}
        alone = len(chain) == 1 and len(next(iter(chain.values()))) == 1
        asked.append(EndpointQuestion(chain, with_identity=alone))
    for endpoint in dict.fromkeys(endpoints):
        asked.append(EndpointQuestion({endpoint: tuple(carriers.get(endpoint, ()))}, with_identity=True, listed=True))
    return asked


def to_cache(reading: Reading, with_identity: bool) -> dict[str, t.Any]:
    """A reading as plain data for a cache: absolute times only, so that it is as true later as it is now."""
    return {
        "this_host": reading.this_host,
        "document_incarnation": reading.document_incarnation,
        "events": reading.events,
        "read_at": iso_time(reading.read_at),
        "with_identity": with_identity,
    }


def from_cache(endpoint: str, entry: t.Any, with_identity: bool, now: float, lifetime: float) -> Reading | None:
    """The reading in a cache's entry; None where there is none that is good enough and not too old.

    The age counts from the reading, not from when the cache was written: to add one endpoint to a cache writes the
    whole of it, and the rest must not live longer for that.
    """
    try:
        known = known_of_status(entry)
    except ValueError:
        return None
    if (with_identity and not entry.get("with_identity")) or (lifetime and now - known["read_at"] > lifetime):
        return None
    return Reading(origin=endpoint, **known)
