# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scheduled events on the controller: the filters, and the parsing of saved readings.

`module_utils/_azure/documents.py` parses Azure's documents on hosts and controllers. The controller imports it through
this file, which adds types. Pure: no I/O and no clock of its own.
"""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Callable, Mapping

from ...module_utils._azure import documents
from .._common.text import iso_time, seconds_of

_Data = dict[str, t.Any]
_Identity = dict[str, str | None]

BadReading = documents.BadReading
EVENT_TYPES = documents.EVENT_TYPES
JUDGED_BY = documents.JUDGED_BY
SAME_TYPE, SAME_VM = documents.SAME_TYPE, documents.SAME_VM
event_type: Callable[[object], documents.EventType] = documents.event_type
takes_away: Callable[[t.Mapping[str, t.Any]], bool] = documents.takes_away
parse_document: Callable[[str], _Data] = documents.parse_document
understand_document: Callable[[_Data], _Data] = documents.understand_document
parse_identity: Callable[[str], _Identity | None] = documents.parse_identity
refresh: Callable[[_Data, float], _Data] = documents.refresh
canonical_name: Callable[[str], str] = documents.canonical_name
canonical_id: Callable[[str], str] = documents.canonical_id
names_host: Callable[[t.Mapping[str, t.Any], str], bool] = documents.names_host
approval_body: Callable[[t.Sequence[str], str, int | str], str] = documents.approval_body
# Takes the document, the identity, the time of the reading, and the VM's name if the identity was not read.
build_status: Callable[..., _Data] = documents.build_status


class Account(t.NamedTuple):
    """An event as one host shows it."""

    # The event names the host by which it was read.
    by_named: bool
    event: t.Mapping[str, t.Any]


def merged(accounts: t.Iterable[Account], safest: Callable[[t.Mapping[str, t.Any]], t.Any] | None = None) -> _Data:
    """Merge all accounts of an event into one.

    The hosts that the event names are trusted, others only if none of these was read. A start counts by any account, as
    it forbids more than it allows. If accounts differ, the safest counts: the one that `safest` ranks lowest, the
    nearest date, every VM that is named.
    """
    known = list(accounts)
    trusted = [account.event for account in known if account.by_named] or [account.event for account in known]
    chosen = min(trusted, key=safest or takes_away)
    started = any(account.event.get("status") == "Started" for account in known)
    dated = [(seconds_of(event.get("not_before")), event.get("not_before")) for event in trusted]
    nearest = min(((at, text) for at, text in dated if at is not None), default=(None, chosen.get("not_before")))
    names: dict[str, str] = {}
    for event in trusted:
        for name in event.get("resources") or ():
            names.setdefault(canonical_name(str(name)), str(name))
    return {
        **chosen,
        "status": "Started" if started else chosen.get("status"),
        "not_before": nearest[1],
        "resources": list(names.values()),
    }


def select(
    status: dict[str, t.Any],
    affecting: str = "any",
    types: t.Sequence[str] | None = None,
    statuses: t.Sequence[str] | None = None,
    sources: t.Sequence[str] | None = None,
    within: int | None = None,
) -> dict[str, t.Any]:
    """Return the status with only the events that pass every filter."""

    def passes(event: dict[str, t.Any]) -> bool:
        return (
            (affecting == "any" or bool(event["affects_this_host"]))
            and (types is None or event["type"] in types)
            and (statuses is None or event["status"] in statuses)
            and (sources is None or event["source"] in sources)
            and (within is None or event["seconds_left"] is None or event["seconds_left"] <= within)
        )

    events = [event for event in status["events"] if passes(event)]
    return {**status, "events": events, "pending": any(event["status"] == "Scheduled" for event in events)}


def complaint_about_filters(
    api_version: str, types: t.Sequence[str] | None, sources: t.Sequence[str] | None
) -> str | None:
    """Return an error for a filter that this api-version can never pass: the result would look like "no events"."""
    for kind in types or ():
        if event_type(kind).since > api_version:
            return f"api_version {api_version} never shows {kind} events: use {event_type(kind).since} or newer"
    if sources and api_version < documents.SOURCE_SINCE:
        return f"api_version {api_version} does not tell an event's source: use {documents.SOURCE_SINCE} or newer"
    return None


def warning_about_version(api_version: str) -> str | None:
    """Return a warning about the event types that an automatically chosen version never shows."""
    hidden = documents.types_never_shown(api_version)
    if not hidden:
        return None
    return (
        f"The metadata service answers api-version {api_version} and no newer one, which never shows"
        f" {' and '.join(hidden)} events"
    )


def warnings_about(status: dict[str, t.Any]) -> list[str]:
    """Return warnings about values that could not be parsed and were kept as text."""
    return [
        f"The NotBefore of event {event['id']} is not a time that is understood: {event['other_fields']['NotBefore']!r}"
        for event in status["events"]
        if "NotBefore" in event.get("other_fields", {})
    ]


# A watcher writes its status every 10 s. An older status is of a stopped watcher, or its readings fail.
LONGEST_SILENCE_OF_A_WATCHER = 60
# In characters; other tools add data of their own to the events.
LARGEST_SAVED = 16 * 1024 * 1024


def parse_saved(body: str, now: float) -> dict[str, t.Any]:
    """Parse a saved reading: an event document as Azure sent it, or a `maintenance_status`.

    The result is that of `known_of_status`; `read_at` is None for a document, which has no time of its reading.
    """
    data = documents.json_object(body, "The saved reading", largest=LARGEST_SAVED)
    if "events" in data:
        known = known_of_status(data)
        age = now - known["read_at"]
        if "watcher" in data and age > LONGEST_SILENCE_OF_A_WATCHER:
            raise BadReading(
                f"It is the status of a watcher that had its last good reading {age:.0f} s ago, and after"
                f" {LONGEST_SILENCE_OF_A_WATCHER} s it says nothing any more"
            )
        return known
    if "Events" in data or "DocumentIncarnation" in data:
        return {"this_host": None, **understand_document(data), "read_at": None}
    raise BadReading(
        "The saved reading is neither an event document (DocumentIncarnation, Events) nor a maintenance_status"
        f" (events, read_at): {str(data)[:120]}"
    )


def known_of_status(data: t.Any) -> dict[str, t.Any]:
    """Check a `maintenance_status` from a file or a cache, and return what does not become outdated.

    That is {this_host, document_incarnation, events, read_at}, with `read_at` in seconds since the epoch and events
    like those of `parse_document`: without fields that depend on the time or on the reading host.
    """
    if not isinstance(data, dict) or not isinstance(data.get("events"), list):
        raise BadReading(f"The maintenance_status has no list of events: {str(data)[:120]}")
    read_at = seconds_of(data.get("read_at"))
    if read_at is None:
        raise BadReading(f"The maintenance_status has no read_at that is a time: {str(data.get('read_at'))[:60]!r}")
    this_host = data.get("this_host")
    if this_host is not None and not (isinstance(this_host, dict) and isinstance(this_host.get("vm_name"), str)):
        raise BadReading(f"this_host in the maintenance_status has no vm_name: {str(this_host)[:120]}")
    return {
        "this_host": this_host and {key: documents.text_of(this_host.get(key)) for key in documents.IDENTITY_FIELDS},
        "document_incarnation": data.get("document_incarnation"),
        "events": documents.each_once(
            [_known_of_event(event, position) for position, event in enumerate(data["events"], start=1)]
        ),
        "read_at": read_at,
    }


def _known_of_event(event: t.Any, position: int) -> dict[str, t.Any]:
    if not isinstance(event, dict):
        raise BadReading(f"Event number {position} of the maintenance_status is not an object: {str(event)[:120]}")
    for key in ("id", "type", "status"):
        if not isinstance(event.get(key), str) or not event[key].strip():
            raise BadReading(f"Event number {position} of the maintenance_status has no {key}: {str(event)[:200]}")
    resources = event.get("resources")
    if not isinstance(resources, list) or not all(isinstance(name, str) for name in resources):
        raise BadReading(f"resources of event {event['id']} is not a list of VM names: {str(resources)[:120]}")
    known = {
        "id": documents.visible(event["id"]),
        "type": documents.known_word(event["type"]),
        "status": documents.known_word(event["status"]),
        "source": documents.text_of(event.get("source")),
        "resource_type": documents.text_of(event.get("resource_type")),
        "resources": [documents.without_underscore(documents.visible(name)) for name in resources],
        "not_before": _same_time(event["not_before"]) if isinstance(event.get("not_before"), str) else None,
        "duration_seconds": documents.whole_number(event.get("duration_seconds")),
        "description": documents.text_of(event.get("description")) or "",
    }
    if isinstance(event.get("other_fields"), dict):
        known["other_fields"] = documents.visible_in(event["other_fields"])
    return known


@functools.lru_cache(maxsize=4096)
def _same_time(text: str) -> str | None:
    """Normalize a time. Cached, as the facts of a fleet repeat the same few times."""
    moment = seconds_of(text)
    return None if moment is None else iso_time(moment)


def parse_resource_id(resource_id: str) -> tuple[str | None, str | None]:
    """Return the subscription and the resource group of an Azure resource id."""
    words = resource_id.strip("/").split("/")
    named = {key.casefold(): value for key, value in zip(words[::2], words[1::2], strict=False)}
    return named.get("subscriptions"), named.get("resourcegroups")


def effects_seen(approved: t.Any, status: t.Any) -> dict[str, dict[str, t.Any]]:
    """Map each event to the reading that showed it as Started or no longer listed, preferably one of this run's wait.

    `approved` is the result of the role approve, `status` the last reading, with the journal of an earlier run and the
    events of the whole document.
    """
    waited = approved.get("effects") if isinstance(approved, Mapping) else None
    return {**_by_reading(status), **(waited if isinstance(waited, Mapping) else {})}


def _by_reading(status: t.Any) -> dict[str, dict[str, t.Any]]:
    journal = status.get("journal") if isinstance(status, Mapping) else None
    if not isinstance(journal, Mapping) or not isinstance(status.get("events"), list):
        return {}
    statuses = {canonical_id(event["id"]): event["status"] for event in status["events"]}
    found: dict[str, dict[str, t.Any]] = documents.effects_of_marks(
        journal, statuses, status.get("read_at"), status.get("document_incarnation")
    )
    return found
