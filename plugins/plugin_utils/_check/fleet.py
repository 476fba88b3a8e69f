# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about the fleet as a whole: groups, leases, policy and watchers."""

from __future__ import annotations

import dataclasses
import itertools
import json
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...module_utils._azure.rules import span
from ...module_utils._host import run_mark
from .._azure import events as azure
from .._azure import vms
from .._common import text
from .._lease import lease
from .._plan import plan
from .._run import groups
from . import report
from .facts import facts_without, never_looked_at
from .rehearsal import RehearsalSettings, rehearse
from .report import Finding
from .service import ASK_IT, not_asked

# After so long without a new status, a watcher is silent: as the event source has it.
SILENT_AFTER = 90
# As the step kubernetes writes it.
ANNOTATION = "maintenance.azure/drained"
FINISH_IT = "run maintenance.azure.drain_then_approve, which returns it to service when its event is over"
FINISH = FINISH_IT[0].upper() + FINISH_IT[1:]


def about_journal(journal: Mapping[str, t.Any] | None, problem: str, watcher: Mapping[str, t.Any]) -> Finding:
    """`watcher`: what one left on the host, as for about_watcher."""
    point = "journal"
    if problem:
        return report.bad("state", point, problem, "Until then nobody drains this host or returns it to service")
    if journal is None:
        return report.good("state", point, "none: the host is in service")
    since = journal.get("drained_at") or journal.get("started_at") or "an unknown time"
    ids = [str(event.get("id")) for event in journal.get("events") or ()]
    owner = str(journal.get("run_id") or "without a name")
    by = f"the {owner}" if run_mark.is_watcher(owner) else f"run {owner}"
    seen = f"{journal['state']} since {since} by {by} for {text.some_of(ids) or '?'}"
    if run_mark.is_watcher(owner):
        if watcher.get("status") is None or about_watcher(watcher).verdict == "bad":
            do = f"Mend what the point watcher tells. Or {FINISH_IT}"
            return report.bad("state", point, f"{seen}, which is not at work as it should be", do)
        return report.doubtful("state", point, seen, "It returns the host to service itself, when the event is over")
    left = journal.get("worked_on_for") or 0
    if left:
        return report.doubtful("state", point, f"{seen}, which is at work there", "Check again when that run has ended")
    return report.bad("state", point, f"{seen}, which is not at work there any more", FINISH)


def about_records(
    machine: str, records: Sequence[Mapping[str, t.Any]], drained: Iterable[str], known: Iterable[str]
) -> Finding:
    """`drained`: hosts with a journal. `known`: hosts of the inventory."""
    point = f"records on {machine}"
    drained, known = set(drained), set(known)
    unreadable = [str(record["problem"]) for record in records if record["problem"]]
    if unreadable:
        return report.bad(
            "state", point, text.some_of(unreadable, 2), "Put right by hand what they tell, and remove them"
        )
    if not records:
        return report.good("state", point, "none")
    told = [
        f"{record['host']} ({', '.join(record['types'])}, run {record['run_id']}, {record['at']})" for record in records
    ]
    outside = [record for record in records if record["host"] not in known]
    if outside:
        files = text.some_of([str(record["file"]) for record in outside], 3)
        do = f"Put right on {machine} by hand what was drained for them, and remove {files}"
        return report.bad("state", point, f"for hosts that the inventory does not have: {text.some_of(told)}", do)
    forgotten = [record for record in records if record["host"] not in drained]
    if forgotten:
        hosts = text.in_words(sorted({str(record["host"]) for record in forgotten}))
        do = f"Return {hosts} to service: run maintenance.azure.drain_then_approve, or the role restore on them"
        return report.bad("state", point, f"for hosts without a journal: {text.some_of(told)}", do)
    return report.doubtful(
        "state", point, f"for hosts that are drained: {text.some_of(told)}", "They go with the journals"
    )


def about_node(host: str, answer: Mapping[str, t.Any], has_journal: bool) -> Finding:
    """The answer of a cluster about a node that is drained for this host. Its annotation is the record of that."""
    name = str(answer["__check_node"]["node"])
    point = f"annotation of node {name}"
    resources = answer.get("resources")
    if not isinstance(resources, (list, tuple)) or len(resources) != 1:
        why = str(answer.get("msg") or f"there are {len(resources or ())} nodes of that name")
        return report.bad(
            "state", point, why, "Correct node, kubeconfig and context of the step, or what may be asked there"
        )
    annotations = (resources[0].get("metadata") or {}).get("annotations") or {}
    if ANNOTATION not in annotations:
        return report.good("state", point, "none: it is not drained by us")
    try:
        record = json.loads(annotations[ANNOTATION])
        whose, run = str(record["host"]), str(record.get("run_id"))
    except (ValueError, TypeError, KeyError, AttributeError):
        return report.bad(
            "state", point, f"{ANNOTATION} can't be understood", "Put right the node by hand, and remove it"
        )
    seen = f"drained for {whose} by run {run}"
    if whose != host:
        return report.bad(
            "state", point, seen, f"Return {whose} to service; if there is no such host, remove {ANNOTATION}"
        )
    if has_journal:
        return report.doubtful("state", point, seen, "It goes with the journal")
    do = f"Return {host} to service: run maintenance.azure.drain_then_approve, or the role restore on it"
    return report.bad("state", point, f"{seen}, and the host has no journal", do)


def about_watcher(seen: Mapping[str, t.Any]) -> Finding:
    point = "watcher"
    status = seen.get("status")
    if seen.get("problem"):
        return report.bad("state", point, str(seen["problem"]), "Look at the unit azure-maintenance-watch on the host")
    if status is None:
        if seen.get("installed"):
            do = "Start it: systemctl status azure-maintenance-watch on the host tells why it does not run"
            return report.bad("state", point, "its program is there and no status of it", do)
        return report.good("state", point, "none here")
    watcher = status.get("watcher")
    watcher = watcher if isinstance(watcher, Mapping) else {}
    age = float(seen.get("age") or 0)
    if age > SILENT_AFTER:
        do = "Start it again: systemctl status azure-maintenance-watch on the host tells why it does not run"
        return report.bad("state", point, f"silent for {age:.0f} s, since a reading of {status.get('read_at')}", do)
    if watcher.get("failing_since"):
        seen_text = f"it can't read the service since {watcher['failing_since']}: {watcher.get('problem') or '?'}"
        return report.bad("state", point, seen_text, "docs/troubleshooting.md tells what this sentence means")
    left = watcher.get("left_for_a_run")
    if isinstance(left, (list, tuple)) and left:
        return report.doubtful(
            "state", point, f"it leaves to a run: {text.some_of([str(one) for one in left], 2)}", FINISH
        )
    return report.good(
        "state", point, f"at work, version {watcher.get('version') or '?'}, last reading {status.get('read_at')}"
    )


Variables: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]


def about_groups(variables: Variables) -> list[Finding]:
    """`variables`: of all hosts, with `maintenance_status` of those that were read."""
    grouping = groups.group_hosts([_place(host, own) for host, own in variables.items()])
    found = [
        _about_group(group.name, group.hosts, variables) for group in grouping.groups if group.name != groups.THE_REST
    ]
    if grouping.doubtful:
        do = "docs/waves.md tells more"
        found.append(report.doubtful("service", "delivery groups", groups.warning_about(grouping.doubtful), do))
    elif not found:
        found.append(report.good("service", "delivery groups", "none: each host stands for itself"))
    return found


def _place(host: str, variables: Mapping[str, t.Any]) -> groups.Place:
    this_host = vms.this_host_of(variables)
    status = variables.get("maintenance_status") or {}
    return groups.Place(
        host=host,
        delivery_group=_text(variables.get("maintenance_delivery_group")),
        domain=_text(variables.get("maintenance_domain")),
        update_domain=_text(this_host.get("update_domain")),
        zone=_text(this_host.get("zone")),
        scale_set=_text(this_host.get("scale_set")),
        placement_group=_text(this_host.get("placement_group")),
        events=tuple(str(event["id"]) for event in status["events"]) if status else None,
    )


def _text(value: t.Any) -> str:
    return "" if value is None or isinstance(value, bool) else str(value).strip()


def _about_group(name: str, hosts: Sequence[str], variables: Variables) -> Finding:
    point = f"the document of {name}"
    seen: dict[tuple[str, ...], list[str]] = {}
    numbers: dict[str, list[str]] = {}
    read = [host for host in hosts if variables[host].get("maintenance_status")]
    if len(read) < 2:
        return report.good("service", point, f"{len(read)} of its {len(hosts)} hosts was read: nothing to compare")
    for host in read:
        status = variables[host]["maintenance_status"]
        ids = tuple(sorted(azure.canonical_id(str(event["id"])) for event in status["events"]))
        seen.setdefault(ids, []).append(host)
        numbers.setdefault(str(status.get("document_incarnation")), []).append(host)
    if len(seen) > 1:
        parts = [
            f"{text.some_of(sorted(members, key=text.natural), 3)}: {len(ids)} events" for ids, members in seen.items()
        ]
        do = "If it is so again in a minute, they do not belong together: correct maintenance_delivery_group"
        return report.bad("service", point, f"its hosts show different events: {text.in_words(parts)}", do)
    if len(numbers) > 1:
        parts = [
            f"{number} on {text.some_of(sorted(members, key=text.natural), 3)}" for number, members in numbers.items()
        ]
        do = "If it is so again in a minute, they do not belong together: correct maintenance_delivery_group"
        return report.doubtful("service", point, f"its DocumentIncarnation is {text.in_words(parts)}", do)
    return report.good("service", point, f"the same on {len(read)} hosts, {len(next(iter(seen)))} events")


LeaseAnswer: t.TypeAlias = Mapping[str, t.Any]


def about_leases(results: Sequence[LeaseAnswer]) -> list[Finding]:
    """`results`: of the module lease with `do: read` in a loop over {group, lock host}."""
    by_group: dict[str, dict[str, LeaseAnswer]] = {}
    for result in results:
        call = result["__check_call"]
        by_group.setdefault(str(call["group"]), {})[str(call["lock_host"])] = result
    return [_about_lease(group, answers) for group, answers in by_group.items()]


def _about_lease(group: str, answers: Mapping[str, LeaseAnswer]) -> Finding:
    point = f"lease of {group}" if group else "lease"
    lock_hosts = text.in_words(list(answers))
    found = lease.verdict(group, list(answers), answers, lease.READ)
    needed = len(answers) // 2 + 1
    if len(answers) - len(found.unread_lock_hosts) < needed:
        unread = [
            f"{lock_host} ({lease.letters(answers[lock_host].get('msg') or 'no answer')})"
            for lock_host in found.unread_lock_hosts
        ]
        do = "Nothing begins in this group until more than half answer: look at them, or set maintenance_lock_hosts"
        return report.bad(
            "state", point, f"of its lock hosts {lock_hosts} these do not answer: {text.some_of(unread, 3)}", do
        )
    if found.holder:
        do = "A run is at work: wait until it has ended. A lease that is not renewed lapses by itself"
        return report.doubtful("state", point, f"held by {found.holder}", do)
    notes = sorted({lease.letters(note.get("host")) for note in found.notes})
    if notes:
        do = "The next run of this group reads these hosts, and removes the notes of those that are in service"
        return report.doubtful("state", point, f"free, with notes that {text.some_of(notes)} may be drained", do)
    if found.unread_lock_hosts:
        do = "One more and nothing begins in this group: look at it, or set maintenance_lock_hosts"
        missing = text.in_words(list(found.unread_lock_hosts))
        return report.doubtful(
            "state", point, f"free, but of its lock hosts {lock_hosts} one does not answer: {missing}", do
        )
    return report.good("state", point, f"free, kept on {lock_hosts}")


_DURATIONS = ("shorter_than", "longer_than")
_DUES = ("due_within", "due_after")


def about_policy(policy: t.Any) -> list[Finding]:
    try:
        rules = plan.read_policy(policy)
    except plan.BadPolicy as error:
        return [report.bad("plan", "policy", str(error), "docs/policies.md has all keys")]
    found = [_about_types(raw, number) for number, raw in enumerate(policy, start=1)]
    found += [_about_rule(rules, policy, rule) for rule in rules]
    told = [finding for finding in found if finding]
    return told or [report.good("plan", "policy", f"{len(rules)} rules, and each can decide")]


def _about_types(raw: Mapping[str, t.Any], number: int) -> Finding | None:
    unknown = [
        word
        for word in _words(raw.get("type"))
        if word.casefold() not in {name.casefold() for name in azure.EVENT_TYPES}
    ]
    if not unknown:
        return None
    do = f"Azure sends {', '.join(azure.EVENT_TYPES)}: correct it, unless a new type has come up"
    return report.doubtful(
        "plan", "policy", f"rule {number} is for the type {text.in_words(unknown)}, which is not known", do
    )


def _about_rule(rules: Sequence[plan.Rule], policy: Sequence[Mapping[str, t.Any]], rule: plan.Rule) -> Finding | None:
    raw = policy[rule.number - 1]
    matched = False
    instead: dict[int, None] = {}
    for event in _representatives(policy, raw):
        if not all(condition.matches(event) for condition in rule.conditions):
            continue
        matched = True
        decision = plan.ruling_on(event, rules)
        if decision["rule"] == rule.number:
            return None
        instead[decision["rule"] or 0] = None
    called = f"rule {rule.number} ({rule.name})" if rule.name else f"rule {rule.number}"
    if not matched:
        return report.doubtful(
            "plan", "policy", f"{called} can never match: its conditions exclude each other", "Correct it"
        )
    others = [f"rule {number}" for number in sorted(instead)]
    taken = f"{others[0]} before it takes" if len(others) == 1 else f"{text.some_of(others, 3)} before it take"
    do = "Put it further up, or take it out"
    return report.doubtful("plan", "policy", f"{called} can never match: {taken} all that it is for", do)


def _representatives(policy: Sequence[Mapping[str, t.Any]], raw: Mapping[str, t.Any]) -> t.Iterator[dict[str, t.Any]]:
    """Events that stand for all that this rule could be asked about: on and beside each limit of any rule."""
    types = _words(raw.get("type")) or [
        *azure.EVENT_TYPES,
        *(word for rule in policy for word in _words(rule.get("type"))),
        "?",
    ]
    sources: list[str | None] = [*_words(raw.get("source"))] or ["Platform", "User", None]
    durations = [None, *_beside(policy, _DURATIONS)]
    dues = [None, *_beside(policy, _DUES)]
    # No more is said than the rule asks for: a rule before it that asks for less matches that too.
    description = str(raw.get("description") or "")
    for kind, source, duration, due in itertools.product(types, sources, durations, dues):
        event = {"type": kind, "source": source, "duration_seconds": duration, "seconds_left": due}
        yield {**event, "description": description}


def _beside(policy: Sequence[Mapping[str, t.Any]], names: Sequence[str]) -> list[int]:
    limits = {span(rule[name]) for rule in policy for name in names if name in rule}
    return sorted({0} | {limit + near for limit in limits for near in (-1, 0, 1) if limit + near >= 0})


def _words(value: t.Any) -> list[str]:
    if value is None:
        return []
    return [str(word).strip() for word in ([value] if isinstance(value, str) else value)]


Data: t.TypeAlias = Mapping[str, t.Any]
# A reading of an earlier day tells nothing about today's document.
_UNREAD: Data = {"maintenance_status": None}
NOBODY_ASKED = "there is no host whose service answered and where Python runs"


@dataclasses.dataclass(frozen=True)
class Asked:
    service: bool
    facts: bool


@dataclasses.dataclass(frozen=True)
class Checked:
    by_host: Mapping[str, Sequence[Finding]]
    fleet: Sequence[Finding]
    not_looked_at: Sequence[Mapping[str, str]]


def check_all(
    seen: Mapping[str, Data | None],
    variables: Mapping[str, Data],
    nodes: Mapping[str, Data | None],
    machines: Sequence[Data],
    leases: Sequence[Data],
    known: Sequence[str],
    settings: RehearsalSettings,
    asked: Asked,
    not_before: str,
    names: Callable[[], vms.InventoryNames] | None = None,
) -> Checked:
    """What was seen on all hosts, and what it means.

    `seen`: results of _check for hosts. `nodes`: what clusters answered about nodes of these hosts. `variables`: of
    the same hosts. `known`: all hosts of the inventory, `names` the same by their VMs.
    """
    by_host = {host: _of_host(host, result, nodes.get(host)) for host, result in seen.items()}
    drained = [host for host, result in seen.items() if result and result.get("journal")]
    read = {
        host: {**variables.get(host, {}), "maintenance_status": result["status"]}
        for host, result in seen.items()
        if result and result.get("status")
    }
    fleet = about_leases(leases)
    for machine in machines:
        fleet += _of_machine(machine, drained, known)
    if asked.service:
        fleet += about_groups({host: {**variables.get(host, {}), **read.get(host, _UNREAD)} for host in seen})
    else:
        fleet.append(not_asked())
    if asked.facts and not asked.service:
        fleet.append(report.doubtful("facts", "the facts", "not looked at, as the service is not asked", ASK_IT))
    policy = about_policy(settings.policy)
    fleet += policy
    if all(finding.verdict != "bad" for finding in policy):
        everybody = {host: {**variables.get(host, {}), **read.get(host, {})} for host in seen}
        out = [host for host, result in seen.items() if host in drained or _reason(result)]
        rehearsed, about_fleet = rehearse(list(seen), everybody, settings, not_before, out, names)
        for host, finding in rehearsed.items():
            by_host[host].append(finding)
        fleet += about_fleet
    return Checked(by_host, fleet, _not_looked_at(seen) if asked.facts and asked.service else [])


def _reason(result: Data | None) -> str:
    """Why a host could not be looked at, or nothing."""
    if result is None:
        return "it was not looked at"
    if result.get("unreachable") or "findings" not in result:
        return str(result.get("msg") or "no answer")
    return ""


def _of_host(host: str, result: Data | None, nodes: Data | None) -> list[Finding]:
    reason = _reason(result)
    if result is None or result.get("unreachable"):
        return [report.not_reached(reason)]
    if reason:
        return [report.bad("way", "look at the host", reason, "Correct what it complains about, and check again")]
    found = [Finding.from_data(finding) for finding in result["findings"]]
    if not result["knows_journal"]:
        return found
    watcher = result["watcher"]
    found.append(about_journal(result["journal"], str(result["journal_problem"]), watcher))
    if watcher:
        found.append(about_watcher(watcher))
    for answer in (nodes or {}).get("results", ()):
        found.append(about_node(host, answer, result["journal"] is not None))
    return found


def _of_machine(result: Data, drained: Sequence[str], known: Sequence[str]) -> list[Finding]:
    name = str(result["__check_machine"])
    reason = _reason(result)
    if reason:
        do = "Hosts whose steps need it are not drained: make it reachable, or correct the host of these steps"
        return [report.bad("plan", f"other machine {name}", reason, do)]
    found = [report.good("plan", f"other machine {name}", "can be reached")]
    found += [Finding.from_data(finding) for finding in result["findings"]]
    if not result["keeps_records"]:
        return found
    if result["records"] is None:
        do = "Python is needed there"
        return [*found, report.doubtful("state", f"records on {name}", "not looked at", do)]
    return [*found, about_records(name, result["records"], drained, known)]


def _not_looked_at(seen: Mapping[str, Data | None]) -> list[dict[str, str]]:
    """What could be seen on no host, and what is never looked at. Hosts whose facts were not asked for say nothing."""
    asked = [result["not_seen"] for result in seen.values() if result and result.get("not_seen") is not None]
    reasons = {str(one["fact"]): str(one["why"]) for not_seen in asked for one in not_seen}
    nowhere = set(reasons).intersection(*({str(one["fact"]) for one in not_seen} for not_seen in asked))
    found = [{"fact": fact, "why": reasons[fact]} for fact in sorted(nowhere)]
    return (found if asked else facts_without(NOBODY_ASKED)) + never_looked_at()
