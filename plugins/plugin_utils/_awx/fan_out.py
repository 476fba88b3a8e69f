# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts must be in one job, and how a fleet is spread over several. Pure.

Hosts belong together if they are known to be of one delivery group, or show a common event: Azure shows an event to the
whole delivery group, and two domains of one group must never be down at once.
"""

from __future__ import annotations

import heapq
import time
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_id
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import (
    HostVars,
    collect_events,
    events_of,
    this_host_of,
    this_hosts_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import natural, seconds_of, some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import Joined

GROUP, VM_NAME, STATUS = "maintenance_delivery_group", "maintenance_vm_name", "maintenance_status"
_MOST = 8


def fan_out(
    hosts: Iterable[str],
    host_vars: HostVars,
    *,
    jobs: int = 100,
    max_age: float | None = None,
    now: float | None = None,
    drained: Iterable[str] = (),
) -> dict[str, t.Any]:
    """{jobs: [{hosts, groups}], quiet, unknown, lines}: whom to launch a job for.

    `drained`: hosts that an earlier run left drained; their groups have something to do without any event.
    `quiet`: hosts of groups without any event. `unknown`: hosts without a good reading that no group speaks for; they
    get no job. Raises ValueError with a sentence for the user.
    """
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise ValueError(f"jobs must be a number, at least 1, not {jobs!r}")
    ordered = sorted(set(hosts), key=natural)
    readings = {host: good_reading(host_vars.get(host), max_age, now) for host in ordered}
    groups = _groups(ordered, host_vars, readings)
    left = set(drained)
    busy: list[list[str]] = []
    still: list[list[str]] = []
    for group in groups:
        wanted = any(events_of(readings[host]) or host in left for host in group)
        (busy if wanted else still).append(group)
    packed = _pack(busy, jobs)
    result = {
        "jobs": packed,
        "quiet": [host for group in still for host in group if any(readings[one] for one in group)],
        "unknown": [host for group in still for host in group if not any(readings[one] for one in group)],
    }
    return {**result, "lines": _lines(result, len(ordered))}


def good_reading(
    variables: Mapping[str, t.Any] | None, max_age: float | None, now: float | None = None
) -> dict[str, t.Any] | None:
    """What the host was shown, if that can be relied on."""
    status = variables.get(STATUS) if variables is not None else None
    if not isinstance(status, dict) or not isinstance(status.get("events"), list):
        return None
    if max_age is None:
        return status
    read_at = seconds_of(status.get("read_at"))
    moment = time.time() if now is None else now
    return status if read_at is not None and moment - read_at <= float(max_age) else None


def _groups(
    hosts: Sequence[str], host_vars: HostVars, readings: Mapping[str, dict[str, t.Any] | None]
) -> list[list[str]]:
    joined = Joined()
    first: dict[tuple[str, ...], str] = {}
    for host in hosts:
        for key in _keys(host_vars.get(host), readings[host]):
            joined.join(first.setdefault(key, host), host)
    # An event may also name hosts that were not read themselves.
    known = {host: {**(host_vars.get(host) or {}), STATUS: readings[host]} for host in hosts}
    for seen in collect_events(this_hosts_of(hosts, known), known):
        for host in seen.hosts:
            joined.join(first[_event_key(seen.id)], host)
    found: dict[str, list[str]] = {}
    for host in hosts:
        found.setdefault(joined.root(host), []).append(host)
    return list(found.values())


def _keys(variables: Mapping[str, t.Any] | None, reading: t.Any) -> list[tuple[str, ...]]:
    """Two hosts with a common key are of one delivery group."""
    keys: list[tuple[str, ...]] = [_event_key(event.get("id")) for event in events_of(reading)]
    told = variables.get(GROUP) if variables is not None else None
    if told is not None and told != "":
        keys.append(("told", str(told)))
    this_host = this_host_of(variables)
    if this_host and this_host.get("placement_group"):
        where = (this_host.get(name) for name in ("subscription_id", "resource_group", "scale_set", "placement_group"))
        keys.append(("placement", *(str(part or "").casefold() for part in where)))
    return keys


def _event_key(event_id: t.Any) -> tuple[str, ...]:
    return "event", canonical_id(str(event_id))


def _pack(groups: Sequence[list[str]], jobs: int) -> list[dict[str, t.Any]]:
    """Largest group first, each into the job with the fewest hosts."""
    if len(groups) <= jobs:
        return [{"hosts": group, "groups": 1} for group in groups]
    heap = [(0, number) for number in range(jobs)]
    members: list[list[list[str]]] = [[] for _number in range(jobs)]
    for group in sorted(groups, key=len, reverse=True):
        size, number = heapq.heappop(heap)
        members[number].append(group)
        heapq.heappush(heap, (size + len(group), number))
    return [{"hosts": [host for group in packed for host in group], "groups": len(packed)} for packed in members]


def _lines(result: Mapping[str, t.Any], count: int) -> list[str]:
    jobs = result["jobs"]
    groups = sum(job["groups"] for job in jobs)
    busy = sum(len(job["hosts"]) for job in jobs)
    lines = [f"{count} hosts: {len(jobs)} jobs for {groups} delivery groups with {busy} hosts"]
    if jobs:
        lines.append(f"The largest job has {max(len(job['hosts']) for job in jobs)} hosts")
    lines.append(f"No job for {len(result['quiet'])} hosts of groups with nothing planned")
    if result["unknown"]:
        lines.append(
            f"No job for {len(result['unknown'])} hosts that are unread, or were read too long ago: "
            f"{some_of(result['unknown'], _MOST)}. Run collect first"
        )
    return lines
