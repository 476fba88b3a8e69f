# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened, from the logs of HAProxy, the client, the simulator, systemd and the platform; never from the play."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from typing import Any

from lab import haproxy
from lab.fleet import ANSWERS, TRACES, Fleet
from lab.machine import PLATFORM_LOG, Machine
from lab.names import DOMAIN_OF, LOGS, NAME_OF_VM
from lab.shell import run, wait_until


@dataclasses.dataclass
class Answer:
    """An answer that the client got, or did not get."""

    asked: float
    milliseconds: float
    outcome: str
    server: str
    path: str

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"


@dataclasses.dataclass
class Answers:
    all: list[Answer]

    @property
    def failed(self) -> list[Answer]:
        return [answer for answer in self.all if not answer.ok]

    def worst(self) -> float:
        """The longest time in seconds that anybody waited for a small page."""
        return max(answer.milliseconds for answer in self.all if answer.path == "/") / 1000

    def __str__(self) -> str:
        return f"{len(self.all)} requests, {len(self.failed)} failed, worst page {self.worst():.1f} s"


@dataclasses.dataclass
class Span:
    """A time in which a host was not in service, or was struck by an event."""

    host: str
    begin: float
    end: float

    def meets(self, other: Span) -> bool:
        return self.begin < other.end and other.begin < self.end


class Evidence:
    """All of it since the moment at which it is made."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.since = time.time()

    # -- the client

    def answers(self) -> Answers:
        """Every answer to what was asked until now; waits for those that are still due."""
        until = time.time()

        def all_are_there() -> list[list[str]]:
            lines = [line.split(" ") for line in ANSWERS.read_text().splitlines(keepends=True) if line.endswith("\n")]
            return lines if lines and float(lines[-1][5]) > until else []

        lines = wait_until(all_are_there, "the client has all its answers", 180, 0.2)
        found = [Answer(float(words[0]), float(words[1]), *words[2:5]) for words in lines]
        return Answers([answer for answer in found if self.since <= answer.asked <= until])

    # -- HAProxy

    def server_changes(self) -> list[tuple[float, str, str]]:
        """When HAProxy said what about which server."""
        changes = []
        for at, text in self.journal(self.fleet.balancer, "SYSLOG_IDENTIFIER=haproxy"):
            found = re.search(r"Server web/(\S+) (.*)", text)
            if found:
                changes.append((at, found.group(1), found.group(2)))
        return changes

    def out_of_service(self) -> list[Span]:
        """By HAProxy's log: drained or down. What is still out ends now."""
        spans, since = [], {}
        drained: dict[str, bool] = {}
        down: dict[str, bool] = {}
        for at, server, words in self.server_changes():
            if "enters drain" in words or "leaving forced drain" in words:
                drained[server] = "enters drain" in words
            if words.startswith(("is DOWN", "is UP")):
                down[server] = words.startswith("is DOWN")
            if drained.get(server) or down.get(server):
                since.setdefault(server, at)
            elif server in since:
                spans.append(Span(server, since.pop(server), at))
        return spans + [Span(server, at, time.time()) for server, at in since.items()]

    # -- the simulator

    def struck(self) -> list[Span]:
        """By the simulator's log: from the start of an event to its end, for each host that it names."""
        events = {event["id"]: event for event in self.fleet.simulator.events()}
        spans, begun = [], {}
        for change in self.fleet.simulator.changes():
            if change["change"] == "started":
                begun[change["event"]] = change["time"]
            elif change["change"] == "finished":
                names = [NAME_OF_VM[vm] for vm in events[change["event"]]["resources"] if vm in NAME_OF_VM]
                spans += [Span(name, begun[change["event"]], change["time"]) for name in names]
        return spans

    def change(self, event_id: str, change: str) -> float:
        """When the event was created, started, finished or cancelled."""
        (at,) = (
            line["time"]
            for line in self.fleet.simulator.changes()
            if (line["event"], line["change"]) == (event_id, change)
        )
        return float(at)

    def approvals(self) -> list[str]:
        """Every id in every approval that the service has heard, also one that was approved before."""
        posts = [line for line in self.fleet.simulator.log() if line["method"] == "POST"]
        sent = [line for line in posts if line["status"] == 200 or line["approved"]]
        return [request["EventId"] for line in sent for request in json.loads(line["body"])["StartRequests"]]

    # -- systemd and the platform

    def journal(self, machine: Machine, *fields: str) -> list[tuple[float, str]]:
        """Time and text of what the machine's journal has, over all its boots."""
        listing = run(
            "chroot", machine.root, "journalctl", "--quiet", "--output=json", f"--since=@{self.since:.6f}", *fields
        )
        entries = [json.loads(line) for line in listing.splitlines()]
        return [(int(entry["__REALTIME_TIMESTAMP"]) / 1e6, str(entry["MESSAGE"])) for entry in entries]

    def unit_changes(self, machine: Machine, unit: str) -> list[tuple[float, str]]:
        return self.journal(machine, "_PID=1", f"UNIT={unit}")

    def platform(self) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in PLATFORM_LOG.read_text().splitlines()]
        return [line for line in lines if line["time"] >= self.since]

    def boots(self, name: str) -> int:
        return sum(1 for line in self.platform() if (line["machine"], line["what"]) == (name, "boot"))

    def keep(self, name: str) -> None:
        """Keep what HAProxy and systemd said, as the machines' own logs go with the machines."""
        for machine in self.fleet.machines.values():
            lines = [f"{at:.3f} {text}" for at, text in self.journal(machine)]
            (LOGS / f"{name}.{machine.name}.journal").write_text("\n".join(lines) + "\n")

    # -- together

    def two_domains_at_once(self) -> list[str]:
        """Every moment at which hosts of two update domains were down together, by HAProxy or by the simulator."""
        spans = self.out_of_service() + self.struck()
        return [
            f"{one.host} and {other.host} at {max(one.begin, other.begin):.1f}"
            for index, one in enumerate(spans)
            for other in spans[index + 1 :]
            if DOMAIN_OF[one.host] != DOMAIN_OF[other.host] and one.meets(other)
        ]


# The state that a fleet is in after a run, as a value that can be compared with another.


def end_state(fleet: Fleet, evidence: Evidence) -> dict[str, Any]:
    """What an operator could look at in the morning. A machine that is off is seen from HAProxy only."""
    return {
        "in service": sorted(haproxy.in_service(fleet.balancer)),
        "nginx": {machine.name: _is_active(machine, "nginx") for machine in fleet.web if machine.has_power},
        "left drained": left_drained(fleet),
        "leases": sorted(machine.name for machine in fleet.web if _has_a_lease(machine)),
        "boots": {machine.name: evidence.boots(machine.name) for machine in fleet.web},
        "events": sorted(event["status"] for event in fleet.simulator.events()),
        "approvals": len(evidence.approvals()),
    }


def left_drained(fleet: Fleet) -> list[str]:
    return sorted(machine.name for machine in fleet.web if (machine.root / TRACES / "journal.json").exists())


def _has_a_lease(machine: Any) -> bool:
    """Notes may stay when a lease is given back."""
    return any(json.loads(path.read_text())["lease"] for path in (machine.root / TRACES).glob("run*.lock"))


def _is_active(machine: Any, unit: str) -> bool:
    return machine.run("sh", "-c", f"systemctl is-active {unit} || true").strip() == "active"
