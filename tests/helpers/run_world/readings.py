# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts say, as the product reads it, and what it makes of it: the real plan, the real view."""

from __future__ import annotations

import dataclasses

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import make_plan, read_policy
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.view import kept_of, model_of, not_shown_now

from .liars import events_told, journal_told, told

# Here an event's description says what the policy does with it.
POLICY = [{"description": action, "action": action} for action in ("drain", "approve", "ignore")]
RULES = read_policy(POLICY)


@dataclasses.dataclass(frozen=True)
class Reading:
    token: tuple
    incarnation: int
    owner: str | None
    status: dict


def read_host(world, host, run):
    """What this host says to this run."""
    machine, now = world.hosts[host], world.clock.now
    events = [_event(event) for event in world.azure.document(host)]
    journal = _journal(world, machine, run)
    owner = machine.journal.owner if machine.journal else None
    lie = told(world.lies.get(host, ()), now)
    if lie:
        events, journal = events_told(lie, events, now), journal_told(lie, journal, now)
        owner = journal["run_id"] if journal else None
    token = machine.token()
    status = {"events": events, "read_at": iso_time(now), "host_clock": {"seconds": token[1]}, "journal": journal}
    return Reading(token, world.azure.incarnation_for(host), owner, status)


def _event(event):
    return {
        "id": event.id,
        "type": event.type,
        "status": event.status,
        "description": event.action,
        "source": "Platform",
        "duration_seconds": None,
        "not_before": None if event.status == "Started" else iso_time(event.not_before),
        "resources": [*event.hosts, *event.outside],
    }


def _journal(world, machine, run):
    journal, now = machine.journal, world.clock.now
    if journal is None:
        return None
    owner = journal.owner
    if not world.parts.worked_on_together and owner != run:
        owner = f"{owner} on {machine.name}"
    state = "restoring" if journal.returning else "drained" if journal.finished else "draining"
    return {
        "run_id": owner,
        "events": [{"id": event, "type": world.azure.type_of(event)} for event in journal.events],
        "state": state,
        "steps": [{"status": "started"}] if journal.drained else [],
        "marks": [world.azure.mark(event, hosts, at) for event, (hosts, at) in journal.marks.items()],
        "worked_on_for": max(0.0, journal.until - now),
    }


class Known:
    """What a run knows of its hosts, and keeps from batch to batch."""

    def __init__(self, world, run, hosts):
        self.world = world
        self.run = run
        self.hosts = tuple(hosts)
        self.kept = {}
        self.not_shown = []
        self.variables = {}

    def _declared(self, host):
        return {
            "maintenance_delivery_group": self.world.group[host],
            "maintenance_domain": self.world.domain[host],
            "maintenance_vm_name": host,
        }

    def take_up(self, hosts, readings):
        for host in hosts:
            status = {"maintenance_status": readings[host].status} if host in readings else {}
            self.variables[host] = {**self._declared(host), **status}
        fresh = kept_of(hosts, self.variables, self.world.clock.now, self.kept)
        self.not_shown = not_shown_now({"kept": self.kept, "not_shown": self.not_shown}, fresh)
        self.kept.update(fresh)

    def read_before(self):
        return {host for host, known in self.kept.items() if known["shows"] is not None}

    def model(self, acts_on, fresh, settings, notes):
        """`fresh`: the hosts that were read, or could not be read, just now."""
        world, now = self.world, self.world.clock.now
        batch = {host: self.variables[host] for host in acts_on}
        plan = make_plan(
            batch,
            batch,
            POLICY,
            drained=[host for host in batch if self.kept[host]["journal"]],
            elsewhere=self._elsewhere,
            read_again=True,
            now=now,
        )
        records = [
            {"machine": "balancer", "host": host, "events": record.events, "run": record.run}
            for host, record in world.balancer.records.items()
            if world.balancer.is_asked
        ]
        for record in records:
            record["types"] = [world.azure.type_of(event) for event in record["events"]]
        return model_of(
            self.kept,
            batch,
            [entry for wave in plan["waves"] for entry in wave["events"]],
            RULES,
            {},
            settings,
            self.run,
            now,
            notes=notes,
            records=records,
            elsewhere=self._elsewhere,
            not_shown=self.not_shown,
            inventory=world.group,
            refused=plan["refused_hosts"],
            read_now=[host for host in fresh if host not in batch],
        )

    def _elsewhere(self):
        return {host: [host] for host in self.world.hosts if host not in self.hosts}
