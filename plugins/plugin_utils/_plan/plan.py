# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a run, and the policy behind it."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...module_utils._azure import rules as _rules
from .._azure import events as azure
from .._azure.doubts import Doubt, doubts_about, has_begun_by_its_own_reading
from .._azure.vms import (
    IDENTITY_VARIABLES,
    NOW,
    HostVars,
    InventoryNames,
    SeenEvent,
    Vms,
    all_events,
    this_hosts_of,
    to_look_after,
    vm_name_of,
    was_read,
)
from .._common import text
from .waves import WAVE_VARIABLES, Wave, arrange, read_max_at_once

# Where no rule matches, the host is drained first: that is never wrong, only slower.

ACTIONS = ("drain", "approve", "ignore")
EXAMPLE = "{type: Freeze, action: approve}"

BadPolicy = _rules.BadRules
Rule = _rules.Rule


class Ruling(t.TypedDict):
    action: str
    # The number of the rule, from 1; None where none matched.
    rule: int | None
    why: str


def read_policy(policy: t.Any) -> list[Rule]:
    """The rules, checked. Raises BadPolicy."""
    return _rules.read_rules(policy, "maintenance_policy", ACTIONS, EXAMPLE)


def ruling_on(event: Mapping[str, t.Any], rules: Sequence[Rule]) -> Ruling:
    """The first rule that matches decides."""
    rule = _rules.first_match(event, rules)
    if rule is None:
        return {"action": "drain", "rule": None, "why": "no rule matches, and then it is drained first"}
    return {"action": rule.action, "rule": rule.number, "why": _rules.why(rule, event)}


class PlanEntry(t.TypedDict):
    """One event, put together from all readings that show it, and what is done about it."""

    id: str
    type: str
    source: str | None
    description: str
    not_before: str | None
    duration_seconds: int | None
    status: str
    seconds_left: int | None
    # The hosts of the run that it names, and the VMs that it names, as Azure writes them.
    hosts: list[str]
    resources: list[str]
    # VMs that the event names and that are no hosts of this run: approving would start it for them too.
    uncovered: list[str]
    # Hosts of the inventory that are these VMs, and that this run leaves out.
    not_in_run: list[str]
    # The hosts that show it themselves, and those that were read and do not.
    shown_by: list[str]
    not_shown_by: list[str]
    # VMs of the latter, among those that are uncovered.
    not_believed_of: list[str]
    # What the policy decides, by which of its rules.
    action: str
    rule: int | None
    why: str
    vanishing: bool
    approvable: bool
    steps: list[str]


class PlanWave(t.TypedDict):
    """Hosts that go down together."""

    number: int
    of: int
    hosts: list[str]
    domains: list[str]
    deadline: str | None
    underway: bool
    seconds_left: int | None
    events: list[PlanEntry]
    drain: list[str]
    approve: list[str]
    warnings: list[str]


class PlanRefusal(t.TypedDict):
    """An event that can't be approved, as it would start for others too."""

    id: str
    uncovered: list[str]
    not_in_run: list[str]
    shown_by: list[str]
    not_shown_by: list[str]


class SameReason(t.TypedDict):
    """Hosts that said the same."""

    hosts: list[str]
    why: str


class _WithoutWords(t.TypedDict):
    waves: list[PlanWave]
    ignored: list[PlanEntry]
    refused: list[PlanRefusal]
    # The hosts that were not read, and why.
    unknown: list[str]
    unread: list[SameReason]
    not_believed: list[Doubt]
    refused_hosts: list[str]
    journal_problems: list[SameReason]
    nothing_to_do: list[str]
    # Left drained by an earlier run: those whose event is over, those that have one, those of which it can't be said.
    restore_first: list[str]
    already_drained: list[str]
    left_drained: list[str]


class Plan(_WithoutWords, total=False):
    # In words.
    lines: list[str]


PLAN_VARIABLES = (*WAVE_VARIABLES, "maintenance_unread")
# Variables that users have for other things too: whatever they hold is no reason to fail.
PLAN_TEXTS = IDENTITY_VARIABLES
# Canonical VM name -> inventory hosts that are not in this run. Asked for at most once, and only where it matters.
Elsewhere: t.TypeAlias = Callable[[], Mapping[str, Sequence[str]]]

_MOST_REASONS = 3
_COPIED = ("type", "source", "description", "not_before", "duration_seconds")
# Nobody is harmed by a drain too many, and what is left alone is not started.
_CAREFUL = ("drain", "ignore", "approve")


def make_plan(
    hosts: Iterable[str],
    host_vars: HostVars,
    policy: t.Any,
    *,
    max_at_once: t.Any = None,
    drained: Iterable[str] = (),
    uncovered: str = "refuse",
    elsewhere: Elsewhere | None = None,
    names: Callable[[], InventoryNames] | None = None,
    read_again: bool = False,
    now: float | None = None,
) -> Plan:
    """The plan for these hosts. `drained`: those that a journal says are drained already, by an earlier run. `names`:
    the whole inventory by its VMs, for hosts that are not declared to be the VMs that they say they are.

    `read_again`: they were read again just now, for what is about to be done. Before that, a host that is named by an
    event and does not show it stays with the others, to be read once more; after that, the event is not trusted for it.

    Raises ValueError with a sentence for the user.
    """
    if uncovered not in ("refuse", "allow"):
        raise ValueError(f"uncovered must be refuse or allow, not {uncovered!r}")
    rules = read_policy(policy)
    ordered = sorted(set(hosts), key=text.natural)
    limit = read_max_at_once(max_at_once, len(ordered))
    unread = [host for host in ordered if not was_read(host_vars.get(host))]
    unread_set = set(unread)
    doubtful = [host for host in ordered if host not in unread_set and _journal_problem(host_vars.get(host) or {})]
    this_hosts = this_hosts_of(ordered, host_vars)
    vms = Vms(this_hosts, host_vars)
    claims = vms.refuse_false_claims(names)
    everything = all_events(vms, this_hosts, host_vars)
    doubts = doubts_about(everything, claims, vms, host_vars)
    seen_events = to_look_after(everything)
    entries = [_entry(seen, rules, uncovered, read_again, now) for seen in seen_events]
    _look_elsewhere(entries, elsewhere)
    to_do = [seen for seen, entry in zip(seen_events, entries, strict=True) if entry["action"] != "ignore"]
    busy_set = {host for seen in to_do for host in seen.hosts}
    busy = {host: this_host for host, this_host in this_hosts.items() if host in busy_set}
    out = set(drained)
    place = {seen.id: (seen.due, seen.id.casefold()) for seen in to_do}

    def turn(wave: Wave) -> tuple[bool, tuple[float, str]]:
        """What is out comes first: it keeps all other domains of its group waiting. Then the order of Azure's document,
        which is the same for every run: two that share a group would wait for each other otherwise.
        """
        return out.isdisjoint(wave["hosts"]), min(place[event_id] for event_id in wave["events"])

    waves = sorted(arrange(busy, host_vars, to_do, limit), key=turn)
    # Nothing is done for them; but what has begun for them by their own word is not over.
    begun = {
        host
        for doubt in doubts
        for host in doubt["hosts"]
        if has_begun_by_its_own_reading(host, vm_name_of(host, host_vars.get(host)), host_vars)
    }
    left_behind, unclear = [host for host in ordered if host in out], unread_set | begun
    return {
        "waves": [
            _planned(wave, number, len(waves), entries, unread_set) for number, wave in enumerate(waves, start=1)
        ],
        "ignored": [entry for entry in entries if entry["action"] == "ignore"],
        "refused": [_refusal(entry) for entry in entries if entry["uncovered"] and not entry["approvable"]],
        "unknown": unread,
        "unread": _by_reason(unread, host_vars, _why_unread),
        "not_believed": doubts,
        # Hosts that are not the VMs that they claim to be.
        "refused_hosts": sorted({host for claim in claims for host in claim.refused}, key=text.natural),
        "journal_problems": _by_reason(doubtful, host_vars, _journal_problem),
        "nothing_to_do": [host for host in ordered if host not in busy_set and host not in unread_set],
        # Left drained by an earlier run: their event is over or was cancelled; they have one; it can't be said.
        "restore_first": [host for host in left_behind if host not in busy_set and host not in unclear],
        "already_drained": [host for host in left_behind if host in busy_set],
        "left_drained": [host for host in left_behind if host not in busy_set and host in unclear],
    }


def with_journal(host_vars: HostVars) -> list[str]:
    """The hosts on which a journal was found, along with the reading."""
    return [host for host, variables in host_vars.items() if _status_of(variables).get("journal")]


def _status_of(variables: Mapping[str, t.Any] | None) -> Mapping[str, t.Any]:
    status = variables.get("maintenance_status") if variables is not None else None
    return status if isinstance(status, dict) else {}


def _why_unread(variables: Mapping[str, t.Any]) -> t.Any:
    # Kept by the playbook collect, or in the result of a reading itself.
    return variables.get("maintenance_unread") or _status_of(variables).get("msg")


def _journal_problem(variables: Mapping[str, t.Any]) -> t.Any:
    """Why it is not known whether an earlier run left the host drained."""
    return _status_of(variables).get("journal_problem")


def _by_reason(
    hosts: Iterable[str], host_vars: HostVars, reason: t.Callable[[Mapping[str, t.Any]], t.Any]
) -> list[SameReason]:
    """The hosts, together where they said the same about it."""
    groups: dict[str, list[str]] = {}
    for host in hosts:
        groups.setdefault(str(reason(host_vars.get(host) or {}) or ""), []).append(host)
    told: list[SameReason] = [{"hosts": hosts, "why": why} for why, hosts in groups.items()]
    if len(told) > _MOST_REASONS:
        rest = [host for group in told[_MOST_REASONS:] for host in group["hosts"]]
        told = [*told[:_MOST_REASONS], {"hosts": rest, "why": "They have reasons of their own."}]
    return told


def _entry(seen: SeenEvent, rules: Sequence[Rule], uncovered: str, read_again: bool, now: float | None) -> PlanEntry:
    not_believed_of = seen.trust_only_who_shows_it() if read_again else []
    outside = seen.outside + not_believed_of
    left = _seconds_left(seen, now)
    event = {**seen.merged(lambda account: how_careful(account, rules, left)), "seconds_left": left}
    entry: dict[str, t.Any] = {
        "id": seen.id,
        **{key: event.get(key) for key in _COPIED},
        "status": str(event.get("status")),
        "seconds_left": left,
        "hosts": sorted(seen.hosts, key=text.natural),
        "resources": event["resources"],
        # VMs that the event names and that are no hosts of this run: approving would start it for them too.
        "uncovered": outside,
        "not_in_run": [],
        # The hosts that show it themselves, and those that were read and do not.
        "shown_by": sorted(seen.shown_by, key=text.natural),
        "not_shown_by": sorted((host for host in seen.silent if host not in seen.undeclared), key=text.natural),
        # VMs of the latter, among those that are uncovered.
        "not_believed_of": not_believed_of,
        "vanishing": azure.takes_away(event),
        **ruling_on(event, rules),
    }
    may_start = entry["action"] != "ignore" and not seen.started and bool(seen.shown_by)
    entry["approvable"] = may_start and (not outside or uncovered == "allow")
    entry["steps"] = _steps(entry)
    return t.cast(PlanEntry, entry)


def how_careful(event: Mapping[str, t.Any], rules: Sequence[Rule], seconds_left: int | None) -> tuple[int, bool]:
    """Rank what is safe for the VM of every account first."""
    ruling = ruling_on({**event, "seconds_left": seconds_left}, rules)
    return _CAREFUL.index(ruling["action"]), azure.takes_away(event)


def _seconds_left(seen: SeenEvent, now: float | None) -> int | None:
    if seen.due == NOW:
        return None
    if now is not None:
        return max(0, int(seen.due - now))
    told = seen.event.get("seconds_left")
    return int(told) if isinstance(told, (int, float)) else None


def _steps(entry: dict[str, t.Any]) -> list[str]:
    if entry["action"] == "ignore":
        return []
    steps = []
    # Once an event has started, a drain comes too late; what is drained stays so until it is over.
    drains = entry["action"] == "drain" and entry["status"] != "Started" and bool(entry["shown_by"])
    if drains:
        steps.append("drain")
    if entry["approvable"]:
        steps.append("approve")
    if not entry["vanishing"]:
        steps.append("wait")
        if entry["action"] == "drain":
            steps.append("restore")
    return steps


def _look_elsewhere(entries: list[PlanEntry], elsewhere: Elsewhere | None) -> None:
    """Tell VMs that the inventory knows, but this run leaves out, from VMs that nobody knows."""
    short = [entry for entry in entries if entry["uncovered"]]
    if not short or elsewhere is None:
        return
    known = elsewhere()
    for entry in short:
        found = {host for name in entry["uncovered"] for host in known.get(azure.canonical_name(name), ())}
        entry["not_in_run"] = sorted(found, key=text.natural)


def _planned(wave: Wave, number: int, count: int, entries: list[PlanEntry], unread: set[str]) -> PlanWave:
    # An id that two groups show is never twice in a wave.
    ours = set(wave["hosts"])
    by_id = {entry["id"]: entry for entry in entries if not ours.isdisjoint(entry["hosts"])}
    events = [by_id[event_id] for event_id in wave["events"]]
    draining = {host for entry in events if "drain" in entry["steps"] for host in entry["shown_by"]}
    warnings = list(wave["warnings"])
    for host in wave["hosts"]:
        if host in unread:
            warnings.append(f"{host} could not be read, but another host shows an event that names it")
    left = [entry["seconds_left"] for entry in events if entry["seconds_left"] is not None]
    return {
        "number": number,
        "of": count,
        "hosts": wave["hosts"],
        "domains": wave["domains"],
        "deadline": wave["deadline"],
        "underway": wave["underway"],
        "seconds_left": min(left) if left and not wave["underway"] else None,
        "events": events,
        "drain": [host for host in wave["hosts"] if host in draining],
        "approve": [entry["id"] for entry in events if entry["approvable"]],
        "warnings": warnings,
    }


def _refusal(entry: PlanEntry) -> PlanRefusal:
    return {
        "id": entry["id"],
        "uncovered": entry["uncovered"],
        "not_in_run": entry["not_in_run"],
        "shown_by": entry["shown_by"],
        "not_shown_by": entry["not_shown_by"],
    }
