# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Azure's documents mean: a document in, `maintenance_status` out.

Runs on the controller, and on the host where a watcher looks: standard library only, Python 3.6 or newer. No other file
of the collection knows Azure's field names. Pure: no I/O and no clock of its own.
"""

import json

from ansible_collections.maintenance.azure.plugins.module_utils._document.shown import (
    BadJson,
    json_of,
    visible,
    visible_in,
)
from ansible_collections.maintenance.azure.plugins.module_utils._document.times import iso, timestamp

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

_KNOWN_WORDS = {word.lower(): word for word in tuple(TYPE_SINCE) + ("Scheduled", "Started", "Platform", "User")}
IDENTITY_FIELDS = {
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


# A group has a thousand VMs at most. Each event costs a run some milliseconds with each host that shows it.
MOST_EVENTS = 1000


class BadReading(ValueError):
    """The text is not a document that can be trusted. Says what is wrong with it."""


def json_object(body, what, **limits):
    try:
        data = json_of(body, **limits)
    except BadJson as error:
        raise BadReading("%s %s: %r" % (what, error, body[:120])) from None
    except ValueError as error:
        raise BadReading("%s is not JSON (%s): %r" % (what, error, body[:120])) from None
    if not isinstance(data, dict):
        raise BadReading("%s is not a JSON object: %r" % (what, body[:120]))
    return data


def parse_document(body):
    """The event document as {document_incarnation, events}; times absolute, nothing about this host yet."""
    return understand_document(json_object(body, "The event document"))


def understand_document(data):
    missing = [key for key in ("DocumentIncarnation", "Events") if key not in data]
    if missing:
        raise BadReading("The event document has no %s: %s" % (" and no ".join(missing), str(data)[:120]))
    if not isinstance(data["Events"], list):
        raise BadReading("Events in the event document is not a list: %s" % str(data["Events"])[:120])
    if len(data["Events"]) > MOST_EVENTS:
        raise BadReading("The event document has %d events, more than %d" % (len(data["Events"]), MOST_EVENTS))
    incarnation = data["DocumentIncarnation"]
    if isinstance(incarnation, bool) or not isinstance(incarnation, (int, str)):
        raise BadReading("DocumentIncarnation in the event document is not a number: %r" % (incarnation,))
    number = whole_number(incarnation)
    return {
        "document_incarnation": visible(incarnation) if number is None else number,
        "events": each_once([_event(raw, position) for position, raw in enumerate(data["Events"], start=1)]),
    }


# What policies look at, beside how far it is.
JUDGED_BY = ("type", "source", "duration_seconds", "description", "not_before")


def is_as_judged(body, judged, may_have_started):
    """Whether these events are still what they were, and nothing has started but what may have.

    In a large group the document changes all the time, as others of the same wave are approved. `judged` are the
    events as they were understood, by `id`, `resources` and JUDGED_BY; `may_have_started` the ids of those that had
    started, or that the wave starts.
    """
    try:
        events = parse_document(body)["events"]
    except BadReading:
        return False
    allowed = {canonical_id(event_id) for event_id in may_have_started}
    if any(event["status"] == "Started" and canonical_id(event["id"]) not in allowed for event in events):
        return False
    shown = {canonical_id(event["id"]): event for event in events if event["status"] == "Scheduled"}
    return all(_is_the_same(event, shown.get(canonical_id(event["id"]))) for event in judged)


def _is_the_same(event, now):
    if now is None or any(now[key] != event[key] for key in JUDGED_BY):
        return False
    return sorted(map(canonical_name, now["resources"])) == sorted(map(canonical_name, event["resources"]))


def _event(raw, position):
    if not isinstance(raw, dict):
        raise BadReading("Event number %d is not an object: %s" % (position, str(raw)[:120]))
    event_id = raw.get("EventId")
    if not isinstance(event_id, str) or not event_id.strip():
        raise BadReading("Event number %d has no EventId: %s" % (position, str(raw)[:200]))
    for key in ("EventType", "EventStatus"):
        if not isinstance(raw.get(key), str) or not raw[key].strip():
            raise BadReading("Event %s has no %s: %s" % (event_id, key, str(raw)[:200]))
    resources = raw.get("Resources")
    if not isinstance(resources, list) or not all(isinstance(name, str) for name in resources):
        raise BadReading("Resources of event %s is not a list of VM names: %s" % (event_id, str(resources)[:120]))
    status = known_word(raw["EventStatus"])
    due = timestamp(raw.get("NotBefore"))
    other = {key: value for key, value in raw.items() if key not in _EVENT_FIELDS}
    if due is None and raw.get("NotBefore"):
        other["NotBefore"] = raw["NotBefore"]
    duration = whole_number(raw.get("DurationInSeconds"))
    event = {
        "id": visible(event_id),
        "type": known_word(raw["EventType"]),
        "status": status,
        "source": known_word(raw["EventSource"]) if text_of(raw.get("EventSource")) else None,
        "resource_type": text_of(raw.get("ResourceType")),
        "resources": [without_underscore(visible(name)) for name in resources],
        "not_before": None if due is None or status == "Started" else iso(due),
        "duration_seconds": duration if duration is not None and duration >= 0 else None,
        "description": text_of(raw.get("Description")) or "",
    }
    if other:
        event["other_fields"] = visible_in(other)
    return event


def each_once(events):
    """Where an id is there twice, all VMs of both count, and else the more urgent of the two."""
    found = {}
    for event in events:
        event_id = canonical_id(event["id"])
        found[event_id] = _together(found[event_id], event) if event_id in found else event
    return list(found.values())


def _together(first, second):
    names = {canonical_name(name): name for name in second["resources"] + first["resources"]}
    order = dict.fromkeys(canonical_name(name) for name in first["resources"] + second["resources"])
    urgent = min(first, second, key=_urgency)
    return dict(urgent, id=first["id"], resources=[names[name] for name in order])


def _urgency(event):
    """Started goes first, then what has no date. Times are all written in one way, so that texts compare."""
    return event["status"] != "Started", event["not_before"] is not None, event["not_before"] or ""


def parse_identity(body):
    """Who the VM is, from its instance metadata (the compute part); None where Azure does not tell its name."""
    compute = json_object(body, "The instance metadata")
    identity = {ours: text_of(compute.get(azures)) for ours, azures in IDENTITY_FIELDS.items()}
    return identity if identity["vm_name"] else None


def build_status(document, identity, read_at, vm_name=None):
    """`maintenance_status` for one host. `vm_name` stands in where the identity was not asked for."""
    name = identity["vm_name"] if identity else vm_name
    events = []
    for known in document["events"]:
        event = dict(known, resources=list(known["resources"]))
        if "other_fields" in known:
            # Whatever Azure may send one day, of any depth.
            event["other_fields"] = json.loads(json.dumps(known["other_fields"]))
        event["affects_this_host"] = None if name is None else names_host(event, name)
        events.append(event)
    status = {
        "this_host": identity,
        "document_incarnation": document["document_incarnation"],
        "events": events,
        "read_at": iso(read_at),
    }
    return refresh(status, read_at)


def refresh(status, now):
    """Set what depends on the time and on the list of events: `seconds_left` and `pending`."""
    for event in status["events"]:
        due = None if event["not_before"] is None else timestamp(event["not_before"])
        event["seconds_left"] = None if due is None else max(0, int(due - now))
    status["pending"] = any(event["status"] == "Scheduled" for event in status["events"])
    return status


def canonical_name(name):
    """A VM's name for comparing: regardless of case, without the underscore that 2017-03-01 put in front."""
    return without_underscore(name.strip()).casefold()


def canonical_id(event_id):
    return event_id.strip().casefold()


def names_host(event, vm_name):
    return canonical_name(vm_name) in [canonical_name(name) for name in event["resources"]]


def types_never_shown(api_version):
    """The types of events that are hidden from who asks for this version."""
    return [kind for kind, since in TYPE_SINCE.items() if since > api_version]


def approval_body(event_ids, api_version, incarnation):
    """The body of the request that starts these events."""
    body = {"StartRequests": [{"EventId": event_id} for event_id in event_ids]}
    if api_version == "2017-03-01":
        body["DocumentIncarnation"] = incarnation
    return json.dumps(body)


def without_underscore(name):
    # No Azure VM's name starts with an underscore, so one in front is always that of 2017-03-01.
    return name[1:] if name.startswith("_") else name


def known_word(word):
    return visible(_KNOWN_WORDS.get(word.strip().lower(), word.strip()))


def text_of(value):
    return None if value is None or value == "" else visible(str(value))


def whole_number(value):
    if isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None
