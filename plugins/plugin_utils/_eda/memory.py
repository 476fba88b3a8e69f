# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a restart must not lose, as plain data and back. Pure.

Times are those of the day. What was kept is no more believed than a notice: it only says whom to expect.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    BadReading,
    canonical_id,
    known_of_status,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.heard import HeardHost, Now
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.heard_event import HeardEvent
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.ledger import Ledger
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notice import is_name, tellable

VERSION = 1
_OF_A_HOST = (
    "group",
    "vm_name",
    "called",
    "newest",
    "newest_from",
    "behind",
    "read_at",
    "events",
    "drained",
    "is_silent",
    "odd_clock",
)


def to_keep(ledger: Ledger) -> dict[str, t.Any]:
    return {
        "version": VERSION,
        "hosts": {host.name: {key: getattr(host, key) for key in _OF_A_HOST} for host in ledger.hosts.values()},
        "events": [
            {"event": event.last, "told_by": list(event.told_by), "group": event.group, "attempt": event.attempt}
            for event in ledger.events.values()
        ],
    }


def take_up(ledger: Ledger, kept: t.Any, now: Now, endpoints: t.Container[str] = ()) -> None:
    """`endpoints`: those that are read, which have no name. Raises ValueError for what is no such data."""
    if not isinstance(kept, dict) or kept.get("version") != VERSION:
        raise ValueError("it was not written by this version")
    try:
        hosts = [_host(name, about, now) for name, about in kept["hosts"].items() if is_name(name) or name in endpoints]
        events = [_event(about, {host.name for host in hosts}) for about in kept["events"]]
    except (KeyError, TypeError, AttributeError, OverflowError, BadReading) as error:
        raise ValueError(f"it is damaged: {error!r}") from None
    for host in hosts:
        ledger.restore_host(host)
    for event in events:
        ledger.restore_event(event, now)


def _host(name: str, about: dict[str, t.Any], now: Now) -> HeardHost:
    odd_clock = about["odd_clock"]
    return dataclasses.replace(
        HeardHost(name, str(about["group"]), now.steady, str(about["vm_name"])),
        called=str(about.get("called", "")),
        newest=_sent(about["newest"], now),
        newest_from={str(address): _sent(pair, now) for address, pair in about.get("newest_from", {}).items()},
        behind=float(about.get("behind", 0.0)),
        # What is ahead of now was never so, or the clock of this machine was.
        read_at=None if about["read_at"] is None else min(float(about["read_at"]), now.wall),
        events={str(event_id): bool(is_named) for event_id, is_named in about["events"].items()},
        drained=bool(about["drained"]),
        is_silent=bool(about["is_silent"]),
        odd_clock=None if odd_clock is None else _pair(odd_clock),
    )


def _event(about: dict[str, t.Any], hosts: set[str]) -> HeardEvent:
    (known,) = known_of_status({"events": [about["event"]], "read_at": "1970-01-01T00:00:00Z"})["events"]
    known = tellable(known)
    told_by = dict.fromkeys((name for name in about["told_by"] if name in hosts), known)
    return HeardEvent(
        canonical_id(known["id"]), told_by, known, group=str(about["group"]), attempt=int(about["attempt"])
    )


def _sent(value: t.Any, now: Now) -> tuple[float, int]:
    sent_at, sequence = _pair(value)
    return min(sent_at, now.wall), sequence


def _pair(value: t.Any) -> tuple[float, int]:
    sent_at, sequence = value
    return float(sent_at), int(sequence)
