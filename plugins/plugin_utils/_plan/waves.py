# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waves: who goes down together, and in which order."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Iterator, Mapping

from .._azure import events as azure
from .._azure import vms
from .._azure.vms import SeenEvent
from .._common.text import in_words, natural, some_of


class Joined:
    """A name that was never joined stands for itself."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        """The one that stands for all that this name was joined with."""
        above = self._above
        while (next_up := above.get(name, name)) != name:
            # Halving the path on the way keeps it short.
            above[name] = above.get(next_up, next_up)
            name = next_up
        return name

    def join(self, one: str, other: str) -> None:
        """From now on the root of `one` stands for both."""
        top, below = self.root(one), self.root(other)
        if top != below:
            self._above[below] = top


# The hosts that one event names can't be parted: they are a unit, and so are hosts that hang together through several
# events. Units of one domain make up a wave. A unit that itself spans several domains has a wave to itself, so that no
# other host of these domains goes down with it.

# Host variables that decide about waves. A caller with a costly mapping need not fetch any other.
WAVE_VARIABLES = ("maintenance_status", "maintenance_domain", "maintenance_vm_name", "maintenance_delivery_group")

_PERCENT = re.compile(r"(\d{1,4})\s*%")


class Wave(t.TypedDict):
    """What may be taken down at the same time."""

    hosts: list[str]
    # In words, such as "update domain 0"; more than one only where an event itself spans them.
    domains: list[str]
    # The earliest not_before; None where an event has started or is undated (`underway`), or where there is no event.
    deadline: str | None
    underway: bool
    events: list[str]
    warnings: list[str]


class _Unit(t.NamedTuple):
    """Hosts that can't be parted."""

    due: float
    hosts: list[str]
    events: list[SeenEvent]
    domains: tuple[str, ...]


def make_waves(hosts: Iterable[str], host_vars: vms.HostVars, max_at_once: t.Any = None) -> list[Wave]:
    """Every host exactly once, the wave with the earliest deadline first. Does not depend on the order of the hosts.

    Raises ValueError with a sentence for the user.
    """
    ordered = sorted(set(hosts), key=natural)
    limit = read_max_at_once(max_at_once, len(ordered))
    this_hosts = vms.this_hosts_of(ordered, host_vars)
    return arrange(this_hosts, host_vars, vms.collect_events(this_hosts, host_vars), limit)


def arrange(
    this_hosts: vms.ThisHosts, host_vars: vms.HostVars, events: list[SeenEvent], limit: int | None
) -> list[Wave]:
    """The same for hosts in natural order, and for events that name no other hosts."""
    domains: dict[str, str | None] = {}
    zones: dict[str, str] = {}
    # Nearly all hosts have an update domain and nothing else to say about it.
    by_update_domain: dict[str, str | None] = {}
    for host, this_host in this_hosts.items():
        variables = host_vars.get(host)
        update_domain = this_host.get("update_domain")
        zone = this_host.get("zone")
        says_no_more = not zone and "maintenance_domain" not in (variables or {})
        if says_no_more and isinstance(update_domain, str):
            # Or none, where it is blank.
            if update_domain not in by_update_domain:
                by_update_domain[update_domain] = domain_of(None, {"update_domain": update_domain})
            domains[host] = by_update_domain[update_domain]
        else:
            domains[host] = domain_of(variables, this_host)
        if zone and not this_host.get("scale_set"):
            zones[host] = str(zone)
    rank = {host: number for number, host in enumerate(this_hosts)}
    units = _units(domains, events, singly=limit is not None)
    return [_wave(pack, rank, limit, domains, zones) for pack in _packs(units, limit)]


def read_max_at_once(value: t.Any, count: int) -> int | None:
    """A number of hosts from an int, "5" or "25%" of `count`; None where there is no limit.

    An empty text is no limit: it is what an AWX survey gives for an answer that was left out.
    """
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        number = int(value)
    else:
        text = value.strip() if isinstance(value, str) else ""
        percent = _PERCENT.fullmatch(text)
        if percent:
            share = int(percent.group(1))
            if not 1 <= share <= 100:
                raise ValueError(f"max_at_once must be from 1% to 100%, not {text}")
            # Rounded down, as `serial` does it, but never to none at all.
            return max(1, count * share // 100)
        if not re.fullmatch(r"[+-]?\d{1,9}", text):
            raise ValueError(
                f'max_at_once must be a number of hosts such as 5, or a share such as "25%", not {value!r}'
            )
        number = int(text)
    if number < 1:
        raise ValueError(f"max_at_once must be at least 1, not {number}")
    return number


def domain_of(variables: Mapping[str, t.Any] | None, this_host: Mapping[str, t.Any]) -> str | None:
    """The domain in words. The kind is part of it, so that zone 1 and update domain 1 are never taken for one."""
    override = variables.get("maintenance_domain") if variables is not None else None
    if override is not None and (text := _text(override)):
        return f"domain {text}"
    zone, update_domain = _text(this_host.get("zone")), _text(this_host.get("update_domain"))
    if update_domain and not (zone and _is_single(variables, this_host)):
        return f"update domain {update_domain}"
    return f"zone {zone}" if zone else None


def _is_single(variables: Mapping[str, t.Any] | None, this_host: Mapping[str, t.Any]) -> bool:
    """Whether a VM in a zone shares its update domain with nobody: availability sets have no zones."""
    is_in_a_group = variables is not None and variables.get("maintenance_delivery_group")
    return not (is_in_a_group or this_host.get("scale_set") or this_host.get("placement_group"))


def _units(domains: dict[str, str | None], events: list[SeenEvent], singly: bool) -> list[_Unit]:
    """Hosts that hang together through events; in the order in which `domains` has the hosts.

    Hosts without an event that share a domain are one unit, unless they may have to be taken `singly`.
    """
    joined = Joined()
    for seen in events:
        first = next(iter(seen.hosts))
        for host in seen.hosts:
            joined.join(first, host)
    shared: dict[str, list[SeenEvent]] = {}
    for seen in events:
        shared.setdefault(joined.root(next(iter(seen.hosts))), []).append(seen)
    # Nearly all hosts have no event, and for these there is nothing to find out.
    linked = {host for seen in events for host in seen.hosts}
    members: dict[str, list[str]] = {}
    idle: dict[str, list[str]] = {}
    units: list[_Unit | str] = []
    for host, domain in domains.items():
        if host not in linked:
            if domain in idle:
                idle[domain].append(host)
                continue
            unit = _Unit(vms.NEVER, [host], [], (domain or f"host {host}",))
            units.append(unit)
            if domain and not singly:
                idle[domain] = unit.hosts
            continue
        top = joined.root(host)
        if top not in members:
            # Its place in the order; the unit is made when all its hosts are known.
            units.append(top)
        members.setdefault(top, []).append(host)
    return [_unit(members[unit], shared[unit], domains) if isinstance(unit, str) else unit for unit in units]


def _unit(hosts: list[str], events: list[SeenEvent], domains: dict[str, str | None]) -> _Unit:
    found = {domains[host] for host in hosts}
    known = [domain for domain in found if domain is not None]
    if not known:
        # Nothing is known about who shares what with whom, so that nobody else may go along.
        known = [f"event {events[0].id}"]
    else:
        known.sort(key=natural)
        if None in found:
            known.append("no known domain")
    return _Unit(events[0].due, hosts, events, tuple(known))


def _packs(units: list[_Unit], limit: int | None) -> list[list[_Unit]]:
    """Units that go together, in the order in which they go. `units` come in the natural order of their first hosts."""
    by_due = sorted(units, key=lambda unit: unit.due)
    packs: list[list[_Unit]] = []
    open_packs: dict[str, list[_Unit]] = {}
    sizes: dict[str, int] = {}
    shown: dict[str, set[str]] = {}
    for unit in by_due:
        if len(unit.domains) > 1:
            packs.append([unit])
            continue
        (domain,) = unit.domains
        ids = {azure.canonical_id(seen.id) for seen in unit.events}
        fits = domain in open_packs and (limit is None or sizes[domain] + len(unit.hosts) <= limit)
        # What two groups call by one id is two events, and a wave knows them by their ids.
        if fits and ids.isdisjoint(shown[domain]):
            open_packs[domain].append(unit)
            sizes[domain] += len(unit.hosts)
            shown[domain] |= ids
        else:
            open_packs[domain] = [unit]
            sizes[domain], shown[domain] = len(unit.hosts), ids
            packs.append(open_packs[domain])
    # A pack was opened by its earliest unit; of packs that are due at the same time, by the name of the domain.
    return sorted(packs, key=lambda pack: (pack[0].due, natural(pack[0].domains[0])))


def _wave(
    pack: list[_Unit],
    rank: dict[str, int],
    limit: int | None,
    domains: dict[str, str | None],
    zones: dict[str, str],
) -> Wave:
    first = pack[0]
    if len(pack) == 1:
        hosts, events = first.hosts, first.events
    else:
        hosts = sorted((host for unit in pack for host in unit.hosts), key=rank.__getitem__)
        events = sorted(
            (seen for unit in pack for seen in unit.events), key=lambda seen: (seen.due, azure.canonical_id(seen.id))
        )
    warnings = list(_about_size(first, limit)) if limit is not None else []
    if len(first.domains) > 1:
        warnings += _about_domains(first, domains)
    elif zones:
        (domain,) = first.domains
        warnings += _about_zones(domain, {zones[host] for host in hosts if host in zones})
    underway = first.due == vms.NOW
    return {
        "hosts": list(hosts),
        "domains": list(first.domains),
        "deadline": None if underway or not events else str(events[0].event["not_before"]).strip(),
        "underway": underway,
        "events": [seen.id for seen in events],
        "warnings": warnings,
    }


def _about_domains(unit: _Unit, domains: dict[str, str | None]) -> Iterator[str]:
    together = in_words(list(unit.domains))
    for seen in unit.events:
        if len({domains[host] for host in seen.hosts}) > 1:
            yield (
                f"Event {seen.id} spans several domains ({together}). Azure takes its hosts down together,"
                f" so they are one wave: {some_of(sorted(seen.hosts, key=natural))}"
            )


def _about_size(unit: _Unit, limit: int) -> Iterator[str]:
    if len(unit.hosts) > limit:
        yield (
            f"max_at_once is {limit}, but {len(unit.hosts)} hosts can't be parted, as they share event"
            f" {some_of([seen.id for seen in unit.events])}: {some_of(unit.hosts)}"
        )


def _about_zones(domain: str, zones: set[str]) -> Iterator[str]:
    """Of a group by maintenance_delivery_group, and in zones: single VMs, whose update domains say nothing."""
    if domain.startswith("update domain ") and len(zones) > 1:
        yield (
            f"Hosts in zones {in_words(sorted(zones, key=natural))} share {domain} and go down together:"
            " set maintenance_domain on them if they must not"
        )


def _text(value: t.Any) -> str:
    return "" if value is None or isinstance(value, bool) else str(value).strip()
