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

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.doubts import about_claims
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_id
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import (
    EventData,
    InventoryNames,
    false_claims,
    known_vms,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import printable
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.hosts_by_name import HostsByName
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.knowledge import Knowledge, VmWithoutHost
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.new_hosts import new_hosts
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.overlay_data import Overlay, OverlaySettings
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.reading_view import ReadingView
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.readings import (
    Failure,
    InventoryHost,
    Reading,
    is_asked_from_within,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.standard_groups import StandardGroups
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.why_unread import (
    MOST_WARNINGS,
    WhyUnread,
    some,
)


def make_overlay(
    hosts: t.Iterable[InventoryHost],
    readings: t.Sequence[Reading],
    failures: t.Sequence[Failure],
    settings: OverlaySettings,
) -> Overlay:
    fleet = HostsByName(hosts)
    oldest = -float("inf") if settings.max_age is None else settings.now - settings.max_age
    in_time = sorted((reading for reading in readings if reading.read_at >= oldest), key=lambda one: one.read_at)
    too_old = [reading for reading in readings if reading.read_at < oldest]
    in_time, not_believed = _without_false_claims(fleet, in_time)
    failures = [*failures, *not_believed]
    fleet.believe(in_time)
    views = [ReadingView(reading, settings) for reading in in_time]
    knowledge = Knowledge(fleet, views)
    overlay = Overlay()
    without_host = list(knowledge.without_host.values())
    if settings.create_hosts:
        new = new_hosts(without_host, knowledge.answerers, fleet, settings)
        if new:
            overlay.created = [host.name for host in new]
            fleet = HostsByName([*fleet.hosts.values(), *new])
            fleet.believe(())
            knowledge = Knowledge(fleet, views)
    _give(fleet, knowledge, too_old, failures, settings, overlay)
    _warn(overlay, views, knowledge, without_host, settings)
    for lines in (overlay.warnings, overlay.problems, overlay.details):
        lines[:] = map(printable, lines)
    return overlay


def _without_false_claims(fleet: HostsByName, readings: t.Sequence[Reading]) -> tuple[list[Reading], list[Failure]]:
    """A host whose own word for its name the inventory does not bear out is unread: its events may be another one's."""
    told = {
        reading.hosts[0]: reading.this_host
        for reading in readings
        if reading.told_by_host and reading.this_host and reading.hosts[0] in fleet.hosts
    }
    identities = {name: host.identity for name, host in fleet.hosts.items()}
    # Two hosts with one name are looked at together with all readings.
    claims = false_claims(told, identities, {}, lambda: InventoryNames(identities, known_vms(identities, identities)))
    refused = {host for claim in claims for host in claim.refused}
    left = [reading for reading in readings if not (reading.told_by_host and reading.hosts[0] in refused)]
    return left, [Failure("the inventory", doubt["why"], tuple(doubt["hosts"])) for doubt in about_claims(claims, {})]


class _Listed:
    """Whether the readings that the user listed speak, all together, for a host that has none of its own."""

    def __init__(self, views: t.Sequence[ReadingView], complete: bool, settings: OverlaySettings) -> None:
        self.views = [view for view in views if view.reading.listed] if complete and settings.covers_all else []
        self.known: dict[tuple[str | None, str | None, str | None], ReadingView | None] = {}

    def view_for(self, host: InventoryHost) -> ReadingView | None:
        if host.endpoint is not None and not is_asked_from_within(host.endpoint):
            return None
        key = (host.subscription, host.resource_group, host.delivery_group)
        if key not in self.known:
            self.known[key] = next((view for view in reversed(self.views) if self._may_cover(view, host)), None)
        return self.known[key]

    @staticmethod
    def _may_cover(view: ReadingView, host: InventoryHost) -> bool:
        elsewhere = view.groups and host.delivery_group is not None and host.delivery_group not in view.groups
        return not elsewhere and not view.scope.denies(host)


def _give(
    fleet: HostsByName,
    knowledge: Knowledge,
    too_old: t.Sequence[Reading],
    failures: t.Sequence[Failure],
    settings: OverlaySettings,
    overlay: Overlay,
) -> None:
    groups = StandardGroups(settings.prefix)
    complete = not any(failure.listed for failure in failures) and not any(reading.listed for reading in too_old)
    listed = _Listed(knowledge.views, complete, settings)
    why = WhyUnread(fleet, too_old, failures, settings, complete)
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


def _events_of(host: InventoryHost, word: ReadingView | None, mentioned_by: t.Sequence[ReadingView]) -> list[EventData]:
    """The events of the last word and of all that is newer; the newest version of each."""
    found: dict[str, tuple[ReadingView, EventData]] = {}
    views = [] if word is None else [word]
    views += [view for view in mentioned_by if word is None or (view is not word and view.read_at >= word.read_at)]
    for view in views:
        for event in view.mentions.get(host.name, ()):
            found[canonical_id(event["id"])] = view, event
    return [view.given(event) for view, event in found.values()]


def _warn(
    overlay: Overlay,
    views: t.Sequence[ReadingView],
    knowledge: Knowledge,
    without_host: t.Sequence[VmWithoutHost],
    settings: OverlaySettings,
) -> None:
    left = list(knowledge.without_host.values())
    if settings.create_hosts:
        if left:
            overlay.warnings.append(
                f"No host was made for these VMs, whose names can't be a host's: {some(one.vm_name for one in left)}."
            )
    elif without_host:
        overlay.warnings.append(
            f"Events name VMs that are no host of this inventory: {some(one.vm_name for one in without_host)}."
            " create_hosts: true would add them; vm_name_from says which variable holds a host's VM name."
        )
    overlay.warnings += list(dict.fromkeys(text for view in views for text in view.warnings))[:MOST_WARNINGS]
