# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which VMs the hosts in `drained` stand for. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_id, canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import (
    IDENTITY_VARIABLES,
    Claim,
    InventoryNames,
    events_of,
    false_claims,
    inventory_scope,
    same_scope,
    scope_of,
    this_host_of,
    vm_name_of,
    was_read,
)

# Host variables that say which VM a host in `drained` stands for, beside `maintenance_status`.
DRAINED_VARIABLES = IDENTITY_VARIABLES


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
    refused: Collection[str] = (),
) -> list[str]:
    """The VM names that count as drained for an event that `reader` was shown; without those of `refused` hosts.

    The reader's own name is the one that it was just told. Of the others, one that is known to be of another resource
    group is a VM of the same name, not the same VM. One that was never read is taken for the VM of its name only if the
    inventory says that it is of the reader's resource group.
    """
    listed = list(drained)
    hosts = [host for host in listed if host != reader]
    here = scope_of(this_host or {}) or inventory_scope(host_vars.get(reader))
    names = [this_vm] if reader in listed and reader not in refused else []
    return names + [
        vm_name_of(host, host_vars[host])
        for host in hosts
        if host not in refused and _may_be_here(host_vars[host], here)
    ]


def _may_be_here(variables: Mapping[str, t.Any], here: str | None) -> bool:
    told, by_inventory = scope_of(this_host_of(variables)), inventory_scope(variables)
    if told is None and not was_read(variables):
        return here is not None and by_inventory == here
    return same_scope(told, here) and same_scope(by_inventory, here)


def never_told(drained: Iterable[str], host_vars: Mapping[str, Mapping[str, t.Any]], reader: str) -> list[str]:
    """The hosts that neither a reading nor the inventory says enough about to take them for a VM."""
    return [
        host
        for host in drained
        if host != reader and not was_read(host_vars[host]) and inventory_scope(host_vars[host]) is None
    ]


def not_believed(
    drained: Iterable[str],
    host_vars: Mapping[str, Mapping[str, t.Any]],
    reader: str,
    this_host: Mapping[str, t.Any] | None,
    this_vm: str,
    events: Iterable[Mapping[str, t.Any]],
    names: Callable[[], InventoryNames] | None = None,
) -> list[Claim]:
    """The claims of hosts that are not the VMs that they say they are, among those that the events name.

    `names`: the whole inventory, which is costly; without it only these hosts are compared.
    """
    named = {canonical_name(str(name)) for event in events for name in event.get("resources") or ()}
    # A name that was given for the reading is the user's word.
    told = {reader: this_host or {}, **{host: this_host_of(host_vars[host]) for host in drained if host != reader}}
    by_name: dict[str, list[str]] = {}
    for host in told:
        name = canonical_name(this_vm if host == reader else vm_name_of(host, host_vars[host]))
        if name in named:
            by_name.setdefault(name, []).append(host)
    asked = [host for hosts in by_name.values() for host in hosts]
    # Only for speed: who is alone has no rival.
    rivals = {name: hosts for name, hosts in by_name.items() if len(hosts) > 1}  # pragma: no mutate
    return false_claims({host: told[host] for host in asked}, host_vars, rivals, names)


def not_shown(
    drained: Iterable[str], host_vars: Mapping[str, Mapping[str, t.Any]], event_ids: Iterable[str]
) -> dict[str, list[str]]:
    """Event -> the VMs of those of the hosts whose own last reading is good and does not show it."""
    found: dict[str, list[str]] = {canonical_id(event_id): [] for event_id in event_ids}
    for host in drained:
        variables = host_vars.get(host)
        if variables is None or not was_read(variables):
            continue
        shown = {canonical_id(str(event.get("id"))) for event in events_of(variables["maintenance_status"])}
        for event_id, vms in found.items():
            if event_id not in shown:
                vms.append(vm_name_of(host, variables))
    return found


def unmarked_hosts(
    marks: Iterable[Mapping[str, t.Any]], sender: str, results: Mapping[str, t.Any], run_id: str
) -> dict[str, list[str]]:
    """Event -> those of its hosts whose journal does not say, in this run's name, that its approval begins.

    The sender's own is written in one go with the approval. `results`: host -> what drain_journal returned there.
    """
    return {
        canonical_id(mark["event"]): [
            str(host)
            for host in mark["hosts"]
            if host != sender and not _is_marked(results.get(str(host)), canonical_id(mark["event"]), run_id)
        ]
        for mark in marks
    }


def _is_marked(result: t.Any, event_id: str, run_id: str) -> bool:
    journal = result.get("journal") if isinstance(result, Mapping) else None
    if not isinstance(journal, Mapping) or result.get("failed") or journal.get("run_id") != run_id:
        return False
    return any(canonical_id(str(mark.get("event"))) == event_id for mark in journal.get("marks") or ())
