# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state that a fleet is in after a roll, as a value that can be compared with another."""

from __future__ import annotations

import json
from typing import Any

from lab import haproxy
from lab.evidence import Evidence
from lab.fleet import TRACES, Fleet


def end_state(fleet: Fleet, evidence: Evidence) -> dict[str, Any]:
    """What an operator could look at in the morning. A machine that is off is seen from HAProxy only."""
    return {
        "in service": sorted(haproxy.in_service(fleet.balancer)),
        "nginx": {machine.name: _is_active(machine, "nginx") for machine in fleet.web if machine.has_power},
        "left drained": left_drained(fleet),
        "leases": sorted(machine.name for machine in fleet.web if _has_a_lease(machine)),
        "boots": {machine.name: evidence.boots(machine.name) for machine in fleet.web},
        "events": sorted(event["status"] for event in fleet.simulator.events()),
        "approvals": len(evidence.approvals()),
    }


def left_drained(fleet: Fleet) -> list[str]:
    return sorted(machine.name for machine in fleet.web if (machine.root / TRACES / "journal.json").exists())


def _has_a_lease(machine: Any) -> bool:
    """Notes may stay when a lease is given back."""
    return any(json.loads(path.read_text())["lease"] for path in (machine.root / TRACES).glob("run*.lock"))


def _is_active(machine: Any, unit: str) -> bool:
    return machine.run("sh", "-c", f"systemctl is-active {unit} || true").strip() == "active"
