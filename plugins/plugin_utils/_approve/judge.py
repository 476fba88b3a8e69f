# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules by which an approval may be sent."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from .._azure import events as azure
from .._azure.vms import (
    Claim,
    EventData,
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

# An approval starts the event at once for every VM that it names and can't be undone, so an event is approved only if
# everything that it names is known to be ready.


@dataclasses.dataclass
class Judgement:
    """The requested events, sorted by what the newest event document allows."""

    approvable: list[EventData] = dataclasses.field(default_factory=list)
    already_started: list[str] = dataclasses.field(default_factory=list)
    gone: list[str] = dataclasses.field(default_factory=list)
    refused: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)


class Doubts(t.NamedTuple):
    """Sentences why hosts are not trusted to be the VMs that they claim to be; empty if they are trusted."""

    sender: str
    others: str


def judge_events(
    events: Sequence[EventData],
    wanted: Sequence[str] | None,
    this_vm: str,
    drained_vms: Iterable[str],
    allow_uncovered: bool = False,
    not_shown: Mapping[str, Iterable[str]] | None = None,
    unmarked: Mapping[str, Sequence[str]] | None = None,
    doubts: Doubts | None = None,
) -> Judgement:
    """Sort the requested events (all Scheduled events of this VM if `wanted` is None).

    `drained_vms` are the names of VMs that are ready to be interrupted. `not_shown` maps each event to the VMs that do
    not show it themselves: a host drained under such a name is not the VM that the event is for. `unmarked` maps each
    event to the hosts whose journals lack the approval mark. `doubts` are about hosts that may not be the VMs that they
    claim to be.
    """
    judgement = Judgement()
    drained = {azure.canonical_name(name) for name in drained_vms}
    for event in _asked_for(events, wanted, this_vm, judgement.gone):
        if event["status"] != "Scheduled":
            judgement.already_started.append(event["id"])
            continue
        silent = {azure.canonical_name(name) for name in (not_shown or {}).get(azure.canonical_id(event["id"]), ())}
        without_mark = (unmarked or {}).get(azure.canonical_id(event["id"]))
        if without_mark:
            refusal = _without_a_mark(event, without_mark)
        elif doubts and doubts.sender:
            refusal = {"id": event["id"], "uncovered": [], "reason": f"{_what(event)} was not sent: {doubts.sender}"}
        else:
            refusal = _refusal(event, this_vm, None if allow_uncovered else drained, silent)
            if refusal and refusal["uncovered"] and doubts and doubts.others:
                refusal["reason"] = f"{refusal['reason']}. {doubts.others}"
        if refusal:
            judgement.refused.append(refusal)
        else:
            judgement.approvable.append(event)
    return judgement


def _asked_for(
    events: Sequence[EventData], wanted: Sequence[str] | None, this_vm: str, gone: list[str]
) -> list[EventData]:
    if wanted is None:
        return [event for event in events if azure.names_host(event, this_vm)]
    listed = {azure.canonical_id(event["id"]): event for event in events}
    found = []
    for event_id in dict.fromkeys(azure.canonical_id(event_id) for event_id in wanted):
        if event_id in listed:
            found.append(listed[event_id])
        else:
            gone.append(next(asked for asked in wanted if azure.canonical_id(asked) == event_id))
    return found


def _refusal(event: EventData, this_vm: str, drained: set[str] | None, silent: set[str]) -> dict[str, t.Any] | None:
    """Return the refusal, or None. With `drained` None the user takes responsibility for VMs that are not drained."""
    what = _what(event)
    covered = None if drained is None else drained - (silent - {azure.canonical_name(this_vm)})
    uncovered = (
        [] if covered is None else [name for name in event["resources"] if azure.canonical_name(name) not in covered]
    )
    if uncovered and all(azure.canonical_name(name) in silent for name in uncovered):
        reason = f"{what} also touches {', '.join(uncovered)}: {this_vm} shows it, {', '.join(uncovered)} does not"
    elif uncovered:
        reason = f"{what} also touches {', '.join(uncovered)}, not among the drained hosts"
    elif covered is not None and not event["resources"]:
        reason = f"{what} names no VM, so nobody knows what it would touch"
    elif not azure.event_type(event["type"]).others_may_approve and not azure.names_host(event, this_vm):
        reason = f"{what} is for {', '.join(event['resources'])}: each VM approves its own deletion only"
    else:
        return None
    return {"id": event["id"], "uncovered": uncovered, "reason": reason}


def _what(event: EventData) -> str:
    return f"{event['type']} {event['id']}"


def _without_a_mark(event: EventData, hosts: Sequence[str]) -> dict[str, t.Any] | None:
    """Refuse an event that is not in all journals: another run could drain such a host for another event."""
    what = _what(event)
    reason = f"{what} was not sent: it could not be written into the journal of {', '.join(hosts)} that it begins"
    return {"id": event["id"], "uncovered": [], "reason": reason}


@dataclasses.dataclass
class EventRecord:
    """The approval of one event by the hosts of this run so far."""

    sent_by: str | None = None
    # By the controller's clock, in seconds since 1970.
    sent_at: float | None = None
    failed: list[str] = dataclasses.field(default_factory=list)
    # The host that began to send and got no answer: the approval may have arrived.
    unclear: str | None = None


def sender_of(record: EventRecord, host: str, insist: bool) -> str:
    """Return the sender: the host that has sent already, else this one. With `insist` it is always this one."""
    return host if record.sent_by is None or insist else record.sent_by


def successors(
    event: EventData, host: str, batch_vms: Mapping[str, str], record: EventRecord, done: Iterable[str]
) -> list[str]:
    """Return the hosts of the batch that can still send this approval after `host` has failed.

    `batch_vms` maps each host that is still in the play to its VM name; `done` are the hosts whose task has ended.
    """
    out = {host, *record.failed, *done}
    return [other for other, vm_name in batch_vms.items() if other not in out and azure.names_host(event, vm_name)]


def shown_status(event_id: str, events: Sequence[EventData]) -> str:
    """Return the event's status as Azure shows it, or "gone" if it is no longer listed."""
    for event in events:
        if azure.canonical_id(event["id"]) == azure.canonical_id(event_id):
            return str(event["status"])
    return "gone"


def is_reached(goal: str, outcome: str) -> bool:
    """Return True if an event has reached `goal`. One that is no longer listed has started and finished."""
    return outcome == "gone" or (goal == "started" and outcome != "Scheduled")


def convoy(event: EventData, events: Sequence[EventData]) -> list[EventData]:
    """Return the other deletions that delay this one: Azure deletes none before all are approved or due."""
    if azure.event_type(event["type"]).blocks != azure.SAME_TYPE:
        return []
    return [
        other
        for other in events
        if other["type"] == event["type"]
        and other["status"] == "Scheduled"
        and azure.canonical_id(other["id"]) != azure.canonical_id(event["id"])
    ]


def ready_hosts(
    drained: Iterable[str], host_vars: Mapping[str, Mapping[str, t.Any]], journals: str | None
) -> list[str]:
    """Return the hosts that their journals call drained.

    `journals` is the variable with the result of drain_journal; with None all hosts are returned.
    """
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
    """Return the VM names that count as drained for an event shown to `reader`, without those of `refused` hosts.

    The reader's own name is the one that it has just read. A host that is known to be in another resource group is a
    different VM of the same name. A host that was never read counts as the VM of its name only if the inventory puts it
    into the reader's resource group.
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
    """Return the hosts that neither a reading nor the inventory identifies as a VM."""
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
    """Return the refused claims of hosts to be VMs that the events name.

    `names` returns the whole inventory, which is costly; without it only these hosts are compared.
    """
    named = {azure.canonical_name(str(name)) for event in events for name in event.get("resources") or ()}
    # A vm_name given for the reading comes from the user, so it is not a claim.
    told = {reader: this_host or {}, **{host: this_host_of(host_vars[host]) for host in drained if host != reader}}
    by_name: dict[str, list[str]] = {}
    for host in told:
        name = azure.canonical_name(this_vm if host == reader else vm_name_of(host, host_vars[host]))
        if name in named:
            by_name.setdefault(name, []).append(host)
    asked = [host for hosts in by_name.values() for host in hosts]
    # Only for speed: a single host has no rival.
    rivals = {name: hosts for name, hosts in by_name.items() if len(hosts) > 1}  # pragma: no mutate
    return false_claims({host: told[host] for host in asked}, host_vars, rivals, names)


def not_shown(
    drained: Iterable[str], host_vars: Mapping[str, Mapping[str, t.Any]], event_ids: Iterable[str]
) -> dict[str, list[str]]:
    """Map each event to the VMs of the hosts whose last reading is good and does not show the event."""
    found: dict[str, list[str]] = {azure.canonical_id(event_id): [] for event_id in event_ids}
    for host in drained:
        variables = host_vars.get(host)
        if variables is None or not was_read(variables):
            continue
        shown = {azure.canonical_id(str(event.get("id"))) for event in events_of(variables["maintenance_status"])}
        for event_id, vms in found.items():
            if event_id not in shown:
                vms.append(vm_name_of(host, variables))
    return found


def unmarked_hosts(
    marks: Iterable[Mapping[str, t.Any]], sender: str, results: Mapping[str, t.Any], run_id: str
) -> dict[str, list[str]]:
    """Map each event to its hosts whose journal lacks the approval mark of this run.

    The sender's own mark is written by the command that sends. `results` maps hosts to their results of drain_journal.
    """
    return {
        azure.canonical_id(mark["event"]): [
            str(host)
            for host in mark["hosts"]
            if host != sender and not _is_marked(results.get(str(host)), azure.canonical_id(mark["event"]), run_id)
        ]
        for mark in marks
    }


def _is_marked(result: t.Any, event_id: str, run_id: str) -> bool:
    journal = result.get("journal") if isinstance(result, Mapping) else None
    if not isinstance(journal, Mapping) or result.get("failed") or journal.get("run_id") != run_id:
        return False
    return any(azure.canonical_id(str(mark.get("event"))) == event_id for mark in journal.get("marks") or ())
