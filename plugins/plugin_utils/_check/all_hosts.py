# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was seen on each host and machine to the findings of the whole fleet. Pure."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import InventoryNames
from ansible_collections.maintenance.azure.plugins.plugin_utils._check import state as _state
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.facts import facts_without, never_looked_at
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.fleet import about_groups
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.leases import about_leases
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.policy_rules import about_policy
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.rehearsal import RehearsalSettings, rehearse
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.service import ASK_IT, not_asked
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.way import not_reached

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
    names: Callable[[], InventoryNames] | None = None,
) -> Checked:
    """What was seen on all hosts, and what it means.

    `seen`: results of _check_host. `nodes`: what clusters answered about nodes of these hosts. `variables`: of
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
        fleet.append(doubtful("facts", "the facts", "not looked at, as the service is not asked", ASK_IT))
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
        return [not_reached(reason)]
    if reason:
        return [bad("way", "look at the host", reason, "Correct what it complains about, and check again")]
    found = [Finding.from_data(finding) for finding in result["findings"]]
    if not result["knows_journal"]:
        return found
    watcher = result["watcher"]
    found.append(_state.about_journal(result["journal"], str(result["journal_problem"]), watcher))
    if watcher:
        found.append(_state.about_watcher(watcher))
    for answer in (nodes or {}).get("results", ()):
        found.append(_state.about_node(host, answer, result["journal"] is not None))
    return found


def _of_machine(result: Data, drained: Sequence[str], known: Sequence[str]) -> list[Finding]:
    name = str(result["__check_machine"])
    reason = _reason(result)
    if reason:
        do = "Hosts whose steps need it are not drained: make it reachable, or correct the host of these steps"
        return [bad("plan", f"other machine {name}", reason, do)]
    found = [good("plan", f"other machine {name}", "can be reached")]
    found += [Finding.from_data(finding) for finding in result["findings"]]
    if not result["keeps_records"]:
        return found
    if result["records"] is None:
        do = "Python is needed there"
        return [*found, doubtful("state", f"records on {name}", "not looked at", do)]
    return [*found, _state.about_records(name, result["records"], drained, known)]


def _not_looked_at(seen: Mapping[str, Data | None]) -> list[dict[str, str]]:
    """What could be seen on no host, and what is never looked at. Hosts whose facts were not asked for say nothing."""
    asked = [result["not_seen"] for result in seen.values() if result and result.get("not_seen") is not None]
    reasons = {str(one["fact"]): str(one["why"]) for not_seen in asked for one in not_seen}
    nowhere = set(reasons).intersection(*({str(one["fact"]) for one in not_seen} for not_seen in asked))
    found = [{"fact": fact, "why": reasons[fact]} for fact in sorted(nowhere)]
    return (found if asked else facts_without(NOBODY_ASKED)) + never_looked_at()
