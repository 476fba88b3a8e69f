# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the modules of the playbook check. A test compares them with the documentation."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import DEFAULT_PATH
from ansible_collections.maintenance.azure.plugins.plugin_utils._options import service_options


def check_host_options() -> dict[str, t.Any]:
    return dict(
        service_options(),
        ask_service=dict(type="bool", default=False),
        ask_facts=dict(type="bool", default=False),
        journal=dict(type="str", default=DEFAULT_PATH),
        records=dict(type="str", default="/var/lib/azure-maintenance/records"),
        steps_path=dict(type="list", elements="path", default=[]),
        watch_program=dict(type="str", default="/usr/local/lib/azure-maintenance/watch"),
        watch_status_file=dict(type="str", default="/run/azure-maintenance/status.json"),
    )


def check_machine_options() -> dict[str, t.Any]:
    return dict(entries=dict(type="list", elements="dict", required=True), records=dict(type="str"))


def check_keepers_options() -> dict[str, t.Any]:
    return dict(lock_hosts=dict(type="list", elements="str"))


def check_fleet_options() -> dict[str, t.Any]:
    return dict(
        hosts=dict(type="list", elements="str", required=True),
        asked_service=dict(type="bool", default=False),
        asked_facts=dict(type="bool", default=False),
        machines=dict(type="list", elements="dict", default=[]),
        leases=dict(type="list", elements="dict", default=[]),
        policy=dict(type="raw"),
        max_at_once=dict(type="raw"),
        min_in_service=dict(type="raw"),
        report=dict(type="path"),
    )
