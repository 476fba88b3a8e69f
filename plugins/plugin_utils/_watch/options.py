# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the internal modules of the role watch. A test compares them with the documentation."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import DEFAULT_ENDPOINT
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import API_VERSIONS, AUTO
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import DEFAULT_PATH


def watch_settings_options() -> dict[str, t.Any]:
    return dict(
        name=dict(type="str", required=True),
        endpoint=dict(type="str", default=DEFAULT_ENDPOINT),
        api_version=dict(type="str", default="2020-07-01", choices=[*API_VERSIONS, AUTO]),
        vm_name=dict(type="str"),
        interval=dict(type="float", default=1),
        heartbeat=dict(type="float", default=30),
        status_file=dict(type="str", default="/run/azure-maintenance/status.json"),
        journal=dict(type="str", default=DEFAULT_PATH),
        notify=dict(type="list", elements="dict", default=[]),
        metrics=dict(type="bool", default=False),
        reflex=dict(type="list", elements="dict", default=[]),
        reflex_latest=dict(type="float", default=60),
        steps_path=dict(type="list", elements="str", default=[]),
        timeout=dict(type="int", default=600),
        audit_file=dict(type="str"),
        steps_dir=dict(type="str"),
        manage_service=dict(type="bool", default=True),
        reflex_config=dict(type="str"),
    )


def watch_program_options() -> dict[str, t.Any]:
    return dict(dest=dict(type="path", required=True))
