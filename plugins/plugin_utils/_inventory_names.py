# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From Ansible's `hostvars` to all hosts of the inventory by the VMs that they are."""

from __future__ import annotations

import contextlib
import json
import os
import typing as t
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import (
    IDENTITY_VARIABLES,
    InventoryNames,
    known_vms,
    of_one_short_name,
    this_hosts_of,
    with_told_scopes,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import needed_vars

_FILE = "maintenance_vms.json"


def names_of_inventory(hostvars: t.Any, folder: str | None = None) -> InventoryNames:
    """`folder`: a private one of this Ansible process, so that of many hosts with one task only the first looks."""
    hosts = [str(host) for host in hostvars]
    path = Path(folder) / _FILE if folder else None
    known = _kept(path, hosts) if path else None
    if known is None:
        known = known_vms(hosts, plain(needed_vars(hosts, hostvars, (), texts=IDENTITY_VARIABLES)))
        shared = of_one_short_name(hosts)
        statuses = plain(needed_vars(shared, hostvars, (), texts=("maintenance_status",)))
        known = with_told_scopes(known, this_hosts_of(shared, statuses))
        if path:
            _keep(path, hosts, known)
    return InventoryNames(hosts, known)


def _kept(path: Path, hosts: list[str]) -> dict[str, list[str | None]] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found["known"] if found["hosts"] == hosts else None


def _keep(path: Path, hosts: list[str], known: dict[str, list[str | None]]) -> None:
    fresh = path.with_name(f"{_FILE}.{os.getpid()}")
    with contextlib.suppress(OSError):
        fresh.write_text(json.dumps({"hosts": hosts, "known": known}), encoding="utf-8")
        fresh.replace(path)
