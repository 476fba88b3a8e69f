# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of an overlay, and what it holds: what to do to the inventory. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import EventData


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
