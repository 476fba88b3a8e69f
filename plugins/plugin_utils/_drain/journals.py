# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host half of drain_journal, and what goes with a fence."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import check_endpoint
from ansible_collections.maintenance.azure.plugins.module_utils._host import journal_command as _journal_command
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import shapes
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.api_versions import ApiVersions
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.host_half import HostHalf

# What a step was given may be secret.
JOURNAL = HostHalf("drain_journal", _journal_command, shapes.JOURNAL, private=True)


def ask_journal(action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    """The result of drain_journal for its options."""
    return JOURNAL.run(action, request, task_vars)


def complete_fence(options: dict[str, t.Any], versions: ApiVersions) -> dict[str, t.Any] | None:
    """The fence of a task, with what the host needs to ask whether the events are still there."""
    if not options["fence"]:
        return None
    endpoint = options["endpoint"]
    if endpoint != "auto":
        try:
            endpoint = check_endpoint(endpoint)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
    ask = {"endpoints": [endpoint], "api_version": versions.wanted({**options, "endpoint": endpoint})}
    return {**plain(options["fence"]), "ask": ask}
