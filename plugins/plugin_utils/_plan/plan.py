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

# If no rule matches, the host is drained: that is never wrong, only slower.

ACTIONS = ("drain", "approve", "ignore")
EXAMPLE = "{type: Freeze, action: approve}"

BadPolicy = _rules.BadRules
Rule = _rules.Rule


class Ruling(t.TypedDict):
    action: str
    # The number of the rule, from 1; None if none matched.
    rule: int | None
    why: str


def read_policy(policy: t.Any) -> list[Rule]:
    """Parse and check the rules. Raises BadPolicy."""
    return _rules.read_rules(policy, "maintenance_policy", ACTIONS, EXAMPLE)


def ruling_on(event: Mapping[str, t.Any], rules: Sequence[Rule]) -> Ruling:
    """Return the ruling of the first rule that matches."""
    rule = _rules.first_match(event, rules)
    if rule is None:
        return {"action": "drain", "rule": None, "why": "no rule matches, and then it is drained first"}
    return {"action": rule.action, "rule": rule.number, "why": _rules.why(rule, event)}


class PlanEntry(t.TypedDict):
    """One event, merged from all readings that show it, with the planned steps."""

    id: str
    type: str
    source: str | None
    description: str
    not_before: str | None
    duration_seconds: int | None
    status: str
    seconds_left: int | None
    # The named hosts of the run; `resources` are all named VMs, as Azure writes them.
    hosts: list[str]
    resources: list[str]
    # The named VMs outside the run: an approval would start the event for them too.
    uncovered: list[str]
    # The hosts of the inventory that are these VMs.
    not_in_run: list[str]
    # The hosts whose own reading shows it, and those whose good reading does not.
    shown_by: list[str]
    not_shown_by: list[str]
    # The VMs of the latter, as far as they are uncovered.
    not_believed_of: list[str]
    # The ruling of the policy.
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
    """An event that can't be approved, as it would start for VMs that are not covered too."""

    id: str
    uncovered: list[str]
    not_in_run: list[str]
    shown_by: list[str]
    not_shown_by: list[str]


class SameReason(t.TypedDict):
    """Hosts with the same reason."""

    hosts: list[str]
    why: str


class _WithoutWords(t.TypedDict):
    waves: list[PlanWave]
    ignored: list[PlanEntry]
    refused: list[PlanRefusal]
    # The hosts that were not read, and their reasons.
    unknown: list[str]
    unread: list[SameReason]
    not_believed: list[Doubt]
    refused_hosts: list[str]
    journal_problems: list[SameReason]
    nothing_to_do: list[str]
    # Left drained by an earlier run: hosts whose event is over, hosts that have one, and hosts where that is unknown.
    restore_first: list[str]
    already_drained: list[str]
    left_drained: list[str]


class Plan(_WithoutWords, total=False):
    lines: list[str]


PLAN_VARIABLES = (*WAVE_VARIABLES, "maintenance_unread")
# Users may have these variables for other purposes, so no value of theirs is an error.
PLAN_TEXTS = IDENTITY_VARIABLES
# Returns canonical VM name -> inventory hosts outside the run. Called at most once, and only for uncovered VMs.
Elsewhere: t.TypeAlias = Callable[[], Mapping[str, Sequence[str]]]

_MOST_REASONS = 3
_COPIED = ("type", "source", "description", "not_before", "duration_seconds")
# The safest first: a needless drain does no harm, and an ignored event is not started.
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
    """Make the plan for these hosts. Raises ValueError with a sentence for the user.

    `drained` are the hosts that an earlier run has drained, by their journals. `names` returns the whole inventory by
    its VMs, for hosts that are not declared to be the VMs that they claim to be.

    `read_again` is true if the hosts were read again just before acting. Until then a host that an event names and that
    does not show it stays in the wave, to be read once more; after that, the event is not trusted for it.
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
        """Sort waves with drained hosts first, as they delay all other domains of their group, then as Azure does.

        Azure's document has one order for all runs, so that two runs that share a group do not deadlock.
        """
        return out.isdisjoint(wave["hosts"]), min(place[event_id] for event_id in wave["events"])

    waves = sorted(arrange(busy, host_vars, to_do, limit), key=turn)
    # Doubtful hosts are left alone, but an event that they show as started is not over.
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
        "refused_hosts": sorted({host for claim in claims for host in claim.refused}, key=text.natural),
        "journal_problems": _by_reason(doubtful, host_vars, _journal_problem),
        "nothing_to_do": [host for host in ordered if host not in busy_set and host not in unread_set],
        "restore_first": [host for host in left_behind if host not in busy_set and host not in unclear],
        "already_drained": [host for host in left_behind if host in busy_set],
        "left_drained": [host for host in left_behind if host not in busy_set and host in unclear],
    }


def with_journal(host_vars: HostVars) -> list[str]:
    """Return the hosts whose reading found a journal."""
    return [host for host, variables in host_vars.items() if _status_of(variables).get("journal")]


def _status_of(variables: Mapping[str, t.Any] | None) -> Mapping[str, t.Any]:
    status = variables.get("maintenance_status") if variables is not None else None
    return status if isinstance(status, dict) else {}


def _why_unread(variables: Mapping[str, t.Any]) -> t.Any:
    # From the playbook collect, or from the result of a reading itself.
    return variables.get("maintenance_unread") or _status_of(variables).get("msg")


def _journal_problem(variables: Mapping[str, t.Any]) -> t.Any:
    """Return the reason why it is unknown if an earlier run left the host drained."""
    return _status_of(variables).get("journal_problem")


def _by_reason(
    hosts: Iterable[str], host_vars: HostVars, reason: t.Callable[[Mapping[str, t.Any]], t.Any]
) -> list[SameReason]:
    """Group the hosts by their reason."""
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
        "uncovered": outside,
        "not_in_run": [],
        "shown_by": sorted(seen.shown_by, key=text.natural),
        "not_shown_by": sorted((host for host in seen.silent if host not in seen.undeclared), key=text.natural),
        "not_believed_of": not_believed_of,
        "vanishing": azure.takes_away(event),
        **ruling_on(event, rules),
    }
    may_start = entry["action"] != "ignore" and not seen.started and bool(seen.shown_by)
    entry["approvable"] = may_start and (not outside or uncovered == "allow")
    entry["steps"] = _steps(entry)
    return t.cast(PlanEntry, entry)


def how_careful(event: Mapping[str, t.Any], rules: Sequence[Rule], seconds_left: int | None) -> tuple[int, bool]:
    """Rank the account whose ruling is safest lowest."""
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
    # A drain is too late once the event has started; hosts that are drained stay so until it is over.
    drains = entry["action"] == "drain" and entry["status"] != "Started" and bool(entry["shown_by"])
    steps = ["drain"] if drains else []
    if entry["approvable"]:
        steps.append("approve")
    if not entry["vanishing"]:
        steps.append("wait")
        if entry["action"] == "drain":
            steps.append("restore")
    return steps


def _look_elsewhere(entries: list[PlanEntry], elsewhere: Elsewhere | None) -> None:
    """Fill in the hosts of the inventory outside the run that are uncovered VMs."""
    short = [entry for entry in entries if entry["uncovered"]]
    if not short or elsewhere is None:
        return
    known = elsewhere()
    for entry in short:
        found = {host for name in entry["uncovered"] for host in known.get(azure.canonical_name(name), ())}
        entry["not_in_run"] = sorted(found, key=text.natural)


def _planned(wave: Wave, number: int, count: int, entries: list[PlanEntry], unread: set[str]) -> PlanWave:
    # An id can occur in two groups, but only once in a wave.
    ours = set(wave["hosts"])
    by_id = {entry["id"]: entry for entry in entries if not ours.isdisjoint(entry["hosts"])}
    events = [by_id[event_id] for event_id in wave["events"]]
    draining = {host for entry in events if "drain" in entry["steps"] for host in entry["shown_by"]}
    unread_hosts = [host for host in wave["hosts"] if host in unread]
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
        "warnings": wave["warnings"]
        + [f"{host} could not be read, but another host shows an event that names it" for host in unread_hosts],
    }


def _refusal(entry: PlanEntry) -> PlanRefusal:
    return {
        "id": entry["id"],
        "uncovered": entry["uncovered"],
        "not_in_run": entry["not_in_run"],
        "shown_by": entry["shown_by"],
        "not_shown_by": entry["not_shown_by"],
    }
