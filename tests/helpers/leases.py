# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Owners, notes and moments for tests of the lease."""

from __future__ import annotations

from typing import Any

from ansible_collections.maintenance.azure.plugins.module_utils._host.clock import Moment

WALL = 1794787232.25  # 2026-11-16T00:00:32.25Z


def at(uptime: float, boot: str = "boot-1", wall: float | None = None) -> Moment:
    return Moment(boot, uptime, WALL + uptime if wall is None else wall)


def owner(run_id: str = "one", **more: Any) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "controller": "c1",
        "host": "ctl1",
        "pid": 42,
        "process_start": "4711",
        "user": "deploy",
        "note": "",
        **more,
    }


def note(host: str = "web-0", run: str = "one", events: tuple[str, ...] = ("E0",), mark: Any = None) -> dict[str, Any]:
    return {"host": host, "events": list(events), "type": "Reboot", "run": run, "at": 7.5, "mark": mark}


def mark(event: str = "E0", hosts: tuple[str, ...] = ("web-0",)) -> dict[str, Any]:
    return {"event": event, "hosts": list(hosts), "at": 8.5, "takes_down": True, "vanishing": False}
