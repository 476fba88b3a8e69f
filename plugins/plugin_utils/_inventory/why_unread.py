# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why hosts are unread, in sentences that are said once for all of them. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time, printable, some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.hosts_by_name import HostsByName
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.overlay_data import Overlay, OverlaySettings
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.readings import (
    Failure,
    InventoryHost,
    Reading,
    is_asked_from_within,
)

MOST_WARNINGS = 10
MOST_NAMES = 5


class WhyUnread:
    """Why hosts are unknown, said once per reason."""

    def __init__(
        self,
        fleet: HostsByName,
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


def shown(text: str) -> str:
    """Somebody else's text, for a message: one line, and short."""
    letters = printable(text)
    return letters if len(letters) <= 80 else f"{letters[:77]}..."


def some(names: t.Iterable[str]) -> str:
    return some_of([shown(name) for name in names], MOST_NAMES)
