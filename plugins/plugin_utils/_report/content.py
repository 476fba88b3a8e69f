# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of the report."""

from __future__ import annotations

import collections
import json
import typing as t
from collections.abc import Callable, Iterable, Mapping

from .._azure.doubts import about_claims
from .._azure.vms import (
    IDENTITY_VARIABLES,
    NOW,
    HostVars,
    InventoryNames,
    SeenEvent,
    Vms,
    all_events,
    moment,
    this_host_of,
    this_hosts_of,
    to_look_after,
    vm_name_of,
)
from .._common.text import clock, iso_time, natural, printable, some_of, wrapped
from .._plan import waves

REPORT_VARIABLES = waves.WAVE_VARIABLES
# Why a host could not be read, in the words of whoever did not answer.
REPORT_TEXTS = ("maintenance_unread", *IDENTITY_VARIABLES)
STATES = ("started", "pending", "unknown", "clear")
NO_DOMAIN = "no domain known"
# Azure announces most events a quarter of an hour ahead: what is older says little about now.
STALE_SECONDS = 900

_COPIED = ("type", "source", "description", "not_before", "duration_seconds")


def make_report(
    hosts: Iterable[str],
    host_vars: HostVars,
    run: Mapping[str, t.Any] | None,
    now: float,
    title: str = "Azure maintenance",
    record: Mapping[str, t.Any] | None = None,
    names: Callable[[], InventoryNames] | None = None,
) -> dict[str, t.Any]:
    """The report as data. `run` is `maintenance_run`, where there is one; `record` what record_of makes of the hosts'.

    `names`: the whole inventory by its VMs.

    Raises ValueError with a sentence for the user.
    """
    _check_run(run)
    ordered = sorted(set(hosts), key=natural)
    domains = {host: _domain(host_vars.get(host)) for host in ordered}
    this_hosts = this_hosts_of(ordered, host_vars)
    vms = Vms(this_hosts, host_vars)
    doubts = about_claims(vms.refuse_false_claims(names), host_vars)
    doubtful = {host: doubt["why"] for doubt in doubts for host in doubt["hosts"]}
    seen_events = to_look_after(all_events(vms, this_hosts, host_vars))
    mine = collections.defaultdict(list)
    for seen in seen_events:
        for host in seen.hosts:
            mine[host].append(seen)
    entries = [_host(host, host_vars.get(host), domains[host], mine[host], doubtful.get(host)) for host in ordered]
    for entry in entries:
        entry["last_run"] = (run or {}).get("hosts", {}).get(entry["name"])
    read = [entry["read_at"] for entry in entries if entry["read_at"]]
    report = {
        "title": title,
        "made_at": iso_time(now),
        "oldest_reading": min(read, default=None),
        "stale": bool(read) and now - moment(min(read)) > STALE_SECONDS,
        "counts": _counts(entries, seen_events, now),
        "domains": _domains(entries),
        "events": [_event(seen, now, domains) for seen in seen_events],
        "hosts": entries,
        "last_run": run,
        "record": record,
        "not_believed": [doubt["why"] for doubt in doubts],
    }
    return {**report, "lines": report_lines(report)}


def _check_run(run: t.Any) -> None:
    if run is None:
        return
    parts = [run.get(key) for key in ("hosts", "events", "left")] if isinstance(run, dict) else [None]
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError("maintenance_run is not what drain_then_approve ends with: it has no hosts, events and left")


def _domain(variables: Mapping[str, t.Any] | None) -> str:
    return waves.domain_of(variables, this_host_of(variables)) or NO_DOMAIN


def _host(
    name: str, variables: Mapping[str, t.Any] | None, domain: str, events: list[SeenEvent], doubt: str | None
) -> dict[str, t.Any]:
    known = variables or {}
    told = known.get("maintenance_status")
    status: Mapping[str, t.Any] = told if isinstance(told, dict) else {}
    # Whose events it has shown is not known, if it is another VM than it says.
    was_read = isinstance(status.get("events"), list) and doubt is None
    dated = [seen for seen in events if not seen.started and seen.due != NOW]
    return {
        "name": name,
        "vm_name": vm_name_of(name, variables),
        "domain": domain,
        "state": _state(was_read, events),
        # Also those that only other hosts show, where the host itself was not read.
        "events": [seen.id for seen in events],
        "due": dated[0].event["not_before"] if dated else None,
        "read_at": str(status["read_at"]) if was_read and isinstance(status.get("read_at"), str) else None,
        "unread": "" if was_read else str(doubt or known.get("maintenance_unread") or "it is unread"),
    }


def _state(was_read: bool, events: list[SeenEvent]) -> str:
    if any(seen.started for seen in events):
        return "started"
    if events:
        return "pending"
    return "clear" if was_read else "unknown"


def _event(seen: SeenEvent, now: float, domains: Mapping[str, str]) -> dict[str, t.Any]:
    hosts = sorted(seen.hosts, key=natural)
    return {
        "id": seen.id,
        **{key: seen.event.get(key) for key in _COPIED},
        "status": str(seen.event.get("status")),
        "seconds_left": None if seen.due == NOW else max(0, int(seen.due - now)),
        "hosts": hosts,
        "resources": [str(name) for name in seen.event.get("resources") or ()],
        # VMs that the event names and that are none of these hosts: approving would start it for them too.
        "uncovered": seen.outside,
        "domains": sorted({domains[host] for host in hosts}, key=natural),
    }


def _counts(hosts: list[dict[str, t.Any]], events: list[SeenEvent], now: float) -> dict[str, t.Any]:
    states = collections.Counter(host["state"] for host in hosts)
    dated = [seen for seen in events if seen.due != NOW]
    return {
        "hosts": len(hosts),
        **{state: states[state] for state in STATES},
        # Read or not: of these the host itself has not told anything.
        "not_read": sum(1 for host in hosts if host["unread"]),
        "events": len(events),
        "next_due": dated[0].event["not_before"] if dated else None,
        "next_seconds_left": max(0, int(dated[0].due - now)) if dated else None,
    }


def _domains(hosts: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    found: dict[str, list[dict[str, t.Any]]] = collections.defaultdict(list)
    for host in hosts:
        found[host["domain"]].append(host)
    names = sorted(found, key=lambda name: (name == NO_DOMAIN, natural(name)))
    return [
        {
            "name": name,
            "hosts": len(found[name]),
            **{state: sum(1 for host in found[name] if host["state"] == state) for state in STATES},
            "events": list(dict.fromkeys(event for host in found[name] for event in host["events"])),
        }
        for name in names
    ]


def report_lines(report: Mapping[str, t.Any]) -> list[str]:
    """The report in a few lines, for the terminal."""
    counts, run = report["counts"], report["last_run"]
    numbers = [
        f"{counts['pending']} with something planned",
        f"{counts['started']} where it has started",
        f"{counts['clear']} with nothing planned",
        f"{counts['unknown']} unknown",
    ]
    lines = [f"{counts['hosts']} hosts: {', '.join(numbers)}."]
    if counts["next_due"]:
        lines.append(f"Next deadline in {clock(counts['next_seconds_left'])} ({counts['next_due']}).")
    if report["stale"]:
        lines.append(f"The oldest reading is from {report['oldest_reading']}: run the playbook collect for newer ones.")
    unknown = [host["name"] for host in report["hosts"] if host["state"] == "unknown"]
    if unknown:
        lines.append(f"Nothing is known about {some_of(unknown, 8)}.")
    lines += [f"Not trusted: {why}" for why in report["not_believed"]]
    if (report["record"] or {}).get("without"):
        lines.append(f"No audit file is kept on {some_of(report['record']['without'], 8)}.")
    if run:
        verdict = "all is well" if run.get("ok") else "something is left to do"
        lines.append(f"Last run, ended {run.get('ended_at')}: {verdict}.")
    return [part for line in lines for part in wrapped(line)]


# Of all hosts together, the newest.
MOST_LINES = 1000
LONGEST_TEXT = 300


def record_of(texts: Mapping[str, str | None]) -> dict[str, t.Any]:
    """`texts` is the end of each host's file, None where it has none. Whoever wrote it: it is text, and no more."""
    # Of those of one second, the last first as well.
    lines = [line for host, text in texts.items() for line in reversed(_lines(host, text or ""))]
    lines.sort(key=lambda line: (line["at"], natural(line["host"])), reverse=True)
    without = sorted((host for host, text in texts.items() if text is None), key=natural)
    return {"lines": lines[:MOST_LINES], "without": without}


def _lines(host: str, text: str) -> list[dict[str, t.Any]]:
    found: list[dict[str, t.Any]] = []
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            # The first may be cut off.
            continue
        if isinstance(entry, dict) and isinstance(entry.get("at"), str) and isinstance(entry.get("what"), str):
            found.append({"host": host, **{name: _short(entry.get(name)) for name in ("at", "what", "by")}})
            found[-1].update(who=_whose(entry), events=_events(entry), more=_more(entry))
    return found


def _whose(entry: Mapping[str, t.Any]) -> str:
    told = [_short(entry[name]) for name in ("who", "where") if entry.get(name)]
    return "@".join(told)


def _events(entry: Mapping[str, t.Any]) -> list[str]:
    several = entry.get("events") if isinstance(entry.get("events"), list) else []
    return [_short(event) for event in [entry.get("event"), *(several or [])] if event]


def _more(entry: Mapping[str, t.Any]) -> str:
    told = [f"step {_short(entry['step'])} ({_short(entry.get('kind'))})"] if entry.get("step") else []
    told += [_short(entry[name]) for name in ("why", "error") if entry.get(name)]
    if entry.get("shown"):
        told.append(f"{_short(entry['shown'])} at {_short(entry.get('seen_at'))}")
    if entry.get("incarnation") is not None:
        told.append(f"document {_short(entry['incarnation'])}")
    return ": ".join(told)


def _short(value: t.Any) -> str:
    return "" if value is None else printable(value)[:LONGEST_TEXT]
