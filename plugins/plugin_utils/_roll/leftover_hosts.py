# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that an earlier run left drained and that nothing is planned for. Pure."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import HostVars
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.fence_terms import fence_for, owner_only
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.orders import left_as_it_is, returned
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_plan import is_in_service
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.run_state import Kept, Order, RunState
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.turns import SHORTEST_PAUSE
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.view import kept_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes

# A host says for 30 seconds that somebody is at work there, unless it hears from him. Who goes on after that is alive.
LONGEST_WAIT_FOR_THE_DEAD = 45


def return_leftovers(
    state: RunState, variables: HostVars, wishes: Wishes, since: float, now: float
) -> tuple[dict[str, Order], int]:
    """For hosts that an earlier run left drained and that nothing is planned for; and how long to pause for others.

    Whoever died there a moment ago may still count as being at work.
    """
    kept = kept_of(variables, variables, now)
    orders: dict[str, Order] = {}
    busy = []
    for host, known in kept.items():
        if _is_worked_on(known, state["run_id"], now):
            busy.append(host)
        gone = is_in_service(known) and not known["journal"] and host not in {one["host"] for one in state["records"]}
        orders[host] = left_as_it_is() if gone or host in busy else returned("drained")
        orders[host]["restore_fence"] = owner_only(fence_for(variables[host], [], wishes))
    pause = SHORTEST_PAUSE if busy and now - since < LONGEST_WAIT_FOR_THE_DEAD else 0
    return orders, pause


def _is_worked_on(kept: Kept | None, run_id: str, now: float) -> bool:
    journal = kept["journal"] if kept else None
    return journal is not None and journal["owner"] != run_id and journal["worked_on_until"] > now
