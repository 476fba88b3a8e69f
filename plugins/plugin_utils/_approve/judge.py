# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judgement whether an approval may be sent."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from .._azure import events as azure
from .._azure.vms import (
    IDENTITY_VARIABLES,
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

# Approving starts an event at once for every VM that it names and can't be taken back, so an event is approved only
# if everything that it names is known to be ready.


@dataclasses.dataclass
class Judgement:
    """What the event document, read just now, says about what was asked for."""

    approvable: list[EventData] = dataclasses.field(default_factory=list)
    already_started: list[str] = dataclasses.field(default_factory=list)
    gone: list[str] = dataclasses.field(default_factory=list)
    refused: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)


class Doubts(t.NamedTuple):
    """Why hosts are not trusted to be the VMs that they say they are, in sentences; nothing where they are."""

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
    """Sort what was asked for (all Scheduled events of this VM where `wanted` is None).

    `drained_vms` are names of VMs that are ready to be interrupted. `not_shown` has for each event the VMs that do not
    show it themselves: whoever was drained there, it is not the VM that this event is for. `unmarked` has the hosts
    whose journals do not say that the approval begins. `doubts`: hosts that are not the VMs that they say they are.
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
    """Why not, or None. Where `drained` is None, the user takes responsibility for the VMs that are not drained."""
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
    """Who can't be told that the event may start at any moment may be drained by somebody else for another one."""
    what = _what(event)
    reason = f"{what} was not sent: it could not be written into the journal of {', '.join(hosts)} that it begins"
    return {"id": event["id"], "uncovered": [], "reason": reason}


@dataclasses.dataclass
class EventRecord:
    """What the hosts of this run have done about one event so far."""

    sent_by: str | None = None
    # By the controller's clock, in seconds since 1970.
    sent_at: float | None = None
    failed: list[str] = dataclasses.field(default_factory=list)
    # Began to send and was not heard of again: the approval may have arrived.
    unclear: str | None = None


def sender_of(record: EventRecord, host: str, insist: bool) -> str:
    """Who sends: the host that did, else this one. With `insist` this host does, whoever did before."""
    return host if record.sent_by is None or insist else record.sent_by


def successors(
    event: EventData, host: str, batch_vms: Mapping[str, str], record: EventRecord, done: Iterable[str]
) -> list[str]:
    """The hosts of the batch that can still send this approval after `host` could not.

    `batch_vms` gives the VM name of every host that is still in the play; `done` are those whose task has ended.
    """
    out = {host, *record.failed, *done}
    return [other for other, vm_name in batch_vms.items() if other not in out and azure.names_host(event, vm_name)]


def shown_status(event_id: str, events: Sequence[EventData]) -> str:
    """Scheduled, Started (or what else Azure says), or gone."""
    for event in events:
        if azure.canonical_id(event["id"]) == azure.canonical_id(event_id):
            return str(event["status"])
    return "gone"


def is_reached(goal: str, outcome: str) -> bool:
    """Whether an event got as far as `wait_for` says. One that is over has started and finished, seen or not."""
    return outcome == "gone" or (goal == "started" and outcome != "Scheduled")


def convoy(event: EventData, events: Sequence[EventData]) -> list[EventData]:
    """The other deletions that hold this one up: Azure deletes none before all are approved or timed out."""
    if azure.event_type(event["type"]).blocks != azure.SAME_TYPE:
        return []
    return [
        other
        for other in events
        if other["type"] == event["type"]
        and other["status"] == "Scheduled"
        and azure.canonical_id(other["id"]) != azure.canonical_id(event["id"])
    ]


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
    named = {azure.canonical_name(str(name)) for event in events for name in event.get("resources") or ()}
    # A name that was given for the reading is the user's word.
    told = {reader: this_host or {}, **{host: this_host_of(host_vars[host]) for host in drained if host != reader}}
    by_name: dict[str, list[str]] = {}
    for host in told:
        name = azure.canonical_name(this_vm if host == reader else vm_name_of(host, host_vars[host]))
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
    """Event -> those of its hosts whose journal does not say, in this run's name, that its approval begins.

    The sender's own is written in one go with the approval. `results`: host -> what drain_journal returned there.
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
