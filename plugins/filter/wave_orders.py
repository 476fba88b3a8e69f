# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.wave_orders. Its documentation is in wave_orders.yml."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._hostvars import needed_vars
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.roll import (
    drain_states,
    to_be_drained,
    wave_orders,
)


def orders_of(
    wave: dict[str, t.Any], batch: list[str], hostvars: t.Any, on_failed_drain: str = "restore"
) -> dict[str, t.Any]:
    drains = drain_states(wave, batch, needed_vars(batch, hostvars, ("maintenance_status", "drain_result")))
    events = [event for part in wave["waves"] for event in part["events"]]
    due = to_be_drained(wave)
    left = {name: wave.get(name, ()) for name in ("later", "stay", "back")}
    orders = wave_orders(events, batch, drains, on_failed_drain, **left)
    named = {event["id"]: event["hosts"] for event in events}
    now = time.time()
    for host, order in orders.items():
        marks = [{"event": event, "hosts": named[event], "at": now} for event in order["approve_drained"]]
        order.update(drains=host in due, marks=marks)
    return orders


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"wave_orders": as_filter("wave_orders", orders_of)}
