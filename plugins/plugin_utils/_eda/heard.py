# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of one host and of one event, from all that was heard. Pure."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.told import PENDING, STARTED
from ansible_collections.maintenance.azure.plugins.plugin_utils._times import seconds_of

_Known = dict[str, t.Any]


class Now(t.NamedTuple):
    """`steady` only ever goes on; `wall` is the time of day, which may be put right."""

    wall: float
    steady: float


@dataclasses.dataclass
class HeardHost:
    """One that was heard of."""

    name: str
    group: str
    heard_at: float
    vm_name: str
    # `sent_at` and `sequence` of the newest notice.
    newest: tuple[float, int] = (0.0, 0)
    read_at: float | None = None
    # What its last good reading holds: id -> whether the event names it.
    events: dict[str, bool] = dataclasses.field(default_factory=dict)
    drained: bool = False
    run_until: float = 0.0
    is_silent: bool = False
    # The newest notice outside of the window that was told.
    odd_clock: tuple[float, int] | None = None

    @property
    def is_left_drained(self) -> bool:
        """Out of service, and no event is the reason."""
        return self.drained and not self.is_silent and not any(self.events.values())


@dataclasses.dataclass
class HeardEvent:
    """One that some host tells of, or told of. `told_by` has the newest word of each that still does."""

    id: str
    told_by: dict[str, _Known] = dataclasses.field(default_factory=dict)
    # What was last known of it, for when nobody tells of it any more.
    last: _Known = dataclasses.field(default_factory=dict)
    group: str = ""
    attempt: int = 0
    # When it is to be looked at for news; None where there are none.
    due_at: float | None = None
    told_at: float | None = None
    told_as: tuple[t.Any, ...] | None = None

    def states(self, silent: t.Container[str]) -> set[str]:
        """What it is said to be by those that can be heard, or were last. They differ for a moment when it starts, or
        for as long as one of them lies."""
        speaking = [event for host, event in self.told_by.items() if host not in silent] or list(self.told_by.values())
        return {STARTED if event["status"] == "Started" else PENDING for event in speaking}

    def deadlines(self) -> list[float]:
        """Of all that tell of it: they agree, unless one of them lies or has an old reading."""
        texts = {event["not_before"] for event in self.told_by.values() if event["status"] != "Started"}
        return sorted(moment for text in texts if (moment := seconds_of(text)) is not None)

    def resources(self) -> list[str]:
        names: dict[str, str] = {}
        for resources in {tuple(event["resources"]): None for event in self.told_by.values()}:
            for name in resources:
                names.setdefault(canonical_name(name), name)
        return list(names.values())

    def merged(self, state: str) -> _Known:
        """One event of all that is told of it: the nearest date, every VM that is named."""
        some = next(iter(self.told_by.values()), self.last)
        if not self.told_by:
            return dict(some)
        first = next((event for event in self.told_by.values() if event["status"] == _STATUS[state]), some)
        dates = sorted(event["not_before"] for event in self.told_by.values() if event["not_before"])
        return {
            **first,
            "status": _STATUS[state],
            "resources": self.resources(),
            "not_before": dates[0] if dates and state == PENDING else None,
        }

    def has_time(self, wall: float) -> bool:
        """By the last date that was told: a date that is made up must not end the reminders."""
        deadlines = self.deadlines()
        undated = any(event["not_before"] is None for event in self.told_by.values() if event["status"] != "Started")
        return undated or not deadlines or deadlines[-1] > wall


_STATUS = {PENDING: "Scheduled", STARTED: "Started"}


def named_hosts(
    event: HeardEvent, resources: Iterable[str], hosts: Mapping[str, HeardHost], by_vm: Mapping[str, t.Collection[str]]
) -> tuple[list[str], list[str]]:
    """The hosts that an event names, and the VMs that no host speaks for. Who tells of it is asked first, as two
    groups may have VMs of one name."""
    found: dict[str, None] = {}
    unwatched: list[str] = []
    for vm_name in resources:
        candidates = sorted(by_vm.get(canonical_name(vm_name), ()))
        those = [name for name in candidates if name in event.told_by] or candidates
        found.update(dict.fromkeys(those))
        if not those:
            unwatched.append(vm_name)
    for name in event.told_by:
        if hosts[name].events.get(event.id):
            found[name] = None
    return list(found), unwatched
