# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""May this be approved, and by whom? Pure: no I/O, no Ansible imports.

Approving starts an event at once for every VM that it names and can't be taken back, so an event is approved only
if everything that it names is known to be ready.
"""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    canonical_id,
    canonical_name,
    names_host,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import EventData


@dataclasses.dataclass
class Judgement:
    """What the event document, read just now, says about what was asked for."""

    approvable: list[EventData] = dataclasses.field(default_factory=list)
    already_started: list[str] = dataclasses.field(default_factory=list)
    gone: list[str] = dataclasses.field(default_factory=list)
    refused: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)


class Doubts(t.NamedTuple):
    """Why hosts are not believed to be the VMs that they say they are, in sentences; nothing where they are."""

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
    drained = {canonical_name(name) for name in drained_vms}
    for event in _asked_for(events, wanted, this_vm, judgement.gone):
        if event["status"] != "Scheduled":
            judgement.already_started.append(event["id"])
            continue
        silent = {canonical_name(name) for name in (not_shown or {}).get(canonical_id(event["id"]), ())}
        without_mark = (unmarked or {}).get(canonical_id(event["id"]))
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
        return [event for event in events if names_host(event, this_vm)]
    listed = {canonical_id(event["id"]): event for event in events}
    found = []
    for event_id in dict.fromkeys(canonical_id(event_id) for event_id in wanted):
        if event_id in listed:
            found.append(listed[event_id])
        else:
            gone.append(next(asked for asked in wanted if canonical_id(asked) == event_id))
    return found


def _refusal(event: EventData, this_vm: str, drained: set[str] | None, silent: set[str]) -> dict[str, t.Any] | None:
    """Why not, or None. Where `drained` is None, the user takes responsibility for the VMs that are not drained."""
    what = _what(event)
    covered = None if drained is None else drained - (silent - {canonical_name(this_vm)})
    uncovered = [] if covered is None else [name for name in event["resources"] if canonical_name(name) not in covered]
    if uncovered and all(canonical_name(name) in silent for name in uncovered):
        reason = f"{what} also touches {', '.join(uncovered)}: {this_vm} shows it, {', '.join(uncovered)} does not"
    elif uncovered:
        reason = f"{what} also touches {', '.join(uncovered)}, not among the drained hosts"
    elif covered is not None and not event["resources"]:
        reason = f"{what} names no VM, so nobody knows what it would touch"
    elif event["type"] == "Terminate" and not names_host(event, this_vm):
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


def leader_of(record: EventRecord, host: str, insist: bool) -> str:
    """Who sends: the host that did, else this one. With `insist` this host does, whoever did before."""
    return host if record.sent_by is None or insist else record.sent_by


def successors(
    event: EventData, host: str, batch_vms: Mapping[str, str], record: EventRecord, done: Iterable[str]
) -> list[str]:
    """The hosts of the batch that can still send this approval after `host` could not.

    `batch_vms` gives the VM name of every host that is still in the play; `done` are those whose task has ended.
    """
    out = {host, *record.failed, *done}
    return [other for other, vm_name in batch_vms.items() if other not in out and names_host(event, vm_name)]


def shown_status(event_id: str, events: Sequence[EventData]) -> str:
    """Scheduled, Started (or what else Azure says), or gone."""
    for event in events:
        if canonical_id(event["id"]) == canonical_id(event_id):
            return str(event["status"])
    return "gone"


def is_reached(goal: str, outcome: str) -> bool:
    """Whether an event got as far as `wait_for` says. One that is gone has started and finished, seen or not."""
    return outcome == "gone" or (goal == "started" and outcome != "Scheduled")


def convoy(event: EventData, events: Sequence[EventData]) -> list[EventData]:
    """The other deletions that hold this one up: Azure deletes none before all are approved or timed out."""
    if event["type"] != "Terminate":
        return []
    return [
        other
        for other in events
        if other["type"] == "Terminate"
        and other["status"] == "Scheduled"
        and canonical_id(other["id"]) != canonical_id(event["id"])
    ]
