# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the role approve takes its order from: a roll has left one for each host, else its variables say it."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import DEFAULT_PATH
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.order import ApproveOrder
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import OwnVariables

SERVICE = {"endpoint": "maintenance_endpoint", "api_version": "maintenance_api_version"}


def order_of(own: OwnVariables) -> ApproveOrder | None:
    """None where a roll has nothing for this host to approve or to wait for."""
    given = own.setting("approve_order_in", "")
    known = _of_roll(own, given) if given else _of_role(own)
    if known is None:
        return None
    return ApproveOrder(
        host=own.host,
        journal=own.setting("approve_journal", DEFAULT_PATH),
        uncovered=own.setting("approve_uncovered", "refuse"),
        wait_timeout=own.setting("approve_wait_timeout"),
        service=own.settings(SERVICE),
        **known,
    )


def _of_roll(own: OwnVariables, registered: str) -> dict[str, t.Any] | None:
    order = own.order(registered)
    if order is None or not order["acts"]:
        return None
    return {
        "ids": order["approve_drained"],
        "undrained_ids": order["approve_as_is"],
        "wait_ids": order["wait"],
        "drained": order["together"],
        "marks": order["marks"],
        "fence": order["fence"],
        "run_id": own.registered(registered)["run_id"],
    }


def _of_role(own: OwnVariables) -> dict[str, t.Any]:
    return {
        "ids": own.setting("approve_ids", []),
        "undrained_ids": own.setting("approve_undrained_ids", []),
        "wait_ids": own.setting("approve_wait_ids", []),
        "drained": own.setting("approve_drained", []),
        "marks": own.setting("approve_marks", []),
        "fence": own.setting("approve_fence"),
        "run_id": own.setting("approve_run_id", ""),
    }
