# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Azure's documents mean: a document in, `maintenance_status` out.

Runs on the controller. No other file of the collection knows Azure's field names. Pure: no I/O and
no clock of its own.
"""

from __future__ import annotations

import calendar
import copy
import email.utils
import functools
import json
import re
import time
import typing as t

# The api-version from which on the service shows a type at all; older ones hide the event.
TYPE_SINCE = {
    "Freeze": "2017-03-01",
    "Reboot": "2017-03-01",
    "Redeploy": "2017-03-01",
    "Preempt": "2017-11-01",
    "Terminate": "2019-01-01",
}
SOURCE_SINCE = "2019-08-01"
# The VM does not come back from these.
VANISHING_TYPES = ("Preempt", "Terminate")

_KNOWN_WORDS = {word.lower(): word for word in (*TYPE_SINCE, "Scheduled", "Started", "Platform", "User")}
_IDENTITY_FIELDS = {
    "vm_name": "name",
    "vm_id": "vmId",
    "resource_id": "resourceId",
    "resource_group": "resourceGroupName",
    "subscription_id": "subscriptionId",
    "location": "location",
    "zone": "zone",
    "update_domain": "platformUpdateDomain",
    "fault_domain": "platformFaultDomain",
    "scale_set": "vmScaleSetName",
    "placement_group": "placementGroupId",
}
_EVENT_FIELDS = frozenset(
    (
        "EventId",
        "EventType",
        "EventStatus",
        "EventSource",
        "ResourceType",
        "Resources",
        "NotBefore",
        "DurationInSeconds",
        "Description",
    )
)
_ISO_TIME = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?$",
    re.IGNORECASE,
)


class BadReading(ValueError):
    """The text is not a document that can be trusted. Says what is wrong with it."""


def _json_object(body: str, what: str) -> dict[str, t.Any]:
    try:
        data = json.loads(body)
    except ValueError as error:
        raise BadReading(f"{what} is not JSON ({error}): {body[:120]!r}") from None
    if not isinstance(data, dict):
        raise BadReading(f"{what} is not a JSON object: {body[:120]!r}")
    return data


def parse_document(body: str) -> dict[str, t.Any]:
    """The event document as {document_incarnation, events}; times absolute, nothing about this host yet."""
    return understand_document(_json_object(body, "The event document"))


def understand_document(data: dict[str, t.Any]) -> dict[str, t.Any]:
    missing = [key for key in ("DocumentIncarnation", "Events") if key not in data]
    if missing:
        raise BadReading(f"The event document has no {' and no '.join(missing)}: {str(data)[:120]}")
    if not isinstance(data["Events"], list):
        raise BadReading(f"Events in the event document is not a list: {str(data['Events'])[:120]}")
    incarnation = data["DocumentIncarnation"]
    if isinstance(incarnation, bool) or not isinstance(incarnation, (int, str)):
        raise BadReading(f"DocumentIncarnation in the event document is not a number: {incarnation!r}")
    number = _whole_number(incarnation)
    return {
        "document_incarnation": incarnation if number is None else number,
        "events": _each_once([_event(raw, position) for position, raw in enumerate(data["Events"], start=1)]),
    }


def _event(raw: t.Any, position: int) -> dict[str, t.Any]:
    if not isinstance(raw, dict):
        raise BadReading(f"Event number {position} is not an object: {str(raw)[:120]}")
    event_id = raw.get("EventId")
    if not isinstance(event_id, str) or not event_id.strip():
        raise BadReading(f"Event number {position} has no EventId: {str(raw)[:200]}")
    for key in ("EventType", "EventStatus"):
        if not isinstance(raw.get(key), str) or not raw[key].strip():
            raise BadReading(f"Event {event_id} has no {key}: {str(raw)[:200]}")
    resources = raw.get("Resources")
    if not isinstance(resources, list) or not all(isinstance(name, str) for name in resources):
        raise BadReading(f"Resources of event {event_id} is not a list of VM names: {str(resources)[:120]}")
    status = _known_word(raw["EventStatus"])
    due = _timestamp(raw.get("NotBefore"))
    other = {key: value for key, value in raw.items() if key not in _EVENT_FIELDS}
    if due is None and raw.get("NotBefore"):
        other["NotBefore"] = raw["NotBefore"]
    duration = _whole_number(raw.get("DurationInSeconds"))
    event: dict[str, t.Any] = {
        "id": event_id,
        "type": _known_word(raw["EventType"]),
        "status": status,
        "source": _known_word(raw["EventSource"]) if _text(raw.get("EventSource")) else None,
        "resource_type": _text(raw.get("ResourceType")),
        "resources": [_without_underscore(name) for name in resources],
        "not_before": None if due is None or status == "Started" else _iso(due),
        "duration_seconds": duration if duration is not None and duration >= 0 else None,
        "description": _text(raw.get("Description")) or "",
    }
    if other:
        event["other_fields"] = other
    return event


def _each_once(events: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Where an id is there twice, all VMs of both count, and else the more urgent of the two."""
    found: dict[str, dict[str, t.Any]] = {}
    for event in events:
        event_id = canonical_id(event["id"])
        found[event_id] = _together(found[event_id], event) if event_id in found else event
    return list(found.values())


def _together(first: dict[str, t.Any], second: dict[str, t.Any]) -> dict[str, t.Any]:
    names = {canonical_name(name): name for name in (*second["resources"], *first["resources"])}
    order = dict.fromkeys(canonical_name(name) for name in (*first["resources"], *second["resources"]))
    urgent = min(first, second, key=_urgency)
    return {**urgent, "id": first["id"], "resources": [names[name] for name in order]}


def _urgency(event: dict[str, t.Any]) -> tuple[bool, bool, str]:
    """Started goes first, then what has no date. Times are all written in one way, so that texts compare."""
    return event["status"] != "Started", event["not_before"] is not None, event["not_before"] or ""


def parse_identity(body: str) -> dict[str, str | None] | None:
    """Who the VM is, from its instance metadata (the compute part); None where Azure does not tell its name."""
    compute = _json_object(body, "The instance metadata")
    identity = {ours: _text(compute.get(azures)) for ours, azures in _IDENTITY_FIELDS.items()}
    return identity if identity["vm_name"] else None


def build_status(
    document: dict[str, t.Any],
    identity: dict[str, str | None] | None,
    read_at: float,
    vm_name: str | None = None,
) -> dict[str, t.Any]:
    """`maintenance_status` for one host. `vm_name` stands in where the identity was not asked for."""
    name = identity["vm_name"] if identity else vm_name
    events = []
    for known in document["events"]:
        event = copy.deepcopy(known)
        event["affects_this_host"] = None if name is None else names_host(event, name)
        events.append(event)
    status = {
        "this_host": identity,
        "document_incarnation": document["document_incarnation"],
        "events": events,
        "read_at": _iso(read_at),
    }
    return refresh(status, read_at)


def refresh(status: dict[str, t.Any], now: float) -> dict[str, t.Any]:
    """Set what depends on the time and on the list of events: `seconds_left` and `pending`."""
    for event in status["events"]:
        due = None if event["not_before"] is None else _timestamp(event["not_before"])
        event["seconds_left"] = None if due is None else max(0, int(due - now))
    status["pending"] = any(event["status"] == "Scheduled" for event in status["events"])
    return status


def select(
    status: dict[str, t.Any],
    affecting: str = "any",
    types: t.Sequence[str] | None = None,
    statuses: t.Sequence[str] | None = None,
    sources: t.Sequence[str] | None = None,
    within: int | None = None,
) -> dict[str, t.Any]:
    """The same status with the events that pass every filter."""

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
    """A filter that this api-version can't ever pass would look like "no events": say so instead."""
    for kind in types or ():
        if TYPE_SINCE.get(kind, api_version) > api_version:
            return f"api_version {api_version} never shows {kind} events: use {TYPE_SINCE[kind]} or newer"
    if sources and api_version < SOURCE_SINCE:
        return f"api_version {api_version} does not tell an event's source: use {SOURCE_SINCE} or newer"
    return None


def warning_about_version(api_version: str) -> str | None:
    """What a person should know about a version that nobody has chosen."""
    hidden = [kind for kind, since in TYPE_SINCE.items() if since > api_version]
    if not hidden:
        return None
    return (
        f"The metadata service answers api-version {api_version} and no newer one, which never shows"
        f" {' and '.join(hidden)} events"
    )


def warnings_about(status: dict[str, t.Any]) -> list[str]:
    """What a person should know about values that were kept but not understood."""
    return [
        f"The NotBefore of event {event['id']} is not a time that is understood: {event['other_fields']['NotBefore']!r}"
        for event in status["events"]
        if "NotBefore" in event.get("other_fields", {})
    ]


def canonical_name(name: str) -> str:
    """A VM's name for comparing: regardless of case, without the underscore that 2017-03-01 put in front."""
    return _without_underscore(name.strip()).casefold()


def canonical_id(event_id: str) -> str:
    return event_id.strip().casefold()


def names_host(event: dict[str, t.Any], vm_name: str) -> bool:
    return canonical_name(vm_name) in {canonical_name(name) for name in event["resources"]}


def approval_body(event_ids: t.Sequence[str], api_version: str, incarnation: int | str) -> str:
    """The body of the request that starts these events."""
    body: dict[str, t.Any] = {"StartRequests": [{"EventId": event_id} for event_id in event_ids]}
    if api_version == "2017-03-01":
        body["DocumentIncarnation"] = incarnation
    return json.dumps(body)


def _without_underscore(name: str) -> str:
    # No Azure VM's name starts with an underscore, so one in front is always that of 2017-03-01.
    return name[1:] if name.startswith("_") else name


def _known_word(word: str) -> str:
    return _KNOWN_WORDS.get(word.strip().lower(), word.strip())


def _text(value: t.Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _whole_number(value: t.Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _timestamp(value: t.Any) -> float | None:
    """Seconds since the epoch, from any of the forms in which Azure writes times; the weekday is not believed."""
    if not isinstance(value, str) or not value.strip():
        return None
    text = value.strip()
    try:
        iso = _ISO_TIME.match(text)
        if not iso:
            parts = email.utils.parsedate_tz(text)
            return None if parts is None else float(email.utils.mktime_tz(parts))
        year, month, day, hour, minute, second = (int(part or 0) for part in iso.groups()[:6])
        zone = iso.group(7)
        offset = 0
        if zone and zone.upper() != "Z":
            digits = zone[1:].replace(":", "")
            offset = (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (1 if zone[0] == "+" else -1)
        time.strptime(f"{year}-{month}-{day} {hour}:{minute}:{min(second, 59)}", "%Y-%m-%d %H:%M:%S")
        return float(calendar.timegm((year, month, day, hour, minute, second))) - offset
    except (ValueError, OverflowError, TypeError):
        return None


def _iso(timestamp: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(timestamp))


def parse_saved(body: str) -> dict[str, t.Any]:
    """A saved reading: an event document as Azure sent it, or a `maintenance_status`.

    Gives what `known_of_status` gives; `read_at` is None for a document, which does not say when it was read.
    """
    data = _json_object(body, "The saved reading")
    if "events" in data:
        return known_of_status(data)
    if "Events" in data or "DocumentIncarnation" in data:
        return {"this_host": None, **understand_document(data), "read_at": None}
    raise BadReading(
        "The saved reading is neither an event document (DocumentIncarnation, Events) nor a maintenance_status"
        f" (events, read_at): {str(data)[:120]}"
    )


def known_of_status(data: t.Any) -> dict[str, t.Any]:
    """What a `maintenance_status` from a file or a cache still tells later, checked, as anything may be in there.

    That is {this_host, document_incarnation, events, read_at}, with `read_at` in seconds since the epoch and events
    as `parse_document` makes them: without what depends on the time or on the host that looks at them.
    """
    if not isinstance(data, dict) or not isinstance(data.get("events"), list):
        raise BadReading(f"The maintenance_status has no list of events: {str(data)[:120]}")
    read_at = _timestamp(data.get("read_at"))
    if read_at is None:
        raise BadReading(f"The maintenance_status has no read_at that is a time: {str(data.get('read_at'))[:60]!r}")
    this_host = data.get("this_host")
    if this_host is not None and not (isinstance(this_host, dict) and isinstance(this_host.get("vm_name"), str)):
        raise BadReading(f"this_host in the maintenance_status has no vm_name: {str(this_host)[:120]}")
    return {
        "this_host": None if this_host is None else {key: _text(this_host.get(key)) for key in _IDENTITY_FIELDS},
        "document_incarnation": data.get("document_incarnation"),
        "events": _each_once(
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
        "id": event["id"],
        "type": _known_word(event["type"]),
        "status": _known_word(event["status"]),
        "source": _text(event.get("source")),
        "resource_type": _text(event.get("resource_type")),
        "resources": [_without_underscore(name) for name in resources],
        "not_before": _same_time(event["not_before"]) if isinstance(event.get("not_before"), str) else None,
        "duration_seconds": _whole_number(event.get("duration_seconds")),
        "description": _text(event.get("description")) or "",
    }
    if isinstance(event.get("other_fields"), dict):
        known["other_fields"] = event["other_fields"]
    return known


@functools.lru_cache(maxsize=4096)
def _same_time(text: str) -> str | None:
    """A time as we write it. In the facts of a fleet the same few times come thousands of times."""
    timestamp = _timestamp(text)
    return None if timestamp is None else _iso(timestamp)


def parse_resource_id(resource_id: str) -> tuple[str | None, str | None]:
    """The subscription and the resource group that an Azure resource id names."""
    words = resource_id.strip("/").split("/")
    named = {key.casefold(): value for key, value in zip(words[::2], words[1::2], strict=False)}
    return named.get("subscriptions"), named.get("resourcegroups")


def iso_time(timestamp: float) -> str:
    """A time as `read_at` and `not_before` have it."""
    return _iso(timestamp)
