# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings matched with hosts of the inventory."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import typing as t
from urllib.parse import urlsplit

from ...module_utils._azure import http
from .._azure import events as azure
from .._azure.vms import EventData
from .._common import ansible
from .._common.text import iso_time


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
    # What its variables say about which VM it is, under the names of vms.py.
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
        return http.check_endpoint(endpoint)
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
        known = azure.known_of_status(entry)
    except ValueError:
        return None
    if (with_identity and not entry.get("with_identity")) or (lifetime and now - known["read_at"] > lifetime):
        return None
    return Reading(origin=endpoint, **known)


class Home(t.NamedTuple):
    subscription: str | None
    resource_group: str | None

    def denies(self, host: InventoryHost) -> bool:
        """Whether the host is known to live elsewhere. A delivery group is never larger than a resource group."""
        return differ(self.resource_group, host.resource_group) or differ(self.subscription, host.subscription)

    def confirms(self, host: InventoryHost) -> bool:
        return self.resource_group is not None and host.resource_group is not None and not self.denies(host)


def differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one.casefold() != other.casefold()


def lower_case(text: str | None) -> str | None:
    return None if text is None else text.casefold()


class HostsByName:
    """The hosts, by the names under which they may be met."""

    def __init__(self, hosts: t.Iterable[InventoryHost]) -> None:
        self.hosts = {host.name: host for host in hosts}
        self.by_vm_name: dict[str, list[InventoryHost]] = {}

    def _index(self) -> None:
        self.by_vm_name.clear()
        for host in self.hosts.values():
            self.by_vm_name.setdefault(azure.canonical_name(host.vm_name), []).append(host)

    def trust(self, readings: t.Iterable[Reading]) -> None:
        """Learn who a host is from a reading that is its own."""
        for reading in readings:
            host = self.hosts.get(reading.hosts[0]) if len(reading.hosts) == 1 else None
            if host is None or reading.this_host is None:
                continue
            name = reading.this_host["vm_name"] or host.vm_name
            # An endpoint may be a neighbour's, which was written down for this host on purpose.
            if (
                not reading.told_by_host
                and host.vm_name_given
                and azure.canonical_name(name) != azure.canonical_name(host.vm_name)
            ):
                continue
            self.hosts[host.name] = dataclasses.replace(
                host,
                vm_name=name,
                subscription=reading.this_host["subscription_id"] or host.subscription,
                resource_group=reading.this_host["resource_group"] or host.resource_group,
                vm_id=reading.this_host["vm_id"] or host.vm_id,
            )
        self._index()


class NameMatch(t.NamedTuple):
    """The hosts that a name means; or those of which it may mean any."""

    hosts: t.Sequence[InventoryHost] = ()
    candidates: t.Sequence[InventoryHost] = ()


def are_one_vm(hosts: t.Sequence[InventoryHost]) -> bool:
    if hosts[0].vm_id is not None:
        return all(lower_case(host.vm_id) == lower_case(hosts[0].vm_id) for host in hosts)
    homes = {(lower_case(host.subscription), lower_case(host.resource_group)) for host in hosts}
    return len(homes) == 1 and None not in homes.pop()


@dataclasses.dataclass(slots=True)
class OverlaySettings:
    now: float
    prefix: str = "maintenance_"
    max_age: float | None = None
    covers_all: bool = False
    create_hosts: bool = False
    # Names that a new host can't have.
    reserved: t.Collection[str] = ()
    query: t.Callable[[list[EventData]], t.Any] | None = None
    # Applied to everything that the service sent before it is given to a host.
    guard: t.Callable[[t.Any], t.Any] = lambda value: value


@dataclasses.dataclass(slots=True)
class Overlay:
    """What to do to the inventory."""

    groups: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    statuses: dict[str, dict[str, t.Any]] = dataclasses.field(default_factory=dict)
    created: list[str] = dataclasses.field(default_factory=list)
    # The VM's name, for hosts whose status does not tell it.
    vm_names: dict[str, str] = dataclasses.field(default_factory=dict)
    warnings: list[str] = dataclasses.field(default_factory=list)
    # What could not be read, or only too long ago, whether or not a host is unknown for it.
    problems: list[str] = dataclasses.field(default_factory=list)
    details: list[str] = dataclasses.field(default_factory=list)


class ReadingView:
    """A reading, and its events as a host will see them."""

    def __init__(self, reading: Reading, settings: OverlaySettings) -> None:
        self.reading = reading
        self.read_at = reading.read_at
        self.read_at_text = settings.guard(iso_time(reading.read_at))
        self.warnings = azure.warnings_about({"events": reading.events})
        self.events = reading.events
        if settings.query:
            self.events = _filtered(_as_seen(reading.events, settings.now), settings.query)
        self.scope = Home(None, None)
        self.groups: set[str] = set()
        self.selves: set[str] = set()
        self.mentions: dict[str, list[EventData]] = {}
        self._settings = settings
        self._given: dict[int, t.Any] = {}

    def given(self, value: t.Any) -> t.Any:
        """What a host gets for a part of this reading: made once, however many hosts get it, and only if one does."""
        if id(value) not in self._given:
            is_event = isinstance(value, dict) and value is not self.reading.this_host
            seen = _as_seen([value], self._settings.now)[0] if is_event else value
            self._given[id(value)] = self._settings.guard(seen)
        return self._given[id(value)]

    def settle(self, fleet: HostsByName) -> NameMatch:
        """Find out for whom this reading is the last word. Gives the hosts of which it can't tell who answered."""
        taken_for = [fleet.hosts[name] for name in self.reading.hosts if name in fleet.hosts]
        self.selves = {host.name for host in taken_for}
        self.groups = {host.delivery_group for host in taken_for if host.delivery_group is not None}
        identity = self.reading.this_host
        if identity is None:
            homes = {(host.subscription, host.resource_group) for host in taken_for}
            self.scope = Home(*homes.pop()) if len(homes) == 1 else Home(None, None)
            return NameMatch()
        self.scope = Home(identity["subscription_id"], identity["resource_group"])
        if self.reading.told_by_host:
            return NameMatch(taken_for)
        answerer = self.match(fleet, identity["vm_name"] or "", identity["vm_id"])
        self.selves.update(host.name for host in answerer.hosts)
        self.groups.update(host.delivery_group for host in answerer.hosts if host.delivery_group is not None)
        return answerer

    def match(self, fleet: HostsByName, vm_name: str, vm_id: str | None = None) -> NameMatch:
        """The hosts that this reading means by a VM's name."""
        candidates = fleet.by_vm_name.get(azure.canonical_name(vm_name), [])
        if not candidates:
            return NameMatch()
        if len(candidates) > 1:
            near = [host for host in candidates if host.name in self.selves or host.delivery_group in self.groups]
            candidates = near or candidates
        pool = [host for host in candidates if not self.scope.denies(host) and not differ(vm_id, host.vm_id)]
        if len(pool) <= 1:
            return NameMatch(pool)
        sure = [host for host in pool if vm_id and host.vm_id] or [host for host in pool if self.scope.confirms(host)]
        if len(sure) == 1 or (sure and are_one_vm(sure)):
            return NameMatch(sure)
        return NameMatch(pool) if are_one_vm(pool) else NameMatch(candidates=pool)


def _as_seen(events: list[EventData], now: float) -> list[EventData]:
    """The events as a host has them that they affect, at this time."""
    seen: list[EventData] = [{**event, "affects_this_host": True} for event in events]
    azure.refresh({"events": seen}, now)
    return seen


def _filtered(events: list[EventData], query: t.Callable[[list[EventData]], t.Any]) -> list[EventData]:
    passed = query(events)
    known = {id(event) for event in events}
    if not isinstance(passed, list) or not all(id(event) in known for event in passed):
        raise ansible.BadQuery(
            "query must pick events out of the list of events, as [?type == 'Reboot'] does; it gave"
            f" {'nothing' if passed is None else str(passed)[:80]}"
        )
    return passed


# Readings of one run are taken within such a time. One of them is no news against another.
SAME_TIME_SECONDS = 60


class VmWithoutHost(t.NamedTuple):
    """A VM that no host stands for."""

    vm_name: str
    scope: Home

    @property
    def key(self) -> tuple[str | None, str | None, str]:
        return (
            lower_case(self.scope.subscription),
            lower_case(self.scope.resource_group),
            azure.canonical_name(self.vm_name),
        )


def _second(view: ReadingView) -> int:
    return int(view.read_at)


class Knowledge:
    """All readings together, by host."""

    def __init__(self, fleet: HostsByName, views: t.Sequence[ReadingView]) -> None:
        self.views = views
        self.last_words: dict[str, list[ReadingView]] = {}
        self.group_words: dict[str, ReadingView] = {}
        self.mentions: dict[str, list[ReadingView]] = {}
        self.doubts: dict[str, tuple[float, str]] = {}
        self.without_host: dict[tuple[str | None, str | None, str], VmWithoutHost] = {}
        self.answerers: dict[tuple[str | None, str | None, str], VmWithoutHost] = {}
        # Oldest first, so that what comes later may replace what came before.
        for view in views:
            self._learn(view, fleet)

    def _learn(self, view: ReadingView, fleet: HostsByName) -> None:
        answerer = view.settle(fleet)
        identity = view.reading.this_host
        if identity and identity["vm_name"] and not answerer.hosts and not answerer.candidates and not view.selves:
            vm = VmWithoutHost(identity["vm_name"], view.scope)
            self.answerers[vm.key] = vm
        self._doubt(answerer, view, identity["vm_name"] if identity else None)
        for name in view.selves:
            self.last_words.setdefault(name, []).append(view)
        for group in view.groups:
            self.group_words[group] = view
        view.mentions = {}
        matches: dict[str, NameMatch] = {}
        for event in view.events:
            met: set[str] = set()
            for vm_name in event["resources"]:
                if vm_name not in matches:
                    matches[vm_name] = view.match(fleet, vm_name)
                    self._doubt(matches[vm_name], view, vm_name)
                match = matches[vm_name]
                if not match.hosts and not match.candidates:
                    vm = VmWithoutHost(vm_name, view.scope)
                    self.without_host.setdefault(vm.key, vm)
                for host in match.hosts:
                    if host.name not in met:
                        met.add(host.name)
                        view.mentions.setdefault(host.name, []).append(event)
        for name in view.mentions:
            self.mentions.setdefault(name, []).append(view)

    def _doubt(self, match: NameMatch, view: ReadingView, vm_name: str | None) -> None:
        for host in match.candidates:
            self.doubts[host.name] = (view.read_at, vm_name or "")

    def last_word(self, host: InventoryHost) -> ReadingView | None:
        words = self.last_words.get(host.name, [])
        of_group = self.group_words.get(host.delivery_group) if host.delivery_group is not None else None
        # Of two readings of one second, its own tells more; max takes the first.
        return max([*reversed(words), *([of_group] if of_group else [])], key=_second, default=None)

    def own_identity(self, host: InventoryHost) -> t.Any:
        for view in reversed(self.last_words.get(host.name, [])):
            identity = view.reading.this_host
            if identity and azure.canonical_name(identity["vm_name"] or "") == azure.canonical_name(host.vm_name):
                return view.given(identity)
        return None

    def in_doubt(self, host: InventoryHost, word: ReadingView | None) -> str | None:
        """The name that may mean this host, where nothing settles whether it does."""
        if host.name not in self.doubts:
            return None
        at, vm_name = self.doubts[host.name]
        return None if word and word.read_at >= at - SAME_TIME_SECONDS else vm_name


# What Azure allows in a VM's name. Anything else must not become a host, whose name ends up in templates and paths.
_VM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# Ansible takes these for the controller, or for groups.
_NO_HOSTS = frozenset(("localhost", "127.0.0.1", "all", "ungrouped"))


def new_hosts(
    without_host: t.Sequence[VmWithoutHost],
    answerers: dict[tuple[str | None, str | None, str], VmWithoutHost],
    fleet: HostsByName,
    settings: OverlaySettings,
) -> list[InventoryHost]:
    """Hosts for VMs that no source defines. Of the same name in several resource groups: one each, told apart."""
    by_name: dict[str, dict[str | None, VmWithoutHost]] = {}
    for vm in (*answerers.values(), *without_host):
        homes = by_name.setdefault(azure.canonical_name(vm.vm_name), {})
        homes.setdefault(lower_case(vm.scope.resource_group), vm)
    taken = {*map(str.casefold, fleet.hosts), *map(str.casefold, settings.reserved), *_NO_HOSTS}
    new = []
    for homes in by_name.values():
        if len(homes) > 1:
            # What does not say where it lives is one of those that do.
            homes.pop(None, None)
        for vm in homes.values():
            name = vm.vm_name
            if len(homes) > 1 or (name.casefold() in taken and name.casefold() not in _NO_HOSTS):
                name = f"{name}_{vm.scope.resource_group or ''}"
            if not _VM_NAME.fullmatch(name) or name.endswith("_") or name.casefold() in taken:
                continue
            taken.add(name.casefold())
            new.append(InventoryHost(name, vm.vm_name, True, vm.scope.subscription, vm.scope.resource_group))
    return new
