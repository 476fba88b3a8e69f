# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rehearsal of a run: what the rules would say."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence

from .._azure import vms
from .._common import text
from .._plan.plan import make_plan
from .._run.rules import at_least
from . import report
from .report import Finding

NOTICE = 900
# Doubts that a host is the VM that it says it is, whatever the others say.
_ABOUT_ONE_HOST = ("contradicted", "unconfirmed")
_ACTIONS = {
    "drain": "it would be drained first",
    "approve": "it would be approved without a drain",
    "ignore": "it would be left alone, and start when it is due",
}


def reboot_of(host: str, vm_name: str, not_before: str) -> dict[str, t.Any]:
    """An event as `maintenance_status` has it, as Azure would make it for this host alone."""
    return {
        "id": f"rehearsal-{host}",
        "type": "Reboot",
        "status": "Scheduled",
        "source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": [vm_name],
        "not_before": not_before,
        "seconds_left": NOTICE,
        "duration_seconds": None,
        "description": "Host server is undergoing maintenance.",
        "affects_this_host": True,
    }


class RehearsalSettings(t.NamedTuple):
    policy: t.Any
    max_at_once: t.Any = None
    min_in_service: t.Any = None


def rehearse(
    hosts: Sequence[str],
    variables: Mapping[str, Mapping[str, t.Any]],
    settings: RehearsalSettings,
    not_before: str,
    out: Collection[str] = (),
    names: Callable[[], vms.InventoryNames] | None = None,
) -> tuple[dict[str, Finding], list[Finding]]:
    """Findings for each host and for the fleet. `out`: hosts that can't be counted on now.

    `names`: the whole inventory by its VMs.
    """
    told = {host: _with_reboot(host, variables.get(host) or {}, not_before) for host in hosts}
    try:
        plan = make_plan(hosts, told, settings.policy, max_at_once=settings.max_at_once, names=names)
    except ValueError as error:
        return {}, [report.bad("plan", "a Reboot of every host", str(error), "Correct this setting")]
    by_host = {}
    for wave in plan["waves"]:
        for event in wave["events"]:
            for host in event["hosts"]:
                by_host[host] = _about_host(event, f", in wave {wave['number']} of {wave['of']}")
    for event in plan["ignored"]:
        for host in event["hosts"]:
            by_host[host] = _about_host(event, "")
    waves = [list(wave["hosts"]) for wave in plan["waves"]]
    placed = any(vms.this_host_of(variables.get(host)) or _has_domain(variables.get(host)) for host in hosts)
    fleet = [
        _about_waves(waves, len(hosts), placed),
        *_about_service(hosts, variables, waves, settings.min_in_service, out),
    ]
    fleet += [
        report.bad(
            "plan", "who is which VM", doubt["why"], "Set maintenance_vm_name where it is missing, or correct it"
        )
        for doubt in plan["not_believed"]
        # The others follow from these, and are about events that there are not.
        if doubt["wrong"] and doubt["kind"] not in _ABOUT_ONE_HOST
    ]
    seen = "nothing would be drained or approved, as the inventory does not confirm which VM it says that it is"
    for doubt in plan["not_believed"]:
        for host in doubt["hosts"] if doubt["kind"] in _ABOUT_ONE_HOST else ():
            by_host[host] = report.bad("plan", "a Reboot of this host", seen, "Set maintenance_vm_name, or correct it")
    fleet += [
        report.doubtful("plan", "a Reboot of every host", warning, "docs/waves.md tells more")
        for wave in plan["waves"]
        for warning in wave["warnings"]
    ]
    return by_host, fleet


def _with_reboot(host: str, variables: Mapping[str, t.Any], not_before: str) -> dict[str, t.Any]:
    this_host = vms.this_host_of(variables)
    name = vms.name_told(host, variables, this_host)
    status = {
        "this_host": this_host or None,
        "document_incarnation": 1,
        "events": [reboot_of(host, name, not_before)],
        "pending": True,
        "read_at": not_before,
    }
    return {**variables, "maintenance_status": status}


def _about_host(event: Mapping[str, t.Any], wave: str) -> Finding:
    seen = f"{_ACTIONS[event['action']]}{wave} ({event['why']})"
    if event["action"] == "drain":
        return report.good("plan", "a Reboot of this host", seen)
    do = "Look at maintenance_policy: what runs on the host is interrupted"
    return report.doubtful("plan", "a Reboot of this host", seen, do)


def _has_domain(variables: Mapping[str, t.Any] | None) -> bool:
    return bool((variables or {}).get("maintenance_domain"))


def _about_waves(waves: Sequence[Sequence[str]], count: int, placed: bool) -> Finding:
    largest = max(waves, key=len, default=[])
    sizes = f"{len(waves)} {'wave' if len(waves) == 1 else 'waves'}, the largest of {len(largest)} of {count} hosts"
    if count > 1 and not placed:
        do = "Run it again with -e check_service=true, which has the VMs tell their domains"
        return report.doubtful("plan", "a Reboot of every host", f"{sizes}, as no domain is known", do)
    if count > 1 and len(largest) == count:
        do = "Their domains are not known, or the same: set maintenance_domain or maintenance_max_at_once"
        return report.doubtful("plan", "a Reboot of every host", f"{sizes}: all go down at once", do)
    return report.good("plan", "a Reboot of every host", sizes)


def _about_service(
    hosts: Sequence[str],
    variables: Mapping[str, Mapping[str, t.Any]],
    waves: Sequence[Sequence[str]],
    wanted: t.Any,
    out: Collection[str],
) -> list[Finding]:
    services: dict[str, list[str]] = {}
    for host in sorted(hosts, key=text.natural):
        services.setdefault(str((variables.get(host) or {}).get("maintenance_service") or ""), []).append(host)
    return [_about_one(name, members, waves, wanted, set(out)) for name, members in services.items()]


def _about_one(
    name: str, members: Sequence[str], waves: Sequence[Sequence[str]], wanted: t.Any, out: set[str]
) -> Finding:
    point = f"in service, of {name}" if name else "in service"
    left = [[host for host in members if host not in wave] for wave in waves if set(wave) & set(members)]
    fewest = min(left, key=len, default=list(members))
    seen = f"at least {len(fewest)} of {len(members)} hosts while a wave is down"
    if wanted is None or wanted == "":
        return report.good("plan", point, f"{seen}; maintenance_min_in_service is not set")
    try:
        least = at_least(wanted, len(members))
    except ValueError:
        do = 'Give a number of hosts such as 2, or a share such as "50%"'
        return report.bad("plan", point, f"maintenance_min_in_service is {wanted!r}", do)
    if len(fewest) < least:
        do = "Such a wave never begins: lower it, add hosts, or have smaller waves with maintenance_max_at_once"
        return report.bad("plan", point, f"{seen}, and maintenance_min_in_service is {least}", do)
    missing = sorted({host for staying in left for host in staying if host in out}, key=text.natural)
    fewest_good = min((sum(host not in out for host in staying) for staying in left), default=least)
    if fewest_good < least:
        do = f"Return {text.in_words(missing)} to service first: a wave waits for it"
        return report.doubtful("plan", point, f"{fewest_good} can be counted on now, and {least} are needed", do)
    return report.good("plan", point, f"{seen}, maintenance_min_in_service is {least}")
