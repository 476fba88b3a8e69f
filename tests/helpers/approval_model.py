# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet in memory whose hosts approve one after the other, each with a fate of its own."""

from __future__ import annotations

import copy
import dataclasses
import json

from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.send import Approval, Approver, Election
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import build_status, understand_document
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.service import (
    DocumentReading,
    Sent,
    Unanswered,
    Unreachable,
)

# What may happen to a host's approval, and whether it can arrive at all.
FATES = {
    "works": True,
    "unreachable": False,
    "reading fails": False,
    "post turned away": False,
    "post answered 500": False,
    "takes one at a time": True,
    "answer lost after arrival": True,
    "answer lost before arrival, works again": True,
    "connection cut after arrival": True,
    "connection cut before arrival": False,
}


def raw_event(event_id, resources, status="Scheduled", kind="Reboot"):
    return {"EventId": event_id, "EventType": kind, "EventStatus": status, "Resources": list(resources)}


@dataclasses.dataclass
class World:
    """The service of a delivery group: the events, and every approval that arrived."""

    events: list[dict]
    arrived: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    # Approved events stay Scheduled for so many readings.
    readings_until_started: int = 0
    now: float = 0.0
    approved: dict[str, int] = dataclasses.field(default_factory=dict)

    def reading(self, vm_name):
        for event in self.events:
            if event["EventId"] in self.approved:
                self.approved[event["EventId"]] -= 1
                if self.approved[event["EventId"]] < 0:
                    event["EventStatus"] = "Started"
        document = {"DocumentIncarnation": 1, "Events": copy.deepcopy(self.events)}
        status = build_status(understand_document(document), None, 0.0, vm_name)
        return DocumentReading({**status, "endpoint": "http://model"}, json.dumps(document), vm_name)

    def take(self, host, event_ids):
        for event_id in event_ids:
            self.arrived.append((event_id, host))
            self.approved.setdefault(event_id, self.readings_until_started)


@dataclasses.dataclass
class ModelService:
    world: World
    host: str
    fate: str
    cut: bool = False

    def read(self, seconds=None):
        if self.fate == "unreachable" or self.cut:
            raise Unreachable(self.host)
        if self.fate == "reading fails":
            raise Unanswered("HTTP 503")
        return self.world.reading(self.host)

    def approve(self, decided_on, event_ids):
        reading = self.world.reading(self.host)
        if json.loads(reading.document) != json.loads(decided_on.document):
            return Sent(reading)
        if self.fate == "post turned away":
            return Sent(reading, problem="HTTP 503")
        if self.fate == "post answered 500":
            return Sent(reading, problem="HTTP 500", unclear=True)
        if self.fate == "takes one at a time" and len(event_ids) > 1:
            return Sent(reading, problem="HTTP 400")
        if self.fate == "answer lost before arrival, works again":
            self.fate = "works"
            return Sent(reading, problem="reset", unclear=True)
        if self.fate == "connection cut before arrival":
            self.cut = True
            raise Unreachable(self.host)
        self.world.take(self.host, event_ids)
        if self.fate == "connection cut after arrival":
            self.cut = True
            raise Unreachable(self.host)
        if self.fate == "answer lost after arrival":
            self.fate = "works"
            return Sent(reading, problem="reset", unclear=True)
        return Sent(reading, sent=True)

    def reconnect(self):
        pass


def approve_from(world, folder, host, fate, batch, drained, service_type=ModelService, **options):
    """What one host reports, or the exception that ended its task. Hosts are called like their VMs."""

    def sleep(seconds):
        world.now += seconds

    approver = Approver(
        service=service_type(world, host, fate),
        election=Election(folder, prediction=options.get("predict_only", False)),
        sender=host,
        task="task",
        wanted=options.pop("wanted", {}).get(host),
        drained=lambda reading: drained,
        others=lambda: {other: other for other in batch if other != host},
        timeout=20,
        clock=lambda: world.now,
        sleep=sleep,
        **options,
    )
    try:
        return approver.run()
    except (Unreachable, Unanswered) as failure:
        return failure


def has_failed(outcome):
    return not isinstance(outcome, Approval) or bool(outcome.problems or outcome.refused)
