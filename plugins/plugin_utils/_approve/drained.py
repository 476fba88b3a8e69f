# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which VMs the hosts in `drained` stand for. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vm_names import (
    scope_of,
    this_host_of,
    vm_name_of,
)


def ready_hosts(
    drained: Iterable[str], host_vars: Mapping[str, Mapping[str, t.Any]], journals: str | None
) -> list[str]:
    """Those of the hosts whose journal says so. `journals`: the variable with the result of drain_journal, if any."""
    return [host for host in drained if journals is None or _says_drained(host_vars[host].get(journals))]


def _says_drained(result: t.Any) -> bool:
    journal = result.get("journal") if isinstance(result, dict) else None
    return isinstance(journal, dict) and journal.get("state") == "drained"


def drained_vms(
    drained: Iterable[str],
    host_vars: Mapping[str, Mapping[str, t.Any]],
    reader: str,
    this_host: Mapping[str, t.Any] | None,
    this_vm: str,
) -> list[str]:
    """The VM names that count as drained for an event that `reader` was shown.

    The reader's own name is the one that it was just told. A host that is known to be of another resource group is
    a VM of the same name, not the same VM.
    """
    here = scope_of(this_host) if this_host else None
    names = []
    for host in drained:
        if host == reader:
            names.append(this_vm)
            continue
        there = scope_of(this_host_of(host_vars[host]))
        if here is None or there is None or here == there:
            names.append(vm_name_of(host, host_vars[host]))
    return names
