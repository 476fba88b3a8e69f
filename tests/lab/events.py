# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events for the lab's fleet."""

from __future__ import annotations

import uuid
from typing import Any

from lab.fleet import Fleet
from lab.names import WEB

# How long a machine is off that is rebooted or moves to another host: minutes in Azure, here what a scenario says.
SECONDS_OFF = 1
VM = {place.name: place.vm_name for place in WEB}


def plan(fleet: Fleet, kind: str, *hosts: str, **more: Any) -> str:
    """Announce an event; gives its id. It is over when its machines are on again."""
    event = {"type": kind, "resources": [VM.get(host, host) for host in hosts], "dwell": 900, **more}
    # A Freeze is as long as it announces.
    if kind in ("Reboot", "Redeploy"):
        event.setdefault("impact_seconds", SECONDS_OFF)
    return str(fleet.simulator.add_event(**event)["id"])


def plan_all_domains(fleet: Fleet, **more: Any) -> list[str]:
    """Every machine goes down once, by events of all forms: one for a whole domain, one for each of its machines."""
    # What is due at once goes in the order of the ids: domain 0 comes first.
    ids = [f"{number}{str(uuid.uuid4())[1:]}" for number in range(4)]
    return [
        plan(fleet, "Reboot", "web-0", "web-3", id=ids[0], **more),
        plan(fleet, "Reboot", "web-1", id=ids[1], **more),
        plan(fleet, "Redeploy", "web-4", id=ids[2], **{"notice": 900, **more}),
        plan(fleet, "Redeploy", "web-2", "web-5", id=ids[3], **{"notice": 900, **more}),
    ]
