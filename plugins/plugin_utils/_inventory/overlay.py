# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts a reading speaks for, and what each host gets from it: its groups and its `maintenance_status`.

Pure. The rules, which docs/inventory.md tells to users:

- A reading is the last word on the hosts that it was taken for, on the VM that answered, and on the hosts of the same
  known delivery group. The newest such reading counts.
- A reading that names a VM in an event speaks for that VM's host too, unless a newer last word says otherwise.
- Readings that the user listed may, together, speak for all hosts that have no reading of their own (`covers_all`).
  Not if one of them failed, and not for a host that is known to live elsewhere.
- Everything else is unknown. So is a host of which it can't be told whether a reading means it.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    canonical_id,
    canonical_name,
    refresh,
    warnings_about,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.links import EventData
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.readings import (
    Failure,
    InventoryHost,
    Reading,
    is_asked_from_within,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._query import BadQuery
from ansible_collections.maintenance.azure.plugins.plugin_utils._times import iso_time
from ansible_collections.maintenance.azure.plugins.plugin_utils._words import printable, some_of

# Readings of one run are taken within such a time. One of them is no news against another.
SAME_TIME_SECONDS = 60
MOST_WARNINGS = 10
MOST_NAMES = 5

STATE_GROUPS = ("pending", "started", "clear", "unknown")
TYPE_GROUPS = ("freeze", "preempt", "reboot", "redeploy", "terminate")
SOURCE_GROUPS = ("platform", "user")

# What Azure allows in a VM's name. Anything else must not become a host, whose name ends up in templates and paths.
_VM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# Ansible takes these for the controller, or for groups.
_NO_HOSTS = frozenset(("localhost", "127.0.0.1", "all", "ungrouped"))


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


def make_overlay(
    hosts: t.Iterable[InventoryHost],
    readings: t.Sequence[Reading],
    failures: t.Sequence[Failure],
    settings: OverlaySettings,
) -> Overlay:
    fleet = _Fleet(hosts)
    oldest = -float("inf") if settings.max_age is None else settings.now - settings.max_age
    in_time = sorted((reading for reading in readings if reading.read_at >= oldest), key=lambda one: one.read_at)
    too_old = [reading for reading in readings if reading.read_at < oldest]
    fleet.believe(in_time)
    views = [_View(reading, settings) for reading in in_time]
    knowledge = _Knowledge(fleet, views)
    overlay = Overlay()
    strangers = list(knowledge.strangers.values())
    if settings.create_hosts:
        new = _new_hosts(strangers, knowledge.answerers, fleet, settings)
        if new:
            overlay.created = [host.name for host in new]
            fleet = _Fleet([*fleet.hosts.values(), *new])
            fleet.believe(())
            knowledge = _Knowledge(fleet, views)
    _give(fleet, knowledge, too_old, failures, settings, overlay)
    _warn(overlay, views, knowledge, strangers, settings)
    for lines in (overlay.warnings, overlay.problems, overlay.details):
        lines[:] = map(printable, lines)
    return overlay


# ---------------------------------------------------------------- hosts and names


class _Scope(t.NamedTuple):
    subscription: str | None
    resource_group: str | None

    def denies(self, host: InventoryHost) -> bool:
        """Whether the host is known to live elsewhere. A delivery group is never larger than a resource group."""
        return _differ(self.resource_group, host.resource_group) or _differ(self.subscription, host.subscription)

    def confirms(self, host: InventoryHost) -> bool:
        return self.resource_group is not None and host.resource_group is not None and not self.denies(host)


def _differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one.casefold() != other.casefold()


def _lower(text: str | None) -> str | None:
    return None if text is None else text.casefold()


class _Fleet:
    """The hosts, by the names under which they may be met."""

    def __init__(self, hosts: t.Iterable[InventoryHost]) -> None:
        self.hosts = {host.name: host for host in hosts}
        self.by_vm_name: dict[str, list[InventoryHost]] = {}

    def _index(self) -> None:
        self.by_vm_name.clear()
        for host in self.hosts.values():
            self.by_vm_name.setdefault(canonical_name(host.vm_name), []).append(host)

    def believe(self, readings: t.Iterable[Reading]) -> None:
        """Learn who a host is from a reading that is its own."""
        for reading in readings:
            host = self.hosts.get(reading.hosts[0]) if len(reading.hosts) == 1 else None
            if host is None or reading.this_host is None:
                continue
            name = reading.this_host["vm_name"] or host.vm_name
            # An endpoint may be a neighbour's, which was written down for this host on purpose.
            if not reading.told_by_host and host.vm_name_given and canonical_name(name) != canonical_name(host.vm_name):
                continue
            self.hosts[host.name] = dataclasses.replace(
                host,
                vm_name=name,
                subscription=reading.this_host["subscription_id"] or host.subscription,
                resource_group=reading.this_host["resource_group"] or host.resource_group,
                vm_id=reading.this_host["vm_id"] or host.vm_id,
            )
        self._index()


class _Match(t.NamedTuple):
    """The hosts that a name means; or those of which it may mean any."""

    hosts: t.Sequence[InventoryHost] = ()
    candidates: t.Sequence[InventoryHost] = ()


def _same_vm(hosts: t.Sequence[InventoryHost]) -> bool:
    if hosts[0].vm_id is not None:
        return all(_lower(host.vm_id) == _lower(hosts[0].vm_id) for host in hosts)
    homes = {(_lower(host.subscription), _lower(host.resource_group)) for host in hosts}
    return len(homes) == 1 and None not in homes.pop()


# ---------------------------------------------------------------- what was read


class _View:
    """A reading, and its events as a host will see them."""

    def __init__(self, reading: Reading, settings: OverlaySettings) -> None:
        self.reading = reading
        self.read_at = reading.read_at
        self.read_at_text = settings.guard(iso_time(reading.read_at))
        self.warnings = warnings_about({"events": reading.events})
        self.events = reading.events
        if settings.query:
            self.events = _filtered(_as_seen(reading.events, settings.now), settings.query)
        self.scope = _Scope(None, None)
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

    def settle(self, fleet: _Fleet) -> _Match:
        """Find out for whom this reading is the last word. Gives the hosts of which it can't tell who answered."""
        taken_for = [fleet.hosts[name] for name in self.reading.hosts if name in fleet.hosts]
        self.selves = {host.name for host in taken_for}
        self.groups = {host.delivery_group for host in taken_for if host.delivery_group is not None}
        identity = self.reading.this_host
        if identity is None:
            homes = {(host.subscription, host.resource_group) for host in taken_for}
            self.scope = _Scope(*homes.pop()) if len(homes) == 1 else _Scope(None, None)
            return _Match()
        self.scope = _Scope(identity["subscription_id"], identity["resource_group"])
        if self.reading.told_by_host:
            return _Match(taken_for)
        answerer = self.match(fleet, identity["vm_name"] or "", identity["vm_id"])
        self.selves.update(host.name for host in answerer.hosts)
        self.groups.update(host.delivery_group for host in answerer.hosts if host.delivery_group is not None)
        return answerer

    def match(self, fleet: _Fleet, vm_name: str, vm_id: str | None = None) -> _Match:
        """The hosts that this reading means by a VM's name."""
        candidates = fleet.by_vm_name.get(canonical_name(vm_name), [])
        if not candidates:
            return _Match()
        if len(candidates) > 1:
            near = [host for host in candidates if host.name in self.selves or host.delivery_group in self.groups]
            candidates = near or candidates
        pool = [host for host in candidates if not self.scope.denies(host) and not _differ(vm_id, host.vm_id)]
        if len(pool) <= 1:
            return _Match(pool)
        sure = [host for host in pool if vm_id and host.vm_id] or [host for host in pool if self.scope.confirms(host)]
        if len(sure) == 1 or (sure and _same_vm(sure)):
            return _Match(sure)
        return _Match(pool) if _same_vm(pool) else _Match(candidates=pool)


def _as_seen(events: list[EventData], now: float) -> list[EventData]:
    """The events as a host has them that they affect, at this time."""
    seen: list[EventData] = [{**event, "affects_this_host": True} for event in events]
    refresh({"events": seen}, now)
    return seen


def _filtered(events: list[EventData], query: t.Callable[[list[EventData]], t.Any]) -> list[EventData]:
    passed = query(events)
    known = {id(event) for event in events}
    if not isinstance(passed, list) or not all(id(event) in known for event in passed):
        raise BadQuery(
            "query must pick events out of the list of events, as [?type == 'Reboot'] does; it gave"
            f" {'nothing' if passed is None else str(passed)[:80]}"
        )
    return passed


class _Stranger(t.NamedTuple):
    """A VM that no host stands for."""

    vm_name: str
    scope: _Scope

    @property
    def key(self) -> tuple[str | None, str | None, str]:
        return _lower(self.scope.subscription), _lower(self.scope.resource_group), canonical_name(self.vm_name)


def _second(view: _View) -> int:
    return int(view.read_at)


class _Knowledge:
    """All readings together, by host."""

    def __init__(self, fleet: _Fleet, views: t.Sequence[_View]) -> None:
        self.views = views
        self.last_words: dict[str, list[_View]] = {}
        self.group_words: dict[str, _View] = {}
        self.mentions: dict[str, list[_View]] = {}
        self.doubts: dict[str, tuple[float, str]] = {}
        self.strangers: dict[tuple[str | None, str | None, str], _Stranger] = {}
        self.answerers: dict[tuple[str | None, str | None, str], _Stranger] = {}
        # Oldest first, so that what comes later may replace what came before.
        for view in views:
            self._learn(view, fleet)

    def _learn(self, view: _View, fleet: _Fleet) -> None:
        answerer = view.settle(fleet)
        identity = view.reading.this_host
        if identity and identity["vm_name"] and not answerer.hosts and not answerer.candidates and not view.selves:
            stranger = _Stranger(identity["vm_name"], view.scope)
            self.answerers[stranger.key] = stranger
        self._doubt(answerer, view, identity["vm_name"] if identity else None)
        for name in view.selves:
            self.last_words.setdefault(name, []).append(view)
        for group in view.groups:
            self.group_words[group] = view
        view.mentions = {}
        matches: dict[str, _Match] = {}
        for event in view.events:
            met: set[str] = set()
            for vm_name in event["resources"]:
                if vm_name not in matches:
                    matches[vm_name] = view.match(fleet, vm_name)
                    self._doubt(matches[vm_name], view, vm_name)
                match = matches[vm_name]
                if not match.hosts and not match.candidates:
                    stranger = _Stranger(vm_name, view.scope)
                    self.strangers.setdefault(stranger.key, stranger)
                for host in match.hosts:
                    if host.name not in met:
                        met.add(host.name)
                        view.mentions.setdefault(host.name, []).append(event)
        for name in view.mentions:
            self.mentions.setdefault(name, []).append(view)

    def _doubt(self, match: _Match, view: _View, vm_name: str | None) -> None:
        for host in match.candidates:
            self.doubts[host.name] = (view.read_at, vm_name or "")

    def last_word(self, host: InventoryHost) -> _View | None:
        words = self.last_words.get(host.name, [])
        of_group = self.group_words.get(host.delivery_group) if host.delivery_group is not None else None
        # Of two readings of one second, its own tells more; max takes the first.
        return max([*reversed(words), *([of_group] if of_group else [])], key=_second, default=None)

    def own_identity(self, host: InventoryHost) -> t.Any:
        for view in reversed(self.last_words.get(host.name, [])):
            identity = view.reading.this_host
            if identity and canonical_name(identity["vm_name"] or "") == canonical_name(host.vm_name):
                return view.given(identity)
        return None

    def in_doubt(self, host: InventoryHost, word: _View | None) -> str | None:
        """The name that may mean this host, where nothing settles whether it does."""
        if host.name not in self.doubts:
            return None
        at, vm_name = self.doubts[host.name]
        return None if word and word.read_at >= at - SAME_TIME_SECONDS else vm_name


# ---------------------------------------------------------------- what hosts get


class _Listed:
    """Whether the readings that the user listed speak, all together, for a host that has none of its own."""

    def __init__(self, views: t.Sequence[_View], complete: bool, settings: OverlaySettings) -> None:
        self.views = [view for view in views if view.reading.listed] if complete and settings.covers_all else []
        self.known: dict[tuple[str | None, str | None, str | None], _View | None] = {}

    def view_for(self, host: InventoryHost) -> _View | None:
        if host.endpoint is not None and not is_asked_from_within(host.endpoint):
            return None
        key = (host.subscription, host.resource_group, host.delivery_group)
        if key not in self.known:
            self.known[key] = next((view for view in reversed(self.views) if self._may_cover(view, host)), None)
        return self.known[key]

    @staticmethod
    def _may_cover(view: _View, host: InventoryHost) -> bool:
        elsewhere = view.groups and host.delivery_group is not None and host.delivery_group not in view.groups
        return not elsewhere and not view.scope.denies(host)


def _give(
    fleet: _Fleet,
    knowledge: _Knowledge,
    too_old: t.Sequence[Reading],
    failures: t.Sequence[Failure],
    settings: OverlaySettings,
    overlay: Overlay,
) -> None:
    groups = _Groups(settings.prefix)
    complete = not any(failure.listed for failure in failures) and not any(reading.listed for reading in too_old)
    listed = _Listed(knowledge.views, complete, settings)
    why = _Reasons(fleet, too_old, failures, settings, complete)
    shared: dict[tuple[t.Any, ...], dict[str, t.Any]] = {}
    for host in fleet.hosts.values():
        word = knowledge.last_word(host)
        doubt = knowledge.in_doubt(host, word)
        mentioned_by = knowledge.mentions.get(host.name, [])
        view = word or (mentioned_by[-1] if mentioned_by else None) or listed.view_for(host)
        if doubt is not None or view is None:
            groups.add("unknown", host.name)
            why.add(host, doubt)
            continue
        identity = knowledge.own_identity(host)
        events = _events_of(host, word, mentioned_by)
        key = (id(view), id(identity), *map(id, events))
        if key not in shared:
            shared[key] = {
                "this_host": identity,
                "document_incarnation": view.given(view.reading.document_incarnation),
                "events": events,
                "pending": any(event["status"] == "Scheduled" for event in events),
                "read_at": view.read_at_text,
            }
        overlay.statuses[host.name] = shared[key]
        if events and identity is None and host.vm_name != host.name:
            overlay.vm_names[host.name] = settings.guard(host.vm_name)
        groups.add_status(host.name, shared[key])
    overlay.groups = groups.members
    why.tell(overlay)


def _events_of(host: InventoryHost, word: _View | None, mentioned_by: t.Sequence[_View]) -> list[EventData]:
    """The events of the last word and of all that is newer; the newest version of each."""
    found: dict[str, tuple[_View, EventData]] = {}
    views = [] if word is None else [word]
    views += [view for view in mentioned_by if word is None or (view is not word and view.read_at >= word.read_at)]
    for view in views:
        for event in view.mentions.get(host.name, ()):
            found[canonical_id(event["id"])] = view, event
    return [view.given(event) for view, event in found.values()]


class _Groups:
    def __init__(self, prefix: str) -> None:
        prefix = re.sub(r"[^A-Za-z0-9_]", "_", prefix)
        self.prefix = f"_{prefix}" if prefix[:1].isdigit() else prefix
        self.safe: dict[str, str] = {}
        # A group that is there and empty matches nothing; one that is not there is a warning on every run.
        self.members: dict[str, list[str]] = {}
        for name in STATE_GROUPS:
            self.members[self.prefix + name] = []
        for name in TYPE_GROUPS:
            self.members[f"{self.prefix}type_{name}"] = []
        for name in SOURCE_GROUPS:
            self.members[f"{self.prefix}source_{name}"] = []

    def add(self, name: str, host: str) -> None:
        self.members.setdefault(self.prefix + name, []).append(host)

    def add_status(self, host: str, status: dict[str, t.Any]) -> None:
        names: dict[str, None] = {}
        for event in status["events"]:
            # A state that nobody knows yet is no reason to call the host clear.
            names["started" if event["status"] == "Started" else "pending"] = None
            names[f"type_{self._safe(event['type'])}"] = None
            if event["source"]:
                names[f"source_{self._safe(event['source'])}"] = None
        if not status["events"]:
            names["clear"] = None
        domain = status["this_host"]["update_domain"] if status["this_host"] else None
        if domain:
            names[f"update_domain_{self._safe(domain)}"] = None
        for name in names:
            self.add(name, host)

    def _safe(self, word: str) -> str:
        if word not in self.safe:
            self.safe[word] = re.sub(r"[^a-z0-9]+", "_", str(word).lower()).strip("_")[:60] or "other"
        return self.safe[word]


def _new_hosts(
    strangers: t.Sequence[_Stranger],
    answerers: dict[tuple[str | None, str | None, str], _Stranger],
    fleet: _Fleet,
    settings: OverlaySettings,
) -> list[InventoryHost]:
    """Hosts for VMs that no source defines. Of the same name in several resource groups: one each, told apart."""
    by_name: dict[str, dict[str | None, _Stranger]] = {}
    for stranger in (*answerers.values(), *strangers):
        homes = by_name.setdefault(canonical_name(stranger.vm_name), {})
        homes.setdefault(_lower(stranger.scope.resource_group), stranger)
    taken = {*map(str.casefold, fleet.hosts), *map(str.casefold, settings.reserved), *_NO_HOSTS}
    new = []
    for homes in by_name.values():
        if len(homes) > 1:
            # What does not say where it lives is one of those that do.
            homes.pop(None, None)
        for stranger in homes.values():
            name = stranger.vm_name
            if len(homes) > 1 or (name.casefold() in taken and name.casefold() not in _NO_HOSTS):
                name = f"{name}_{stranger.scope.resource_group or ''}"
            if not _VM_NAME.fullmatch(name) or name.endswith("_") or name.casefold() in taken:
                continue
            taken.add(name.casefold())
            new.append(
                InventoryHost(name, stranger.vm_name, True, stranger.scope.subscription, stranger.scope.resource_group)
            )
    return new


# ---------------------------------------------------------------- what people are told


class _Reasons:
    """Why hosts are unknown, said once per reason."""

    def __init__(
        self,
        fleet: _Fleet,
        too_old: t.Sequence[Reading],
        failures: t.Sequence[Failure],
        settings: OverlaySettings,
        complete: bool,
    ) -> None:
        self.prefix = settings.prefix
        self.failures = dict.fromkeys(failure.text for failure in failures)
        self.why: dict[str, str] = {name: failure.text for failure in failures for name in failure.hosts}
        self.complete = complete
        self.covers_all = settings.covers_all
        self.hosts: dict[str, list[str]] = {}
        for reading in too_old:
            text = (
                f"read at {iso_time(reading.read_at)}, which is longer ago than max_age allows ({settings.max_age:g} s)"
            )
            if reading.hosts:
                reason = f"The last reading is older than max_age allows ({settings.max_age:g} s)"
                self.failures[reason] = None
                self.why.update(dict.fromkeys(reading.hosts, reason))
            else:
                self.failures[f"{reading.origin} was {text}"] = None
                for host in fleet.by_vm_name.get(canonical_name((reading.this_host or {}).get("vm_name") or ""), ()):
                    self.why[host.name] = f"{reading.origin} was {text}"

    def add(self, host: InventoryHost, doubt: str | None) -> None:
        if doubt is not None:
            reason = (
                f"The VM name {shown(doubt)} may mean any of several hosts: give them the variable resource_group, or"
                " maintenance_vm_name where they are different VMs"
            )
        elif host.name in self.why:
            reason = self.why[host.name]
        elif host.endpoint is not None and is_asked_from_within(host.endpoint):
            reason = (
                f"Only the host itself can ask {shown(host.endpoint)}: use source: facts, or give it another endpoint"
            )
        elif not self.complete:
            reason = "Not everything that was to be read could be read"
        elif self.covers_all:
            reason = "No VM that answered is in their resource group or delivery group"
        else:
            reason = "No reading speaks for them: see the option covers and the variable maintenance_delivery_group"
        self.hosts.setdefault(reason, []).append(host.name)

    def tell(self, overlay: Overlay) -> None:
        overlay.problems = list(self.failures)
        lines = [text for text in self.failures if text not in self.hosts]
        lines += [
            f"{reason.rstrip('.')}. Unread, so in {self.prefix}unknown: {some(hosts)}."
            for reason, hosts in self.hosts.items()
        ]
        overlay.warnings += lines[:MOST_WARNINGS]
        overlay.details += lines[MOST_WARNINGS:]
        if len(lines) > MOST_WARNINGS:
            overlay.warnings.append(f"{len(lines) - MOST_WARNINGS} more warnings of this kind: see them with -v.")


def _warn(
    overlay: Overlay,
    views: t.Sequence[_View],
    knowledge: _Knowledge,
    strangers: t.Sequence[_Stranger],
    settings: OverlaySettings,
) -> None:
    left = list(knowledge.strangers.values())
    if settings.create_hosts:
        if left:
            overlay.warnings.append(
                f"No host was made for these VMs, whose names can't be a host's: {some(one.vm_name for one in left)}."
            )
    elif strangers:
        overlay.warnings.append(
            f"Events name VMs that are no host of this inventory: {some(one.vm_name for one in strangers)}."
            " create_hosts: true would add them; vm_name_from says which variable holds a host's VM name."
        )
    overlay.warnings += list(dict.fromkeys(text for view in views for text in view.warnings))[:MOST_WARNINGS]


def shown(text: str) -> str:
    """Somebody else's text, for a message: one line, and short."""
    letters = printable(text)
    return letters if len(letters) <= 80 else f"{letters[:77]}..."


def some(names: t.Iterable[str]) -> str:
    return some_of([shown(name) for name in names], MOST_NAMES)
