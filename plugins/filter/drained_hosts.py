# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.drained_hosts. Its documentation is in drained_hosts.yml."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import as_filter
from ansible_collections.maintenance.azure.plugins.plugin_utils._hostvars import needed_vars


def drained_hosts(hosts: list[str], hostvars: t.Any) -> list[str]:
    looked = needed_vars(hosts, hostvars, ("__approve_journal",))
    return [host for host in hosts if _says_drained(looked[host].get("__approve_journal"))]


def _says_drained(result: t.Any) -> bool:
    journal = result.get("journal") if isinstance(result, dict) else None
    return isinstance(journal, dict) and journal.get("state") == "drained"


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"drained_hosts": as_filter("drained_hosts", drained_hosts)}
