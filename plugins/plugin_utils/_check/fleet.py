# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a look at all hosts together shows: documents of delivery groups, and who shares a domain. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_id
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import this_host_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import in_words, natural, some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.groups import (
    THE_REST,
    Place,
    group_hosts,
    warning_about,
)

Variables: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]


def about_groups(variables: Variables) -> list[Finding]:
    """`variables`: of all hosts, with `maintenance_status` of those that were read."""
    grouping = group_hosts([_place(host, own) for host, own in variables.items()])
    found = [_about_group(group.name, group.hosts, variables) for group in grouping.groups if group.name != THE_REST]
    if grouping.doubtful:
        do = "docs/waves.md tells more"
        found.append(doubtful("service", "delivery groups", warning_about(grouping.doubtful), do))
    elif not found:
        found.append(good("service", "delivery groups", "none: each host stands for itself"))
    return found


def _place(host: str, variables: Mapping[str, t.Any]) -> Place:
    this_host = this_host_of(variables)
    status = variables.get("maintenance_status") or {}
    return Place(
        host=host,
        delivery_group=_text(variables.get("maintenance_delivery_group")),
        domain=_text(variables.get("maintenance_domain")),
        update_domain=_text(this_host.get("update_domain")),
        zone=_text(this_host.get("zone")),
        scale_set=_text(this_host.get("scale_set")),
        placement_group=_text(this_host.get("placement_group")),
        events=tuple(str(event["id"]) for event in status["events"]) if status else None,
    )


def _text(value: t.Any) -> str:
    return "" if value is None or isinstance(value, bool) else str(value).strip()


def _about_group(name: str, hosts: Sequence[str], variables: Variables) -> Finding:
    point = f"the document of {name}"
    seen: dict[tuple[str, ...], list[str]] = {}
    numbers: dict[str, list[str]] = {}
    read = [host for host in hosts if variables[host].get("maintenance_status")]
    if len(read) < 2:
        return good("service", point, f"{len(read)} of its {len(hosts)} hosts was read: nothing to compare")
    for host in read:
        status = variables[host]["maintenance_status"]
        ids = tuple(sorted(canonical_id(str(event["id"])) for event in status["events"]))
        seen.setdefault(ids, []).append(host)
        numbers.setdefault(str(status.get("document_incarnation")), []).append(host)
    if len(seen) > 1:
        parts = [f"{some_of(sorted(members, key=natural), 3)}: {len(ids)} events" for ids, members in seen.items()]
        do = "If it is so again in a minute, they do not belong together: correct maintenance_delivery_group"
        return bad("service", point, f"its hosts show different events: {in_words(parts)}", do)
    if len(numbers) > 1:
        parts = [f"{number} on {some_of(sorted(members, key=natural), 3)}" for number, members in numbers.items()]
        do = "If it is so again in a minute, they do not belong together: correct maintenance_delivery_group"
        return doubtful("service", point, f"its DocumentIncarnation is {in_words(parts)}", do)
    return good("service", point, f"the same on {len(read)} hosts, {len(next(iter(seen)))} events")
